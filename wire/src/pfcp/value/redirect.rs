//! Redirect Information (TS 29.244, 8.2.20).

use crate::pfcp::element::{Element, Fault, Reader};
use crate::pfcp::writer::{Full, Writer};

/// Where traffic is redirected to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RedirectInformation<'a> {
    /// What kind of address follows.
    pub address_type: RedirectAddressType,
    /// The address as text: an IP address, a URL or a SIP URI.
    pub server_address: &'a [u8],
    /// With [`RedirectAddressType::IPV4_AND_IPV6`]: the IPv6 address as text.
    pub other_server_address: Option<&'a [u8]>,
    /// With a type that has a port: the port.
    pub port: Option<u16>,
}

/// Redirect Address Type, four bits. Values without a name are kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RedirectAddressType(pub u8);

impl RedirectAddressType {
    /// An IPv4 address.
    pub const IPV4: Self = Self(0);
    /// An IPv6 address.
    pub const IPV6: Self = Self(1);
    /// A URL.
    pub const URL: Self = Self(2);
    /// A SIP URI.
    pub const SIP_URI: Self = Self(3);
    /// An IPv4 and an IPv6 address.
    pub const IPV4_AND_IPV6: Self = Self(4);
    /// A port alone.
    pub const PORT: Self = Self(5);
    /// An IPv4 address and a port.
    pub const IPV4_AND_PORT: Self = Self(6);
    /// An IPv6 address and a port.
    pub const IPV6_AND_PORT: Self = Self(7);
    /// An IPv4 and an IPv6 address and a port.
    pub const IPV4_IPV6_AND_PORT: Self = Self(8);

    const fn has_other_address(self) -> bool {
        matches!(self, Self::IPV4_AND_IPV6 | Self::IPV4_IPV6_AND_PORT)
    }

    const fn has_port(self) -> bool {
        self.0 >= Self::PORT.0 && self.0 <= Self::IPV4_IPV6_AND_PORT.0
    }
}

impl<'a> Element<'a> for RedirectInformation<'a> {
    fn decode(value: &'a [u8]) -> Result<Self, Fault> {
        let mut reader = Reader::new(value);
        let address_type = RedirectAddressType(reader.u8()? & 0x0f);
        let server_address = reader.long_text()?;
        let other = reader.when(address_type.has_other_address(), Reader::long_text)?;
        let port = reader.when(address_type.has_port(), Reader::u16)?;
        Ok(Self {
            address_type,
            server_address,
            other_server_address: other,
            port,
        })
    }

    fn encode(&self, out: &mut Writer<'_>) -> Result<(), Full> {
        out.u8(self.address_type.0 & 0x0f)?;
        long_text(out, self.server_address)?;
        self.other_server_address
            .map_or(Ok(()), |address| long_text(out, address))?;
        self.port.map_or(Ok(()), |port| out.u16(port))
    }
}

fn long_text(out: &mut Writer<'_>, text: &[u8]) -> Result<(), Full> {
    out.u16(u16::try_from(text.len()).map_err(|_| Full)?)?;
    out.bytes(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pfcp::testing::check_coding;

    #[test]
    fn a_url_stands_behind_its_length() {
        let redirect = RedirectInformation {
            address_type: RedirectAddressType::URL,
            server_address: b"http://a",
            ..RedirectInformation::default()
        };
        check_coding(&redirect, b"\x02\0\x08http://a");
        assert_eq!(
            RedirectInformation::decode(b"\x02\0\x09http://a"),
            Err(Fault::Length)
        );
    }

    #[test]
    fn two_addresses_and_a_port_follow_each_other() {
        let redirect = RedirectInformation {
            address_type: RedirectAddressType::IPV4_IPV6_AND_PORT,
            server_address: b"1.2.3.4",
            other_server_address: Some(b"::1"),
            port: Some(80),
        };
        check_coding(&redirect, b"\x08\0\x071.2.3.4\0\x03::1\0\x50");
    }
}
