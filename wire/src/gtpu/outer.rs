//! The whole outer header of a G-PDU over IPv4, from a part that is constant per peer.

use super::build::{g_pdu_header, g_pdu_header_with_container};
use super::{PORT, ShortContainer};
use crate::checksum::Sum;
use crate::ids::Teid;
use crate::ipv4::{self, Ipv4Header, Protocol, TooLong};
use crate::udp::{self, UdpHeader};
use core::net::Ipv4Addr;

/// Octets of IPv4, UDP and GTP-U header with a [`ShortContainer`].
pub const OUTER_IPV4_LEN: usize = IPV4_UDP_LEN + 16;
/// Octets of IPv4, UDP and GTP-U header without extension headers.
pub const OUTER_IPV4_PLAIN_LEN: usize = IPV4_UDP_LEN + 8;

const IPV4_UDP_LEN: usize = ipv4::HEADER_LEN + udp::HEADER_LEN;

/// What is the same in every packet to one peer, its checksum summed beforehand.
#[derive(Clone, Copy, Debug)]
pub struct OuterIpv4 {
    header: [u8; ipv4::HEADER_LEN],
    sum: Sum,
}

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
    pub fn new(source: Ipv4Addr, destination: Ipv4Addr, ttl: u8, dont_fragment: bool) -> Self {
        let plain = Ipv4Header::new(Protocol::UDP, source, destination);
        let header = Ipv4Header {
            ttl,
            dont_fragment,
            ..plain
        }
        .unsummed(0);
        Self {
            header,
            sum: Sum::of(&header),
        }
    }

    /// Writes the outer header before an inner packet of `inner_len` octets. The UDP checksum is
    /// left out, as RFC 768 allows.
    ///
    /// # Errors
    /// [`TooLong`], `out` unchanged, if the packet would exceed 65535 octets.
    #[inline]
    pub fn write(
        &self,
        out: &mut [u8; OUTER_IPV4_LEN],
        fields: &OuterFields,
        container: ShortContainer,
        inner_len: usize,
    ) -> Result<(), TooLong> {
        let gtpu = g_pdu_header_with_container(fields.teid, container, inner_len)?;
        let front = self.ipv4_udp(fields, gtpu.len() + inner_len)?;
        out[..IPV4_UDP_LEN].copy_from_slice(&front);
        out[IPV4_UDP_LEN..].copy_from_slice(&gtpu);
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
        let gtpu = g_pdu_header(fields.teid, inner_len)?;
        let front = self.ipv4_udp(fields, gtpu.len() + inner_len)?;
        out[..IPV4_UDP_LEN].copy_from_slice(&front);
        out[IPV4_UDP_LEN..].copy_from_slice(&gtpu);
        Ok(())
    }

    /// IPv4 and UDP header before `gtpu_len` octets.
    #[inline]
    fn ipv4_udp(
        &self,
        fields: &OuterFields,
        gtpu_len: usize,
    ) -> Result<[u8; IPV4_UDP_LEN], TooLong> {
        if gtpu_len > ipv4::MAX_PACKET_LEN - IPV4_UDP_LEN {
            return Err(TooLong);
        }
        let ports = UdpHeader {
            source_port: fields.source_port,
            destination_port: PORT,
        };
        let udp = ports.to_bytes_unsummed(gtpu_len)?;
        let total_len = (IPV4_UDP_LEN + gtpu_len) as u16;
        let varying = self.sum.add_u16(u16::from(fields.tos));
        let sum = varying
            .add_u16(total_len)
            .add_u16(fields.identification)
            .finish();
        let mut out = [0; IPV4_UDP_LEN];
        out[..ipv4::HEADER_LEN].copy_from_slice(&self.header);
        out[1] = fields.tos;
        [out[2], out[3]] = total_len.to_be_bytes();
        [out[4], out[5]] = fields.identification.to_be_bytes();
        [out[10], out[11]] = sum.to_be_bytes();
        out[ipv4::HEADER_LEN..].copy_from_slice(&udp);
        Ok(out)
    }
}
