//! Parse: what is this frame, and does it concern a session.

use crate::drop::DropReason;
use crate::meta::{Entry, Meta, NO_QFI};
use crate::stage::gtpu;
use crate::tables::{Interface, InterfaceId, Tables};
use sluice_port::PortId;
use sluice_wire::checksum::Sum;

const ETHERNET: usize = 14;
const TAG: usize = 4;
const IPV4: usize = 20;
const UDP: usize = 8;
const TPID_VLAN: u16 = 0x8100;
const TYPE_IPV4: u16 = 0x0800;
const TYPE_ARP: u16 = 0x0806;
const PROTOCOL_UDP: u8 = 17;

/// The GTP-U port (TS 29.281, 4.4.2).
pub const GTPU_PORT: u16 = 2152;

/// What a frame is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Class {
    /// User traffic, to be placed.
    User(Meta),
    /// For the control core: ARP, signalling, or addressed to Sluice itself.
    Control(InterfaceId),
    /// An outer fragment for a tunnel address: to be reassembled, then parsed again.
    Fragment(InterfaceId),
    /// Nothing of that.
    Drop(DropReason),
}

/// A verified IPv4 header and where it stands.
struct Ip<'a> {
    frame: &'a [u8],
    at: usize,
    header_len: usize,
    total: usize,
    src: u32,
    dst: u32,
}

/// Classifies a frame from `port`. Total: any bytes have a class.
#[inline]
pub fn classify(frame: &[u8], port: PortId, tables: &Tables) -> Class {
    parse(frame, port, tables).unwrap_or_else(Class::Drop)
}

#[inline]
fn parse(frame: &[u8], port: PortId, tables: &Tables) -> Result<Class, DropReason> {
    let eth = frame
        .first_chunk::<ETHERNET>()
        .ok_or(DropReason::EthernetTruncated)?;
    let (kind, at, vlan) = match u16::from_be_bytes([eth[12], eth[13]]) {
        TPID_VLAN => tagged(frame)?,
        kind => (kind, ETHERNET, None),
    };
    let (id, interface) = tables
        .interface(port, vlan)
        .ok_or(DropReason::UnknownVlan)?;
    let ours = eth[..6] == interface.mac;
    match kind {
        TYPE_IPV4 if ours => ipv4(frame, at, id, interface),
        TYPE_ARP if ours || eth[..6] == [0xff; 6] => Ok(Class::Control(id)),
        TYPE_IPV4 | TYPE_ARP => Err(DropReason::NotOurMac),
        _ => Err(DropReason::EtherType),
    }
}

#[cold]
fn tagged(frame: &[u8]) -> Result<(u16, usize, Option<u16>), DropReason> {
    let tag = frame
        .get(ETHERNET..)
        .and_then(|t| t.first_chunk::<TAG>())
        .ok_or(DropReason::EthernetTruncated)?;
    let vlan = u16::from_be_bytes([tag[0], tag[1]]) & 0x0fff;
    let kind = u16::from_be_bytes([tag[2], tag[3]]);
    // Priority-tagged frames (VLAN 0) belong to the untagged interface (IEEE 802.1Q, 6.9.1).
    Ok((kind, ETHERNET + TAG, (vlan != 0).then_some(vlan)))
}

#[inline]
fn ipv4(
    frame: &[u8],
    at: usize,
    id: InterfaceId,
    interface: &Interface,
) -> Result<Class, DropReason> {
    let ip = header(frame, at)?;
    if let Some(local) = tunnel(interface, ip.dst) {
        return to_tunnel(&ip, id, local, interface);
    }
    if interface.addresses.iter().any(|a| u32::from(*a) == ip.dst) {
        return Ok(Class::Control(id));
    }
    if interface.instance.is_none() {
        return Err(DropReason::NoRoute);
    }
    Ok(Class::User(Meta {
        key: ip.dst,
        line: 0,
        outer_src: 0,
        inner_at: ip.at as u16,
        inner_len: ip.total as u16,
        qfi: NO_QFI,
        interface: id,
        local: 0,
        entry: Entry::Plain,
    }))
}

/// RFC 1812, 5.2.2: version, header length, checksum, total length.
#[inline]
fn header(frame: &[u8], at: usize) -> Result<Ip<'_>, DropReason> {
    let rest = frame.get(at..).ok_or(DropReason::Ipv4Header)?;
    let h = rest.first_chunk::<IPV4>().ok_or(DropReason::Ipv4Header)?;
    let header_len = usize::from(h[0] & 0x0f) * 4;
    let total = usize::from(u16::from_be_bytes([h[2], h[3]]));
    if h[0] >> 4 != 4 || header_len < IPV4 || header_len > rest.len() {
        return Err(DropReason::Ipv4Header);
    }
    if total < header_len || total > rest.len() {
        return Err(DropReason::Ipv4Length);
    }
    if !Sum::of(&rest[..header_len]).verifies() {
        return Err(DropReason::Ipv4Checksum);
    }
    Ok(Ip {
        frame,
        at,
        header_len,
        total,
        src: u32::from_be_bytes([h[12], h[13], h[14], h[15]]),
        dst: u32::from_be_bytes([h[16], h[17], h[18], h[19]]),
    })
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
    ip: &Ip<'_>,
    id: InterfaceId,
    local: u8,
    interface: &Interface,
) -> Result<Class, DropReason> {
    let rest = &ip.frame[ip.at..ip.at + ip.total];
    let is_fragment = u16::from_be_bytes([rest[6], rest[7]]) & 0x3fff != 0;
    if rest[9] != PROTOCOL_UDP {
        return Ok(Class::Control(id));
    }
    if is_fragment {
        return Ok(Class::Fragment(id));
    }
    let udp = &rest[ip.header_len..];
    let h = udp.first_chunk::<UDP>().ok_or(DropReason::UdpHeader)?;
    if u16::from_be_bytes([h[2], h[3]]) != GTPU_PORT {
        return Ok(Class::Control(id));
    }
    let len = usize::from(u16::from_be_bytes([h[4], h[5]]));
    let payload = udp.get(UDP..len).ok_or(DropReason::UdpHeader)?;
    if !allowed(interface, ip.src) {
        return Err(DropReason::OuterSource);
    }
    let pdu = match gtpu::parse(payload)? {
        gtpu::Message::Pdu(pdu) => pdu,
        gtpu::Message::Signalling => return Ok(Class::Control(id)),
    };
    Ok(Class::User(Meta {
        key: pdu.teid,
        line: 0,
        outer_src: ip.src,
        inner_at: (ip.at + ip.header_len + UDP) as u16 + pdu.payload_at,
        inner_len: pdu.payload_len,
        qfi: pdu.qfi,
        interface: id,
        local,
        entry: Entry::Tunnel,
    }))
}

#[inline]
fn allowed(interface: &Interface, src: u32) -> bool {
    let list = &interface.allowed_peers;
    list.is_empty() || list.iter().any(|p| p.contains(src))
}
