//! The default session on simulated ports: what goes in, what comes out, byte for byte.

#![allow(clippy::unwrap_used)]

use crate::kit::*;
use sluice_datapath::drop::DropReason;
use sluice_datapath::ids::{EntryId, InterfaceId, NextHopId, PeerId};
use sluice_datapath::message::{IcmpCause, IcmpNotice, Resolve, Sender, ToControl};
use sluice_datapath::session::rule::Flags;
use sluice_datapath::session::token_bucket::Rate;
use sluice_datapath::session::txn::{Clock, EndMarker, Op, Usage};
use sluice_port_sim::SimPortConfig;
use sluice_wire::eth::EtherType;
use sluice_wire::gtpu::{GPdu, PduType};
use sluice_wire::ipv4::{Ipv4, Protocol};
use sluice_wire::udp::Udp;
use std::net::IpAddr;

#[test]
fn uplink_leaves_plain_with_one_hop_less() {
    let mut kit = Kit::new();
    let s = kit.default_session();
    let inner = udp_packet(UE, SERVER, (4000, 80), b"hello");
    kit.gnb_sends(s.teid.get(), &inner);
    let out = output(&kit.n6);
    assert_eq!(out.len(), 1);
    assert_eq!(
        out[0][..14],
        frame(DN_MAC, N6_MAC, EtherType::IPV4, &[])[..]
    );
    let ip = Ipv4::parse(&out[0][14..]).expect("a valid packet");
    assert_eq!(ip.ttl(), 63);
    assert_eq!(ip.payload(), &inner[20..]);
    let usage = kit.apply(
        s.ul,
        &[
            Op::TakeEntry { at: EntryId(s.ul) },
            Op::TakeEntry { at: EntryId(s.dl) },
        ],
        &[],
    );
    let one = Usage {
        bytes: inner.len() as u64,
        packets: 1,
    };
    assert_eq!(usage, [one, Usage::default()]);
    kit.close();
}

#[test]
fn downlink_leaves_in_the_tunnel_with_its_qfi() {
    let mut kit = Kit::new();
    let s = kit.default_session();
    let packet = udp_packet(SERVER, UE, (80, 4000), b"world");
    kit.dn_sends(&packet);
    let out = output(&kit.n3);
    assert_eq!(out.len(), 1);
    let outer = Ipv4::parse(&out[0][14..]).expect("a valid outer packet");
    assert_eq!((outer.source(), outer.destination()), (UPF, GNB));
    let udp = Udp::parse(outer.payload()).unwrap();
    assert_eq!(udp.destination_port(), 2152);
    assert!(udp.source_port() >= 0xc000);
    let pdu = GPdu::parse(udp.payload()).unwrap();
    assert_eq!(pdu.teid.get(), GNB_TEID);
    assert_eq!(pdu.qfi.map(|q| q.get()), Some(9));
    assert_eq!(pdu.pdu_type, Some(PduType::Downlink));
    let inner = pdu.payload(udp.payload()).unwrap();
    assert_eq!(inner[20..], packet[20..]);
    let usage = kit.apply(s.dl, &[Op::TakeEntry { at: EntryId(s.dl) }], &[]);
    assert_eq!(usage[0].bytes, packet.len() as u64);
    kit.close();
}

#[test]
fn ethernet_padding_is_no_part_of_the_packet() {
    let mut kit = Kit::new();
    let s = kit.default_session();
    let mut short = frame(
        N6_MAC,
        DN_MAC,
        EtherType::IPV4,
        &udp_packet(SERVER, UE, (1, 2), b""),
    );
    short.resize(60, 0xee);
    kit.n6.inject(&short);
    kit.settle();
    assert_eq!(output(&kit.n3)[0].len(), 14 + 44 + 28);
    let usage = kit.apply(s.dl, &[Op::TakeEntry { at: EntryId(s.dl) }], &[]);
    assert_eq!(usage[0].bytes, 28);
    kit.close();
}

#[test]
fn an_unknown_teid_is_dropped_and_reported_to_the_control_core() {
    let mut kit = Kit::new();
    let s = kit.default_session();
    let inner = udp_packet(UE, SERVER, (1, 2), b"x");
    for teid in [s.teid.get() ^ 1 << 20, s.teid.get() + 1, 77] {
        kit.gnb_sends(teid, &inner);
    }
    assert_eq!(kit.dropped(DropReason::UnknownTeid), 3);
    let notices = kit
        .punted
        .iter()
        .filter(|m| matches!(m, ToControl::UnknownTeid(n) if n.peer == GNB && n.local == UPF));
    assert_eq!(notices.count(), 3);
    assert!(output(&kit.n6).is_empty());
    kit.close();
}

