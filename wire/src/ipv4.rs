//! IPv4 packets (RFC 791): parsing, building, TTL, fragmentation.
//!
//! ```text
//!  0       1       2       3
//! |ver|ihl|  tos  | total length  |
//! |identification |flags| offset  |
//! |  ttl  | proto |   checksum    |
//! |            source             |
//! |          destination          |
//! | options, to 4 octets | payload
//! ```

mod error;
mod fragment;
mod header;
mod options;

pub use error::{Ipv4Error, TooLong};
pub use fragment::{Fragment, FragmentError, Fragments};
pub use header::Ipv4Header;
pub use options::{Ipv4Option, Options};

pub use crate::protocol::Protocol;

use crate::checksum::Sum;
use core::fmt;
use core::net::Ipv4Addr;

/// Octets of a header without options.
pub const HEADER_LEN: usize = 20;
/// Octets of the longest header: 15 words (RFC 791, 3.1).
pub const MAX_HEADER_LEN: usize = 60;
/// Octets of the longest packet.
pub const MAX_PACKET_LEN: usize = 65_535;

/// A packet as it lies in its bytes, its lengths checked.
#[derive(Clone, Copy, Debug)]
pub struct Ipv4<'a> {
    header: &'a [u8; HEADER_LEN],
    options: &'a [u8],
    payload: &'a [u8],
}

impl<'a> Ipv4<'a> {
    /// Reads a packet and verifies everything that a router must (RFC 1812, 5.2.2).
    ///
    /// Octets behind the total length (Ethernet padding) are ignored.
    ///
    /// # Errors
    /// [`Ipv4Error`], naming the first field that is wrong.
    #[inline]
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Ipv4Error> {
        let packet = Self::parse_unsummed(bytes)?;
        if packet.header_sum().verifies() {
            Ok(packet)
        } else {
            Err(Ipv4Error::Checksum)
        }
    }

    /// Reads a packet whose header checksum was verified before, by the NIC say.
    ///
    /// # Errors
    /// [`Ipv4Error`], naming the first field that is wrong; never `Checksum`.
    #[inline]
    pub fn parse_unsummed(bytes: &'a [u8]) -> Result<Self, Ipv4Error> {
        let (packet, stated) = Self::split(bytes)?;
        let header_len = packet.header_len();
        let payload = stated
            .checked_sub(header_len)
            .and_then(|len| packet.payload.get(..len))
            .ok_or(Ipv4Error::TotalLength {
                stated: stated as u16,
            })?;
        Ok(Self { payload, ..packet })
    }

    /// Reads the start of a packet that an ICMP error quotes: it ends before its total length, and
    /// nodes on the way may have changed its checksum (RFC 1812, 4.3.2.3).
    ///
    /// # Errors
    /// [`Ipv4Error`] if not even the header is whole.
    pub fn parse_quoted(bytes: &'a [u8]) -> Result<Self, Ipv4Error> {
        let (packet, stated) = Self::split(bytes)?;
        let payload_len = stated.saturating_sub(packet.header_len());
        let payload = packet.payload.get(..payload_len).unwrap_or(packet.payload);
        Ok(Self { payload, ..packet })
    }

    /// The parts of a packet, all that follows the header as its payload, and the stated length.
    #[inline]
    fn split(bytes: &'a [u8]) -> Result<(Self, usize), Ipv4Error> {
        let (header, rest) = bytes
            .split_first_chunk::<HEADER_LEN>()
            .ok_or(Ipv4Error::Truncated)?;
        if header[0] >> 4 != 4 {
            return Err(Ipv4Error::Version(header[0] >> 4));
        }
        let ihl = header[0] & 0x0f;
        let options_len = usize::from(ihl) * 4;
        let options_len = options_len
            .checked_sub(HEADER_LEN)
            .ok_or(Ipv4Error::HeaderLength { ihl })?;
        let (options, payload) = rest
            .split_at_checked(options_len)
            .ok_or(Ipv4Error::HeaderLength { ihl })?;
        let stated = u16::from_be_bytes([header[2], header[3]]);
        Ok((
            Self {
                header,
                options,
                payload,
            },
            usize::from(stated),
        ))
    }

    #[inline]
    fn header_sum(&self) -> Sum {
        let sum = Sum::of(self.header);
        if self.options.is_empty() {
            sum
        } else {
            sum.add_bytes(self.options)
        }
    }

