//! Outer IPv6, UDP and GTP-U header, from a template.
//!
//! The UDP checksum covers the packet inside, too (RFC 8200, 8.1; TS 29.281, 4.4.1): who writes the header tells
//! the packet's sum.

use super::header::{FLAG_E, FLAGS_V1};
use super::outer::OuterFields;
use super::{ExtensionType, MessageType, PORT, ShortContainer};
use crate::checksum::Sum;
use crate::ipv4::{Protocol, TooLong};
use crate::ipv6;
use crate::layout::{gtpu as layout, ipv6 as ip, udp as udp_layout};
use crate::udp::{self, not_zero};
use core::net::Ipv6Addr;

/// Octets of IPv6, UDP and GTP-U header with a [`ShortContainer`].
pub const OUTER_IPV6_LEN: usize = IPV6_UDP_LEN + 16;
/// Octets of IPv6, UDP and GTP-U header without extension headers.
pub const OUTER_IPV6_PLAIN_LEN: usize = IPV6_UDP_LEN + 8;

const IPV6_UDP_LEN: usize = ipv6::HEADER_LEN + udp::HEADER_LEN;
/// In a header with a container: the type of the first extension header, and the container.
const EXTENSION_AT: usize = IPV6_UDP_LEN + layout::EXTENSION_TYPE;
const CONTAINER_AT: usize = IPV6_UDP_LEN + layout::CONTAINER_LEN;
const SOURCE_PORT_AT: usize = ip::LEN + udp_layout::SOURCE_PORT;
const PORT_AT: usize = ip::LEN + udp_layout::DESTINATION_PORT;
const UDP_LENGTH_AT: usize = ip::LEN + udp_layout::LENGTH;
const CHECKSUM_AT: usize = ip::LEN + udp_layout::CHECKSUM;
const GTPU_LENGTH_AT: usize = IPV6_UDP_LEN + layout::LENGTH;
const TEID_AT: usize = IPV6_UDP_LEN + layout::TEID;

/// A whole header, as it is before a container, with zeros where addresses, [`OuterFields`], container, lengths
/// and checksum go. The flow label is 0: the UDP source port spreads flows over paths.
const TEMPLATE: [u8; OUTER_IPV6_LEN] = {
    let mut header = [0; OUTER_IPV6_LEN];
    header[ip::VERSION] = ip::VERSION_6;
    header[ip::NEXT_HEADER] = Protocol::UDP.0;
    [header[PORT_AT], header[PORT_AT + 1]] = PORT.to_be_bytes();
    header[IPV6_UDP_LEN + layout::FLAGS] = FLAGS_V1 | FLAG_E;
    header[IPV6_UDP_LEN + layout::MESSAGE_TYPE] = MessageType::G_PDU.0;
    header[EXTENSION_AT] = ExtensionType::PDU_SESSION_CONTAINER.0;
    header
};

/// What is the same in every packet to one peer.
#[derive(Clone, Copy, Debug)]
pub struct OuterIpv6 {
    source: Ipv6Addr,
    destination: Ipv6Addr,
    hop_limit: u8,
}

/// What a header of eight octets begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PlainForm {
    /// A G-PDU with nothing but the packet.
    GPdu,
    /// A G-PDU whose extension headers stand in front of the packet already.
    GPduWithExtensions,
    /// An End Marker.
    EndMarker,
}

impl OuterIpv6 {
    /// The constant part for packets from `source` to `destination`.
    #[inline]
    pub const fn new(source: Ipv6Addr, destination: Ipv6Addr, hop_limit: u8) -> Self {
        Self {
            source,
            destination,
            hop_limit,
        }
    }

