//! Several rules behind one tunnel: whatever they are, and whatever packets come, the fast path finds the rule that the slow
//! path finds, and does with the packet what that does.
#![allow(clippy::unwrap_used)]

use crate::kit::*;
use proptest::prelude::*;
use sluice_datapath::ids::BlockId;
use sluice_datapath::limits::{BLOCK_RULES, SHARDS};
use sluice_datapath::session::flow_filter::{AddressRange, FilterRun, FlowFilter, FlowFilterSlots};
use sluice_datapath::session::rule::{Body, BucketRef, Flags, Head, Rule, SharedBucket};
use sluice_datapath::session::token_bucket::Rate;
use sluice_datapath::session::txn::{Clock, Op, Usage};
use sluice_wire::eth::EtherType;
use sluice_wire::ipv4::{Ipv4Header, Protocol};
use sluice_wire::ipv6::Ipv6Header;
use std::net::Ipv4Addr;

/// Flow filters that rules have runs of.
const FILTERS: usize = 8;
/// Rates that rules draw on, in bit/s: one is used up by a packet or two, one by some, one by none.
const RATES: [u64; 3] = [50_000, 200_000, 1_000_000_000];
const OTHER_SERVER: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 200);
const PORTS: [u16; 4] = [80, 443, 5000, 5001];
const QFIS: [u8; 2] = [5, 9];

/// A rule, as the session machine might write it.
#[derive(Clone, Copy, Debug)]
struct AnyRule {
    filters: Option<(u32, u8)>,
    /// IPv4 or IPv6 packets alone.
    is_ipv6: Option<bool>,
    qfi: Option<u8>,
    is_open: bool,
    forwards: bool,
    /// Buckets that it draws on.
    rates: [bool; RATES.len()],
}

/// A packet of the UE.
#[derive(Clone, Debug)]
struct AnyPacket {
    is_ipv6: bool,
    is_udp: bool,
    to_other: bool,
    ports: (u16, u16),
    tos: u8,
    qfi: u8,
    octets: usize,
}

fn filter() -> impl Strategy<Value = FlowFilter> {
    let ports = || {
        let range = (prop::sample::select(&PORTS[..]), 0..2_u16);
        prop::option::of(range.prop_map(|(first, more)| (first, first + more)))
    };
    let remote = prop_oneof![
        Just(AddressRange::Any),
        Just(AddressRange::Ipv4(u32::from(SERVER), 32)),
        Just(AddressRange::Ipv4(u32::from(SERVER) & !0xff, 24)),
        Just(AddressRange::Ipv6(SERVER_IPV6.to_bits(), 128)),
    ];
    let protocol = prop::option::of(prop::sample::select(vec![6_u8, 17]));
    let tos = prop::option::of(prop::sample::select(vec![(0xb8, 0xfc), (0, 0xfc)]));
    (protocol, remote, ports(), ports(), tos).prop_map(
        |(protocol, remote, remote_ports, local_ports, tos)| FlowFilter {
            protocol,
            remote,
            remote_ports,
            local_ports,
            tos,
            ..FlowFilter::default()
        },
    )
}

fn rule() -> impl Strategy<Value = AnyRule> {
    let run = (0..FILTERS as u32 - 2, 1..=3_u8);
    (
        prop::option::weighted(0.8, run),
        prop::option::weighted(0.3, any::<bool>()),
        prop::option::weighted(0.3, prop::sample::select(&QFIS[..])),
        prop::bool::weighted(0.9),
        prop::bool::weighted(0.85),
        prop::array::uniform3(prop::bool::weighted(0.3)),
    )
        .prop_map(
            |(filters, is_ipv6, qfi, is_open, forwards, rates)| AnyRule {
                filters,
                is_ipv6,
                qfi,
                is_open,
                forwards,
                rates,
            },
        )
}

fn packet() -> impl Strategy<Value = AnyPacket> {
    let port = || prop::sample::select(&PORTS[..]);
    (
        any::<bool>(),
        prop::bool::weighted(0.7),
        any::<bool>(),
        (port(), port()),
        prop::sample::select(vec![0_u8, 0xb8]),
        prop::sample::select(&QFIS[..]),
        0..900_usize,
    )
        .prop_map(
            |(is_ipv6, is_udp, to_other, ports, tos, qfi, octets)| AnyPacket {
                is_ipv6,
                is_udp,
                to_other,
                ports,
                tos,
                qfi,
                octets,
            },
        )
}

