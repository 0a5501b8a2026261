//! Tracking areas, cells and slices (TS 23.003, 19.4.2.3, 19.6A and 28.4).

use std::fmt;

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::Plmn;

/// Tracking Area Code.
#[derive(
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    IntoBytes,
    KnownLayout,
    Immutable,
    Unaligned,
    FromBytes,
)]
#[repr(transparent)]
pub struct Tac(pub [u8; 3]);

impl fmt::Display for Tac {
    /// `00000a`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c] = self.0;
        write!(f, "{a:02x}{b:02x}{c:02x}")
    }
}

impl fmt::Debug for Tac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// Tracking Area Identity.
#[derive(
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Debug,
    IntoBytes,
    KnownLayout,
    Immutable,
    Unaligned,
    FromBytes,
)]
#[repr(C)]
pub struct Tai {
    /// Of the area.
    pub plmn: Plmn,
    /// Within it.
    pub tac: Tac,
}

impl fmt::Display for Tai {
    /// `001-01 00000a`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.plmn, self.tac)
    }
}

/// NR Cell Identity: 36 bits, left-aligned in five octets.
#[derive(
    Clone, Copy, PartialEq, Eq, Hash, Debug, IntoBytes, KnownLayout, Immutable, Unaligned, FromBytes,
)]
#[repr(transparent)]
pub struct NrCellIdentity(pub [u8; 5]);

/// A slice: S-NSSAI.
#[derive(
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    IntoBytes,
    KnownLayout,
    Immutable,
    Unaligned,
    FromBytes,
)]
#[repr(C)]
pub struct Snssai {
    /// Slice/Service Type.
    pub sst: u8,
    sd: [u8; 3],
}

/// Says that there is no Slice Differentiator.
const NO_SD: [u8; 3] = [0xff; 3];

impl Snssai {
    /// Of a type and a differentiator; `ffffff` is none.
    pub fn new(sst: u8, sd: Option<[u8; 3]>) -> Self {
        Self {
            sst,
            sd: sd.unwrap_or(NO_SD),
        }
    }

    /// Slice Differentiator.
    pub fn sd(self) -> Option<[u8; 3]> {
        (self.sd != NO_SD).then_some(self.sd)
    }
}

impl fmt::Display for Snssai {
    /// `1` or `1-00000a`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.sst)?;
        match self.sd() {
            Some([a, b, c]) => write!(f, "-{a:02x}{b:02x}{c:02x}"),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for Snssai {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slice_without_differentiator_is_one_with_all_ones() {
        assert_eq!(Snssai::new(1, None), Snssai::new(1, Some([0xff; 3])));
        assert_eq!(Snssai::new(1, None).to_string(), "1");
        let slice = Snssai::new(2, Some([0, 0, 10]));
        assert_eq!(slice.to_string(), "2-00000a");
        assert_eq!(format!("{slice:?}"), "2-00000a");
    }
}
