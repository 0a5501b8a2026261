//! Failed Rule ID (TS 29.244, 8.2.80).

use crate::ids::{BarId, FarId, PdrId, QerId, UrrId};
use crate::pfcp::element::{Element, Fault, Reader};
use crate::pfcp::writer::{Full, Writer};

/// The rule that could not be created or modified.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FailedRuleId {
    /// A PDR.
    Pdr(PdrId),
    /// A FAR.
    Far(FarId),
    /// A QER.
    Qer(QerId),
    /// A URR.
    Urr(UrrId),
    /// A BAR.
    Bar(BarId),
    /// A MAR.
    Mar(u16),
    /// An SRR.
    Srr(u8),
}

impl Default for FailedRuleId {
    fn default() -> Self {
        Self::Pdr(PdrId::default())
    }
}

impl Element<'_> for FailedRuleId {
    fn decode(value: &[u8]) -> Result<Self, Fault> {
        let mut reader = Reader::new(value);
        match reader.u8()? & 0x1f {
            0 => reader.u16().map(PdrId).map(Self::Pdr),
            1 => reader.u32().map(FarId).map(Self::Far),
            2 => reader.u32().map(QerId).map(Self::Qer),
            3 => reader.u32().map(UrrId).map(Self::Urr),
            4 => reader.u8().map(BarId).map(Self::Bar),
            5 => reader.u16().map(Self::Mar),
            6 => reader.u8().map(Self::Srr),
            _ => Err(Fault::Value),
        }
    }

    fn encode(&self, out: &mut Writer<'_>) -> Result<(), Full> {
        let (kind, id, octets) = match *self {
            Self::Pdr(id) => (0, u32::from(id.0), 2),
            Self::Far(id) => (1, id.0, 4),
            Self::Qer(id) => (2, id.0, 4),
            Self::Urr(id) => (3, id.0, 4),
            Self::Bar(id) => (4, u32::from(id.0), 1),
            Self::Mar(id) => (5, u32::from(id), 2),
            Self::Srr(id) => (6, u32::from(id), 1),
        };
        out.u8(kind)?;
        match octets {
            1 => out.u8(id as u8),
            2 => out.u16(id as u16),
            _ => out.u32(id),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pfcp::testing::check_coding;

    #[test]
    fn each_kind_of_rule_has_its_own_width() {
        check_coding(&FailedRuleId::Pdr(PdrId(0x0102)), &[0, 1, 2]);
        check_coding(&FailedRuleId::Urr(UrrId(0x0102_0304)), &[3, 1, 2, 3, 4]);
        check_coding(&FailedRuleId::Bar(BarId(9)), &[4, 9]);
        assert_eq!(FailedRuleId::decode(&[1, 0, 0, 1]), Err(Fault::Length));
        assert_eq!(FailedRuleId::decode(&[7, 0, 0, 1]), Err(Fault::Value));
    }
}