    /// Writes the outer header before an inner packet of `inner_len` octets, whose sum is `inner`.
    /// [`OuterFields::identification`] has no place in it.
    ///
    /// # Errors
    /// [`TooLong`], `out` unchanged, if the UDP datagram would exceed 65535 octets.
    #[inline]
    pub fn write(
        &self,
        out: &mut [u8; OUTER_IPV6_LEN],
        fields: &OuterFields,
        container: ShortContainer,
        (inner_len, inner): (usize, Sum),
    ) -> Result<(), TooLong> {
        let behind = inner_len.saturating_add(8);
        let udp_len = udp_len(behind)?;
        *out = TEMPLATE;
        out[CONTAINER_AT..].copy_from_slice(&container.0);
        let inner = inner.add_bytes(&out[OUTER_IPV6_PLAIN_LEN..]);
        if let Some(front) = out.first_chunk_mut() {
            self.vary(front, fields, udp_len, inner);
        }
        Ok(())
    }

    /// Writes the outer header without a PDU Session Container before `inner_len` octets whose sum is `inner`.
    ///
    /// # Errors
    /// [`TooLong`], `out` unchanged, if the UDP datagram would exceed 65535 octets.
    #[inline]
    pub fn write_plain(
        &self,
        out: &mut [u8; OUTER_IPV6_PLAIN_LEN],
        fields: &OuterFields,
        form: PlainForm,
        (inner_len, inner): (usize, Sum),
    ) -> Result<(), TooLong> {
        let udp_len = udp_len(inner_len)?;
        out.copy_from_slice(&TEMPLATE[..OUTER_IPV6_PLAIN_LEN]);
        if form != PlainForm::GPduWithExtensions {
            out[IPV6_UDP_LEN + layout::FLAGS] &= !FLAG_E;
        }
        if form == PlainForm::EndMarker {
            out[IPV6_UDP_LEN + layout::MESSAGE_TYPE] = MessageType::END_MARKER.0;
        }
        self.vary(out, fields, udp_len, inner);
        Ok(())
    }

    /// Writes what differs from packet to packet, the checksum at last.
    #[inline(always)]
    fn vary(
        &self,
        out: &mut [u8; OUTER_IPV6_PLAIN_LEN],
        fields: &OuterFields,
        udp_len: u16,
        behind: Sum,
    ) {
        let gtpu_len = udp_len - (OUTER_IPV6_PLAIN_LEN - ipv6::HEADER_LEN) as u16;
        let mut put16 = |at: usize, value: u16| {
            [out[at], out[at + 1]] = value.to_be_bytes();
        };
        put16(ip::PAYLOAD_LEN, udp_len);
        put16(SOURCE_PORT_AT, fields.source_port);
        put16(UDP_LENGTH_AT, udp_len);
        put16(GTPU_LENGTH_AT, gtpu_len);
        out[ip::VERSION] |= fields.tos >> 4;
        out[ip::TRAFFIC_CLASS_LOW] = fields.tos << 4;
        out[ip::HOP_LIMIT] = self.hop_limit;
        out[ip::SOURCE..ip::DESTINATION].copy_from_slice(&self.source.octets());
        out[ip::DESTINATION..ip::LEN].copy_from_slice(&self.destination.octets());
        out[TEID_AT..TEID_AT + 4].copy_from_slice(&fields.teid.get().to_be_bytes());
        // The addresses begin the sum of the pseudo header; what follows them is UDP's.
        let sum = behind
            .add_bytes(&out[ip::SOURCE..])
            .add_u16(udp_len)
            .add_u16(Protocol::UDP.0.into());
        let sum = not_zero(sum.finish()).to_be_bytes();
        [out[CHECKSUM_AT], out[CHECKSUM_AT + 1]] = sum;
    }
}

