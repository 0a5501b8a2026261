//! Outer header removal, and the check of the inner packet.

use crate::drop::DropReason;
use crate::forward::marking;
use crate::meta::{Arrival, Meta};
use crate::session::entry::SessionEntry;
use crate::session::flow_filter::FlowFilters;
use crate::session::rule::Flags;
use core::net::{IpAddr, Ipv6Addr};
use sluice_port::Packet;
use sluice_wire::ipv4::{HEADER_LEN, Ipv4, Ipv4Error};
use sluice_wire::ipv6::{Ipv6, Ipv6Error, Protocol, Upper, is_ipv6};
use sluice_wire::layout::{be16, be32, ipv4};

/// Where an inner packet goes, host order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Destination {
    /// IPv4.
    Ipv4(u32),
    /// IPv6.
    Ipv6(u128),
}

impl Destination {
    /// As an address.
    pub fn address(self) -> IpAddr {
        match self {
            Self::Ipv4(address) => IpAddr::V4(address.into()),
            Self::Ipv6(address) => IpAddr::V6(address.into()),
        }
    }
}

/// What later stages need of the inner packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Inner {
    /// Destination.
    pub dst: Destination,
    /// Length of the IP packet: what usage and rates count.
    pub len: u32,
    /// Its source or destination is of one link: no router passes it on (RFC 4291, 2.5.6), but a tunnel may,
    /// which is part of the UE's link.
    pub is_on_link: bool,
}

/// Cuts the packet down to the inner IP packet and checks it (RFC 1812, 5.2.2; RFC 8200, 3) and that it
/// is the UE's.
///
/// A plain packet was checked at *parse*; only its frame header and padding go.
#[inline(always)]
pub fn remove<P: Packet>(
    packet: &mut P,
    meta: &Meta,
    entry: &SessionEntry,
    filters: &FlowFilters,
) -> Result<Inner, DropReason> {
    let outer_ecn = match meta.arrival {
        Arrival::Tunnel => marking::outer_ecn(packet.data()),
        _ => 0,
    };
    packet
        .pull_front(usize::from(meta.inner_at))
        .map_err(|_| DropReason::InnerHeader)?;
    let inner = match meta.arrival {
        Arrival::Tunnel | Arrival::EndMarker => tunnelled(packet.data(), meta, entry, filters)?,
        Arrival::Plain | Arrival::Public => inner_of(&plain(packet.data())?),
        Arrival::PlainIpv6 => inner_of_ipv6(&Ipv6::parse(packet.data()).map_err(broken_ipv6)?),
    };
    if packet.len() > inner.len as usize {
        packet.truncate(inner.len as usize);
    }
    marking::decapsulate(outer_ecn, packet.data_mut())?;
    Ok(inner)
}

#[inline(always)]
fn tunnelled(
    data: &[u8],
    meta: &Meta,
    entry: &SessionEntry,
    filters: &FlowFilters,
) -> Result<Inner, DropReason> {
    let carried = data
        .get(..usize::from(meta.inner_len))
        .ok_or(DropReason::InnerLength)?;
    if is_ipv6(carried) {
        return tunnelled_ipv6(carried, entry, filters);
    }
    let ip = Ipv4::parse(carried).map_err(broken)?;
    let flags = entry.head.flags;
    let sends = flags.has(Flags::FROM_UE) && ip.source_u32() == entry.ue_ip;
    let gets = || flags.has(Flags::TO_UE) && ip.destination_u32() == entry.ue_ip;
    // A session of a prefix alone has no IPv4 packets; 0 is nobody's address.
    let is_anybodys = entry.ue_ip == 0 && entry.ue_prefix == 0;
    if !is_anybodys && (entry.ue_ip == 0 || !sends && !gets()) {
        let ends = [ip.source_u32(), ip.destination_u32()].map(u128::from);
        behind_ue(entry, false, ends, filters)?;
    }
    Ok(inner_of(&ip))
}

