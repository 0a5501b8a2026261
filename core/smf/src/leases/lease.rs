//! A lease, and all that are given.

use core::net::{Ipv4Addr, SocketAddr};
use std::collections::BTreeMap;

use sluice_ids::Dnn;
use sluice_n1::SessionType;
use sluice_n2::Tunnel;

use crate::leases::numbers::Numbers;
use crate::leases::pools::{AddressPools, Pool, UeAddress};

/// UE addresses that a session has whatever its UPF chooses: those of the subscriber, or of a lease.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct OwnAddresses {
    pub ipv4: Option<Ipv4Addr>,
    /// A /64 prefix.
    pub ipv6_prefix: Option<[u8; 8]>,
}

/// Lease of a session.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Lease {
    /// The UPF whose tunnels these are, by its address in the configuration.
    pub upf: Option<SocketAddr>,
    /// The UE's IPv4 address.
    pub ipv4: Option<Ipv4Addr>,
    /// The UE's IPv6 prefix.
    pub ipv6_prefix: Option<[u8; 8]>,
    /// The UPF's end of the tunnel.
    pub tunnel: Option<Tunnel>,
    /// The UPF's end of the tunnel of packets that it forwards in a handover.
    pub forwarding: Option<Tunnel>,
}

impl Lease {
    /// UE addresses of it.
    pub fn own(&self) -> OwnAddresses {
        OwnAddresses {
            ipv4: self.ipv4,
            ipv6_prefix: self.ipv6_prefix,
        }
    }

    pub(super) fn addresses(&self) -> impl Iterator<Item = UeAddress> + use<> {
        let ipv4 = self.ipv4.map(UeAddress::Ipv4);
        ipv4.into_iter()
            .chain(self.ipv6_prefix.map(UeAddress::Ipv6))
    }

    pub(super) fn tunnels(&self) -> impl Iterator<Item = Tunnel> + use<> {
        self.tunnel.into_iter().chain(self.forwarding)
    }
}

/// Everything that sessions have, and that rests.
#[derive(Debug, Default)]
pub(crate) struct Leases {
    pub pools: AddressPools,
    /// TEIDs of UPFs that choose none, by their addresses in the configuration.
    pub(super) teids: BTreeMap<SocketAddr, Numbers>,
}

impl Leases {
    /// Nothing is given of these pools.
    pub fn new(pools: impl Iterator<Item = (Dnn, Pool)>) -> Self {
        Self {
            pools: AddressPools::new(pools),
            teids: BTreeMap::new(),
        }
    }

    /// UE addresses and TEIDs that sessions have.
    pub fn held(&self) -> (usize, usize) {
        (
            self.pools.held(),
            self.teids.values().map(Numbers::held).sum(),
        )
    }
}

/// Whether a session of a type has addresses of IPv4 and IPv6.
pub(crate) fn families(kind: SessionType) -> [bool; 2] {
    [kind != SessionType::Ipv6, kind != SessionType::Ipv4]
}

/// Remedy where all addresses are given.
pub(crate) const POOL_IS_FULL: &str = "add a prefix to the pools of the data network in core.yaml; addresses of sessions that have ended rest for 120 s";

/// Remedy where a UPF does not choose tunnels and has not said where they are.
pub(crate) const NAME_N3: &str =
    "give the addresses of the UPF towards gNBs as n3 of upfs in core.yaml";
