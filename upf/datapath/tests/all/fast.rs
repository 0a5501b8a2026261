//! Fast path and slow path: which frames take which, by the counters of slow path reasons.

#![allow(clippy::unwrap_used)]

use crate::kit::*;
use sluice_datapath::forward::slow_reason::SlowReason;
use sluice_datapath::ids::NextHopId;
use sluice_datapath::tables::Prefix;
use sluice_wire::checksum::checksum;
use sluice_wire::eth::EtherType;
use std::net::Ipv4Addr;

/// Octets before the outer UDP header and before the GTP-U header.
const OUTER_UDP: usize = 14 + 20;
const GTPU: usize = OUTER_UDP + 8;

/// Packets that took the slow path, by reason.
fn slow(kit: &Kit) -> Vec<(SlowReason, u64)> {
    let count = |reason: SlowReason| {
        let stats = kit.control.stats().iter();
        stats.map(|worker| worker.slow[reason as usize].get()).sum()
    };
    let all = SlowReason::ALL.map(|reason| (reason, count(reason)));
    all.into_iter()
        .filter(|(_, packets)| *packets > 0)
        .collect()
}

/// A G-PDU in an Ethernet frame whose GTP-U header is given; with an outer UDP checksum.
fn g_pdu(flags: u8, teid: u32, behind_teid: &[u8], inner: &[u8]) -> Vec<u8> {
    let len = (behind_teid.len() + inner.len()) as u16;
    let head = [&[flags, 0xff][..], &len.to_be_bytes(), &teid.to_be_bytes()].concat();
    let outer = udp_packet(
        GNB,
        UPF,
        (50_000, 2152),
        &[&head, behind_teid, inner].concat(),
    );
    frame(N3_MAC, GNB_MAC, EtherType::IPV4, &outer)
}

fn without_udp_checksum(mut frame: Vec<u8>) -> Vec<u8> {
    frame[OUTER_UDP + 6..GTPU].fill(0);
    frame
}

/// The packet with four octets of IPv4 options (No Operation).
pub fn with_options(packet: &[u8]) -> Vec<u8> {
    let mut longer = [&packet[..20], &[1; 4], &packet[20..]].concat();
    longer[0] = 0x46;
    let len = longer.len() as u16;
    longer[2..4].copy_from_slice(&len.to_be_bytes());
    longer[10..12].fill(0);
    let sum = checksum(&longer[..24]);
    longer[10..12].copy_from_slice(&sum.to_be_bytes());
    longer
}

#[test]
fn g_pdus_as_gnbs_send_them_take_the_fast_path() {
    let mut kit = Kit::new();
    let teid = kit.default_session().teid.get();
    let container = [0, 0, 0, 0x85, 1, 0x10, 9, 0];
    let inner = udp_packet(UE, SERVER, (1, 2), b"an odd one");
    let long = udp_packet(UE, SERVER, (1, 2), &[7; 1400]);
    let with_checksum = [
        g_pdu(0x34, teid, &container, &inner),
        g_pdu(0x34, teid, &container, &long),
        g_pdu(0x30, teid, &[], &inner),
    ];
    for frame in with_checksum {
        assert_ne!(frame[OUTER_UDP + 6..GTPU], [0, 0], "there is a checksum");
        kit.n3.inject(&frame);
        kit.n3.inject(&without_udp_checksum(frame));
    }
    kit.settle();
    assert_eq!(output(&kit.n6).len(), 6);
    assert_eq!(slow(&kit), []);
    kit.close();
}

#[test]
fn sixteen_routes_and_stations_on_the_link_take_the_fast_path() {
    let mut kit = Kit::new();
    let teid = kit.default_session().teid.get();
    let mut tables = tables();
    tables.egresses[0].routes = (0..16)
        .map(|i| {
            let prefix = Prefix::new(Ipv4Addr::new(203, i, 0, 0), 16 + i % 9).unwrap();
            (prefix, NextHopId(1))
        })
        .collect();
    kit.control.publish(tables);
    kit.settle();
    let routed = (0..16).map(|i| Ipv4Addr::new(203, i, 0, 9));
    for to in routed.chain([SERVER]) {
        kit.gnb_sends(teid, &udp_packet(UE, to, (1, 2), b"x"));
    }
    kit.dn_sends(&udp_packet(SERVER, UE, (2, 1), b"y"));
    assert_eq!(output(&kit.n6).len(), 17);
    assert_eq!(output(&kit.n3).len(), 1);
    assert_eq!(slow(&kit), []);
    kit.close();
}

#[test]
fn what_the_fast_path_leaves_is_counted_by_reason() {
    use SlowReason::*;
    let mut kit = Kit::new();
    let teid = kit.default_session().teid.get();
    let inner = udp_packet(UE, SERVER, (1, 2), b"x");
    let container = [0, 0, 0, 0x85, 1, 0x10, 9, 0];
    let mut damaged = inner.clone();
    damaged[10] ^= 1;
    let outer_options = {
        let usual = g_pdu(0x34, teid, &container, &inner);
        frame(
            N3_MAC,
            GNB_MAC,
            EtherType::IPV4,
            &with_options(&usual[14..]),
        )
    };
    let mut dies = inner.clone();
    dies[8] = 1;
    dies[10..12].fill(0);
    let sum = checksum(&dies[..20]);
    dies[10..12].copy_from_slice(&sum.to_be_bytes());
    let nobody = udp_packet(UE, [198, 51, 100, 99].into(), (1, 2), b"x");
    let udp_port = [0, 0, 0, 0x40, 1, 0xc3, 0x50, 0x85, 1, 0x10, 9, 0];
    let cases = [
        (
            "a sequence number",
            Headers,
            g_pdu(0x32, teid, &[0, 5, 0, 0], &inner),
        ),
        (
            "another extension header",
            Headers,
            g_pdu(0x34, teid, &udp_port, &inner),
        ),
        ("outer IPv4 options", Headers, outer_options),
        (
            "inner IPv4 options",
            Headers,
            g_pdu(0x30, teid, &[], &with_options(&inner)),
        ),
        (
            "an unknown TEID",
            NoSession,
            g_pdu(0x30, teid + 1, &[], &inner),
        ),
        (
            "a damaged inner header",
            Inner,
            g_pdu(0x30, teid, &[], &damaged),
        ),
        ("a TTL that ends", Ttl, g_pdu(0x30, teid, &[], &dies)),
        (
            "an unknown next hop",
            NextHop,
            g_pdu(0x30, teid, &[], &nobody),
        ),
    ];
    let mut expected = SlowReason::ALL.map(|reason| (reason, 0));
    for (case, reason, frame) in cases {
        kit.n3.inject(&frame);
        kit.settle();
        expected[reason as usize].1 += 1;
        let counted = expected.iter().copied().filter(|(_, packets)| *packets > 0);
        assert_eq!(slow(&kit), counted.collect::<Vec<_>>(), "{case}");
    }
    assert_eq!(output(&kit.n6).len(), 4, "all of the unusual headers pass");
    // A packet that waits for a next hop is let go before the end.
    kit.now_ns += 4_000_000_000;
    kit.close();
}

#[test]
fn a_packet_that_does_not_fit_the_tunnel_is_counted_by_its_size() {
    let mut kit = Kit::new();
    kit.default_session();
    kit.dn_sends(&udp_packet(SERVER, UE, (1, 2), &[0; 1500 - 28]));
    assert_eq!(slow(&kit), [(SlowReason::Size, 1)]);
    assert_eq!(output(&kit.n3).len(), 2, "it leaves in two fragments");
    kit.close();
}