#[inline(never)]
fn tunnelled_ipv6(
    carried: &[u8],
    entry: &SessionEntry,
    filters: &FlowFilters,
) -> Result<Inner, DropReason> {
    let ip = Ipv6::parse(carried).map_err(broken_ipv6)?;
    let flags = entry.head.flags;
    let prefix = entry.ue_prefix;
    // A UE with a prefix has an address on its link besides (RFC 4862, 5.3), and hears groups there.
    let is_own = ip.source_prefix() == prefix || is_link_source(ip.source());
    let is_for = ip.destination_prefix() == prefix || is_link_destination(ip.destination());
    let belongs = flags.has(Flags::FROM_UE) && is_own || flags.has(Flags::TO_UE) && is_for;
    let is_anybodys = entry.ue_ip == 0 && prefix == 0;
    if !is_anybodys && (prefix == 0 || !belongs) {
        let ends = [ip.source().to_bits(), ip.destination().to_bits()];
        behind_ue(entry, true, ends, filters)?;
    }
    Ok(inner_of_ipv6(&ip))
}

/// A packet that is not of the UE's own addresses: the end that should be the UE's may be behind it.
#[cold]
fn behind_ue(
    entry: &SessionEntry,
    is_ipv6: bool,
    [source, destination]: [u128; 2],
    filters: &FlowFilters,
) -> Result<(), DropReason> {
    let flags = entry.head.flags;
    let is_there = |run, address| filters.any_local(run, is_ipv6, address);
    let belongs = entry.routes().is_some_and(|run| {
        flags.has(Flags::FROM_UE) && is_there(run, source)
            || flags.has(Flags::TO_UE) && is_there(run, destination)
    });
    if belongs {
        Ok(())
    } else {
        Err(not_of_ue(flags))
    }
}

/// True for the source of a packet that stays on its link (RFC 4291, 2.5.2, 2.5.6).
fn is_link_source(address: Ipv6Addr) -> bool {
    address.is_unspecified() || address.is_unicast_link_local()
}

/// The same of a destination: groups of an interface or a link (RFC 4291, 2.7), too.
pub fn is_link_destination(address: Ipv6Addr) -> bool {
    let [kind, scope, ..] = address.octets();
    address.is_unicast_link_local() || kind == 0xff && scope & 0x0f <= 2
}

