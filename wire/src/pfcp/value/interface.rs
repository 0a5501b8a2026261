//! Source and Destination Interface (TS 29.244, 8.2.2, 8.2.24, 8.2.118).

use super::number::number_elements;
use crate::pfcp::element::{Element, Fault, Reader};
use crate::pfcp::writer::{Full, Writer};

/// Source Interface (8.2.2): where packets come from. Four bits; values without a name are kept.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct SourceInterface(pub u8);

impl SourceInterface {
    /// The access network: uplink.
    pub const ACCESS: Self = Self(0);
    /// The core: downlink.
    pub const CORE: Self = Self(1);
    /// SGi-LAN or N6-LAN.
    pub const SGI_LAN_N6_LAN: Self = Self(2);
    /// The CP function.
    pub const CP_FUNCTION: Self = Self(3);
    /// 5G VN internal.
    pub const FIVE_G_VN_INTERNAL: Self = Self(4);
}

/// Destination Interface (8.2.24): where packets go. Four bits; values without a name are kept.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct DestinationInterface(pub u8);

impl DestinationInterface {
    /// The access network: downlink.
    pub const ACCESS: Self = Self(0);
    /// The core: uplink.
    pub const CORE: Self = Self(1);
    /// SGi-LAN or N6-LAN.
    pub const SGI_LAN_N6_LAN: Self = Self(2);
    /// The CP function.
    pub const CP_FUNCTION: Self = Self(3);
    /// The lawful interception function.
    pub const LI_FUNCTION: Self = Self(4);
    /// 5G VN internal.
    pub const FIVE_G_VN_INTERNAL: Self = Self(5);
}

/// Four bits with spare bits above them.
macro_rules! four_bits {
    ($($name:ident)*) => {$(
        impl Element<'_> for $name {
            #[inline]
            fn decode(value: &[u8]) -> Result<Self, Fault> {
                Ok(Self(Reader::new(value).u8()? & 0x0f))
            }

            #[inline]
            fn encode(&self, out: &mut Writer<'_>) -> Result<(), Full> {
                out.u8(self.0 & 0x0f)
            }
        }
    )*};
}

four_bits! { SourceInterface DestinationInterface }

/// 3GPP Interface Type (8.2.118), for source and destination. Values without a name are kept.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct InterfaceType(pub u8);

impl InterfaceType {
    /// S1-U.
    pub const S1_U: Self = Self(0);
    /// S5-U or S8-U.
    pub const S5_S8_U: Self = Self(1);
    /// N3 3GPP access.
    pub const N3_3GPP_ACCESS: Self = Self(11);
    /// N3 trusted non-3GPP access.
    pub const N3_TRUSTED_NON_3GPP_ACCESS: Self = Self(12);
    /// N3 untrusted non-3GPP access.
    pub const N3_UNTRUSTED_NON_3GPP_ACCESS: Self = Self(13);
    /// N3 for data forwarding.
    pub const N3_FOR_DATA_FORWARDING: Self = Self(14);
    /// N9.
    pub const N9: Self = Self(15);
    /// SGi.
    pub const SGI: Self = Self(16);
    /// N6.
    pub const N6: Self = Self(17);
    /// N19.
    pub const N19: Self = Self(18);
    /// N9 for roaming.
    pub const N9_FOR_ROAMING: Self = Self(21);
    /// N9 for data forwarding.
    pub const N9_FOR_DATA_FORWARDING: Self = Self(23);
    /// N4-U.
    pub const N4_U: Self = Self(27);
}

number_elements! { InterfaceType: u8; }
