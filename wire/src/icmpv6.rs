//! ICMPv6 (RFC 4443): echo, the errors that a router sends, and Neighbour Discovery (RFC 4861).
//!
//! ```text
//!  0      1      2      3
//! | type | code | checksum  |        over the pseudo header, too (RFC 4443, 2.3)
//! | depends on the type     |        echo: identifier, sequence; Packet Too Big: MTU
//! | data, or the start of the packet that caused the error ...
//! ```

mod build;
mod discovery;
mod option;
mod router;

pub use build::{ErrorMessage, may_answer_with_error, turn_into_reply, write_echo, write_error};
pub use discovery::{
    Discovery, DiscoveryError, NeighbourAdvertisement, NeighbourSolicitation, ON_LINK_HOP_LIMIT,
    RouterSolicitation,
};
pub use option::{DiscoveryOption, DiscoveryOptions, OptionError};
pub use router::{MAX_RDNSS, PrefixInformation, RouterAdvertisement};

pub use crate::icmp_common::{Echo, EchoKind, HEADER_LEN};

use crate::icmp_common::Fields;
use crate::ipv6::{Ipv6, MIN_MTU, Protocol, pseudo_header_sum};
use core::fmt;

/// The most octets of a packet that an error quotes: 1280 in all, IPv6 and ICMPv6 header included
/// (RFC 4443, 2.4 (c)).
pub const MAX_QUOTE_LEN: usize = MIN_MTU - crate::ipv6::HEADER_LEN - HEADER_LEN;

/// Destination Unreachable (RFC 4443, 3.1).
pub const DESTINATION_UNREACHABLE: u8 = 1;
/// Packet Too Big (RFC 4443, 3.2).
pub const PACKET_TOO_BIG: u8 = 2;
/// Time Exceeded (RFC 4443, 3.3).
pub const TIME_EXCEEDED: u8 = 3;
/// Echo Request (RFC 4443, 4.1).
pub const ECHO_REQUEST: u8 = 128;
/// Echo Reply (RFC 4443, 4.2).
pub const ECHO_REPLY: u8 = 129;
/// Router Solicitation (RFC 4861, 4.1).
pub const ROUTER_SOLICITATION: u8 = 133;
/// Router Advertisement (RFC 4861, 4.2).
pub const ROUTER_ADVERTISEMENT: u8 = 134;
/// Neighbour Solicitation (RFC 4861, 4.3).
pub const NEIGHBOUR_SOLICITATION: u8 = 135;
/// Neighbour Advertisement (RFC 4861, 4.4).
pub const NEIGHBOUR_ADVERTISEMENT: u8 = 136;
/// Redirect (RFC 4861, 4.5).
pub const REDIRECT: u8 = 137;

/// Why a packet has no ICMPv6 message that we read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Icmpv6Error {
    /// The upper layer is another.
    Protocol(Protocol),
    /// The packet is a part of the message, whose checksum is over the whole.
    Fragment,
    /// Fewer than 8 octets.
    Truncated,
    /// The checksum does not match.
    Checksum,
}

impl fmt::Display for Icmpv6Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Protocol(Protocol(other)) => write!(f, "protocol {other} is not ICMPv6"),
            Self::Fragment => f.write_str("ICMPv6 message in fragments"),
            Self::Truncated => f.write_str("ICMPv6 message shorter than 8 octets"),
            Self::Checksum => f.write_str("ICMPv6 checksum is wrong"),
        }
    }
}

impl core::error::Error for Icmpv6Error {}

/// What an ICMPv6 message says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Message<'a> {
    /// Answer, please.
    EchoRequest(Echo<'a>),
    /// The answer.
    EchoReply(Echo<'a>),
    /// A packet could not be delivered.
    DestinationUnreachable {
        /// Why.
        code: u8,
        /// The start of that packet.
        original: &'a [u8],
    },
    /// A packet was too long for a link.
    PacketTooBig {
        /// The longest that passes, in octets.
        mtu: u32,
        /// The start of that packet.
        original: &'a [u8],
    },
    /// A packet lived too long.
    TimeExceeded {
        /// 0: hop limit in transit; 1: reassembly time.
        code: u8,
        /// The start of that packet.
        original: &'a [u8],
    },
    /// Another error that quotes a packet: Parameter Problem, or one of times to come.
    OtherError {
        /// The type octet.
        kind: u8,
        /// The code octet.
        code: u8,
        /// The start of the packet.
        original: &'a [u8],
    },
    /// Neither echo nor error. Neighbour Discovery is read by [`Discovery::parse`].
    Other {
        /// The type octet.
        kind: u8,
        /// The code octet.
        code: u8,
    },
}

impl<'a> Message<'a> {
    /// The start of the packet that caused this error, for [`Ipv6::parse_quoted`].
    pub const fn original(&self) -> Option<&'a [u8]> {
        match *self {
            Self::DestinationUnreachable { original, .. }
            | Self::PacketTooBig { original, .. }
            | Self::TimeExceeded { original, .. }
            | Self::OtherError { original, .. } => Some(original),
            Self::EchoRequest(_) | Self::EchoReply(_) | Self::Other { .. } => None,
        }
    }
}

/// A message as it lies in its bytes.
#[derive(Clone, Copy, Debug)]
pub struct Icmpv6<'a>(Fields<'a>);

impl<'a> Icmpv6<'a> {
    /// Reads the message in a packet, behind its extension headers, and verifies its checksum.
    ///
    /// # Errors
    /// [`Icmpv6Error`] if there is none, or it is in parts, too short or damaged.
    pub fn parse(packet: &Ipv6<'a>) -> Result<Self, Icmpv6Error> {
        let upper = packet.upper_layer();
        if upper.protocol != Protocol::ICMPV6 {
            return Err(Icmpv6Error::Protocol(upper.protocol));
        }
        if upper.is_fragment {
            return Err(Icmpv6Error::Fragment);
        }
        let bytes = upper.payload;
        let fields = Fields::split(bytes).ok_or(Icmpv6Error::Truncated)?;
        let (source, destination) = (packet.source(), packet.destination());
        let sum = pseudo_header_sum(source, destination, upper.protocol, bytes.len() as u32);
        if !sum.add_bytes(bytes).verifies() {
            return Err(Icmpv6Error::Checksum);
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

    /// What follows the first 8 octets.
    pub const fn body(&self) -> &'a [u8] {
        self.0.body
    }

    /// The four octets between checksum and body.
    const fn word(&self) -> [u8; 4] {
        self.0.word()
    }

    /// The message by its type.
    pub fn message(&self) -> Message<'a> {
        let (code, original) = (self.code(), self.0.body);
        match self.kind() {
            ECHO_REQUEST => Message::EchoRequest(self.0.echo()),
            ECHO_REPLY => Message::EchoReply(self.0.echo()),
            DESTINATION_UNREACHABLE => Message::DestinationUnreachable { code, original },
            PACKET_TOO_BIG => Message::PacketTooBig {
                mtu: u32::from_be_bytes(self.word()),
                original,
            },
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

/// Whether messages of this type report an error (RFC 4443, 2.1).
#[inline]
pub const fn is_error(kind: u8) -> bool {
    kind < 128
}

#[cfg(test)]
mod tests;