/// What the length field of UDP says of a datagram with `len` octets behind the first eight of the GTP-U header.
#[inline(always)]
fn udp_len(len: usize) -> Result<u16, TooLong> {
    let total = len.saturating_add(OUTER_IPV6_PLAIN_LEN - ipv6::HEADER_LEN);
    u16::try_from(total).map_err(|_| TooLong)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gtpu::{GPdu, Message};
    use crate::ids::{Qfi, Teid};
    use crate::ipv6::Ipv6;
    use crate::udp::Udp;
    use proptest::prelude::*;
    use std::vec::Vec;

    const OURS: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 3, 0, 0, 0, 0, 1);
    const THEIRS: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 3, 0, 0, 0, 0, 0x50);

    fn fields(tos: u8, source_port: u16, teid: u32) -> OuterFields {
        OuterFields {
            tos,
            identification: 0,
            source_port,
            teid: Teid::new(teid).expect("not 0"),
        }
    }

    /// Reads a packet with the parsers of each layer; gives the traffic class and what UDP carries.
    fn read(packet: &[u8]) -> (u8, Vec<u8>) {
        let ip = Ipv6::parse(packet).expect("an IPv6 packet");
        assert_eq!(ip.total_len(), packet.len());
        assert_eq!((ip.source(), ip.destination()), (OURS, THEIRS));
        assert_eq!((ip.hop_limit(), ip.flow_label()), (64, 0));
        let udp = Udp::parse(ip.payload()).expect("a datagram");
        assert!(udp.verify_ipv6(OURS, THEIRS) && udp.destination_port() == PORT);
        (ip.traffic_class(), udp.payload().to_vec())
    }

    proptest! {
        #[test]
        fn every_header_is_sound_and_its_checksum_covers_the_packet(
            inner in proptest::collection::vec(any::<u8>(), 0..80),
            tos: u8, source_port: u16, teid in 1u32.., qfi in 0u8..64,
        ) {
            let outer = OuterIpv6::new(OURS, THEIRS, 64);
            let fields = fields(tos, source_port, teid);
            let told = (inner.len(), Sum::of(&inner));
            let qfi = Qfi::new(qfi).expect("six bits");
            let mut head = [0; OUTER_IPV6_LEN];
            outer.write(&mut head, &fields, ShortContainer::downlink(qfi, false), told).unwrap();
            let (class, gtpu) = read(&[&head[..], &inner].concat());
            let pdu = GPdu::parse(&gtpu).unwrap();
            prop_assert_eq!((class, pdu.teid.get(), pdu.qfi), (tos, teid, Some(qfi)));
            prop_assert_eq!(&gtpu[usize::from(pdu.payload_offset)..], &inner[..]);
            let mut head = [0; OUTER_IPV6_PLAIN_LEN];
            outer.write_plain(&mut head, &fields, PlainForm::GPdu, told).unwrap();
            let (_, gtpu) = read(&[&head[..], &inner].concat());
            let pdu = GPdu::parse(&gtpu).unwrap();
            prop_assert_eq!((pdu.teid.get(), pdu.qfi), (teid, None));
        }
    }

    #[test]
    fn an_end_marker_and_extension_headers_have_their_forms() {
        let outer = OuterIpv6::new(OURS, THEIRS, 64);
        let mut head = [0; OUTER_IPV6_PLAIN_LEN];
        let nothing = (0, Sum::ZERO);
        let fields = fields(0, 2152, 7);
        outer
            .write_plain(&mut head, &fields, PlainForm::EndMarker, nothing)
            .unwrap();
        let (_, gtpu) = read(&head);
        assert!(matches!(Message::parse(&gtpu), Ok(Message::EndMarker(_))));
        let container = [0, 0, 0, 0x85, 1, 0x10, 9, 0, 0x45];
        let told = (container.len(), Sum::of(&container));
        let form = PlainForm::GPduWithExtensions;
        outer.write_plain(&mut head, &fields, form, told).unwrap();
        let (_, gtpu) = read(&[&head[..], &container].concat());
        let pdu = GPdu::parse(&gtpu).unwrap();
        assert_eq!((pdu.qfi, pdu.payload_len), (Qfi::new(9), 1));
    }

    #[test]
    fn a_datagram_above_65535_octets_is_refused() {
        let outer = OuterIpv6::new(OURS, THEIRS, 64);
        let mut head = [0xee; OUTER_IPV6_PLAIN_LEN];
        let mut write = |len| {
            let told = (len, Sum::ZERO);
            outer.write_plain(&mut head, &fields(0, 1, 1), PlainForm::GPdu, told)
        };
        assert_eq!(write(65_519), Ok(()));
        assert_eq!(
            (write(65_520), write(usize::MAX)),
            (Err(TooLong), Err(TooLong))
        );
    }
}
