//! UDP over IPv4 (RFC 768) and over IPv6 (RFC 8200, 8.1).

use crate::checksum::Sum;
use crate::ipv4::{Protocol, TooLong};
use crate::ipv6;
use core::fmt;
use core::net::{Ipv4Addr, Ipv6Addr};

/// Octets of the header.
pub const HEADER_LEN: usize = 8;

/// Why bytes are no UDP datagram.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum UdpError {
    /// Fewer than 8 octets.
    Truncated,
    /// The length field is below 8 or above what was received.
    Length {
        /// The field, in octets.
        stated: u16,
    },
}

impl fmt::Display for UdpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Truncated => f.write_str("UDP datagram shorter than 8 octets"),
            Self::Length { stated } => {
                write!(f, "UDP length {stated} does not fit what was received")
            }
        }
    }
}

impl core::error::Error for UdpError {}

/// A datagram as it lies in its bytes, its length checked.
#[derive(Clone, Copy, Debug)]
pub struct Udp<'a> {
    header: &'a [u8; HEADER_LEN],
    payload: &'a [u8],
}

impl<'a> Udp<'a> {
    /// Reads a datagram; octets behind its length are ignored. The checksum is not verified here.
    ///
    /// # Errors
    /// [`UdpError`] if the length does not fit.
    #[inline]
    pub fn parse(bytes: &'a [u8]) -> Result<Self, UdpError> {
        let (header, rest) = bytes
            .split_first_chunk::<HEADER_LEN>()
            .ok_or(UdpError::Truncated)?;
        let stated = u16::from_be_bytes([header[4], header[5]]);
        let payload = usize::from(stated)
            .checked_sub(HEADER_LEN)
            .and_then(|len| rest.get(..len))
            .ok_or(UdpError::Length { stated })?;
        Ok(Self { header, payload })
    }

    /// The sender's port.
    #[inline]
    pub fn source_port(&self) -> u16 {
        u16::from_be_bytes([self.header[0], self.header[1]])
    }

    /// The receiver's port.
    #[inline]
    pub fn destination_port(&self) -> u16 {
        u16::from_be_bytes([self.header[2], self.header[3]])
    }

    /// Length of header and payload in octets.
    #[inline]
    pub fn len(&self) -> u16 {
        u16::from_be_bytes([self.header[4], self.header[5]])
    }

    /// Whether the datagram carries nothing.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.payload.is_empty()
    }

    /// The checksum; `None` if the sender made none (field 0).
    #[inline]
    pub fn checksum(&self) -> Option<u16> {
        match u16::from_be_bytes([self.header[6], self.header[7]]) {
            0 => None,
            sum => Some(sum),
        }
    }

    /// Whether the checksum fits, or there is none.
    pub fn verify(&self, source: Ipv4Addr, destination: Ipv4Addr) -> bool {
        let sum = pseudo_header_sum(source, destination, Protocol::UDP, self.len());
        self.checksum().is_none()
            || sum
                .add_bytes(self.header)
                .add_bytes(self.payload)
                .verifies()
    }

    /// Whether the checksum over IPv6 fits. There must be one (RFC 8200, 8.1): without it the addresses are
    /// not covered by anything.
    pub fn verify_ipv6(&self, source: Ipv6Addr, destination: Ipv6Addr) -> bool {
        let len = u32::from(self.len());
        let sum = ipv6::pseudo_header_sum(source, destination, Protocol::UDP, len);
        self.checksum().is_some()
            && sum
                .add_bytes(self.header)
                .add_bytes(self.payload)
                .verifies()
    }

    /// What the datagram carries.
    #[inline]
    pub fn payload(&self) -> &'a [u8] {
        self.payload
    }
}

/// The fields of a header to be written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UdpHeader {
    /// The sender's port.
    pub source_port: u16,
    /// The receiver's port.
    pub destination_port: u16,
}

impl UdpHeader {
    /// The header before `payload_len` octets, without a checksum (0).
    ///
    /// # Errors
    /// [`TooLong`] if header and payload exceed 65535 octets.
    #[inline]
    pub fn to_bytes_unsummed(&self, payload_len: usize) -> Result<[u8; HEADER_LEN], TooLong> {
        let len = HEADER_LEN.checked_add(payload_len).ok_or(TooLong)?;
        let len = u16::try_from(len).map_err(|_| TooLong)?;
        let [s0, s1] = self.source_port.to_be_bytes();
        let [d0, d1] = self.destination_port.to_be_bytes();
        let [l0, l1] = len.to_be_bytes();
        Ok([s0, s1, d0, d1, l0, l1, 0, 0])
    }

    /// The header before `payload`, with the checksum for these addresses.
    ///
    /// # Errors
    /// [`TooLong`] if header and payload exceed 65535 octets.
    pub fn to_bytes(
        &self,
        source: Ipv4Addr,
        destination: Ipv4Addr,
        payload: &[u8],
    ) -> Result<[u8; HEADER_LEN], TooLong> {
        let mut out = self.to_bytes_unsummed(payload.len())?;
        let len = u16::from_be_bytes([out[4], out[5]]);
        let sum = pseudo_header_sum(source, destination, Protocol::UDP, len)
            .add_bytes(&out)
            .add_bytes(payload);
        [out[6], out[7]] = not_zero(sum.finish()).to_be_bytes();
        Ok(out)
    }
}

