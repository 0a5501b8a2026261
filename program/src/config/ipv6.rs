//! IPv6 addresses with their subnets, and prefixes.

use super::ipv4::Malformed;
use core::fmt;
use core::net::Ipv6Addr;
use core::str::FromStr;

/// An address and the length of the subnet that it lies in.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Address6 {
    /// The address.
    pub address: Ipv6Addr,
    /// Prefix length of its subnet, 1 to 128.
    pub prefix_len: u8,
}

/// A prefix; all host bits are zero.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Prefix6 {
    base: Ipv6Addr,
    len: u8,
}

impl Address6 {
    /// Subnet of the address.
    pub fn subnet(&self) -> Prefix6 {
        Prefix6::around(self.address, self.prefix_len).unwrap_or(Prefix6::ALL)
    }

    /// Whether the address can be a station's: no group, not the one that all routers of the subnet have
    /// (RFC 4291, 2.6.1; RFC 6164 for /127), neither "no address" nor "this host".
    pub fn is_host(&self) -> bool {
        let anycast = self.prefix_len < 127 && self.address == self.subnet().base();
        let address = self.address;
        !(anycast || address.is_unspecified() || address.is_multicast() || address.is_loopback())
    }
}

impl Prefix6 {
    /// All addresses.
    pub const ALL: Self = Self {
        base: Ipv6Addr::UNSPECIFIED,
        len: 0,
    };

    fn around(address: Ipv6Addr, len: u8) -> Option<Self> {
        (len <= 128).then(|| Self {
            base: Ipv6Addr::from_bits(address.to_bits() & mask(len)),
            len,
        })
    }

    /// First address.
    pub fn base(&self) -> Ipv6Addr {
        self.base
    }

    /// Length, 0 to 128.
    pub fn prefix_len(&self) -> u8 {
        self.len
    }

    /// Whether an address lies inside.
    pub fn contains(&self, address: Ipv6Addr) -> bool {
        address.to_bits() & mask(self.len) == self.base.to_bits()
    }
}

fn mask(len: u8) -> u128 {
    u128::MAX
        .checked_shl(128 - u32::from(len.min(128)))
        .unwrap_or(0)
}

impl FromStr for Address6 {
    type Err = Malformed;

    fn from_str(text: &str) -> Result<Self, Malformed> {
        let (address, len) = text.split_once('/').ok_or(Malformed)?;
        let address = address.parse().map_err(|_| Malformed)?;
        let prefix_len = len.parse().map_err(|_| Malformed)?;
        (1..=128)
            .contains(&prefix_len)
            .then_some(Self {
                address,
                prefix_len,
            })
            .ok_or(Malformed)
    }
}

impl FromStr for Prefix6 {
    type Err = Malformed;

    fn from_str(text: &str) -> Result<Self, Malformed> {
        let (address, len) = text.split_once('/').unwrap_or((text, "128"));
        let address = address.parse().map_err(|_| Malformed)?;
        let len = len.parse().map_err(|_| Malformed)?;
        let prefix = Self::around(address, len).ok_or(Malformed)?;
        (prefix.base() == address)
            .then_some(prefix)
            .ok_or(Malformed)
    }
}

impl fmt::Display for Address6 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.prefix_len)
    }
}

impl fmt::Display for Prefix6 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.base, self.len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_has_no_host_bits() {
        let prefix = |text: &str| text.parse::<Prefix6>().unwrap();
        assert_eq!(prefix("2001:db8:6::/64").to_string(), "2001:db8:6::/64");
        assert_eq!(prefix("2001:db8::7").to_string(), "2001:db8::7/128");
        assert_eq!(prefix("::/0"), Prefix6::ALL);
        for bad in [
            "2001:db8::1/64",
            "2001:db8::/129",
            "10.0.0.0/8",
            "::/",
            "/64",
        ] {
            assert_eq!(bad.parse::<Prefix6>(), Err(Malformed), "{bad}");
        }
    }

    #[test]
    fn groups_and_the_address_of_all_routers_are_no_stations() {
        let host = |text: &str| text.parse::<Address6>().unwrap().is_host();
        assert!(host("2001:db8::1/64") && host("2001:db8::/127") && host("2001:db8::/128"));
        assert!(!host("2001:db8::/64") && !host("ff02::1/64"));
        assert!(!host("::/128") && !host("::1/128"));
        assert_eq!("2001:db8::1".parse::<Address6>(), Err(Malformed));
        assert_eq!("2001:db8::1/0".parse::<Address6>(), Err(Malformed));
    }
}
