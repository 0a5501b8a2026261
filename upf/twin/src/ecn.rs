//! Explicit congestion notification through tunnels (RFC 6040, normal mode).

use crate::ip;
use crate::ipv4;
use crate::ipv6;
use crate::parse::{Tunnelled, udp_sum6};

/// Not ECN-capable; congestion experienced (RFC 3168, 5).
pub const NOT_ECT: u8 = 0;
pub const CE: u8 = 3;
const ECT_0: u8 = 2;
const ECT_1: u8 = 1;

/// A frame whose outer header tells something new of congestion, as if the packet inside had been told
/// before: none where nothing changes (4.2, figure 4).
pub fn told_inside(frame: &[u8], came: &Tunnelled<'_>) -> Option<Vec<u8>> {
    let inner = ip::read(came.inner).ok()?;
    let ecn = match (came.ecn, inner.traffic_class() & 3) {
        (CE, ECT_0 | ECT_1) => CE,
        (ECT_1, ECT_0) => ECT_1,
        _ => return None,
    };
    let mut told = frame.to_vec();
    let outer_at = if frame[12..14] == [0x81, 0x00] {
        18
    } else {
        14
    };
    // The inner packet ends where it ends, and no other part of a frame is as long.
    let inner_at = came.inner.as_ptr().addr() - frame.as_ptr().addr();
    match inner {
        ip::Packet::V4(_) => {
            told[inner_at + 1] = told[inner_at + 1] & !3 | ecn;
            ipv4::set_checksum(&mut told[inner_at..]);
        }
        ip::Packet::V6(_) => told[inner_at + 1] = told[inner_at + 1] & !0x30 | ecn << 4,
    }
    if frame[outer_at] >> 4 == 6 {
        told[outer_at + 1] &= !0x30;
        set_udp_checksum6(&mut told[outer_at..])?;
        return Some(told);
    }
    told[outer_at + 1] &= !3;
    ipv4::set_checksum(&mut told[outer_at..]);
    // The datagram changed: it has no checksum any more (RFC 768).
    let udp_at = outer_at + 4 * usize::from(frame[outer_at] & 0x0f);
    told[udp_at + 6..udp_at + 8].fill(0);
    Some(told)
}

/// The datagram changed, and over IPv6 it must have a checksum.
fn set_udp_checksum6(packet: &mut [u8]) -> Option<()> {
    let (udp_at, end) = {
        let read = ipv6::read(packet).ok()?;
        let behind = read.upper().payload?.len();
        (read.bytes.len() - behind, read.bytes.len())
    };
    let len = u16::from_be_bytes([packet[udp_at + 4], packet[udp_at + 5]]);
    let datagram = udp_at..(udp_at + usize::from(len)).min(end);
    packet[udp_at + 6..udp_at + 8].fill(0);
    let sum = !udp_sum6(&packet[8..40], &packet[datagram]);
    let sum = if sum == 0 { 0xffff } else { sum };
    packet[udp_at + 6..udp_at + 8].copy_from_slice(&sum.to_be_bytes());
    Some(())
}
