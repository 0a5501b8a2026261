//! Node ID (TS 29.244, 8.2.38).

use core::net::{Ipv4Addr, Ipv6Addr};

use super::name::Name;
use crate::pfcp::element::{Element, Fault, Reader};
use crate::pfcp::writer::{Full, Writer};

/// The name of a CP or UP function.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum NodeId<'a> {
    /// An IPv4 address.
    V4(Ipv4Addr),
    /// An IPv6 address.
    V6(Ipv6Addr),
    /// A domain name; sent as DNS labels (RFC 1035) without the closing zero, read in any form.
    Fqdn(Name<'a>),
}

impl Default for NodeId<'_> {
    fn default() -> Self {
        Self::V4(Ipv4Addr::UNSPECIFIED)
    }
}

impl<'a> Element<'a> for NodeId<'a> {
    fn decode(value: &'a [u8]) -> Result<Self, Fault> {
        let mut this = Self::default();
        this.decode_into(value)?;
        Ok(this)
    }

    #[inline]
    fn decode_into(&mut self, value: &'a [u8]) -> Result<(), Fault> {
        let mut reader = Reader::new(value);
        *self = match reader.u8()? & 0x0f {
            0 => Self::V4(reader.u32()?.into()),
            1 => Self::V6(reader.array::<16>()?.into()),
            2 => Self::Fqdn(Name::decode(reader.rest())?),
            _ => return Err(Fault::Value),
        };
        Ok(())
    }

    fn encode(&self, out: &mut Writer<'_>) -> Result<(), Full> {
        match self {
            Self::V4(address) => {
                out.u8(0)?;
                out.ipv4(Some(*address))
            }
            Self::V6(address) => {
                out.u8(1)?;
                out.ipv6(Some(*address))
            }
            Self::Fqdn(name) => {
                out.u8(2)?;
                name.encode_as_labels(out)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pfcp::testing::{check_coding, encoded};

    #[test]
    fn a_node_id_is_an_address_or_a_name() {
        check_coding(&NodeId::V4(Ipv4Addr::new(10, 0, 0, 1)), &[0, 10, 0, 0, 1]);
        check_coding(
            &NodeId::Fqdn(Name(b"\x03upf\x03lab")),
            b"\x02\x03upf\x03lab",
        );
        assert_eq!(NodeId::decode(&[3, 0]), Err(Fault::Value));
        assert_eq!(NodeId::decode(&[2]), Err(Fault::Length));
    }

    #[test]
    fn a_plain_name_is_sent_as_labels() {
        assert_eq!(
            encoded(&NodeId::Fqdn(Name(b"upf.lab"))),
            b"\x02\x03upf\x03lab"
        );
    }
}
