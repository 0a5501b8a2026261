//! A path on simulated ports, driven turn by turn: port 0 is N3, port 1 is N6.
#![allow(dead_code, clippy::unwrap_used)]

use sluice_datapath::builder::{Plan, assemble};
use sluice_datapath::control::ControlEnd;
use sluice_datapath::drop::DropReason;
use sluice_datapath::ids::{EntryId, InterfaceId, NextHopId, PeerId, WorkerId};
use sluice_datapath::limits::SHARDS;
use sluice_datapath::lookup::exact_match::ExactWriter;
use sluice_datapath::lookup::layout::{InstanceId, Layout, Pool};
use sluice_datapath::message::ToControl;
use sluice_datapath::nat::pool::NatPools;
use sluice_datapath::session::entry::SessionEntry;
use sluice_datapath::session::rule::{Body, Flags, Head};
use sluice_datapath::session::txn::{Clock, EndMarker, HeldOrder, Op, Txn, Usage};
use sluice_datapath::tables::*;
use sluice_datapath::tx::encap::InterfaceEncap;
use sluice_datapath::worker::Worker;
use sluice_mem::shard::ShardId;
use sluice_port::{Packet, PortId, QueueId};
use sluice_port_sim::{HeapPacket, HeapPool, PoolConfig, SimIo, SimNet, SimPort, SimPortConfig};
use sluice_wire::eth::{EthHeader, EtherType, MacAddr};
use sluice_wire::gtpu::{ShortContainer, g_pdu_header_with_container};
use sluice_wire::ids::{Qfi, Teid};
use sluice_wire::ipv4::{Ipv4, Ipv4Header, Protocol};
use sluice_wire::udp::UdpHeader;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

pub mod many;

pub const N3_MAC: [u8; 6] = [2, 0, 0, 0, 0, 3];
pub const N6_MAC: [u8; 6] = [2, 0, 0, 0, 0, 6];
pub const GNB_MAC: [u8; 6] = [2, 0, 0, 0, 1, 3];
pub const DN_MAC: [u8; 6] = [2, 0, 0, 0, 1, 6];
pub const UPF: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
pub const GNB: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 50);
pub const N6: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 1);
pub const SERVER: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 80);
pub const UE: Ipv4Addr = Ipv4Addr::new(10, 45, 0, 7);
/// Upper half of the UE's IPv6 addresses, and one of them.
pub const UE_PREFIX: u64 = 0x2001_0db8_cafe_0007;
pub const UE_IPV6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0xcafe, 7, 0, 0, 0, 0x99);
pub const N6_IPV6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 6, 0, 0, 0, 0, 1);
pub const SERVER_IPV6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 6, 0, 0, 0, 0, 0x80);
pub const INTERNET: InstanceId = InstanceId(1);
pub const GNB_TEID: u32 = 0x0000_0d01;

pub struct Kit {
    pub net: SimNet,
    pub n3: SimPort,
    pub n6: SimPort,
    pub workers: Vec<Worker<SimIo>>,
    pub control: ControlEnd<HeapPacket>,
    pub foreign: ExactWriter,
    pub pool: HeapPool,
    pub layout: Layout,
    pub tables: Tables,
    pub now_ns: u64,
    next_txn: u64,
    pub punted: Vec<ToControl<HeapPacket>>,
}

impl Kit {
    pub fn new() -> Self {
        Self::with(1, SimPortConfig::named("n3"), SimPortConfig::named("n6"))
    }

    /// Worker 0 polls both ports; the others live on what is handed to them.
    pub fn with(workers: usize, n3: SimPortConfig, n6: SimPortConfig) -> Self {
        let doors = |id: WorkerId| match id.0 {
            0 => (vec![polled(0, 0), polled(1, 0)], QueueId(0)),
            _ => (vec![], QueueId(0)),
        };
        Self::with_doors((workers, NatPools::default()), n3, n6, doors)
    }

    /// One worker, by whom packets are translated.
    pub fn translating(nat: NatPools) -> Self {
        Self::alone(nat, PoolConfig::default())
    }

    /// One worker, whose packets are of such a pool.
    pub fn with_packets(packets: PoolConfig) -> Self {
        Self::alone(NatPools::default(), packets)
    }

    fn alone(nat: NatPools, packets: PoolConfig) -> Self {
        let doors = |_| (vec![polled(0, 0), polled(1, 0)], QueueId(0));
        let [n3, n6] = ["n3", "n6"].map(SimPortConfig::named);
        Self::with_pool((1, nat, packets), n3, n6, doors)
    }

