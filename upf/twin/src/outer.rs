//! Outer headers: IPv4 or IPv6, UDP and GTP-U.

use crate::config::Link;
use crate::ipv4;
use crate::rules::Remote;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

const GTPU: u16 = 2152;

/// The Ethernet type of packets to a peer.
pub fn ether_type(remote: Remote) -> [u8; 2] {
    match remote.address {
        IpAddr::V4(_) => [0x08, 0x00],
        IpAddr::V6(_) => [0x86, 0xdd],
    }
}

/// IP, UDP and GTP-U header with extension headers (types and contents) in front of `inner_len`
/// bytes. The UDP source port is left 0, and so is the checksum.
pub fn header(
    local: IpAddr,
    remote: Remote,
    (message_type, tos): (u8, u8),
    extensions: &[(u8, Vec<u8>)],
    inner_len: usize,
) -> Vec<u8> {
    let mut extension = Vec::new();
    if !extensions.is_empty() {
        extension.extend([0; 4]);
    }
    for (kind, content) in extensions {
        *extension.last_mut().expect("the optional fields") = *kind;
        extension.push((content.len() + 2) as u8 / 4);
        extension.extend(content);
        extension.push(0);
    }
    let flags = if extension.is_empty() { 0x30 } else { 0x34 };
    let length = (extension.len() + inner_len) as u16;
    let mut gtpu = vec![flags, message_type];
    gtpu.extend(length.to_be_bytes());
    gtpu.extend(remote.teid.to_be_bytes());
    gtpu.extend(extension);
    let len = (8 + gtpu.len() + inner_len) as u16;
    let mut packet = match (local, remote.address) {
        (IpAddr::V4(from), IpAddr::V4(to)) => outer_ipv4(from, to, tos, len),
        (IpAddr::V6(from), IpAddr::V6(to)) => outer_ipv6(from, to, tos, len),
        _ => unreachable!("our end has an address of the peer's family"),
    };
    packet.extend([0, 0]);
    packet.extend(GTPU.to_be_bytes());
    packet.extend(len.to_be_bytes());
    packet.extend([0, 0]);
    packet.extend(gtpu);
    packet
}

fn outer_ipv4(from: Ipv4Addr, to: Ipv4Addr, tos: u8, len: u16) -> Vec<u8> {
    let mut packet = vec![0x45, tos];
    packet.extend((20 + len).to_be_bytes());
    packet.extend([0, 0, 0x40, 0, 64, 17, 0, 0]);
    packet.extend(from.octets());
    packet.extend(to.octets());
    let checksum = !ipv4::sum(&packet);
    packet[10..12].copy_from_slice(&checksum.to_be_bytes());
    packet
}

/// Without a flow label.
fn outer_ipv6(from: Ipv6Addr, to: Ipv6Addr, traffic_class: u8, len: u16) -> Vec<u8> {
    let word = 6 << 28 | u32::from(traffic_class) << 20;
    let mut packet = word.to_be_bytes().to_vec();
    packet.extend(len.to_be_bytes());
    packet.extend([17, 64]);
    packet.extend(from.octets());
    packet.extend(to.octets());
    packet
}

/// Where the outer UDP source port stands in a frame on `link`.
pub fn source_port_at(link: &Link, remote: Remote) -> usize {
    let ethernet = if link.vlan.is_some() { 18 } else { 14 };
    match remote.address {
        IpAddr::V4(_) => ethernet + 20,
        IpAddr::V6(_) => ethernet + 40,
    }
}
