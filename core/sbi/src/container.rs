//! Octets inside of a message that another function reads: NAS of sessions, and N2 of sessions.

use std::fmt;

use zerocopy::big_endian::U16;
use zerocopy::{Immutable, IntoBytes, KnownLayout, TryFromBytes, Unaligned};

/// Longest container in octets: two of them and what else a message has stay below
/// [`LONGEST`](crate::LONGEST). A request of a phone has some 60 octets, an accept some 150.
pub const CONTAINER_OCTETS: usize = 900;

/// Longest request of an application in octets.
pub const APP_SESSION_OCTETS: usize = 1_900;

/// Request of an application in JSON, as far as it acts (AppSessionContextReqData: TS 29.514, 5.6.2.3).
#[derive(
    Clone, Copy, PartialEq, Eq, TryFromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct AppSessionText {
    length: U16,
    octets: [u8; APP_SESSION_OCTETS],
}

impl AppSessionText {
    /// Of a text; none if it is too long.
    pub fn new(text: &str) -> Option<Self> {
        let mut this = Self {
            length: U16::new(text.len() as u16),
            octets: [0; APP_SESSION_OCTETS],
        };
        let room = this.octets.get_mut(..text.len())?;
        room.copy_from_slice(text.as_bytes());
        Some(this)
    }

    /// Octets of the text.
    pub fn get(&self) -> &[u8] {
        let length = usize::from(self.length.get()).min(APP_SESSION_OCTETS);
        &self.octets[..length]
    }
}

/// A container; no octets are none.
#[derive(Clone, Copy, TryFromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct Container {
    length: U16,
    octets: [u8; CONTAINER_OCTETS],
}

impl Container {
    /// None.
    pub const NONE: Self = Self {
        length: U16::ZERO,
        octets: [0; CONTAINER_OCTETS],
    };

    /// Of octets; none if they are too many.
    pub fn new(octets: &[u8]) -> Option<Self> {
        let mut this = Self::NONE;
        this.octets.get_mut(..octets.len())?.copy_from_slice(octets);
        this.length = U16::new(octets.len() as u16);
        Some(this)
    }

    /// What is in it, if there is one.
    pub fn get(&self) -> Option<&[u8]> {
        let length = usize::from(self.length.get()).min(CONTAINER_OCTETS);
        (length > 0).then(|| &self.octets[..length])
    }
}

impl PartialEq for Container {
    fn eq(&self, other: &Self) -> bool {
        self.get() == other.get()
    }
}

impl Eq for Container {}

impl fmt::Debug for Container {
    /// How long it is.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} octets", self.length.get())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_container_has_what_was_put_in_and_has_an_end() {
        assert_eq!(Container::NONE.get(), None);
        let container = Container::new(&[1, 2, 3]).expect("room");
        assert_eq!(container.get(), Some(&[1, 2, 3][..]));
        assert!(Container::new(&[0; CONTAINER_OCTETS]).is_some());
        assert_eq!(Container::new(&[0; CONTAINER_OCTETS + 1]), None);
    }
}