impl AnyPacket {
    fn inner(&self) -> Vec<u8> {
        let protocol = if self.is_udp {
            Protocol::UDP
        } else {
            Protocol::TCP
        };
        // The path reads nothing of it but its ports.
        let (source, destination) = self.ports;
        let ports = [source.to_be_bytes(), destination.to_be_bytes()].concat();
        let payload = [&ports[..], &[0; 16], &vec![0x5a; self.octets]].concat();
        if self.is_ipv6 {
            let mut header = Ipv6Header::new(protocol, UE_IPV6, SERVER_IPV6);
            header.traffic_class = self.tos;
            return [&header.to_bytes(payload.len()).unwrap()[..], &payload].concat();
        }
        let to = if self.to_other { OTHER_SERVER } else { SERVER };
        let mut header = Ipv4Header::new(protocol, UE, to);
        header.tos = self.tos;
        [&header.to_bytes(payload.len()).unwrap()[..], &payload].concat()
    }

    /// In a tunnel. With a sequence number it is none of the common packets, and nothing else about it is another.
    fn frame(&self, teid: u32, has_sequence: bool) -> Vec<u8> {
        let inner = self.inner();
        let flags = if has_sequence { 0x36 } else { 0x34 };
        let container = [0, 0, 0, 0x85, 1, 0x10, self.qfi, 0];
        let len = (container.len() + inner.len()) as u16;
        let gtpu = [
            &[flags, 0xff][..],
            &len.to_be_bytes(),
            &teid.to_be_bytes(),
            &container,
            &inner,
        ];
        let outer = udp_packet(GNB, UPF, (50_000, 2152), &gtpu.concat());
        frame(N3_MAC, GNB_MAC, EtherType::IPV4, &outer)
    }
}

/// A session whose uplink rules stand in blocks, in their order.
struct Side {
    kit: Kit,
    s: Session,
    blocks: Vec<u32>,
    rules: usize,
    has_sequence: bool,
}

impl Side {
    fn new(filters: &[FlowFilter], rules: &[AnyRule], has_sequence: bool) -> Self {
        let mut kit = Kit::new();
        let s = kit.default_session();
        let mut slots = FlowFilterSlots::new(64);
        for (at, filter) in (0..).zip(filters) {
            assert!(slots.set(at, filter));
        }
        let mut tables = kit.tables.clone();
        tables.filters = slots.reader();
        kit.control.publish(tables);
        let blocks = vec![s.ul + SHARDS, s.ul];
        let mut side = Self {
            kit,
            s,
            blocks,
            rules: rules.len(),
            has_sequence,
        };
        let ops = side.ops(rules);
        side.kit.apply(s.ul, &ops, &[]);
        side
    }

    fn ops(&self, rules: &[AnyRule]) -> Vec<Op> {
        let first = BlockId(self.blocks[0]);
        let bucket = |at: usize| BucketRef::new(first, at as u8);
        let mut ops: Vec<Op> = (RATES.iter().enumerate())
            .map(|(at, rate)| Op::Bucket {
                at: bucket(at),
                image: SharedBucket::new(Rate::from_bps(*rate).unwrap()),
                clock: Clock::Full,
            })
            .collect();
        for (n, rule) in rules.iter().enumerate() {
            let (block, at) = self.place(n);
            let mut buckets = [BucketRef::NONE; 4];
            let drawn = (0..RATES.len()).filter(|at| rule.rates[*at]);
            for (place, at) in buckets.iter_mut().zip(drawn) {
                *place = bucket(at);
            }
            let run = rule.filters.map(|(at, n)| FilterRun::new(at, n.into()));
            let run = run.map_or(FilterRun::NONE, |run| run.unwrap());
            let image = Rule::new(head(rule), run, buckets, Body::default());
            ops.push(Op::Rule { block, at, image });
        }
        for (n, part) in rules.chunks(BLOCK_RULES).enumerate() {
            let is_last = (n + 1) * BLOCK_RULES >= rules.len();
            let next = if is_last { 0 } else { self.blocks[n + 1] };
            ops.push(Op::Chain {
                block: BlockId(self.blocks[n]),
                next: BlockId(next),
                rules_len: part.len() as u8,
            });
        }
        let mut up = uplink(self.s.teid);
        up.ue_prefix = UE_PREFIX;
        up.head.flags = up.head.flags.with(Flags::EXTENDED);
        up.head.teid = self.blocks[0];
        ops.push(set(self.s.ul, up));
        ops
    }

