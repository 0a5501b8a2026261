//! Optional parameters of an Update IE: a new value, or removal.

use crate::pfcp::element::{Element, Fault};
use crate::pfcp::writer::{Full, Writer};

/// A change of one parameter of a rule (TS 29.244, 5.6.3): an IE with a value provisions or
/// replaces it, an IE of length 0 removes it, and an absent IE (`None` around this) keeps it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Edit<T> {
    /// The parameter is removed.
    #[default]
    Remove,
    /// The parameter is to have this value.
    Set(T),
}

impl<T> Edit<T> {
    /// The new value; `None` if the parameter is removed.
    pub const fn value(&self) -> Option<&T> {
        match self {
            Self::Remove => None,
            Self::Set(value) => Some(value),
        }
    }

    /// Applies the change to what was provisioned before.
    pub fn apply_to(self, place: &mut Option<T>) {
        *place = match self {
            Self::Remove => None,
            Self::Set(value) => Some(value),
        };
    }
}

impl<'a, T: Element<'a>> Element<'a> for Edit<T> {
    #[inline]
    fn decode(value: &'a [u8]) -> Result<Self, Fault> {
        if value.is_empty() {
            Ok(Self::Remove)
        } else {
            T::decode(value).map(Self::Set)
        }
    }

    #[inline]
    fn encode(&self, out: &mut Writer<'_>) -> Result<(), Full> {
        self.value().map_or(Ok(()), |value| value.encode(out))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::UrrId;

    #[test]
    fn a_null_length_removes() {
        assert_eq!(Edit::<UrrId>::decode(&[]), Ok(Edit::Remove));
        assert_eq!(Edit::decode(&[0, 0, 0, 9]), Ok(Edit::Set(UrrId(9))));
        assert_eq!(Edit::<UrrId>::decode(&[0, 9]), Err(Fault::Length));
        let mut place = Some(UrrId(1));
        Edit::Remove.apply_to(&mut place);
        assert_eq!(place, None);
    }
}
