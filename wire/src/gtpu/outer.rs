//! Outer IPv4, UDP and GTP-U header of a G-PDU, from a template.

use super::header::{FLAG_E, FLAGS_V1};
use super::{ExtensionType, MessageType, PORT, ShortContainer};
use crate::checksum::Sum;
use crate::ids::Teid;
use crate::ipv4::{self, Protocol, TooLong};
use crate::layout::{gtpu as layout, ipv4 as ip, udp as udp_layout};
use crate::udp;
use core::net::Ipv4Addr;

/// Octets of IPv4, UDP and GTP-U header with a [`ShortContainer`].
pub const OUTER_IPV4_LEN: usize = IPV4_UDP_LEN + 16;
/// Octets of IPv4, UDP and GTP-U header without extension headers.
pub const OUTER_IPV4_PLAIN_LEN: usize = IPV4_UDP_LEN + 8;

const IPV4_UDP_LEN: usize = ipv4::HEADER_LEN + udp::HEADER_LEN;
/// In a header with a container: the type of the first extension header, and the container.
const EXTENSION_AT: usize = IPV4_UDP_LEN + layout::EXTENSION_TYPE;
const CONTAINER_AT: usize = IPV4_UDP_LEN + layout::CONTAINER_LEN;
const SOURCE_PORT_AT: usize = ip::LEN + udp_layout::SOURCE_PORT;
const PORT_AT: usize = ip::LEN + udp_layout::DESTINATION_PORT;
const UDP_LENGTH_AT: usize = ip::LEN + udp_layout::LENGTH;
const GTPU_LENGTH_AT: usize = IPV4_UDP_LEN + layout::LENGTH;
const TEID_AT: usize = IPV4_UDP_LEN + layout::TEID;

/// What is the same in every packet to one peer, its checksum summed beforehand.
#[derive(Clone, Copy, Debug)]
pub struct OuterIpv4 {
    /// Flags and time to live of the IPv4 header.
    flags: u8,
    ttl: u8,
    /// Source and destination.
    addresses: [u8; 8],
    /// Of the IPv4 header.
    sum: Sum,
}

/// A whole header, as it is before a container, with zeros where [`OuterIpv4`], [`OuterFields`],
/// container and lengths go.
const TEMPLATE: [u8; OUTER_IPV4_LEN] = {
    let mut header = [0; OUTER_IPV4_LEN];
    header[ip::VERSION_IHL] = ip::VERSION_4_NO_OPTIONS;
    header[ip::PROTOCOL] = Protocol::UDP.0;
    [header[PORT_AT], header[PORT_AT + 1]] = PORT.to_be_bytes();
    header[IPV4_UDP_LEN + layout::FLAGS] = FLAGS_V1 | FLAG_E;
    header[IPV4_UDP_LEN + layout::MESSAGE_TYPE] = MessageType::G_PDU.0;
    header[EXTENSION_AT] = ExtensionType::PDU_SESSION_CONTAINER.0;
    header
};
/// Don't Fragment (RFC 791, 3.1).
const FLAG_DF: u8 = 0x40;

/// What differs from packet to packet or from session to session.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OuterFields {
    /// DSCP and ECN, the second octet of the IPv4 header.
    pub tos: u8,
    /// IPv4 identification; must differ between packets unless DF is set (RFC 6864).
    pub identification: u16,
    /// UDP source port, freely chosen (TS 29.281, 4.4.2.3); a hash of the inner flow spreads
    /// packets over paths.
    pub source_port: u16,
    /// The peer's tunnel endpoint.
    pub teid: Teid,
}

