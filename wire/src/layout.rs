//! Header layouts: where each field of Ethernet, IEEE 802.1Q, IPv4, IPv6, UDP and GTP-U stands, in octets from
//! the beginning of its header.
//!
//! Whoever reads or writes fields without a parser (templates, pattern matches, a frame's first look)
//! takes the places from here.

/// Ethernet II, and with one tag (IEEE 802.3, IEEE 802.1Q).
pub mod eth {
    use core::ops::Range;

    /// Receiver's address.
    pub const DESTINATION: Range<usize> = 0..6;
    /// Sender's address.
    pub const SOURCE: Range<usize> = 6..12;
    /// EtherType, or the tag's protocol identifier.
    pub const ETHERTYPE: Range<usize> = 12..14;
    /// Octets of the header without a tag.
    pub const LEN: usize = 14;
    /// Tag control information: priority, DEI, VLAN.
    pub const TCI: Range<usize> = 14..16;
    /// EtherType behind a tag.
    pub const TAGGED_ETHERTYPE: Range<usize> = 16..18;
    /// Octets of the header with a tag.
    pub const TAGGED_LEN: usize = 18;
    /// The bits of the TCI that name the VLAN.
    pub const VLAN_MASK: u16 = 0x0fff;

    /// Where a frame's payload begins; none if it ends before its EtherType.
    #[inline]
    pub fn payload_at(frame: &[u8]) -> Option<usize> {
        let tagged = crate::eth::EtherType::VLAN.0.to_be_bytes();
        let is_tagged = *frame.get(ETHERTYPE)? == tagged;
        Some(if is_tagged { TAGGED_LEN } else { LEN })
    }
}

/// IPv4 without options (RFC 791, 3.1).
pub mod ipv4 {
    use core::ops::Range;

    /// Version and header length.
    pub const VERSION_IHL: usize = 0;
    /// Differentiated services and ECN.
    pub const TOS: usize = 1;
    /// Total length.
    pub const TOTAL_LEN: usize = 2;
    /// Identification.
    pub const IDENTIFICATION: usize = 4;
    /// Flags and fragment offset.
    pub const FRAGMENT: usize = 6;
    /// Time to live.
    pub const TTL: usize = 8;
    /// Protocol.
    pub const PROTOCOL: usize = 9;
    /// Header checksum.
    pub const CHECKSUM: usize = 10;
    /// Source address.
    pub const SOURCE: usize = 12;
    /// Destination address.
    pub const DESTINATION: usize = 16;
    /// Both addresses.
    pub const ADDRESSES: Range<usize> = 12..20;
    /// Octets of the header.
    pub const LEN: usize = 20;
    /// First octet of a header without options.
    pub const VERSION_4_NO_OPTIONS: u8 = 0x45;
    /// More Fragments and the fragment offset: 0 in a packet that is whole.
    pub const FRAGMENT_MASK: u16 = 0x3fff;
}

/// IPv6 (RFC 8200, 3).
pub mod ipv6 {
    use core::ops::Range;

    /// Version, and the upper half of the traffic class.
    pub const VERSION: usize = 0;
    /// The lower half of the traffic class, and the upper four bits of the flow label.
    pub const TRAFFIC_CLASS_LOW: usize = 1;
    /// The lower 16 bits of the flow label.
    pub const FLOW_LABEL_LOW: usize = 2;
    /// Length of what follows the header.
    pub const PAYLOAD_LEN: usize = 4;
    /// Type of what follows the header.
    pub const NEXT_HEADER: usize = 6;
    /// Hop limit.
    pub const HOP_LIMIT: usize = 7;
    /// Source address.
    pub const SOURCE: usize = 8;
    /// Destination address.
    pub const DESTINATION: usize = 24;
    /// Both addresses.
    pub const ADDRESSES: Range<usize> = 8..40;
    /// Octets of the header.
    pub const LEN: usize = 40;
    /// First octet of a header, the traffic class masked off by [`VERSION_MASK`].
    pub const VERSION_6: u8 = 0x60;
    /// The bits of [`VERSION`] that are the version.
    pub const VERSION_MASK: u8 = 0xf0;
}

/// UDP (RFC 768).
pub mod udp {
    /// Source port.
    pub const SOURCE_PORT: usize = 0;
    /// Destination port.
    pub const DESTINATION_PORT: usize = 2;
    /// Length, header included.
    pub const LENGTH: usize = 4;
    /// Checksum; 0 is none.
    pub const CHECKSUM: usize = 6;
    /// Octets of the header.
    pub const LEN: usize = 8;
}

/// GTP-U version 1 (TS 29.281, 5.1), and with nothing but a PDU Session Container of one word (TS 38.415).
pub mod gtpu {
    /// Version, protocol type, flags.
    pub const FLAGS: usize = 0;
    /// Message type.
    pub const MESSAGE_TYPE: usize = 1;
    /// Length of what follows the mandatory header.
    pub const LENGTH: usize = 2;
    /// TEID.
    pub const TEID: usize = 4;
    /// Octets of the mandatory header.
    pub const LEN: usize = 8;
    /// Type of the first extension header, if any of E, S and PN is set.
    pub const EXTENSION_TYPE: usize = 11;
    /// Octets of the header with sequence number, N-PDU number and next extension header type.
    pub const LONG_LEN: usize = 12;
    /// PDU Session Container: its length in words of four octets.
    pub const CONTAINER_LEN: usize = 12;
    /// Its PDU type, in the upper half of the octet.
    pub const CONTAINER_PDU_TYPE: usize = 13;
    /// Its QFI, in the lower six bits.
    pub const CONTAINER_QFI: usize = 14;
    /// Type of the extension header behind it.
    pub const CONTAINER_NEXT: usize = 15;
    /// Octets of the header with the container.
    pub const CONTAINER_HEADER_LEN: usize = 16;

