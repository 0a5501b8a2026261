//! IPv4 parse and build errors.

use core::fmt;

/// Why bytes are no IPv4 packet (RFC 1812, 5.2.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ipv4Error {
    /// Fewer than 20 octets.
    Truncated,
    /// The version field is not 4.
    Version(u8),
    /// The header length is below 5 words or reaches behind the end.
    HeaderLength {
        /// The field, in words of 4 octets.
        ihl: u8,
    },
    /// The total length is shorter than the header or longer than what was received.
    TotalLength {
        /// The field, in octets.
        stated: u16,
    },
    /// The header checksum does not match.
    Checksum,
}

impl fmt::Display for Ipv4Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Truncated => f.write_str("IPv4 packet shorter than 20 octets"),
            Self::Version(version) => write!(f, "IP version {version} where 4 was expected"),
            Self::HeaderLength { ihl } => write!(f, "IPv4 header length of {ihl} words is wrong"),
            Self::TotalLength { stated } => {
                write!(
                    f,
                    "IPv4 total length {stated} does not fit what was received"
                )
            }
            Self::Checksum => f.write_str("IPv4 header checksum is wrong"),
        }
    }
}

impl core::error::Error for Ipv4Error {}

/// The packet would be longer than its 16-bit length field can say.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TooLong;

impl fmt::Display for TooLong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("packet longer than its 16-bit length field can say")
    }
}

impl core::error::Error for TooLong {}
