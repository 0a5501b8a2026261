//! Addresses that may speak to an endpoint. They are asked before any octet of SCTP is read.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

/// An address prefix.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Prefix {
    address: IpAddr,
    bits: u8,
}

impl Prefix {
    /// The first `bits` bits of an address; none when it has fewer.
    pub fn new(address: IpAddr, bits: u8) -> Option<Self> {
        (bits <= width(address)).then_some(Self { address, bits })
    }

    /// Address and prefix length.
    pub fn parts(&self) -> (IpAddr, u8) {
        (self.address, self.bits)
    }

    /// Whether an address is in it.
    pub fn contains(&self, address: IpAddr) -> bool {
        let width = width(self.address);
        let free = u32::from(width - self.bits);
        // All bits are free: a shift by the whole width is none.
        let differing = number(self.address) ^ number(address);
        self.address.is_ipv4() == address.is_ipv4()
            && differing.checked_shr(free).unwrap_or_default() == 0
    }
}

impl FromStr for Prefix {
    type Err = String;

    /// `10.0.0.0/8`, or an address alone.
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            let found = text.escape_debug();
            format!("expected an address or a prefix, found \"{found}\"")
        };
        let (address, bits) = text
            .split_once('/')
            .map_or((text, None), |(address, bits)| (address, Some(bits)));
        let address: IpAddr = address.parse().map_err(|_| wrong())?;
        let bits = bits.map_or(Ok(width(address)), str::parse);
        Self::new(address, bits.map_err(|_| wrong())?).ok_or_else(wrong)
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.bits)
    }
}

const fn width(address: IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
}

fn number(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => u32::from(address).into(),
        IpAddr::V6(address) => address.into(),
    }
}

/// Prefixes of peers; an empty list allows nobody.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct AllowList(Vec<Prefix>);

impl AllowList {
    /// Of these prefixes.
    pub fn new(prefixes: Vec<Prefix>) -> Self {
        Self(prefixes)
    }

    /// The prefixes.
    pub fn prefixes(&self) -> &[Prefix] {
        &self.0
    }

    /// Whether an address may speak.
    pub fn allows(&self, address: IpAddr) -> bool {
        self.0.iter().any(|prefix| prefix.contains(address))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prefix(text: &str) -> Prefix {
        text.parse().expect("a prefix")
    }

    fn address(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    #[test]
    fn a_prefix_has_the_addresses_that_begin_like_it() {
        assert!(prefix("10.1.0.0/16").contains(address("10.1.255.1")));
        assert!(!prefix("10.1.0.0/16").contains(address("10.2.0.1")));
        assert!(prefix("10.1.0.7").contains(address("10.1.0.7")));
        assert!(!prefix("10.1.0.7").contains(address("10.1.0.6")));
        assert!(prefix("0.0.0.0/0").contains(address("255.1.2.3")));
        assert!(prefix("::/0").contains(address("2001:db8::1")));
        assert!(!prefix("::/0").contains(address("10.0.0.1")));
        assert!(!prefix("0.0.0.0/0").contains(address("::1")));
        assert!(prefix("2001:db8::/32").contains(address("2001:db8:1::1")));
        assert!(!prefix("2001:db8::/32").contains(address("2001:db9::1")));
    }

    #[test]
    fn what_is_no_prefix_is_refused() {
        for text in ["", "10.0.0.0/33", "10.0.0.0/", "x/8", "::/129", "10.0.0/8"] {
            assert!(text.parse::<Prefix>().is_err(), "{text}");
        }
        assert_eq!(prefix("10.0.0.0/8").to_string(), "10.0.0.0/8");
    }

    #[test]
    fn an_empty_list_allows_nobody() {
        assert!(!AllowList::default().allows(address("127.0.0.1")));
        let list = AllowList::new(vec![prefix("10.0.0.0/8"), prefix("fd00::/8")]);
        assert!(list.allows(address("10.9.9.9")) && list.allows(address("fd00::1")));
        assert!(!list.allows(address("11.0.0.0")));
    }
}
