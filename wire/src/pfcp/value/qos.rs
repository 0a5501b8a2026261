//! Gates, rates and paging policy (TS 29.244, 8.2.7 to 8.2.9, 8.2.116).

use crate::pfcp::element::{Element, Fault, Reader};
use crate::pfcp::writer::{Full, Writer};

/// Whether packets of one direction pass.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Gate {
    /// They pass.
    #[default]
    Open,
    /// They are dropped.
    Closed,
}

impl Gate {
    /// 0 is open; 1 is closed, and so are the values reserved for later (8.2.7).
    const fn from_bits(bits: u8) -> Self {
        if bits == 0 { Self::Open } else { Self::Closed }
    }
}

/// Gate Status (8.2.7).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct GateStatus {
    /// The uplink gate.
    pub uplink: Gate,
    /// The downlink gate.
    pub downlink: Gate,
}

impl GateStatus {
    /// Both gates open.
    pub const OPEN: Self = Self {
        uplink: Gate::Open,
        downlink: Gate::Open,
    };
    /// Both gates closed.
    pub const CLOSED: Self = Self {
        uplink: Gate::Closed,
        downlink: Gate::Closed,
    };
}

impl Element<'_> for GateStatus {
    fn decode(value: &[u8]) -> Result<Self, Fault> {
        let bits = Reader::new(value).u8()?;
        let (uplink, downlink) = (Gate::from_bits(bits >> 2 & 3), Gate::from_bits(bits & 3));
        Ok(Self { uplink, downlink })
    }

    fn encode(&self, out: &mut Writer<'_>) -> Result<(), Full> {
        out.u8((self.uplink as u8) << 2 | self.downlink as u8)
    }
}

/// MBR (8.2.8) or GBR (8.2.9): a bit rate for each direction, 40 bits wide.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct BitRate {
    /// Uplink, kilobits (1000) per second.
    pub uplink_kbps: u64,
    /// Downlink, kilobits (1000) per second.
    pub downlink_kbps: u64,
}

impl BitRate {
    /// The largest rate that 40 bits hold.
    pub const MAX_KBPS: u64 = (1 << 40) - 1;
}

impl Element<'_> for BitRate {
    fn decode(value: &[u8]) -> Result<Self, Fault> {
        let mut reader = Reader::new(value);
        Ok(Self {
            uplink_kbps: reader.u40()?,
            downlink_kbps: reader.u40()?,
        })
    }

    /// Rates above [`BitRate::MAX_KBPS`] are sent as that.
    fn encode(&self, out: &mut Writer<'_>) -> Result<(), Full> {
        out.u40(self.uplink_kbps.min(Self::MAX_KBPS))?;
        out.u40(self.downlink_kbps.min(Self::MAX_KBPS))
    }
}

/// Paging Policy Indicator (8.2.116): three bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PagingPolicyIndicator(u8);

impl PagingPolicyIndicator {
    /// `None` above 7.
    pub const fn new(value: u8) -> Option<Self> {
        if value <= 7 { Some(Self(value)) } else { None }
    }

    /// 0 to 7.
    pub const fn get(self) -> u8 {
        self.0
    }
}

impl Element<'_> for PagingPolicyIndicator {
    fn decode(value: &[u8]) -> Result<Self, Fault> {
        Ok(Self(Reader::new(value).u8()? & 7))
    }

    fn encode(&self, out: &mut Writer<'_>) -> Result<(), Full> {
        out.u8(self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pfcp::testing::check_coding;

    #[test]
    fn the_uplink_gate_is_in_the_higher_bits() {
        check_coding(
            &GateStatus {
                uplink: Gate::Closed,
                downlink: Gate::Open,
            },
            &[4],
        );
        check_coding(
            &GateStatus {
                uplink: Gate::Open,
                downlink: Gate::Closed,
            },
            &[1],
        );
        assert_eq!(GateStatus::decode(&[0x0b]), Ok(GateStatus::CLOSED));
    }

    #[test]
    fn rates_have_five_octets_each() {
        let rate = BitRate {
            uplink_kbps: 0x01_0203_0405,
            downlink_kbps: 100_000,
        };
        check_coding(&rate, &[1, 2, 3, 4, 5, 0, 0, 1, 0x86, 0xa0]);
        assert_eq!(BitRate::decode(&[0; 9]), Err(Fault::Length));
    }

    #[test]
    fn a_paging_policy_has_three_bits() {
        assert_eq!(PagingPolicyIndicator::decode(&[0xfd]).unwrap().get(), 5);
        assert_eq!(PagingPolicyIndicator::new(8), None);
    }
}
