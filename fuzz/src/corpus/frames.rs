//! Frames of every kind that a UPF meets.

use super::Entry;
use super::write::{ethernet, gtpu, icmp, ipv4, udp, uplink};

pub(super) const N3_MAC: [u8; 6] = [2, 0, 0, 0, 0, 3];
pub(super) const N6_MAC: [u8; 6] = [2, 0, 0, 0, 0, 6];
pub(super) const GNB_MAC: [u8; 6] = [2, 0, 0, 0, 1, 3];
pub(super) const DN_MAC: [u8; 6] = [2, 0, 0, 0, 1, 6];
pub(super) const UPF: [u8; 4] = [192, 0, 2, 1];
pub(super) const GNB: [u8; 4] = [192, 0, 2, 50];
pub(super) const N6: [u8; 4] = [198, 51, 100, 1];
pub(super) const SERVER: [u8; 4] = [198, 51, 100, 80];
pub(super) const UE: [u8; 4] = [10, 45, 0, 7];

/// The UE to the server, and back.
pub(super) const UP: ([u8; 4], [u8; 4]) = (UE, SERVER);
pub(super) const DOWN: ([u8; 4], [u8; 4]) = (SERVER, UE);

pub(super) fn frames() -> Vec<Entry> {
    let inner = ipv4(17, UP, 0, &udp(4000, 80, b"hello"));
    let down = ipv4(17, DOWN, 0, &udp(80, 4000, b"world"));
    let ping = icmp(8, 0, [0, 7, 0, 1], b"sluice");
    let too_big = icmp(3, 4, [0, 0, 5, 0xb0], &down);
    let expired = icmp(11, 0, [0; 4], &inner[..28]);
    [
        ("uplink", from_gnb(0x8000_5007, 9, &inner)),
        ("downlink", from_dn(&down)),
        ("tagged", ethernet(N3_MAC, GNB_MAC, 30, 0x0800, &down)),
        ("padded", [from_dn(&down), vec![0; 20]].concat()),
        (
            "arp_request",
            ethernet([0xff; 6], GNB_MAC, 0, 0x0806, &arp(1, GNB_MAC, GNB, UPF)),
        ),
        (
            "arp_reply",
            ethernet(N6_MAC, DN_MAC, 0, 0x0806, &arp(2, DN_MAC, SERVER, N6)),
        ),
        ("ping", from_dn(&ipv4(1, (SERVER, N6), 0, &ping))),
        (
            "ping_reply",
            from_dn(&ipv4(1, (SERVER, N6), 0, &icmp(0, 0, [0, 7, 0, 1], b"x"))),
        ),
        ("icmp_too_big", from_dn(&ipv4(1, DOWN, 0, &too_big))),
        ("icmp_expired", from_dn(&ipv4(1, DOWN, 0, &expired))),
        (
            "icmp_redirect",
            from_dn(&ipv4(1, DOWN, 0, &icmp(5, 1, SERVER, &down))),
        ),
        ("gtpu_echo", to_upf(2152, &gtpu(0x32, 1, 0, &[0, 7, 0, 0]))),
        (
            "pfcp",
            to_upf(8805, &[0x20, 1, 0, 12, 0, 0, 1, 0, 0, 96, 0, 4, 1, 2, 3, 4]),
        ),
        ("first_fragment", from_dn(&ipv4(17, DOWN, 0x2000, &[7; 64]))),
        ("last_fragment", from_dn(&ipv4(17, DOWN, 8, &[7; 13]))),
        (
            "do_not_fragment",
            from_dn(&ipv4(17, DOWN, 0x4000, &udp(1, 2, &[0; 1400]))),
        ),
        ("large", from_dn(&ipv4(17, DOWN, 0, &udp(1, 2, &[0; 1472])))),
        ("ipv6", ethernet(N3_MAC, GNB_MAC, 0, 0x86dd, &[0x60; 48])),
        ("options", from_dn(&with_options(&down))),
    ]
    .map(|(name, bytes)| Entry::new(name, bytes))
    .into()
}

/// A G-PDU of the gNB.
pub(super) fn from_gnb(teid: u32, qfi: u8, inner: &[u8]) -> Vec<u8> {
    to_upf(2152, &uplink(teid, qfi, inner))
}

/// A datagram of the gNB.
pub(super) fn to_upf(port: u16, payload: &[u8]) -> Vec<u8> {
    let packet = ipv4(17, (GNB, UPF), 0, &udp(50_000, port, payload));
    ethernet(N3_MAC, GNB_MAC, 0, 0x0800, &packet)
}

/// A packet from the data network.
pub(super) fn from_dn(packet: &[u8]) -> Vec<u8> {
    ethernet(N6_MAC, DN_MAC, 0, 0x0800, packet)
}

/// ARP (RFC 826), the target's MAC address unknown.
pub(super) fn arp(operation: u8, mac: [u8; 6], from: [u8; 4], to: [u8; 4]) -> Vec<u8> {
    let front = [0, 1, 8, 0, 6, 4, 0, operation];
    [&front[..], &mac, &from, &[0; 6], &to].concat()
}

/// Router Alert, Record Route with three places, and padding.
fn with_options(packet: &[u8]) -> Vec<u8> {
    let mut out = packet[..20].to_vec();
    out.extend([0x94, 4, 0, 0, 7, 15, 4]);
    out.extend([0; 12]);
    out.push(1);
    out[0] = 0x4a;
    out.extend(&packet[20..]);
    let len = out.len() as u16;
    out[2..4].copy_from_slice(&len.to_be_bytes());
    out[10..12].copy_from_slice(&[0; 2]);
    let sum = sluice_wire::checksum::checksum(&out[..40]);
    out[10..12].copy_from_slice(&sum.to_be_bytes());
    out
}