#[cold]
fn not_of_ue(flags: Flags) -> DropReason {
    if flags.has(Flags::FROM_UE) {
        DropReason::UeSource
    } else {
        DropReason::UeDestination
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

#[cold]
fn broken_ipv6(error: Ipv6Error) -> DropReason {
    match error {
        Ipv6Error::PayloadLength { .. } => DropReason::InnerLength,
        _ => DropReason::InnerHeader,
    }
}

#[inline(always)]
fn inner_of(ip: &Ipv4<'_>) -> Inner {
    Inner {
        dst: Destination::Ipv4(ip.destination_u32()),
        len: ip.total_len().into(),
        is_on_link: false,
    }
}

fn inner_of_ipv6(ip: &Ipv6<'_>) -> Inner {
    Inner {
        dst: Destination::Ipv6(ip.destination().to_bits()),
        len: ip.total_len() as u32,
        is_on_link: is_link_source(ip.source()) || is_link_destination(ip.destination()),
    }
}

/// A hash of the flow of an inner packet that was checked, for the outer UDP source port:
/// addresses, protocol, and the ports of what has ports and is whole.
#[inline(always)]
pub fn flow_hash(inner: &[u8]) -> u32 {
    if is_ipv6(inner) {
        return Ipv6::parse(inner).map_or(0, |ip| flow_hash_of_ipv6(&ip));
    }
    let Ok(ip) = Ipv4::parse_unsummed(inner) else {
        return 0;
    };
    let payload = ip.payload().first_chunk();
    let ports = payload.filter(|_| !ip.is_fragment());
    mix(
        ip.source_u32(),
        ip.destination_u32(),
        ip.protocol().0,
        ports,
    )
}

/// Addresses, protocol behind the extension headers and ports, folded to what IPv4 has.
///
/// A packet without extension headers, as nearly all are, is read where it lies: what is behind them would go through
/// memory, written in pieces and read at once, which takes a processor longer than the rest.
#[inline(always)]
pub fn flow_hash_of_ipv6(ip: &Ipv6<'_>) -> u32 {
    let next = ip.next_header();
    let (protocol, ports) = if next.is_ipv6_extension() {
        behind_extensions(ip.next_header(), ip.payload())
    } else {
        (next.0, ip.payload().first_chunk().copied())
    };
    let (source, destination) = (fold(ip.source_octets()), fold(ip.destination_octets()));
    mix(source, destination, protocol, ports.as_ref())
}

/// The four words of an IPv6 address together.
#[inline(always)]
fn fold(address: [u8; 16]) -> u32 {
    let address = u128::from_be_bytes(address);
    let half = (address >> 64) as u64 ^ address as u64;
    (half >> 32) as u32 ^ half as u32
}

/// The protocol behind extension headers, and the ports if the packet is whole.
#[cold]
fn behind_extensions(next: Protocol, payload: &[u8]) -> (u8, Option<[u8; 4]>) {
    let upper = Upper::find(next, payload);
    let ports = upper.payload.first_chunk().copied();
    (upper.protocol.0, ports.filter(|_| !upper.is_fragment))
}

/// The same of a packet of `len` octets that begins `inner`, whose header has no options.
#[inline(always)]
pub fn flow_hash_of_plain(inner: &[u8], len: u16) -> u32 {
    let Some(header) = inner.first_chunk::<HEADER_LEN>() else {
        return 0;
    };
    let is_whole = be16(header, ipv4::FRAGMENT) & ipv4::FRAGMENT_MASK == 0
        && usize::from(len) >= HEADER_LEN + 4;
    let ports = inner[HEADER_LEN..].first_chunk().filter(|_| is_whole);
    let (source, destination) = (be32(header, ipv4::SOURCE), be32(header, ipv4::DESTINATION));
    mix(source, destination, header[ipv4::PROTOCOL], ports)
}

/// The hash of a flow: its addresses, its protocol, and what its first four octets are if it is whole.
#[inline(always)]
pub fn mix(source: u32, destination: u32, protocol: u8, first: Option<&[u8; 4]>) -> u32 {
    // TCP, UDP, SCTP.
    let ports = match first {
        Some(ports) if matches!(protocol, 6 | 17 | 132) => u32::from_be_bytes(*ports),
        _ => 0,
    };
    let mixed = u64::from(source ^ ports.rotate_left(16)) << 32
        | u64::from(destination ^ u32::from(protocol));
    (mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use sluice_wire::checksum::checksum;

    proptest! {
        #[test]
        fn a_plain_packet_has_the_hash_of_any(
            mut packet in proptest::collection::vec(any::<u8>(), 20..60),
            protocol in prop::sample::select(vec![1, 6, 17, 47, 132]),
            fragment in prop::sample::select(vec![0, 1, 0x2000, 0x4000]),
            padding in 0usize..8,
        ) {
            let len = packet.len() as u16;
            packet[0] = 0x45;
            packet[2..4].copy_from_slice(&len.to_be_bytes());
            packet[6..8].copy_from_slice(&u16::to_be_bytes(fragment));
            packet[9] = protocol;
            packet[10..12].fill(0);
            let sum = checksum(&packet[..20]);
            packet[10..12].copy_from_slice(&sum.to_be_bytes());
            packet.resize(packet.len() + padding, 0xa5);
            let expected = flow_hash(&packet);
            prop_assert!(Ipv4::parse_unsummed(&packet).is_ok());
            prop_assert_eq!(flow_hash_of_plain(&packet, len), expected);
        }
    }
}
