//! Workers, ports and the control core's end, driven turn by turn: port 0 is N3, port 1 is N6.

use super::rules::{Places, end_marker, operation, sessions};
use sluice_datapath::builder::{Plan, assemble};
use sluice_datapath::control::ControlEnd;
use sluice_datapath::ids::{BlockId, EntryId, InterfaceId, NextHopId, PeerId, WorkerId};
use sluice_datapath::limits::SHARDS;
use sluice_datapath::lookup::layout::{InstanceId, Layout, Pool};
use sluice_datapath::message::ToControl;
use sluice_datapath::session::flow_filter::{
    AddressRange, FlowFilter, FlowFilterSlots, FlowFilters,
};
use sluice_datapath::session::token_bucket::Lead;
use sluice_datapath::session::token_bucket::Shaping;
use sluice_datapath::session::txn::{Op, Txn, Usage};
use sluice_datapath::tables::{
    Egress, Interface, NextHop, NextHopSlots, Peer, PeerSlots, Polled, PortInterfaces, Prefix,
    Tables, TunnelAddress,
};
use sluice_datapath::tables::{EgressIpv6, PrefixIpv6};
use sluice_datapath::tx::encap::InterfaceEncap;
use sluice_datapath::worker::Worker;
use sluice_mem::shard::ShardId;
use sluice_port::{Packet, PortId, QueueId};
use sluice_port_sim::{HeapPacket, HeapPool, PoolConfig, SimIo, SimNet, SimPort, SimPortConfig};
use std::net::{Ipv4Addr, Ipv6Addr};

pub(super) const UPF: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
const N6: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 1);
/// Peers by number: the gNB, one that never answered ARP, and one behind N6.
pub(super) const GNB_PEER: u16 = 0;
pub(super) const SILENT_PEER: u16 = 1;
pub(super) const DN_PEER: u16 = 2;
/// Turns that one step is worth: what it brings is a few hundred frames at the most.
const TURNS: usize = 400;

pub(super) struct Rig {
    net: SimNet,
    ports: [SimPort; 2],
    workers: Vec<Worker<SimIo>>,
    control: ControlEnd<HeapPacket>,
    pool: HeapPool,
    places: Places,
    now_ns: u64,
    next_txn: u64,
    /// Lengths of packets of UEs for ourselves.
    pub arrived: Vec<usize>,
}

impl Rig {
    /// One to three workers, wide or narrow ports, few or many packet buffers, by the bits of
    /// `shape`.
    pub fn new(shape: u8) -> Self {
        let pool = Pool {
            instance: InstanceId(1),
            base: [10, 45, 0, 0].into(),
            prefix_len: 24,
        };
        let layout = Layout::new(SHARDS, &[pool], 64).expect("a sound layout");
        let plan = Plan {
            layout: layout.clone(),
            blocks: 3 * SHARDS,
            workers: 1 + usize::from(shape & 3) % 3,
        };
        let (seeds, mut control, mut foreign) = assemble(&plan).expect("memory for a small path");
        let net = SimNet::new(1);
        let narrow = shape & 4 != 0;
        let ports = ["n3", "n6"].map(|name| net.add_port(port(name, narrow)));
        let pool = HeapPool::new(PoolConfig {
            segments: if shape & 8 == 0 { usize::MAX } else { 24 },
            ..PoolConfig::default()
        });
        let polled = |id: WorkerId| match id.0 {
            0 => vec![at(0), at(1)],
            _ => vec![],
        };
        let workers = seeds
            .into_iter()
            .map(|seed| {
                let polled = polled(seed.id());
                seed.grow(net.io(&ports, pool.clone()), polled, QueueId(0))
            })
            .collect();
        control.polls(WorkerId(0), &polled(WorkerId(0)));
        let (places, ops) = sessions(&layout, &mut foreign);
        let mut rig = Self {
            net,
            ports,
            workers,
            control,
            pool,
            places,
            now_ns: 1_000_000_000,
            next_txn: 0,
            arrived: Vec::new(),
        };
        rig.publish(shape >> 4);
        for op in ops {
            rig.apply(vec![op], &[]);
        }
        rig
    }

    /// Time passes at once.
    pub fn pass(&mut self, ns: u64) {
        self.now_ns += ns;
    }

