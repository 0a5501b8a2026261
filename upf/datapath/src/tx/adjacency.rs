//! Adjacency: the Ethernet header of a next hop, with port and MTU, in the three words of a slot: what
//! interfaces and neighbours say, brought together when it changes instead of for every packet.

use crate::forward::marking::Marking;
use crate::ids::InterfaceId;
use crate::topology::{Interface, NextHop, Station};
use core::net::IpAddr;
use sluice_wire::eth::EtherType;
use sluice_wire::gtpu::OuterIpv4;
use sluice_wire::layout::eth::{LEN as UNTAGGED, TAGGED_LEN as TAGGED};

const IS_THERE: u8 = 1;
const IS_KNOWN: u8 = 2;
const IS_TAGGED: u8 = 4;

/// Into the tunnels to one peer.
#[derive(Clone, Copy, Debug)]
pub struct TunnelAdjacency {
    /// What is the same in all outer headers.
    pub outer: OuterIpv4,
    /// How its header is marked.
    pub marking: Marking,
    /// To the next hop.
    pub adjacency: Adjacency,
}

/// To one next hop. The first word is its MAC address, which may change, the interface and the flags; the
/// others are constant: the Ethernet header behind the destination, then MTU and port.
#[derive(Clone, Copy, Debug)]
pub struct Adjacency([u64; 3]);

/// What is the same in all frames that leave by an interface.
#[derive(Clone, Copy, Debug, Default)]
pub struct Front {
    mac: [u8; 6],
    vlan: Option<u16>,
    port: u16,
    mtu: u16,
}

impl Front {
    /// Of an interface.
    pub fn of(interface: &Interface) -> Self {
        Self {
            mac: interface.mac,
            vlan: interface.vlan,
            port: interface.port.0,
            mtu: interface.mtu,
        }
    }
}

/// A next hop as its slot has it.
pub fn to_words(hop: &NextHop, front: &Front) -> [u64; 3] {
    let mut behind = [0; 12];
    behind[..6].copy_from_slice(&front.mac);
    let mut flags = IS_THERE;
    let kind = match front.vlan {
        None => 6,
        Some(vlan) => {
            behind[6..8].copy_from_slice(&EtherType::VLAN.0.to_be_bytes());
            behind[8..10].copy_from_slice(&vlan.to_be_bytes());
            flags |= IS_TAGGED;
            10
        }
    };
    let ether_type = match hop.address {
        IpAddr::V4(_) => EtherType::IPV4,
        IpAddr::V6(_) => EtherType::IPV6,
    };
    behind[kind..kind + 2].copy_from_slice(&ether_type.0.to_be_bytes());
    if hop.mac.is_some() {
        flags |= IS_KNOWN;
    }
    let [a, b, c, d, e, f] = hop.mac.unwrap_or_default();
    let first = [a, b, c, d, e, f, hop.interface.0, flags];
    let [s, t, u, v, w, x, y, z, tag @ ..] = behind;
    let [mtu, port] = [front.mtu, front.port].map(u64::from);
    [
        u64::from_le_bytes(first),
        u64::from_le_bytes([s, t, u, v, w, x, y, z]),
        u64::from(u32::from_le_bytes(tag)) | mtu << 32 | port << 48,
    ]
}

/// What a slot says of its next hop, if there is one.
#[inline(always)]
pub fn station(words: [u64; 3]) -> Option<Station> {
    let [a, b, c, d, e, f, interface, flags] = words[0].to_le_bytes();
    (flags & IS_THERE != 0).then_some(Station {
        interface: InterfaceId(interface),
        mac: (flags & IS_KNOWN != 0).then_some([a, b, c, d, e, f]),
    })
}

#[inline(always)]
fn flags(first: u64) -> u8 {
    (first >> 56) as u8
}

impl Adjacency {
    /// Of a slot, if the MAC address is known.
    #[inline(always)]
    pub fn of_words(words: [u64; 3]) -> Option<Self> {
        (flags(words[0]) & IS_KNOWN != 0).then_some(Self(words))
    }

    /// The largest IP packet.
    #[inline(always)]
    pub fn mtu(&self) -> u16 {
        (self.0[2] >> 32) as u16
    }

    /// The port's number.
    #[inline(always)]
    pub fn tx_buffer(&self) -> u16 {
        (self.0[2] >> 48) as u16
    }

    #[inline(always)]
    fn is_tagged(&self) -> bool {
        flags(self.0[0]) & IS_TAGGED != 0
    }

    /// Octets of the Ethernet header. To be foreseen by the processor, not waited for: where a packet
    /// begins hangs on it.
    #[inline(always)]
    pub fn header_len(&self) -> usize {
        if self.is_tagged() {
            core::hint::cold_path();
            return TAGGED;
        }
        UNTAGGED
    }

    /// Writes the Ethernet header; gives what is behind it.
    #[inline(always)]
    pub fn write<'a>(&self, frame: &'a mut [u8]) -> Option<&'a mut [u8]> {
        let [mac, behind, tag] = self.0.map(u64::to_le_bytes);
        if self.is_tagged() {
            let (header, rest) = frame.split_first_chunk_mut::<TAGGED>()?;
            header[..8].copy_from_slice(&mac);
            header[6..14].copy_from_slice(&behind);
            header[14..].copy_from_slice(&tag[..4]);
            return Some(rest);
        }
        let (header, rest) = frame.split_first_chunk_mut::<UNTAGGED>()?;
        // Two octets too many, so that it is one store.
        header[..8].copy_from_slice(&mac);
        header[6..].copy_from_slice(&behind);
        Some(rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_gives_back_what_it_was_made_of() {
        let front = Front {
            mac: [2, 0, 0, 0, 0, 6],
            vlan: None,
            port: 3,
            mtu: 1500,
        };
        let hop = |mac| NextHop {
            interface: InterfaceId(9),
            address: [192, 0, 2, 1].into(),
            mac,
        };
        let mac = [2, 9, 8, 7, 6, 5];
        for vlan in [None, Some(0x0abc)] {
            let front = Front { vlan, ..front };
            let words = to_words(&hop(Some(mac)), &front);
            let adjacency = Adjacency::of_words(words).expect("its address is known");
            assert_eq!((adjacency.mtu(), adjacency.tx_buffer()), (1500, 3));
            let tag: &[u8] = if vlan.is_some() {
                &[0x81, 0, 0x0a, 0xbc]
            } else {
                &[]
            };
            let expected = [&mac[..], &front.mac, tag, &[8, 0]].concat();
            let mut frame = [0xee; 20];
            let rest = adjacency.write(&mut frame).expect("room").len();
            assert_eq!(
                (&frame[..20 - rest], adjacency.header_len()),
                (&expected[..], 20 - rest)
            );
            assert!(frame[20 - rest..].iter().all(|octet| *octet == 0xee));
            let known = Station {
                interface: InterfaceId(9),
                mac: Some(mac),
            };
            assert_eq!(station(words), Some(known));
            let unknown = to_words(&hop(None), &front);
            assert!(Adjacency::of_words(unknown).is_none());
            assert_eq!(station(unknown), Some(Station { mac: None, ..known }));
        }
        assert_eq!(station([0; 3]), None);
    }
}
