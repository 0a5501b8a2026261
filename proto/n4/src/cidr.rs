//! Address prefixes for the list of peers that may talk to the endpoint.

use core::fmt;
use core::str::FromStr;
use std::net::IpAddr;

/// An IPv4 or IPv6 prefix such as `10.1.0.0/16`; a bare address stands for itself alone.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Cidr {
    address: IpAddr,
    prefix_len: u8,
}

/// Why a text is no prefix.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CidrError {
    /// The part before the slash is no address.
    Address(String),
    /// The part behind the slash is no number from 0 to 32 (IPv4) or 128 (IPv6).
    PrefixLength(String),
}

impl fmt::Display for CidrError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address(text) => write!(f, "'{text}' is not an IPv4 or IPv6 address"),
            Self::PrefixLength(text) => write!(f, "'{text}' is not a prefix length"),
        }
    }
}

impl std::error::Error for CidrError {}

impl Cidr {
    /// `None` if the length exceeds that of the address: 32 or 128 bits.
    pub const fn new(address: IpAddr, prefix_len: u8) -> Option<Self> {
        let longest = if address.is_ipv4() { 32 } else { 128 };
        if prefix_len <= longest {
            Some(Self {
                address,
                prefix_len,
            })
        } else {
            None
        }
    }

    /// Whether `address` lies within. An IPv4-mapped IPv6 address counts as IPv4.
    pub fn contains(&self, address: IpAddr) -> bool {
        match (self.address, address.to_canonical()) {
            (IpAddr::V4(own), IpAddr::V4(other)) => {
                let differing = own.to_bits() ^ other.to_bits();
                differing.leading_zeros() >= u32::from(self.prefix_len)
            }
            (IpAddr::V6(own), IpAddr::V6(other)) => {
                let differing = own.to_bits() ^ other.to_bits();
                differing.leading_zeros() >= u32::from(self.prefix_len)
            }
            _ => false,
        }
    }
}

impl FromStr for Cidr {
    type Err = CidrError;

    fn from_str(text: &str) -> Result<Self, CidrError> {
        let (address, prefix_len) = text.split_once('/').unzip();
        let address = address.unwrap_or(text);
        let address: IpAddr = address
            .parse()
            .map_err(|_| CidrError::Address(address.to_owned()))?;
        let wrong = |length: &str| CidrError::PrefixLength(length.to_owned());
        match prefix_len {
            None => Ok(Self {
                address,
                prefix_len: if address.is_ipv4() { 32 } else { 128 },
            }),
            Some(length) => {
                let bits = length.parse().map_err(|_| wrong(length))?;
                Self::new(address, bits).ok_or_else(|| wrong(length))
            }
        }
    }
}

impl fmt::Display for Cidr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.prefix_len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contains(prefix: &str, address: &str) -> bool {
        prefix
            .parse::<Cidr>()
            .unwrap()
            .contains(address.parse().unwrap())
    }

    #[test]
    fn a_prefix_contains_exactly_its_addresses() {
        assert!(contains("10.1.0.0/16", "10.1.255.3"));
        assert!(!contains("10.1.0.0/16", "10.2.0.0"));
        assert!(contains("0.0.0.0/0", "203.0.113.9"));
        assert!(!contains("0.0.0.0/0", "2001:db8::1"));
        assert!(contains("192.0.2.7", "192.0.2.7"));
        assert!(!contains("192.0.2.7", "192.0.2.6"));
        assert!(contains("2001:db8::/33", "2001:db8:7fff::1"));
        assert!(!contains("2001:db8::/33", "2001:db8:8000::1"));
        assert!(contains("10.0.0.0/8", "::ffff:10.3.4.5"));
    }

    #[test]
    fn a_wrong_text_says_which_part_is_wrong() {
        assert_eq!(
            "10.1".parse::<Cidr>(),
            Err(CidrError::Address("10.1".into()))
        );
        let too_long = Err(CidrError::PrefixLength("33".into()));
        assert_eq!("10.0.0.0/33".parse::<Cidr>(), too_long);
        assert_eq!(
            "::/-1".parse::<Cidr>(),
            Err(CidrError::PrefixLength("-1".into()))
        );
    }
}
