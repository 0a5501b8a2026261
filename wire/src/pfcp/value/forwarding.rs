//! Marking, policy and header enrichment of a FAR (TS 29.244, 8.2.12, 8.2.23, 8.2.67).

use crate::pfcp::element::{Element, Fault, Reader};
use crate::pfcp::writer::{Full, Writer};

/// Transport Level Marking (8.2.12): the DSCP of the outer header.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TransportLevelMarking {
    /// ToS or Traffic Class; the DSCP is in its upper six bits.
    pub tos_traffic_class: u8,
    /// Which bits are to be set; 0xfc for the DSCP.
    pub mask: u8,
}

impl TransportLevelMarking {
    /// Marks with a DSCP (six bits).
    pub const fn dscp(dscp: u8) -> Self {
        Self {
            tos_traffic_class: dscp << 2,
            mask: 0xfc,
        }
    }
}

impl Element<'_> for TransportLevelMarking {
    fn decode(value: &[u8]) -> Result<Self, Fault> {
        let [tos_traffic_class, mask] = Reader::new(value).array()?;
        Ok(Self {
            tos_traffic_class,
            mask,
        })
    }

    fn encode(&self, out: &mut Writer<'_>) -> Result<(), Full> {
        out.bytes(&[self.tos_traffic_class, self.mask])
    }
}

/// Forwarding Policy (8.2.23): the name of a policy that is configured in the UP function.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ForwardingPolicy<'a> {
    /// The identifier, 1 to 255 octets.
    pub identifier: &'a [u8],
}

impl<'a> Element<'a> for ForwardingPolicy<'a> {
    fn decode(value: &'a [u8]) -> Result<Self, Fault> {
        let identifier = Reader::new(value).short_text()?;
        if identifier.is_empty() {
            Err(Fault::Value)
        } else {
            Ok(Self { identifier })
        }
    }

    fn encode(&self, out: &mut Writer<'_>) -> Result<(), Full> {
        out.short_text(self.identifier)
    }
}

/// Header Enrichment (8.2.67): a header field that is put into HTTP requests.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct HeaderEnrichment<'a> {
    /// The kind of header, five bits; 0 is HTTP.
    pub header_type: u8,
    /// The name of the field.
    pub name: &'a [u8],
    /// Its value.
    pub value: &'a [u8],
}

impl<'a> Element<'a> for HeaderEnrichment<'a> {
    fn decode(value: &'a [u8]) -> Result<Self, Fault> {
        let mut reader = Reader::new(value);
        let header_type = reader.u8()? & 0x1f;
        Ok(Self {
            header_type,
            name: reader.short_text()?,
            value: reader.short_text()?,
        })
    }

    fn encode(&self, out: &mut Writer<'_>) -> Result<(), Full> {
        out.u8(self.header_type & 0x1f)?;
        out.short_text(self.name)?;
        out.short_text(self.value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pfcp::testing::check_coding;

    #[test]
    fn a_marking_has_value_and_mask() {
        check_coding(&TransportLevelMarking::dscp(46), &[0xb8, 0xfc]);
    }

    #[test]
    fn a_policy_stands_behind_its_length() {
        check_coding(
            &ForwardingPolicy {
                identifier: b"fast",
            },
            b"\x04fast",
        );
        assert_eq!(ForwardingPolicy::decode(b"\x05fast"), Err(Fault::Length));
        assert_eq!(ForwardingPolicy::decode(b"\0"), Err(Fault::Value));
    }

    #[test]
    fn an_enrichment_has_name_and_value() {
        let enrichment = HeaderEnrichment {
            header_type: 0,
            name: b"x-id",
            value: b"7",
        };
        check_coding(&enrichment, b"\0\x04x-id\x017");
    }
}
