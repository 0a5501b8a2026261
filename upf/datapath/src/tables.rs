//! Shared tables: interfaces, next hops, peers, routes.
//!
//! Interfaces and routes are published as a whole by pointer: they change rarely. Next hops and peers, of
//! which there may be thousands, are slots that are written one by one.

use crate::forward::marking::{DscpByQfi, Marking};
use crate::forward::mss_clamp;
use crate::forward::outer_header_removal::Destination;
use crate::lookup::lpm::{Lpm, LpmIpv6};
use crate::nat::pool::NatUnits;
use crate::rx::header_match::HeaderMatch;
use crate::session::flow_filter::FlowFilters;
use crate::session::token_bucket::Shaping;
use crate::tx::encap;
use crate::tx::encap::{Encap, InterfaceEncap, Templates, TunnelEncap};
use core::net::Ipv6Addr;
use sluice_mem::slots::{SlotReader, Slots};
use sluice_port::PortId;

pub use crate::ids::{EgressId, InterfaceId, NO_NEXT_HOP, NextHopId, PeerId};
pub use crate::topology::{
    Egress, EgressIpv6, Interface, NextHop, Peer, PeerIpv6, Polled, PortInterfaces, Prefix,
    PrefixIpv6, Route, Station, TunnelAddress, TunnelAddressIpv6, TunnelPeer, Vlan,
};

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

    /// Replaces a next hop on an interface.
    pub fn set(&mut self, id: NextHopId, hop: &NextHop, encap: &InterfaceEncap) {
        self.0.write(usize::from(id), encap.words(hop));
    }
}

/// The next hops as the path reads them.
#[derive(Clone, Debug, Default)]
pub struct NextHops(SlotReader<3>);

impl NextHops {
    /// A next hop.
    #[inline(always)]
    pub fn get(&self, id: NextHopId) -> Option<Station> {
        encap::station(self.0.read(usize::from(id))?)
    }

    /// The headers to a next hop whose MAC address is known.
    #[inline(always)]
    pub fn encap(&self, id: NextHopId) -> Option<Encap> {
        Encap::of_words(self.0.read(usize::from(id))?)
    }
}

/// The writer's end of the peers. A slot is written before a rule names it, and again only when no
/// rule names it any more.
#[derive(Debug)]
pub struct PeerSlots(Slots<2>);

const PEER_IS_THERE: u64 = 1 << 16;
/// Where value and mask of its marking stand.
const MARKING_AT: u32 = 32;

/// The word of a peer that is there, behind its addresses.
fn peer_rest(next_hop: NextHopId, marking: Marking) -> u64 {
    let marking = u16::from_be_bytes(marking.octets());
    u64::from(marking) << MARKING_AT | PEER_IS_THERE | u64::from(next_hop.0)
}

#[inline(always)]
fn marking_of(rest: u64) -> Marking {
    let [value, mask] = ((rest >> MARKING_AT) as u16).to_be_bytes();
    Marking::new(value, mask)
}

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
            [ends, peer_rest(peer.next_hop, peer.marking)]
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
            next_hop: NextHopId(rest as u16),
            marking: marking_of(rest),
        })
    }
}

/// The writer's end of the IPv6 peers; a slot is written as one of [`PeerSlots`].
#[derive(Debug)]
pub struct PeerSlotsIpv6(Slots<5>);

impl PeerSlotsIpv6 {
    /// So many, none of them there.
    pub fn new(len: usize) -> Self {
        Self(Slots::new(len))
    }

    /// For the path.
    pub fn reader(&self) -> PeersIpv6 {
        PeersIpv6(self.0.reader())
    }

    /// Fills a slot, or with none vacates it.
    pub fn set(&mut self, id: PeerId, peer: Option<&PeerIpv6>) {
        let words = peer.map_or([0; 5], |peer| {
            let [local, address] = [peer.local, peer.address].map(halves);
            let rest = peer_rest(peer.next_hop, peer.marking);
            [local[0], local[1], address[0], address[1], rest]
        });
        self.0.write(id.slot(), words);
    }
}

fn halves(address: Ipv6Addr) -> [u64; 2] {
    let bits = address.to_bits();
    [(bits >> 64) as u64, bits as u64]
}

fn whole([high, low]: [u64; 2]) -> Ipv6Addr {
    Ipv6Addr::from_bits(u128::from(high) << 64 | u128::from(low))
}

/// The IPv6 peers as the path reads them.
#[derive(Clone, Debug, Default)]
pub struct PeersIpv6(SlotReader<5>);

