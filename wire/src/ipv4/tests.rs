//! IPv4 headers: fields, errors by name, builder and checksum (RFC 791).

use super::*;
use crate::checksum::update_u16;
use proptest::prelude::*;
use std::vec::Vec;

/// A header of a UDP packet of 115 octets whose checksum, b861, is known from textbooks.
const KNOWN: [u8; HEADER_LEN] = [
    0x45, 0x00, 0x00, 0x73, 0x00, 0x00, 0x40, 0x00, 0x40, 0x11, 0xb8, 0x61, 0xc0, 0xa8, 0x00, 0x01,
    0xc0, 0xa8, 0x00, 0xc7,
];

fn known_packet() -> Vec<u8> {
    let mut packet = KNOWN.to_vec();
    packet.resize(0x73, 0xaa);
    packet
}

#[test]
fn every_field_reads_from_its_place() {
    let mut bytes = known_packet();
    bytes.extend([0; 9]);
    let packet = Ipv4::parse(&bytes).unwrap();
    assert_eq!(
        (
            packet.header_len(),
            packet.total_len(),
            packet.payload().len()
        ),
        (20, 115, 95)
    );
    assert_eq!(
        (packet.dont_fragment(), packet.more_fragments()),
        (true, false)
    );
    assert_eq!((packet.fragment_offset(), packet.is_fragment()), (0, false));
    assert_eq!((packet.ttl(), packet.protocol()), (64, Protocol::UDP));
    assert_eq!((packet.identification(), packet.checksum()), (0, 0xb861));
    assert_eq!(packet.source(), Ipv4Addr::new(192, 168, 0, 1));
    assert_eq!(packet.destination(), Ipv4Addr::new(192, 168, 0, 199));
    assert_eq!(
        (packet.source_u32(), packet.destination_u32()),
        (0xc0a80001, 0xc0a800c7)
    );
}

#[test]
fn dscp_and_ecn_share_an_octet() {
    let mut bytes = known_packet();
    bytes[1] = 46 << 2 | 1;
    let packet = Ipv4::parse_unsummed(&bytes).unwrap();
    assert_eq!((packet.dscp(), packet.ecn(), packet.tos()), (46, 1, 0xb9));
}

#[test]
fn each_wrong_field_is_named() {
    let refused = |at: usize, value: u8| {
        let mut bytes = known_packet();
        bytes[at] = value;
        Ipv4::parse(&bytes).unwrap_err()
    };
    assert_eq!(refused(0, 0x65), Ipv4Error::Version(6));
    assert_eq!(refused(0, 0x44), Ipv4Error::HeaderLength { ihl: 4 });
    assert_eq!(refused(3, 0x74), Ipv4Error::TotalLength { stated: 0x74 });
    assert_eq!(refused(3, 19), Ipv4Error::TotalLength { stated: 19 });
    assert_eq!(refused(8, 63), Ipv4Error::Checksum);
    assert_eq!(Ipv4::parse(&KNOWN[..19]).unwrap_err(), Ipv4Error::Truncated);
    let mut short = KNOWN;
    short[0] = 0x46;
    assert_eq!(
        Ipv4::parse(&short).unwrap_err(),
        Ipv4Error::HeaderLength { ihl: 6 }
    );
}

#[test]
fn the_builder_writes_the_known_header() {
    let source = Ipv4Addr::new(192, 168, 0, 1);
    let destination = Ipv4Addr::new(192, 168, 0, 199);
    let header = Ipv4Header {
        dont_fragment: true,
        ..Ipv4Header::new(Protocol::UDP, source, destination)
    };
    assert_eq!(header.to_bytes(95), Ok(KNOWN));
    assert_eq!(header.to_bytes(65_516), Err(TooLong));
    assert_eq!(
        Ipv4Header::from(&Ipv4::parse(&known_packet()).unwrap()),
        header
    );
}

