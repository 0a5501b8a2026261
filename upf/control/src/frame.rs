//! Frames of the control core: Ethernet, IPv4, IPv6 and UDP headers.

use arrayvec::ArrayVec;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use sluice_datapath::lookup::layout::InstanceId;
use sluice_datapath::meta::Meta;
use sluice_datapath::tables::{Interface, InterfaceId};
use sluice_port::PortId;
use sluice_wire::eth::{EthHeader, EtherType, MacAddr, Tag, VlanId};
use sluice_wire::ipv4::{Ipv4, Ipv4Header, Protocol};
use sluice_wire::ipv6::{Ipv6, Ipv6Header, is_ipv6, is_multicast, multicast_mac};
use sluice_wire::layout;
use sluice_wire::udp::UdpHeader;

/// Longest frame that the control core writes: an ICMP error quotes at most 576 bytes (RFC 1812,
/// 4.3.2.3); an echo reply repeats what came, up to this.
pub const FRAME_MAX: usize = 9_216 + 18;

/// A frame being written.
pub type Frame = ArrayVec<u8, FRAME_MAX>;

/// Output of the control core's frames.
pub trait Frames {
    /// Out by this interface.
    fn transmit(&mut self, interface: InterfaceId, frame: &[u8]);
    /// Into the packet path, as if the port had received it.
    fn receive(&mut self, port: PortId, frame: &[u8]);
    /// An IP packet into the packet path, as if it had come for the UE that `meta` names.
    fn to_ue(&mut self, packet: &[u8], meta: Meta);
}

/// Addresses of an IPv4 packet to be written.
#[derive(Clone, Copy, Debug)]
pub struct Flow {
    /// Station that gets the frame.
    pub mac: MacAddr,
    /// Source address.
    pub source: Ipv4Addr,
    /// Destination address.
    pub destination: Ipv4Addr,
}

/// Addresses of an IPv6 packet to be written, and how far it goes.
#[derive(Clone, Copy, Debug)]
pub struct FlowIpv6 {
    /// Station that gets the frame.
    pub mac: MacAddr,
    /// Source address.
    pub source: Ipv6Addr,
    /// Destination address.
    pub destination: Ipv6Addr,
    /// Hop limit.
    pub hop_limit: u8,
}

impl FlowIpv6 {
    /// To a group on the link.
    pub fn to_group(source: Ipv6Addr, group: Ipv6Addr, hop_limit: u8) -> Self {
        debug_assert!(is_multicast(group));
        Self {
            mac: multicast_mac(group),
            source,
            destination: group,
            hop_limit,
        }
    }
}

/// The packet of a frame, and what it is placed by as one for a UE of a network instance.
pub fn to_ue_of(frame: &[u8], instance: InstanceId) -> Option<(&[u8], Meta)> {
    let packet = frame.get(layout::eth::payload_at(frame)?..)?;
    let meta = match is_ipv6(packet) {
        true => {
            let prefix = Ipv6::parse(packet).ok()?.destination().to_bits() >> 64;
            Meta::to_prefix(prefix as u64, instance.0)
        }
        false => Meta::to_address(Ipv4::parse(packet).ok()?.destination_u32(), instance.0),
    };
    let inner_len = u16::try_from(packet.len()).ok()?;
    Some((packet, Meta { inner_len, ..meta }))
}

/// An Ethernet frame with `payload`; `None` if it is too long.
pub fn ethernet(
    interface: &Interface,
    to: MacAddr,
    ethertype: EtherType,
    payload: &[&[u8]],
) -> Option<Frame> {
    let header = EthHeader {
        destination: to,
        source: MacAddr(interface.mac),
        ethertype,
    };
    let mut frame = Frame::new();
    match interface.vlan.and_then(VlanId::new) {
        None => put(&mut frame, &header.to_bytes())?,
        Some(vlan) => {
            let tag = Tag {
                priority: 0,
                drop_eligible: false,
                vlan: Some(vlan),
            };
            put(&mut frame, &header.to_tagged_bytes(tag))?;
        }
    }
    for part in payload {
        put(&mut frame, part)?;
    }
    Some(frame)
}

/// A frame with an IPv4 packet.
pub fn ipv4(
    interface: &Interface,
    flow: &Flow,
    protocol: Protocol,
    payload: &[u8],
) -> Option<Frame> {
    let header = Ipv4Header::new(protocol, flow.source, flow.destination)
        .to_bytes(payload.len())
        .ok()?;
    ethernet(interface, flow.mac, EtherType::IPV4, &[&header, payload])
}

/// A frame with an ICMPv6 message, whose checksum is there.
pub fn icmpv6(interface: &Interface, flow: &FlowIpv6, message: &[u8]) -> Option<Frame> {
    let header = Ipv6Header {
        hop_limit: flow.hop_limit,
        ..Ipv6Header::new(Protocol::ICMPV6, flow.source, flow.destination)
    };
    let header = header.to_bytes(message.len()).ok()?;
    ethernet(interface, flow.mac, EtherType::IPV6, &[&header, message])
}

/// A frame with a UDP datagram from and to addresses of one family; `None` if they are of different ones.
pub fn udp(
    interface: &Interface,
    mac: MacAddr,
    ends: (IpAddr, IpAddr),
    ports: UdpHeader,
    payload: &[u8],
) -> Option<Frame> {
    match ends {
        (IpAddr::V4(source), IpAddr::V4(destination)) => {
            let header = ports.to_bytes(source, destination, payload).ok()?;
            let ip = Ipv4Header::new(Protocol::UDP, source, destination)
                .to_bytes(header.len() + payload.len())
                .ok()?;
            ethernet(interface, mac, EtherType::IPV4, &[&ip, &header, payload])
        }
        (IpAddr::V6(source), IpAddr::V6(destination)) => {
            let header = ports.to_bytes_ipv6(source, destination, payload).ok()?;
            let ip = Ipv6Header::new(Protocol::UDP, source, destination)
                .to_bytes(header.len() + payload.len())
                .ok()?;
            ethernet(interface, mac, EtherType::IPV6, &[&ip, &header, payload])
        }
        _ => None,
    }
}

fn put(frame: &mut Frame, bytes: &[u8]) -> Option<()> {
    frame.try_extend_from_slice(bytes).ok()
}
