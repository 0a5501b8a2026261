//! UE IP Address (TS 29.244, 8.2.62), with the length of an IPv6 prefix (5.14, 5.21.1).

use core::net::{Ipv4Addr, Ipv6Addr};

use crate::pfcp::element::{Element, Fault, Reader};
use crate::pfcp::writer::{Full, Writer};

/// The address or prefix of a UE, or the wish that the UP function choose one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct UeIpAddress {
    /// S/D: in a PDI, match the destination address rather than the source address.
    pub destination: bool,
    /// V4: the IPv4 address.
    pub ipv4: Option<Ipv4Addr>,
    /// V6: the IPv6 address or prefix; /64 unless the fields below say otherwise.
    pub ipv6: Option<Ipv6Addr>,
    /// IPv6D: bits below /64 by which a delegated prefix is shorter (TS 29.244, 5.14); 0 next to
    /// CHV6: the UP function chooses.
    pub ipv6_prefix_delegation_bits: Option<u8>,
    /// IP6PL: the length of the IPv6 prefix, 128 for a whole address (TS 29.244, 5.21.1); 0 next to
    /// CHV6: the UP function chooses.
    pub ipv6_prefix_length: Option<u8>,
    /// CHV4: the UP function chooses the IPv4 address.
    pub choose_ipv4: bool,
    /// CHV6: the UP function chooses the IPv6 address or prefix.
    pub choose_ipv6: bool,
}

const V6: u8 = 0x01;
const V4: u8 = 0x02;
const SD: u8 = 0x04;
const IPV6D: u8 = 0x08;
const CHV4: u8 = 0x10;
const CHV6: u8 = 0x20;
const IP6PL: u8 = 0x40;

impl UeIpAddress {
    /// An IPv4 address, to be matched as source or as destination.
    pub fn v4(ipv4: Ipv4Addr, destination: bool) -> Self {
        Self {
            destination,
            ipv4: Some(ipv4),
            ..Self::default()
        }
    }

    /// An IPv6 /64 prefix, to be matched as source or as destination.
    pub fn v6(ipv6: Ipv6Addr, destination: bool) -> Self {
        Self {
            destination,
            ipv6: Some(ipv6),
            ..Self::default()
        }
    }

    /// The length of the IPv6 prefix: 64, less the delegated bits, or as stated.
    pub fn ipv6_prefix_bits(&self) -> u8 {
        match (self.ipv6_prefix_length, self.ipv6_prefix_delegation_bits) {
            (Some(length), _) => length,
            (None, Some(delegated)) => 64u8.saturating_sub(delegated),
            (None, None) => 64,
        }
    }

    fn flags(&self) -> u8 {
        [
            (V6, self.ipv6.is_some()),
            (V4, self.ipv4.is_some()),
            (SD, self.destination),
            (IPV6D, self.ipv6_prefix_delegation_bits.is_some()),
            (CHV4, self.choose_ipv4),
            (CHV6, self.choose_ipv6),
            (IP6PL, self.ipv6_prefix_length.is_some()),
        ]
        .iter()
        .fold(
            0,
            |flags, &(bit, set)| if set { flags | bit } else { flags },
        )
    }
}

impl Element<'_> for UeIpAddress {
    #[inline]
    fn decode(value: &[u8]) -> Result<Self, Fault> {
        let mut reader = Reader::new(value);
        let flags = reader.u8()?;
        let both = |given, chosen| flags & given != 0 && flags & chosen != 0;
        if both(V4, CHV4) || both(V6, CHV6) {
            return Err(Fault::Value);
        }
        let this = Self {
            destination: flags & SD != 0,
            ipv4: reader.ipv4(flags & V4 != 0)?,
            ipv6: reader.ipv6(flags & V6 != 0)?,
            ipv6_prefix_delegation_bits: reader.when(flags & IPV6D != 0, Reader::u8)?,
            ipv6_prefix_length: reader.when(flags & IP6PL != 0, Reader::u8)?,
            choose_ipv4: flags & CHV4 != 0,
            choose_ipv6: flags & CHV6 != 0,
        };
        let length = this.ipv6_prefix_length.unwrap_or(0);
        let delegated = this.ipv6_prefix_delegation_bits.unwrap_or(0);
        if length > 128 || delegated > 64 {
            Err(Fault::Value)
        } else {
            Ok(this)
        }
    }

    #[inline]
    fn encode(&self, out: &mut Writer<'_>) -> Result<(), Full> {
        out.u8(self.flags())?;
        out.ipv4(self.ipv4)?;
        out.ipv6(self.ipv6)?;
        self.ipv6_prefix_delegation_bits
            .map_or(Ok(()), |bits| out.u8(bits))?;
        self.ipv6_prefix_length
            .map_or(Ok(()), |length| out.u8(length))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pfcp::testing::check_coding;

    #[test]
    fn addresses_follow_the_flags() {
        let v4 = UeIpAddress::v4(Ipv4Addr::new(10, 45, 0, 2), true);
        check_coding(&v4, &[0x06, 10, 45, 0, 2]);
        let v6 = UeIpAddress {
            ipv6: Some("2001:db8::".parse().unwrap()),
            ipv6_prefix_delegation_bits: Some(8),
            ..UeIpAddress::default()
        };
        let octets = [
            0x09, 0x20, 1, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 8,
        ];
        check_coding(&v6, &octets);
        assert_eq!(v6.ipv6_prefix_bits(), 56);
    }

    #[test]
    fn a_choice_may_state_a_prefix_length() {
        let choose = UeIpAddress {
            choose_ipv4: true,
            choose_ipv6: true,
            ipv6_prefix_length: Some(60),
            ..UeIpAddress::default()
        };
        check_coding(&choose, &[0x70, 60]);
    }

    #[test]
    fn an_address_cannot_be_given_and_chosen() {
        assert_eq!(UeIpAddress::decode(&[0x12, 10, 0, 0, 1]), Err(Fault::Value));
        assert_eq!(UeIpAddress::decode(&[0x02, 10, 0, 0]), Err(Fault::Length));
        assert_eq!(UeIpAddress::decode(&[0x60, 129]), Err(Fault::Value));
    }
}