impl UdpHeader {
    /// The header before `payload`, with the checksum for these IPv6 addresses.
    ///
    /// # Errors
    /// [`TooLong`] if header and payload exceed 65535 octets.
    pub fn to_bytes_ipv6(
        &self,
        source: Ipv6Addr,
        destination: Ipv6Addr,
        payload: &[u8],
    ) -> Result<[u8; HEADER_LEN], TooLong> {
        let mut out = self.to_bytes_unsummed(payload.len())?;
        let len = u32::from(u16::from_be_bytes([out[4], out[5]]));
        let sum = ipv6::pseudo_header_sum(source, destination, Protocol::UDP, len)
            .add_bytes(&out)
            .add_bytes(payload);
        [out[6], out[7]] = not_zero(sum.finish()).to_be_bytes();
        Ok(out)
    }
}

/// The sum of the pseudo header that UDP and TCP checksums cover (RFC 768; RFC 9293, 3.1).
///
/// `len` is the length of header and payload in octets.
#[inline]
pub const fn pseudo_header_sum(
    source: Ipv4Addr,
    destination: Ipv4Addr,
    protocol: Protocol,
    len: u16,
) -> Sum {
    Sum::ZERO
        .add_u32(source.to_bits())
        .add_u32(destination.to_bits())
        .add_u16(protocol.0 as u16)
        .add_u16(len)
}

/// A computed checksum as it is sent: 0 means "none", so 0 goes out as its other notation, ffff
/// (RFC 768).
#[inline]
pub const fn not_zero(checksum: u16) -> u16 {
    if checksum == 0 { 0xffff } else { checksum }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SOURCE: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
    const DESTINATION: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 2);
    const HEADER: UdpHeader = UdpHeader {
        source_port: 2152,
        destination_port: 8805,
    };

    #[test]
    fn the_header_has_ports_length_and_checksum_in_the_order_of_rfc_768() {
        let bytes = HEADER.to_bytes_unsummed(3).unwrap();
        assert_eq!(bytes, [0x08, 0x68, 0x22, 0x65, 0, 11, 0, 0]);
        let whole = [&bytes[..], &[1, 2, 3, 0xee]].concat();
        let udp = Udp::parse(&whole).unwrap();
        assert_eq!((udp.source_port(), udp.destination_port()), (2152, 8805));
        assert_eq!(
            (udp.len(), udp.payload(), udp.is_empty()),
            (11, &[1, 2, 3][..], false)
        );
        assert_eq!(udp.checksum(), None);
        assert!(udp.verify(SOURCE, DESTINATION));
    }

    #[test]
    fn a_length_that_lies_is_refused() {
        let short = [0, 1, 0, 2, 0, 7, 0, 0];
        assert_eq!(
            Udp::parse(&short).unwrap_err(),
            UdpError::Length { stated: 7 }
        );
        let long = [0, 1, 0, 2, 0, 9, 0, 0];
        assert_eq!(
            Udp::parse(&long).unwrap_err(),
            UdpError::Length { stated: 9 }
        );
        assert_eq!(Udp::parse(&long[..7]).unwrap_err(), UdpError::Truncated);
        assert_eq!(HEADER.to_bytes_unsummed(65_528), Err(TooLong));
    }

    #[test]
    fn a_checksum_that_comes_out_zero_is_sent_as_ffff() {
        // Everything but this payload word sums to its complement.
        let probe = HEADER.to_bytes(SOURCE, DESTINATION, &[0, 0]).unwrap();
        let word = [probe[6], probe[7]];
        let bytes = HEADER.to_bytes(SOURCE, DESTINATION, &word).unwrap();
        assert_eq!(bytes[6..8], [0xff, 0xff]);
        let whole = [&bytes[..], &word].concat();
        assert!(Udp::parse(&whole).unwrap().verify(SOURCE, DESTINATION));
    }

    proptest! {
        #[test]
        fn a_built_datagram_verifies_until_a_bit_flips(
            payload in proptest::collection::vec(any::<u8>(), 1..64), bit in 0usize..8, at in 0usize..64,
        ) {
            let header = HEADER.to_bytes(SOURCE, DESTINATION, &payload).unwrap();
            let mut whole = [&header[..], &payload[..]].concat();
            prop_assert!(Udp::parse(&whole).unwrap().verify(SOURCE, DESTINATION));
            let at = HEADER_LEN + at % payload.len();
            whole[at] ^= 1 << bit;
            prop_assert!(!Udp::parse(&whole).unwrap().verify(SOURCE, DESTINATION));
        }

        #[test]
        fn any_bytes_parse_or_are_refused(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
            if let Ok(udp) = Udp::parse(&bytes) {
                prop_assert_eq!(usize::from(udp.len()), HEADER_LEN + udp.payload().len());
                let _ = udp.verify(SOURCE, DESTINATION);
            }
        }
    }
}
