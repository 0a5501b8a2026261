//! F-SEID (TS 29.244, 8.2.37).

use core::net::{Ipv4Addr, Ipv6Addr};

use crate::ids::Seid;
use crate::pfcp::element::{Element, Fault, Reader};
use crate::pfcp::writer::{Full, Writer};

/// Fully qualified SEID: a session at one side; at least one address is there.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FSeid {
    /// The SEID.
    pub seid: Seid,
    /// The IPv4 address.
    pub ipv4: Option<Ipv4Addr>,
    /// The IPv6 address.
    pub ipv6: Option<Ipv6Addr>,
}

const V6: u8 = 0x01;
const V4: u8 = 0x02;

impl FSeid {
    /// A session at an IPv4 address.
    pub const fn v4(seid: Seid, ipv4: Ipv4Addr) -> Self {
        Self {
            seid,
            ipv4: Some(ipv4),
            ipv6: None,
        }
    }

    /// A session at an IPv6 address.
    pub const fn v6(seid: Seid, ipv6: Ipv6Addr) -> Self {
        Self {
            seid,
            ipv4: None,
            ipv6: Some(ipv6),
        }
    }
}

impl Element<'_> for FSeid {
    fn decode(value: &[u8]) -> Result<Self, Fault> {
        let mut reader = Reader::new(value);
        let flags = reader.u8()?;
        if flags & (V4 | V6) == 0 {
            return Err(Fault::Value);
        }
        let seid = Seid(reader.u64()?);
        let ipv4 = reader.ipv4(flags & V4 != 0)?;
        let ipv6 = reader.ipv6(flags & V6 != 0)?;
        Ok(Self { seid, ipv4, ipv6 })
    }

    fn encode(&self, out: &mut Writer<'_>) -> Result<(), Full> {
        let v4 = if self.ipv4.is_some() { V4 } else { 0 };
        let v6 = if self.ipv6.is_some() { V6 } else { 0 };
        out.u8(v4 | v6)?;
        out.u64(self.seid.0)?;
        out.ipv4(self.ipv4)?;
        out.ipv6(self.ipv6)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pfcp::testing::check_coding;

    #[test]
    fn an_f_seid_has_seid_and_addresses() {
        let v4 = FSeid::v4(Seid(0x1122_3344_5566_7788), Ipv4Addr::new(10, 0, 0, 1));
        check_coding(
            &v4,
            &[
                2, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 10, 0, 0, 1,
            ],
        );
        assert_eq!(
            FSeid::decode(&[0, 0, 0, 0, 0, 0, 0, 0, 1]),
            Err(Fault::Value)
        );
        assert_eq!(
            FSeid::decode(&[2, 0, 0, 0, 0, 0, 0, 0, 1, 10]),
            Err(Fault::Length)
        );
    }
}
