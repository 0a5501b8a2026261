//! UE addresses: an IPv4 address and an IPv6 prefix of 64 bits (TS 23.501, 5.8.2.2).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// What a PDI names, or a session has.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct UeAddresses {
    pub ipv4: Option<Ipv4Addr>,
    pub prefix: Option<UePrefix>,
}

/// The upper half of an IPv6 address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UePrefix(u64);

impl UePrefix {
    pub fn of(address: Ipv6Addr) -> Self {
        Self((u128::from(address) >> 64) as u64)
    }

    /// With nothing in its lower half.
    pub fn address(self) -> Ipv6Addr {
        Ipv6Addr::from(u128::from(self.0) << 64)
    }
}

impl UeAddresses {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// True if `address` is the IPv4 address, or lies in the prefix.
    pub fn have(&self, address: IpAddr) -> bool {
        match address {
            IpAddr::V4(address) => self.ipv4 == Some(address),
            IpAddr::V6(address) => self.prefix == Some(UePrefix::of(address)),
        }
    }

    /// True if there is one of the version that `address` has.
    pub fn know_version_of(&self, address: IpAddr) -> bool {
        match address {
            IpAddr::V4(_) => self.ipv4.is_some(),
            IpAddr::V6(_) => self.prefix.is_some(),
        }
    }

    /// All of them; a prefix with nothing in its lower half.
    pub fn all(&self) -> impl Iterator<Item = IpAddr> + use<> {
        let prefix = self.prefix.map(|p| IpAddr::V6(p.address()));
        self.ipv4.map(IpAddr::V4).into_iter().chain(prefix)
    }

    /// True if one of them is the other's.
    pub fn share(&self, other: &Self) -> bool {
        let same_ipv4 = self.ipv4.is_some() && self.ipv4 == other.ipv4;
        same_ipv4 || self.prefix.is_some() && self.prefix == other.prefix
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_is_64_bits() {
        let address = |text: &str| text.parse::<Ipv6Addr>().expect("an address");
        let ue = UeAddresses {
            ipv4: None,
            prefix: Some(UePrefix::of(address("2001:db8:0:7::1"))),
        };
        assert!(ue.have(address("2001:db8:0:7:ffff::").into()));
        assert!(!ue.have(address("2001:db8:0:8::1").into()));
        assert!(!ue.have(Ipv4Addr::new(10, 45, 0, 7).into()));
        assert!(ue.know_version_of(address("::").into()));
        assert!(!ue.know_version_of(Ipv4Addr::UNSPECIFIED.into()));
    }
}
