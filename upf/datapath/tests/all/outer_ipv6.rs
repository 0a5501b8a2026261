//! Tunnels over IPv6 on the path: both ways, checksums, End Markers, what is too big, unknown and forbidden.

use crate::kit::*;
use sluice_datapath::drop::DropReason;
use sluice_datapath::forward::marking::Marking;
use sluice_datapath::ids::{EntryId, NextHopId, PeerId};
use sluice_datapath::message::{IcmpCause, ToControl};
use sluice_datapath::session::rule::Body;
use sluice_datapath::session::txn::{EndMarker, Op, Usage};
use sluice_datapath::tables::{
    InterfaceId, NextHop, NextHopSlots, PeerIpv6, PeerSlotsIpv6, PrefixIpv6, Tables,
    TunnelAddressIpv6,
};
use sluice_datapath::tx::encap::InterfaceEncap;
use sluice_port::Packet;
use sluice_wire::eth::EtherType;
use sluice_wire::gtpu::{GPdu, Message, ShortContainer, g_pdu_header_with_container};
use sluice_wire::ids::{Qfi, Teid};
use sluice_wire::ipv4::Protocol;
use sluice_wire::ipv6::{Ipv6, Ipv6Header};
use sluice_wire::udp::{Udp, UdpHeader};
use std::net::Ipv6Addr;

const N3_IPV6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 3, 0, 0, 0, 0, 1);
const GNB_IPV6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 3, 0, 0, 0, 0, 0x50);
const PEER: PeerId = PeerId::ipv6(3);

/// N3 with both families, and a gNB of each.
fn dual(mut tables: Tables) -> Tables {
    let n3 = &mut tables.interfaces[0];
    n3.addresses_ipv6 = vec![N3_IPV6];
    n3.tunnels_ipv6 = vec![TunnelAddressIpv6 {
        address: N3_IPV6,
        local: 0,
    }];
    let hop = |interface, address: std::net::IpAddr, mac| NextHop {
        interface: InterfaceId(interface),
        address,
        mac: Some(mac),
    };
    let hops = [
        hop(0, GNB.into(), GNB_MAC),
        hop(1, SERVER.into(), DN_MAC),
        hop(1, SERVER_IPV6.into(), DN_MAC),
        hop(0, GNB_IPV6.into(), GNB_MAC),
    ];
    let mut slots = NextHopSlots::new(hops.len());
    for (id, hop) in (0..).zip(&hops) {
        let encap = InterfaceEncap::of(&tables.interfaces[usize::from(hop.interface)]);
        slots.set(NextHopId(id), hop, &encap);
    }
    tables.next_hops = slots.reader();
    let mut peers = PeerSlotsIpv6::new(8);
    let peer = PeerIpv6 {
        address: GNB_IPV6,
        local: N3_IPV6,
        next_hop: NextHopId(3),
        marking: Marking::new(0x28, 0xfc),
    };
    peers.set(PEER, Some(&peer));
    tables.peers_ipv6 = peers.reader();
    tables
}

fn kit(change: impl FnOnce(&mut Tables)) -> (Kit, Session) {
    let mut kit = Kit::new();
    let mut tables = dual(tables());
    change(&mut tables);
    kit.control.publish(tables);
    let s = kit.default_session();
    let mut down = downlink();
    let local = down.local();
    down.body = Body::to_peer(PEER);
    kit.apply(s.dl, &[set(s.dl, down.at_local(local))], &[]);
    (kit, s)
}

fn udp6(from: Ipv6Addr, payload: &[u8]) -> Vec<u8> {
    let ports = UdpHeader {
        source_port: 50_000,
        destination_port: 2152,
    };
    let header = ports.to_bytes_ipv6(from, N3_IPV6, payload).unwrap();
    [&header[..], payload].concat()
}

fn g_pdu(teid: u32, inner: &[u8]) -> Vec<u8> {
    let container = ShortContainer::uplink(Qfi::new(9).unwrap());
    let teid = Teid::new(teid).unwrap();
    let header = g_pdu_header_with_container(teid, container, inner.len()).unwrap();
    [&header[..], inner].concat()
}

/// A frame with this datagram, behind extension headers whose first is `next`.
fn outer(from: Ipv6Addr, next: Protocol, payload: &[u8]) -> Vec<u8> {
    let header = Ipv6Header::new(next, from, N3_IPV6);
    let packet = [&header.to_bytes(payload.len()).unwrap()[..], payload].concat();
    frame(N3_MAC, GNB_MAC, EtherType::IPV6, &packet)
}

fn sends(kit: &mut Kit, frame: &[u8]) {
    kit.n3.inject(frame);
    kit.settle();
}

