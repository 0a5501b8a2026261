//! SDF Filter (TS 29.244, 8.2.5): FD, TTC, SPI, FL and BID.

use crate::pfcp::element::{Element, Fault, Reader};
use crate::pfcp::writer::{Full, Writer};

/// A filter of service data flows. The flow description is text here, which
/// [`FlowDescription`](crate::flow_description::FlowDescription) reads; the others narrow it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SdfFilter<'a> {
    /// FD: the flow description, such as `permit out ip from any to assigned`.
    pub flow_description: Option<&'a [u8]>,
    /// TTC: ToS or traffic class and its mask.
    pub tos_traffic_class: Option<[u8; 2]>,
    /// SPI: the security parameter index of IPsec.
    pub security_parameter_index: Option<u32>,
    /// FL: the IPv6 flow label, 20 bits.
    pub flow_label: Option<u32>,
    /// BID: the identity of a bidirectional filter, by which another PDR refers to it.
    pub sdf_filter_id: Option<u32>,
}

const FD: u8 = 0x01;
const TTC: u8 = 0x02;
const SPI: u8 = 0x04;
const FL: u8 = 0x08;
const BID: u8 = 0x10;
const FLOW_LABEL: u32 = 0x000f_ffff;

impl<'a> SdfFilter<'a> {
    /// A filter by flow description alone.
    pub fn flow(flow_description: &'a [u8]) -> Self {
        Self {
            flow_description: Some(flow_description),
            ..Self::default()
        }
    }

    fn flags(&self) -> u8 {
        [
            (FD, self.flow_description.is_some()),
            (TTC, self.tos_traffic_class.is_some()),
            (SPI, self.security_parameter_index.is_some()),
            (FL, self.flow_label.is_some()),
            (BID, self.sdf_filter_id.is_some()),
        ]
        .iter()
        .fold(
            0,
            |flags, &(bit, set)| if set { flags | bit } else { flags },
        )
    }
}

impl<'a> Element<'a> for SdfFilter<'a> {
    fn decode(value: &'a [u8]) -> Result<Self, Fault> {
        let mut reader = Reader::new(value);
        let flags = reader.u8()?;
        if flags & (FD | TTC | SPI | FL | BID) == 0 {
            return Err(Fault::Value);
        }
        reader.u8()?;
        Ok(Self {
            flow_description: reader.when(flags & FD != 0, Reader::long_text)?,
            tos_traffic_class: reader.when(flags & TTC != 0, Reader::array)?,
            security_parameter_index: reader.when(flags & SPI != 0, Reader::u32)?,
            flow_label: reader.when(flags & FL != 0, |r| Ok(r.u24()? & FLOW_LABEL))?,
            sdf_filter_id: reader.when(flags & BID != 0, Reader::u32)?,
        })
    }

    fn encode(&self, out: &mut Writer<'_>) -> Result<(), Full> {
        out.bytes(&[self.flags(), 0])?;
        if let Some(text) = self.flow_description {
            out.u16(u16::try_from(text.len()).map_err(|_| Full)?)?;
            out.bytes(text)?;
        }
        self.tos_traffic_class
            .map_or(Ok(()), |ttc| out.bytes(&ttc))?;
        self.security_parameter_index
            .map_or(Ok(()), |spi| out.u32(spi))?;
        self.flow_label
            .map_or(Ok(()), |label| out.u24(label & FLOW_LABEL))?;
        self.sdf_filter_id.map_or(Ok(()), |id| out.u32(id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pfcp::testing::check_coding;

    #[test]
    fn every_part_of_a_filter_follows_its_flag() {
        let filter = SdfFilter {
            flow_description: Some(b"permit"),
            tos_traffic_class: Some([0xb8, 0xfc]),
            security_parameter_index: Some(0x0102_0304),
            flow_label: Some(0x0a_bcde),
            sdf_filter_id: Some(5),
        };
        let octets = b"\x1f\0\0\x06permit\xb8\xfc\x01\x02\x03\x04\x0a\xbc\xde\0\0\0\x05";
        check_coding(&filter, octets);
    }

    #[test]
    fn an_empty_filter_is_incorrect() {
        assert_eq!(SdfFilter::decode(&[0, 0]), Err(Fault::Value));
        assert_eq!(SdfFilter::decode(&[1, 0, 0, 7, b'x']), Err(Fault::Length));
    }
}
