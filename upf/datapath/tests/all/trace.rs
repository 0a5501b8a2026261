//! Followed packets on simulated ports: what is copied, with which verdict, and that nothing else
//! changes.

#![allow(clippy::unwrap_used)]

use crate::kit::*;
use sluice_datapath::drop::DropReason;
use sluice_datapath::ids::{EntryId, WorkerId};
use sluice_datapath::limits::{BURST, SHARDS, TRACE_RECORDS};
use sluice_datapath::message::ToControl;
use sluice_datapath::session::rule::Flags;
use sluice_datapath::session::token_bucket::Rate;
use sluice_datapath::trace::{Came, Fate, Filter, Key, Record};
use sluice_port::{PortId, QueueId};
use sluice_port_sim::SimPortConfig;
use sluice_wire::eth::EtherType;
use std::net::Ipv4Addr;

const OTHER_UE: Ipv4Addr = Ipv4Addr::new(10, 45, 0, 8);
const OTHER_GNB: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 51);

fn ue_filter(s: &Session) -> Filter {
    let teid = s.teid.get();
    Filter {
        keys: [Key::Ue(UE), Key::Teid { local: 0, teid }]
            .into_iter()
            .collect(),
        ..Filter::default()
    }
}

fn peer_filter() -> Filter {
    Filter {
        peer: Some(GNB.into()),
        ..Filter::default()
    }
}

fn follow(kit: &mut Kit, filter: Filter) {
    kit.control.trace(Some(filter));
    kit.settle();
}

fn records(kit: &mut Kit) -> Vec<Record> {
    kit.settle();
    std::iter::from_fn(|| kit.control.next_record()).collect()
}

/// Ends it, and sees that nothing is left of it.
fn end(mut kit: Kit) {
    kit.control.trace(None);
    assert!(records(&mut kit).is_empty());
    assert!(kit.control.trace_is_over());
    kit.close();
}

fn uplink_packet() -> Vec<u8> {
    udp_packet(UE, SERVER, (4000, 80), b"hello")
}

fn downlink_packet(to: Ipv4Addr) -> Vec<u8> {
    udp_packet(SERVER, to, (80, 4000), b"world")
}

/// A session of another UE, in another shard.
fn other_session(kit: &mut Kit) -> u32 {
    let slot = u32::from(OTHER_UE) % SHARDS;
    let teid = kit.layout.teid(slot, 5).unwrap();
    let at = kit.layout.pool_entry(INTERNET, OTHER_UE.into()).unwrap();
    let (mut up, mut down) = (uplink(teid), downlink());
    up.ue_ip = OTHER_UE.into();
    (down.key, down.ue_ip) = (OTHER_UE.into(), OTHER_UE.into());
    kit.apply(slot, &[set(slot, up), set(at.0, down)], &[]);
    teid.get()
}