#[test]
fn a_ue_cannot_send_from_another_address() {
    let mut kit = Kit::new();
    let s = kit.default_session();
    kit.gnb_sends(
        s.teid.get(),
        &udp_packet([10, 45, 0, 8].into(), SERVER, (1, 2), b"x"),
    );
    assert_eq!(kit.dropped(DropReason::UeSource), 1);
    assert!(output(&kit.n6).is_empty());
    kit.close();
}

#[test]
fn inner_packets_that_lie_are_dropped() {
    let mut kit = Kit::new();
    let s = kit.default_session();
    let good = udp_packet(UE, SERVER, (1, 2), b"x");
    let mut too_long = good.clone();
    too_long[3] += 40;
    let mut bad_sum = good.clone();
    bad_sum[10] ^= 1;
    let mut version = good.clone();
    version[0] = 0x65;
    let mut header = good.clone();
    header[0] = 0x44;
    for (inner, reason) in [
        (&too_long[..], DropReason::InnerLength),
        (&bad_sum, DropReason::InnerChecksum),
        (&version, DropReason::InnerHeader),
        (&header, DropReason::InnerHeader),
        (&good[..10], DropReason::InnerHeader),
    ] {
        let before = kit.dropped(reason);
        kit.gnb_sends(s.teid.get(), inner);
        assert_eq!(kit.dropped(reason), before + 1, "{reason:?}");
    }
    assert!(output(&kit.n6).is_empty());
    kit.close();
}

#[test]
fn a_ttl_that_ends_here_is_told_to_the_sender() {
    let mut kit = Kit::new();
    let s = kit.default_session();
    let mut inner = udp_packet(UE, SERVER, (1, 2), b"x");
    inner[8] = 1;
    let sum = u16::from_be_bytes([inner[10], inner[11]]);
    let sum = sluice_wire::checksum::update_u16(sum, 64 << 8 | 17, 1 << 8 | 17);
    inner[10..12].copy_from_slice(&sum.to_be_bytes());
    kit.gnb_sends(s.teid.get(), &inner);
    assert_eq!(kit.dropped(DropReason::TtlExceeded), 1);
    let [ToControl::Icmp(_, notice)] = kit.punted[..] else {
        panic!("{:?}", kit.punted);
    };
    let sender = Sender::Tunnelled {
        entry: EntryId(s.ul),
        towards: Some(INTERNET),
    };
    let cause = IcmpCause::TtlExceeded;
    assert_eq!(notice, IcmpNotice { cause, sender });
    kit.close();
}

#[test]
fn what_does_not_fit_the_tunnel_is_told_the_mtu_that_does() {
    let mut kit = Kit::new();
    kit.default_session();
    let mut packet = udp_packet(SERVER, UE, (1, 2), &[0; 1500 - 28]);
    packet[6] |= 0x40;
    let sum = u16::from_be_bytes([packet[10], packet[11]]);
    let sum = sluice_wire::checksum::update_u16(sum, 0, 0x4000);
    packet[10..12].copy_from_slice(&sum.to_be_bytes());
    assert_eq!(Ipv4::parse(&packet).unwrap().protocol(), Protocol::UDP);
    kit.dn_sends(&packet);
    assert_eq!(kit.dropped(DropReason::TooBig), 1);
    let [ToControl::Icmp(_, notice)] = kit.punted[..] else {
        panic!("{:?}", kit.punted);
    };
    let (cause, sender) = (IcmpCause::TooBig(1456), Sender::DataNetwork(INTERNET));
    assert_eq!(notice, IcmpNotice { cause, sender });
    kit.close();
}

