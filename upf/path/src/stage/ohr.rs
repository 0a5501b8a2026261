//! Outer header removal: lay the inner packet open and see that it is what it says.

use crate::drop::DropReason;
use crate::line::Line;
use crate::meta::{Entry, Meta};
use crate::rule::Flags;
use sluice_port::Packet;
use sluice_wire::ipv4::{Ipv4, Ipv4Error};

/// What later stages need of the inner packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Inner {
    /// Destination, host order.
    pub dst: u32,
    /// Total length: what usage and rates count.
    pub len: u32,
}

/// Cuts the packet down to the inner IPv4 packet and checks it (RFC 1812, 5.2.2) and that it is the
/// UE's.
///
/// A plain packet was checked at *parse*; only its frame header and padding go.
#[inline(always)]
pub fn remove<P: Packet>(packet: &mut P, meta: &Meta, line: &Line) -> Result<Inner, DropReason> {
    packet
        .pull_front(usize::from(meta.inner_at))
        .map_err(|_| DropReason::InnerHeader)?;
    let inner = match meta.entry {
        Entry::Tunnel | Entry::EndMarker => tunnelled(packet.data(), meta, line)?,
        Entry::Plain => inner_of(&plain(packet.data())?),
    };
    if packet.len() > inner.len as usize {
        packet.truncate(inner.len as usize);
    }
    Ok(inner)
}

#[inline(always)]
fn tunnelled(data: &[u8], meta: &Meta, line: &Line) -> Result<Inner, DropReason> {
    let carried = data
        .get(..usize::from(meta.inner_len))
        .ok_or(DropReason::InnerLength)?;
    let ip = Ipv4::parse(carried).map_err(broken)?;
    let flags = line.head.flags;
    let sends = flags.has(Flags::FROM_UE) && ip.source_u32() == line.ue_ip;
    let gets = || flags.has(Flags::TO_UE) && ip.destination_u32() == line.ue_ip;
    if line.ue_ip != 0 && !sends && !gets() {
        return Err(not_of_ue(flags));
    }
    Ok(inner_of(&ip))
}

#[cold]
fn not_of_ue(flags: Flags) -> DropReason {
    match flags.has(Flags::FROM_UE) {
        true => DropReason::UeSource,
        false => DropReason::UeDestination,
    }
}

/// Verified at *parse*.
#[inline(always)]
fn plain(data: &[u8]) -> Result<Ipv4<'_>, DropReason> {
    Ipv4::parse_unsummed(data).map_err(broken)
}

#[cold]
fn broken(error: Ipv4Error) -> DropReason {
    match error {
        Ipv4Error::TotalLength { .. } => DropReason::InnerLength,
        Ipv4Error::Checksum => DropReason::InnerChecksum,
        _ => DropReason::InnerHeader,
    }
}

#[inline(always)]
fn inner_of(ip: &Ipv4<'_>) -> Inner {
    Inner {
        dst: ip.destination_u32(),
        len: ip.total_len().into(),
    }
}

/// A hash of the flow of an inner packet that was checked, for the outer UDP source port:
/// addresses, protocol, and the ports of what has ports and is whole.
#[inline(always)]
pub fn flow_hash(inner: &[u8]) -> u32 {
    let Ok(ip) = Ipv4::parse_unsummed(inner) else {
        return 0;
    };
    let has_ports = matches!(ip.protocol().0, 6 | 17 | 132) && !ip.is_fragment();
    let ports = match ip.payload().first_chunk::<4>() {
        Some(p) if has_ports => u32::from_be_bytes(*p),
        _ => 0,
    };
    let mixed = u64::from(ip.source_u32() ^ ports.rotate_left(16)) << 32
        | u64::from(ip.destination_u32() ^ u32::from(ip.protocol().0));
    (mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as u32
}
