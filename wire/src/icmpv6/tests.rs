use super::*;
use crate::eth::MacAddr;
use crate::ipv6::{ALL_NODES, ALL_ROUTERS, Ipv6Header, link_local_of, solicited_node};
use core::net::Ipv6Addr;
use proptest::prelude::*;
use std::vec::Vec;

mod discovery;
mod router;

const ROUTER_MAC: MacAddr = MacAddr([2, 0, 0, 0, 0, 1]);

fn address(text: &str) -> Ipv6Addr {
    text.parse().unwrap()
}

fn ue() -> Ipv6Addr {
    address("2001:db8:1:2::7")
}

fn server() -> Ipv6Addr {
    address("2001:db8:ffff::1")
}

/// A packet around an ICMPv6 message.
fn packet(source: Ipv6Addr, destination: Ipv6Addr, hop_limit: u8, message: &[u8]) -> Vec<u8> {
    let header = Ipv6Header {
        hop_limit,
        ..Ipv6Header::new(Protocol::ICMPV6, source, destination)
    };
    [&header.to_bytes(message.len()).unwrap()[..], message].concat()
}

fn message_of(packet: &[u8]) -> Message<'_> {
    Icmpv6::parse(&Ipv6::parse(packet).unwrap())
        .unwrap()
        .message()
}

fn too_big(original: &[u8]) -> Vec<u8> {
    let mut out = [0; 1500];
    let error = ErrorMessage::PacketTooBig { mtu: 1400 };
    let len = write_error(&mut out, server(), ue(), error, original).unwrap();
    packet(server(), ue(), 64, &out[..len])
}

#[test]
fn an_echo_request_is_written_and_read_as_in_rfc_4443() {
    let echo = Echo {
        identifier: 0x1234,
        sequence: 1,
        data: b"abc",
    };
    let (source, destination) = (address("fe80::1"), address("fe80::2"));
    let mut out = [0; 16];
    let len = write_echo(&mut out, source, destination, EchoKind::Request, &echo).unwrap();
    // Pseudo header: fe80 + 1 + fe80 + 2 + b + 3a = 1fd48.
    // Message: 8000 + 1234 + 1 + 6162 + 6300 = 15697. Both: 353df, folded 53e2, complement ac1d.
    let expected = [128, 0, 0xac, 0x1d, 0x12, 0x34, 0, 1, b'a', b'b', b'c'];
    assert_eq!(out[..len], expected);
    let mut whole = packet(source, destination, 64, &expected);
    assert_eq!(message_of(&whole), Message::EchoRequest(echo));
    assert!(turn_into_reply(&mut whole[40..]));
    let reply = packet(destination, source, 64, &whole[40..]);
    assert_eq!(message_of(&reply), Message::EchoReply(echo));
    assert!(!turn_into_reply(&mut whole[40..]));
    assert!(!turn_into_reply(&mut [128, 0, 0]));
}

#[test]
fn what_is_no_sound_message_is_named() {
    let whole = too_big(b"original");
    let parse = |bytes: &[u8]| Icmpv6::parse(&Ipv6::parse(bytes).unwrap()).map(|i| i.kind());
    assert_eq!(parse(&whole), Ok(PACKET_TOO_BIG));
    let mut wrong = whole.clone();
    wrong[6] = 17;
    assert_eq!(parse(&wrong), Err(Icmpv6Error::Protocol(Protocol::UDP)));
    for at in [8, 24, 41, 50] {
        let mut damaged = whole.clone();
        damaged[at] ^= 1;
        assert_eq!(parse(&damaged), Err(Icmpv6Error::Checksum));
    }
    let mut short = whole[..47].to_vec();
    short[5] = 7;
    assert_eq!(parse(&short), Err(Icmpv6Error::Truncated));
}

#[test]
fn a_message_in_fragments_is_not_read() {
    let whole = too_big(b"original");
    let fragment = |offset_and_m: u8| {
        let header = [Protocol::ICMPV6.0, 0, 0, offset_and_m, 0, 0, 0, 1];
        let mut bytes = [&whole[..40], &header, &whole[40..]].concat();
        bytes[5] += 8;
        bytes[6] = Protocol::FRAGMENT.0;
        Icmpv6::parse(&Ipv6::parse(&bytes).unwrap()).map(|icmp| icmp.kind())
    };
    assert_eq!(fragment(0), Ok(PACKET_TOO_BIG));
    assert_eq!(fragment(1), Err(Icmpv6Error::Fragment));
    assert_eq!(fragment(8), Err(Icmpv6Error::Fragment));
}

#[test]
fn packet_too_big_carries_the_mtu_and_fits_into_1280_octets() {
    let original = [7; 1500];
    let whole = too_big(&original);
    assert_eq!((whole.len(), whole[40], whole[41]), (MIN_MTU, 2, 0));
    assert_eq!(whole[44..48], [0, 0, 0x05, 0x78]);
    let expected = Message::PacketTooBig {
        mtu: 1400,
        original: &original[..1232],
    };
    assert_eq!(message_of(&whole), expected);
    let mut short = [0; 100];
    let error = ErrorMessage::NoRoute;
    let written = write_error(&mut short, server(), ue(), error, &original);
    assert_eq!(written, None);
}