#[test]
fn a_ue_is_followed_both_ways_and_others_are_not() {
    let mut kit = Kit::new();
    let s = kit.default_session();
    let other_teid = other_session(&mut kit);
    follow(&mut kit, ue_filter(&s));
    let up = gtpu_frame(GNB, s.teid.get(), 9, &uplink_packet());
    let theirs = udp_packet(OTHER_UE, SERVER, (4000, 80), b"hello");
    // In one batch, in this order.
    for frame in [
        &gtpu_frame(GNB, other_teid, 9, &theirs),
        &up,
        &gtpu_frame(GNB, other_teid, 9, &theirs),
    ] {
        kit.n3.inject(frame);
    }
    kit.settle();
    let down = frame(N6_MAC, DN_MAC, EtherType::IPV4, &downlink_packet(UE));
    kit.n6.inject(&down);
    kit.dn_sends(&downlink_packet(OTHER_UE));
    let (out_n6, out_n3) = (output(&kit.n6), output(&kit.n3));
    let sources: Vec<u8> = out_n6.iter().map(|f| f[14 + 15]).collect();
    assert_eq!(sources, [8, 7, 8], "their order is kept");
    let records = records(&mut kit);
    assert_eq!(records.len(), 2, "{records:?}");
    let [uplink, downlink] = &records[..] else {
        unreachable!()
    };
    assert_eq!(uplink.came, Came::Queue(polled(0, 0)));
    assert_eq!((uplink.fate, downlink.fate), (Fate::Sent, Fate::Sent));
    assert_eq!(uplink.received.as_ref().unwrap().bytes[..], up[..]);
    assert_eq!(downlink.received.as_ref().unwrap().bytes[..], down[..]);
    let sent = |r: &Record| r.sent.clone().unwrap();
    assert_eq!(
        (sent(uplink).port, sent(uplink).queue),
        (PortId(1), QueueId(0))
    );
    assert_eq!(sent(uplink).frame.bytes[..], out_n6[1][..]);
    assert_eq!(sent(downlink).frame.bytes[..], out_n3[0][..]);
    let rule = downlink.rule.unwrap();
    assert_eq!(
        (rule.entry, rule.at, rule.tunnel),
        (EntryId(s.dl), None, Some((GNB.into(), GNB_TEID)))
    );
    assert!(rule.head.flags.has(Flags::FORWARD) && !rule.is_limited);
    end(kit);
}

#[test]
fn every_verdict_is_told() {
    let mut kit = Kit::new();
    let s = kit.default_session();
    follow(&mut kit, ue_filter(&s));
    let shard = u32::from(UE) % SHARDS;
    let fate_of = |kit: &mut Kit, image, reason: DropReason| {
        kit.apply(shard, &[set(s.ul, image)], &[]);
        let before = kit.dropped(reason);
        kit.gnb_sends(s.teid.get(), &uplink_packet());
        let records = records(kit);
        assert_eq!(records.len(), 1, "{records:?}");
        assert_eq!(records[0].fate, Fate::Dropped(reason));
        assert_eq!(kit.dropped(reason), before + 1);
        records[0].rule
    };
    let whole = uplink(s.teid);
    let with = |flags| {
        let mut entry = whole;
        entry.head.flags = flags;
        entry
    };
    let flags = whole.head.flags;
    let rule = fate_of(
        &mut kit,
        with(flags.with(Flags::GATE_CLOSED)),
        DropReason::GateClosed,
    );
    assert!(rule.unwrap().head.flags.has(Flags::GATE_CLOSED));
    let mut no_far = with(Flags::TUNNEL.with(Flags::FROM_UE));
    fate_of(&mut kit, no_far, DropReason::FarDrop);
    (no_far.head.flags, no_far.head.qfi_match) = (flags.with(Flags::MATCH_QFI), 3);
    assert_eq!(fate_of(&mut kit, no_far, DropReason::NoPdr), None);
    let mut spoofed = whole;
    spoofed.ue_ip = OTHER_UE.into();
    fate_of(&mut kit, spoofed, DropReason::UeSource);
    let mut slow = whole;
    slow.body.rate0 = Rate::from_bps(1_000).unwrap();
    kit.apply(shard, &[set(s.ul, slow)], &[]);
    let sent = (0..200).map(|_| {
        kit.gnb_sends(s.teid.get(), &uplink_packet());
        let record = records(&mut kit).remove(0);
        assert!(record.rule.unwrap().is_limited);
        record.fate
    });
    let fates: Vec<Fate> = sent.collect();
    assert_eq!(fates.first(), Some(&Fate::Sent));
    assert_eq!(fates.last(), Some(&Fate::Dropped(DropReason::MbrExceeded)));
    fate_of(
        &mut kit,
        sluice_datapath::session::entry::SessionEntry::default(),
        DropReason::UnknownTeid,
    );
    end(kit);
}

