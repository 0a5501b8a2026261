//! Parse: frame class, and packet metadata of user traffic.

use crate::drop::DropReason;
use crate::meta::{Arrival, Meta};
use crate::rx::gtpu;
use crate::tables::{Interface, InterfaceId, Tables};
use core::net::{IpAddr, Ipv6Addr};
use sluice_port::PortId;
use sluice_wire::eth::{EtherType, MacAddr};
use sluice_wire::gtpu::PORT;
use sluice_wire::ipv4::{Ipv4, Ipv4Error, Protocol};
use sluice_wire::ipv6::{Ipv6, Ipv6Error};
use sluice_wire::layout::{be16, eth};
use sluice_wire::pfcp;
use sluice_wire::udp::{self, Udp};

/// What a frame is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Class {
    /// User traffic, to be placed.
    User(Meta),
    /// For the control core: ARP, signalling, or addressed to Sluice itself.
    Control(InterfaceId),
    /// PFCP for the control core, or a fragment at an address where PFCP is served.
    N4(InterfaceId),
    /// An outer fragment for a tunnel address: to be reassembled, then parsed again.
    Fragment(InterfaceId),
    /// Nothing of that.
    Drop(DropReason),
}

/// Classifies a frame from `port`. Total: any bytes have a class.
#[inline]
pub fn classify(frame: &[u8], port: PortId, tables: &Tables) -> Class {
    parse(frame, port, tables).unwrap_or_else(Class::Drop)
}

#[inline]
fn parse(frame: &[u8], port: PortId, tables: &Tables) -> Result<Class, DropReason> {
    let header = frame
        .first_chunk::<{ eth::LEN }>()
        .ok_or(DropReason::EthernetTruncated)?;
    let (kind, at, vlan) = match EtherType(be16(header, eth::ETHERTYPE.start)) {
        EtherType::VLAN => tagged(frame)?,
        kind => (kind, eth::LEN, None),
    };
    let (id, interface) = tables
        .interface(port, vlan)
        .ok_or(DropReason::UnknownVlan)?;
    let to = &header[eth::DESTINATION];
    let ours = *to == interface.mac;
    match kind {
        EtherType::IPV4 if ours => ipv4(frame, at, id, interface),
        EtherType::ARP if ours || *to == MacAddr::BROADCAST.0 => Ok(Class::Control(id)),
        EtherType::IPV6 if ours => ipv6(frame, at, id, interface),
        EtherType::IPV6 if to[..2] == [0x33, 0x33] => ipv6_group(frame, at, id, interface),
        EtherType::IPV4 | EtherType::ARP | EtherType::IPV6 => Err(DropReason::NotOurMac),
        _ => Err(DropReason::EtherType),
    }
}

#[cold]
fn tagged(frame: &[u8]) -> Result<(EtherType, usize, Option<u16>), DropReason> {
    let header = frame
        .first_chunk::<{ eth::TAGGED_LEN }>()
        .ok_or(DropReason::EthernetTruncated)?;
    let vlan = be16(header, eth::TCI.start) & eth::VLAN_MASK;
    let kind = EtherType(be16(header, eth::TAGGED_ETHERTYPE.start));
    // Priority-tagged frames (VLAN 0) belong to the untagged interface (IEEE 802.1Q, 6.9.1).
    Ok((kind, eth::TAGGED_LEN, (vlan != 0).then_some(vlan)))
}

#[inline]
fn ipv4(
    frame: &[u8],
    at: usize,
    id: InterfaceId,
    interface: &Interface,
) -> Result<Class, DropReason> {
    let packet = frame.get(at..).ok_or(DropReason::Ipv4Header)?;
    let ip = Ipv4::parse(packet).map_err(broken)?;
    let dst = ip.destination_u32();
    if let Some(local) = tunnel(interface, dst) {
        return to_tunnel(&ip, at, id, local, interface);
    }
    if interface.addresses.iter().any(|a| u32::from(*a) == dst) {
        return Ok(to_us(&ip, id, interface));
    }
    let instance = interface.arrives_in().ok_or(DropReason::NoRoute)?;
    Ok(Class::User(Meta {
        inner_at: at as u16,
        inner_len: ip.total_len(),
        interface: id,
        ..Meta::to_address(dst, instance.0)
    }))
}

