//! Building ICMP messages.

use super::{
    DESTINATION_UNREACHABLE, ECHO_REPLY, ECHO_REQUEST, Echo, EchoKind, HEADER_LEN, MAX_QUOTE_LEN,
    TIME_EXCEEDED, is_error,
};
use crate::checksum::Sum;
use crate::icmp_common;
use crate::ipv4::{Ipv4, Protocol};
use crate::udp::not_zero;

/// Why a packet could not be delivered (RFC 792; RFC 1812, 5.2.7.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unreachable {
    /// No route to the network (code 0).
    Network,
    /// The network is reached, the host not (code 1).
    Host,
    /// The host does not speak the protocol (code 2).
    Protocol,
    /// Nobody listens on the port (code 3).
    Port,
    /// Too long for the next hop and DF set (code 4).
    FragmentationNeeded {
        /// The longest packet that passes, in octets (RFC 1191, 4).
        next_hop_mtu: u16,
    },
    /// Filtered (code 13).
    AdministrativelyProhibited,
}

/// What ran out (RFC 792).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TimeExceeded {
    /// The TTL (code 0).
    InTransit,
    /// The time to reassemble fragments (code 1).
    Reassembly,
}

/// Writes an echo message; returns its length, or `None` if `out` is too short.
pub fn write_echo(out: &mut [u8], kind: EchoKind, echo: &Echo<'_>) -> Option<usize> {
    let kind = match kind {
        EchoKind::Request => ECHO_REQUEST,
        EchoKind::Reply => ECHO_REPLY,
    };
    write(out, echo.header(kind), echo.data)
}

/// Turns an echo request, in place, into the reply to it; `false`, and nothing changed, if
/// `message` is none.
///
/// The checksum is mended rather than made anew, so a damaged request stays damaged. Where it
/// comes out 0 it is written in its other notation, ffff: they differ only in a message of nothing
/// but zeros, whose checksum is ffff (RFC 1624, 3).
pub fn turn_into_reply(message: &mut [u8]) -> bool {
    icmp_common::turn_into_reply(message, [ECHO_REQUEST, ECHO_REPLY], not_zero)
}

/// Writes Destination Unreachable about `original`, an IPv4 packet, of which it quotes at most
/// [`MAX_QUOTE_LEN`] octets; returns the length, or `None` if `out` is too short.
pub fn write_destination_unreachable(
    out: &mut [u8],
    reason: Unreachable,
    original: &[u8],
) -> Option<usize> {
    let (code, next_hop_mtu) = match reason {
        Unreachable::Network => (0, 0),
        Unreachable::Host => (1, 0),
        Unreachable::Protocol => (2, 0),
        Unreachable::Port => (3, 0),
        Unreachable::FragmentationNeeded { next_hop_mtu } => (4, next_hop_mtu),
        Unreachable::AdministrativelyProhibited => (13, 0),
    };
    let [m0, m1] = next_hop_mtu.to_be_bytes();
    write(
        out,
        [DESTINATION_UNREACHABLE, code, 0, 0, 0, 0, m0, m1],
        quote(original),
    )
}

/// Writes Time Exceeded about `original`, as [`write_destination_unreachable`] does.
pub fn write_time_exceeded(out: &mut [u8], reason: TimeExceeded, original: &[u8]) -> Option<usize> {
    let code = match reason {
        TimeExceeded::InTransit => 0,
        TimeExceeded::Reassembly => 1,
    };
    write(
        out,
        [TIME_EXCEEDED, code, 0, 0, 0, 0, 0, 0],
        quote(original),
    )
}

/// Whether an error about `packet` may be sent at all (RFC 1812, 4.3.2.7): not about ICMP errors,
/// later fragments, and packets to or from what names no single host.
///
/// Broadcasts of subnets and of the link are for the caller to recognise.
pub fn may_answer_with_error(packet: &Ipv4<'_>) -> bool {
    let (source, destination) = (packet.source(), packet.destination());
    let source_names_a_host = !(source.is_unspecified()
        || source.is_loopback()
        || source.is_multicast()
        || source.octets()[0] >= 240);
    let destination_is_a_group = destination.is_multicast() || destination.is_broadcast();
    let about_an_error = packet.protocol() == Protocol::ICMP
        && packet.payload().first().is_some_and(|kind| is_error(*kind));
    source_names_a_host
        && !destination_is_a_group
        && packet.fragment_offset() == 0
        && !about_an_error
}

fn quote(original: &[u8]) -> &[u8] {
    original.get(..MAX_QUOTE_LEN).unwrap_or(original)
}

/// Writes `header`, its checksum filled in, and `data`.
fn write(out: &mut [u8], mut header: [u8; HEADER_LEN], data: &[u8]) -> Option<usize> {
    let checksum = Sum::of(&header).add_bytes(data).finish();
    [header[2], header[3]] = checksum.to_be_bytes();
    let (head, rest) = out.split_first_chunk_mut::<HEADER_LEN>()?;
    rest.get_mut(..data.len())?.copy_from_slice(data);
    *head = header;
    Some(HEADER_LEN + data.len())
}
