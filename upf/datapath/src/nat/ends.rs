//! The two ends of a packet that translation sees: reading them, and rewriting one with its checksums.

use crate::drop::DropReason;
use sluice_wire::checksum::{Sum, update, update_u16, update_u32};
use sluice_wire::icmp::{
    DESTINATION_UNREACHABLE, ECHO_REPLY, ECHO_REQUEST, PARAMETER_PROBLEM, TIME_EXCEEDED,
};
use sluice_wire::ipv4::{HEADER_LEN, Ipv4, Protocol};
use sluice_wire::layout::{be16, be32, ipv4};
use sluice_wire::udp::not_zero;

/// Which end of a packet is the UE's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    /// Its source: the packet leaves.
    Source,
    /// Its destination.
    Destination,
}

impl Side {
    /// The same end in the packet that an ICMP error quotes: it went the other way.
    const fn quoted(self) -> Self {
        match self {
            Self::Source => Self::Destination,
            Self::Destination => Self::Source,
        }
    }

    /// Where its address stands in an IPv4 header.
    const fn address_at(self) -> usize {
        match self {
            Self::Source => ipv4::SOURCE,
            Self::Destination => ipv4::DESTINATION,
        }
    }

    /// Where its port stands in a TCP or UDP header.
    const fn port_at(self) -> usize {
        match self {
            Self::Source => 0,
            Self::Destination => 2,
        }
    }
}

/// What a packet does to its mapping.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// UDP, or an ICMP query or its reply.
    Datagram,
    /// A TCP segment with these flags.
    Segment(u8),
    /// An ICMP error, about a packet of the mapping.
    Error,
}

/// The ends of a packet, addresses in host order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ends {
    /// Protocol of the mapping: UDP, TCP or ICMP.
    pub protocol: u8,
    /// The UE's address, inside or outside. Of an ICMP error that of the packet it quotes.
    pub own_address: u32,
    /// The UE's port, or the identifier of an ICMP query.
    pub own_port: u16,
    /// The other end's address.
    pub remote_address: u32,
    /// The other end's port; 0 for an ICMP query.
    pub remote_port: u16,
    /// What it is.
    pub kind: Kind,
}

/// A TCP header without options.
const TCP_LEN: usize = 20;
const TCP_FLAGS_AT: usize = 13;
const TCP_CHECKSUM_AT: usize = 16;
const UDP_CHECKSUM_AT: usize = 6;
/// ICMP header, and where its checksum and identifier stand.
const ICMP_LEN: usize = 8;
const ICMP_CHECKSUM_AT: usize = 2;
const ICMP_IDENTIFIER_AT: usize = 4;

/// Reads a packet that is whole or a first fragment.
///
/// # Errors
/// The reason to drop it: its protocol has no ports, or its headers are cut short or damaged.
pub fn read(packet: &[u8], side: Side) -> Result<Ends, DropReason> {
    let ip = Ipv4::parse_unsummed(packet).map_err(|_| DropReason::InnerHeader)?;
    let payload = ip.payload();
    let (own_address, remote_address) = match side {
        Side::Source => (ip.source_u32(), ip.destination_u32()),
        Side::Destination => (ip.destination_u32(), ip.source_u32()),
    };
    let ends = |own_port, remote_port, kind| Ends {
        protocol: ip.protocol().0,
        own_address,
        own_port,
        remote_address,
        remote_port,
        kind,
    };
    let ports = |kind| {
        let own = be16(payload, side.port_at());
        let remote = be16(payload, side.quoted().port_at());
        ends(own, remote, kind)
    };
    match ip.protocol() {
        Protocol::UDP if payload.len() >= 8 => Ok(ports(Kind::Datagram)),
        Protocol::TCP if payload.len() >= TCP_LEN => {
            Ok(ports(Kind::Segment(payload[TCP_FLAGS_AT])))
        }
        Protocol::ICMP if payload.len() >= ICMP_LEN => match (payload[0], side) {
            (ECHO_REQUEST, Side::Source) | (ECHO_REPLY, Side::Destination) => {
                let identifier = be16(payload, ICMP_IDENTIFIER_AT);
                Ok(ends(identifier, 0, Kind::Datagram))
            }
            (DESTINATION_UNREACHABLE | TIME_EXCEEDED | PARAMETER_PROBLEM, _) => {
                read_error(&ip, side)
            }
            _ => Err(DropReason::NatProtocol),
        },
        Protocol::UDP | Protocol::TCP | Protocol::ICMP => Err(DropReason::InnerLength),
        _ => Err(DropReason::NatProtocol),
    }
}

