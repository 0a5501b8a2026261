//! From tunnel to tunnel: an I-UPF's N9, and what gNBs forward to each other in a handover.

#![allow(clippy::unwrap_used)]

use crate::kit::*;
use sluice_datapath::drop::DropReason;
use sluice_datapath::ids::{EntryId, PeerId};
use sluice_datapath::session::entry::SessionEntry;
use sluice_datapath::session::rule::{Body, Flags, Head};
use sluice_datapath::session::txn::Op;
use sluice_wire::eth::EtherType;
use sluice_wire::gtpu::{
    DlPduSessionInformation, GPdu, Message, PduSessionInformation, Ppi, end_marker,
    write_g_pdu_header,
};
use sluice_wire::ids::{Qfi, Teid};
use sluice_wire::ipv4::Ipv4;
use sluice_wire::udp::Udp;

/// A downlink entry that is entered by TEID and leads into the gNB's tunnel.
fn relayed(teid: Teid) -> SessionEntry {
    let flags = [
        Flags::TUNNEL,
        Flags::TO_UE,
        Flags::FORWARD,
        Flags::REMOVE_OUTER,
        Flags::CREATE_OUTER,
    ];
    SessionEntry {
        key: teid.get(),
        ue_ip: UE.into(),
        head: Head {
            flags: flags.into_iter().fold(Flags::none(), Flags::with),
            teid: GNB_TEID,
            ..Head::default()
        },
        body: Body::to_peer(PeerId(0)),
        ..SessionEntry::default()
    }
}

fn session(kit: &mut Kit, change: impl FnOnce(&mut SessionEntry)) -> (Teid, u32) {
    let slot = u32::from(UE) % 4096;
    let teid = kit.layout.teid(slot, 5).unwrap();
    let mut entry = relayed(teid);
    change(&mut entry);
    kit.apply(slot, &[set(slot, entry)], &[]);
    (teid, slot)
}

fn full_container() -> PduSessionInformation {
    PduSessionInformation::Downlink(DlPduSessionInformation {
        rqi: true,
        ppi: Ppi::new(3),
        dl_qfi_sequence_number: Some(0x0010_2030),
        ..DlPduSessionInformation::new(Qfi::new(7).unwrap())
    })
}

/// A packet of the anchor with every field that a downlink container has without monitoring.
fn from_anchor(teid: Teid, inner: &[u8]) -> Vec<u8> {
    let mut header = [0; 64];
    let len = write_g_pdu_header(&mut header, teid, &full_container(), inner.len()).unwrap();
    let outer = udp_packet(GNB, UPF, (2152, 2152), &[&header[..len], inner].concat());
    frame(N3_MAC, GNB_MAC, EtherType::IPV4, &outer)
}

fn payload(frame: &[u8]) -> Vec<u8> {
    let outer = Ipv4::parse(&frame[14..]).unwrap();
    Udp::parse(outer.payload()).unwrap().payload().to_vec()
}

#[test]
fn a_relayed_packet_keeps_its_container_and_its_hop_count() {
    let mut kit = Kit::new();
    let (teid, slot) = session(&mut kit, |_| {});
    let inner = udp_packet(SERVER, UE, (80, 4000), b"hello");
    kit.n3.inject(&from_anchor(teid, &inner));
    kit.settle();
    let out = output(&kit.n3);
    assert_eq!(out.len(), 1);
    let gtpu = payload(&out[0]);
    let pdu = GPdu::parse(&gtpu).unwrap();
    assert_eq!(pdu.teid.get(), GNB_TEID);
    assert_eq!(pdu.container(&gtpu).unwrap(), Some(full_container()));
    assert_eq!(pdu.payload(&gtpu).unwrap(), inner);
    let usage = kit.apply(slot, &[Op::TakeEntry { at: EntryId(slot) }], &[]);
    assert_eq!((usage[0].bytes, usage[0].packets), (inner.len() as u64, 1));
    kit.close();
}

#[test]
fn a_qer_marks_a_relayed_packet_anew() {
    let mut kit = Kit::new();
    let (teid, _) = session(&mut kit, |entry| {
        entry.head.flags = entry.head.flags.with(Flags::MARK_QFI);
        entry.head.mark_and_notify = 9;
    });
    let inner = udp_packet(SERVER, UE, (80, 4000), b"hello");
    kit.n3.inject(&from_anchor(teid, &inner));
    kit.settle();
    let gtpu = payload(&output(&kit.n3)[0]);
    let container = GPdu::parse(&gtpu).unwrap().container(&gtpu).unwrap();
    let new = DlPduSessionInformation::new(Qfi::new(9).unwrap());
    assert_eq!(container, Some(PduSessionInformation::Downlink(new)));
    kit.close();
}

#[test]
fn a_big_relayed_packet_is_cut_and_every_piece_has_the_container() {
    let mut kit = Kit::new();
    let (teid, slot) = session(&mut kit, |_| {});
    let inner = udp_packet(SERVER, UE, (80, 4000), &[7; 1460]);
    kit.n3.inject(&from_anchor(teid, &inner));
    kit.settle();
    let out = output(&kit.n3);
    assert_eq!(out.len(), 2);
    for piece in &out {
        assert!(piece.len() <= 1514);
        let gtpu = payload(piece);
        let pdu = GPdu::parse(&gtpu).unwrap();
        assert_eq!(pdu.container(&gtpu).unwrap(), Some(full_container()));
    }
    let usage = kit.apply(slot, &[Op::TakeEntry { at: EntryId(slot) }], &[]);
    assert_eq!((usage[0].bytes, usage[0].packets), (inner.len() as u64, 1));
    kit.close();
}

