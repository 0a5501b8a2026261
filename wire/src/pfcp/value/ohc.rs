//! Outer Header Creation (TS 29.244, 8.2.56).

use core::net::{Ipv4Addr, Ipv6Addr};

use super::bits::bit_set;
use crate::ids::Teid;
use crate::pfcp::element::{Element, Fault, Reader};
use crate::pfcp::writer::{Full, Writer};

bit_set! {
    /// Which outer header is put on.
    pub struct OuterHeaderDescription(u16), octets = 2 {
        /// GTP-U, UDP and IPv4.
        GTPU_UDP_IPV4 = 0;
        /// GTP-U, UDP and IPv6.
        GTPU_UDP_IPV6 = 1;
        /// UDP and IPv4.
        UDP_IPV4 = 2;
        /// UDP and IPv6.
        UDP_IPV6 = 3;
        /// IPv4.
        IPV4 = 4;
        /// IPv6.
        IPV6 = 5;
        /// A VLAN C-TAG.
        C_TAG = 6;
        /// A VLAN S-TAG.
        S_TAG = 7;
        /// The packets go to N19.
        N19_INDICATION = 8;
        /// The packets go to N6.
        N6_INDICATION = 9;
    }
}

/// The outer header that a FAR puts on; the description tells which of the fields are there.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct OuterHeaderCreation {
    /// Which header.
    pub description: OuterHeaderDescription,
    /// The peer's TEID, with GTP-U.
    pub teid: Option<Teid>,
    /// The peer's IPv4 address.
    pub ipv4: Option<Ipv4Addr>,
    /// The peer's IPv6 address.
    pub ipv6: Option<Ipv6Addr>,
    /// The peer's UDP port, with UDP but not GTP-U.
    pub port: Option<u16>,
    /// The C-TAG as in octets 5 to 7 of the C-TAG IE (8.2.94).
    pub c_tag: Option<[u8; 3]>,
    /// The S-TAG as in octets 5 to 7 of the S-TAG IE (8.2.95).
    pub s_tag: Option<[u8; 3]>,
}

type Description = OuterHeaderDescription;

impl OuterHeaderCreation {
    /// GTP-U to an IPv4 peer.
    pub fn gtpu_v4(teid: Teid, ipv4: Ipv4Addr) -> Self {
        Self {
            description: Description::GTPU_UDP_IPV4,
            teid: Some(teid),
            ipv4: Some(ipv4),
            ..Self::default()
        }
    }

    /// GTP-U to an IPv6 peer.
    pub fn gtpu_v6(teid: Teid, ipv6: Ipv6Addr) -> Self {
        Self {
            description: Description::GTPU_UDP_IPV6,
            teid: Some(teid),
            ipv6: Some(ipv6),
            ..Self::default()
        }
    }
}

impl Description {
    const GTPU: Self = Self::GTPU_UDP_IPV4.union(Self::GTPU_UDP_IPV6);
    const UDP: Self = Self::UDP_IPV4.union(Self::UDP_IPV6);
    const ANY_V4: Self = Self::GTPU_UDP_IPV4.union(Self::UDP_IPV4).union(Self::IPV4);
    const ANY_V6: Self = Self::GTPU_UDP_IPV6.union(Self::UDP_IPV6).union(Self::IPV6);
}

impl Element<'_> for OuterHeaderCreation {
    #[inline]
    fn decode(value: &[u8]) -> Result<Self, Fault> {
        let mut reader = Reader::new(value);
        let description = OuterHeaderDescription(u16::from_le_bytes(reader.array()?));
        if description == Description::NONE {
            return Err(Fault::Value);
        }
        let teid = reader.when(description.intersects(Description::GTPU), |reader| {
            Teid::new(reader.u32()?).ok_or(Fault::Value)
        })?;
        Ok(Self {
            description,
            teid,
            ipv4: reader.ipv4(description.intersects(Description::ANY_V4))?,
            ipv6: reader.ipv6(description.intersects(Description::ANY_V6))?,
            port: reader.when(description.intersects(Description::UDP), Reader::u16)?,
            c_tag: reader.when(description.contains(Description::C_TAG), Reader::array)?,
            s_tag: reader.when(description.contains(Description::S_TAG), Reader::array)?,
        })
    }

    #[inline]
    fn encode(&self, out: &mut Writer<'_>) -> Result<(), Full> {
        out.bytes(&self.description.0.to_le_bytes())?;
        self.teid.map_or(Ok(()), |teid| out.u32(teid.get()))?;
        out.ipv4(self.ipv4)?;
        out.ipv6(self.ipv6)?;
        self.port.map_or(Ok(()), |port| out.u16(port))?;
        self.c_tag.map_or(Ok(()), |tag| out.bytes(&tag))?;
        self.s_tag.map_or(Ok(()), |tag| out.bytes(&tag))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pfcp::testing::check_coding;

    #[test]
    fn gtpu_has_teid_and_address() {
        let teid = Teid::new(0x0102_0304).unwrap();
        let header = OuterHeaderCreation::gtpu_v4(teid, Ipv4Addr::new(10, 0, 0, 1));
        check_coding(&header, &[1, 0, 1, 2, 3, 4, 10, 0, 0, 1]);
    }

    #[test]
    fn udp_has_address_and_port_and_tags_come_last() {
        let header = OuterHeaderCreation {
            description: Description::UDP_IPV4 | Description::C_TAG | Description::N6_INDICATION,
            ipv4: Some(Ipv4Addr::new(10, 0, 0, 1)),
            port: Some(2152),
            c_tag: Some([4, 0, 9]),
            ..OuterHeaderCreation::default()
        };
        check_coding(&header, &[0x44, 2, 10, 0, 0, 1, 8, 0x68, 4, 0, 9]);
    }

    #[test]
    fn no_header_and_teid_0_are_incorrect() {
        assert_eq!(OuterHeaderCreation::decode(&[0, 0]), Err(Fault::Value));
        let teid_0 = [1, 0, 0, 0, 0, 0, 10, 0, 0, 1];
        assert_eq!(OuterHeaderCreation::decode(&teid_0), Err(Fault::Value));
        assert_eq!(OuterHeaderCreation::decode(&[1]), Err(Fault::Length));
    }
}