    /// Each worker has a queue of its own at both ports.
    pub fn with_queues(workers: u16, n3: SimPortConfig, n6: SimPortConfig) -> Self {
        let doors = |id: WorkerId| {
            let queue = u16::from(id.0);
            (vec![polled(0, queue), polled(1, queue)], QueueId(queue))
        };
        Self::with_doors((workers.into(), NatPools::default()), n3, n6, doors)
    }

    fn with_doors(
        (workers, nat): (usize, NatPools),
        n3: SimPortConfig,
        n6: SimPortConfig,
        doors: impl Fn(WorkerId) -> (Vec<Polled>, QueueId),
    ) -> Self {
        Self::with_pool((workers, nat, PoolConfig::default()), n3, n6, doors)
    }

    fn with_pool(
        (workers, nat, packets): (usize, NatPools, PoolConfig),
        n3: SimPortConfig,
        n6: SimPortConfig,
        doors: impl Fn(WorkerId) -> (Vec<Polled>, QueueId),
    ) -> Self {
        let layout = Layout::new(4096, &[pool()], 64).unwrap().with_nat(nat);
        let plan = Plan {
            layout: layout.clone(),
            blocks: 2 * SHARDS,
            workers,
        };
        let (seeds, mut control, foreign) = assemble(&plan).unwrap();
        let net = SimNet::new(1);
        let ports = [net.add_port(n3), net.add_port(n6)];
        let pool = HeapPool::new(packets);
        let workers = seeds
            .into_iter()
            .map(|seed| {
                let (polled, tx_queue) = doors(seed.id());
                control.polls(seed.id(), &polled);
                seed.grow(net.io(&ports, pool.clone()), polled, tx_queue)
            })
            .collect();
        let [n3, n6] = ports;
        let mut kit = Self {
            net,
            n3,
            n6,
            workers,
            control,
            foreign,
            pool,
            layout,
            tables: tables(),
            now_ns: 1_000_000_000,
            next_txn: 0,
            punted: vec![],
        };
        kit.control.publish(tables());
        kit
    }

    /// Turns until nothing happens any more.
    pub fn settle(&mut self) {
        for _ in 0..100 {
            self.now_ns += 1_000;
            self.net.advance_to(self.now_ns);
            let worked: usize = self.workers.iter_mut().map(|w| w.turn(self.now_ns)).sum();
            while let Some(message) = self.control.receive_message() {
                self.punted.push(message);
            }
            if worked == 0
                && self
                    .net
                    .next_event_ns()
                    .is_none_or(|t| t > self.now_ns + 1_000_000)
            {
                return;
            }
        }
        panic!("the path does not come to rest");
    }

    /// One turn of each worker, a little later.
    pub fn turn(&mut self) {
        self.now_ns += 1_000;
        self.net.advance_to(self.now_ns);
        let now_ns = self.now_ns;
        self.workers.iter_mut().for_each(|w| {
            w.turn(now_ns);
        });
    }

    /// Sends a transaction and does not wait for it.
    pub fn send(&mut self, shard: u32, ops: &[Op]) {
        self.next_txn += 1;
        let mut txn = Box::new(Txn::new(self.next_txn, ShardId((shard % SHARDS) as u16)));
        txn.ops.try_extend_from_slice(ops).unwrap();
        self.control.send(txn);
    }

    pub fn apply(&mut self, shard: u32, ops: &[Op], end_markers: &[EndMarker]) -> Vec<Usage> {
        self.transact(shard, ops, end_markers).usage.to_vec()
    }

    /// The transaction as it comes back.
    pub fn transact(&mut self, shard: u32, ops: &[Op], end_markers: &[EndMarker]) -> Box<Txn> {
        self.next_txn += 1;
        let mut txn = Box::new(Txn::new(self.next_txn, ShardId((shard % SHARDS) as u16)));
        txn.ops.try_extend_from_slice(ops).unwrap();
        txn.end_markers.try_extend_from_slice(end_markers).unwrap();
        self.control.send(txn);
        self.settle();
        let done = self
            .punted
            .iter()
            .position(|m| matches!(m, ToControl::Done(_)));
        match self
            .punted
            .remove(done.expect("the transaction comes back"))
        {
            ToControl::Done(txn) => txn,
            _ => unreachable!(),
        }
    }

