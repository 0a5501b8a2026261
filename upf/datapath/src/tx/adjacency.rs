//! Adjacency: the prebuilt Ethernet header of a next hop, with port and MTU: what interfaces and
//! neighbours say, brought together once when it changes instead of for every packet.

use crate::tables::{Egress, NextHop, Peer, Prefix, Tables};
use sluice_wire::gtpu::OuterIpv4;

/// Longest Ethernet header: with an IEEE 802.1Q tag.
const HEADER_MAX: usize = 18;

/// Links of one egress that are looked at: more of them, and no [`DefaultRoute`] is made.
const LINKS: usize = 2;

/// Out of a network instance by the default route, which nearly all packets take.
#[derive(Clone, Copy, Debug)]
pub struct DefaultRoute {
    links: [Prefix; LINKS],
    adjacency: Adjacency,
}

impl DefaultRoute {
    /// Of an egress whose only route is the default route.
    pub fn of(egress: &Egress, adjacencies: &[Adjacency]) -> Option<Self> {
        let [(everything, hop)] = egress.routes[..] else {
            return None;
        };
        let nothing = Prefix { base: 1, mask: 0 };
        let mut links = [nothing; LINKS];
        for (at, (prefix, _)) in egress.connected.iter().enumerate() {
            *links.get_mut(at)? = *prefix;
        }
        let adjacency = *adjacencies.get(usize::from(hop))?;
        (everything.mask == 0).then_some(Self { links, adjacency })
    }

    /// The way to an address beyond the links.
    #[inline(always)]
    pub fn via_default_route(&self, destination: u32) -> Option<&Adjacency> {
        let on_link = self.links.iter().any(|link| link.contains(destination));
        (!on_link).then_some(&self.adjacency)
    }
}

/// Into the tunnels to one peer.
#[derive(Clone, Copy, Debug)]
pub struct TunnelAdjacency {
    /// What is the same in all outer headers.
    pub outer: OuterIpv4,
    /// To the next hop.
    pub adjacency: Adjacency,
}

impl TunnelAdjacency {
    /// Of a peer.
    pub fn of(peer: &Peer, adjacencies: &[Adjacency]) -> Self {
        let adjacency = adjacencies.get(usize::from(peer.next_hop)).copied();
        Self {
            outer: peer.outer,
            adjacency: adjacency.unwrap_or(Adjacency::NONE),
        }
    }
}

/// To one next hop.
#[derive(Clone, Copy, Debug)]
pub struct Adjacency {
    /// The Ethernet header.
    header: [u8; HEADER_MAX],
    tagged: bool,
    /// The port's number.
    pub tx_buffer: u8,
    /// The largest IP packet; 0 where the next hop's MAC address is not known.
    pub mtu: u16,
}

impl Adjacency {
    /// No packet fits.
    const NONE: Self = Self {
        header: [0; HEADER_MAX],
        tagged: false,
        tx_buffer: 0,
        mtu: 0,
    };

    /// To `hop`.
    pub fn to(hop: &NextHop, tables: &Tables) -> Self {
        Self::known(hop, tables).unwrap_or(Self::NONE)
    }

    fn known(hop: &NextHop, tables: &Tables) -> Option<Self> {
        let interface = tables.interfaces.get(usize::from(hop.interface))?;
        let mut header = [0; HEADER_MAX];
        header[..6].copy_from_slice(&hop.mac?);
        header[6..12].copy_from_slice(&interface.mac);
        let kind = match interface.vlan {
            None => 12,
            Some(vlan) => {
                header[12..14].copy_from_slice(&[0x81, 0x00]);
                header[14..16].copy_from_slice(&vlan.to_be_bytes());
                16
            }
        };
        header[kind..kind + 2].copy_from_slice(&[0x08, 0x00]);
        Some(Self {
            header,
            tagged: interface.vlan.is_some(),
            tx_buffer: u8::try_from(interface.port.0).ok()?,
            mtu: interface.mtu,
        })
    }

    /// Octets of the Ethernet header.
    #[inline(always)]
    pub fn len(&self) -> usize {
        if self.tagged { HEADER_MAX } else { 14 }
    }

    /// Writes the Ethernet header; gives what is behind it.
    #[inline(always)]
    pub fn write<'a>(&self, frame: &'a mut [u8]) -> Option<&'a mut [u8]> {
        if self.tagged {
            let (header, rest) = frame.split_first_chunk_mut()?;
            *header = self.header;
            return Some(rest);
        }
        let (header, rest) = frame.split_first_chunk_mut::<14>()?;
        header.copy_from_slice(&self.header[..14]);
        Some(rest)
    }
}
