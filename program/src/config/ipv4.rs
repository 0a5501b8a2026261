//! IPv4 addresses with their subnets, and prefixes.

use core::fmt;
use core::net::Ipv4Addr;
use core::str::FromStr;

/// An address and the length of the subnet that it lies in.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Address4 {
    /// The address.
    pub address: Ipv4Addr,
    /// Prefix length of its subnet, 1 to 32.
    pub prefix_len: u8,
}

/// A prefix; all host bits are zero.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Prefix4 {
    base: Ipv4Addr,
    len: u8,
}

/// The text is no such thing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Malformed;

impl Address4 {
    /// Subnet of the address.
    pub fn subnet(&self) -> Prefix4 {
        Prefix4::around(self.address, self.prefix_len)
    }

    /// Whether the address can be a station's: not the subnet's own address or its broadcast
    /// (RFC 1122, 3.2.1.3; RFC 3021 for /31), not a group, not "this host".
    pub fn is_host(&self) -> bool {
        let subnet = self.subnet();
        let edge = self.prefix_len < 31
            && (self.address == subnet.base || u32::from(self.address) == subnet.last());
        !edge && !self.address.is_unspecified() && !self.address.is_multicast()
    }
}

impl Prefix4 {
    /// All addresses.
    pub const ALL: Self = Self {
        base: Ipv4Addr::UNSPECIFIED,
        len: 0,
    };

    /// The prefix of this length that an address lies in; `len` is at most 32.
    fn around(address: Ipv4Addr, len: u8) -> Self {
        let base = u32::from(address) & mask(len);
        Self {
            base: base.into(),
            len,
        }
    }

    /// First address.
    pub fn base(&self) -> Ipv4Addr {
        self.base
    }

    /// Length, 0 to 32.
    pub fn prefix_len(&self) -> u8 {
        self.len
    }

    /// Whether an address lies inside.
    pub fn contains(&self, address: Ipv4Addr) -> bool {
        u32::from(address) & mask(self.len) == u32::from(self.base)
    }

    /// Whether two prefixes share addresses.
    pub fn meets(&self, other: &Self) -> bool {
        self.contains(other.base) || other.contains(self.base)
    }

    /// Ones where an address must be like the base.
    pub fn mask(&self) -> u32 {
        mask(self.len)
    }

    fn last(&self) -> u32 {
        u32::from(self.base) | !mask(self.len)
    }
}

fn mask(len: u8) -> u32 {
    u32::MAX
        .checked_shl(32 - u32::from(len.min(32)))
        .unwrap_or(0)
}

impl FromStr for Address4 {
    type Err = Malformed;

    fn from_str(text: &str) -> Result<Self, Malformed> {
        let (address, len) = text.split_once('/').ok_or(Malformed)?;
        let address = address.parse().map_err(|_| Malformed)?;
        let prefix_len = length(len)?;
        (prefix_len > 0)
            .then_some(Self {
                address,
                prefix_len,
            })
            .ok_or(Malformed)
    }
}

impl FromStr for Prefix4 {
    type Err = Malformed;

    fn from_str(text: &str) -> Result<Self, Malformed> {
        let (address, len) = text.split_once('/').unwrap_or((text, "32"));
        let address = address.parse().map_err(|_| Malformed)?;
        let prefix = Self::around(address, length(len)?);
        (prefix.base == address).then_some(prefix).ok_or(Malformed)
    }
}

fn length(text: &str) -> Result<u8, Malformed> {
    text.parse().ok().filter(|len| *len <= 32).ok_or(Malformed)
}

impl fmt::Display for Address4 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.prefix_len)
    }
}

impl fmt::Display for Prefix4 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.base, self.len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prefix(text: &str) -> Prefix4 {
        text.parse().unwrap()
    }

    #[test]
    fn a_prefix_has_no_host_bits() {
        assert_eq!(prefix("10.45.0.0/16").to_string(), "10.45.0.0/16");
        assert_eq!(prefix("192.0.2.7").to_string(), "192.0.2.7/32");
        assert_eq!(prefix("0.0.0.0/0"), Prefix4::ALL);
        for bad in [
            "10.45.0.1/16",
            "10.45.0.0/33",
            "10.45/16",
            "10.45.0.0/",
            "::/0",
        ] {
            assert_eq!(bad.parse::<Prefix4>(), Err(Malformed), "{bad}");
        }
    }

    #[test]
    fn prefixes_meet_if_one_contains_the_other() {
        assert!(prefix("10.0.0.0/8").meets(&prefix("10.45.0.0/16")));
        assert!(prefix("10.45.3.0/24").meets(&prefix("10.45.0.0/16")));
        assert!(!prefix("10.45.0.0/16").meets(&prefix("10.46.0.0/16")));
        assert!(prefix("0.0.0.0/0").meets(&prefix("203.0.113.0/24")));
    }

    #[test]
    fn edges_of_a_subnet_are_no_stations() {
        let host = |text: &str| text.parse::<Address4>().unwrap().is_host();
        assert!(host("192.0.2.1/24"));
        assert!(!host("192.0.2.0/24"));
        assert!(!host("192.0.2.255/24"));
        assert!(host("192.0.2.0/31") && host("192.0.2.1/31") && host("192.0.2.0/32"));
        assert!(!host("224.0.0.1/24"));
        assert_eq!("192.0.2.1".parse::<Address4>(), Err(Malformed));
        assert_eq!("192.0.2.1/0".parse::<Address4>(), Err(Malformed));
    }
}
