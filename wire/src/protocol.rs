//! Protocol numbers of IPv4 and next headers of IPv6 (IANA).

use core::fmt;

/// What an IPv4 or IPv6 packet carries (IANA protocol numbers).
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Protocol(pub u8);

impl Protocol {
    /// IPv6 hop-by-hop options (RFC 8200, 4.3).
    pub const HOP_BY_HOP: Self = Self(0);
    /// ICMP (RFC 792).
    pub const ICMP: Self = Self(1);
    /// TCP (RFC 9293).
    pub const TCP: Self = Self(6);
    /// UDP (RFC 768).
    pub const UDP: Self = Self(17);
    /// DCCP (RFC 4340).
    pub const DCCP: Self = Self(33);
    /// IPv6 routing header (RFC 8200, 4.4).
    pub const ROUTING: Self = Self(43);
    /// IPv6 fragment header (RFC 8200, 4.5).
    pub const FRAGMENT: Self = Self(44);
    /// IPsec ESP (RFC 4303).
    pub const ESP: Self = Self(50);
    /// IPsec AH (RFC 4302).
    pub const AH: Self = Self(51);
    /// ICMPv6 (RFC 4443).
    pub const ICMPV6: Self = Self(58);
    /// Nothing follows an IPv6 header (RFC 8200, 4.7).
    pub const NO_NEXT_HEADER: Self = Self(59);
    /// IPv6 destination options (RFC 8200, 4.6).
    pub const DESTINATION_OPTIONS: Self = Self(60);
    /// SCTP (RFC 9260).
    pub const SCTP: Self = Self(132);
    /// UDP-Lite (RFC 3828).
    pub const UDP_LITE: Self = Self(136);
}

impl fmt::Debug for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Protocol({})", self.0)
    }
}
