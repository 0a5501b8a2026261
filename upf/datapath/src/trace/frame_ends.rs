//! Frame endpoints: addresses and TEID of a frame without metadata.

use core::net::{IpAddr, Ipv4Addr};
use sluice_wire::gtpu::{GPdu, PORT};
use sluice_wire::ipv4::{Ipv4, Protocol};
use sluice_wire::ipv6::{Ipv6, is_ipv6};
use sluice_wire::layout::eth;
use sluice_wire::udp::Udp;

/// The ends of a frame, as far as it is an IP packet.
#[derive(Default)]
pub(super) struct FrameEnds {
    pub(super) src: Option<IpAddr>,
    pub(super) dst: Option<IpAddr>,
    pub(super) teid: Option<u32>,
    pub(super) inner_src: Option<Ipv4Addr>,
}

impl FrameEnds {
    pub(super) fn of(frame: &[u8]) -> Self {
        let packet = eth::payload_at(frame).and_then(|at| frame.get(at..));
        let Some((ends, datagram)) = packet.and_then(outer) else {
            return Self::default();
        };
        let udp = datagram.and_then(|datagram| Udp::parse(datagram).ok());
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

/// The ends of an IP packet, and the whole UDP datagram in it, if there is one.
fn outer(packet: &[u8]) -> Option<(FrameEnds, Option<&[u8]>)> {
    let ends = |src: IpAddr, dst: IpAddr| FrameEnds {
        src: Some(src),
        dst: Some(dst),
        ..FrameEnds::default()
    };
    if is_ipv6(packet) {
        let ip = Ipv6::parse(packet).ok()?;
        let upper = ip.upper_layer();
        let whole_udp = upper.protocol == Protocol::UDP && !upper.is_fragment;
        let ends = ends(ip.source().into(), ip.destination().into());
        return Some((ends, whole_udp.then_some(upper.payload)));
    }
    let ip = Ipv4::parse(packet).ok()?;
    let whole_udp = ip.protocol() == Protocol::UDP && !ip.is_fragment();
    let ends = ends(ip.source().into(), ip.destination().into());
    Some((ends, whole_udp.then_some(ip.payload())))
}