#[test]
fn what_never_gets_an_entry_is_followed_too() {
    let mut kit = Kit::new();
    let nobody = Ipv4Addr::new(10, 46, 0, 1);
    follow(
        &mut kit,
        Filter {
            keys: [Key::Ue(nobody)].into_iter().collect(),
            ..Filter::default()
        },
    );
    kit.dn_sends(&downlink_packet(nobody));
    let seen = records(&mut kit);
    assert_eq!(seen.len(), 1);
    assert_eq!(seen[0].fate, Fate::Dropped(DropReason::UnknownUe));
    assert!(seen[0].meta.is_none() && seen[0].rule.is_none());
    end(kit);
}

#[test]
fn a_peer_is_followed_with_its_signalling() {
    let mut kit = Kit::new();
    let s = kit.default_session();
    follow(&mut kit, peer_filter());
    kit.gnb_sends(s.teid.get(), &uplink_packet());
    kit.n3
        .inject(&gtpu_frame(OTHER_GNB, s.teid.get(), 9, &uplink_packet()));
    kit.dn_sends(&downlink_packet(UE));
    let echo = [0x32, 1, 0, 4, 0, 0, 0, 0, 0, 1, 0, 0];
    let echo = udp_packet(GNB, UPF, (2152, 2152), &echo);
    kit.n3
        .inject(&frame(N3_MAC, GNB_MAC, EtherType::IPV4, &echo));
    let fates: Vec<Fate> = records(&mut kit).iter().map(|r| r.fate).collect();
    assert_eq!(fates, [Fate::Sent, Fate::Sent, Fate::ToControl]);
    // Only what goes into one tunnel of it.
    let tunnel = |teid| Filter {
        tunnel: Some((GNB.into(), teid)),
        ..Filter::default()
    };
    for (teid, seen) in [(GNB_TEID, 1), (GNB_TEID + 1, 0)] {
        follow(&mut kit, tunnel(teid));
        kit.dn_sends(&downlink_packet(UE));
        assert_eq!(records(&mut kit).len(), seen);
    }
    end(kit);
}

#[test]
fn handed_over_packets_are_seen_by_both_workers() {
    let mut kit = Kit::with(2, SimPortConfig::named("n3"), SimPortConfig::named("n6"));
    let s = kit.default_session();
    follow(&mut kit, ue_filter(&s));
    kit.gnb_sends(s.teid.get(), &uplink_packet());
    let records = records(&mut kit);
    let seen: Vec<_> = records.iter().map(|r| (r.worker, r.came, r.fate)).collect();
    // The UE's shard is worker 1's.
    let handed = (
        WorkerId(0),
        Came::Queue(polled(0, 0)),
        Fate::HandedOver(WorkerId(1)),
    );
    assert_eq!(seen, [handed, (WorkerId(1), Came::Workers, Fate::Sent)]);
    assert!(records[0].received == records[1].received);
    end(kit);
}

/// A packet that was received before the trace is told by none of its workers; one that a worker
/// begins to follow while the other only expects to, by both.
#[test]
fn what_is_between_two_workers_when_a_trace_begins_is_told_by_both_or_none() {
    let mut seen = [0, 0];
    // The number of turns of each worker until the packet comes, and by whom the next is.
    for before in 0..6 {
        for order in 0..16 {
            let mut kit = Kit::with(2, SimPortConfig::named("n3"), SimPortConfig::named("n6"));
            let s = kit.default_session();
            kit.control.trace(Some(ue_filter(&s)));
            let frame = gtpu_frame(GNB, s.teid.get(), 9, &uplink_packet());
            for step in 0..before + 4 {
                if step == before {
                    kit.n3.inject(&frame);
                }
                kit.now_ns += 1_000;
                kit.net.advance_to(kit.now_ns);
                kit.workers[order >> (step % 4) & 1].turn(kit.now_ns);
                assert!(kit.control.receive_message().is_none());
            }
            let records = records(&mut kit);
            let fates: Vec<_> = records.iter().map(|r| (r.worker, r.fate)).collect();
            match fates[..] {
                [] => seen[0] += 1,
                [
                    (WorkerId(0), Fate::HandedOver(WorkerId(1))),
                    (WorkerId(1), Fate::Sent),
                ] => seen[1] += 1,
                _ => panic!("{before}, {order:04b}: {fates:?}"),
            }
            assert_eq!(output(&kit.n6).len(), 1);
            end(kit);
        }
    }
    assert!(seen.iter().all(|n| *n > 0), "{seen:?}");
}

