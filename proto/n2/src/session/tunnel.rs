//! GTP-U tunnel endpoints on N2 (TS 38.413, 9.3.2.2).

use core::net::{Ipv4Addr, Ipv6Addr};

use oxirush_ngap::aper::BitString;
use oxirush_ngap::{Error, ie, ngap};

use crate::table::Element;

/// A GTP-U tunnel endpoint; it has an address at least.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Tunnel {
    /// IPv4 address of the endpoint.
    pub ipv4: Option<Ipv4Addr>,
    /// IPv6 address of the endpoint.
    pub ipv6: Option<Ipv6Addr>,
    /// TEID.
    pub teid: u32,
}

impl Tunnel {
    pub(crate) fn as_asn1(&self) -> ngap::UPTransportLayerInformation<'static> {
        let mut address = Vec::new();
        address.extend(self.ipv4.iter().flat_map(Ipv4Addr::octets));
        address.extend(self.ipv6.iter().flat_map(Ipv6Addr::octets));
        let address = ngap::TransportLayerAddress(BitString::from_octets(address));
        let teid = ngap::GTPTEID(self.teid.to_be_bytes());
        ngap::UPTransportLayerInformation::gTPTunnel(ngap::GTPTunnel::new(address, teid, None))
    }

    /// None of what is no tunnel, or has no address (TS 38.414, 5.1: 4, 16 or 20 octets).
    pub(crate) fn of_asn1(value: &ngap::UPTransportLayerInformation<'_>) -> Option<Self> {
        let ngap::UPTransportLayerInformation::gTPTunnel(tunnel) = value else {
            return None;
        };
        let octets = tunnel.transport_layer_address.0.as_octets();
        let (ipv4, ipv6) = match octets.len() {
            4 => (octets.first_chunk::<4>(), None),
            16 => (None, octets.first_chunk::<16>()),
            20 => (octets.first_chunk::<4>(), octets.last_chunk::<16>()),
            _ => return None,
        };
        Some(Self {
            ipv4: ipv4.map(|octets| Ipv4Addr::from(*octets)),
            ipv6: ipv6.map(|octets| Ipv6Addr::from(*octets)),
            teid: u32::from_be_bytes(tunnel.gtp_teid.0),
        })
    }
}

impl Element<ie::UL_NGU_UP_TNLInformation> for Tunnel {
    fn read(value: ngap::UPTransportLayerInformation<'_>) -> Option<Self> {
        Self::of_asn1(&value)
    }

    fn write(&self) -> Result<ngap::UPTransportLayerInformation<'static>, Error> {
        Ok(self.as_asn1())
    }
}