    /// The default session: uplink by a TEID of ours, downlink by the UE's address.
    pub fn default_session(&mut self) -> Session {
        let slot = u32::from(UE) % SHARDS;
        let teid = self.layout.teid(slot, 5).unwrap();
        let dl = self.layout.pool_entry(INTERNET, u32::from(UE)).unwrap();
        let s = Session {
            teid,
            ul: slot,
            dl: dl.0,
        };
        self.apply(slot, &[set(s.ul, uplink(teid)), set(s.dl, downlink())], &[]);
        s
    }

    pub fn gnb_sends(&mut self, teid: u32, inner: &[u8]) {
        self.n3.inject(&gtpu_frame(GNB, teid, 9, inner));
        self.settle();
    }

    pub fn dn_sends(&mut self, packet: &[u8]) {
        self.n6
            .inject(&frame(N6_MAC, DN_MAC, EtherType::IPV4, packet));
        self.settle();
    }

    pub fn dropped(&self, reason: DropReason) -> u64 {
        self.control.ledger().dropped_for(reason)
    }

    /// The ledger balances and nothing leaks: after every test.
    pub fn close(mut self) {
        self.settle();
        for m in self.punted.drain(..) {
            if let ToControl::Packet(p, _)
            | ToControl::FromUe(p, ..)
            | ToControl::Icmp(p, _)
            | ToControl::RouterSolicitation(p, ..) = m
            {
                p.free();
            }
        }
        let ledger = self.control.ledger();
        assert!(ledger.balances(), "{ledger}");
        for w in self.workers.drain(..) {
            w.stop();
        }
        let ledger = self.control.ledger();
        assert!(ledger.balances() && ledger.held == 0, "{ledger}");
        drop(self.n3);
        drop(self.n6);
        assert_eq!(self.pool.leaked(), 0, "leaked packets");
    }
}

#[derive(Clone, Copy)]
pub struct Session {
    pub teid: Teid,
    pub ul: u32,
    pub dl: u32,
}

pub fn set(at: u32, image: SessionEntry) -> Op {
    Op::Entry {
        at: EntryId(at),
        image,
        clocks: [Clock::Full; 2],
    }
}

pub fn pool() -> Pool {
    Pool {
        instance: INTERNET,
        base: [10, 45, 0, 0].into(),
        prefix_len: 16,
    }
}

pub fn polled(port: u16, queue: u16) -> Polled {
    Polled {
        port: PortId(port),
        queue: QueueId(queue),
    }
}

pub fn uplink(teid: Teid) -> SessionEntry {
    let flags = Flags::TUNNEL
        .with(Flags::UPLINK)
        .with(Flags::FROM_UE)
        .with(Flags::FORWARD)
        .with(Flags::REMOVE_OUTER);
    SessionEntry {
        key: teid.get(),
        ue_ip: UE.into(),
        head: Head {
            flags,
            ..Head::default()
        },
        ..SessionEntry::default()
    }
}

pub fn downlink() -> SessionEntry {
    let flags = Flags::FORWARD
        .with(Flags::CREATE_OUTER)
        .with(Flags::MARK_QFI);
    SessionEntry {
        key: UE.into(),
        ue_ip: UE.into(),
        head: Head {
            flags,
            qfi_match: 0,
            mark_and_notify: 9,
            teid: GNB_TEID,
        },
        body: Body::to_peer(PeerId(0)),
        ..SessionEntry::default()
    }
    .at_local(INTERNET.0)
}

pub fn tables() -> Tables {
    let interface = |port: u16, mac, address: Ipv4Addr| Interface {
        port: PortId(port),
        vlan: None,
        mac,
        template: None,
        mtu: 1500,
        addresses: vec![address],
        addresses_ipv6: vec![],
        tunnels_ipv6: vec![],
        tunnels: vec![],
        n4: vec![],
        instance: None,
        outside: None,
        allowed_peers: vec![],
        allowed_peers_ipv6: vec![],
        verifies_udp: true,
        mss_clamp: None,
    };
    let on = |id| PortInterfaces {
        untagged: Some(id),
        tagged: vec![],
    };
    let mut tables = Tables {
        interfaces: vec![
            Interface {
                tunnels: vec![TunnelAddress {
                    address: UPF,
                    local: 0,
                }],
                ..interface(0, N3_MAC, UPF)
            },
            Interface {
                instance: Some(INTERNET),
                addresses_ipv6: vec![N6_IPV6],
                ..interface(1, N6_MAC, N6)
            },
        ],
        by_port: vec![on(InterfaceId(0)), on(InterfaceId(1))],
        peers: peers(&[Peer::new(GNB, UPF, NextHopId(0))]),
        egresses: vec![Egress {
            instance: Some(INTERNET),
            translates: None,
            connected: vec![(Prefix::new(N6, 24).unwrap(), InterfaceId(1))],
            neighbours: [(u32::from(SERVER), NextHopId(1))].into(),
            routes: vec![],
            own: vec![(N6.into(), InterfaceId(1))],
            ipv6: EgressIpv6 {
                connected: vec![(PrefixIpv6::new(N6_IPV6, 64).unwrap(), InterfaceId(1))],
                neighbours: [(SERVER_IPV6.to_bits(), NextHopId(2))].into(),
                routes: vec![],
                own: vec![(N6_IPV6.to_bits(), InterfaceId(1))],
            },
        }],
        ..Tables::default()
    };
    set_server_known(&mut tables, true);
    tables
}

