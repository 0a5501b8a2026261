//! Building ICMPv6 messages: echo and errors.

use super::{
    DESTINATION_UNREACHABLE, ECHO_REPLY, ECHO_REQUEST, Echo, EchoKind, HEADER_LEN, MAX_QUOTE_LEN,
    PACKET_TOO_BIG, REDIRECT, TIME_EXCEEDED, is_error,
};
use crate::icmp_common;
use crate::ipv6::{Ipv6, Protocol, pseudo_header_sum};
use core::convert::identity;
use core::net::Ipv6Addr;

/// The errors that a router reports to the sender of a packet (RFC 4443, 3).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ErrorMessage {
    /// Destination Unreachable: no route (code 0).
    NoRoute,
    /// Destination Unreachable: filtered (code 1).
    AdministrativelyProhibited,
    /// Destination Unreachable: the link is reached, the station not (code 3).
    AddressUnreachable,
    /// Destination Unreachable: nobody listens on the port (code 4).
    PortUnreachable,
    /// Packet Too Big: a router does not cut IPv6 packets (RFC 8200, 5).
    PacketTooBig {
        /// The longest packet that passes, in octets.
        mtu: u32,
    },
    /// Time Exceeded: the hop limit (code 0).
    HopLimitExceeded,
}

impl ErrorMessage {
    /// Type, code, and what stands in the four octets behind the checksum.
    const fn fields(self) -> (u8, u8, u32) {
        match self {
            Self::NoRoute => (DESTINATION_UNREACHABLE, 0, 0),
            Self::AdministrativelyProhibited => (DESTINATION_UNREACHABLE, 1, 0),
            Self::AddressUnreachable => (DESTINATION_UNREACHABLE, 3, 0),
            Self::PortUnreachable => (DESTINATION_UNREACHABLE, 4, 0),
            Self::PacketTooBig { mtu } => (PACKET_TOO_BIG, 0, mtu),
            Self::HopLimitExceeded => (TIME_EXCEEDED, 0, 0),
        }
    }
}

/// Writes an echo message; returns its length, or `None` if `out` is too short.
pub fn write_echo(
    out: &mut [u8],
    source: Ipv6Addr,
    destination: Ipv6Addr,
    kind: EchoKind,
    echo: &Echo<'_>,
) -> Option<usize> {
    let kind = match kind {
        EchoKind::Request => ECHO_REQUEST,
        EchoKind::Reply => ECHO_REPLY,
    };
    let mut out = Out::new(out);
    out.put(&echo.header(kind))?;
    out.put(echo.data)?;
    out.finish(source, destination)
}

/// Writes the error about `original`, an IPv6 packet, of which it quotes at most [`MAX_QUOTE_LEN`]
/// octets; returns the length, or `None` if `out` is too short.
pub fn write_error(
    out: &mut [u8],
    source: Ipv6Addr,
    destination: Ipv6Addr,
    error: ErrorMessage,
    original: &[u8],
) -> Option<usize> {
    let (kind, code, word) = error.fields();
    let mut out = Out::new(out);
    out.put(&[kind, code, 0, 0])?;
    out.put(&word.to_be_bytes())?;
    out.put(original.get(..MAX_QUOTE_LEN).unwrap_or(original))?;
    out.finish(source, destination)
}

/// Turns an echo request, in place, into the reply to it; `false`, and nothing changed, if
/// `message` is none.
///
/// The checksum is mended for addresses that change places, which leaves their sum alone; so a
/// damaged request stays damaged. A reply to a group has another source, and is written anew.
pub fn turn_into_reply(message: &mut [u8]) -> bool {
    icmp_common::turn_into_reply(message, [ECHO_REQUEST, ECHO_REPLY], identity)
}

/// Whether `error` about `packet` may be sent at all (RFC 4443, 2.4 (e)): not about ICMPv6 errors and
/// redirects, and not to what names no single node; about packets to a group only Packet Too Big.
///
/// Groups and broadcasts of the link layer are for the caller to recognise.
pub fn may_answer_with_error(packet: &Ipv6<'_>, error: ErrorMessage) -> bool {
    let source = packet.source();
    let source_names_a_node =
        !(source.is_unspecified() || source.is_multicast() || source.is_loopback());
    let is_too_big = matches!(error, ErrorMessage::PacketTooBig { .. });
    let may_have_been_sent_there = is_too_big || !packet.destination().is_multicast();
    source_names_a_node && may_have_been_sent_there && !is_about_an_error(packet)
}

/// Whether a packet is an ICMPv6 error or redirect, or may be one: a later fragment does not say.
fn is_about_an_error(packet: &Ipv6<'_>) -> bool {
    let upper = packet.upper_layer();
    let first = upper.payload.first().filter(|_| !upper.is_later_fragment);
    upper.protocol == Protocol::ICMPV6
        && first.is_none_or(|kind| is_error(*kind) || *kind == REDIRECT)
}

/// A message under construction, whose checksum comes last.
pub(super) struct Out<'a> {
    bytes: &'a mut [u8],
    len: usize,
}

impl<'a> Out<'a> {
    pub(super) const fn new(bytes: &'a mut [u8]) -> Self {
        Self { bytes, len: 0 }
    }

    /// Appends octets; `None` if they do not fit.
    pub(super) fn put(&mut self, octets: &[u8]) -> Option<()> {
        let end = self.len.checked_add(octets.len())?;
        self.bytes.get_mut(self.len..end)?.copy_from_slice(octets);
        self.len = end;
        Some(())
    }

    /// Fills in the checksum, which was written as 0; returns the message's length.
    pub(super) fn finish(self, source: Ipv6Addr, destination: Ipv6Addr) -> Option<usize> {
        let message = self.bytes.get_mut(..self.len)?;
        let len = u32::try_from(message.len()).ok()?;
        let sum = pseudo_header_sum(source, destination, Protocol::ICMPV6, len).add_bytes(message);
        let header = message.first_chunk_mut::<HEADER_LEN>()?;
        [header[2], header[3]] = sum.finish().to_be_bytes();
        Some(self.len)
    }
}