    /// Version 1, PT 1 (GTP), no optional field.
    pub const FLAGS_V1: u8 = 0x30;
    /// Extension header flag, E.
    pub const FLAG_E: u8 = 0x04;
    /// Sequence number flag, S.
    pub const FLAG_S: u8 = 0x02;
    /// N-PDU number flag, PN.
    pub const FLAG_PN: u8 = 0x01;
    /// The bits of [`CONTAINER_QFI`] that are the QFI.
    pub const QFI_MASK: u8 = 0x3f;
    /// The PDU type's bits; downlink is 0, uplink 1 in the upper half.
    pub const PDU_TYPE_MASK: u8 = 0xf0;
}

/// Two octets of a window as a number.
#[inline(always)]
pub fn be16(window: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([window[at], window[at + 1]])
}

/// Four octets of a window as a number.
#[inline(always)]
pub fn be32(window: &[u8], at: usize) -> u32 {
    u32::from(be16(window, at)) << 16 | u32::from(be16(window, at + 2))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gtpu::{OUTER_IPV4_LEN, OuterFields, OuterIpv4, ShortContainer};
    use crate::ids::{Qfi, Teid};
    use core::net::Ipv4Addr;

    /// What our own writer writes stands where the layout says.
    #[test]
    fn an_outer_header_has_its_fields_in_their_places() {
        let (source, destination) = (Ipv4Addr::new(192, 0, 2, 1), Ipv4Addr::new(192, 0, 2, 2));
        let fields = OuterFields {
            tos: 0xb8,
            identification: 0,
            source_port: 0xc001,
            teid: Teid::new(0x0102_0304).expect("not 0"),
        };
        let mut out = [0; OUTER_IPV4_LEN];
        let container = ShortContainer::uplink(Qfi::new(9).expect("below 64"));
        let outer = OuterIpv4::new(source, destination, 64, true);
        outer
            .write(&mut out, &fields, container, 100)
            .expect("it fits");
        assert_eq!(out[ipv4::VERSION_IHL], ipv4::VERSION_4_NO_OPTIONS);
        assert_eq!((out[ipv4::TOS], out[ipv4::TTL]), (0xb8, 64));
        assert_eq!(out[ipv4::PROTOCOL], 17);
        let be = |at: usize| u16::from_be_bytes([out[at], out[at + 1]]);
        assert_eq!(be(ipv4::TOTAL_LEN), 144);
        assert_eq!(be(ipv4::FRAGMENT) & ipv4::FRAGMENT_MASK, 0);
        assert_eq!(out[ipv4::SOURCE..][..4], source.octets());
        assert_eq!(out[ipv4::DESTINATION..][..4], destination.octets());
        let udp_at = ipv4::LEN;
        assert_eq!(be(udp_at + udp::SOURCE_PORT), 0xc001);
        assert_eq!(be(udp_at + udp::DESTINATION_PORT), crate::gtpu::PORT);
        assert_eq!(be(udp_at + udp::LENGTH), 124);
        assert_eq!(be(udp_at + udp::CHECKSUM), 0);
        let gtpu = &out[udp_at + udp::LEN..];
        assert_eq!(gtpu[gtpu::FLAGS], gtpu::FLAGS_V1 | gtpu::FLAG_E);
        assert_eq!(gtpu[gtpu::MESSAGE_TYPE], 255);
        assert_eq!(gtpu[gtpu::LENGTH..][..2], [0, 108]);
        assert_eq!(gtpu[gtpu::TEID..][..4], [1, 2, 3, 4]);
        assert_eq!(gtpu[gtpu::EXTENSION_TYPE], 0x85);
        assert_eq!(gtpu[gtpu::CONTAINER_LEN], 1);
        assert_eq!(gtpu[gtpu::CONTAINER_PDU_TYPE] & gtpu::PDU_TYPE_MASK, 0x10);
        assert_eq!(gtpu[gtpu::CONTAINER_QFI] & gtpu::QFI_MASK, 9);
        assert_eq!(gtpu[gtpu::CONTAINER_NEXT], 0);
        assert_eq!(gtpu.len(), gtpu::CONTAINER_HEADER_LEN);
    }

    #[test]
    fn a_payload_begins_behind_the_tag() {
        let mut frame = [0; 20];
        assert_eq!(eth::payload_at(&frame), Some(eth::LEN));
        frame[eth::ETHERTYPE].copy_from_slice(&[0x81, 0x00]);
        assert_eq!(eth::payload_at(&frame), Some(eth::TAGGED_LEN));
        assert_eq!(eth::payload_at(&frame[..13]), None);
    }
}
