//! Fragments: outer ones are put together, inner packets that may be cut are cut.

#![allow(clippy::unwrap_used)]

use crate::kit::*;
use sluice_datapath::drop::DropReason;
use sluice_datapath::ids::EntryId;
use sluice_datapath::session::txn::Op;
use sluice_port_sim::SimPortConfig;
use sluice_wire::eth::EtherType;
use sluice_wire::gtpu::GPdu;
use sluice_wire::ipv4::{Fragments, Ipv4, Ipv4Header, MAX_HEADER_LEN};
use sluice_wire::udp::Udp;

/// The frames of an outer packet cut for a link of `mtu`.
fn cut(frame_bytes: &[u8], identification: u16, mtu: u16) -> Vec<Vec<u8>> {
    let whole = Ipv4::parse(&frame_bytes[14..]).unwrap();
    let header = Ipv4Header {
        identification,
        dont_fragment: false,
        ..Ipv4Header::from(&whole)
    };
    let bytes = [
        &header.to_bytes(whole.payload().len()).unwrap()[..],
        whole.payload(),
    ]
    .concat();
    let whole = Ipv4::parse(&bytes).unwrap();
    let plan = Fragments::new(whole, mtu).unwrap();
    plan.clone()
        .map(|f| {
            let mut header = [0; MAX_HEADER_LEN];
            let len = plan.write_header(&f, &mut header);
            let packet = [&header[..len], &whole.payload()[f.payload.clone()]].concat();
            frame(N3_MAC, GNB_MAC, EtherType::IPV4, &packet)
        })
        .collect()
}

fn big_uplink(teid: u32) -> (Vec<u8>, Vec<u8>) {
    let body: Vec<u8> = (0..1400u32).map(|i| i as u8).collect();
    let inner = udp_packet(UE, SERVER, (4000, 80), &body);
    (gtpu_frame(GNB, teid, 9, &inner), inner)
}

#[test]
fn outer_fragments_in_any_order_make_the_packet_whole() {
    for (workers, reversed) in [(1, false), (1, true), (3, true)] {
        let mut kit = Kit::with(
            workers,
            SimPortConfig::named("n3"),
            SimPortConfig::named("n6"),
        );
        let s = kit.default_session();
        for identification in 0..8 {
            let (whole, inner) = big_uplink(s.teid.get());
            let mut pieces = cut(&whole, identification, 600);
            assert_eq!(pieces.len(), 3);
            if reversed {
                pieces.reverse();
            }
            for piece in &pieces {
                kit.n3.inject(piece);
                kit.settle();
            }
            let out = output(&kit.n6);
            assert_eq!(out.len(), 1);
            assert_eq!(out[0][14 + 20..], inner[20..]);
        }
        let ledger = kit.control.ledger();
        assert_eq!(
            (ledger.received, ledger.merged, ledger.transmitted),
            (24, 16, 8)
        );
        kit.close();
    }
}

#[test]
fn a_missing_fragment_costs_the_others_after_a_second() {
    let mut kit = Kit::new();
    let s = kit.default_session();
    let (whole, _) = big_uplink(s.teid.get());
    let pieces = cut(&whole, 1, 600);
    kit.n3.inject(&pieces[0]);
    kit.n3.inject(&pieces[2]);
    kit.settle();
    assert_eq!(kit.control.ledger().held, 2);
    kit.now_ns += 1_100_000_000;
    kit.settle();
    assert_eq!(kit.dropped(DropReason::Reassembly), 2);
    assert_eq!(kit.control.ledger().held, 0);
    kit.close();
}

#[test]
fn overlapping_fragments_are_dropped_together() {
    let mut kit = Kit::new();
    let s = kit.default_session();
    let (whole, _) = big_uplink(s.teid.get());
    let pieces = cut(&whole, 1, 600);
    kit.n3.inject(&pieces[1]);
    kit.n3.inject(&cut(&whole, 1, 1000)[0]);
    kit.settle();
    assert_eq!(kit.dropped(DropReason::OuterFragment), 2);
    assert!(output(&kit.n6).is_empty());
    kit.close();
}

#[test]
fn a_flood_of_first_fragments_is_bounded() {
    let mut kit = Kit::new();
    let s = kit.default_session();
    let (whole, _) = big_uplink(s.teid.get());
    for identification in 0..400 {
        kit.n3.inject(&cut(&whole, identification, 600)[0]);
        kit.settle();
    }
    assert_eq!(kit.dropped(DropReason::Reassembly), 400 - 256);
    kit.close();
}

#[test]
fn downlink_that_may_be_cut_is_cut_and_each_piece_fits() {
    let mut kit = Kit::new();
    let s = kit.default_session();
    let body: Vec<u8> = (0..1472u32).map(|i| (i * 7) as u8).collect();
    let packet = udp_packet(SERVER, UE, (80, 4000), &body);
    assert_eq!(packet.len(), 1500);
    kit.dn_sends(&packet);
    let out = output(&kit.n3);
    assert_eq!(out.len(), 2);
    let mut rejoined = vec![0; 1480];
    for f in &out {
        assert!(f.len() <= 1514, "{}", f.len());
        let outer = Ipv4::parse(&f[14..]).unwrap();
        let udp = Udp::parse(outer.payload()).unwrap();
        let pdu = GPdu::parse(udp.payload()).unwrap();
        let inner = Ipv4::parse(pdu.payload(udp.payload()).unwrap()).unwrap();
        assert_eq!(inner.ttl(), 63);
        let at = usize::from(inner.fragment_offset()) * 8;
        rejoined[at..at + inner.payload().len()].copy_from_slice(inner.payload());
    }
    assert_eq!(rejoined, packet[20..]);
    let usage = kit.apply(s.dl, &[Op::TakeEntry { at: EntryId(s.dl) }], &[]);
    assert_eq!(
        (usage[0].bytes, usage[0].packets),
        (1500, 1),
        "the packet counts, not its pieces"
    );
    kit.close();
}

#[test]
fn a_cut_packet_whose_last_piece_does_not_leave_is_not_counted() {
    let n3 = SimPortConfig {
        tx_queue_packets: 1,
        rate_bps: Some(1_000),
        ..SimPortConfig::named("n3")
    };
    let mut kit = Kit::with(1, n3, SimPortConfig::named("n6"));
    let s = kit.default_session();
    kit.n6.inject(&frame(
        N6_MAC,
        DN_MAC,
        EtherType::IPV4,
        &udp_packet(SERVER, UE, (80, 4000), &[1; 1472]),
    ));
    kit.net.advance_to(kit.now_ns + 1_000);
    kit.workers[0].turn(kit.now_ns + 1_000);
    assert_eq!(kit.dropped(DropReason::TransmitFull), 1);
    let usage = kit.apply(s.dl, &[Op::TakeEntry { at: EntryId(s.dl) }], &[]);
    assert_eq!((usage[0].bytes, usage[0].packets), (0, 0));
    kit.close();
}