#[test]
fn what_comes_from_another_upf_must_be_for_the_ue() {
    let mut kit = Kit::new();
    let (teid, _) = session(&mut kit, |_| {});
    let others = udp_packet(SERVER, [10, 45, 0, 8].into(), (80, 4000), b"hello");
    kit.n3.inject(&from_anchor(teid, &others));
    kit.settle();
    assert_eq!(kit.dropped(DropReason::UeDestination), 1);
    assert!(output(&kit.n3).is_empty());
    kit.close();
}

#[test]
fn what_gnbs_forward_to_each_other_may_go_either_way() {
    let mut kit = Kit::new();
    let (teid, _) = session(&mut kit, |entry| {
        entry.head.flags = entry.head.flags.with(Flags::FROM_UE);
    });
    let stranger = [10, 45, 0, 8].into();
    for (from, to) in [(SERVER, UE), (UE, SERVER), (SERVER, stranger)] {
        kit.n3
            .inject(&from_anchor(teid, &udp_packet(from, to, (1, 2), b"x")));
    }
    kit.settle();
    assert_eq!(output(&kit.n3).len(), 2);
    assert_eq!(kit.dropped(DropReason::UeSource), 1);
    kit.close();
}

#[test]
fn an_end_marker_goes_on_behind_the_packets_or_ends_where_the_tunnels_do() {
    let mut kit = Kit::new();
    let (teid, _) = session(&mut kit, |_| {});
    let marker = |teid: Teid| {
        let outer = udp_packet(GNB, UPF, (2152, 2152), &end_marker(teid));
        frame(N3_MAC, GNB_MAC, EtherType::IPV4, &outer)
    };
    let inner = udp_packet(SERVER, UE, (80, 4000), b"last");
    kit.n3.inject(&from_anchor(teid, &inner));
    kit.n3.inject(&marker(teid));
    kit.settle();
    let out = output(&kit.n3);
    assert_eq!(out.len(), 2);
    let last = payload(&out[1]);
    match Message::parse(&last).unwrap() {
        Message::EndMarker(end) => assert_eq!(end.teid.get(), GNB_TEID),
        other => panic!("{other:?}"),
    }
    kit.n3.inject(&marker(Teid::new(77).unwrap()));
    kit.settle();
    assert!(output(&kit.n3).is_empty());
    assert_eq!(kit.control.ledger().to_control, 1);
    kit.close();
}

/// TC_IPUPS_PACKET_HANDLING (TS 33.513, 4.2.2.7): N9 packets to the F-TEID that was given go on to N3, those to any
/// other do not.
#[test]
fn scas_33_513_4_2_2_7_ipups_packet_handling() {
    let mut kit = Kit::new();
    let (teid, _) = session(&mut kit, |_| {});
    let inner = udp_packet(SERVER, UE, (80, 4000), b"hello");
    kit.n3.inject(&from_anchor(teid, &inner));
    kit.settle();
    assert_eq!(output(&kit.n3).len(), 1);
    let others = (0..32).map(|bit| teid.get() ^ 1 << bit);
    let others: Vec<Teid> = others.filter_map(Teid::new).collect();
    for other in &others {
        kit.n3.inject(&from_anchor(*other, &inner));
        kit.settle();
    }
    assert!(output(&kit.n3).is_empty());
    assert_eq!(kit.dropped(DropReason::UnknownTeid), others.len() as u64);
    kit.close();
}

/// TC_IPUPS_MALFORMED_MESSAGES (TS 33.513, 4.2.2.8): each octet of the GTP-U header wrong in each bit, and each length:
/// nothing crashes, nothing leaks, what is not for the session does not reach the gNB.
#[test]
fn scas_33_513_4_2_2_8_ipups_malformed_messages() {
    let mut kit = Kit::new();
    let (teid, _) = session(&mut kit, |_| {});
    let inner = udp_packet(SERVER, UE, (80, 4000), b"hello");
    let whole = from_anchor(teid, &inner);
    let headers = 42..whole.len() - inner.len();
    assert!(headers.len() >= 16, "GTP-U with its container");
    let mut sent = 0;
    for at in headers {
        for bit in 0..8 {
            let mut wrong = whole.clone();
            wrong[at] ^= 1 << bit;
            // The UDP checksum is none (RFC 768), so that the GTP-U header is what is judged.
            wrong[40..42].fill(0);
            kit.n3.inject(&wrong);
            sent += 1;
        }
        kit.settle();
        for frame in output(&kit.n3) {
            // What became an End Marker is one of the session's tunnel.
            assert_eq!(payload(&frame)[4..8], GNB_TEID.to_be_bytes(), "octet {at}");
        }
    }
    assert!(sent >= 128);
    for len in 14..whole.len() {
        kit.n3.inject(&whole[..len]);
        kit.settle();
        assert!(output(&kit.n3).is_empty(), "of {len} octets");
    }
    kit.n3.inject(&whole);
    kit.settle();
    assert_eq!(output(&kit.n3).len(), 1, "the next right one is served");
    kit.close();
}
