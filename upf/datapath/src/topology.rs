//! Topology: interfaces, next hops, tunnel peers and routes, as configured and learnt.

use crate::forward::marking::Marking;
use crate::forward::mss_clamp::MssClamp;
use crate::ids::{InterfaceId, NextHopId};
use crate::lookup::layout::InstanceId;
use crate::tx::template::Template;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use sluice_port::{PortId, QueueId};
use sluice_wire::gtpu::{OuterIpv4, OuterIpv6};
use std::collections::HashMap;

/// VLAN tag of an interface, or none.
pub type Vlan = Option<u16>;

/// A logical interface: a port, a VLAN, and what Sluice is there.
#[derive(Clone, Debug)]
pub struct Interface {
    /// Frames go out by this port.
    pub port: PortId,
    /// 802.1Q VLAN, if tagged.
    pub vlan: Vlan,
    /// Our MAC address there.
    pub mac: [u8; 6],
    /// Headers of the frames that go out there, where they are more than Ethernet with that VLAN and MAC address.
    pub template: Option<Template>,
    /// Largest IP packet that goes out there.
    pub mtu: u16,
    /// All IPv4 addresses of ours there.
    pub addresses: Vec<Ipv4Addr>,
    /// All IPv6 addresses of ours there, with the link-local one; empty where there is no IPv6.
    pub addresses_ipv6: Vec<Ipv6Addr>,
    /// GTP-U endpoint addresses (N3, N9) with their numbers in F-TEIDs.
    pub tunnels: Vec<TunnelAddress>,
    /// Those of IPv6, among `addresses_ipv6`. An endpoint with both has one number for them: a TEID is the
    /// endpoint's, by whichever address its packets come.
    pub tunnels_ipv6: Vec<TunnelAddressIpv6>,
    /// Those of them at which PFCP is served (N4).
    pub n4: Vec<Ipv4Addr>,
    /// Network instance in which plain packets from there are looked up (N6).
    pub instance: Option<InstanceId>,
    /// Network instance in which they arrive instead, where they are translated: no UE has an address in it.
    pub outside: Option<InstanceId>,
    /// Outer sources allowed there. With those of IPv6: if both are empty, all are.
    pub allowed_peers: Vec<Prefix>,
    /// The same of IPv6.
    pub allowed_peers_ipv6: Vec<PrefixIpv6>,
    /// UDP checksums of tunnel packets are verified where there are any.
    pub verifies_udp: bool,
    /// What TCP segments are clamped to that come or leave there.
    pub mss_clamp: Option<MssClamp>,
}

impl Interface {
    /// Headers of the frames that go out there.
    pub fn template(&self) -> Template {
        let ethernet = || Template::ethernet(self.mac, self.vlan);
        self.template.clone().unwrap_or_else(ethernet)
    }

    /// Network instance in which plain packets from there arrive.
    #[inline]
    pub fn arrives_in(&self) -> Option<InstanceId> {
        self.outside.or(self.instance)
    }
}

/// A local GTP-U address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TunnelAddress {
    /// The address.
    pub address: Ipv4Addr,
    /// Its number, part of a CP-chosen TEID's key.
    pub local: u8,
}

/// A local GTP-U address of IPv6.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TunnelAddressIpv6 {
    /// The address.
    pub address: Ipv6Addr,
    /// The endpoint's number.
    pub local: u8,
}

/// An IPv4 prefix.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Prefix {
    /// Network address in host order.
    pub base: u32,
    /// Network mask in host order.
    pub mask: u32,
}

impl Prefix {
    /// `address/len`; host bits are cut off. `None` above 32.
    pub fn new(address: Ipv4Addr, len: u8) -> Option<Self> {
        let mask = match len {
            0 => 0,
            1..=32 => u32::MAX << (32 - len),
            _ => return None,
        };
        Some(Self {
            base: u32::from(address) & mask,
            mask,
        })
    }

    /// True if `address` lies inside.
    #[inline]
    pub fn contains(&self, address: u32) -> bool {
        address & self.mask == self.base
    }
}

/// An IPv6 prefix.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct PrefixIpv6 {
    /// Network address in host order.
    pub base: u128,
    /// Length in bits.
    pub len: u8,
}

impl PrefixIpv6 {
    /// `address/len`; host bits are cut off. `None` above 128.
    pub fn new(address: Ipv6Addr, len: u8) -> Option<Self> {
        let below = 128u32.checked_sub(len.into())?;
        let mask = u128::MAX.checked_shl(below).unwrap_or(0);
        Some(Self {
            base: address.to_bits() & mask,
            len,
        })
    }

    /// True if `address` lies inside.
    #[inline]
    pub fn contains(&self, address: u128) -> bool {
        let below = 128 - u32::from(self.len);
        (self.base ^ address).checked_shr(below).unwrap_or(0) == 0
    }
}

/// A station that frames are sent to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NextHop {
    /// Interface that leads there.
    pub interface: InterfaceId,
    /// Its address; the packets that it gets are of the same family.
    pub address: IpAddr,
    /// Its MAC address; `None` until it answered ARP or Neighbour Solicitation.
    pub mac: Option<[u8; 6]>,
}

/// What the slow ways need of a next hop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Station {
    /// Interface that leads there.
    pub interface: InterfaceId,
    /// Its MAC address; `None` until ARP answered.
    pub mac: Option<[u8; 6]>,
}

/// The far end of tunnels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer {
    /// Outer destination.
    pub address: Ipv4Addr,
    /// Outer source.
    pub local: Ipv4Addr,
    /// Station that the outer packets go to.
    pub next_hop: NextHopId,
    /// How outer headers are marked: FARs that mark differently have a peer each.
    pub marking: Marking,
}