impl PeersIpv6 {
    /// A peer.
    #[inline]
    pub fn get(&self, id: PeerId) -> Option<PeerIpv6> {
        let [local @ .., a, b, rest] = self.0.read(id.slot()).filter(|_| id.is_ipv6())?;
        (rest & PEER_IS_THERE != 0).then_some(PeerIpv6 {
            local: whole(local),
            address: whole([a, b]),
            next_hop: NextHopId(rest as u16),
            marking: marking_of(rest),
        })
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
    pub next_hops: NextHops,
    /// Tunnel peers over IPv4.
    pub peers: Peers,
    /// Tunnel peers over IPv6.
    pub peers_ipv6: PeersIpv6,
    /// Ways out.
    pub egresses: Vec<Egress>,
    /// DSCP of outer headers.
    pub dscp: DscpByQfi,
    /// How rates are shaped.
    pub shaping: Shaping,
    /// Filters of all sessions.
    pub filters: FlowFilters,
    /// Who has which public ports.
    pub nat_units: NatUnits,
    /// The same in the form in which packets ask, compiled when the tables are published.
    pub compiled: CompiledTables,
}

/// What packets ask for, in the form in which they ask.
#[derive(Clone, Debug, Default)]
pub struct CompiledTables {
    /// By port.
    header_matches: Vec<Vec<HeaderMatch>>,
    /// By egress; none where packets are translated before they leave, so that they take the slow way.
    routes: Vec<Lpm>,
    /// By egress, for those.
    translated_routes: Vec<Option<Lpm>>,
    routes_ipv6: Vec<LpmIpv6>,
    /// By interface.
    templates: Templates,
    /// Some interface clamps TCP segments.
    clamps_mss: bool,
}

impl CompiledTables {
    /// Compiles tables.
    pub fn of(tables: &Tables) -> Self {
        let clamps_mss = tables.interfaces.iter().any(|i| i.mss_clamp.is_some());
        let mut header_matches: Vec<Vec<HeaderMatch>> = vec![Vec::new(); tables.by_port.len()];
        for (id, interface) in tables.interfaces.iter().enumerate() {
            if let Some(of_port) = header_matches.get_mut(usize::from(interface.port.0)) {
                let matches = HeaderMatch::of(InterfaceId::at(id), interface).into_iter();
                of_port.extend(matches.map(|m| m.leaving_syns(clamps_mss)));
            }
        }
        Self {
            header_matches,
            routes: tables.egresses.iter().map(direct_routes).collect(),
            translated_routes: tables.egresses.iter().map(translated_routes).collect(),
            routes_ipv6: tables.egresses.iter().map(LpmIpv6::of).collect(),
            templates: Templates::of(&tables.interfaces),
            clamps_mss,
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

fn direct_routes(egress: &Egress) -> Lpm {
    match egress.translates {
        None => Lpm::of(egress),
        Some(_) => Lpm::of(&Egress::default()),
    }
}

fn translated_routes(egress: &Egress) -> Option<Lpm> {
    egress.translates.map(|_| Lpm::of(egress))
}

impl Tables {
    /// A packet without its outer header is about to leave by an interface: what a TCP SYN offers is clamped. True
    /// if it offered more.
    #[inline(always)]
    pub fn clamp_mss(&self, inner: &mut [u8], from: InterfaceId, to: &Interface) -> bool {
        self.compiled.clamps_mss && self.clamp_syn(inner, from, to)
    }

    #[inline(never)]
    fn clamp_syn(&self, inner: &mut [u8], from: InterfaceId, to: &Interface) -> bool {
        let from = self.interfaces.get(usize::from(from));
        let clamp = mss_clamp::of_way(from.and_then(|from| from.mss_clamp), to.mss_clamp);
        clamp.is_some_and(|clamp| mss_clamp::clamp(inner, clamp))
    }

    /// What an egress says of an address of either family, whether packets are translated or not; none if
    /// there is no such egress.
    pub fn any_route_to(&self, egress: EgressId, to: Destination) -> Option<Route> {
        let translated = self.compiled.translated_routes.get(usize::from(egress))?;
        match (translated, to) {
            (Some(routes), Destination::Ipv4(to)) => Some(routes.route(to)),
            _ => self.route_to(egress, to),
        }
    }

    /// What an egress says of an address (host order); none if there is no such egress.
    #[inline(always)]
    pub fn route(&self, egress: EgressId, to: u32) -> Option<Route> {
        let routes = self.compiled.routes.get(usize::from(egress))?;
        Some(routes.route(to))
    }

    /// What an egress says of an address of either family; none if there is no such egress.
    #[inline(always)]
    pub fn route_to(&self, egress: EgressId, to: Destination) -> Option<Route> {
        match to {
            Destination::Ipv4(to) => self.route(egress, to),
            Destination::Ipv6(to) => {
                let routes = self.compiled.routes_ipv6.get(usize::from(egress))?;
                Some(routes.route(to))
            }
        }
    }

    /// The headers of a packet from an egress to an address, if the next hop is known.
    #[inline(always)]
    pub fn encap_to(&self, egress: EgressId, to: u32) -> Option<Encap> {
        match self.route(egress, to)? {
            Route::Via(hop) => self.next_hops.encap(hop),
            _ => None,
        }
    }

    /// A tunnel peer over either family.
    #[inline(always)]
    pub fn tunnel_peer(&self, id: PeerId) -> Option<TunnelPeer> {
        if id.is_ipv6() {
            self.tunnel_peer_ipv6(id)
        } else {
            self.peers.get(id).map(TunnelPeer::Ipv4)
        }
    }

    #[cold]
    fn tunnel_peer_ipv6(&self, id: PeerId) -> Option<TunnelPeer> {
        self.peers_ipv6.get(id).map(TunnelPeer::Ipv6)
    }

    /// The headers to a peer over IPv4, if its next hop is known.
    #[inline(always)]
    pub fn tunnel_encap(&self, peer: PeerId) -> Option<TunnelEncap> {
        let peer = self.peers.get(peer)?;
        Some(TunnelEncap {
            outer: peer.outer(),
            marking: peer.marking,
            encap: self.next_hops.encap(peer.next_hop)?,
        })
    }

    /// The templates of all interfaces.
    #[inline(always)]
    pub fn templates(&self) -> &Templates {
        &self.compiled.templates
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
