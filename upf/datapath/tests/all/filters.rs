//! SDF filters on the path: precedence, directions, and rules for the UE's own link.

use crate::kit::*;
use sluice_datapath::drop::DropReason;
use sluice_datapath::ids::BlockId;
use sluice_datapath::session::flow_filter::{AddressRange, FilterRun, FlowFilter, FlowFilterSlots};
use sluice_datapath::session::rule::{Body, BucketRef, Flags, Head, Rule};
use sluice_datapath::session::txn::Op;
use sluice_wire::ipv4::{Ipv4Header, Protocol};
use sluice_wire::ipv6::Ipv6Header;
use std::net::{Ipv4Addr, Ipv6Addr};

const UP: [Flags; 2] = [Flags::FORWARD, Flags::UPLINK];

fn head(flags: &[Flags]) -> Head {
    Head {
        flags: flags.iter().copied().fold(Flags::none(), Flags::with),
        ..Head::default()
    }
}

fn rule(block: u32, at: u8, head: Head, filters: FilterRun) -> Op {
    Op::Rule {
        block: BlockId(block),
        at,
        image: Rule::new(head, filters, [BucketRef::NONE; 4], Body::default()),
    }
}

/// A session whose uplink rules stand in a block: those given, in their order.
fn with_rules(kit: &mut Kit, filters: &[FlowFilter], rules: &[(Head, FilterRun)]) -> Session {
    let s = kit.default_session();
    let mut slots = FlowFilterSlots::new(64);
    for (at, filter) in filters.iter().enumerate() {
        assert!(slots.set(at as u32, filter));
    }
    let mut tables = kit.tables.clone();
    tables.filters = slots.reader();
    kit.control.publish(tables);
    let block = s.ul + sluice_datapath::limits::SHARDS;
    let mut up = uplink(s.teid);
    up.head.flags = up.head.flags.with(Flags::EXTENDED);
    up.head.teid = block;
    let mut ops: Vec<Op> = (0..)
        .zip(rules)
        .map(|(at, (head, run))| rule(block, at, *head, *run))
        .collect();
    ops.push(Op::Chain {
        block: BlockId(block),
        next: BlockId(0),
        rules_len: rules.len() as u8,
    });
    ops.push(set(s.ul, up));
    kit.apply(s.ul, &ops, &[]);
    s
}

fn udp_to_port(port: u16) -> FlowFilter {
    FlowFilter {
        protocol: Some(17),
        remote: AddressRange::Ipv4(u32::from(SERVER) & !0xff, 24),
        remote_ports: Some((port, port + 9)),
        ..FlowFilter::default()
    }
}

#[test]
fn the_first_rule_whose_filters_are_met_decides_and_filters_are_turned_for_the_uplink() {
    let mut kit = Kit::new();
    let drops = (head(&[Flags::UPLINK]), FilterRun::new(0, 2).unwrap());
    let rest = (head(&UP), FilterRun::NONE);
    let s = with_rules(
        &mut kit,
        &[udp_to_port(5000), udp_to_port(6000)],
        &[drops, rest],
    );
    let cases = [
        (UE, SERVER, (1, 5000), true),
        (UE, SERVER, (1, 5009), true),
        (UE, SERVER, (1, 6005), true),
        (UE, SERVER, (1, 5010), false),
        (UE, SERVER, (5000, 4999), false),
        (UE, Ipv4Addr::new(198, 51, 100, 81), (7, 6000), true),
    ];
    let mut dropped = 0;
    for (from, to, ports, drops) in cases {
        kit.gnb_sends(s.teid.get(), &udp_packet(from, to, ports, b"x"));
        dropped += u64::from(drops);
        assert_eq!(kit.dropped(DropReason::FarDrop), dropped, "{to} {ports:?}");
    }
    kit.close();
}

#[test]
fn a_later_fragment_and_another_protocol_have_no_ports() {
    let mut kit = Kit::new();
    let drops = (head(&[Flags::UPLINK]), FilterRun::new(0, 1).unwrap());
    let any_protocol = FlowFilter {
        protocol: None,
        ..udp_to_port(80)
    };
    let s = with_rules(
        &mut kit,
        &[any_protocol],
        &[drops, (head(&UP), FilterRun::NONE)],
    );
    let payload = [0, 1, 0, 80, 0, 8, 0, 0];
    let of = |protocol: Protocol, fragment: u16| {
        let header = Ipv4Header::new(protocol, UE, SERVER).to_bytes(8).unwrap();
        let mut packet = [&header[..], &payload].concat();
        packet[6..8].copy_from_slice(&fragment.to_be_bytes());
        packet[10..12].fill(0);
        let sum = sluice_wire::checksum::checksum(&packet[..20]);
        packet[10..12].copy_from_slice(&sum.to_be_bytes());
        packet
    };
    for (packet, drops) in [
        (of(Protocol::UDP, 0), 1),
        (of(Protocol::UDP, 0x2000), 2),
        (of(Protocol::UDP, 0x0010), 2),
        (of(Protocol::ICMP, 0), 2),
        (of(Protocol::TCP, 0), 3),
    ] {
        kit.gnb_sends(s.teid.get(), &packet);
        assert_eq!(kit.dropped(DropReason::FarDrop), drops);
    }
    kit.close();
}

