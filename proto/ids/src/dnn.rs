//! Data network names (TS 23.003, 9A): labels, each with its length.

use core::fmt;

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// Longest name in octets, lengths of labels included (TS 24.501, 9.11.2.1B).
pub const DNN_OCTETS: usize = 100;

/// The name of a data network, in small letters; none at all is empty.
#[derive(Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct Dnn {
    length: u8,
    labels: [u8; DNN_OCTETS],
}

impl Dnn {
    /// No name.
    pub const NONE: Self = Self {
        length: 0,
        labels: [0; DNN_OCTETS],
    };

    /// Of labels between full stops; none if they are too long or have other characters than letters,
    /// digits and hyphens.
    pub fn new(text: &str) -> Option<Self> {
        let label = |label: &str| {
            let is_right = |c: char| c.is_ascii_alphanumeric() || c == '-';
            let fits = (1..=63).contains(&label.len()) && label.chars().all(is_right);
            fits.then(|| [&[label.len() as u8], label.as_bytes()].concat())
        };
        let labels: Option<Vec<_>> = text.split('.').map(label).collect();
        Self::of(&labels?.concat())
    }

    /// Of labels with their lengths; none if they are cut short or have other characters.
    pub fn from_labels(octets: &[u8]) -> Option<Self> {
        let mut text = String::new();
        let mut rest = octets;
        while let Some((length, after)) = rest.split_first() {
            let (label, after) = after.split_at_checked(usize::from(*length))?;
            if !text.is_empty() {
                text.push('.');
            }
            text.push_str(core::str::from_utf8(label).ok()?);
            rest = after;
        }
        Self::new(&text)
    }

    fn of(labels: &[u8]) -> Option<Self> {
        let mut this = Self::NONE;
        this.length = labels.len() as u8;
        this.labels
            .get_mut(..labels.len())?
            .copy_from_slice(&labels.to_ascii_lowercase());
        Some(this)
    }

    /// Labels with their lengths.
    pub fn labels(&self) -> &[u8] {
        &self.labels[..usize::from(self.length).min(DNN_OCTETS)]
    }

    /// Whether it is none.
    pub fn is_none(&self) -> bool {
        self.length == 0
    }
}

impl PartialEq for Dnn {
    fn eq(&self, other: &Self) -> bool {
        self.labels() == other.labels()
    }
}

impl Eq for Dnn {}

impl fmt::Display for Dnn {
    /// `internet`, `ims.example`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.labels();
        let mut is_first = true;
        while let Some((length, after)) = rest.split_first() {
            let at = usize::from(*length).min(after.len());
            let separator = if is_first { "" } else { "." };
            let label = String::from_utf8_lossy(&after[..at]);
            write!(f, "{separator}{label}")?;
            (rest, is_first) = (&after[at..], false);
        }
        Ok(())
    }
}

impl fmt::Debug for Dnn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_its_labels() {
        let dnn = Dnn::new("Internet.example").expect("a name");
        assert_eq!(dnn.labels(), b"\x08internet\x07example");
        assert_eq!(dnn.to_string(), "internet.example");
        assert_eq!(Dnn::from_labels(dnn.labels()), Some(dnn));
        assert_eq!(Dnn::from_labels(b"\x08INTERNET\x07example"), Some(dnn));
        assert!(Dnn::NONE.is_none() && !dnn.is_none());
        for wrong in [
            "",
            ".",
            "a..b",
            "a b",
            "ä",
            &"a".repeat(64),
            &"abc.".repeat(40),
        ] {
            assert_eq!(Dnn::new(wrong), None, "{wrong}");
        }
        for wrong in [&b""[..], b"\x09internet", b"\x01", b"\x00", b"\x01\xff"] {
            assert_eq!(Dnn::from_labels(wrong), None, "{wrong:?}");
        }
    }
}
