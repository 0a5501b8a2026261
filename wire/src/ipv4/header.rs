//! IPv4 header builder.

use super::{HEADER_LEN, Ipv4, MAX_PACKET_LEN, Protocol, TooLong};
use crate::checksum::checksum;
use core::net::Ipv4Addr;

/// The fields of a header to be written; lengths and checksum follow from them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ipv4Header {
    /// DSCP in the upper six bits, ECN in the lower two.
    pub tos: u8,
    /// The number that fragments of one packet share; of no meaning while DF is set (RFC 6864).
    pub identification: u16,
    /// DF: routers may not fragment.
    pub dont_fragment: bool,
    /// MF: this is not the last fragment.
    pub more_fragments: bool,
    /// Place of the payload in the original, in units of 8 octets; the low 13 bits count.
    pub fragment_offset: u16,
    /// Time to live in hops.
    pub ttl: u8,
    /// What the payload is.
    pub protocol: Protocol,
    /// The sender.
    pub source: Ipv4Addr,
    /// The receiver.
    pub destination: Ipv4Addr,
}

impl Ipv4Header {
    /// A whole packet with the recommended TTL of 64 (RFC 1700), DF clear, best effort.
    pub const fn new(protocol: Protocol, source: Ipv4Addr, destination: Ipv4Addr) -> Self {
        Self {
            tos: 0,
            identification: 0,
            dont_fragment: false,
            more_fragments: false,
            fragment_offset: 0,
            ttl: 64,
            protocol,
            source,
            destination,
        }
    }

    /// The header without options, before `payload_len` octets, with its checksum.
    ///
    /// # Errors
    /// [`TooLong`] if header and payload exceed 65535 octets.
    #[inline]
    pub fn to_bytes(&self, payload_len: usize) -> Result<[u8; HEADER_LEN], TooLong> {
        if payload_len > MAX_PACKET_LEN - HEADER_LEN {
            return Err(TooLong);
        }
        let mut out = self.unsummed((HEADER_LEN + payload_len) as u16);
        let sum = checksum(&out);
        [out[10], out[11]] = sum.to_be_bytes();
        Ok(out)
    }

    /// The header with the checksum field 0.
    #[inline]
    pub(crate) fn unsummed(&self, total_len: u16) -> [u8; HEADER_LEN] {
        let flags = u16::from(self.dont_fragment) << 14 | u16::from(self.more_fragments) << 13;
        let [len0, len1] = total_len.to_be_bytes();
        let [id0, id1] = self.identification.to_be_bytes();
        let [off0, off1] = (flags | self.fragment_offset & 0x1fff).to_be_bytes();
        let [s0, s1, s2, s3] = self.source.octets();
        let [d0, d1, d2, d3] = self.destination.octets();
        [
            0x45,
            self.tos,
            len0,
            len1,
            id0,
            id1,
            off0,
            off1,
            self.ttl,
            self.protocol.0,
            0,
            0,
            s0,
            s1,
            s2,
            s3,
            d0,
            d1,
            d2,
            d3,
        ]
    }
}

impl From<&Ipv4<'_>> for Ipv4Header {
    /// The fields of a packet that was read, its options left out.
    fn from(packet: &Ipv4<'_>) -> Self {
        Self {
            tos: packet.tos(),
            identification: packet.identification(),
            dont_fragment: packet.dont_fragment(),
            more_fragments: packet.more_fragments(),
            fragment_offset: packet.fragment_offset(),
            ttl: packet.ttl(),
            protocol: packet.protocol(),
            source: packet.source(),
            destination: packet.destination(),
        }
    }
}
