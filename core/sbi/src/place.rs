//! Places of network functions: what calls, answers and queues name.

use std::fmt;

use zerocopy::{Immutable, IntoBytes, KnownLayout, TryFromBytes, Unaligned};

use crate::field::Nf;

/// The place of an instance: its kind, and its number among the instances of that kind, 0 for the first.
///
/// Kinds with one instance, and calls that any instance may answer, go to the first: `Nf::Udm.into()`.
#[derive(
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    TryFromBytes,
    IntoBytes,
    KnownLayout,
    Immutable,
    Unaligned,
)]
#[repr(C)]
pub struct Place {
    /// Kind of the function.
    pub nf: Nf,
    /// Number of the instance.
    pub number: u8,
}

impl Place {
    /// The place of whoever registers the functions of this kind at the NRF: none of them.
    pub fn registrar(nf: Nf) -> Self {
        let number = u8::MAX;
        Self { nf, number }
    }

    /// Whether it is that of a registrar.
    pub fn is_registrar(self) -> bool {
        self.number == u8::MAX
    }
}

impl From<Nf> for Place {
    fn from(nf: Nf) -> Self {
        Self { nf, number: 0 }
    }
}

impl fmt::Debug for Place {
    /// `SMF`, `SMF/1`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.nf)?;
        if self.number > 0 {
            write!(f, "/{}", self.number)?;
        }
        Ok(())
    }
}
