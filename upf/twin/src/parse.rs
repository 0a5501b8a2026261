//! Frame parser: read from the outside in, every layer by its own rules.

use crate::config::{Link, TwinConfig, contains};
use crate::fragment::Outer;
use crate::gtpu::{self, Message};
use crate::ip::{self, Fault};
use crate::ipv4::{self, Packet};
use crate::ipv6;
use crate::outcome::Drop;
use etherparse::{
    EtherType, Ethernet2HeaderSlice, IpNumber, SingleVlanHeaderSlice, UdpHeaderSlice,
};
use std::net::IpAddr;

/// The GTP-U port (TS 29.281, 4.4.2.3).
const GTPU: u16 = 2152;

/// What concerns us about a frame.
pub enum Arrival<'a> {
    /// For the control core.
    Control,
    /// User data in a tunnel.
    Tunnel(Tunnelled<'a>),
    /// Nothing more comes in a tunnel.
    EndMarker(Tunnelled<'a>),
    /// A plain packet on a link to a data network.
    Plain(Plain<'a>),
    /// A part of a packet to one of our tunnel addresses.
    Fragment(Outer<'a>),
}

/// A G-PDU.
pub struct Tunnelled<'a> {
    /// Where it came in.
    pub link: usize,
    /// The outer destination, one of our tunnel addresses.
    pub to: IpAddr,
    /// The address that stands for that end of tunnels.
    pub local: IpAddr,
    /// The outer source.
    pub peer: IpAddr,
    /// ECN bits of the outer header.
    pub ecn: u8,
    /// The tunnel.
    pub teid: u32,
    /// The QoS flow.
    pub qfi: Option<u8>,
    /// Extension headers that a relay passes on.
    pub passed_on: Vec<(u8, &'a [u8])>,
    /// The inner packet, not yet looked at.
    pub inner: &'a [u8],
}

/// A plain packet.
pub struct Plain<'a> {
    /// Where it came in.
    pub link: usize,
    /// The packet.
    pub packet: ip::Packet<'a>,
}

/// Reads a frame that `port` received.
pub fn read<'a>(config: &TwinConfig, port: u16, frame: &'a [u8]) -> Result<Arrival<'a>, Drop> {
    let truncated = |_| Drop::EthernetTruncated;
    let eth = Ethernet2HeaderSlice::from_slice(frame).map_err(truncated)?;
    let mut kind = eth.ether_type();
    let mut payload = &frame[eth.slice().len()..];
    let mut vlan = None;
    if kind == EtherType::VLAN_TAGGED_FRAME {
        let tag = SingleVlanHeaderSlice::from_slice(payload).map_err(truncated)?;
        kind = tag.ether_type();
        payload = &payload[tag.slice().len()..];
        // VLAN 0 is no VLAN but a priority (IEEE 802.1Q, 6.9.1).
        vlan = Some(tag.vlan_identifier().value()).filter(|v| *v != 0);
    }
    let at = |l: &Link| l.port == port && l.vlan == vlan;
    let at = config.links.iter().position(at).ok_or(Drop::UnknownVlan)?;
    let link = &config.links[at];
    let to_us = eth.destination() == link.mac;
    let to_all = eth.destination() == [0xff; 6];
    match kind {
        EtherType::ARP if to_us || to_all => Ok(Arrival::Control),
        EtherType::IPV4 if to_us => ipv4(config, at, payload),
        EtherType::IPV6 if to_us => ipv6(config, at, payload),
        EtherType::IPV6 if eth.destination()[..2] == [0x33, 0x33] => group(link, payload),
        EtherType::ARP | EtherType::IPV4 | EtherType::IPV6 => Err(Drop::NotOurMac),
        _ => Err(Drop::EtherType),
    }
}

fn ipv4<'a>(config: &TwinConfig, at: usize, payload: &'a [u8]) -> Result<Arrival<'a>, Drop> {
    let packet = ipv4::read(payload).map_err(|fault| match fault {
        Fault::Header => Drop::Ipv4Header,
        Fault::Length => Drop::Ipv4Length,
        Fault::Checksum => Drop::Ipv4Checksum,
    })?;
    let link = &config.links[at];
    let destination = packet.header.destination_addr();
    if link.tunnels.iter().any(|t| t.has(destination.into())) {
        return to_tunnel(config, at, packet);
    }
    if link.addresses.iter().any(|(a, _)| *a == destination) {
        return Ok(Arrival::Control);
    }
    match link.plain {
        Some(_) => Ok(Arrival::Plain(Plain {
            link: at,
            packet: ip::Packet::V4(packet),
        })),
        None => Err(Drop::NoRoute),
    }
}

/// An IPv6 packet to our MAC address. What is for a group or for a link-local address is for this link.
fn ipv6<'a>(config: &TwinConfig, at: usize, payload: &'a [u8]) -> Result<Arrival<'a>, Drop> {
    let packet = ipv6::read(payload).map_err(broken_ipv6)?;
    let link = &config.links[at];
    let to = packet.header.destination_addr();
    if link.tunnels.iter().any(|t| t.has(to.into())) {
        return to_tunnel6(config, at, &packet);
    }
    if link.is_ours(to.into()) || to.is_multicast() || to.is_unicast_link_local() {
        return Ok(Arrival::Control);
    }
    match link.plain {
        Some(_) => Ok(Arrival::Plain(Plain {
            link: at,
            packet: ip::Packet::V6(packet),
        })),
        None => Err(Drop::NoRoute),
    }
}

