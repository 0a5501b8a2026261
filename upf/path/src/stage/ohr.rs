//! Outer header removal: lay the inner packet open and see that it is what it says.

use crate::drop::DropReason;
use crate::line::Line;
use crate::meta::{Entry, Meta};
use crate::rule::Flags;
use sluice_port::Packet;
use sluice_wire::checksum::Sum;

/// Bytes of an IPv4 header without options.
const IPV4: usize = 20;

/// What later stages need of the inner packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Inner {
    /// Destination, host order.
    pub dst: u32,
    /// Total length: what usage and rates count.
    pub len: u16,
    /// A hash of the flow, for the outer UDP source port.
    pub flow_hash: u32,
    /// Time to live.
    pub ttl: u8,
    /// The don't-fragment bit.
    pub dont_fragment: bool,
}

/// Cuts the packet down to the inner IPv4 packet and checks it (RFC 1812, 5.2.2) and its source.
///
/// A plain packet was checked at *parse*; only its frame header and padding go.
#[inline]
pub fn remove<P: Packet>(packet: &mut P, meta: &Meta, line: &Line) -> Result<Inner, DropReason> {
    packet
        .pull_front(usize::from(meta.inner_at))
        .map_err(|_| DropReason::InnerHeader)?;
    let data = packet.data();
    let header = data.first_chunk::<IPV4>().ok_or(DropReason::InnerHeader)?;
    let len = u16::from_be_bytes([header[2], header[3]]);
    if meta.entry == Entry::Tunnel {
        check(data, header, len, meta)?;
        if line.head.flags.has(Flags::UPLINK) && line.ue_ip != 0 && word(header, 12) != line.ue_ip {
            return Err(DropReason::UeSource);
        }
    }
    let inner = Inner {
        dst: word(header, 16),
        len,
        flow_hash: flow_hash(data, header),
        ttl: header[8],
        dont_fragment: header[6] & 0x40 != 0,
    };
    packet.truncate(usize::from(len));
    Ok(inner)
}

#[inline]
fn check(data: &[u8], header: &[u8; IPV4], len: u16, meta: &Meta) -> Result<(), DropReason> {
    let header_len = usize::from(header[0] & 0x0f) * 4;
    if header[0] >> 4 != 4 || header_len < IPV4 || header_len > usize::from(len) {
        return Err(DropReason::InnerHeader);
    }
    if usize::from(len) > usize::from(meta.inner_len).min(data.len()) {
        return Err(DropReason::InnerLength);
    }
    let whole = data.get(..header_len).ok_or(DropReason::InnerHeader)?;
    if !Sum::of(whole).verifies() {
        return Err(DropReason::InnerChecksum);
    }
    Ok(())
}

#[inline]
fn word(header: &[u8; IPV4], at: usize) -> u32 {
    u32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]])
}

/// Addresses, protocol, and the ports of what has ports and is whole.
#[inline]
fn flow_hash(data: &[u8], header: &[u8; IPV4]) -> u32 {
    let fragment = u16::from_be_bytes([header[6], header[7]]) & 0x3fff != 0;
    let has_ports = matches!(header[9], 6 | 17 | 132) && header[0] == 0x45 && !fragment;
    let ports = match data.get(20..24) {
        Some(p) if has_ports => u32::from_be_bytes([p[0], p[1], p[2], p[3]]),
        _ => 0,
    };
    let mixed = u64::from(word(header, 12) ^ ports.rotate_left(16)) << 32
        | u64::from(word(header, 16) ^ u32::from(header[9]));
    (mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as u32
}
