//! F-TEID (TS 29.244, 8.2.3).

use core::net::{Ipv4Addr, Ipv6Addr};

use crate::ids::Teid;
use crate::pfcp::element::{Element, Fault, Reader};
use crate::pfcp::writer::{Full, Writer};

/// Fully qualified TEID: a tunnel endpoint, or the wish that the UP function choose one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FTeid {
    /// An endpoint that exists; at least one address is there.
    Assigned {
        /// The TEID.
        teid: Teid,
        /// The IPv4 address.
        ipv4: Option<Ipv4Addr>,
        /// The IPv6 address.
        ipv6: Option<Ipv6Addr>,
    },
    /// CHOOSE: the UP function assigns the TEID and the addresses (5.5.3).
    Choose {
        /// An IPv4 address is wanted.
        ipv4: bool,
        /// An IPv6 address is wanted.
        ipv6: bool,
        /// All PDRs of a request with the same CHOOSE ID get the same F-TEID.
        choose_id: Option<u8>,
    },
}

const V4: u8 = 0x01;
const V6: u8 = 0x02;
const CH: u8 = 0x04;
const CHID: u8 = 0x08;

impl FTeid {
    /// An endpoint with an IPv4 address.
    pub const fn v4(teid: Teid, ipv4: Ipv4Addr) -> Self {
        Self::Assigned {
            teid,
            ipv4: Some(ipv4),
            ipv6: None,
        }
    }

    /// An endpoint with an IPv6 address.
    pub const fn v6(teid: Teid, ipv6: Ipv6Addr) -> Self {
        Self::Assigned {
            teid,
            ipv4: None,
            ipv6: Some(ipv6),
        }
    }

    /// The TEID of an endpoint that exists.
    pub const fn teid(&self) -> Option<Teid> {
        match self {
            Self::Assigned { teid, .. } => Some(*teid),
            Self::Choose { .. } => None,
        }
    }
}

/// A wish for nothing; it is never read from the wire.
impl Default for FTeid {
    fn default() -> Self {
        Self::Choose {
            ipv4: false,
            ipv6: false,
            choose_id: None,
        }
    }
}

impl Element<'_> for FTeid {
    #[inline]
    fn decode(value: &[u8]) -> Result<Self, Fault> {
        let mut reader = Reader::new(value);
        let flags = reader.u8()?;
        let (ipv4, ipv6) = (flags & V4 != 0, flags & V6 != 0);
        if !ipv4 && !ipv6 {
            return Err(Fault::Value);
        }
        if flags & CH != 0 {
            let choose_id = reader.when(flags & CHID != 0, Reader::u8)?;
            return Ok(Self::Choose {
                ipv4,
                ipv6,
                choose_id,
            });
        }
        let teid = reader.u32()?;
        let ipv4 = reader.ipv4(ipv4)?;
        let ipv6 = reader.ipv6(ipv6)?;
        Ok(Self::Assigned {
            teid: Teid::new(teid).ok_or(Fault::Value)?,
            ipv4,
            ipv6,
        })
    }

    #[inline]
    fn encode(&self, out: &mut Writer<'_>) -> Result<(), Full> {
        match *self {
            Self::Assigned { teid, ipv4, ipv6 } => {
                out.u8(flag(V4, ipv4.is_some()) | flag(V6, ipv6.is_some()))?;
                out.u32(teid.get())?;
                out.ipv4(ipv4)?;
                out.ipv6(ipv6)
            }
            Self::Choose {
                ipv4,
                ipv6,
                choose_id,
            } => {
                let chid = flag(CHID, choose_id.is_some());
                out.u8(CH | flag(V4, ipv4) | flag(V6, ipv6) | chid)?;
                choose_id.map_or(Ok(()), |id| out.u8(id))
            }
        }
    }
}

const fn flag(bit: u8, set: bool) -> u8 {
    if set { bit } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pfcp::testing::check_coding;

    #[test]
    fn an_assigned_f_teid_has_teid_and_addresses() {
        let teid = Teid::new(0x0102_0304).unwrap();
        let v4 = FTeid::v4(teid, Ipv4Addr::new(10, 0, 0, 1));
        check_coding(&v4, &[1, 1, 2, 3, 4, 10, 0, 0, 1]);
        let v6 = FTeid::v6(teid, Ipv6Addr::LOCALHOST);
        check_coding(
            &v6,
            &[
                2, 1, 2, 3, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1,
            ],
        );
    }

    #[test]
    fn a_choice_has_flags_and_perhaps_an_id() {
        let choose = FTeid::Choose {
            ipv4: true,
            ipv6: false,
            choose_id: None,
        };
        check_coding(&choose, &[5]);
        let choose = FTeid::Choose {
            ipv4: true,
            ipv6: true,
            choose_id: Some(9),
        };
        check_coding(&choose, &[0x0f, 9]);
    }

    #[test]
    fn teid_0_and_no_address_are_incorrect() {
        assert_eq!(
            FTeid::decode(&[1, 0, 0, 0, 0, 10, 0, 0, 1]),
            Err(Fault::Value)
        );
        assert_eq!(FTeid::decode(&[0, 0, 0, 0, 1]), Err(Fault::Value));
        assert_eq!(
            FTeid::decode(&[1, 0, 0, 0, 1, 10, 0, 0]),
            Err(Fault::Length)
        );
    }
}
