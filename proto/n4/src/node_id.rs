//! Node ID: the name of a CP or UP function (TS 29.244, 8.2.38), owned.

use core::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use arrayvec::ArrayVec;
use sluice_wire::pfcp::value;

/// Octets of the longest domain name as text (RFC 1035, 3.1).
pub const FQDN_MAX_LEN: usize = 253;

/// The name under which a CP or UP function sets up its association; the association and its
/// sessions belong to it, whatever addresses the messages come from (TS 29.244, 5.8.1).
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "one for each peer, and none on the heap"
)]
pub enum NodeId {
    /// An address that the function exposes as its only one.
    Ip(IpAddr),
    /// A domain name.
    Fqdn(Fqdn),
}

/// A domain name as dotted text in lower case.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Fqdn(ArrayVec<u8, FQDN_MAX_LEN>);

/// The text is no domain name: a label is empty or longer than 63 octets, or the whole is
/// longer than 253.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FqdnError;

impl fmt::Display for FqdnError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a domain name has labels of 1 to 63 octets and at most 253 octets in all")
    }
}

impl std::error::Error for FqdnError {}

impl NodeId {
    /// The Node ID of a function with one IPv4 address.
    pub const fn v4(address: Ipv4Addr) -> Self {
        Self::Ip(IpAddr::V4(address))
    }

    /// The Node ID of a function with one IPv6 address.
    pub const fn v6(address: Ipv6Addr) -> Self {
        Self::Ip(IpAddr::V6(address))
    }

    /// From the IE; `None` if the name is too long to be one.
    pub fn from_wire(ie: value::NodeId<'_>) -> Option<Self> {
        match ie {
            value::NodeId::V4(address) => Some(Self::v4(address)),
            value::NodeId::V6(address) => Some(Self::v6(address)),
            value::NodeId::Fqdn(name) => Fqdn::from_wire(name).map(Self::Fqdn),
        }
    }

    /// Whether the IE has this name; nothing is copied for it.
    pub fn is(&self, ie: value::NodeId<'_>) -> bool {
        match (self, ie) {
            (Self::Fqdn(ours), value::NodeId::Fqdn(name)) => {
                name.octets().eq(ours.0.iter().copied())
            }
            (Self::Fqdn(_), _) | (_, value::NodeId::Fqdn(_)) => false,
            (Self::Ip(_), address) => self.as_wire() == address,
        }
    }

    /// For the IE.
    pub fn as_wire(&self) -> value::NodeId<'_> {
        match self {
            Self::Ip(IpAddr::V4(address)) => value::NodeId::V4(*address),
            Self::Ip(IpAddr::V6(address)) => value::NodeId::V6(*address),
            Self::Fqdn(name) => value::NodeId::Fqdn(value::Name(&name.0)),
        }
    }
}

impl Fqdn {
    /// From text such as `smf1.example.org`; a dot at the end is ignored.
    pub fn from_text(text: &str) -> Result<Self, FqdnError> {
        let text = text.strip_suffix('.').unwrap_or(text);
        if text
            .split('.')
            .any(|label| label.is_empty() || label.len() > 63)
        {
            return Err(FqdnError);
        }
        let mut octets = ArrayVec::new();
        octets
            .try_extend_from_slice(text.as_bytes())
            .map_err(|_| FqdnError)?;
        octets.make_ascii_lowercase();
        Ok(Self(octets))
    }

    /// From a name as a peer coded it: as labels, as the TS has it, or as plain text.
    fn from_wire(name: value::Name<'_>) -> Option<Self> {
        let mut octets = ArrayVec::new();
        for octet in name.octets() {
            octets.try_push(octet).ok()?;
        }
        Some(Self(octets))
    }
}

impl fmt::Display for Fqdn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.escape_ascii().fmt(f)
    }
}

impl fmt::Debug for Fqdn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Fqdn({self})")
    }
}

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ip(address) => address.fmt(f),
            Self::Fqdn(name) => name.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn received(octets: &[u8]) -> Option<NodeId> {
        NodeId::from_wire(value::NodeId::Fqdn(value::Name(octets)))
    }

    #[test]
    fn a_name_is_the_same_in_every_coding() {
        let name = NodeId::Fqdn(Fqdn::from_text("SMF1.example.org.").unwrap());
        assert_eq!(name.to_string(), "smf1.example.org");
        assert_eq!(received(b"\x04SMF1\x07example\x03org"), Some(name.clone()));
        assert_eq!(
            received(b"\x04smf1\x07example\x03org\0"),
            Some(name.clone())
        );
        assert_eq!(received(b"smf1.Example.org"), Some(name.clone()));
        assert_eq!(NodeId::from_wire(name.as_wire()), Some(name));
    }

    #[test]
    fn an_ie_is_recognised_as_it_came() {
        let fqdn = |octets| value::NodeId::Fqdn(value::Name(octets));
        let v4 = value::NodeId::V4([10, 0, 0, 1].into());
        let v6 = value::NodeId::V6([0x2001, 0xdb8, 0, 0, 0, 0, 0, 1].into());
        let names = [
            &b"\x04SMF1\x03org"[..],
            b"smf1.Org",
            b"smf1.or",
            b"10.0.0.1",
        ];
        let all: Vec<_> = names.map(fqdn).into_iter().chain([v4, v6]).collect();
        for one in &all {
            let owned = NodeId::from_wire(*one).unwrap();
            for other in &all {
                let same = NodeId::from_wire(*other).unwrap() == owned;
                assert_eq!(owned.is(*other), same, "{owned} {other:?}");
            }
        }
    }

    #[test]
    fn names_and_addresses_differ() {
        let address = NodeId::v4([10, 0, 0, 1].into());
        assert_eq!(NodeId::from_wire(address.as_wire()), Some(address.clone()));
        assert_ne!(received(b"10.0.0.1"), Some(address));
    }

    #[test]
    fn wrong_names_are_refused() {
        assert_eq!(Fqdn::from_text(""), Err(FqdnError));
        assert_eq!(Fqdn::from_text("a..b"), Err(FqdnError));
        assert_eq!(Fqdn::from_text(&"a".repeat(64)), Err(FqdnError));
        assert_eq!(Fqdn::from_text(&["a"; 128].join(".")), Err(FqdnError));
        assert_eq!(received(&[b'a'; 254]), None);
    }
}