#[test]
fn the_ttl_counts_down_to_one_and_no_further() {
    let mut packet = known_packet();
    let header = packet.first_chunk_mut().unwrap();
    for _ in 1..64 {
        decrement_ttl(header).unwrap();
    }
    let before = *header;
    assert_eq!((before[8], decrement_ttl(header)), (1, Err(TtlExpired)));
    assert_eq!(*header, before);
    assert!(Ipv4::parse(&packet).is_ok());
}

/// Security (copied), record route (not copied), end of options, padding: 24 octets.
fn packet_with_options(payload_len: usize) -> Vec<u8> {
    let mut packet = known_packet();
    packet[6] = 0;
    packet[0] = 0x4b;
    packet.truncate(HEADER_LEN);
    packet.extend([
        0x82, 11, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 7, 11, 4, 1, 2, 3, 4, 5, 6, 7, 8, 0,
    ]);
    packet.extend((0..payload_len).map(|i| i as u8));
    let total = packet.len() as u16;
    packet[2..4].copy_from_slice(&total.to_be_bytes());
    packet[10..12].fill(0);
    let sum = crate::checksum::checksum(&packet[..44]);
    packet[10..12].copy_from_slice(&sum.to_be_bytes());
    packet
}

fn cut(packet: &Ipv4<'_>, mtu: u16) -> Vec<Vec<u8>> {
    let plan = Fragments::new(*packet, mtu).unwrap();
    plan.clone()
        .map(|fragment| {
            let mut header = [0xff; MAX_HEADER_LEN];
            let len = plan.write_header(&fragment, &mut header);
            assert_eq!(len, fragment.header_len);
            let payload = &packet.payload()[fragment.payload.clone()];
            [&header[..len], payload].concat()
        })
        .collect()
}

