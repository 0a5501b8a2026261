//! Shared tables: interfaces, next hops, peers, routes.
//!
//! Interfaces and routes are published as a whole by pointer: they change rarely. Next hops and peers, of
//! which there may be thousands, are slots that are written one by one.

use crate::lookup::layout::InstanceId;
use crate::lookup::lpm::Lpm;
use crate::rx::header_match::HeaderMatch;
use crate::tx::adjacency::{self, Adjacency, Front, TunnelAdjacency};
use core::net::Ipv4Addr;
use sluice_mem::slots::{SlotReader, Slots};
use sluice_port::{PortId, QueueId};
use sluice_wire::gtpu::OuterIpv4;
use std::collections::HashMap;

/// A place in [`Tables::interfaces`].
pub type InterfaceId = u8;
/// A slot of [`Tables::next_hops`].
pub type NextHopId = u16;
/// No next hop: no route leads to the peer.
pub const NO_NEXT_HOP: NextHopId = NextHopId::MAX;
/// A slot of [`Tables::peers`].
pub type PeerId = u16;
/// A place in [`Tables::egresses`].
pub type EgressId = u16;

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
    /// Largest IP packet that goes out there.
    pub mtu: u16,
    /// All IPv4 addresses of ours there.
    pub addresses: Vec<Ipv4Addr>,
    /// GTP-U endpoint addresses (N3, N9) with their numbers in F-TEIDs.
    pub tunnels: Vec<TunnelAddress>,
    /// Those of them at which PFCP is served (N4).
    pub n4: Vec<Ipv4Addr>,
    /// Network instance in which plain packets from there are looked up (N6).
    pub instance: Option<InstanceId>,
    /// Outer sources allowed there; empty allows all.
    pub allowed_peers: Vec<Prefix>,
    /// UDP checksums of tunnel packets are verified where there are any.
    pub verifies_udp: bool,
}

/// A local GTP-U address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TunnelAddress {
    /// The address.
    pub address: Ipv4Addr,
    /// Its number, part of a CP-chosen TEID's key.
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

/// A station that frames are sent to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NextHop {
    /// Interface that leads there.
    pub interface: InterfaceId,
    /// Its address.
    pub address: Ipv4Addr,
    /// Its MAC address; `None` until ARP answered.
    pub mac: Option<[u8; 6]>,
}

/// The writer's end of the next hops.
#[derive(Debug)]
pub struct NextHopSlots(Slots<3>);

impl NextHopSlots {
    /// So many, none of them there.
    pub fn new(len: usize) -> Self {
        Self(Slots::new(len))
    }

    /// For the path.
    pub fn reader(&self) -> NextHops {
        NextHops(self.0.reader())
    }

    /// Replaces a next hop, reached by frames with this front.
    pub fn set(&mut self, id: NextHopId, hop: &NextHop, front: &Front) {
        self.0
            .write(usize::from(id), adjacency::to_words(hop, front));
    }
}

/// The next hops as the path reads them.
#[derive(Clone, Debug, Default)]
pub struct NextHops(SlotReader<3>);

/// What the slow ways need of a next hop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Station {
    /// Interface that leads there.
    pub interface: InterfaceId,
    /// Its MAC address; `None` until ARP answered.
    pub mac: Option<[u8; 6]>,
}

impl NextHops {
    /// A next hop.
    #[inline(always)]
    pub fn get(&self, id: NextHopId) -> Option<Station> {
        adjacency::station(self.0.read(usize::from(id))?)
    }

    /// The way to a next hop whose MAC address is known.
    #[inline(always)]
    pub fn adjacency(&self, id: NextHopId) -> Option<Adjacency> {
        Adjacency::of_words(self.0.read(usize::from(id))?)
    }
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
}

/// Time to live of outer headers (RFC 1700's default for hosts).
const OUTER_TTL: u8 = 64;

impl Peer {
    /// A peer at `address`, reached from `local` over `next_hop`.
    pub fn new(address: Ipv4Addr, local: Ipv4Addr, next_hop: NextHopId) -> Self {
        Self {
            address,
            local,
            next_hop,
        }
    }

    /// The outer header's constant part.
    #[inline(always)]
    pub fn outer(&self) -> OuterIpv4 {
        OuterIpv4::new(self.local, self.address, OUTER_TTL, true)
    }
}

/// The writer's end of the peers. A slot is written before a rule names it, and again only when no
/// rule names it any more.
#[derive(Debug)]
pub struct PeerSlots(Slots<2>);

const PEER_IS_THERE: u64 = 1 << 16;

impl PeerSlots {
    /// So many, none of them there.
    pub fn new(len: usize) -> Self {
        Self(Slots::new(len))
    }