/// The outer header of a frame that left by N3, sound in all its parts, and what UDP carries.
fn read(frame: &[u8]) -> (Ipv6<'_>, Udp<'_>) {
    assert_eq!(
        frame[..14],
        crate::kit::frame(GNB_MAC, N3_MAC, EtherType::IPV6, &[])[..]
    );
    let ip = Ipv6::parse(&frame[14..]).unwrap();
    assert_eq!((ip.source(), ip.destination()), (N3_IPV6, GNB_IPV6));
    assert_eq!((ip.hop_limit(), ip.flow_label()), (64, 0));
    let udp = Udp::parse(ip.payload()).unwrap();
    assert!(udp.verify_ipv6(N3_IPV6, GNB_IPV6), "its checksum");
    assert_eq!(udp.destination_port(), 2152);
    (ip, udp)
}

#[test]
fn packets_leave_over_ipv6_with_their_checksum() {
    let (mut kit, s) = kit(|_| {});
    let inner = udp_packet(SERVER, UE, (80, 4000), b"an odd length");
    kit.dn_sends(&inner);
    kit.dn_sends(&with_tos(&inner, 0x03));
    let out = output(&kit.n3);
    for (frame, class) in out.iter().zip([0x28, 0x2b]) {
        let (ip, udp) = read(frame);
        assert_eq!(ip.traffic_class(), class);
        let pdu = GPdu::parse(udp.payload()).unwrap();
        let qfi = pdu.qfi.map(|q| q.get());
        assert_eq!((pdu.teid.get(), qfi), (GNB_TEID, Some(9)));
        let carried = pdu.payload(udp.payload()).unwrap();
        assert_eq!(carried[20..], inner[20..]);
    }
    assert_eq!(out.len(), 2);
    let usage = Usage {
        bytes: 2 * inner.len() as u64,
        packets: 2,
    };
    let take = Op::TakeEntry { at: EntryId(s.dl) };
    assert_eq!(kit.apply(s.dl, &[take], &[]), [usage]);
    kit.close();
}

#[test]
fn packets_come_in_over_ipv6_behind_extension_headers_too() {
    let (mut kit, s) = kit(|_| {});
    let inner = udp_packet(UE, SERVER, (4000, 80), b"up");
    let datagram = udp6(GNB_IPV6, &g_pdu(s.teid.get(), &inner));
    sends(&mut kit, &outer(GNB_IPV6, Protocol::UDP, &datagram));
    let options = [&[17, 0, 1, 4, 0, 0, 0, 0][..], &datagram].concat();
    sends(
        &mut kit,
        &outer(GNB_IPV6, Protocol::DESTINATION_OPTIONS, &options),
    );
    // And over IPv4, to the other address of the endpoint.
    kit.gnb_sends(s.teid.get(), &inner);
    assert_eq!(output(&kit.n6).len(), 3);
    kit.close();
}

#[test]
fn what_comes_in_pieces_is_put_together_and_what_is_missing_is_waited_for() {
    let (mut kit, s) = kit(|_| {});
    let inner = udp_packet(UE, SERVER, (4000, 80), &[7; 60]);
    let whole = udp6(GNB_IPV6, &g_pdu(s.teid.get(), &inner));
    let piece = |at: usize, to: usize, identification: u8| {
        let more = u8::from(to < whole.len());
        let header = [
            17,
            0,
            (at >> 8) as u8,
            at as u8 & 0xf8 | more,
            0,
            0,
            0,
            identification,
        ];
        [&header[..], &whole[at..to.min(whole.len())]].concat()
    };
    let send = |kit: &mut Kit, piece: Vec<u8>| {
        sends(kit, &outer(GNB_IPV6, Protocol::FRAGMENT, &piece));
        output(&kit.n6).len()
    };
    // Out of order, and beside another packet's.
    assert_eq!(send(&mut kit, piece(48, usize::MAX, 1)), 0);
    assert_eq!(send(&mut kit, piece(0, 48, 2)), 0);
    assert_eq!(send(&mut kit, piece(0, 24, 1)), 0);
    assert_eq!(send(&mut kit, piece(24, 48, 1)), 1);
    assert_eq!(kit.control.ledger().held, 1);
    // Octets that come twice are nobody's (RFC 5722).
    assert_eq!(send(&mut kit, piece(40, usize::MAX, 2)), 0);
    assert_eq!(kit.dropped(DropReason::OuterFragment), 2);
    // What is never whole is given up.
    assert_eq!(send(&mut kit, piece(0, 24, 3)), 0);
    kit.now_ns += 1_000_000_000;
    kit.settle();
    assert_eq!(kit.dropped(DropReason::Reassembly), 1);
    kit.close();
}

