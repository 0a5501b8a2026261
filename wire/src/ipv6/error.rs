//! IPv6 parse errors, and the end of a hop limit.

use core::fmt;

/// Why bytes are no IPv6 packet that we read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ipv6Error {
    /// Fewer than 40 octets.
    Truncated,
    /// The version field is not 6.
    Version(u8),
    /// The payload length is longer than what was received.
    PayloadLength {
        /// The field, in octets.
        stated: u16,
    },
    /// Payload length 0 with hop-by-hop options: the length is in them (RFC 2675), or they are missing.
    Jumbogram,
}

impl fmt::Display for Ipv6Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Truncated => f.write_str("IPv6 packet shorter than 40 octets"),
            Self::Version(version) => write!(f, "IP version {version} where 6 was expected"),
            Self::PayloadLength { stated } => {
                write!(f, "IPv6 payload length {stated} exceeds what was received")
            }
            Self::Jumbogram => f.write_str("IPv6 jumbograms are not forwarded (RFC 2675)"),
        }
    }
}

impl core::error::Error for Ipv6Error {}

/// The packet has no hop left: it is not forwarded, and Time Exceeded may be answered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HopLimitExceeded;

impl fmt::Display for HopLimitExceeded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("hop limit exceeded in transit (RFC 4443, 3.3)")
    }
}

impl core::error::Error for HopLimitExceeded {}
