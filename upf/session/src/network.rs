//! The network as N4 rules name it: Network Instances, interfaces and tunnel endpoints.
//!
//! Session code asks; the control core, which owns interfaces, neighbours and peers, answers.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use sluice_datapath::forward::marking::Marking;
use sluice_datapath::lookup::layout::InstanceId;
use sluice_datapath::tables::{EgressId, PeerId};

/// Which side of the UPF an interface of a rule is on: Source Interface (TS 29.244, 8.2.2) and
/// Destination Interface (8.2.24) alike.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Side {
    /// Towards the RAN: N3, or N9 towards a UPF nearer to it.
    Access,
    /// Towards the data network: N6, or N9 towards the anchor.
    Core,
    /// SGi-LAN/N6-LAN.
    SgiLan,
    /// The control plane function (N4-u).
    Control,
}

impl Side {
    /// Two bits, as records have it.
    pub fn bits(self) -> u16 {
        match self {
            Self::Access => 0,
            Self::Core => 1,
            Self::SgiLan => 2,
            Self::Control => 3,
        }
    }

    /// The side of the two lowest bits.
    pub fn from_bits(bits: u16) -> Self {
        match bits & 3 {
            0 => Self::Access,
            1 => Self::Core,
            2 => Self::SgiLan,
            _ => Self::Control,
        }
    }

    /// The sides on which a data network is looked for, the first first: SD-Core calls ordinary N6 the
    /// N6-LAN, so that is N6 where nothing is configured for it.
    pub fn plain(self) -> impl Iterator<Item = Self> {
        let shared = match self {
            Self::SgiLan => Some(Self::Core),
            _ => None,
        };
        core::iter::once(self).chain(shared)
    }
}

/// The addresses of a GTP-U endpoint or of an F-TEID: at least one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TunnelAddresses {
    /// The IPv4 address.
    pub ipv4: Option<Ipv4Addr>,
    /// The IPv6 address.
    pub ipv6: Option<Ipv6Addr>,
}

impl TunnelAddresses {
    /// Whether there is one of either family.
    pub fn is_none(&self) -> bool {
        self.ipv4.is_none() && self.ipv6.is_none()
    }

    /// Those of the wanted families that are there.
    #[must_use]
    pub fn of(self, ipv4: bool, ipv6: bool) -> Self {
        Self {
            ipv4: self.ipv4.filter(|_| ipv4),
            ipv6: self.ipv6.filter(|_| ipv6),
        }
    }

    /// Whether one of them is this.
    pub fn has(&self, address: IpAddr) -> bool {
        match address {
            IpAddr::V4(address) => self.ipv4 == Some(address),
            IpAddr::V6(address) => self.ipv6 == Some(address),
        }
    }

    /// The addresses that are there, that of IPv4 first.
    pub fn all(self) -> impl Iterator<Item = IpAddr> {
        let ipv6 = self.ipv6.map(IpAddr::V6);
        self.ipv4.map(IpAddr::V4).into_iter().chain(ipv6)
    }
}

impl From<Ipv4Addr> for TunnelAddresses {
    fn from(address: Ipv4Addr) -> Self {
        IpAddr::V4(address).into()
    }
}

impl From<IpAddr> for TunnelAddresses {
    fn from(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(address) => Self {
                ipv4: Some(address),
                ipv6: None,
            },
            IpAddr::V6(address) => Self {
                ipv4: None,
                ipv6: Some(address),
            },
        }
    }
}

/// One of our GTP-U endpoints. It has a number on the path for both its addresses: a TEID is the endpoint's, and
/// its packets may come to either.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TunnelEndpoint {
    /// The addresses that go into an F-TEID.
    pub addresses: TunnelAddresses,
    /// Its number on the path.
    pub local: u8,
}

/// Why a peer cannot be used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PeerError {
    /// No interface of that side and network instance leads anywhere.
    NoInterface,
    /// The table of peers is full.
    Full,
}

/// The answers.
///
/// `instance` is a Network Instance in plain text (both wire encodings normalised), `None` where
/// the rule names none: then the only or the first one of that side is meant.
pub trait Network {
    /// Where a tunnel of that side ends here: the addresses for an F-TEID with CHOOSE.
    fn tunnel_endpoint(&self, side: Side, instance: Option<&str>) -> Option<TunnelEndpoint>;

    /// Our tunnel endpoint with this address (an F-TEID that the CP chose), if it serves that
    /// side and network instance.
    fn tunnel_endpoint_at(
        &self,
        side: Side,
        instance: Option<&str>,
        address: IpAddr,
    ) -> Option<TunnelEndpoint>;

    /// The network instance in which plain packets from that side are looked up by UE address.
    fn ue_instance(&self, side: Side, instance: Option<&str>) -> Option<InstanceId>;

    /// The way out for plain packets to that side.
    fn egress(&self, side: Side, instance: Option<&str>) -> Option<EgressId>;

    /// A peer for outer headers towards `remote` that are marked so; counted, to be given back once for each call. Where our endpoint
    /// has no address of its family, no interface leads there.
    fn hold_peer(
        &mut self,
        side: Side,
        instance: Option<&str>,
        remote: IpAddr,
        marking: Marking,
    ) -> Result<PeerId, PeerError>;

    /// The side whose tunnels serve a rule's side. N4-u (TS 29.244, 5.3) has none of its own: it ends at the
    /// addresses towards the RAN, for UDP port 2152 of N4's address may be the kernel's.
    fn tunnel_side(&self, side: Side, instance: Option<&str>) -> Side {
        match side {
            Side::Control if self.tunnel_endpoint(side, instance).is_none() => Side::Access,
            side => side,
        }
    }

    /// Gives a peer back.
    fn release_peer(&mut self, peer: PeerId);

    /// The address behind a peer.
    fn peer_address(&self, peer: PeerId) -> Option<IpAddr>;
}