impl OuterIpv4 {
    /// The constant part for packets from `source` to `destination`.
    #[inline(always)]
    pub fn new(source: Ipv4Addr, destination: Ipv4Addr, ttl: u8, dont_fragment: bool) -> Self {
        let flags = if dont_fragment { FLAG_DF } else { 0 };
        let (source, destination) = (u32::from(source), u32::from(destination));
        let addresses = u64::from(source) << 32 | u64::from(destination);
        Self {
            flags,
            ttl,
            addresses: addresses.to_be_bytes(),
            sum: Sum::ZERO
                .add_u16(u16::from_be_bytes([TEMPLATE[ip::VERSION_IHL], 0]))
                .add_u16(u16::from_be_bytes([flags, 0]))
                .add_u16(u16::from_be_bytes([ttl, TEMPLATE[ip::PROTOCOL]]))
                .add_u32(source)
                .add_u32(destination),
        }
    }

    /// Writes the outer header before an inner packet of `inner_len` octets. The UDP checksum is
    /// left out, as RFC 768 allows.
    ///
    /// # Errors
    /// [`TooLong`], `out` unchanged, if the packet would exceed 65535 octets.
    #[inline(always)]
    pub fn write(
        &self,
        out: &mut [u8; OUTER_IPV4_LEN],
        fields: &OuterFields,
        container: ShortContainer,
        inner_len: usize,
    ) -> Result<(), TooLong> {
        let stated = Lengths::before(inner_len.saturating_add(8))?;
        *out = TEMPLATE;
        out[CONTAINER_AT..].copy_from_slice(&container.0);
        if let Some(front) = out.first_chunk_mut() {
            self.vary(front, fields, stated);
        }
        Ok(())
    }

    /// Writes the outer header without a PDU Session Container, otherwise as [`Self::write`].
    ///
    /// # Errors
    /// [`TooLong`], `out` unchanged, if the packet would exceed 65535 octets.
    #[inline]
    pub fn write_plain(
        &self,
        out: &mut [u8; OUTER_IPV4_PLAIN_LEN],
        fields: &OuterFields,
        inner_len: usize,
    ) -> Result<(), TooLong> {
        let stated = Lengths::before(inner_len)?;
        out.copy_from_slice(&TEMPLATE[..OUTER_IPV4_PLAIN_LEN]);
        out[IPV4_UDP_LEN] &= !FLAG_E;
        self.vary(out, fields, stated);
        Ok(())
    }

    /// Writes what differs from packet to packet.
    #[inline(always)]
    fn vary(&self, out: &mut [u8; OUTER_IPV4_PLAIN_LEN], fields: &OuterFields, stated: Lengths) {
        let sum = self
            .sum
            .add_u16(u16::from(fields.tos))
            .add_u16(stated.ipv4)
            .add_u16(fields.identification)
            .finish();
        let mut put16 = |at: usize, value: u16| {
            [out[at], out[at + 1]] = value.to_be_bytes();
        };
        put16(ip::TOTAL_LEN, stated.ipv4);
        put16(ip::IDENTIFICATION, fields.identification);
        put16(ip::CHECKSUM, sum);
        put16(SOURCE_PORT_AT, fields.source_port);
        put16(UDP_LENGTH_AT, stated.udp);
        put16(GTPU_LENGTH_AT, stated.gtpu);
        out[ip::TOS] = fields.tos;
        (out[ip::FRAGMENT], out[ip::TTL]) = (self.flags, self.ttl);
        out[ip::ADDRESSES].copy_from_slice(&self.addresses);
        out[TEID_AT..TEID_AT + 4].copy_from_slice(&fields.teid.get().to_be_bytes());
    }
}

/// What the length fields of the three headers say.
struct Lengths {
    ipv4: u16,
    udp: u16,
    gtpu: u16,
}

impl Lengths {
    /// Of a packet with `len` octets behind the first eight of the GTP-U header.
    #[inline(always)]
    fn before(len: usize) -> Result<Self, TooLong> {
        let total = len.saturating_add(OUTER_IPV4_PLAIN_LEN);
        let total = u16::try_from(total).map_err(|_| TooLong)?;
        Ok(Self {
            ipv4: total,
            udp: total - ipv4::HEADER_LEN as u16,
            gtpu: total - OUTER_IPV4_PLAIN_LEN as u16,
        })
    }
}
