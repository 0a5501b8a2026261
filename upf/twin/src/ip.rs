//! IP packets of both versions, and their transport headers.

use crate::ipv4;
use crate::ipv6;
use std::net::IpAddr;

/// A sound packet.
pub enum Packet<'a> {
    V4(ipv4::Packet<'a>),
    V6(ipv6::Packet<'a>),
}

/// What is wrong with a packet (RFC 1812, 5.2.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// Version, header length, or too few bytes for a header.
    Header,
    /// Length beyond the bytes that are there, or within the header.
    Length,
    /// Header checksum, which IPv6 has not.
    Checksum,
}

/// What an IP packet carries.
pub struct Upper<'a> {
    /// The protocol, if the packet is long enough to tell it.
    pub protocol: Option<u8>,
    /// Its header and what follows. None in a fragment that is not the first.
    pub payload: Option<&'a [u8]>,
    /// The packet is no fragment.
    pub is_whole: bool,
}

/// Reads the packet at the front of `bytes` by its version.
pub fn read(bytes: &[u8]) -> Result<Packet<'_>, Fault> {
    match bytes.first().map(|first| first >> 4) {
        Some(4) => ipv4::read(bytes).map(Packet::V4),
        Some(6) => ipv6::read(bytes).map(Packet::V6),
        _ => Err(Fault::Header),
    }
}

impl<'a> Packet<'a> {
    /// All of it, without what follows.
    pub fn bytes(&self) -> &'a [u8] {
        match self {
            Self::V4(p) => p.bytes,
            Self::V6(p) => p.bytes,
        }
    }

    pub fn source(&self) -> IpAddr {
        match self {
            Self::V4(p) => p.header.source_addr().into(),
            Self::V6(p) => p.header.source_addr().into(),
        }
    }

    pub fn destination(&self) -> IpAddr {
        match self {
            Self::V4(p) => p.header.destination_addr().into(),
            Self::V6(p) => p.header.destination_addr().into(),
        }
    }

    /// Time to live, or hop limit.
    pub fn hops(&self) -> u8 {
        match self {
            Self::V4(p) => p.header.ttl(),
            Self::V6(p) => p.header.hop_limit(),
        }
    }

    /// The packet with one hop less.
    pub fn with_one_hop_less(&self) -> Vec<u8> {
        match self {
            Self::V4(p) => ipv4::with_one_hop_less(p.bytes),
            Self::V6(p) => ipv6::with_one_hop_less(p.bytes),
        }
    }

    /// A router may cut it: never IPv6 (RFC 8200, 5).
    pub fn may_be_cut(&self) -> bool {
        match self {
            Self::V4(p) => !p.header.dont_fragment(),
            Self::V6(_) => false,
        }
    }

    /// Type of Service, or Traffic Class.
    pub fn traffic_class(&self) -> u8 {
        match self {
            Self::V4(p) => p.bytes[1],
            Self::V6(p) => p.header.traffic_class(),
        }
    }

    /// IPv4 has no flow label.
    pub fn flow_label(&self) -> Option<u32> {
        match self {
            Self::V4(_) => None,
            Self::V6(p) => Some(p.header.flow_label().value()),
        }
    }

    /// The transport header, behind all extension headers.
    pub fn upper(&self) -> Upper<'a> {
        match self {
            Self::V4(p) => p.upper(),
            Self::V6(p) => p.upper(),
        }
    }

    /// The Ethernet type of its frames.
    pub fn ether_type(&self) -> [u8; 2] {
        match self {
            Self::V4(_) => [0x08, 0x00],
            Self::V6(_) => [0x86, 0xdd],
        }
    }

    /// Addresses, protocol, and ports where a whole packet has some; what an IPv6 header says of its
    /// flow besides.
    pub fn flow(&self) -> Vec<u8> {
        let mut flow = match self {
            Self::V4(p) => [p.header.source(), p.header.destination()].concat(),
            Self::V6(p) => [p.header.source(), p.header.destination()].concat(),
        };
        let upper = self.upper();
        flow.extend(upper.protocol);
        if let Self::V6(p) = self {
            flow.push(p.header.next_header().0);
            flow.extend(p.header.flow_label().value().to_be_bytes());
        }
        let has_ports = matches!(upper.protocol, Some(6 | 17 | 132));
        if let Some(payload) = upper.payload.filter(|_| has_ports && upper.is_whole) {
            flow.extend(payload.iter().take(4));
        }
        flow
    }
}
