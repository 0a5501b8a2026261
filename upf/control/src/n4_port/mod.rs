//! N4 on DPDK ports: PFCP datagrams out of packets that workers gave, and packets out of those that
//! go to SMFs. Sans-IO; the stations on the links are the control core's.

mod rx;
mod tx;

use crate::config::{InterfaceConfig, Role};
use crate::directory::Directory;
use core::net::Ipv4Addr;
use sluice_datapath::tables::InterfaceId;
use sluice_datapath::tx::reassembly::Reassembler;
use sluice_port::Packet;
use sluice_session::hash_index::Seeded;
use sluice_wire::eth::{MacAddr, VlanId};
use std::collections::{HashMap, VecDeque};
use tx::WaitingDatagram;

pub use rx::Arrival;

/// Peers whose way back is remembered. More than that are strangers, and all are learned anew.
const PEERS_MAX: usize = 65_536;

/// Counters of N4 on ports, for `ctl` and metrics.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PortN4Counters {
    /// Datagrams that went on to the PFCP endpoint.
    pub received: u64,
    /// Fragments among the packets.
    pub fragments: u64,
    /// Packets with broken headers, or not for PFCP once put together.
    pub malformed: u64,
    /// Datagrams with a wrong UDP checksum (RFC 1122, 4.1.3.4).
    pub checksum: u64,
    /// Fragments that could not be put together.
    pub reassembly: u64,
    /// Datagrams sent, in one packet or several.
    pub sent: u64,
    /// Datagrams that waited for a station that did not answer ARP, or for which too many waited.
    pub unresolved: u64,
    /// Datagrams to where no route leads.
    pub no_route: u64,
    /// Datagrams that no packet could be made of.
    pub unsent: u64,
}

/// One address of ours at which PFCP is served.
#[derive(Clone, Copy, Debug)]
struct N4Address {
    interface: InterfaceId,
    address: Ipv4Addr,
    mac: MacAddr,
    vlan: Option<VlanId>,
    mtu_bytes: u16,
    verifies_udp: bool,
}

/// The way back to a peer: from the address that it wrote to.
#[derive(Clone, Copy, Debug)]
struct ReturnRoute {
    /// Which of our addresses.
    place: u16,
    /// The next hop, as it was known in this epoch.
    mac: Option<MacAddr>,
    epoch: u64,
    /// Whether the association stands in [`PortN4::stale`].
    is_stale: bool,
}

/// See the module.
pub struct PortN4<P> {
    places: Vec<N4Address>,
    heard: HashMap<Ipv4Addr, ReturnRoute, Seeded>,
    /// Counts the changes of stations; what was learned in another epoch is looked up again.
    epoch: u64,
    /// Peers whose next hop was learned in another epoch and used in this one.
    stale: Vec<Ipv4Addr>,
    reassembler: Reassembler<P>,
    ready: Vec<(P, InterfaceId)>,
    waiting: VecDeque<WaitingDatagram>,
    /// There are no kernel sockets: peers that nobody has heard of are behind ports, too.
    is_only: bool,
    identification: u16,
    counters: PortN4Counters,
}

impl<P: Packet> PortN4<P> {
    /// For the addresses of all interfaces that serve N4.
    pub fn new(directory: &Directory) -> Self {
        let interfaces = directory.interfaces();
        Self {
            places: interfaces.flat_map(|(id, c)| places(id, c)).collect(),
            heard: HashMap::default(),
            epoch: 0,
            stale: Vec::new(),
            reassembler: Reassembler::default(),
            ready: Vec::new(),
            waiting: VecDeque::new(),
            is_only: false,
            identification: 0,
            counters: PortN4Counters::default(),
        }
    }

    /// Whether no port serves N4.
    pub fn is_absent(&self) -> bool {
        self.places.is_empty()
    }

    /// Counters since the start.
    pub fn counters(&self) -> PortN4Counters {
        self.counters
    }

    /// There are no kernel sockets beside.
    pub fn be_only(&mut self) {
        self.is_only = true;
    }

    /// Stations have changed.
    pub fn stations_changed(&mut self) {
        self.epoch += 1;
    }

    /// A peer spoke to `local`: what is for it leaves there.
    pub fn hear(&mut self, peer: Ipv4Addr, local: Ipv4Addr, directory: &Directory) {
        let known = self.heard.get(&peer);
        if known.is_some_and(|way| way.epoch == self.epoch && self.is_from(way, local)) {
            return;
        }
        let Some(at) = self.places.iter().position(|p| p.address == local) else {
            return;
        };
        let towards = directory.mac_towards(self.places[at].interface, peer.into());
        let way = ReturnRoute {
            place: at as u16,
            mac: towards.and_then(Result::ok),
            epoch: self.epoch,
            is_stale: false,
        };
        self.remember(peer, way);
    }

    fn remember(&mut self, peer: Ipv4Addr, way: ReturnRoute) {
        if self.heard.len() >= PEERS_MAX {
            self.heard.clear();
        }
        self.heard.insert(peer, way);
    }

    /// The way to a peer that was not heard yet: the first of our addresses from which some leads
    /// there.
    fn find(&mut self, peer: Ipv4Addr, directory: &Directory) -> Option<ReturnRoute> {
        let leads = |p: &N4Address| directory.mac_towards(p.interface, peer.into());
        let mut places = (0..).zip(&self.places);
        let (place, towards) = places.find_map(|(at, p)| Some((at, leads(p)?)))?;
        let way = ReturnRoute {
            place,
            mac: towards.ok(),
            epoch: self.epoch,
            is_stale: false,
        };
        self.remember(peer, way);
        Some(way)
    }

    /// A peer spoke to a kernel socket: what is for it leaves there.
    pub fn forget(&mut self, peer: Ipv4Addr) {
        self.heard.remove(&peer);
    }

    fn is_from(&self, way: &ReturnRoute, local: Ipv4Addr) -> bool {
        let place = self.places.get(usize::from(way.place));
        place.is_some_and(|p| p.address == local)
    }
}

fn places(id: InterfaceId, config: &InterfaceConfig) -> impl Iterator<Item = N4Address> {
    let served = config.roles.iter().filter_map(|role| match role {
        Role::N4 { address } => Some(*address),
        Role::Tunnels { .. } | Role::Plain { .. } => None,
    });
    served.map(move |address| N4Address {
        interface: id,
        address,
        mac: config.mac,
        vlan: config.vlan,
        mtu_bytes: config.mtu_bytes,
        verifies_udp: config.verifies_udp,
    })
}
