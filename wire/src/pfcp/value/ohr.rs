//! Outer Header Removal (TS 29.244, 8.2.64).

use crate::pfcp::element::{Element, Fault, Reader};
use crate::pfcp::writer::{Full, Writer};

/// Which outer header a PDR takes off.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct OuterHeaderRemoval {
    /// The header.
    pub description: OuterHeaderRemovalDescription,
    /// GTP-U Extension Header Deletion: bit 1 deletes the PDU Session Container. Absent: all
    /// extension headers go that are not passed on by rule.
    pub gtpu_extension_header_deletion: Option<u8>,
}

/// What is taken off. Values without a name are kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
pub struct OuterHeaderRemovalDescription(pub u8);

impl OuterHeaderRemovalDescription {
    /// GTP-U, UDP and IPv4.
    pub const GTPU_UDP_IPV4: Self = Self(0);
    /// GTP-U, UDP and IPv6.
    pub const GTPU_UDP_IPV6: Self = Self(1);
    /// UDP and IPv4.
    pub const UDP_IPV4: Self = Self(2);
    /// UDP and IPv6.
    pub const UDP_IPV6: Self = Self(3);
    /// IPv4.
    pub const IPV4: Self = Self(4);
    /// IPv6.
    pub const IPV6: Self = Self(5);
    /// GTP-U, UDP and IP of either version.
    pub const GTPU_UDP_IP: Self = Self(6);
    /// The VLAN S-TAG.
    pub const VLAN_S_TAG: Self = Self(7);
    /// The VLAN S-TAG and C-TAG.
    pub const S_TAG_AND_C_TAG: Self = Self(8);
}

impl OuterHeaderRemoval {
    /// Takes off GTP-U, UDP and IP of either version.
    pub const GTPU_UDP_IP: Self = Self {
        description: OuterHeaderRemovalDescription::GTPU_UDP_IP,
        gtpu_extension_header_deletion: None,
    };
}

impl Element<'_> for OuterHeaderRemoval {
    fn decode(value: &[u8]) -> Result<Self, Fault> {
        let description = OuterHeaderRemovalDescription(Reader::new(value).u8()?);
        Ok(Self {
            description,
            gtpu_extension_header_deletion: value.get(1).copied(),
        })
    }

    fn encode(&self, out: &mut Writer<'_>) -> Result<(), Full> {
        out.u8(self.description.0)?;
        self.gtpu_extension_header_deletion
            .map_or(Ok(()), |octet| out.u8(octet))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pfcp::testing::check_coding;

    #[test]
    fn the_second_octet_is_optional() {
        check_coding(&OuterHeaderRemoval::GTPU_UDP_IP, &[6]);
        let with_deletion = OuterHeaderRemoval {
            description: OuterHeaderRemovalDescription::GTPU_UDP_IPV4,
            gtpu_extension_header_deletion: Some(1),
        };
        check_coding(&with_deletion, &[0, 1]);
        assert_eq!(OuterHeaderRemoval::decode(&[]), Err(Fault::Length));
    }
}