#[test]
fn gates_rates_and_the_far_stop_packets_without_charging_them() {
    let mut kit = Kit::new();
    let s = kit.default_session();
    let inner = udp_packet(UE, SERVER, (1, 2), &[0; 972]);
    let mut entry = uplink(s.teid);
    entry.head.flags = entry.head.flags.with(Flags::GATE_CLOSED);
    kit.apply(s.ul, &[set(s.ul, entry)], &[]);
    kit.gnb_sends(s.teid.get(), &inner);
    assert_eq!(kit.dropped(DropReason::GateClosed), 1);

    let mut entry = uplink(s.teid);
    entry.head.flags = Flags::TUNNEL
        .with(Flags::UPLINK)
        .with(Flags::FROM_UE)
        .with(Flags::REMOVE_OUTER);
    kit.apply(s.ul, &[set(s.ul, entry)], &[]);
    kit.gnb_sends(s.teid.get(), &inner);
    assert_eq!(kit.dropped(DropReason::FarDrop), 1);

    entry.head.flags = entry.head.flags.with(Flags::N4U);
    kit.apply(s.ul, &[set(s.ul, entry)], &[]);
    kit.gnb_sends(s.teid.get(), &inner);
    assert_eq!(kit.dropped(DropReason::N4uAbsent), 1);
    assert_eq!(kit.dropped(DropReason::FarDrop), 1);

    // 8 Mbit/s: the bucket holds 100 ms, 100,000 bytes, a hundred packets.
    let mut entry = uplink(s.teid);
    entry.body.rate1 = Rate::from_bps(8_000_000).unwrap();
    kit.apply(s.ul, &[set(s.ul, entry)], &[]);
    for _ in 0..120 {
        kit.gnb_sends(s.teid.get(), &inner);
    }
    let policed = kit.dropped(DropReason::MbrExceeded);
    assert!((18..=20).contains(&policed), "{policed}");
    let usage = kit.apply(s.ul, &[Op::TakeEntry { at: EntryId(s.ul) }], &[]);
    assert_eq!(usage[0].packets, 120 - policed);
    assert_eq!(output(&kit.n6).len() as u64, 120 - policed);
    kit.close();
}

#[test]
fn a_changed_entry_returns_its_usage_and_keeps_its_bucket_where_asked() {
    let mut kit = Kit::new();
    let s = kit.default_session();
    let inner = udp_packet(UE, SERVER, (1, 2), &[0; 972]);
    let mut entry = uplink(s.teid);
    entry.body.rate0 = Rate::from_bps(8_000_000).unwrap();
    kit.apply(s.ul, &[set(s.ul, entry)], &[]);
    for _ in 0..120 {
        kit.gnb_sends(s.teid.get(), &inner);
    }
    let before = kit.dropped(DropReason::MbrExceeded);
    let again = Op::Entry {
        at: EntryId(s.ul),
        image: entry,
        clocks: [Clock::Entry(s.ul, 0), Clock::Full],
    };
    let usage = kit.apply(s.ul, &[again], &[]);
    assert_eq!(usage[0].packets, 120 - before);
    for _ in 0..5 {
        kit.gnb_sends(s.teid.get(), &inner);
    }
    assert!(
        kit.dropped(DropReason::MbrExceeded) >= before + 4,
        "an exhausted bucket stays so"
    );
    kit.close();
}

#[test]
fn an_unresolved_next_hop_holds_packets_in_order_and_bounded() {
    let mut kit = Kit::new();
    let s = kit.default_session();
    let stranger = [198, 51, 100, 99].into();
    for i in 0..300u16 {
        kit.gnb_sends(s.teid.get(), &udp_packet(UE, stranger, (i, 2), b"x"));
    }
    assert_eq!(kit.dropped(DropReason::NextHopQueueFull), 300 - 256);
    let asked = kit.punted.iter().filter(
        |m| matches!(m, ToControl::Resolve(Resolve::OnLink(InterfaceId(1), a)) if *a == IpAddr::V4(stranger)),
    );
    assert_eq!(asked.count(), 1);
    assert_eq!(kit.control.ledger().held, 256);
    assert!(kit.control.ledger().balances());

    let mut tables = tables();
    tables.egresses[0]
        .neighbours
        .insert(stranger.into(), NextHopId(1));
    kit.control.publish(tables);
    kit.settle();
    let out = output(&kit.n6);
    let ports: Vec<_> = out
        .iter()
        .map(|f| u16::from_be_bytes([f[34], f[35]]))
        .collect();
    assert_eq!(ports, (0..256).collect::<Vec<_>>());
    let usage = kit.apply(s.ul, &[Op::TakeEntry { at: EntryId(s.ul) }], &[]);
    assert_eq!(usage[0].packets, 256);
    kit.close();
}

#[test]
fn a_next_hop_that_never_answers_costs_the_packet_and_no_usage() {
    let mut kit = Kit::new();
    let s = kit.default_session();
    kit.gnb_sends(
        s.teid.get(),
        &udp_packet(UE, [198, 51, 100, 99].into(), (1, 2), b"x"),
    );
    kit.now_ns += 4_000_000_000;
    kit.settle();
    assert_eq!(kit.dropped(DropReason::NextHopUnresolved), 1);
    let usage = kit.apply(s.ul, &[Op::TakeEntry { at: EntryId(s.ul) }], &[]);
    assert_eq!(usage, [Usage::default()]);
    kit.close();
}

