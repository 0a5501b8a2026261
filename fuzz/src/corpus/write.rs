//! Octets typed from the figures of the TS, by nothing that is under test.

use super::Entry;
use crate::script::{Step, push};
use sluice_wire::checksum::checksum;

/// What happens in a step of a script, the seconds that pass first, and what goes with it.
pub(super) type Do<'a> = (u8, u64, &'a [u8]);

/// An IE of PFCP (TS 29.244, 8.1.1).
pub(super) fn ie(ie_type: u16, value: &[u8]) -> Vec<u8> {
    let len = value.len() as u16;
    [&ie_type.to_be_bytes()[..], &len.to_be_bytes(), value].concat()
}

/// An IE that is a group.
pub(super) fn group(ie_type: u16, inner: &[Vec<u8>]) -> Vec<u8> {
    ie(ie_type, &inner.concat())
}

/// A node related PFCP message (7.2.2.2).
pub(super) fn node(kind: u8, sequence: u32, ies: &[Vec<u8>]) -> Vec<u8> {
    let body = ies.concat();
    let [_, s0, s1, s2] = sequence.to_be_bytes();
    let [l0, l1] = (body.len() as u16 + 4).to_be_bytes();
    [&[0x20, kind, l0, l1, s0, s1, s2, 0][..], &body].concat()
}

/// A session related PFCP message (7.2.2.3).
pub(super) fn session(kind: u8, seid: u64, sequence: u32, ies: &[Vec<u8>]) -> Vec<u8> {
    let body = ies.concat();
    let [_, s0, s1, s2] = sequence.to_be_bytes();
    let [l0, l1] = (body.len() as u16 + 12).to_be_bytes();
    let front = [0x21, kind, l0, l1];
    [&front[..], &seid.to_be_bytes(), &[s0, s1, s2, 0], &body].concat()
}

/// An Ethernet frame; a tag where `vlan` is not 0.
pub(super) fn ethernet(to: [u8; 6], from: [u8; 6], vlan: u8, kind: u16, payload: &[u8]) -> Vec<u8> {
    let tag = if vlan == 0 {
        vec![]
    } else {
        vec![0x81, 0, 0, vlan]
    };
    [&to[..], &from, &tag, &kind.to_be_bytes(), payload].concat()
}

/// An IPv4 packet with TTL 64 and DF clear; `fragment` is octets 7 and 8.
pub(super) fn ipv4(
    protocol: u8,
    (from, to): ([u8; 4], [u8; 4]),
    fragment: u16,
    payload: &[u8],
) -> Vec<u8> {
    let mut header = [0; 20];
    header[0] = 0x45;
    header[2..4].copy_from_slice(&(20 + payload.len() as u16).to_be_bytes());
    header[4..6].copy_from_slice(&[0x12, 0x34]);
    header[6..8].copy_from_slice(&fragment.to_be_bytes());
    header[8] = 64;
    header[9] = protocol;
    header[12..16].copy_from_slice(&from);
    header[16..20].copy_from_slice(&to);
    let sum = checksum(&header);
    header[10..12].copy_from_slice(&sum.to_be_bytes());
    [&header[..], payload].concat()
}

/// A UDP datagram without a checksum.
pub(super) fn udp(from: u16, to: u16, payload: &[u8]) -> Vec<u8> {
    let len = 8 + payload.len() as u16;
    let words = [from, to, len, 0].map(u16::to_be_bytes);
    [&words.concat()[..], payload].concat()
}

/// An ICMP message with its checksum.
pub(super) fn icmp(kind: u8, code: u8, rest: [u8; 4], data: &[u8]) -> Vec<u8> {
    let mut message = [&[kind, code, 0, 0][..], &rest, data].concat();
    let sum = checksum(&message);
    message[2..4].copy_from_slice(&sum.to_be_bytes());
    message
}

/// A GTP-U message: flags, type, TEID and what follows octet 8.
pub(super) fn gtpu(flags: u8, kind: u8, teid: u32, rest: &[u8]) -> Vec<u8> {
    let [l0, l1] = (rest.len() as u16).to_be_bytes();
    [&[flags, kind, l0, l1][..], &teid.to_be_bytes(), rest].concat()
}

/// A G-PDU with an uplink PDU Session Container.
pub(super) fn uplink(teid: u32, qfi: u8, inner: &[u8]) -> Vec<u8> {
    let front = [0, 0, 0, 0x85, 1, 0x10, qfi, 0];
    gtpu(0x34, 255, teid, &[&front[..], inner].concat())
}

/// A script.
pub(super) fn script(name: &str, all: &[Do<'_>]) -> Entry {
    let mut out = Vec::new();
    for (kind, seconds, bytes) in all {
        let wait = Step::wait_of(seconds * 1_000_000_000);
        push(
            &mut out,
            Step {
                kind: *kind,
                wait,
                bytes,
            },
        );
    }
    Entry::new(name, out)
}