    /// For the path.
    pub fn reader(&self) -> Peers {
        Peers(self.0.reader())
    }

    /// Fills a slot, or with none vacates it.
    pub fn set(&mut self, id: PeerId, peer: Option<&Peer>) {
        let words = peer.map_or([0, 0], |peer| {
            let ends = u64::from(u32::from(peer.local)) << 32 | u64::from(u32::from(peer.address));
            [ends, PEER_IS_THERE | u64::from(peer.next_hop)]
        });
        self.0.write(usize::from(id), words);
    }
}

/// The peers as the path reads them.
#[derive(Clone, Debug, Default)]
pub struct Peers(SlotReader<2>);

impl Peers {
    /// A peer.
    #[inline(always)]
    pub fn get(&self, id: PeerId) -> Option<Peer> {
        let [ends, rest] = self.0.read(usize::from(id))?;
        (rest & PEER_IS_THERE != 0).then_some(Peer {
            local: ((ends >> 32) as u32).into(),
            address: (ends as u32).into(),
            next_hop: rest as u16,
        })
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

/// All of it.
#[derive(Clone, Debug, Default)]
pub struct Tables {
    /// Logical interfaces.
    pub interfaces: Vec<Interface>,
    /// Interfaces by port and VLAN.
    pub by_port: Vec<PortInterfaces>,
    /// Stations.
    pub next_hops: NextHops,
    /// Tunnel peers.
    pub peers: Peers,
    /// Ways out.
    pub egresses: Vec<Egress>,
    /// The same in the form in which packets ask, compiled when the tables are published.
    pub compiled: CompiledTables,
}

/// The interfaces of one port.
#[derive(Clone, Debug, Default)]
pub struct PortInterfaces {
    /// For untagged frames.
    pub untagged: Option<InterfaceId>,
    /// For tagged frames.
    pub tagged: Vec<(u16, InterfaceId)>,
}

/// What packets ask for, in the form in which they ask.
#[derive(Clone, Debug, Default)]
pub struct CompiledTables {
    /// By port.
    header_matches: Vec<Vec<HeaderMatch>>,
    /// By egress.
    routes: Vec<Lpm>,
}

impl CompiledTables {
    /// Compiles tables.
    pub fn of(tables: &Tables) -> Self {
        let mut header_matches: Vec<Vec<HeaderMatch>> = vec![Vec::new(); tables.by_port.len()];
        for (id, interface) in tables.interfaces.iter().enumerate() {
            if let Some(of_port) = header_matches.get_mut(usize::from(interface.port.0)) {
                of_port.extend(HeaderMatch::of(id as InterfaceId, interface));
            }
        }
        Self {
            header_matches,
            routes: tables.egresses.iter().map(Lpm::of).collect(),
        }
    }

    /// What common frames that a port receives look like.
    #[inline]
    pub fn header_matches(&self, port: PortId) -> &[HeaderMatch] {
        self.header_matches
            .get(usize::from(port.0))
            .map_or(&[], Vec::as_slice)
    }
}

impl Tables {
    /// What an egress says of an address (host order); none if there is no such egress.
    #[inline(always)]
    pub fn route(&self, egress: EgressId, to: u32) -> Option<Route> {
        let routes = self.compiled.routes.get(usize::from(egress))?;
        Some(routes.route(to))
    }

    /// The way from an egress to an address, if the next hop is known.
    #[inline(always)]
    pub fn adjacency_to(&self, egress: EgressId, to: u32) -> Option<Adjacency> {
        match self.route(egress, to)? {
            Route::Via(hop) => self.next_hops.adjacency(hop),
            _ => None,
        }
    }

    /// The way to a peer, if its next hop is known.
    #[inline(always)]
    pub fn tunnel_adjacency(&self, peer: PeerId) -> Option<TunnelAdjacency> {
        let peer = self.peers.get(peer)?;
        Some(TunnelAdjacency {
            outer: peer.outer(),
            adjacency: self.next_hops.adjacency(peer.next_hop)?,
        })
    }

    /// The interface of a frame.
    #[inline]
    pub fn interface(&self, port: PortId, vlan: Vlan) -> Option<(InterfaceId, &Interface)> {
        let at = self.by_port.get(usize::from(port.0))?;
        let id = match vlan {
            None => at.untagged?,
            Some(v) => at.tagged.iter().find(|(tag, _)| *tag == v)?.1,
        };
        Some((id, self.interfaces.get(usize::from(id))?))
    }
}

/// A receive queue that a worker polls.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Polled {
    /// The port.
    pub port: PortId,
    /// Its queue.
    pub queue: QueueId,
}
