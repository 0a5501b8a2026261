//! Adjacency: the Ethernet header of a next hop, with port and MTU. All but the station's own address is
//! prepared once per interface.

use crate::tables::Interface;
use sluice_wire::gtpu::OuterIpv4;

/// An Ethernet header behind the destination: source, perhaps an IEEE 802.1Q tag, EtherType.
const BEHIND: usize = 8;
const BEHIND_TAGGED: usize = 12;

/// Into the tunnels to one peer.
#[derive(Clone, Copy, Debug)]
pub struct TunnelAdjacency<'a> {
    /// What is the same in all outer headers.
    pub outer: OuterIpv4,
    /// To the next hop.
    pub adjacency: Adjacency<'a>,
}

/// To one next hop.
#[derive(Clone, Copy, Debug)]
pub struct Adjacency<'a> {
    /// Its MAC address.
    pub mac: [u8; 6],
    /// What is the same for all next hops of its interface.
    pub front: &'a Front,
}

/// What is the same in all frames that leave by an interface.
#[derive(Clone, Copy, Debug)]
pub struct Front {
    behind: [u8; BEHIND_TAGGED],
    tagged: bool,
    /// The port's number.
    pub tx_buffer: u16,
    /// The largest IP packet.
    pub mtu: u16,
}

impl Front {
    /// Of an interface.
    pub fn of(interface: &Interface) -> Self {
        let mut behind = [0; BEHIND_TAGGED];
        behind[..6].copy_from_slice(&interface.mac);
        let kind = match interface.vlan {
            None => 6,
            Some(vlan) => {
                behind[6..8].copy_from_slice(&[0x81, 0x00]);
                behind[8..10].copy_from_slice(&vlan.to_be_bytes());
                10
            }
        };
        behind[kind..kind + 2].copy_from_slice(&[0x08, 0x00]);
        Self {
            behind,
            tagged: interface.vlan.is_some(),
            tx_buffer: interface.port.0,
            mtu: interface.mtu,
        }
    }
}

impl Adjacency<'_> {
    /// Octets of the Ethernet header.
    #[inline(always)]
    pub fn len(&self) -> usize {
        6 + if self.front.tagged {
            BEHIND_TAGGED
        } else {
            BEHIND
        }
    }

    /// Writes the Ethernet header; gives what is behind it.
    #[inline(always)]
    pub fn write<'a>(&self, frame: &'a mut [u8]) -> Option<&'a mut [u8]> {
        let (destination, rest) = frame.split_first_chunk_mut()?;
        *destination = self.mac;
        if self.front.tagged {
            let (behind, rest) = rest.split_first_chunk_mut()?;
            *behind = self.front.behind;
            return Some(rest);
        }
        let (behind, rest) = rest.split_first_chunk_mut::<BEHIND>()?;
        behind.copy_from_slice(&self.front.behind[..BEHIND]);
        Some(rest)
    }
}
