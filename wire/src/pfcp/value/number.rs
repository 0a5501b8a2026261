//! Integer IEs and identifiers.

use crate::ids::{BarId, FarId, PdrId, Precedence, QerId, Qfi, UrrId};
use crate::pfcp::element::{Element, Fault, Reader};
use crate::pfcp::ie_type::IeType;
use crate::pfcp::writer::{Full, Writer};

/// Reads and writes a newtype as the big-endian number that it holds.
macro_rules! number_elements {
    ($($name:ident: $width:ident;)*) => {$(
        impl Element<'_> for $name {
            #[inline]
            fn decode(value: &[u8]) -> Result<Self, Fault> {
                Reader::new(value).$width().map(Self)
            }

            #[inline]
            fn encode(&self, out: &mut Writer<'_>) -> Result<(), Full> {
                out.$width(self.0)
            }
        }
    )*};
}

pub(super) use number_elements;

number_elements! {
    PdrId: u16;
    FarId: u32;
    QerId: u32;
    UrrId: u32;
    BarId: u8;
    Precedence: u32;
}

/// Reads and writes a bare number of its own width.
macro_rules! bare_numbers {
    ($($width:ident)*) => {$(
        impl Element<'_> for $width {
            #[inline]
            fn decode(value: &[u8]) -> Result<Self, Fault> {
                Reader::new(value).$width()
            }

            #[inline]
            fn encode(&self, out: &mut Writer<'_>) -> Result<(), Full> {
                out.$width(*self)
            }
        }
    )*};
}

bare_numbers! { u8 u16 u32 u64 }

/// QFI (8.2.89): six bits, the two above are spare.
impl Element<'_> for Qfi {
    #[inline]
    fn decode(value: &[u8]) -> Result<Self, Fault> {
        Self::new(Reader::new(value).u8()? & Self::MAX).ok_or(Fault::Value)
    }

    #[inline]
    fn encode(&self, out: &mut Writer<'_>) -> Result<(), Full> {
        out.u8(self.get())
    }
}

/// Offending IE (8.2.22): the type of the IE that made a request fail.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct OffendingIe(pub IeType);

impl Element<'_> for OffendingIe {
    fn decode(value: &[u8]) -> Result<Self, Fault> {
        Reader::new(value).u16().map(|number| Self(IeType(number)))
    }

    fn encode(&self, out: &mut Writer<'_>) -> Result<(), Full> {
        out.u16(self.0.0)
    }
}

/// DL Buffering Suggested Packet Count (8.2.30): packets; one or two octets on the wire.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct DlBufferingSuggestedPacketCount(pub u16);

impl Element<'_> for DlBufferingSuggestedPacketCount {
    fn decode(value: &[u8]) -> Result<Self, Fault> {
        match value {
            [] => Err(Fault::Length),
            [count] => Ok(Self(u16::from(*count))),
            [high, low, ..] => Ok(Self(u16::from_be_bytes([*high, *low]))),
        }
    }

    fn encode(&self, out: &mut Writer<'_>) -> Result<(), Full> {
        match u8::try_from(self.0) {
            Ok(count) => out.u8(count),
            Err(_) => out.u16(self.0),
        }
    }
}

/// An IE that nobody interprets: every value is kept as it is.
impl<'a> Element<'a> for &'a [u8] {
    #[inline]
    fn decode(value: &'a [u8]) -> Result<Self, Fault> {
        Ok(value)
    }

    #[inline]
    fn encode(&self, out: &mut Writer<'_>) -> Result<(), Full> {
        out.bytes(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extra_octets_of_a_number_are_ignored_and_missing_ones_refused() {
        assert_eq!(PdrId::decode(&[1, 2, 3]), Ok(PdrId(0x0102)));
        assert_eq!(PdrId::decode(&[1]), Err(Fault::Length));
    }

    #[test]
    fn spare_bits_above_a_qfi_are_ignored() {
        assert_eq!(Qfi::decode(&[0xc9]).unwrap().get(), 9);
    }

    #[test]
    fn a_packet_count_has_one_or_two_octets() {
        type Count = DlBufferingSuggestedPacketCount;
        assert_eq!(Count::decode(&[7]), Ok(DlBufferingSuggestedPacketCount(7)));
        assert_eq!(
            Count::decode(&[1, 7]),
            Ok(DlBufferingSuggestedPacketCount(263))
        );
        assert_eq!(Count::decode(&[]), Err(Fault::Length));
    }
}
