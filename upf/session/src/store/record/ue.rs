//! Addresses in a record: the UE's, what most PDRs say of them, and those of our own tunnels, which stand beside records.

use super::{Kinds, OctetReader, OctetWriter};
use crate::rules::{Families, Given, Key, Pdr, Rules, UeAddresses, UeMatch, UeRoutes};
use core::net::Ipv4Addr;
use core::num::NonZeroU64;
use sluice_datapath::session::flow_filter::FilterRun;

/// Octets at the most.
pub const UE_MAX: usize = 4 + 8 + 1 + 2 + 5;

/// The addresses, and the network instance of the first entry for them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RecordUe {
    pub addresses: UeAddresses,
    pub routes: UeRoutes,
    pub instance: u8,
}

impl RecordUe {
    /// Of a session.
    pub fn of(rules: &Rules) -> Self {
        let mut keys = rules.endpoints.iter().map(|e| e.key);
        let instance = keys.find_map(|key| match key {
            Key::Ue { instance } => Some(instance),
            _ => None,
        });
        let addresses = rules.ue;
        let instance = instance.filter(|_| !addresses.families().is_none());
        Self {
            addresses,
            routes: rules.routes,
            instance: instance.unwrap_or(0),
        }
    }

    pub fn write(&self, pen: &mut OctetWriter<'_>) {
        let UeAddresses {
            ipv4,
            prefix,
            given,
        } = self.addresses;
        if let Some(address) = ipv4 {
            pen.u32(address.into());
        }
        if let Some(prefix) = prefix {
            pen.u64(prefix.get());
        }
        if ipv4.is_some() || prefix.is_some() {
            pen.u8(self.instance);
        }
        if given != Given::default() {
            pen.u8(given.families.bits());
            pen.u8(given.instance);
        }
        if self.routes != UeRoutes::default() {
            pen.u8(self.routes.families.bits());
            pen.u32(self.routes.run.bits());
        }
    }

    pub fn read(kinds: Kinds, eye: &mut OctetReader<'_>) -> Self {
        let (has_ipv4, has_prefix) = (kinds.has(Kinds::UE_IPV4), kinds.has(Kinds::UE_PREFIX));
        let mut addresses = UeAddresses {
            ipv4: has_ipv4.then(|| Ipv4Addr::from(eye.u32())),
            prefix: if has_prefix {
                NonZeroU64::new(eye.u64())
            } else {
                None
            },
            given: Given::default(),
        };
        let instance = if has_ipv4 || has_prefix { eye.u8() } else { 0 };
        if kinds.has(Kinds::GIVEN) {
            addresses.given.families = Families::from_bits(eye.u8());
            addresses.given.instance = eye.u8();
        }
        let mut routes = UeRoutes::default();
        if kinds.has(Kinds::ROUTES) {
            routes.families = Families::from_bits(eye.u8());
            routes.run = FilterRun::from_bits(eye.u32());
        }
        Self {
            addresses,
            routes,
            instance,
        }
    }

    /// What a PDR says of the UE that says the usual: all of the addresses, and where they are looked up.
    pub fn usual(&self, has_tunnel: bool) -> UeMatch {
        UeMatch {
            families: self.addresses.families(),
            instance: if has_tunnel { 0 } else { self.instance },
        }
    }

    /// What it says if that is something else.
    pub fn unusual(&self, pdr: &Pdr) -> Option<UeMatch> {
        pdr.ue.filter(|ue| *ue != self.usual(pdr.tunnel.is_some()))
    }
}

/// The IPv4 addresses of our tunnel endpoints by their numbers on the path, as sessions told them first. A few stand
/// here once, and not in each record.
#[derive(Clone, Debug)]
pub struct TunnelIpv4(Box<[Option<Ipv4Addr>; 256]>);

impl Default for TunnelIpv4 {
    fn default() -> Self {
        Self(Box::new([None; 256]))
    }
}

impl TunnelIpv4 {
    /// That of an endpoint.
    pub fn get(&self, local: u8) -> Option<Ipv4Addr> {
        self.0[usize::from(local)]
    }

    /// Learns the addresses of endpoints that have told none yet.
    pub fn learn(&mut self, rules: &Rules) {
        for tunnel in rules.pdrs.iter().filter_map(|pdr| pdr.tunnel) {
            let known = &mut self.0[usize::from(tunnel.local)];
            *known = known.or(tunnel.addresses.ipv4);
        }
    }

    /// True if all F-TEIDs with an IPv4 address have the one that is known of their endpoint.
    pub fn has_all(&self, rules: &Rules) -> bool {
        let mut tunnels = rules.pdrs.iter().filter_map(|pdr| pdr.tunnel);
        tunnels.all(|tunnel| {
            let ipv4 = tunnel.addresses.ipv4;
            ipv4.is_none() || ipv4 == self.get(tunnel.local)
        })
    }
}