#[test]
fn a_next_hop_is_asked_for_each_second_while_packets_come_for_it() {
    let mut kit = Kit::new();
    let s = kit.default_session();
    // Ten seconds of a packet each 250 ms: some packet is always waiting.
    for i in 0..40u16 {
        let packet = udp_packet(UE, [198, 51, 100, 99].into(), (i, 2), b"x");
        kit.gnb_sends(s.teid.get(), &packet);
        kit.now_ns += 250_000_000;
    }
    let asked = kit.punted.iter();
    let asked =
        asked.filter(|m| matches!(m, ToControl::Resolve(Resolve::OnLink(InterfaceId(1), _))));
    assert_eq!(asked.count(), 10);
    kit.now_ns += 4_000_000_000;
    kit.settle();
    assert_eq!(kit.dropped(DropReason::NextHopUnresolved), 40);
    kit.close();
}

#[test]
fn a_full_transmit_queue_gives_the_usage_back() {
    let n6 = SimPortConfig {
        tx_queue_packets: 4,
        rate_bps: Some(1_000_000),
        ..SimPortConfig::named("n6")
    };
    let mut kit = Kit::with(1, SimPortConfig::named("n3"), n6);
    let s = kit.default_session();
    for _ in 0..20 {
        kit.n3.inject(&gtpu_frame(
            GNB,
            s.teid.get(),
            9,
            &udp_packet(UE, SERVER, (1, 2), &[0; 1000]),
        ));
    }
    kit.settle();
    let lost = kit.dropped(DropReason::TransmitFull);
    assert!(lost >= 10, "{lost}");
    let usage = kit.apply(s.ul, &[Op::TakeEntry { at: EntryId(s.ul) }], &[]);
    assert_eq!(usage[0].packets, 20 - lost);
    kit.close();
}

#[test]
fn the_end_marker_leaves_before_anything_takes_the_new_path() {
    let mut kit = Kit::new();
    let s = kit.default_session();
    let mut to_new = downlink();
    to_new.head.teid = 0xbeef;
    let marker = EndMarker {
        peer: PeerId(0),
        teid: GNB_TEID,
    };
    kit.apply(s.dl, &[set(s.dl, to_new)], &[marker]);
    kit.dn_sends(&udp_packet(SERVER, UE, (1, 2), b"x"));
    let out = output(&kit.n3);
    let types: Vec<_> = out
        .iter()
        .map(|f| {
            (
                f[14 + 29],
                u32::from_be_bytes(f[46..50].try_into().unwrap()),
            )
        })
        .collect();
    assert_eq!(types, [(254, GNB_TEID), (255, 0xbeef)]);
    kit.close();
}

#[test]
fn another_workers_packets_are_handed_over_and_come_out_once() {
    let mut kit = Kit::with(3, SimPortConfig::named("n3"), SimPortConfig::named("n6"));
    // Shard of 10.45.0.7 is 7, 11100000 the last bit first: the last of three workers owns it.
    let s = kit.default_session();
    for _ in 0..10 {
        kit.gnb_sends(s.teid.get(), &udp_packet(UE, SERVER, (1, 2), b"x"));
    }
    assert_eq!(output(&kit.n6).len(), 10);
    assert_eq!(kit.control.stats()[2].handed_in.get(), 10);
    let usage = kit.apply(s.ul, &[Op::TakeEntry { at: EntryId(s.ul) }], &[]);
    assert_eq!(usage[0].packets, 10);
    kit.close();
}

#[test]
fn arp_and_signalling_go_to_the_control_core() {
    let mut kit = Kit::new();
    let arp = sluice_wire::arp::Arp::request(sluice_wire::eth::MacAddr(GNB_MAC), GNB, UPF);
    kit.n3
        .inject(&frame([0xff; 6], GNB_MAC, EtherType::ARP, &arp.to_bytes()));
    let echo = udp_packet(GNB, UPF, (2152, 2152), &sluice_wire::gtpu::echo_request(7));
    kit.n3
        .inject(&frame(N3_MAC, GNB_MAC, EtherType::IPV4, &echo));
    kit.settle();
    assert_eq!(kit.control.ledger().to_control, 2);
    assert_eq!(kit.punted.len(), 2);
    kit.close();
}
