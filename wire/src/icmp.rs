//! ICMP for IPv4 (RFC 792): echo, and the errors that a router sends (RFC 1812, 4.3).
//!
//! ```text
//!  0      1      2      3
//! | type | code | checksum  |
//! | depends on the type     |   echo: identifier, sequence; error: unused, next-hop MTU
//! | data, or the start of the packet that caused the error ...
//! ```

mod build;

pub use crate::icmp_common::{Echo, EchoKind, HEADER_LEN};
pub use build::{
    TimeExceeded, Unreachable, may_answer_with_error, turn_into_reply,
    write_destination_unreachable, write_echo, write_time_exceeded,
};

use crate::checksum::Sum;
use crate::icmp_common::Fields;
use core::fmt;

/// The most octets of a packet that an error quotes: 576 in all, IPv4 and ICMP header included
/// (RFC 1812, 4.3.2.3).
pub const MAX_QUOTE_LEN: usize = 576 - crate::ipv4::HEADER_LEN - HEADER_LEN;

/// Echo Reply (RFC 792).
pub const ECHO_REPLY: u8 = 0;
/// Destination Unreachable (RFC 792).
pub const DESTINATION_UNREACHABLE: u8 = 3;
/// Source Quench, no longer sent (RFC 6633).
pub const SOURCE_QUENCH: u8 = 4;
/// Redirect (RFC 792).
pub const REDIRECT: u8 = 5;
/// Echo, the request (RFC 792).
pub const ECHO_REQUEST: u8 = 8;
/// Time Exceeded (RFC 792).
pub const TIME_EXCEEDED: u8 = 11;
/// Parameter Problem (RFC 792).
pub const PARAMETER_PROBLEM: u8 = 12;

/// Why bytes are no ICMP message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IcmpError {
    /// Fewer than 8 octets.
    Truncated,
    /// The checksum does not match.
    Checksum,
}

impl fmt::Display for IcmpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Truncated => "ICMP message shorter than 8 octets",
            Self::Checksum => "ICMP checksum is wrong",
        })
    }
}

impl core::error::Error for IcmpError {}

/// What an ICMP message says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Message<'a> {
    /// Answer, please.
    EchoRequest(Echo<'a>),
    /// The answer.
    EchoReply(Echo<'a>),
    /// A packet could not be delivered.
    DestinationUnreachable {
        /// Why; 4 means that it was too long and had DF set.
        code: u8,
        /// With code 4, the MTU of the next hop in octets (RFC 1191); 0 from old routers.
        next_hop_mtu: u16,
        /// The start of that packet.
        original: &'a [u8],
    },
    /// A packet lived too long.
    TimeExceeded {
        /// 0: TTL in transit; 1: reassembly time.
        code: u8,
        /// The start of that packet.
        original: &'a [u8],
    },
    /// Another error that quotes a packet: Source Quench, Redirect, Parameter Problem.
    OtherError {
        /// The type octet.
        kind: u8,
        /// The code octet.
        code: u8,
        /// The start of the packet.
        original: &'a [u8],
    },
    /// Neither echo nor error.
    Other {
        /// The type octet.
        kind: u8,
        /// The code octet.
        code: u8,
    },
}

impl<'a> Message<'a> {
    /// The start of the packet that caused this error, for [`crate::ipv4::Ipv4::parse_quoted`].
    pub const fn original(&self) -> Option<&'a [u8]> {
        match *self {
            Self::DestinationUnreachable { original, .. }
            | Self::TimeExceeded { original, .. }
            | Self::OtherError { original, .. } => Some(original),
            Self::EchoRequest(_) | Self::EchoReply(_) | Self::Other { .. } => None,
        }
    }
}

/// A message as it lies in its bytes.
#[derive(Clone, Copy, Debug)]
pub struct Icmp<'a>(Fields<'a>);

impl<'a> Icmp<'a> {
    /// Reads a message, the whole payload of its IPv4 packet, and verifies its checksum.
    ///
    /// # Errors
    /// [`IcmpError`] if it is too short or damaged.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, IcmpError> {
        let fields = Fields::split(bytes).ok_or(IcmpError::Truncated)?;
        if !Sum::of(bytes).verifies() {
            return Err(IcmpError::Checksum);
        }
        Ok(Self(fields))
    }

    /// The type octet.
    pub const fn kind(&self) -> u8 {
        self.0.kind()
    }

    /// The code octet.
    pub const fn code(&self) -> u8 {
        self.0.code()
    }

    /// The message by its type.
    pub fn message(&self) -> Message<'a> {
        let (code, original) = (self.code(), self.0.body);
        match self.kind() {
            ECHO_REQUEST => Message::EchoRequest(self.0.echo()),
            ECHO_REPLY => Message::EchoReply(self.0.echo()),
            DESTINATION_UNREACHABLE => {
                let [_, _, m0, m1] = self.0.word();
                let next_hop_mtu = if code == 4 { [m0, m1] } else { [0; 2] };
                Message::DestinationUnreachable {
                    code,
                    next_hop_mtu: u16::from_be_bytes(next_hop_mtu),
                    original,
                }
            }
            TIME_EXCEEDED => Message::TimeExceeded { code, original },
            kind if is_error(kind) => Message::OtherError {
                kind,
                code,
                original,
            },
            kind => Message::Other { kind, code },
        }
    }
}

/// Whether messages of this type report an error, and so must not be answered with one.
#[inline]
pub const fn is_error(kind: u8) -> bool {
    matches!(
        kind,
        DESTINATION_UNREACHABLE | SOURCE_QUENCH | REDIRECT | TIME_EXCEEDED | PARAMETER_PROBLEM
    )
}

#[cfg(test)]
mod tests;
