//! UE addresses of a session, and what a PDI says of them (TS 23.501, 5.8.2.2).

use crate::rules::endpoint::{Endpoint, Key};
use crate::rules::octets::{Kinds, OctetReader, OctetWriter};
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use core::num::NonZeroU64;
use sluice_datapath::session::flow_filter::FilterRun;

/// Address families, as bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Families(u8);

impl Families {
    /// Neither.
    pub const NONE: Self = Self(0);
    /// IPv4.
    pub const IPV4: Self = Self(1);
    /// IPv6.
    pub const IPV6: Self = Self(2);
    /// Both.
    pub const BOTH: Self = Self(3);

    /// Those for which it is so.
    pub const fn of(ipv4: bool, ipv6: bool) -> Self {
        Self((ipv4 as u8 * Self::IPV4.0) | (ipv6 as u8 * Self::IPV6.0))
    }

    /// What is in both.
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// What is in one of them.
    pub const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// These, or `other` where there are none.
    pub const fn or_if_none(self, other: Self) -> Self {
        if self.0 == 0 { other } else { self }
    }

    /// True if it has all of the other's.
    pub const fn has_all(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Those that the other does not have.
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// True if there are none.
    pub const fn is_none(self) -> bool {
        self.0 == 0
    }

    /// As a number, to be kept.
    pub const fn bits(self) -> u8 {
        self.0
    }

    /// Those that were kept so.
    pub const fn from_bits(bits: u8) -> Self {
        Self(bits & Self::BOTH.0)
    }
}

/// The addresses of a session's UE. Once told they stay for as long as the session lives.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct UeAddresses {
    /// The IPv4 address.
    pub ipv4: Option<Ipv4Addr>,
    /// The upper half of its IPv6 addresses.
    pub prefix: Option<NonZeroU64>,
    /// Which of them this UP function gave.
    pub given: Given,
}

/// Addresses that this UP function gave to a session.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Given {
    /// Of these families.
    pub families: Families,
    /// The network instance of their pools; 0 without any.
    pub instance: u8,
}

impl UeAddresses {
    /// Which there are.
    pub const fn families(&self) -> Families {
        Families::of(self.ipv4.is_some(), self.prefix.is_some())
    }

    /// The IPv4 address as the path has it; 0 is none.
    pub fn ipv4_u32(&self) -> u32 {
        self.ipv4.map_or(0, u32::from)
    }

    /// The prefix as the path has it; 0 is none.
    pub fn prefix_u64(&self) -> u64 {
        self.prefix.map_or(0, NonZeroU64::get)
    }

    /// Those of some families.
    pub fn of(&self, families: Families) -> Self {
        let has = |family| !families.and(family).is_none();
        Self {
            ipv4: self.ipv4.filter(|_| has(Families::IPV4)),
            prefix: self.prefix.filter(|_| has(Families::IPV6)),
            given: self.given,
        }
    }

    /// True if an address is the UE's.
    pub fn contains(&self, address: IpAddr) -> bool {
        match address {
            IpAddr::V4(address) => self.ipv4 == Some(address),
            IpAddr::V6(address) => {
                let upper = (address.to_bits() >> 64) as u64;
                self.prefix.is_some_and(|prefix| prefix.get() == upper)
            }
        }
    }

    /// The prefix with nothing behind it.
    pub fn prefix_address(&self) -> Option<Ipv6Addr> {
        let prefix = self.prefix?.get();
        Some(Ipv6Addr::from(u128::from(prefix) << 64))
    }

    /// The prefix as text.
    pub fn prefix_text(&self) -> Option<String> {
        Some(format!("{}/64", self.prefix_address()?))
    }
}

/// Prefixes behind a session's UE: framed routes and a delegated prefix. Told with the session, they hold for all its
/// PDRs and for as long as it lives.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct UeRoutes {
    /// Filters that the UE's end of a packet meets there.
    pub run: FilterRun,
    /// Of which families they are.
    pub families: Families,
}

/// What a PDI says of the UE's addresses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UeMatch {
    /// Of which family it names the session's address; of none: all.
    pub families: Families,
    /// Where plain packets to it are looked up.
    pub instance: u8,
}

/// Octets of [`RecordUe`] at the most.
pub const UE_MAX: usize = 4 + 8 + 1 + 2 + 5;

/// The UE in its session's record: the addresses, and the network instance of the first entry for them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RecordUe {
    pub addresses: UeAddresses,
    pub routes: UeRoutes,
    pub instance: u8,
}

impl RecordUe {
    /// Of a session.
    pub fn of(addresses: UeAddresses, routes: UeRoutes, endpoints: &[Endpoint]) -> Self {
        let mut keys = endpoints.iter().map(|e| e.key);
        let instance = keys.find_map(|key| match key {
            Key::Ue { instance } => Some(instance),
            _ => None,
        });
        let instance = instance.filter(|_| !addresses.families().is_none());
        Self {
            addresses,
            routes,
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

    /// The UE as most PDRs name it: all of the addresses, and where they are looked up.
    pub fn usual(&self, has_tunnel: bool) -> UeMatch {
        UeMatch {
            families: self.addresses.families(),
            instance: if has_tunnel { 0 } else { self.instance },
        }
    }
}
