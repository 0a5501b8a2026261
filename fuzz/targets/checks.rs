//! What every frame of ours must be, whoever asked for it.

use sluice_wire::eth::{Eth, EtherType};
use sluice_wire::gtpu::{self, GPdu};
use sluice_wire::icmp::Icmp;
use sluice_wire::ipv4::{Ipv4, Protocol};
use sluice_wire::udp::Udp;

/// An IPv4 packet in a frame of ours, whose header is sound and whose length is that of the frame.
pub(super) fn ip_in(frame: &[u8]) -> Option<Ipv4<'_>> {
    let eth = Eth::parse(frame).expect("a frame of ours");
    if eth.ethertype() != EtherType::IPV4 {
        return None;
    }
    let ip = Ipv4::parse(eth.payload()).expect("a packet of ours");
    let total = usize::from(ip.total_len());
    assert_eq!(total, eth.payload().len(), "nothing behind the packet");
    Some(ip)
}

/// The UDP datagram in a packet of ours, its checksum right where there is one.
pub(super) fn udp_in<'a>(ip: &Ipv4<'a>) -> Option<Udp<'a>> {
    if ip.protocol() != Protocol::UDP || ip.is_fragment() {
        return None;
    }
    let udp = Udp::parse(ip.payload()).expect("a datagram of ours");
    assert!(udp.verify(ip.source(), ip.destination()));
    Some(udp)
}

/// The ICMP message in a packet of ours verifies.
pub(super) fn icmp_in(ip: &Ipv4<'_>) {
    if ip.protocol() == Protocol::ICMP && !ip.is_fragment() {
        assert!(Icmp::parse(ip.payload()).is_ok(), "an ICMP message of ours");
    }
}

/// The inner packet if this datagram is a G-PDU.
pub(super) fn g_pdu_payload<'a>(udp: &Udp<'a>) -> Option<&'a [u8]> {
    if udp.destination_port() != gtpu::PORT {
        return None;
    }
    let g_pdu = GPdu::parse(udp.payload()).ok()?;
    let inner = g_pdu.payload(udp.payload()).expect("a payload");
    let ip = Ipv4::parse(inner).expect("an inner packet of ours");
    assert_eq!(usize::from(ip.total_len()), inner.len());
    Some(inner)
}
