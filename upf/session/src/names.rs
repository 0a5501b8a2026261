//! Interned names of Network Instances.

use crate::limits::{NAME_LEN, NAMES};
use arrayvec::ArrayString;
use sluice_wire::pfcp::value::Name;

/// A name, or none: a place in [`Names`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct NameId(u16);

impl NameId {
    /// The rule names no network instance.
    pub const NONE: Self = Self(0);

    /// As a number, to be kept.
    pub fn number(self) -> u16 {
        self.0
    }

    /// The name that was kept so.
    pub fn from_number(number: u16) -> Self {
        Self(number)
    }
}

/// The names that rules of sessions use or used. Only names that the configuration knows get
/// here, so the list stays short.
#[derive(Debug, Default)]
pub struct Names(Vec<Box<str>>);

/// A name in one form, dotted text, whichever coding it came in.
pub type PlainName = ArrayString<NAME_LEN>;

/// The name as dotted text, or `None` if it is too long or no ASCII.
pub fn plain(name: Name<'_>) -> Option<PlainName> {
    let mut text = PlainName::new();
    for octet in name.octets() {
        let c = octet.is_ascii_graphic().then_some(char::from(octet))?;
        text.try_push(c).ok()?;
    }
    Some(text)
}

impl Names {
    /// The text of a name.
    pub fn get(&self, id: NameId) -> Option<&str> {
        let at = usize::from(id.0).checked_sub(1)?;
        self.0.get(at).map(AsRef::as_ref)
    }

    /// The place of a name, which is kept from now on; `None` if there are too many.
    pub fn keep(&mut self, name: &str) -> Option<NameId> {
        let at = match self.0.iter().position(|n| **n == *name) {
            Some(at) => at,
            None if self.0.len() >= NAMES => return None,
            None => {
                self.0.push(name.into());
                self.0.len() - 1
            }
        };
        Some(NameId(at as u16 + 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_codings_of_a_name_are_one_name() {
        let mut names = Names::default();
        let labels = plain(Name(b"\x08internet\x03lab")).unwrap();
        let text = plain(Name(b"Internet.lab")).unwrap();
        let id = names.keep(&labels).unwrap();
        assert_eq!(names.keep(&text), Some(id));
        assert_eq!(names.get(id), Some("internet.lab"));
        assert_eq!(names.get(NameId::NONE), None);
        assert_eq!(plain(Name(&[0xff, 1])), None);
    }
}