    /// The fixed part of the header.
    #[inline]
    pub fn header(&self) -> &'a [u8; HEADER_LEN] {
        self.header
    }

    /// Header length in octets, 20 to 60.
    #[inline]
    pub fn header_len(&self) -> usize {
        HEADER_LEN + self.options.len()
    }

    /// Length of header and payload in octets, as stated.
    #[inline]
    pub fn total_len(&self) -> u16 {
        self.word(2)
    }

    /// Differentiated services code point (RFC 2474), 0 to 63.
    #[inline]
    pub fn dscp(&self) -> u8 {
        self.header[1] >> 2
    }

    /// Explicit congestion notification (RFC 3168), 0 to 3.
    #[inline]
    pub fn ecn(&self) -> u8 {
        self.header[1] & 3
    }

    /// The whole second octet, DSCP and ECN.
    #[inline]
    pub fn tos(&self) -> u8 {
        self.header[1]
    }

    /// The number that fragments of one packet share.
    #[inline]
    pub fn identification(&self) -> u16 {
        self.word(4)
    }

    /// DF: routers may not fragment.
    #[inline]
    pub fn dont_fragment(&self) -> bool {
        self.header[6] & 0x40 != 0
    }

    /// MF: this is not the last fragment.
    #[inline]
    pub fn more_fragments(&self) -> bool {
        self.header[6] & 0x20 != 0
    }

    /// Where the payload belongs in the original packet, in units of 8 octets.
    #[inline]
    pub fn fragment_offset(&self) -> u16 {
        self.word(6) & 0x1fff
    }

    /// Whether this is a part of a packet: MF set or offset not 0.
    #[inline]
    pub fn is_fragment(&self) -> bool {
        self.word(6) & 0x3fff != 0
    }

    /// Time to live in hops.
    #[inline]
    pub fn ttl(&self) -> u8 {
        self.header[8]
    }

    /// What the payload is.
    #[inline]
    pub fn protocol(&self) -> Protocol {
        Protocol(self.header[9])
    }

    /// The header checksum as it stands.
    #[inline]
    pub fn checksum(&self) -> u16 {
        self.word(10)
    }

    /// The sender.
    #[inline]
    pub fn source(&self) -> Ipv4Addr {
        Ipv4Addr::from_bits(self.source_u32())
    }

    /// The receiver.
    #[inline]
    pub fn destination(&self) -> Ipv4Addr {
        Ipv4Addr::from_bits(self.destination_u32())
    }

    /// The sender as a number in host order.
    #[inline]
    pub fn source_u32(&self) -> u32 {
        let [.., a, b, c, d, _, _, _, _] = *self.header;
        u32::from_be_bytes([a, b, c, d])
    }

    /// The receiver as a number in host order.
    #[inline]
    pub fn destination_u32(&self) -> u32 {
        let [.., a, b, c, d] = *self.header;
        u32::from_be_bytes([a, b, c, d])
    }

    /// The options with their padding.
    #[inline]
    pub fn options(&self) -> &'a [u8] {
        self.options
    }

    /// What the packet carries, padding of the link removed.
    #[inline]
    pub fn payload(&self) -> &'a [u8] {
        self.payload
    }

    /// The 16-bit field at `at`, a constant below 19 in every call.
    #[inline(always)]
    fn word(&self, at: usize) -> u16 {
        u16::from_be_bytes([self.header[at], self.header[at + 1]])
    }
}

/// The packet has no hop left: it is not forwarded, and Time Exceeded may be answered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TtlExpired;

impl fmt::Display for TtlExpired {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TTL expired in transit (RFC 1812, 5.3.1)")
    }
}

impl core::error::Error for TtlExpired {}

/// Takes one from the TTL and mends the checksum (RFC 1812, 5.3.1; RFC 1624).
///
/// # Errors
/// [`TtlExpired`], the header unchanged, if the TTL is 0 or 1.
#[inline]
pub fn decrement_ttl(header: &mut [u8; HEADER_LEN]) -> Result<(), TtlExpired> {
    if header[8] <= 1 {
        return Err(TtlExpired);
    }
    header[8] -= 1;
    // RFC 1624, equation 3, where the word with the TTL in its upper octet becomes less by 0x100: the
    // checksum becomes more by it, around the end, and is 0 where it would be 0xffff.
    let sum = u32::from(u16::from_be_bytes([header[10], header[11]])) + 0x100;
    let sum = sum + u32::from(sum >= 0xffff);
    [header[10], header[11]] = (sum as u16).to_be_bytes();
    Ok(())
}

#[cfg(test)]
mod tests;
