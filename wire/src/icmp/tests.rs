//! ICMP echo and error messages, written and read (RFC 792).

use super::*;
use crate::ipv4::{Ipv4, Ipv4Header, Protocol};
use core::net::Ipv4Addr;
use proptest::prelude::*;

#[test]
fn an_echo_request_is_written_and_read_as_in_rfc_792() {
    let echo = Echo {
        identifier: 0x1234,
        sequence: 1,
        data: b"abc",
    };
    let mut out = [0; 16];
    let len = write_echo(&mut out, EchoKind::Request, &echo).unwrap();
    // 0800 + 1234 + 0001 + 6162 + 6300 = de97, complement 2168
    let bytes = [8, 0, 0x21, 0x68, 0x12, 0x34, 0, 1, b'a', b'b', b'c'];
    assert_eq!(out[..len], bytes);
    assert_eq!(
        Icmp::parse(&bytes).unwrap().message(),
        Message::EchoRequest(echo)
    );
}

#[test]
fn a_request_turns_into_its_reply_in_place() {
    let mut bytes = [8, 0, 0x21, 0x68, 0x12, 0x34, 0, 1, b'a', b'b', b'c'];
    assert!(turn_into_reply(&mut bytes));
    let echo = Echo {
        identifier: 0x1234,
        sequence: 1,
        data: b"abc",
    };
    assert_eq!(
        Icmp::parse(&bytes).unwrap().message(),
        Message::EchoReply(echo)
    );
    let reply = bytes;
    assert!(!turn_into_reply(&mut bytes));
    assert_eq!(bytes, reply);
    assert!(!turn_into_reply(&mut [8, 0, 0]));
}

#[test]
fn the_reply_to_a_request_of_zeros_verifies() {
    let mut bytes = [8, 0, 0xf7, 0xff, 0, 0, 0, 0, 0, 0];
    assert!(Icmp::parse(&bytes).is_ok());
    assert!(turn_into_reply(&mut bytes));
    assert_eq!(bytes[..4], [0, 0, 0xff, 0xff]);
    assert!(Icmp::parse(&bytes).is_ok());
}

#[test]
fn fragmentation_needed_carries_the_mtu_of_the_next_hop() {
    let original = [0x45; 28];
    let mut out = [0; 64];
    let reason = Unreachable::FragmentationNeeded { next_hop_mtu: 1400 };
    let len = write_destination_unreachable(&mut out, reason, &original).unwrap();
    assert_eq!((len, out[0], out[1]), (36, 3, 4));
    assert_eq!(out[4..8], [0, 0, 0x05, 0x78]);
    let message = Icmp::parse(&out[..len]).unwrap().message();
    let expected = Message::DestinationUnreachable {
        code: 4,
        next_hop_mtu: 1400,
        original: &original,
    };
    assert_eq!(message, expected);
}

#[test]
fn an_error_quotes_as_much_as_fits_into_576_octets() {
    let original = [7; 1500];
    let mut out = [0; 1500];
    let len = write_time_exceeded(&mut out, TimeExceeded::InTransit, &original).unwrap();
    assert_eq!(crate::ipv4::HEADER_LEN + len, 576);
    let message = Icmp::parse(&out[..len]).unwrap().message();
    assert_eq!(message.original().unwrap(), &original[..548]);
    let mut short = [0; 100];
    assert_eq!(
        write_time_exceeded(&mut short, TimeExceeded::Reassembly, &original),
        None
    );
}

#[test]
fn the_quoted_packet_yields_its_addresses_and_ports() {
    let source = Ipv4Addr::new(10, 0, 0, 1);
    let header = Ipv4Header::new(Protocol::UDP, source, Ipv4Addr::new(192, 0, 2, 9));
    let mut packet = header.to_bytes(1000).unwrap().to_vec();
    packet.extend([0x13, 0x88, 0x00, 0x35, 0, 0, 0, 0]);
    let mut out = [0; 64];
    let len = write_destination_unreachable(&mut out, Unreachable::Host, &packet).unwrap();
    let message = Icmp::parse(&out[..len]).unwrap().message();
    let quoted = Ipv4::parse_quoted(message.original().unwrap()).unwrap();
    assert_eq!((quoted.source(), quoted.payload().len()), (source, 8));
    assert_eq!(quoted.payload()[..4], [0x13, 0x88, 0x00, 0x35]);
}

#[test]
fn no_error_is_sent_about_errors_fragments_groups_and_nobody() {
    let host = Ipv4Addr::new(10, 0, 0, 1);
    let there = Ipv4Addr::new(192, 0, 2, 9);
    let base = Ipv4Header::new(Protocol::ICMP, host, there);
    let group = Ipv4Addr::new(224, 0, 0, 1);
    let may = |header: Ipv4Header, kind: u8| {
        let mut packet = header.to_bytes(8).unwrap().to_vec();
        packet.extend([kind, 0, 0, 0, 0, 0, 0, 0]);
        may_answer_with_error(&Ipv4::parse(&packet).unwrap())
    };
    assert!(may(base, ECHO_REQUEST));
    assert!(!may(base, TIME_EXCEEDED));
    assert!(may(
        Ipv4Header {
            protocol: Protocol::UDP,
            ..base
        },
        TIME_EXCEEDED
    ));
    assert!(!may(
        Ipv4Header {
            fragment_offset: 1,
            ..base
        },
        ECHO_REQUEST
    ));
    assert!(!may(
        Ipv4Header {
            destination: group,
            ..base
        },
        ECHO_REQUEST
    ));
    assert!(!may(
        Ipv4Header {
            destination: Ipv4Addr::BROADCAST,
            ..base
        },
        ECHO_REQUEST
    ));
    assert!(!may(
        Ipv4Header {
            source: Ipv4Addr::UNSPECIFIED,
            ..base
        },
        ECHO_REQUEST
    ));
    assert!(!may(
        Ipv4Header {
            source: group,
            ..base
        },
        ECHO_REQUEST
    ));
}

proptest! {
    #[test]
    fn any_bytes_parse_or_are_refused(
        mut bytes in proptest::collection::vec(any::<u8>(), 0..80), mend in any::<bool>(),
    ) {
        if mend && bytes.len() >= HEADER_LEN {
            bytes[2..4].fill(0);
            let sum = crate::checksum::checksum(&bytes);
            bytes[2..4].copy_from_slice(&sum.to_be_bytes());
        }
        match Icmp::parse(&bytes) {
            Ok(icmp) => {
                let message = icmp.message();
                prop_assert_eq!(message.original().is_some(), is_error(bytes[0]));
                prop_assert!(message.original().is_none_or(|o| o == &bytes[8..]));
            }
            Err(error) => prop_assert!(!mend || error == IcmpError::Truncated),
        }
    }
}