    /// A frame reaches a port.
    pub fn arrives(&mut self, port: usize, frame: &[u8]) {
        self.ports[port].inject(frame);
    }

    /// New tables: who has answered ARP, by the bits of `known`.
    pub fn publish(&mut self, known: u8) {
        self.control.publish(tables(known));
    }

    /// The control core has a frame sent.
    pub fn control_sends(&mut self, frame: &[u8], interface: u8) {
        if let Some(packet) = self.pool.packet(frame)
            && let Err(packet) = self.control.transmit(packet, InterfaceId(interface & 3))
        {
            packet.free();
        }
    }

    /// The control core hands a frame in as if a port had received it.
    pub fn control_hands_in(&mut self, frame: &[u8], port: u8) {
        if let Some(packet) = self.pool.packet(frame)
            && let Err(packet) = self.control.receive(packet, PortId(u16::from(port & 3)))
        {
            packet.free();
        }
    }

    /// Shards and receive queues go to other workers, by two octets each: which, and to whom.
    pub fn moves(&mut self, octets: &[u8]) {
        for [what, to] in octets.as_chunks::<2>().0.iter().take(8) {
            let worker = (to & 0x7f) % self.workers.len() as u8;
            let known = match to & 0x80 {
                0 => self
                    .control
                    .move_shard(ShardId((*what).into()), WorkerId(worker)),
                _ => self
                    .control
                    .move_queue(at(u16::from(what & 1)), WorkerId(worker)),
            };
            assert!(known, "shard or queue {what} to {worker}");
        }
    }

    /// A transaction: the number of End Markers, these, and operations of six octets each. All
    /// that come back with usage until the path is at rest.
    pub fn transact(&mut self, octets: &[u8]) -> Vec<Usage> {
        let (markers, octets) = octets.split_first().unwrap_or((&0, &[]));
        let markers = usize::from(*markers & 3).min(octets.len() / 2);
        let (front, rest) = octets.split_at(markers * 2);
        let markers: Vec<[u8; 2]> = front.as_chunks().0.to_vec();
        let ops = rest.as_chunks::<6>().0.iter().take(8);
        let ops: Vec<Op> = ops.map(|o| operation(*o, &self.places)).collect();
        let mut usage = Vec::new();
        for op in ops {
            usage.extend(self.apply(vec![op], &markers));
        }
        usage
    }

    /// Takes the usage of all entries and rules.
    pub fn take_all_usage(&mut self) -> Vec<Usage> {
        let entries = self.places.entries.clone().into_iter();
        let mut ops: Vec<Op> = entries
            .map(|at| Op::TakeEntry { at: EntryId(at) })
            .collect();
        for block in &self.places.blocks {
            ops.extend((0..8).map(|at| Op::TakeRule {
                block: BlockId(*block),
                at,
            }));
        }
        ops.into_iter()
            .flat_map(|op| self.apply(vec![op], &[]))
            .collect()
    }

    fn apply(&mut self, ops: Vec<Op>, markers: &[[u8; 2]]) -> Vec<Usage> {
        self.next_txn += 1;
        let at = match &ops[0] {
            Op::Entry { at, .. } | Op::TakeEntry { at } | Op::Held { at, .. } => at.0,
            Op::Rule { block, .. } | Op::TakeRule { block, .. } | Op::Chain { block, .. } => {
                block.0
            }
            Op::Bucket { .. } => self.places.blocks[0],
            Op::RecordOf { entry, .. } => entry.0,
            Op::Record { at, .. } | Op::TakeDrops { record: at, .. } => at.0,
            Op::NatUnit { user, .. } => user.0,
            Op::NatUser { at, .. } => at.0,
        };
        self.apply_in(at, ops, markers)
    }

    fn apply_in(&mut self, element: u32, ops: Vec<Op>, markers: &[[u8; 2]]) -> Vec<Usage> {
        let mut txn = Box::new(Txn::new(self.next_txn, ShardId((element % SHARDS) as u16)));
        txn.ops.extend(ops);
        txn.end_markers
            .extend(markers.iter().map(|m| end_marker(*m)));
        self.control.send(txn);
        let usage = self.turn_until_rest();
        assert_eq!(self.control.under_way(), 0, "the transaction comes back");
        usage
    }

