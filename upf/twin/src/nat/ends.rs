//! The two ends of a packet, the UE's and the other, as translation sees them.

use crate::ipv4::{self, Packet};
use crate::outcome::Drop;
use std::net::Ipv4Addr;

const ICMP: u8 = 1;
const TCP: u8 = 6;
const UDP: u8 = 17;

/// What a packet is to its mapping.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum What {
    Datagram,
    /// With these flags.
    Segment(u8),
    /// An ICMP error about a packet of it.
    Error,
}

/// Addresses with ports; the identifier of an ICMP query is the UE's port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ends {
    pub protocol: u8,
    pub own: (Ipv4Addr, u16),
    pub remote: (Ipv4Addr, u16),
    pub what: What,
}

fn word(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

/// Of a packet that is whole or a first fragment; the UE's end is the source where it `leaves`.
pub fn read(packet: &Packet<'_>, leaves: bool) -> Result<Ends, Drop> {
    let header = &packet.header;
    let payload = packet.payload();
    let addresses = (header.source_addr(), header.destination_addr());
    let (protocol, what) = match header.protocol().0 {
        UDP if payload.len() >= 8 => (UDP, What::Datagram),
        TCP if payload.len() >= 20 => (TCP, What::Segment(payload[13])),
        ICMP if payload.len() >= 8 => return icmp(packet, leaves, addresses),
        ICMP | TCP | UDP => return Err(Drop::InnerLength),
        _ => return Err(Drop::NatProtocol),
    };
    let (from, to) = (
        (addresses.0, word(payload, 0)),
        (addresses.1, word(payload, 2)),
    );
    let (own, remote) = if leaves { (from, to) } else { (to, from) };
    Ok(Ends {
        protocol,
        own,
        remote,
        what,
    })
}

/// Echo that a UE asks for and is answered, and errors.
fn icmp(
    packet: &Packet<'_>,
    leaves: bool,
    (source, destination): (Ipv4Addr, Ipv4Addr),
) -> Result<Ends, Drop> {
    let message = packet.payload();
    let (own, remote) = match leaves {
        true => (source, destination),
        false => (destination, source),
    };
    match (message[0], leaves) {
        (8, true) | (0, false) => Ok(Ends {
            protocol: ICMP,
            own: (own, word(message, 4)),
            remote: (remote, 0),
            what: What::Datagram,
        }),
        (3 | 11 | 12, _) => error(packet, leaves),
        _ => Err(Drop::NatProtocol),
    }
}

/// The packet that an error quotes went the other way (RFC 5508, 4).
fn error(packet: &Packet<'_>, leaves: bool) -> Result<Ends, Drop> {
    let message = packet.payload();
    if packet.header.is_fragmenting_payload() || ipv4::sum(message) != 0xffff {
        return Err(Drop::InnerChecksum);
    }
    let quoted = &message[8..];
    let len = match quoted.first() {
        Some(first) if first >> 4 == 4 => usize::from(first & 15) * 4,
        _ => return Err(Drop::InnerHeader),
    };
    if len < 20 || quoted.len() < len {
        return Err(Drop::InnerHeader);
    }
    if ipv4::sum(&quoted[..len]) != 0xffff {
        return Err(Drop::InnerChecksum);
    }
    let transport = &quoted[len..];
    if transport.len() < 8 {
        return Err(Drop::InnerLength);
    }
    if word(quoted, 6) & 0x1fff != 0 {
        return Err(Drop::NatFragment);
    }
    let address = |at: usize| {
        let octets = [quoted[at], quoted[at + 1], quoted[at + 2], quoted[at + 3]];
        Ipv4Addr::from(octets)
    };
    let (from, to) = match quoted[9] {
        TCP | UDP => (
            (address(12), word(transport, 0)),
            (address(16), word(transport, 2)),
        ),
        ICMP if matches!(transport[0], 0 | 8) => {
            let identifier = word(transport, 4);
            match leaves {
                true => ((address(12), 0), (address(16), identifier)),
                false => ((address(12), identifier), (address(16), 0)),
            }
        }
        _ => return Err(Drop::NatProtocol),
    };
    let (own, remote) = if leaves { (to, from) } else { (from, to) };
    Ok(Ends {
        protocol: quoted[9],
        own,
        remote,
        what: What::Error,
    })
}