#[test]
fn without_a_rule_that_is_met_there_is_no_pdr() {
    let mut kit = Kit::new();
    let only = (head(&UP), FilterRun::new(0, 1).unwrap());
    let s = with_rules(&mut kit, &[udp_to_port(80)], &[only]);
    kit.gnb_sends(s.teid.get(), &udp_packet(UE, SERVER, (1, 79), b"x"));
    assert_eq!(kit.dropped(DropReason::NoPdr), 1);
    kit.gnb_sends(s.teid.get(), &udp_packet(UE, SERVER, (1, 80), b"x"));
    assert_eq!(output(&kit.n6).len(), 1);
    kit.close();
}

#[test]
fn rules_of_the_ues_link_leave_all_others_on_the_fast_path() {
    let mut kit = Kit::new();
    let group = Ipv6Addr::new(0xff05, 0, 0, 0, 0, 0, 0, 2);
    let of_group = FlowFilter {
        remote: AddressRange::Ipv6(group.to_bits(), 128),
        ..FlowFilter::default()
    };
    let drops = (head(&[Flags::UPLINK]), FilterRun::new(0, 1).unwrap());
    let s = with_rules(&mut kit, &[of_group], &[drops]);
    let mut up = uplink(s.teid);
    up.ue_prefix = UE_PREFIX;
    up.head.flags = up.head.flags.with(Flags::LINK_RULES);
    up.head.teid = s.ul + sluice_datapath::limits::SHARDS;
    kit.apply(s.ul, &[set(s.ul, up)], &[]);
    let to = |to: Ipv6Addr| {
        let header = Ipv6Header::new(Protocol(59), UE_IPV6, to);
        header.to_bytes(0).unwrap().to_vec()
    };
    kit.gnb_sends(s.teid.get(), &udp_packet(UE, SERVER, (1, 80), b"x"));
    kit.gnb_sends(s.teid.get(), &to(SERVER_IPV6));
    let slow = || {
        kit.control
            .stats()
            .iter()
            .flat_map(|s| &s.slow)
            .map(|c| c.get())
            .sum::<u64>()
    };
    assert_eq!((slow(), output(&kit.n6).len()), (0, 2));
    kit.gnb_sends(s.teid.get(), &to(group));
    assert_eq!(kit.dropped(DropReason::FarDrop), 1);
    // Another group meets the entry's own rule, which has no route for it.
    kit.gnb_sends(
        s.teid.get(),
        &to(Ipv6Addr::new(0xff05, 0, 0, 0, 0, 0, 0, 3)),
    );
    assert_eq!(kit.dropped(DropReason::NoRoute), 1);
    kit.close();
}

/// Packets that took the slow path.
fn slow(kit: &Kit) -> u64 {
    let stats = kit.control.stats().iter().flat_map(|worker| &worker.slow);
    stats.map(|packets| packets.get()).sum()
}

#[test]
fn where_an_endpoint_has_several_rules_common_packets_take_the_fast_path_alone_and_in_bursts() {
    let mut kit = Kit::new();
    let drops = (head(&[Flags::UPLINK]), FilterRun::new(0, 1).unwrap());
    let filtered = (head(&UP), FilterRun::new(1, 1).unwrap());
    let filters = [udp_to_port(80), udp_to_port(500)];
    let rules = [drops, filtered, (head(&UP), FilterRun::NONE)];
    let s = with_rules(&mut kit, &filters, &rules);
    let ports = [500, 80, 7, 509, 510, 89];
    let (mut dropped, mut left) = (0, 0);
    // One by one, then in one burst behind packets that told of such entries.
    for in_burst in [false, true] {
        for port in ports.repeat(4) {
            let inner = udp_packet(UE, SERVER, (1, port), b"x");
            if in_burst {
                kit.n3.inject(&gtpu_frame(GNB, s.teid.get(), 9, &inner))
            } else {
                kit.gnb_sends(s.teid.get(), &inner)
            }
            let drops = (80..90).contains(&port);
            dropped += u64::from(drops);
            left += usize::from(!drops);
        }
        kit.settle();
        assert_eq!(kit.dropped(DropReason::FarDrop), dropped);
        assert_eq!(slow(&kit), dropped, "only those that no rule forwards");
        assert_eq!(output(&kit.n6).len(), std::mem::take(&mut left));
    }
    // Who owns the address is asked as on the slow path.
    let elsewhere = udp_packet(SERVER, UE, (1, 500), b"x");
    kit.gnb_sends(s.teid.get(), &elsewhere);
    assert_eq!(kit.dropped(DropReason::UeSource), 1);
    let block = BlockId(s.ul + sluice_datapath::limits::SHARDS);
    let taken = [0, 1, 2].map(|at| Op::TakeRule { block, at });
    let used = kit.apply(s.ul, &taken, &[]);
    let packets: Vec<u64> = used.iter().map(|usage| usage.packets).collect();
    assert_eq!(packets, [0, 16, 16]);
    kit.close();
}