fn ipv6(
    frame: &[u8],
    at: usize,
    id: InterfaceId,
    interface: &Interface,
) -> Result<Class, DropReason> {
    let ip = whole_ipv6(frame, at)?;
    let dst = ip.destination();
    if let Some(local) = tunnel_ipv6(interface, dst) {
        return to_tunnel_ipv6(&ip, at, id, local, interface);
    }
    let is_ours = interface.addresses_ipv6.contains(&dst);
    if is_ours || dst.is_multicast() || dst.is_unicast_link_local() {
        return Ok(Class::Control(id));
    }
    let instance = interface.arrives_in().ok_or(DropReason::NoRoute)?;
    Ok(Class::User(Meta {
        inner_at: at as u16,
        inner_len: u16::try_from(ip.total_len()).map_err(|_| DropReason::Ipv6Length)?,
        interface: id,
        ..Meta::to_prefix(ip.destination_prefix(), instance.0)
    }))
}

/// To a group: neighbours ask for us at the group of our address (RFC 4861, 7.2.1).
#[cold]
fn ipv6_group(
    frame: &[u8],
    at: usize,
    id: InterfaceId,
    interface: &Interface,
) -> Result<Class, DropReason> {
    let ip = whole_ipv6(frame, at)?;
    let is_asked = !interface.addresses_ipv6.is_empty() && is_neighbour_discovery(&ip);
    if is_asked {
        Ok(Class::Control(id))
    } else {
        Err(DropReason::NotOurMac)
    }
}

#[inline]
fn whole_ipv6(frame: &[u8], at: usize) -> Result<Ipv6<'_>, DropReason> {
    let packet = frame.get(at..).ok_or(DropReason::Ipv6Header)?;
    Ipv6::parse(packet).map_err(broken_ipv6)
}

#[cold]
fn broken_ipv6(error: Ipv6Error) -> DropReason {
    match error {
        Ipv6Error::PayloadLength { .. } => DropReason::Ipv6Length,
        _ => DropReason::Ipv6Header,
    }
}

/// RFC 1812, 5.2.2: version, header length, checksum, total length.
#[cold]
fn broken(error: Ipv4Error) -> DropReason {
    match error {
        Ipv4Error::TotalLength { .. } => DropReason::Ipv4Length,
        Ipv4Error::Checksum => DropReason::Ipv4Checksum,
        _ => DropReason::Ipv4Header,
    }
}

#[inline]
fn tunnel(interface: &Interface, dst: u32) -> Option<u8> {
    interface
        .tunnels
        .iter()
        .find(|t| u32::from(t.address) == dst)
        .map(|t| t.local)
}

#[inline]
fn to_tunnel(
    ip: &Ipv4<'_>,
    at: usize,
    id: InterfaceId,
    local: u8,
    interface: &Interface,
) -> Result<Class, DropReason> {
    if ip.protocol() != Protocol::UDP {
        return Ok(Class::Control(id));
    }
    if ip.is_fragment() {
        return Ok(Class::Fragment(id));
    }
    let udp = Udp::parse(ip.payload()).map_err(|_| DropReason::UdpHeader)?;
    if udp.destination_port() != PORT {
        return Ok(to_us(ip, id, interface));
    }
    if !allowed(interface, ip.source_u32()) {
        return Err(DropReason::OuterSource);
    }
    if udp.checksum().is_some() && interface.verifies_udp {
        undamaged(ip, &udp)?;
    }
    let came = Meta {
        outer_src: ip.source_u32(),
        interface: id,
        local,
        ..Meta::NONE
    };
    gtpu(&udp, at + ip.header_len(), came)
}

/// What a GTP-U message behind the outer IP header is, whose datagram begins at `udp_at`.
#[inline(always)]
fn gtpu(udp: &Udp<'_>, udp_at: usize, came: Meta) -> Result<Class, DropReason> {
    let (pdu, arrival) = match gtpu::parse(udp.payload())? {
        gtpu::Message::Pdu(pdu) => (pdu, Arrival::Tunnel),
        gtpu::Message::EndMarker(pdu) => (pdu, Arrival::EndMarker),
        gtpu::Message::Signalling => return Ok(Class::Control(came.interface)),
    };
    Ok(Class::User(Meta {
        key: pdu.teid,
        inner_at: (udp_at + udp::HEADER_LEN) as u16 + pdu.payload_at,
        inner_len: pdu.payload_len,
        qfi: pdu.qfi,
        arrival,
        ..came
    }))
}

#[inline]
fn tunnel_ipv6(interface: &Interface, dst: Ipv6Addr) -> Option<u8> {
    let mut tunnels = interface.tunnels_ipv6.iter();
    tunnels.find(|t| t.address == dst).map(|t| t.local)
}

