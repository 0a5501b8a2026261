use super::*;
use proptest::prelude::*;
use std::vec::Vec;

/// Traffic class a5, flow label bcdef, payload of 3, no next header, hop limit 64.
const KNOWN: [u8; HEADER_LEN] = [
    0x6a, 0x5b, 0xcd, 0xef, 0x00, 0x03, 59, 64, //
    0x20, 0x01, 0x0d, 0xb8, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, //
    0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9,
];

fn known_packet() -> Vec<u8> {
    [&KNOWN[..], &[7, 7, 7]].concat()
}

#[test]
fn every_field_reads_from_its_place() {
    let mut bytes = known_packet();
    bytes.extend([0; 9]);
    let packet = Ipv6::parse(&bytes).unwrap();
    assert_eq!((packet.payload_len(), packet.total_len()), (3, 43));
    assert_eq!(packet.payload(), [7, 7, 7]);
    assert_eq!(
        (packet.traffic_class(), packet.flow_label()),
        (0xa5, 0xbcdef)
    );
    assert_eq!(packet.next_header(), Protocol::NO_NEXT_HEADER);
    assert_eq!(packet.hop_limit(), 64);
    let source: Ipv6Addr = "2001:db8:102:304:506:708:90a:b0c".parse().unwrap();
    assert_eq!(packet.source(), source);
    assert_eq!(packet.source_octets(), source.octets());
    assert_eq!(packet.source_prefix(), 0x2001_0db8_0102_0304);
    assert_eq!(packet.destination(), "fe80::9".parse::<Ipv6Addr>().unwrap());
    assert_eq!(packet.destination_prefix(), 0xfe80_0000_0000_0000);
    assert_eq!(packet.destination_octets()[15], 9);
}

#[test]
fn the_builder_writes_what_was_read() {
    let bytes = known_packet();
    let header = Ipv6Header::from(&Ipv6::parse(&bytes).unwrap());
    assert_eq!(header.to_bytes(3), Ok(KNOWN));
    assert!(header.to_bytes(65_535).is_ok());
    assert_eq!(header.to_bytes(65_536), Err(crate::ipv4::TooLong));
}

#[test]
fn what_is_wrong_is_named() {
    let bytes = known_packet();
    let error = |bytes: &[u8]| Ipv6::parse(bytes).unwrap_err();
    assert_eq!(error(&bytes[..39]), Ipv6Error::Truncated);
    assert_eq!(error(&bytes[..42]), Ipv6Error::PayloadLength { stated: 3 });
    let mut wrong = bytes.clone();
    wrong[0] = 0x45;
    assert_eq!(error(&wrong), Ipv6Error::Version(4));
    let mut jumbo = bytes;
    (jumbo[5], jumbo[6]) = (0, 0);
    assert_eq!(error(&jumbo), Ipv6Error::Jumbogram);
}

#[test]
fn a_header_alone_is_a_packet() {
    let mut bytes = KNOWN;
    bytes[5] = 0;
    let packet = Ipv6::parse(&bytes).unwrap();
    assert_eq!((packet.total_len(), packet.payload().len()), (40, 0));
}

#[test]
fn a_quoted_packet_may_be_cut() {
    let bytes = known_packet();
    let packet = Ipv6::parse_quoted(&bytes[..41]).unwrap();
    assert_eq!((packet.payload(), packet.total_len()), (&[7][..], 43));
    assert_eq!(
        Ipv6::parse_quoted(&bytes[..39]).unwrap_err(),
        Ipv6Error::Truncated
    );
}

#[test]
fn the_last_hop_is_not_taken() {
    let mut header = KNOWN;
    assert_eq!(decrement_hop_limit(&mut header), Ok(()));
    assert_eq!(header[layout::HOP_LIMIT], 63);
    for hop_limit in [0, 1] {
        header[layout::HOP_LIMIT] = hop_limit;
        assert_eq!(decrement_hop_limit(&mut header), Err(HopLimitExceeded));
        assert_eq!(header[layout::HOP_LIMIT], hop_limit);
    }
}

/// The layout of RFC 8200, 8.1, written out.
#[test]
fn the_pseudo_header_is_that_of_rfc_8200() {
    let (source, destination) = ("2001:db8::1".parse().unwrap(), "ff02::2".parse().unwrap());
    let sum = pseudo_header_sum(source, destination, Protocol::UDP, 0x0102_0304);
    let written = [
        &source.octets()[..],
        &destination.octets(),
        &[1, 2, 3, 4, 0, 0, 0, 17],
    ]
    .concat();
    assert_eq!(sum.fold(), Sum::of(&written).fold());
}

/// An encoder that is not ours writes what we read.
#[test]
fn etherparse_agrees() {
    let builder =
        etherparse::PacketBuilder::ipv6(KNOWN[8..24].try_into().unwrap(), [9; 16], 7).udp(1234, 53);
    let mut bytes = Vec::new();
    builder.write(&mut bytes, b"query").unwrap();
    let packet = Ipv6::parse(&bytes).unwrap();
    assert_eq!((packet.hop_limit(), packet.total_len()), (7, bytes.len()));
    assert_eq!(packet.destination_octets(), [9; 16]);
    let upper = packet.upper_layer();
    assert_eq!((upper.protocol, upper.payload.len()), (Protocol::UDP, 13));
    let len = upper.payload.len() as u32;
    let sum = pseudo_header_sum(packet.source(), packet.destination(), upper.protocol, len);
    assert!(sum.add_bytes(upper.payload).verifies());
}

proptest! {
    #[test]
    fn any_bytes_parse_or_are_refused(
        mut bytes in proptest::collection::vec(any::<u8>(), 0..120), plausible in any::<bool>(),
    ) {
        if plausible && bytes.len() >= HEADER_LEN {
            bytes[0] = 0x60 | bytes[0] & 0x0f;
            bytes[4] = 0;
        }
        let _ = Ipv6::parse_quoted(&bytes);
        if let Ok(packet) = Ipv6::parse(&bytes) {
            prop_assert_eq!(packet.total_len(), HEADER_LEN + packet.payload().len());
            prop_assert!(packet.payload().ends_with(packet.upper_layer().payload));
            let again = Ipv6Header::from(&packet).to_bytes(packet.payload().len()).unwrap();
            prop_assert_eq!(&again, packet.header());
        }
    }
}

#[test]
fn a_fragment_header_is_read_where_it_follows_at_once() {
    let mut octets = vec![0x60, 0, 0, 0, 0, 10, 44, 64];
    octets.extend([0; 32]);
    octets.extend([17, 0, 0x00, 0x19, 1, 2, 3, 4, 0xaa, 0xbb]);
    let (header, part) = Ipv6::parse(&octets).unwrap().fragment().unwrap();
    let expected = FragmentHeader {
        next: Protocol::UDP,
        offset: 24,
        more: true,
        identification: 0x0102_0304,
    };
    assert_eq!((header, part), (expected, &[0xaa, 0xbb][..]));
    octets[6] = 60;
    assert_eq!(Ipv6::parse(&octets).unwrap().fragment(), None);
    octets.truncate(47);
    (octets[5], octets[6]) = (7, 44);
    assert_eq!(Ipv6::parse(&octets).unwrap().fragment(), None, "cut short");
}
