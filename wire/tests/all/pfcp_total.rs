//! Parsing is total: whatever the octets, there is a value or a typed refusal, never a panic; and
//! what is understood survives being written and read again.

use crate::pfcp_common::{all_messages, parse_any};
use proptest::prelude::*;
use sluice_wire::pfcp::{Header, IeType, Ies};

/// Reads a datagram as whatever it says it is.
fn read(datagram: &[u8]) -> bool {
    match Header::parse(datagram) {
        Ok((header, body)) => parse_any(header.message_type, body),
        Err(_) => false,
    }
}

/// Where the IEs of a body begin, those inside groups included.
fn ie_offsets(body: &[u8], base: usize, offsets: &mut Vec<usize>) {
    let mut at = base;
    for ie in Ies::new(body).map_while(Result::ok) {
        offsets.push(at);
        let grouped = [
            1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 14, 78, 79, 80, 83, 99, 127, 129,
        ];
        if grouped.contains(&ie.ie_type.0) {
            ie_offsets(ie.value, at + 4, offsets);
        }
        at += 4 + ie.value.len();
    }
}

#[test]
fn every_sample_is_understood() {
    for message in all_messages() {
        assert!(read(&message), "{:?}", Header::parse(&message));
    }
}

#[test]
fn every_truncation_is_answered() {
    for message in all_messages() {
        let (header, body) = Header::parse(&message).unwrap();
        for cut in 0..body.len() {
            parse_any(header.message_type, &body[..cut]);
            read(&message[..cut]);
        }
    }
}

#[test]
fn every_wrong_length_of_an_ie_is_answered() {
    for message in all_messages() {
        let (header, body) = Header::parse(&message).unwrap();
        let mut offsets = Vec::new();
        ie_offsets(body, 0, &mut offsets);
        for at in offsets {
            let right = u16::from_be_bytes([body[at + 2], body[at + 3]]);
            for wrong in [0, 1, right.wrapping_sub(1), right + 1, 0x7fff, 0xffff] {
                let mut body = body.to_vec();
                body[at + 2..at + 4].copy_from_slice(&wrong.to_be_bytes());
                parse_any(header.message_type, &body);
            }
        }
    }
}

#[test]
fn unknown_and_vendor_ies_are_skipped_everywhere() {
    for message in all_messages() {
        let (header, body) = Header::parse(&message).unwrap();
        let mut longer = vec![0x7f, 0xff, 0, 1, 9, 0x80, 1, 0, 3, 0, 1, 9];
        longer.extend(body);
        assert!(IeType(0x8001).is_vendor_specific());
        assert!(
            parse_any(header.message_type, &longer),
            "{:?}",
            header.message_type
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn changed_octets_are_answered(
        index in any::<prop::sample::Index>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let mut message = index.get(&all_messages()).clone();
        for (place, octet) in changes {
            let at = place.index(message.len());
            message[at] = octet;
        }
        read(&message);
    }

    #[test]
    fn random_octets_are_answered(kind in 1u8..58, body in prop::collection::vec(any::<u8>(), 0..200)) {
        parse_any(sluice_wire::pfcp::MessageType(kind), &body);
        read(&body);
    }

    #[test]
    fn random_ies_are_answered(
        kind in 1u8..58,
        ies in prop::collection::vec(
            (0u16..320, prop::collection::vec(any::<u8>(), 0..24)), 0..12,
        ),
    ) {
        let mut body = Vec::new();
        for (ie_type, value) in ies {
            body.extend(ie_type.to_be_bytes());
            body.extend((value.len() as u16).to_be_bytes());
            body.extend(value);
        }
        parse_any(sluice_wire::pfcp::MessageType(kind), &body);
    }
}