    fn place(&self, rule: usize) -> (BlockId, u8) {
        let block = BlockId(self.blocks[rule / BLOCK_RULES]);
        (block, (rule % BLOCK_RULES) as u8)
    }

    /// What leaves of packets that come at once, and what was dropped until then, by reason.
    fn send(&mut self, packets: &[AnyPacket]) -> (Vec<Vec<u8>>, String) {
        for packet in packets {
            let frame = packet.frame(self.s.teid.get(), self.has_sequence);
            self.kit.n3.inject(&frame);
        }
        self.kit.settle();
        let ledger = self.kit.control.ledger();
        (output(&self.kit.n6), format!("{:?}", ledger.dropped))
    }

    /// Packets that took the slow path.
    fn slow(&self) -> u64 {
        let stats = self.kit.control.stats().iter();
        stats.flat_map(|s| &s.slow).map(|n| n.get()).sum()
    }

    /// Usage of each rule.
    fn usage(&mut self) -> Vec<Usage> {
        let places = (0..self.rules).map(|n| self.place(n));
        let take = |(block, at)| Op::TakeRule { block, at };
        let ops: Vec<Op> = places.map(take).collect();
        self.kit.apply(self.s.ul, &ops, &[])
    }
}

/// Uplink rules of an IPv4 server's ports, the last of which alone lets a packet to it pass.
pub fn session_whose_last_rule_matches(rules: usize) -> (Kit, Session) {
    let filter = FlowFilter {
        protocol: Some(17),
        remote: AddressRange::Ipv4(u32::from(SERVER), 32),
        remote_ports: Some((PORTS[0], PORTS[1])),
        ..FlowFilter::default()
    };
    let other = AnyRule {
        filters: Some((0, 1)),
        is_ipv6: None,
        qfi: None,
        is_open: true,
        forwards: true,
        rates: [false; RATES.len()],
    };
    let mut all = vec![other; rules - 1];
    all.push(AnyRule {
        filters: None,
        ..other
    });
    let Side { kit, s, .. } = Side::new(&[filter], &all, false);
    (kit, s)
}

fn head(rule: &AnyRule) -> Head {
    let flags = Flags::UPLINK
        .with(Flags::REMOVE_OUTER)
        .with_if(Flags::FORWARD, rule.forwards)
        .with_if(Flags::GATE_CLOSED, !rule.is_open)
        .with_if(Flags::MATCH_QFI, rule.qfi.is_some())
        .with_if(Flags::MATCH_IPV4, rule.is_ipv6 == Some(false))
        .with_if(Flags::MATCH_IPV6, rule.is_ipv6 == Some(true));
    Head {
        flags,
        qfi_match: rule.qfi.unwrap_or(0),
        ..Head::default()
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn of_any_rules_the_fast_path_finds_and_does_what_the_slow_path_does(
        filters in prop::collection::vec(filter(), FILTERS),
        rules in prop::collection::vec(rule(), 2..2 * BLOCK_RULES),
        bursts in prop::collection::vec(prop::collection::vec(packet(), 1..12), 1..6),
    ) {
        let [mut fast, mut slow] =
            [false, true].map(|has_sequence| Side::new(&filters, &rules, has_sequence));
        let mut came = 0;
        for burst in &bursts {
            came += burst.len() as u64;
            prop_assert_eq!(fast.send(burst), slow.send(burst));
        }
        let (fast_usage, slow_usage) = (fast.usage(), slow.usage());
        prop_assert_eq!(slow.slow(), came);
        // What a rule lets go is common: only what is dropped, or draws on a rate that is used up, is not.
        let left: u64 = fast_usage.iter().map(|usage| usage.packets).sum();
        prop_assert!(fast.slow() <= came - left, "{} of {came}, {left} left", fast.slow());
        prop_assert_eq!(fast_usage, slow_usage);
        fast.kit.close();
        slow.kit.close();
    }
}