/// More packets than a worker takes in a turn, so that some are between the workers when one of them
/// hears of the end.
#[test]
fn what_is_between_two_workers_when_a_trace_ends_is_told_by_both_or_none() {
    const PACKETS: usize = 5 * BURST / 2;
    let mut in_part = 0;
    // When the packets come, when the trace ends, and by whom the next turns are.
    for case in 0..2 * 6 * 64 {
        let (comes, ends, order) = (case % 2, case / 2 % 6 + 2, case / 12);
        let mut kit = Kit::with(2, SimPortConfig::named("n3"), SimPortConfig::named("n6"));
        let s = kit.default_session();
        follow(&mut kit, ue_filter(&s));
        let frame = gtpu_frame(GNB, s.teid.get(), 9, &uplink_packet());
        for step in 0..8 {
            if step == comes {
                (0..PACKETS).for_each(|_| kit.n3.inject(&frame));
            }
            if step == ends {
                kit.control.trace(None);
            }
            kit.now_ns += 1_000;
            kit.net.advance_to(kit.now_ns);
            kit.workers[order >> (step % 6) & 1].turn(kit.now_ns);
            assert!(kit.control.receive_message().is_none());
        }
        let records = records(&mut kit);
        let count = |worker, fate| {
            let mut told = records.iter().filter(|r| r.fate == fate);
            told.all(|r| r.worker == worker)
                .then(|| records.iter().filter(|r| r.fate == fate).count())
        };
        let handed = count(WorkerId(0), Fate::HandedOver(WorkerId(1))).unwrap();
        let sent = count(WorkerId(1), Fate::Sent).unwrap();
        assert_eq!(
            (handed, records.len()),
            (sent, 2 * sent),
            "{comes}, {ends}, {order:06b}"
        );
        in_part += usize::from(0 < sent && sent < PACKETS);
        assert_eq!(output(&kit.n6).len(), PACKETS);
        assert!(kit.control.trace_is_over());
        kit.close();
    }
    assert!(in_part > 0);
}

#[test]
fn a_packet_that_waits_for_its_next_hop_is_seen_again_when_it_leaves() {
    let mut kit = Kit::new();
    let s = kit.default_session();
    follow(&mut kit, ue_filter(&s));
    set_server_known(&mut kit.tables, false);
    kit.control.publish(kit.tables.clone());
    kit.gnb_sends(s.teid.get(), &uplink_packet());
    assert_eq!(records(&mut kit)[0].fate, Fate::Waits);
    set_server_known(&mut kit.tables, true);
    kit.control.publish(kit.tables.clone());
    let seen = records(&mut kit);
    let out = output(&kit.n6);
    assert_eq!((seen[0].came, seen[0].fate), (Came::Waited, Fate::Sent));
    assert_eq!(seen[0].sent.as_ref().unwrap().frame.bytes[..], out[0][..]);
    kit.punted.retain(|m| !matches!(m, ToControl::Resolve(_)));
    end(kit);
}

#[test]
fn a_full_ring_loses_records_and_no_packets() {
    let mut kit = Kit::new();
    let s = kit.default_session();
    follow(&mut kit, ue_filter(&s));
    let packets = TRACE_RECORDS + 88;
    for _ in 0..packets {
        kit.dn_sends(&downlink_packet(UE));
    }
    assert_eq!(output(&kit.n3).len(), packets);
    assert_eq!(kit.control.stats()[0].trace_lost.get(), 88);
    assert_eq!(records(&mut kit).len(), TRACE_RECORDS);
    // Another filter gets rings of its own.
    follow(&mut kit, peer_filter());
    kit.dn_sends(&downlink_packet(UE));
    assert_eq!(records(&mut kit).len(), 1);
    end(kit);
}
