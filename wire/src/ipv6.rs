//! IPv6 packets (RFC 8200): parsing, building, hop limit, extension headers, addresses.
//!
//! ```text
//!  0       1       2       3
//! |ver|tr. class|   flow label    |
//! | payload length| next  |hop lim|
//! |       source, 16 octets       |
//! |     destination, 16 octets    |
//! | extension headers | payload
//! ```

mod address;
mod error;
mod extension;
mod header;

pub use address::{
    ALL_NODES, ALL_ROUTERS, is_link_local, is_multicast, link_local_of, multicast_mac,
    solicited_node,
};
pub use error::{HopLimitExceeded, Ipv6Error};
pub use extension::{MAX_EXTENSION_HEADERS, Upper};
pub use header::Ipv6Header;

pub use crate::protocol::Protocol;

use crate::checksum::Sum;
use crate::layout::ipv6 as layout;
use core::net::Ipv6Addr;

/// Octets of the header, extension headers not counted.
pub const HEADER_LEN: usize = layout::LEN;
/// The longest packet that every link passes whole (RFC 8200, 5).
pub const MIN_MTU: usize = 1280;

/// True if a packet begins as one of IPv6 does.
#[inline(always)]
pub fn is_ipv6(packet: &[u8]) -> bool {
    packet.first().is_some_and(|octet| octet >> 4 == 6)
}

/// A packet as it lies in its bytes, its lengths checked.
#[derive(Clone, Copy, Debug)]
pub struct Ipv6<'a> {
    header: &'a [u8; HEADER_LEN],
    payload: &'a [u8],
}

impl<'a> Ipv6<'a> {
    /// Reads a packet and verifies its version and length: the header has no checksum.
    ///
    /// Octets behind the payload length (Ethernet padding) are ignored. A jumbogram (RFC 2675) is
    /// refused: no link of ours is that wide.
    ///
    /// # Errors
    /// [`Ipv6Error`], naming the first field that is wrong.
    #[inline]
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Ipv6Error> {
        let packet = Self::split(bytes)?;
        let stated = packet.payload_len();
        if stated == 0 && packet.next_header() == Protocol::HOP_BY_HOP {
            return Err(Ipv6Error::Jumbogram);
        }
        let payload = packet
            .payload
            .get(..usize::from(stated))
            .ok_or(Ipv6Error::PayloadLength { stated })?;
        Ok(Self { payload, ..packet })
    }

    /// Reads the start of a packet that an ICMPv6 error quotes: it may end before its payload length.
    ///
    /// # Errors
    /// [`Ipv6Error`] if not even the header is whole.
    pub fn parse_quoted(bytes: &'a [u8]) -> Result<Self, Ipv6Error> {
        let packet = Self::split(bytes)?;
        let stated = usize::from(packet.payload_len());
        let payload = packet.payload.get(..stated).unwrap_or(packet.payload);
        Ok(Self { payload, ..packet })
    }

    /// The header, and all that follows it as the payload.
    #[inline]
    fn split(bytes: &'a [u8]) -> Result<Self, Ipv6Error> {
        let (header, payload) = bytes
            .split_first_chunk::<HEADER_LEN>()
            .ok_or(Ipv6Error::Truncated)?;
        match header[layout::VERSION] >> 4 {
            6 => Ok(Self { header, payload }),
            other => Err(Ipv6Error::Version(other)),
        }
    }