#[test]
fn what_is_damaged_or_has_no_checksum_is_dropped_by_name() {
    let (mut kit, s) = kit(|_| {});
    let inner = udp_packet(UE, SERVER, (4000, 80), b"up");
    let good = udp6(GNB_IPV6, &g_pdu(s.teid.get(), &inner));
    let mut wrong = good.clone();
    wrong[7] ^= 1;
    let mut absent = good.clone();
    absent[6..8].fill(0);
    let options = [
        &[44, 0, 1, 4, 0, 0, 0, 0][..],
        &[17, 0, 0, 1, 0, 0, 0, 9],
        &good,
    ]
    .concat();
    for (next, payload, reason) in [
        (Protocol::UDP, wrong, DropReason::UdpChecksum),
        (Protocol::UDP, absent.clone(), DropReason::UdpChecksumAbsent),
        (
            Protocol::DESTINATION_OPTIONS,
            options,
            DropReason::OuterFragment,
        ),
    ] {
        sends(&mut kit, &outer(GNB_IPV6, next, &payload));
        assert_eq!(kit.dropped(reason), 1, "{reason:?}");
    }
    assert!(output(&kit.n6).is_empty());
    kit.close();
    let (mut kit, _) = self::kit(|tables| tables.interfaces[0].verifies_udp = false);
    sends(&mut kit, &outer(GNB_IPV6, Protocol::UDP, &absent));
    assert_eq!(output(&kit.n6).len(), 1, "ignored by configuration");
    kit.close();
}

#[test]
fn peers_are_allowed_by_prefixes_of_their_family() {
    let allowed = |net: u16| {
        move |tables: &mut Tables| {
            let prefix = Ipv6Addr::new(0x2001, 0xdb8, net, 0, 0, 0, 0, 0);
            tables.interfaces[0].allowed_peers_ipv6 = vec![PrefixIpv6::new(prefix, 48).unwrap()];
        }
    };
    for (net, passed) in [(3, 1), (4, 0)] {
        let (mut kit, s) = kit(allowed(net));
        let inner = udp_packet(UE, SERVER, (4000, 80), b"up");
        let datagram = udp6(GNB_IPV6, &g_pdu(s.teid.get(), &inner));
        sends(&mut kit, &outer(GNB_IPV6, Protocol::UDP, &datagram));
        // Over IPv4 nobody is allowed.
        kit.gnb_sends(s.teid.get(), &inner);
        assert_eq!(output(&kit.n6).len(), passed);
        assert_eq!(kit.dropped(DropReason::OuterSource), 2 - passed as u64);
        kit.close();
    }
}

#[test]
fn an_unknown_teid_is_told_of_with_the_ipv6_addresses() {
    let (mut kit, _) = kit(|_| {});
    let inner = udp_packet(UE, SERVER, (4000, 80), b"up");
    let datagram = udp6(GNB_IPV6, &g_pdu(0x77, &inner));
    sends(&mut kit, &outer(GNB_IPV6, Protocol::UDP, &datagram));
    assert_eq!(kit.dropped(DropReason::UnknownTeid), 1);
    let notice = kit.punted.iter().find_map(|message| match message {
        ToControl::UnknownTeid(notice) => Some(*notice),
        _ => None,
    });
    let notice = notice.expect("a notice");
    assert_eq!(
        (notice.peer, notice.local),
        (GNB_IPV6.into(), N3_IPV6.into())
    );
    assert_eq!(notice.teid, 0x77);
    kit.close();
}

#[test]
fn an_end_marker_goes_over_ipv6() {
    let (mut kit, s) = kit(|_| {});
    let marker = EndMarker {
        peer: PEER,
        teid: GNB_TEID,
    };
    kit.apply(s.dl, &[], &[marker]);
    let out = output(&kit.n3);
    let (_, udp) = read(&out[0]);
    let Ok(Message::EndMarker(marker)) = Message::parse(udp.payload()) else {
        panic!("{:02x?}", udp.payload());
    };
    assert_eq!((out.len(), marker.teid.get()), (1, GNB_TEID));
    kit.close();
}

#[test]
fn a_tunnel_over_ipv6_leaves_64_octets_less() {
    let (mut kit, _) = kit(|_| {});
    // 1500 less IPv6, UDP, and GTP-U with a container.
    let fits = udp_packet(SERVER, UE, (80, 4000), &[0; 1436 - 28]);
    let mut too_big = udp_packet(SERVER, UE, (80, 4000), &[0; 1437 - 28]);
    too_big[6] |= 0x40;
    let sum =
        sluice_wire::checksum::checksum(&[&too_big[..10], &[0, 0], &too_big[12..20]].concat());
    too_big[10..12].copy_from_slice(&sum.to_be_bytes());
    kit.dn_sends(&fits);
    assert_eq!(output(&kit.n3)[0].len(), 14 + 1500);
    kit.dn_sends(&too_big);
    assert_eq!(kit.dropped(DropReason::TooBig), 1);
    let told = kit.punted.drain(..).find_map(|message| match message {
        ToControl::Icmp(packet, notice) => {
            packet.free();
            Some(notice.cause)
        }
        _ => None,
    });
    assert_eq!(told, Some(IcmpCause::TooBig(1436)));
    kit.close();
}