/// The data network's server is known, or must be asked for.
pub fn set_server_known(tables: &mut Tables, is_known: bool) {
    let hop = |interface, address: IpAddr, mac| NextHop {
        interface,
        address,
        mac,
    };
    let server = hop(InterfaceId(1), SERVER.into(), is_known.then_some(DN_MAC));
    let server_ipv6 = hop(
        InterfaceId(1),
        SERVER_IPV6.into(),
        is_known.then_some(DN_MAC),
    );
    let gnb = hop(InterfaceId(0), GNB.into(), Some(GNB_MAC));
    let mut slots = NextHopSlots::new(3);
    for (id, hop) in [(0, gnb), (1, server), (2, server_ipv6)] {
        let encap = InterfaceEncap::of(&tables.interfaces[usize::from(hop.interface)]);
        slots.set(NextHopId(id), &hop, &encap);
    }
    tables.next_hops = slots.reader();
}

fn peers(all: &[Peer]) -> Peers {
    let mut slots = PeerSlots::new(all.len());
    for (id, peer) in (0..).zip(all) {
        slots.set(PeerId(id), Some(peer));
    }
    slots.reader()
}

pub fn frame(to: [u8; 6], from: [u8; 6], ethertype: EtherType, payload: &[u8]) -> Vec<u8> {
    let header = EthHeader {
        destination: MacAddr(to),
        source: MacAddr(from),
        ethertype,
    };
    [&header.to_bytes()[..], payload].concat()
}

pub fn udp_packet(src: Ipv4Addr, dst: Ipv4Addr, ports: (u16, u16), payload: &[u8]) -> Vec<u8> {
    let udp = UdpHeader {
        source_port: ports.0,
        destination_port: ports.1,
    };
    let udp = udp.to_bytes(src, dst, payload).unwrap();
    let ip = Ipv4Header::new(Protocol::UDP, src, dst);
    let ip = ip.to_bytes(8 + payload.len()).unwrap();
    [&ip[..], &udp, payload].concat()
}

/// The same IPv4 packet with another ToS octet.
pub fn with_tos(packet: &[u8], tos: u8) -> Vec<u8> {
    let ip = Ipv4::parse(packet).unwrap();
    let mut header = Ipv4Header::new(ip.protocol(), ip.source(), ip.destination());
    header.tos = tos;
    let payload = &packet[20..];
    [&header.to_bytes(payload.len()).unwrap()[..], payload].concat()
}

/// A downlink of a UE that holds packets, so many as are suggested, and rings for the first.
pub fn holding(down: SessionEntry, suggested: Option<u8>) -> SessionEntry {
    let head = Head {
        flags: Flags::HOLD,
        teid: 0,
        ..down.head
    };
    let entry = SessionEntry {
        head: head.notifying(true),
        body: Body::to_hold(suggested),
        ..down
    };
    entry.at_local(INTERNET.0)
}

/// What is held for an entry.
pub fn held(entry: u32, order: HeldOrder) -> Op {
    Op::Held {
        at: EntryId(entry),
        order,
    }
}

pub fn gtpu_frame(gnb: Ipv4Addr, teid: u32, qfi: u8, inner: &[u8]) -> Vec<u8> {
    let container = ShortContainer::uplink(Qfi::new(qfi).unwrap());
    let teid = Teid::new(teid).unwrap();
    let gtpu = g_pdu_header_with_container(teid, container, inner.len()).unwrap();
    let outer = udp_packet(gnb, UPF, (50_000, 2152), &[&gtpu[..], inner].concat());
    frame(N3_MAC, GNB_MAC, EtherType::IPV4, &outer)
}

/// Frames that left by a port, without times.
pub fn output(port: &SimPort) -> Vec<Vec<u8>> {
    port.take_output().into_iter().map(|(_, f)| f).collect()
}
