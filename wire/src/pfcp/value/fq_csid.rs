//! FQ-CSID (TS 29.244, 8.2.46): names of session sets.

use core::net::{Ipv4Addr, Ipv6Addr};

use crate::pfcp::element::{Element, Fault, Reader};
use crate::pfcp::writer::{Full, Writer};

/// Fully qualified PDN connection set identifiers: sessions that a partial failure of a node ends together
/// (TS 23.007, 23).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FqCsid<'a> {
    /// Whose sets.
    pub node: CsidNode,
    /// CSIDs, two octets each.
    csids: &'a [u8],
    /// What the node is: 0 an MME, 1 an SGW-C, 2 a PGW-C or SMF, 3 an ePDG, 4 a TWAN, 5 a UP function. Early
    /// releases leave it out.
    pub node_type: Option<u8>,
}

/// The node of an FQ-CSID.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum CsidNode {
    /// An IPv4 address.
    V4(Ipv4Addr),
    /// An IPv6 address.
    V6(Ipv6Addr),
    /// MCC, MNC and 12 bits that an operator gave.
    Operator(u32),
}

/// CSIDs of one IE at the most: their number has four bits.
pub const CSIDS_PER_IE: usize = 15;

impl<'a> FqCsid<'a> {
    /// Of CSIDs as the IE has them, two octets each, [`CSIDS_PER_IE`] at the most. `None` if they are not so.
    pub fn new(node: CsidNode, csids: &'a [u8], node_type: Option<u8>) -> Option<Self> {
        let is_sound = csids.len().is_multiple_of(2) && csids.len() / 2 <= CSIDS_PER_IE;
        let node_type = node_type.map(|of| of & 0x0f);
        is_sound.then_some(Self {
            node,
            csids,
            node_type,
        })
    }

    /// The CSIDs.
    pub fn csids(&self) -> impl Iterator<Item = u16> + use<'a> {
        let (pairs, _) = self.csids.as_chunks::<2>();
        pairs.iter().map(|pair| u16::from_be_bytes(*pair))
    }
}

impl Default for FqCsid<'_> {
    fn default() -> Self {
        Self {
            node: CsidNode::V4(Ipv4Addr::UNSPECIFIED),
            csids: &[],
            node_type: None,
        }
    }
}

impl<'a> Element<'a> for FqCsid<'a> {
    fn decode(value: &'a [u8]) -> Result<Self, Fault> {
        let mut reader = Reader::new(value);
        let first = reader.u8()?;
        let node = match first >> 4 {
            0 => CsidNode::V4(reader.u32()?.into()),
            1 => CsidNode::V6(reader.array::<16>()?.into()),
            2 => CsidNode::Operator(reader.u32()?),
            _ => return Err(Fault::Value),
        };
        let len = 2 * usize::from(first & 0x0f);
        let (csids, rest) = reader.rest().split_at_checked(len).ok_or(Fault::Length)?;
        Ok(Self {
            node,
            csids,
            node_type: rest.first().map(|octet| octet & 0x0f),
        })
    }

    fn encode(&self, out: &mut Writer<'_>) -> Result<(), Full> {
        let count = (self.csids.len() / 2) as u8;
        match self.node {
            CsidNode::V4(address) => {
                out.u8(count)?;
                out.ipv4(Some(address))?;
            }
            CsidNode::V6(address) => {
                out.u8(1 << 4 | count)?;
                out.ipv6(Some(address))?;
            }
            CsidNode::Operator(number) => {
                out.u8(2 << 4 | count)?;
                out.u32(number)?;
            }
        }
        out.bytes(self.csids)?;
        match self.node_type {
            Some(of) => out.u8(of),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pfcp::testing::check_coding;

    #[test]
    fn sets_are_of_a_node_and_its_kind() {
        let node = CsidNode::V4(Ipv4Addr::new(192, 0, 2, 1));
        let two = FqCsid::new(node, &[0, 1, 2, 3], Some(2)).unwrap();
        check_coding(&two, &[2, 192, 0, 2, 1, 0, 1, 2, 3, 2]);
        assert!(two.csids().eq([1, 0x203]));
        let early = FqCsid::new(CsidNode::Operator(7), &[0, 1], None).unwrap();
        check_coding(&early, &[0x21, 0, 0, 0, 7, 0, 1]);
        let v6 = FqCsid::new(CsidNode::V6(Ipv6Addr::LOCALHOST), &[], Some(1)).unwrap();
        let mut octets = vec![0x10];
        octets.extend(Ipv6Addr::LOCALHOST.octets());
        octets.push(1);
        check_coding(&v6, &octets);
    }

    #[test]
    fn what_is_cut_short_or_of_an_unknown_kind_is_refused() {
        assert_eq!(FqCsid::decode(&[0x31, 0, 0, 0, 7, 0, 1]), Err(Fault::Value));
        assert_eq!(FqCsid::decode(&[2, 192, 0, 2, 1, 0, 1]), Err(Fault::Length));
        assert_eq!(FqCsid::decode(&[1, 192, 0]), Err(Fault::Length));
        assert_eq!(FqCsid::new(CsidNode::Operator(7), &[0; 3], None), None);
    }
}
