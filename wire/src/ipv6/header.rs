//! IPv6 header builder.

use super::{HEADER_LEN, Ipv6, Protocol};
use crate::ipv4::TooLong;
use crate::layout::ipv6 as layout;
use core::net::Ipv6Addr;

/// The fields of a header to be written; the payload length follows from the payload.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ipv6Header {
    /// DSCP in the upper six bits, ECN in the lower two.
    pub traffic_class: u8,
    /// The flow label; the low 20 bits count. 0 is none (RFC 6437, 2).
    pub flow_label: u32,
    /// What follows the header.
    pub next_header: Protocol,
    /// Hops that are left.
    pub hop_limit: u8,
    /// The sender.
    pub source: Ipv6Addr,
    /// The receiver.
    pub destination: Ipv6Addr,
}

impl Ipv6Header {
    /// Best effort, without flow label, with the usual hop limit of 64.
    pub const fn new(next_header: Protocol, source: Ipv6Addr, destination: Ipv6Addr) -> Self {
        Self {
            traffic_class: 0,
            flow_label: 0,
            next_header,
            hop_limit: 64,
            source,
            destination,
        }
    }

    /// The header before `payload_len` octets, extension headers counted.
    ///
    /// # Errors
    /// [`TooLong`] if the payload exceeds 65535 octets.
    #[inline]
    pub fn to_bytes(&self, payload_len: usize) -> Result<[u8; HEADER_LEN], TooLong> {
        let payload_len = u16::try_from(payload_len).map_err(|_| TooLong)?;
        let word = 6 << 28 | u32::from(self.traffic_class) << 20 | self.flow_label & 0x000f_ffff;
        let mut out = [0; HEADER_LEN];
        out[..layout::PAYLOAD_LEN].copy_from_slice(&word.to_be_bytes());
        out[layout::PAYLOAD_LEN..layout::NEXT_HEADER].copy_from_slice(&payload_len.to_be_bytes());
        out[layout::NEXT_HEADER] = self.next_header.0;
        out[layout::HOP_LIMIT] = self.hop_limit;
        out[layout::SOURCE..layout::DESTINATION].copy_from_slice(&self.source.octets());
        out[layout::DESTINATION..].copy_from_slice(&self.destination.octets());
        Ok(out)
    }
}

impl From<&Ipv6<'_>> for Ipv6Header {
    /// The fields of a packet that was read, extension headers left where they are.
    fn from(packet: &Ipv6<'_>) -> Self {
        Self {
            traffic_class: packet.traffic_class(),
            flow_label: packet.flow_label(),
            next_header: packet.next_header(),
            hop_limit: packet.hop_limit(),
            source: packet.source(),
            destination: packet.destination(),
        }
    }
}