#[test]
fn later_fragments_carry_only_the_copied_options() {
    let bytes = packet_with_options(100);
    let packet = Ipv4::parse(&bytes).unwrap();
    let pieces = cut(&packet, 84);
    let first = Ipv4::parse(&pieces[0]).unwrap();
    assert_eq!(
        (first.options(), first.payload().len()),
        (packet.options(), 40)
    );
    let second = Ipv4::parse(&pieces[1]).unwrap();
    assert_eq!(second.options(), [0x82, 11, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!((second.fragment_offset(), second.payload().len()), (5, 48));
    let third = Ipv4::parse(&pieces[2]).unwrap();
    assert_eq!((third.fragment_offset(), third.payload().len()), (11, 12));
    let mf: Vec<bool> = [first, second, third]
        .iter()
        .map(Ipv4::more_fragments)
        .collect();
    assert_eq!((mf, pieces.len()), (vec![true, true, false], 3));
}

#[test]
fn what_fits_stays_whole_and_df_and_tiny_mtus_refuse() {
    let bytes = packet_with_options(100);
    let packet = Ipv4::parse(&bytes).unwrap();
    assert_eq!(cut(&packet, 144), std::slice::from_ref(&bytes));
    assert_eq!(
        Fragments::new(packet, 51).unwrap_err(),
        FragmentError::MtuTooSmall
    );
    let mut df = bytes.clone();
    df[6] = 0x40;
    let df = Ipv4::parse_unsummed(&df).unwrap();
    assert_eq!(
        Fragments::new(df, 143).unwrap_err(),
        FragmentError::DontFragment
    );
    assert!(Fragments::new(df, 144).is_ok());
}

#[test]
fn a_fragment_that_reaches_beyond_the_longest_packet_is_not_cut() {
    let mut bytes = packet_with_options(200);
    bytes[6..8].copy_from_slice(&0x1fff_u16.to_be_bytes());
    let packet = Ipv4::parse_unsummed(&bytes).unwrap();
    let planned = Fragments::new(packet, 100).map(|_| ());
    assert_eq!(planned, Err(FragmentError::BeyondEnd));
    assert!(Fragments::new(packet, 1500).is_ok(), "it fits as it is");
}

#[test]
fn every_checksum_is_mended_as_rfc_1624_says() {
    for before in 0..=u16::MAX {
        let [high, low] = before.to_be_bytes();
        let mut header = [
            0x45, 0, 0, 20, 0, 0, 0, 0, 9, 6, high, low, 0, 0, 0, 0, 0, 0, 0, 0,
        ];
        decrement_ttl(&mut header).unwrap();
        let mended = update_u16(before, 0x0906, 0x0806);
        assert_eq!(header[8..12], [&[8, 6], &mended.to_be_bytes()[..]].concat());
    }
}

proptest! {
    #[test]
    fn fragments_fit_and_join_to_the_payload(len in 0usize..3000, mtu in 68u16..1600) {
        let bytes = packet_with_options(len);
        let packet = Ipv4::parse(&bytes).unwrap();
        let pieces = cut(&packet, mtu);
        let mut joined = Vec::new();
        for (i, piece) in pieces.iter().enumerate() {
            let fragment = Ipv4::parse(piece).unwrap();
            prop_assert!(piece.len() <= usize::from(mtu));
            prop_assert_eq!(usize::from(fragment.fragment_offset()) * 8, joined.len());
            prop_assert_eq!(fragment.more_fragments(), i + 1 < pieces.len());
            joined.extend_from_slice(fragment.payload());
        }
        prop_assert_eq!(&joined[..], packet.payload());
    }

    #[test]
    fn a_fragment_cut_again_keeps_its_place(len in 1usize..200, offset in 0u16..1000) {
        let mut bytes = packet_with_options(len * 8);
        bytes[6..8].copy_from_slice(&(0x2000 | offset).to_be_bytes());
        let packet = Ipv4::parse_unsummed(&bytes).unwrap();
        let mut end = usize::from(offset) * 8;
        for piece in cut(&packet, 100) {
            let fragment = Ipv4::parse(&piece).unwrap();
            prop_assert_eq!(usize::from(fragment.fragment_offset()) * 8, end);
            prop_assert!(fragment.more_fragments());
            end += fragment.payload().len();
        }
        prop_assert_eq!(end, usize::from(offset) * 8 + len * 8);
    }

    #[test]
    fn a_decremented_header_still_verifies(
        tos in any::<u8>(), identification in any::<u16>(), ttl in 2u8.., s in any::<u32>(), d in any::<u32>(),
    ) {
        let (source, destination) = (Ipv4Addr::from_bits(s), Ipv4Addr::from_bits(d));
        let plain = Ipv4Header::new(Protocol::TCP, source, destination);
        let header = Ipv4Header { tos, identification, ttl, ..plain };
        let mut bytes = header.to_bytes(0).unwrap();
        decrement_ttl(&mut bytes).unwrap();
        prop_assert_eq!(bytes, Ipv4Header { ttl: ttl - 1, ..header }.to_bytes(0).unwrap());
    }

    #[test]
    fn any_bytes_parse_or_are_refused(
        mut bytes in proptest::collection::vec(any::<u8>(), 0..120), first in 0x44u8..0x50, mtu in any::<u16>(),
    ) {
        if let [start, ..] = &mut bytes[..] {
            *start = first;
        }
        if let [_, _, upper, ..] = &mut bytes[..] {
            *upper = 0;
        }
        let _ = Ipv4::parse(&bytes);
        if let Ok(packet) = Ipv4::parse_quoted(&bytes) {
            prop_assert!(packet.payload().len() <= bytes.len());
        }
        if let Ok(packet) = Ipv4::parse_unsummed(&bytes) {
            prop_assert_eq!(packet.payload().len() + packet.header_len(), usize::from(packet.total_len()));
            if let Ok(plan) = Fragments::new(packet, mtu) {
                prop_assert!(plan.count() <= 16);
            }
        }
    }
}