    /// The header, extension headers not included.
    #[inline]
    pub fn header(&self) -> &'a [u8; HEADER_LEN] {
        self.header
    }

    /// Octets behind the header, extension headers included, as stated.
    #[inline]
    pub fn payload_len(&self) -> u16 {
        self.word(layout::PAYLOAD_LEN)
    }

    /// Length of header and payload in octets, as stated.
    #[inline]
    pub fn total_len(&self) -> usize {
        HEADER_LEN + usize::from(self.payload_len())
    }

    /// DSCP in the upper six bits, ECN in the lower two (RFC 2474, RFC 3168).
    #[inline]
    pub fn traffic_class(&self) -> u8 {
        (self.word(layout::VERSION) >> 4) as u8
    }

    /// The flow label, 20 bits (RFC 6437).
    #[inline]
    pub fn flow_label(&self) -> u32 {
        let upper = self.word(layout::VERSION) & 0x000f;
        u32::from(upper) << 16 | u32::from(self.word(layout::FLOW_LABEL_LOW))
    }

    /// What follows the header: an extension header or the upper layer.
    #[inline]
    pub fn next_header(&self) -> Protocol {
        Protocol(self.header[layout::NEXT_HEADER])
    }

    /// Hops that are left.
    #[inline]
    pub fn hop_limit(&self) -> u8 {
        self.header[layout::HOP_LIMIT]
    }

    /// The sender.
    #[inline]
    pub fn source(&self) -> Ipv6Addr {
        Ipv6Addr::from(self.source_octets())
    }

    /// The receiver.
    #[inline]
    pub fn destination(&self) -> Ipv6Addr {
        Ipv6Addr::from(self.destination_octets())
    }

    /// The sender as it stands.
    #[inline]
    pub fn source_octets(&self) -> [u8; 16] {
        self.octets(layout::SOURCE)
    }

    /// The receiver as it stands.
    #[inline]
    pub fn destination_octets(&self) -> [u8; 16] {
        self.octets(layout::DESTINATION)
    }

    /// The upper 64 bits of the sender as a number in host order: a UE's prefix.
    #[inline]
    pub fn source_prefix(&self) -> u64 {
        u64::from_be_bytes(self.octets(layout::SOURCE))
    }

    /// The upper 64 bits of the receiver as a number in host order: a UE's prefix.
    #[inline]
    pub fn destination_prefix(&self) -> u64 {
        u64::from_be_bytes(self.octets(layout::DESTINATION))
    }

    /// What follows the header, padding of the link removed.
    #[inline]
    pub fn payload(&self) -> &'a [u8] {
        self.payload
    }

    /// The fragment header, if it follows at once, and the part of the packet behind it (RFC 8200, 4.5).
    pub fn fragment(&self) -> Option<(FragmentHeader, &'a [u8])> {
        if self.next_header() != Protocol::FRAGMENT {
            return None;
        }
        let (&[next, _, field0, field1, a, b, c, d], part) = self.payload.split_first_chunk()?;
        let field = u16::from_be_bytes([field0, field1]);
        let header = FragmentHeader {
            next: Protocol(next),
            offset: field & 0xfff8,
            more: field & 1 != 0,
            identification: u32::from_be_bytes([a, b, c, d]),
        };
        Some((header, part))
    }

    /// The first header that is no extension header, and what is in it.
    #[inline]
    pub fn upper_layer(&self) -> Upper<'a> {
        Upper::find(self.next_header(), self.payload)
    }

    /// The 16-bit field at `at`, a constant below 39 in every call.
    #[inline(always)]
    fn word(&self, at: usize) -> u16 {
        u16::from_be_bytes([self.header[at], self.header[at + 1]])
    }

    /// The octets at `at`, the place of an address in every call; `N` is at most 16.
    #[inline(always)]
    fn octets<const N: usize>(&self, at: usize) -> [u8; N] {
        let mut octets = [0; N];
        octets.copy_from_slice(&self.header[at..at + N]);
        octets
    }
}

/// Octets of a fragment header.
pub const FRAGMENT_HEADER_LEN: usize = 8;

/// A fragment header (RFC 8200, 4.5).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FragmentHeader {
    /// What the fragmented part begins with.
    pub next: Protocol,
    /// Where this part begins, in octets.
    pub offset: u16,
    /// It is not the last.
    pub more: bool,
    /// By which parts of a packet are known.
    pub identification: u32,
}

/// Takes one from the hop limit (RFC 8200, 3).
///
/// # Errors
/// [`HopLimitExceeded`], the header unchanged, if the hop limit is 0 or 1.
#[inline]
pub fn decrement_hop_limit(header: &mut [u8; HEADER_LEN]) -> Result<(), HopLimitExceeded> {
    if header[layout::HOP_LIMIT] <= 1 {
        return Err(HopLimitExceeded);
    }
    header[layout::HOP_LIMIT] -= 1;
    Ok(())
}

/// The sum of the pseudo header that checksums of the upper layer cover (RFC 8200, 8.1).
///
/// `len` is the length of the upper layer's header and payload in octets.
#[inline]
pub fn pseudo_header_sum(
    source: Ipv6Addr,
    destination: Ipv6Addr,
    protocol: Protocol,
    len: u32,
) -> Sum {
    Sum::of(&source.octets())
        .add_bytes(&destination.octets())
        .add_u32(len)
        .add_u16(protocol.0.into())
}

#[cfg(test)]
mod tests;
