//! Addresses and prefixes of either family, as `interfaces` has them.

use super::ipv4::{Address4, Malformed, Prefix4};
use super::ipv6::{Address6, Prefix6};
use core::fmt;
use core::net::IpAddr;
use core::str::FromStr;

/// An address and the length of the subnet that it lies in.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Address {
    /// Of IPv4.
    V4(Address4),
    /// Of IPv6.
    V6(Address6),
}

/// A prefix; all host bits are zero.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Prefix {
    /// Of IPv4.
    V4(Prefix4),
    /// Of IPv6.
    V6(Prefix6),
}

impl Address {
    /// The address alone.
    pub fn ip(&self) -> IpAddr {
        match self {
            Self::V4(a) => a.address.into(),
            Self::V6(a) => a.address.into(),
        }
    }

    /// Subnet of the address.
    pub fn subnet(&self) -> Prefix {
        match self {
            Self::V4(a) => Prefix::V4(a.subnet()),
            Self::V6(a) => Prefix::V6(a.subnet()),
        }
    }

    /// Whether the address can be a station's.
    pub fn is_host(&self) -> bool {
        match self {
            Self::V4(a) => a.is_host(),
            Self::V6(a) => a.is_host(),
        }
    }

    /// The address, if it is IPv4.
    pub fn ipv4(self) -> Option<Address4> {
        match self {
            Self::V4(a) => Some(a),
            Self::V6(_) => None,
        }
    }

    /// The address, if it is IPv6.
    pub fn ipv6(self) -> Option<Address6> {
        match self {
            Self::V4(_) => None,
            Self::V6(a) => Some(a),
        }
    }
}

impl Prefix {
    /// All addresses of a station's family.
    pub fn all_like(station: IpAddr) -> Self {
        match station {
            IpAddr::V4(_) => Self::V4(Prefix4::ALL),
            IpAddr::V6(_) => Self::V6(Prefix6::ALL),
        }
    }

    /// Length in bits.
    pub fn prefix_len(&self) -> u8 {
        match self {
            Self::V4(p) => p.prefix_len(),
            Self::V6(p) => p.prefix_len(),
        }
    }

    /// True if it has all addresses of another.
    pub fn has_all_of(&self, other: &Self) -> bool {
        self.meets(other) && self.prefix_len() <= other.prefix_len()
    }

    /// Whether two prefixes share addresses.
    pub fn meets(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::V4(a), Self::V4(b)) => a.meets(b),
            (Self::V6(a), Self::V6(b)) => a.contains(b.base()) || b.contains(a.base()),
            _ => false,
        }
    }

    /// Whether an address is of the same family.
    pub fn is_like(&self, address: IpAddr) -> bool {
        matches!(self, Self::V4(_)) == address.is_ipv4()
    }

    /// Whether an address lies inside.
    pub fn contains(&self, address: IpAddr) -> bool {
        match (self, address) {
            (Self::V4(p), IpAddr::V4(address)) => p.contains(address),
            (Self::V6(p), IpAddr::V6(address)) => p.contains(address),
            _ => false,
        }
    }
}

impl FromStr for Address {
    type Err = Malformed;

    fn from_str(text: &str) -> Result<Self, Malformed> {
        let ipv4 = text.parse().map(Self::V4);
        ipv4.or_else(|_| text.parse().map(Self::V6))
    }
}

impl FromStr for Prefix {
    type Err = Malformed;

    fn from_str(text: &str) -> Result<Self, Malformed> {
        let ipv4 = text.parse().map(Self::V4);
        ipv4.or_else(|_| text.parse().map(Self::V6))
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::V4(a) => a.fmt(f),
            Self::V6(a) => a.fmt(f),
        }
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::V4(p) => p.fmt(f),
            Self::V6(p) => p.fmt(f),
        }
    }
}
