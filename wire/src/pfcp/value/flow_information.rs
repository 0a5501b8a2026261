//! Flow Information (TS 29.244, 8.2.61): a flow description and the way that its packets go.

use crate::pfcp::element::{Element, Fault, Reader};
use crate::pfcp::writer::{Full, Writer};

/// The way of a flow's packets, in three bits (TS 29.212, 5.3.65).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FlowDirection(pub u8);

impl FlowDirection {
    /// To the UE.
    pub const DOWNLINK: Self = Self(1);
    /// From the UE.
    pub const UPLINK: Self = Self(2);
    /// Both ways.
    pub const BIDIRECTIONAL: Self = Self(3);
}

/// A flow of an application that was detected.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FlowInformation<'a> {
    /// The way of its packets; the description is that of the downlink.
    pub direction: FlowDirection,
    /// Text, which [`FlowDescription`](crate::flow_description::FlowDescription) reads.
    pub flow_description: &'a [u8],
}

const DIRECTION: u8 = 0x07;

impl<'a> Element<'a> for FlowInformation<'a> {
    fn decode(value: &'a [u8]) -> Result<Self, Fault> {
        let mut reader = Reader::new(value);
        Ok(Self {
            direction: FlowDirection(reader.u8()? & DIRECTION),
            flow_description: reader.long_text()?,
        })
    }

    fn encode(&self, out: &mut Writer<'_>) -> Result<(), Full> {
        out.u8(self.direction.0 & DIRECTION)?;
        out.u16(u16::try_from(self.flow_description.len()).map_err(|_| Full)?)?;
        out.bytes(self.flow_description)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pfcp::testing::check_coding;

    #[test]
    fn a_description_follows_its_direction_and_length() {
        let flow = FlowInformation {
            direction: FlowDirection::BIDIRECTIONAL,
            flow_description: b"permit",
        };
        check_coding(&flow, b"\x03\0\x06permit");
        assert_eq!(FlowInformation::decode(b"\xfb\0\x06permit"), Ok(flow));
        assert_eq!(
            FlowInformation::decode(b"\x01\0\x07permit"),
            Err(Fault::Length)
        );
    }
}
