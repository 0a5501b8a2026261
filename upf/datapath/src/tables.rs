//! Shared tables: interfaces, next hops, peers, routes.
//!
//! Published as a whole by pointer. Changes are rare (a new gNB, an ARP answer); packets are not.

use crate::lookup::layout::InstanceId;
use crate::rx::header_match::HeaderMatch;
use crate::tx::adjacency::{Adjacency, DefaultRoute, TunnelAdjacency};
use core::net::Ipv4Addr;
use sluice_port::{PortId, QueueId};
use sluice_wire::gtpu::OuterIpv4;
use std::collections::HashMap;

/// A place in [`Tables::interfaces`].
pub type InterfaceId = u8;
/// A place in [`Tables::next_hops`].
pub type NextHopId = u16;
/// No next hop: no route leads to the peer.
pub const NO_NEXT_HOP: NextHopId = NextHopId::MAX;
/// A place in [`Tables::peers`].
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

/// The far end of tunnels.
#[derive(Clone, Copy, Debug)]
pub struct Peer {
    /// Outer destination.
    pub address: Ipv4Addr,
    /// Outer source.
    pub local: Ipv4Addr,
    /// The outer header's constant part.
    pub outer: OuterIpv4,
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
            outer: OuterIpv4::new(local, address, OUTER_TTL, true),
            next_hop,
        }
    }
}

/// Where packets without an outer header leave: a network instance's way out.
#[derive(Clone, Debug, Default)]
pub struct Egress {
    /// Prefixes on the link, with their interface.
    pub connected: Vec<(Prefix, InterfaceId)>,
    /// Known stations on the link.
    pub neighbours: HashMap<u32, NextHopId>,
    /// Static routes, longest prefix first.
    pub routes: Vec<(Prefix, NextHopId)>,
    /// Our own addresses on the links: packets to them have arrived.
    pub own: Vec<(u32, InterfaceId)>,
}

/// What an egress says of a destination.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
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

impl Egress {
    /// The way to `destination` (host order).
    #[inline]
    pub fn route(&self, destination: u32) -> Route {
        if let Some((_, interface)) = self.connected.iter().find(|(p, _)| p.contains(destination)) {
            return self.on_link(destination, *interface);
        }
        self.routes
            .iter()
            .find(|(p, _)| p.contains(destination))
            .map_or(Route::None, |(_, id)| Route::Via(*id))
    }

    /// Not inlined: hashing takes registers from those who need none of it.
    #[inline(never)]
    fn on_link(&self, destination: u32, interface: InterfaceId) -> Route {
        if let Some(id) = self.neighbours.get(&destination) {
            return Route::Via(*id);
        }
        let own = self.own.iter().find(|(address, _)| *address == destination);
        own.map_or(Route::Unknown(interface), |(_, id)| Route::Own(*id))
    }
}

/// All of it.
#[derive(Clone, Debug, Default)]
pub struct Tables {
    /// Logical interfaces.
    pub interfaces: Vec<Interface>,
    /// Interfaces by port and VLAN.
    pub by_port: Vec<PortInterfaces>,
    /// Stations.
    pub next_hops: Vec<NextHop>,
    /// Tunnel peers.
    pub peers: Vec<Peer>,
    /// Ways out.
    pub egresses: Vec<Egress>,
    /// The same for common packets, compiled when the tables are published.
    pub fast_path: FastPathTables,
}

/// The interfaces of one port.
#[derive(Clone, Debug, Default)]
pub struct PortInterfaces {
    /// For untagged frames.
    pub untagged: Option<InterfaceId>,
    /// For tagged frames.
    pub tagged: Vec<(u16, InterfaceId)>,
}

/// What common packets ask for, in the form in which they ask.
#[derive(Clone, Debug, Default)]
pub struct FastPathTables {
    /// By port.
    header_matches: Vec<Vec<HeaderMatch>>,
    /// By next hop.
    adjacencies: Vec<Adjacency>,
    /// By egress.
    default_routes: Vec<Option<DefaultRoute>>,
    /// By peer.
    tunnel_adjacencies: Vec<TunnelAdjacency>,
}

impl FastPathTables {
    /// Compiles tables.
    pub fn of(tables: &Tables) -> Self {
        let mut header_matches: Vec<Vec<HeaderMatch>> = vec![Vec::new(); tables.by_port.len()];
        for (id, interface) in tables.interfaces.iter().enumerate() {
            if let Some(of_port) = header_matches.get_mut(usize::from(interface.port.0)) {
                of_port.extend(HeaderMatch::of(id as InterfaceId, interface));
            }
        }
        let adjacencies: Vec<Adjacency> = tables
            .next_hops
            .iter()
            .map(|hop| Adjacency::to(hop, tables))
            .collect();
        let default_routes = tables
            .egresses
            .iter()
            .map(|egress| DefaultRoute::of(egress, &adjacencies));
        let tunnel_adjacencies = tables
            .peers
            .iter()
            .map(|peer| TunnelAdjacency::of(peer, &adjacencies));
        Self {
            header_matches,
            default_routes: default_routes.collect(),
            tunnel_adjacencies: tunnel_adjacencies.collect(),
            adjacencies,
        }
    }

    /// What common frames that a port receives look like.
    #[inline]
    pub fn header_matches(&self, port: PortId) -> &[HeaderMatch] {
        self.header_matches
            .get(usize::from(port.0))
            .map_or(&[], Vec::as_slice)
    }

    /// The way from an egress to an address.
    #[inline(always)]
    pub fn adjacency_to(&self, egress: EgressId, to: u32, tables: &Tables) -> Option<&Adjacency> {
        let exit = self.default_routes.get(usize::from(egress))?.as_ref();
        exit.and_then(|exit| exit.via_default_route(to))
            .or_else(|| self.adjacency_by_route(egress, to, tables))
    }

    #[cold]
    fn adjacency_by_route(&self, egress: EgressId, to: u32, tables: &Tables) -> Option<&Adjacency> {
        match tables.egresses.get(usize::from(egress))?.route(to) {
            Route::Via(hop) => self.adjacencies.get(usize::from(hop)),
            _ => None,
        }
    }

    /// The way to a peer.
    #[inline(always)]
    pub fn tunnel_adjacency(&self, peer: PeerId) -> Option<&TunnelAdjacency> {
        self.tunnel_adjacencies.get(usize::from(peer))
    }
}

impl Tables {
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