/// Reads a whole UDP datagram or TCP segment in an IPv4 packet without options; none if it is anything else, which
/// [`read`] may know.
#[inline(always)]
pub fn of_flow(packet: &[u8], side: Side) -> Option<Ends> {
    let (header, payload) = packet.split_first_chunk::<HEADER_LEN>()?;
    let ports = payload.first_chunk::<4>()?;
    let is_whole = be16(header, ipv4::FRAGMENT) & ipv4::FRAGMENT_MASK == 0;
    if header[ipv4::VERSION_IHL] != ipv4::VERSION_4_NO_OPTIONS || !is_whole {
        return None;
    }
    let kind = match Protocol(header[ipv4::PROTOCOL]) {
        Protocol::UDP if payload.len() >= 8 => Kind::Datagram,
        Protocol::TCP if payload.len() >= TCP_LEN => Kind::Segment(payload[TCP_FLAGS_AT]),
        _ => return None,
    };
    Some(Ends {
        protocol: header[ipv4::PROTOCOL],
        own_address: be32(header, side.address_at()),
        own_port: be16(ports, side.port_at()),
        remote_address: be32(header, side.quoted().address_at()),
        remote_port: be16(ports, side.quoted().port_at()),
        kind,
    })
}

/// An ICMP error: the ends of the packet that it quotes (RFC 5508, REQ-3: damaged ones are dropped).
fn read_error(ip: &Ipv4<'_>, side: Side) -> Result<Ends, DropReason> {
    let message = ip.payload();
    if ip.is_fragment() || !Sum::of(message).verifies() {
        return Err(DropReason::InnerChecksum);
    }
    let quoted = message.get(ICMP_LEN..).unwrap_or_default();
    let header_len = quoted_header_len(quoted).ok_or(DropReason::InnerHeader)?;
    let (header, rest) = quoted.split_at(header_len);
    if !Sum::of(header).verifies() {
        return Err(DropReason::InnerChecksum);
    }
    let first = rest.first_chunk::<8>().ok_or(DropReason::InnerLength)?;
    let is_later_fragment = be16(header, ipv4::FRAGMENT) & 0x1fff != 0;
    let side = side.quoted();
    let (own_port, remote_port) = match Protocol(header[ipv4::PROTOCOL]) {
        _ if is_later_fragment => return Err(DropReason::NatFragment),
        Protocol::UDP | Protocol::TCP => (
            be16(first, side.port_at()),
            be16(first, side.quoted().port_at()),
        ),
        // A query of the UE's; nobody is told of errors about replies to it, which never reach it.
        Protocol::ICMP if first[0] == ECHO_REQUEST || first[0] == ECHO_REPLY => {
            (be16(first, ICMP_IDENTIFIER_AT), 0)
        }
        _ => return Err(DropReason::NatProtocol),
    };
    Ok(Ends {
        protocol: header[ipv4::PROTOCOL],
        own_address: be32(header, side.address_at()),
        own_port,
        remote_address: be32(header, side.quoted().address_at()),
        remote_port,
        kind: Kind::Error,
    })
}

/// The header length of a quoted packet, whose rest may be cut off.
fn quoted_header_len(quoted: &[u8]) -> Option<usize> {
    let first = *quoted.first()?;
    let len = usize::from(first & 0x0f) * 4;
    (first >> 4 == 4 && len >= HEADER_LEN && quoted.len() >= len).then_some(len)
}