/// To a tunnel address of IPv6. UDP may stand behind extension headers.
fn to_tunnel_ipv6(
    ip: &Ipv6<'_>,
    at: usize,
    id: InterfaceId,
    local: u8,
    interface: &Interface,
) -> Result<Class, DropReason> {
    let upper = ip.upper_layer();
    if upper.protocol != Protocol::UDP {
        return Ok(Class::Control(id));
    }
    if upper.is_fragment {
        // What stands before the fragment header belongs to each part; nobody sends it in front of tunnels.
        return match ip.next_header() {
            Protocol::FRAGMENT => Ok(Class::Fragment(id)),
            _ => Err(DropReason::OuterFragment),
        };
    }
    let udp = Udp::parse(upper.payload).map_err(|_| DropReason::UdpHeader)?;
    if udp.destination_port() != PORT {
        return Ok(Class::Control(id));
    }
    if !allowed_ipv6(interface, ip.source()) {
        return Err(DropReason::OuterSource);
    }
    if interface.verifies_udp {
        undamaged_ipv6(ip, &udp)?;
    }
    let came = Meta {
        outer_src: outer_src(ip.source().into()),
        interface: id,
        local,
        ..Meta::NONE
    };
    gtpu(&udp, at + ip.total_len() - upper.payload.len(), came)
}

/// An outer source as metadata has it: of IPv6 its four words together, by which tracings tell peers apart.
pub fn outer_src(source: IpAddr) -> u32 {
    match source {
        IpAddr::V4(source) => source.into(),
        IpAddr::V6(source) => {
            let half = source.to_bits() as u64 ^ (source.to_bits() >> 64) as u64;
            half as u32 ^ (half >> 32) as u32
        }
    }
}

/// Over IPv6 there must be a checksum (RFC 8200, 8.1).
fn undamaged_ipv6(ip: &Ipv6<'_>, udp: &Udp<'_>) -> Result<(), DropReason> {
    match udp.checksum() {
        None => Err(DropReason::UdpChecksumAbsent),
        Some(_) if udp.verify_ipv6(ip.source(), ip.destination()) => Ok(()),
        Some(_) => Err(DropReason::UdpChecksum),
    }
}

/// What is addressed to Sluice itself: PFCP goes a way of its own, so that a storm of it holds back
/// nothing else. Only the first fragment names its port, so all of them go the same way.
#[cold]
fn to_us(ip: &Ipv4<'_>, id: InterfaceId, interface: &Interface) -> Class {
    let serves = ip.protocol() == Protocol::UDP && interface.n4.contains(&ip.destination());
    let is_pfcp = |udp: Udp<'_>| udp.destination_port() == pfcp::PORT;
    if serves && (ip.is_fragment() || Udp::parse(ip.payload()).is_ok_and(is_pfcp)) {
        Class::N4(id)
    } else {
        Class::Control(id)
    }
}

/// A checksum covers the whole packet; most senders save it (RFC 768 lets them). Nobody is told of
/// damage: the addresses may be what is damaged.
#[cold]
fn undamaged(ip: &Ipv4<'_>, udp: &Udp<'_>) -> Result<(), DropReason> {
    if udp.verify(ip.source(), ip.destination()) {
        Ok(())
    } else {
        Err(DropReason::UdpChecksum)
    }
}

/// Where prefixes of IPv6 alone are allowed, nobody is by IPv4.
#[inline]
fn allowed(interface: &Interface, src: u32) -> bool {
    let list = &interface.allowed_peers;
    if list.is_empty() {
        interface.allowed_peers_ipv6.is_empty()
    } else {
        list.iter().any(|p| p.contains(src))
    }
}

/// The same the other way round.
fn allowed_ipv6(interface: &Interface, src: Ipv6Addr) -> bool {
    let list = &interface.allowed_peers_ipv6;
    if list.is_empty() {
        interface.allowed_peers.is_empty()
    } else {
        list.iter().any(|p| p.contains(src.to_bits()))
    }
}

/// Router Solicitation (RFC 4861, 4.1).
const ROUTER_SOLICITATION: u8 = 133;
/// Redirect, the last of neighbour discovery (RFC 4861, 4.5).
const REDIRECT: u8 = 137;

fn icmpv6_type(ip: &Ipv6<'_>) -> Option<u8> {
    let upper = ip.upper_layer();
    let is_icmpv6 = upper.protocol == Protocol::ICMPV6 && !upper.is_later_fragment;
    upper.payload.first().copied().filter(|_| is_icmpv6)
}

/// True for a UE's question for a router.
pub fn is_router_solicitation(packet: &[u8]) -> bool {
    Ipv6::parse(packet).is_ok_and(|ip| icmpv6_type(&ip) == Some(ROUTER_SOLICITATION))
}

/// True for messages between neighbours on a link.
pub fn is_neighbour_discovery(ip: &Ipv6<'_>) -> bool {
    icmpv6_type(ip).is_some_and(|kind| (ROUTER_SOLICITATION..=REDIRECT).contains(&kind))
}
