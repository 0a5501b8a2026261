//! Places of network functions: what calls, answers and queues name.

use std::fmt;

use zerocopy::{Immutable, IntoBytes, KnownLayout, TryFromBytes, Unaligned};

use crate::field::Nf;

/// The place of an instance: its kind, and its number among the instances of that kind, 0 for the first.
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

/// Number of whichever instance.
const ANY: u8 = 0x7f;
/// Number of whoever asks from outside the core, by HTTP.
const OUTSIDE: u8 = 0x7e;
/// Bit of the number of whoever registers the functions of an instance at the NRF.
const REGISTRAR: u8 = 0x80;

/// Most instances of a function.
pub const INSTANCES: u8 = 16;

impl Place {
    /// Whichever instance of this kind: the caller's host chooses one.
    pub fn any(nf: Nf) -> Self {
        Self { nf, number: ANY }
    }

    /// Whether the caller's host chooses the instance.
    pub fn is_any(self) -> bool {
        self.instance() == ANY
    }

    /// The place of whoever asks a function of this kind from outside the core: a call of it names the exchange.
    pub fn outside(nf: Nf) -> Self {
        let number = OUTSIDE;
        Self { nf, number }
    }

    /// Whether it is outside the core.
    pub fn is_outside(self) -> bool {
        self.number == OUTSIDE
    }

    /// The place of whoever registers the functions of this kind at the NRF: none of them.
    pub fn registrar(nf: Nf) -> Self {
        let number = REGISTRAR;
        Self { nf, number }
    }

    /// Whether it is that of a registrar.
    pub fn is_registrar(self) -> bool {
        self.number & REGISTRAR != 0
    }

    /// Number of the instance, be it of the function or of its registrar.
    pub fn instance(self) -> u8 {
        self.number & !REGISTRAR
    }

    /// The same of the instance of this number.
    #[must_use]
    pub fn at(self, instance: u8) -> Self {
        let number = self.number & REGISTRAR | instance;
        Self { number, ..self }
    }
}

/// Instance of functions: its number, and by which it is chosen among others (NFProfile: TS 29.510, 6.1.6.2.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Instance {
    /// Number, 0 for the first.
    pub number: u8,
    /// The one with the lowest is taken first.
    pub priority: u16,
    /// Weight among those of a priority.
    pub capacity: u16,
}

impl Default for Instance {
    fn default() -> Self {
        Self {
            number: 0,
            priority: 0,
            capacity: 100,
        }
    }
}

impl From<Nf> for Place {
    fn from(nf: Nf) -> Self {
        Self { nf, number: 0 }
    }
}

impl fmt::Debug for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Place {
    /// `SMF`, `SMF/1`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.nf)?;
        if self.number > 0 {
            write!(f, "/{}", self.number)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instance_and_its_registrar_are_told_apart_and_any_is_neither() {
        let second = Place::from(Nf::Udm).at(1);
        let registrar = Place::registrar(Nf::Udm).at(1);
        assert_eq!((second.instance(), registrar.instance()), (1, 1));
        assert!(!second.is_registrar() && registrar.is_registrar());
        assert_ne!(second, registrar);
        let any = Place::any(Nf::Udm);
        assert!(any.is_any() && !any.is_registrar() && any.instance() >= INSTANCES);
        assert_eq!(any.at(1), second);
        assert_eq!(
            (second.to_string(), Place::from(Nf::Udm).to_string()),
            ("UDM/1".into(), "UDM".into())
        );
    }
}
