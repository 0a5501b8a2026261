//! Flow of a packet: addresses, protocol, ports and marks, as SDF filters ask for them.

use sluice_wire::ipv4::{Ipv4, Protocol};
use sluice_wire::ipv6::Ipv6;

/// What SDF filters can ask of an inner packet (TS 29.244, 8.2.5). Addresses of IPv4 are the lowest 32 bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Flow {
    /// True for IPv6.
    pub is_ipv6: bool,
    /// Protocol, of IPv6 that behind the extension headers.
    pub protocol: u8,
    /// ToS or traffic class.
    pub tos: u8,
    /// Flow label; 0 for IPv4.
    pub label: u32,
    /// Source address.
    pub source: u128,
    /// Destination address.
    pub destination: u128,
    /// Source and destination port, where the packet shows them.
    pub ports: Option<(u16, u16)>,
    /// Security parameter index, where the packet shows one.
    pub spi: Option<u32>,
}

/// Octets before the SPI in an Authentication Header (RFC 4302, 2).
const AH_SPI_AT: usize = 4;

impl Flow {
    /// Of an inner packet that was checked; of none that is broken.
    pub fn of(inner: &[u8]) -> Self {
        match inner.first().map(|octet| octet >> 4) {
            Some(6) => Ipv6::parse(inner).map_or_else(|_| Self::default(), |ip| Self::of_ipv6(&ip)),
            _ => Ipv4::parse_unsummed(inner)
                .map_or_else(|_| Self::default(), |ip| Self::of_ipv4(&ip)),
        }
    }

    /// The flow as filters ask for it, which are written for the downlink: from the remote end to the UE's (TS 29.244,
    /// 5.2.1A.2A).
    #[inline]
    pub fn towards_ue(self, is_from_ue: bool) -> Self {
        if is_from_ue {
            Self {
                source: self.destination,
                destination: self.source,
                ports: self.ports.map(|(from, to)| (to, from)),
                ..self
            }
        } else {
            self
        }
    }

    fn of_ipv4(ip: &Ipv4<'_>) -> Self {
        let is_later_fragment = ip.fragment_offset() != 0;
        Self {
            protocol: ip.protocol().0,
            tos: ip.tos(),
            source: ip.source_u32().into(),
            destination: ip.destination_u32().into(),
            ..Self::default()
        }
        .with_transport(ip.payload(), is_later_fragment)
    }

    fn of_ipv6(ip: &Ipv6<'_>) -> Self {
        let upper = ip.upper_layer();
        Self {
            is_ipv6: true,
            protocol: upper.protocol.0,
            tos: ip.traffic_class(),
            label: ip.flow_label(),
            source: ip.source().to_bits(),
            destination: ip.destination().to_bits(),
            ..Self::default()
        }
        .with_transport(upper.payload, upper.is_later_fragment)
    }

    /// A later fragment shows neither ports nor SPI.
    fn with_transport(mut self, payload: &[u8], is_later_fragment: bool) -> Self {
        if is_later_fragment {
            return self;
        }
        let word = |at: usize| {
            payload
                .get(at..)?
                .first_chunk()
                .map(|w| u32::from_be_bytes(*w))
        };
        match Protocol(self.protocol) {
            Protocol::TCP
            | Protocol::UDP
            | Protocol::SCTP
            | Protocol::DCCP
            | Protocol::UDP_LITE => {
                self.ports = word(0).map(|ports| ((ports >> 16) as u16, ports as u16));
            }
            Protocol::ESP => self.spi = word(0),
            Protocol::AH => self.spi = word(AH_SPI_AT),
            _ => {}
        }
        self
    }
}