/// Replaces address and port of one end of a packet that was read, and mends its checksums by what changed
/// (RFC 1624). Of a later fragment there is only the address.
#[inline(always)]
pub fn rewrite(packet: &mut [u8], side: Side, address: u32, port: u16) {
    let Some(header_len) = quoted_header_len(packet) else {
        return;
    };
    let (header, payload) = packet.split_at_mut(header_len);
    let protocol = Protocol(header[ipv4::PROTOCOL]);
    let is_later_fragment = be16(header, ipv4::FRAGMENT) & 0x1fff != 0;
    let old = rewrite_address(header, side, address);
    if is_later_fragment {
        return;
    }
    match protocol {
        Protocol::ICMP => rewrite_icmp(payload, side, address, port),
        _ => rewrite_ports(protocol, payload, side, (old, address), port),
    }
}

/// Gives the old address.
#[inline(always)]
fn rewrite_address(header: &mut [u8], side: Side, address: u32) -> u32 {
    let at = side.address_at();
    let old = be32(header, at);
    let checksum = update_u32(be16(header, ipv4::CHECKSUM), old, address);
    put(header, at, &address.to_be_bytes());
    put(header, ipv4::CHECKSUM, &checksum.to_be_bytes());
    old
}

/// The checksum, where it is there, covers the addresses, too.
#[inline(always)]
fn rewrite_ports(
    protocol: Protocol,
    payload: &mut [u8],
    side: Side,
    (old, new): (u32, u32),
    port: u16,
) {
    let (at, is_udp) = match protocol {
        Protocol::UDP => (UDP_CHECKSUM_AT, true),
        _ => (TCP_CHECKSUM_AT, false),
    };
    let Some(old_port) = field(payload, side.port_at()) else {
        return;
    };
    put(payload, side.port_at(), &port.to_be_bytes());
    // UDP without a checksum keeps none (RFC 768).
    if let Some(checksum) = field(payload, at).filter(|sum| !is_udp || *sum != 0) {
        let before = Sum::ZERO.add_u32(old).add_u16(old_port);
        let after = Sum::ZERO.add_u32(new).add_u16(port);
        let checksum = update(checksum, before, after);
        let checksum = if is_udp { not_zero(checksum) } else { checksum };
        put(payload, at, &checksum.to_be_bytes());
    }
}

#[cold]
fn rewrite_icmp(message: &mut [u8], side: Side, address: u32, port: u16) {
    let Some(checksum) = field(message, ICMP_CHECKSUM_AT) else {
        return;
    };
    let checksum = match message[0] {
        ECHO_REQUEST | ECHO_REPLY => {
            let old = field(message, ICMP_IDENTIFIER_AT).unwrap_or_default();
            put(message, ICMP_IDENTIFIER_AT, &port.to_be_bytes());
            update_u16(checksum, old, port)
        }
        _ => {
            let quoted = message.get_mut(ICMP_LEN..).unwrap_or_default();
            let before = Sum::of(quoted);
            rewrite_quoted(quoted, side.quoted(), address, port);
            update(checksum, before, Sum::of(quoted))
        }
    };
    put(message, ICMP_CHECKSUM_AT, &checksum.to_be_bytes());
}

/// The packet that an ICMP error quotes; its own error is not read again.
fn rewrite_quoted(quoted: &mut [u8], side: Side, address: u32, port: u16) {
    let Some(header_len) = quoted_header_len(quoted) else {
        return;
    };
    let (header, payload) = quoted.split_at_mut(header_len);
    let protocol = Protocol(header[ipv4::PROTOCOL]);
    let old = rewrite_address(header, side, address);
    if protocol != Protocol::ICMP {
        return rewrite_ports(protocol, payload, side, (old, address), port);
    }
    if let (Some(checksum), Some(old)) = (
        field(payload, ICMP_CHECKSUM_AT),
        field(payload, ICMP_IDENTIFIER_AT),
    ) {
        put(payload, ICMP_IDENTIFIER_AT, &port.to_be_bytes());
        let checksum = update_u16(checksum, old, port);
        put(payload, ICMP_CHECKSUM_AT, &checksum.to_be_bytes());
    }
}

#[inline(always)]
fn field(bytes: &[u8], at: usize) -> Option<u16> {
    let octets = bytes.get(at..at + 2)?;
    Some(be16(octets, 0))
}

#[inline(always)]
fn put(bytes: &mut [u8], at: usize, octets: &[u8]) {
    if let Some(place) = bytes.get_mut(at..at + octets.len()) {
        place.copy_from_slice(octets);
    }
}

#[cfg(test)]
mod tests;