/// The far end of tunnels over IPv6.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeerIpv6 {
    /// Outer destination.
    pub address: Ipv6Addr,
    /// Outer source.
    pub local: Ipv6Addr,
    /// Station that the outer packets go to.
    pub next_hop: NextHopId,
    /// How outer headers are marked.
    pub marking: Marking,
}

/// The far end of tunnels over either family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TunnelPeer {
    /// Over IPv4.
    Ipv4(Peer),
    /// Over IPv6.
    Ipv6(PeerIpv6),
}

impl TunnelPeer {
    /// The far end, our end and the way there; none if the ends are of different families.
    pub fn new(remote: IpAddr, local: IpAddr, next_hop: NextHopId) -> Option<Self> {
        match (remote, local) {
            (IpAddr::V4(address), IpAddr::V4(local)) => {
                Some(Self::Ipv4(Peer::new(address, local, next_hop)))
            }
            (IpAddr::V6(address), IpAddr::V6(local)) => Some(Self::Ipv6(PeerIpv6 {
                address,
                local,
                next_hop,
                marking: Marking::default(),
            })),
            _ => None,
        }
    }

    /// Outer destination.
    pub fn address(&self) -> IpAddr {
        match self {
            Self::Ipv4(peer) => peer.address.into(),
            Self::Ipv6(peer) => peer.address.into(),
        }
    }

    /// Outer source.
    pub fn local(&self) -> IpAddr {
        match self {
            Self::Ipv4(peer) => peer.local.into(),
            Self::Ipv6(peer) => peer.local.into(),
        }
    }

    /// Station that the outer packets go to.
    #[inline(always)]
    pub fn next_hop(&self) -> NextHopId {
        match self {
            Self::Ipv4(peer) => peer.next_hop,
            Self::Ipv6(peer) => peer.next_hop,
        }
    }

    /// How outer headers are marked.
    #[inline(always)]
    pub fn marking(&self) -> Marking {
        match self {
            Self::Ipv4(peer) => peer.marking,
            Self::Ipv6(peer) => peer.marking,
        }
    }

    /// The same peer for outer headers with this marking.
    #[must_use]
    pub fn marked(mut self, marking: Marking) -> Self {
        match &mut self {
            Self::Ipv4(peer) => peer.marking = marking,
            Self::Ipv6(peer) => peer.marking = marking,
        }
        self
    }

    /// The same peer by another station.
    #[must_use]
    pub fn led_by(mut self, next_hop: NextHopId) -> Self {
        match &mut self {
            Self::Ipv4(peer) => peer.next_hop = next_hop,
            Self::Ipv6(peer) => peer.next_hop = next_hop,
        }
        self
    }
}

/// Time to live, or hop limit, of outer headers (RFC 1700's default for hosts).
const OUTER_TTL: u8 = 64;

impl PeerIpv6 {
    /// The outer header's constant part.
    #[inline]
    pub fn outer(&self) -> OuterIpv6 {
        OuterIpv6::new(self.local, self.address, OUTER_TTL)
    }
}

impl Peer {
    /// A peer at `address`, reached from `local` over `next_hop`.
    pub fn new(address: Ipv4Addr, local: Ipv4Addr, next_hop: NextHopId) -> Self {
        Self {
            address,
            local,
            next_hop,
            marking: Marking::default(),
        }
    }

    /// The outer header's constant part.
    #[inline(always)]
    pub fn outer(&self) -> OuterIpv4 {
        OuterIpv4::new(self.local, self.address, OUTER_TTL, true)
    }
}

/// Where packets without an outer header leave: a network instance's way out.
#[derive(Clone, Debug, Default)]
pub struct Egress {
    /// Prefixes on links, with their interface. Of all prefixes the longest decides; of two of one
    /// length the link comes before the route.
    pub connected: Vec<(Prefix, InterfaceId)>,
    /// Known stations on the link.
    pub neighbours: HashMap<u32, NextHopId>,
    /// Static routes, longest prefix first.
    pub routes: Vec<(Prefix, NextHopId)>,
    /// Our own addresses on the links: packets to them have arrived.
    pub own: Vec<(u32, InterfaceId)>,
    /// The same of IPv6.
    pub ipv6: EgressIpv6,
    /// The network instance that it leads to: UEs that send there have their addresses in it.
    pub instance: Option<InstanceId>,
    /// The network instance whose IPv4 packets are translated on this way out.
    pub translates: Option<InstanceId>,
}

/// A network instance's way out for IPv6.
#[derive(Clone, Debug, Default)]
pub struct EgressIpv6 {
    /// Prefixes on links, with their interface.
    pub connected: Vec<(PrefixIpv6, InterfaceId)>,
    /// Known stations on the links.
    pub neighbours: HashMap<u128, NextHopId>,
    /// Static routes.
    pub routes: Vec<(PrefixIpv6, NextHopId)>,
    /// Our own addresses on the links.
    pub own: Vec<(u128, InterfaceId)>,
}

/// What an egress says of a destination.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Route {
    /// This station.
    Via(NextHopId),
    /// Here: it is an address of ours on this interface.
    Own(InterfaceId),
    /// On the link, but nobody asked for it yet.
    Unknown(InterfaceId),
    /// Nowhere.
    None,
}

/// The interfaces of one port.
#[derive(Clone, Debug, Default)]
pub struct PortInterfaces {
    /// For untagged frames.
    pub untagged: Option<InterfaceId>,
    /// For tagged frames.
    pub tagged: Vec<(u16, InterfaceId)>,
}

/// A receive queue that a worker polls.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Polled {
    /// The port.
    pub port: PortId,
    /// Its queue.
    pub queue: QueueId,
}