#[test]
fn errors_have_the_types_and_codes_of_rfc_4443() {
    for (error, kind, code) in [
        (ErrorMessage::NoRoute, 1, 0),
        (ErrorMessage::AdministrativelyProhibited, 1, 1),
        (ErrorMessage::AddressUnreachable, 1, 3),
        (ErrorMessage::PortUnreachable, 1, 4),
        (ErrorMessage::PacketTooBig { mtu: 1280 }, 2, 0),
        (ErrorMessage::HopLimitExceeded, 3, 0),
    ] {
        let mut out = [0; 64];
        let len = write_error(&mut out, server(), ue(), error, b"original").unwrap();
        assert_eq!((out[0], out[1]), (kind, code));
        let whole = packet(server(), ue(), 64, &out[..len]);
        assert_eq!(message_of(&whole).original(), Some(&b"original"[..]));
    }
}

/// RFC 4443, 2.4 (e).
#[test]
fn no_error_is_sent_about_errors_groups_and_nobody() {
    let too_big = ErrorMessage::PacketTooBig { mtu: 1400 };
    let may = |source, destination, kind: u8, error| {
        let whole = packet(source, destination, 64, &[kind, 0, 0, 0, 0, 0, 0, 0]);
        may_answer_with_error(&Ipv6::parse(&whole).unwrap(), error)
    };
    assert!(may(ue(), server(), ECHO_REQUEST, ErrorMessage::NoRoute));
    for kind in [DESTINATION_UNREACHABLE, PACKET_TOO_BIG, 127, REDIRECT] {
        assert!(!may(ue(), server(), kind, too_big), "{kind}");
    }
    assert!(!may(ue(), ALL_NODES, ECHO_REQUEST, ErrorMessage::NoRoute));
    assert!(may(ue(), ALL_NODES, ECHO_REQUEST, too_big));
    for nobody in [Ipv6Addr::UNSPECIFIED, Ipv6Addr::LOCALHOST, ALL_NODES] {
        assert!(!may(nobody, server(), ECHO_REQUEST, too_big), "{nobody}");
    }
    let empty = packet(ue(), server(), 64, &[]);
    let empty = Ipv6::parse(&empty).unwrap();
    assert!(!may_answer_with_error(&empty, too_big));
}

#[test]
fn an_error_about_a_later_fragment_is_sent_unless_it_is_of_icmpv6() {
    let may = |next: Protocol| {
        let fragment = [next.0, 0, 0, 8, 0, 0, 0, 1, ECHO_REQUEST];
        let header = Ipv6Header::new(Protocol::FRAGMENT, ue(), server());
        let whole = [&header.to_bytes(fragment.len()).unwrap()[..], &fragment].concat();
        may_answer_with_error(&Ipv6::parse(&whole).unwrap(), ErrorMessage::NoRoute)
    };
    assert!(may(Protocol::UDP));
    assert!(!may(Protocol::ICMPV6));
}

proptest! {
    #[test]
    fn any_bytes_parse_or_are_refused(
        mut message in proptest::collection::vec(any::<u8>(), 0..120), mend in any::<bool>(),
        kind in any::<Option<u8>>(),
    ) {
        if let (Some(first), Some(kind)) = (message.first_mut(), kind) {
            *first = kind;
        }
        if mend && message.len() >= HEADER_LEN {
            message[2..4].fill(0);
            let len = message.len() as u32;
            let sum = pseudo_header_sum(ue(), server(), Protocol::ICMPV6, len);
            let sum = sum.add_bytes(&message).finish();
            message[2..4].copy_from_slice(&sum.to_be_bytes());
        }
        let whole = packet(ue(), server(), 255, &message);
        match Icmpv6::parse(&Ipv6::parse(&whole).unwrap()) {
            Ok(icmp) => {
                let read = icmp.message();
                prop_assert_eq!(read.original().is_some(), is_error(message[0]));
                prop_assert!(read.original().is_none_or(|o| o == &message[8..]));
            }
            Err(error) => prop_assert!(!mend || error == Icmpv6Error::Truncated),
        }
    }

    #[test]
    fn a_reply_to_any_request_verifies(
        identifier in any::<u16>(), sequence in any::<u16>(),
        data in proptest::collection::vec(any::<u8>(), 0..40),
    ) {
        let echo = Echo { identifier, sequence, data: &data };
        let mut out = [0; 48];
        let len = write_echo(&mut out, ue(), server(), EchoKind::Request, &echo).unwrap();
        prop_assert!(turn_into_reply(&mut out[..len]));
        let reply = packet(server(), ue(), 64, &out[..len]);
        prop_assert_eq!(message_of(&reply), Message::EchoReply(echo));
    }
}
