//! Temporary identities: GUAMI, 5G-GUTI, 5G-S-TMSI (TS 23.003, 2.10).

use std::fmt;

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::Plmn;

/// An AMF within its PLMN: region (8 bits), set (10), pointer (6).
#[derive(
    Clone, Copy, PartialEq, Eq, Hash, Debug, IntoBytes, KnownLayout, Immutable, Unaligned, FromBytes,
)]
#[repr(transparent)]
pub struct AmfId([u8; 3]);

impl AmfId {
    /// Of region, set (below 1,024) and pointer (below 64).
    pub fn new(region: u8, set: u16, pointer: u8) -> Option<Self> {
        let fits = set < 1 << 10 && pointer < 1 << 6;
        let low = (set << 6 | u16::from(pointer)).to_be_bytes();
        fits.then_some(Self([region, low[0], low[1]]))
    }

    /// As on the wire.
    pub fn from_octets(octets: [u8; 3]) -> Self {
        Self(octets)
    }

    /// As on the wire.
    pub fn octets(self) -> [u8; 3] {
        self.0
    }

    /// AMF Region ID.
    pub fn region(self) -> u8 {
        self.0[0]
    }

    /// AMF Set ID.
    pub fn set(self) -> u16 {
        u16::from_be_bytes([self.0[1], self.0[2]]) >> 6
    }

    /// AMF Pointer.
    pub fn pointer(self) -> u8 {
        self.0[2] & 0x3f
    }
}

/// An AMF and its PLMN.
#[derive(
    Clone, Copy, PartialEq, Eq, Hash, Debug, IntoBytes, KnownLayout, Immutable, Unaligned, FromBytes,
)]
#[repr(C)]
pub struct Guami {
    /// Of the AMF.
    pub plmn: Plmn,
    /// Within it.
    pub amf: AmfId,
}

/// What an AMF calls a UE.
#[derive(
    Clone, Copy, PartialEq, Eq, Hash, Debug, IntoBytes, KnownLayout, Immutable, Unaligned, FromBytes,
)]
#[repr(transparent)]
pub struct Tmsi(pub [u8; 4]);

/// What an AMF calls a UE, in all the world.
#[derive(
    Clone, Copy, PartialEq, Eq, Hash, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct Guti {
    /// The AMF that gave it.
    pub guami: Guami,
    /// Of the UE.
    pub tmsi: Tmsi,
}

impl Guti {
    /// What the UE is called on the radio.
    pub fn s_tmsi(self) -> STmsi {
        let [_, set, pointer] = self.guami.amf.octets();
        STmsi {
            set_and_pointer: [set, pointer],
            tmsi: self.tmsi,
        }
    }
}

impl fmt::Display for Guti {
    /// `208-93 010041 00000001`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c] = self.guami.amf.octets();
        let tmsi = u32::from_be_bytes(self.tmsi.0);
        write!(f, "{} {a:02x}{b:02x}{c:02x} {tmsi:08x}", self.guami.plmn)
    }
}

impl fmt::Debug for Guti {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// 5G-S-TMSI: AMF set, pointer and TMSI.
#[derive(
    Clone, Copy, PartialEq, Eq, Hash, Debug, IntoBytes, KnownLayout, Immutable, Unaligned, FromBytes,
)]
#[repr(C)]
pub struct STmsi {
    /// Ten and six bits.
    pub set_and_pointer: [u8; 2],
    /// Of the UE.
    pub tmsi: Tmsi,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_amf_is_region_set_and_pointer() {
        let amf = AmfId::new(0xca, 0x3fe, 0x21).unwrap();
        assert_eq!(amf.octets(), [0xca, 0xff, 0xa1]);
        assert_eq!(
            (amf.region(), amf.set(), amf.pointer()),
            (0xca, 0x3fe, 0x21)
        );
        assert_eq!(AmfId::new(0, 1 << 10, 0), None);
        assert_eq!(AmfId::new(0, 0, 64), None);
    }

    #[test]
    fn the_name_on_the_radio_is_the_end_of_the_guti() {
        let guami = Guami {
            plmn: Plmn::new("001", "01").unwrap(),
            amf: AmfId::new(1, 1, 1).unwrap(),
        };
        let guti = Guti {
            guami,
            tmsi: Tmsi([1, 2, 3, 4]),
        };
        let expected = STmsi {
            set_and_pointer: [0, 0x41],
            tmsi: Tmsi([1, 2, 3, 4]),
        };
        assert_eq!(guti.s_tmsi(), expected);
        assert_eq!(guti.to_string(), "001-01 010041 01020304");
    }
}