/// A frame to the MAC address of a group (RFC 2464, 7): neighbours ask for us there.
fn group<'a>(link: &Link, payload: &[u8]) -> Result<Arrival<'a>, Drop> {
    let packet = ipv6::read(payload).map_err(broken_ipv6)?;
    match !link.addresses6.is_empty() && packet.is_neighbour_discovery() {
        true => Ok(Arrival::Control),
        false => Err(Drop::NotOurMac),
    }
}

fn broken_ipv6(fault: Fault) -> Drop {
    match fault {
        Fault::Header => Drop::Ipv6Header,
        Fault::Length | Fault::Checksum => Drop::Ipv6Length,
    }
}

fn to_tunnel<'a>(config: &TwinConfig, at: usize, packet: Packet<'a>) -> Result<Arrival<'a>, Drop> {
    let link = &config.links[at];
    if packet.header.protocol() != IpNumber::UDP {
        return Ok(Arrival::Control);
    }
    if packet.header.is_fragmenting_payload() {
        return Ok(Arrival::Fragment(Outer::of_ipv4(&packet)));
    }
    let datagram = &packet.bytes[packet.header.slice().len()..];
    let udp = UdpHeaderSlice::from_slice(datagram).map_err(|_| Drop::UdpHeader)?;
    let payload = datagram.get(8..usize::from(udp.length()));
    let payload = payload.ok_or(Drop::UdpHeader)?;
    if udp.destination_port() != GTPU {
        return Ok(Arrival::Control);
    }
    let peer = packet.header.source_addr().into();
    allowed(link, peer)?;
    if link.verifies_udp
        && udp.checksum() != 0
        && !is_undamaged(&packet, &datagram[..8 + payload.len()])
    {
        return Err(Drop::UdpChecksum);
    }
    let to = packet.header.destination_addr().into();
    message(link, (at, to, peer), packet.bytes[1] & 3, payload)
}

/// The same over IPv6, behind extension headers or not. There must be a checksum (RFC 8200, 8.1).
fn to_tunnel6<'a>(
    config: &TwinConfig,
    at: usize,
    packet: &ipv6::Packet<'a>,
) -> Result<Arrival<'a>, Drop> {
    let link = &config.links[at];
    let upper = packet.upper();
    if upper.protocol != Some(17) {
        return Ok(Arrival::Control);
    }
    if !upper.is_whole {
        let fragment = Outer::of_ipv6(packet).ok_or(Drop::OuterFragment)?;
        return Ok(Arrival::Fragment(fragment));
    }
    let payload = upper.payload.ok_or(Drop::OuterFragment)?;
    let udp = UdpHeaderSlice::from_slice(payload).map_err(|_| Drop::UdpHeader)?;
    let datagram = payload.get(..usize::from(udp.length()));
    let datagram = datagram.filter(|d| d.len() >= 8).ok_or(Drop::UdpHeader)?;
    if udp.destination_port() != GTPU {
        return Ok(Arrival::Control);
    }
    let header = &packet.header;
    let ends = (
        at,
        header.destination_addr().into(),
        header.source_addr().into(),
    );
    allowed(link, ends.2)?;
    if link.verifies_udp {
        if udp.checksum() == 0 {
            return Err(Drop::UdpChecksumAbsent);
        }
        if udp_sum6(&packet.bytes[8..40], datagram) != 0xffff {
            return Err(Drop::UdpChecksum);
        }
    }
    let traffic_class = packet.bytes[0] << 4 | packet.bytes[1] >> 4;
    message(link, ends, traffic_class & 3, &datagram[8..])
}

/// The sum of an IPv6 pseudo header and a datagram: addresses, length, next header (RFC 8200, 8.1).
pub fn udp_sum6(addresses: &[u8], datagram: &[u8]) -> u16 {
    let len = (datagram.len() as u32).to_be_bytes();
    let pseudo = [addresses, &len, &[0, 0, 0, 17]].concat();
    ipv4::sum(&[&pseudo[..], datagram].concat())
}

/// Prefixes of either version allow; if there are none, all are allowed.
fn allowed(link: &Link, peer: IpAddr) -> Result<(), Drop> {
    let allowed = &link.allowed_peers;
    match allowed.is_empty() || allowed.iter().any(|prefix| contains(*prefix, peer)) {
        true => Ok(()),
        false => Err(Drop::OuterSource),
    }
}

/// What a UDP payload means that came to an address of ours from a peer.
fn message<'a>(
    link: &Link,
    (at, to, peer): (usize, IpAddr, IpAddr),
    ecn: u8,
    payload: &'a [u8],
) -> Result<Arrival<'a>, Drop> {
    let end = link.tunnels.iter().find(|t| t.has(to));
    let came = |teid| Tunnelled {
        link: at,
        to,
        local: end.map_or(to, |end| end.address),
        peer,
        ecn,
        teid,
        qfi: None,
        passed_on: Vec::new(),
        inner: &[],
    };
    match gtpu::read(payload)? {
        Message::Signalling => Ok(Arrival::Control),
        Message::EndMarker { teid } => Ok(Arrival::EndMarker(came(teid))),
        Message::GPdu {
            teid,
            qfi,
            passed_on,
            inner,
        } => Ok(Arrival::Tunnel(Tunnelled {
            qfi,
            passed_on,
            inner,
            ..came(teid)
        })),
    }
}

/// The sum over pseudo header and datagram (RFC 768) comes out.
fn is_undamaged(packet: &Packet<'_>, datagram: &[u8]) -> bool {
    let h = &packet.header;
    let len = (datagram.len() as u16).to_be_bytes();
    let pseudo = [&h.source()[..], &h.destination(), &[0, 17], &len].concat();
    ipv4::sum(&[&pseudo[..], datagram].concat()) == 0xffff
}
