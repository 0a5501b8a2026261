//! Frame endpoints: addresses and TEID of a frame without metadata.

use core::net::Ipv4Addr;
use sluice_wire::gtpu::{GPdu, PORT};
use sluice_wire::ipv4::{Ipv4, Protocol};
use sluice_wire::layout::eth;
use sluice_wire::udp::Udp;

/// The ends of a frame, as far as it is an IPv4 packet.
#[derive(Default)]
pub(super) struct FrameEnds {
    pub(super) src: Option<Ipv4Addr>,
    pub(super) dst: Option<Ipv4Addr>,
    pub(super) teid: Option<u32>,
    pub(super) inner_src: Option<Ipv4Addr>,
}

impl FrameEnds {
    pub(super) fn of(frame: &[u8]) -> Self {
        let packet = eth::payload_at(frame).and_then(|at| frame.get(at..));
        let Some(ip) = packet.and_then(|packet| Ipv4::parse(packet).ok()) else {
            return Self::default();
        };
        let ends = Self {
            src: Some(ip.source()),
            dst: Some(ip.destination()),
            ..Self::default()
        };
        let whole_udp = ip.protocol() == Protocol::UDP && !ip.is_fragment();
        let udp = Udp::parse(ip.payload()).ok().filter(|_| whole_udp);
        let Some(udp) = udp.filter(|udp| udp.destination_port() == PORT) else {
            return ends;
        };
        let Ok(pdu) = GPdu::parse(udp.payload()) else {
            return ends;
        };
        let inner = udp.payload().get(usize::from(pdu.payload_offset)..);
        let inner = inner.and_then(|inner| Ipv4::parse_unsummed(inner).ok());
        Self {
            teid: Some(pdu.teid.get()),
            inner_src: inner.map(|ip| ip.source()),
            ..ends
        }
    }
}
