//! Addresses of CP functions (TS 29.244, 8.2.129 and 8.2.135).

use core::net::{Ipv4Addr, Ipv6Addr};

use crate::pfcp::element::{Element, Fault, Reader};
use crate::pfcp::writer::{Full, Writer};

const V6: u8 = 0x01;
const V4: u8 = 0x02;
const PPE: u8 = 0x04;

/// Alternative SMF IP Address (8.2.129): where else the CP function can be reached.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct AlternativeSmfIpAddress {
    /// V4: the IPv4 address.
    pub ipv4: Option<Ipv4Addr>,
    /// V6: the IPv6 address.
    pub ipv6: Option<Ipv6Addr>,
    /// PPE: this is the preferred PFCP entity.
    pub preferred: bool,
}

impl Element<'_> for AlternativeSmfIpAddress {
    fn decode(value: &[u8]) -> Result<Self, Fault> {
        let (flags, ipv4, ipv6) = flagged_addresses(value)?;
        Ok(Self {
            ipv4,
            ipv6,
            preferred: flags & PPE != 0,
        })
    }

    fn encode(&self, out: &mut Writer<'_>) -> Result<(), Full> {
        write_addresses(
            out,
            if self.preferred { PPE } else { 0 },
            self.ipv4,
            self.ipv6,
        )
    }
}

/// CP PFCP Entity IP Address (8.2.135): whose sessions are to be retained.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CpPfcpEntityIpAddress {
    /// V4: the IPv4 address.
    pub ipv4: Option<Ipv4Addr>,
    /// V6: the IPv6 address.
    pub ipv6: Option<Ipv6Addr>,
}

impl Element<'_> for CpPfcpEntityIpAddress {
    fn decode(value: &[u8]) -> Result<Self, Fault> {
        flagged_addresses(value).map(|(_, ipv4, ipv6)| Self { ipv4, ipv6 })
    }

    fn encode(&self, out: &mut Writer<'_>) -> Result<(), Full> {
        write_addresses(out, 0, self.ipv4, self.ipv6)
    }
}

type Flagged = (u8, Option<Ipv4Addr>, Option<Ipv6Addr>);

fn flagged_addresses(value: &[u8]) -> Result<Flagged, Fault> {
    let mut reader = Reader::new(value);
    let flags = reader.u8()?;
    if flags & (V4 | V6) == 0 {
        return Err(Fault::Value);
    }
    Ok((
        flags,
        reader.ipv4(flags & V4 != 0)?,
        reader.ipv6(flags & V6 != 0)?,
    ))
}

fn write_addresses(
    out: &mut Writer<'_>,
    flags: u8,
    ipv4: Option<Ipv4Addr>,
    ipv6: Option<Ipv6Addr>,
) -> Result<(), Full> {
    let v4 = if ipv4.is_some() { V4 } else { 0 };
    let v6 = if ipv6.is_some() { V6 } else { 0 };
    out.u8(flags | v4 | v6)?;
    out.ipv4(ipv4)?;
    out.ipv6(ipv6)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pfcp::testing::check_coding;

    #[test]
    fn the_preferred_entity_is_flagged() {
        let ipv4 = Some(Ipv4Addr::new(10, 0, 0, 1));
        let address = AlternativeSmfIpAddress {
            ipv4,
            ipv6: None,
            preferred: true,
        };
        check_coding(&address, &[6, 10, 0, 0, 1]);
        check_coding(
            &CpPfcpEntityIpAddress { ipv4, ipv6: None },
            &[2, 10, 0, 0, 1],
        );
        assert_eq!(CpPfcpEntityIpAddress::decode(&[0]), Err(Fault::Value));
    }
}
