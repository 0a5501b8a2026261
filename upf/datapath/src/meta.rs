//! Packet metadata between *parse* and *transmit*.

use crate::ids::{EntryId, InterfaceId};

/// How a packet came in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Arrival {
    /// As a G-PDU.
    Tunnel,
    /// As an End Marker: no packet, but the word that none follows in this tunnel.
    EndMarker,
    /// As a plain IPv4 packet.
    Plain,
    /// As a plain IPv6 packet.
    PlainIpv6,
    /// As a plain IPv4 packet to a public address, to be translated.
    Public,
}

impl Arrival {
    /// True if it came in a tunnel.
    #[inline(always)]
    pub const fn is_tunnelled(self) -> bool {
        matches!(self, Self::Tunnel | Self::EndMarker)
    }
}

/// QFI of a packet that carries none.
pub const NO_QFI: u8 = 0xff;

/// 24 bytes beside the packet, in the same order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Meta {
    /// TEID or UE address that the packet is placed by, host order; of IPv6 the prefix's upper half.
    pub key: u32,
    /// Its entry, once placed.
    pub entry: EntryId,
    /// Outer source, host order (tunnel only; [folded](crate::rx::parse::outer_src) if that is IPv6, whose frame has it whole); of a plain IPv6 packet the prefix's lower half; of a plain
    /// IPv4 packet the number of the public port that it came to and one, or 0.
    pub outer_src: u32,
    /// From the first byte of the frame to the inner IP packet.
    pub inner_at: u16,
    /// Length of the inner IP packet as the layer below tells; its own header is checked later.
    pub inner_len: u16,
    /// QFI of the PDU Session Container, or [`NO_QFI`].
    pub qfi: u8,
    /// Where it arrived.
    pub interface: InterfaceId,
    /// Number of the local tunnel address, or of the network instance of a plain packet.
    pub local: u8,
    /// How it came in.
    pub arrival: Arrival,
    /// It came in the shape that nearly all packets have (`crate::rx::header_match`).
    pub fast_path: bool,
    /// Number of the tracing that the worker had who parsed it; 0: it followed nothing.
    pub traced: u8,
}

// A burst of 32 is twelve cache lines.
const _: () = assert!(size_of::<Meta>() == 24);

impl Meta {
    /// The prefix that a plain IPv6 packet is placed by: the upper half of its destination.
    #[inline(always)]
    pub const fn prefix(&self) -> u64 {
        (self.key as u64) << 32 | self.outer_src as u64
    }

    /// A plain IPv4 packet to an address, in host order, in a network instance; not placed yet.
    #[inline(always)]
    pub const fn to_address(address: u32, instance: u8) -> Self {
        Self {
            key: address,
            local: instance,
            arrival: Arrival::Plain,
            ..Self::NONE
        }
    }

    /// A plain IPv6 packet to an address with this prefix in a network instance; not placed yet.
    #[inline(always)]
    pub const fn to_prefix(prefix: u64, instance: u8) -> Self {
        Self {
            key: (prefix >> 32) as u32,
            outer_src: prefix as u32,
            local: instance,
            arrival: Arrival::PlainIpv6,
            ..Self::NONE
        }
    }

    /// Of no packet.
    pub const NONE: Self = Self {
        key: 0,
        entry: EntryId(0),
        outer_src: 0,
        inner_at: 0,
        inner_len: 0,
        qfi: NO_QFI,
        interface: InterfaceId(0),
        local: 0,
        arrival: Arrival::Plain,
        fast_path: false,
        traced: 0,
    };
}