    /// Turns until nothing happens any more.
    pub fn settle(&mut self) {
        let usage = self.turn_until_rest();
        assert!(usage.is_empty(), "nobody asked for usage");
        let ledger = self.control.ledger();
        assert!(ledger.balances(), "{ledger}");
    }

    fn turn_until_rest(&mut self) -> Vec<Usage> {
        let mut usage = Vec::new();
        for _ in 0..TURNS {
            self.now_ns += 1_000;
            self.net.advance_to(self.now_ns);
            let now_ns = self.now_ns;
            let worked: usize = self.workers.iter_mut().map(|w| w.turn(now_ns)).sum();
            while let Some(message) = self.control.receive_message() {
                match message {
                    ToControl::Done(txn) => usage.extend(txn.usage.iter()),
                    ToControl::Packet(packet, _)
                    | ToControl::Icmp(packet, _)
                    | ToControl::RouterSolicitation(packet, ..) => packet.free(),
                    ToControl::FromUe(packet, ..) => {
                        self.arrived.push(packet.len());
                        packet.free();
                    }
                    ToControl::Resolve(_)
                    | ToControl::Bell(_)
                    | ToControl::NatFull(_)
                    | ToControl::UnknownTeid(_)
                    | ToControl::Moved(_)
                    | ToControl::Expecting(_)
                    | ToControl::Requeued(_)
                    | ToControl::TraceExpected
                    | ToControl::Traced(_) => {}
                }
            }
            self.free_pfcp();
            let next = self.net.next_event_ns().unwrap_or(u64::MAX);
            if worked == 0 {
                if next > now_ns + 1_000_000 {
                    return usage;
                }
                self.now_ns = next.max(now_ns);
            }
        }
        panic!("the path does not come to rest");
    }

    /// What has left since the last time.
    pub fn take_output(&mut self) -> Vec<Vec<u8>> {
        let frames = self.ports.iter().flat_map(SimPort::take_output);
        frames.map(|(_, frame)| frame).collect()
    }

    /// The workers stop: the books balance, nothing is held, nothing is lost.
    pub fn close(mut self) {
        for worker in self.workers.drain(..) {
            worker.stop();
        }
        let ledger = self.control.ledger();
        assert!(ledger.balances() && ledger.held == 0, "{ledger}");
        self.net.advance_to(u64::MAX);
        assert_eq!(
            (self.pool.leaked(), self.pool.live()),
            (0, 0),
            "leaked, live packets"
        );
    }

    fn free_pfcp(&mut self) {
        self.control
            .receive_n4(usize::MAX, |packet, _| packet.free());
    }
}

fn at(port: u16) -> Polled {
    Polled {
        port: PortId(port),
        queue: QueueId(0),
    }
}

fn port(name: &str, narrow: bool) -> SimPortConfig {
    let wide = SimPortConfig::named(name);
    match narrow {
        false => wide,
        true => SimPortConfig {
            tx_queue_packets: 3,
            rx_queue_packets: 16,
            rate_bps: Some(50_000_000),
            ..wide
        },
    }
}

/// Ours, on every interface.
const N6_IPV6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 6, 0, 0, 0, 0, 1);

/// Flow filters that rules may name: each asks for another thing.
fn filters() -> FlowFilters {
    let filters = [
        FlowFilter {
            protocol: Some(17),
            ..FlowFilter::default()
        },
        FlowFilter {
            remote: AddressRange::Ipv6(0, 1),
            tos: Some((0, 3)),
            ..FlowFilter::default()
        },
        FlowFilter {
            local_ports: Some((0, 1000)),
            local: AddressRange::Ipv4(0, 1),
            ..FlowFilter::default()
        },
    ];
    let mut slots = FlowFilterSlots::new(filters.len());
    for (at, filter) in (0..).zip(&filters) {
        slots.set(at, filter);
    }
    slots.reader()
}

/// Whatever the address, PFCP is served there.
fn interface(port: u16, mac: u8, address: Ipv4Addr, mtu: u16) -> Interface {
    Interface {
        port: PortId(port),
        vlan: None,
        mac: [2, 0, 0, 0, 0, mac],
        template: None,
        mtu,
        addresses: vec![address],
        addresses_ipv6: vec![N6_IPV6],
        tunnels_ipv6: vec![],
        tunnels: vec![],
        n4: vec![address],
        instance: None,
        outside: None,
        allowed_peers: vec![],
        allowed_peers_ipv6: vec![],
        verifies_udp: true,
        mss_clamp: None,
    }
}

/// Of N6: its link, and a route.
fn egress() -> Egress {
    let n6 = Prefix::new(N6, 24).expect("a prefix");
    let far = Prefix::new([203, 0, 113, 0].into(), 24).expect("a prefix");
    Egress {
        instance: Some(InstanceId(1)),
        translates: None,
        connected: vec![(n6, InterfaceId(1))],
        neighbours: [(u32::from(Ipv4Addr::new(198, 51, 100, 80)), NextHopId(1))].into(),
        routes: vec![(far, NextHopId(1))],
        own: vec![(N6.into(), InterfaceId(1))],
        ipv6: EgressIpv6 {
            connected: PrefixIpv6::new(N6_IPV6, 64)
                .map(|p| (p, InterfaceId(1)))
                .into_iter()
                .collect(),
            routes: PrefixIpv6::new(N6_IPV6, 0)
                .map(|p| (p, NextHopId(1)))
                .into_iter()
                .collect(),
            own: vec![(N6_IPV6.to_bits(), InterfaceId(1))],
            ..EgressIpv6::default()
        },
    }
}

fn by_port() -> Vec<PortInterfaces> {
    vec![
        PortInterfaces {
            untagged: Some(InterfaceId(0)),
            tagged: vec![(30, InterfaceId(2))],
        },
        PortInterfaces {
            untagged: Some(InterfaceId(1)),
            tagged: vec![],
        },
    ]
}

/// Interface 0 is N3 (MTU 1500), 1 is N6 (1500), 2 is N3 on VLAN 30 (600).
fn tables(known: u8) -> Tables {
    let tunnels = vec![TunnelAddress {
        address: UPF,
        local: 0,
    }];
    let mac = |bit: u8, mac: [u8; 6]| (known >> bit & 1 == 0).then_some(mac);
    let hop = |interface, address: [u8; 4], mac| NextHop {
        interface,
        address: address.into(),
        mac,
    };
    let mut tables = Tables {
        filters: filters(),
        interfaces: vec![
            Interface {
                tunnels: tunnels.clone(),
                ..interface(0, 3, UPF, 1500)
            },
            Interface {
                instance: Some(InstanceId(1)),
                ..interface(1, 6, N6, 1500)
            },
            Interface {
                tunnels,
                vlan: Some(30),
                ..interface(0, 3, UPF, 600)
            },
        ],
        by_port: by_port(),
        egresses: vec![egress()],
        // So few that all bounds are met.
        shaping: Shaping {
            burst: Lead::from_ns(1_000_000),
            delay: Lead::from_ns(50_000_000),
            session_packets: 4,
            worker_packets: 12,
        },
        ..Tables::default()
    };
    let third = mac(2, [2, 0, 0, 0, 1, 4]).filter(|_| known & 8 != 0);
    let hops = [
        hop(InterfaceId(0), [192, 0, 2, 50], mac(0, [2, 0, 0, 0, 1, 3])),
        hop(
            InterfaceId(1),
            [198, 51, 100, 80],
            mac(1, [2, 0, 0, 0, 1, 6]),
        ),
        hop(InterfaceId(2), [192, 0, 2, 60], third),
    ];
    let mut slots = NextHopSlots::new(hops.len());
    for (id, hop) in (0..).zip(&hops) {
        let encap = InterfaceEncap::of(&tables.interfaces[usize::from(hop.interface)]);
        slots.set(NextHopId(id), hop, &encap);
    }
    tables.next_hops = slots.reader();
    let peers = [
        Peer::new([192, 0, 2, 50].into(), UPF, NextHopId(0)),
        Peer::new([192, 0, 2, 60].into(), UPF, NextHopId(2)),
        Peer::new([198, 51, 100, 80].into(), UPF, NextHopId(1)),
    ];
    let mut slots = PeerSlots::new(peers.len());
    for (id, peer) in (0..).zip(&peers) {
        slots.set(PeerId(id), Some(peer));
    }
    tables.peers = slots.reader();
    tables
}
