//! Names and texts: Network Instance (TS 29.244, 8.2.4), APN/DNN (8.2.117), FQDNs and so on.

use core::fmt::{self, Write};

use crate::pfcp::element::{Element, Fault};
use crate::pfcp::writer::{Full, Writer};

/// A text of at least one octet that is compared as it stands: Application ID, Activate
/// Predefined Rules, Framed-Route and so on.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Text<'a>(pub &'a [u8]);

impl<'a> Element<'a> for Text<'a> {
    #[inline]
    fn decode(value: &'a [u8]) -> Result<Self, Fault> {
        if value.is_empty() {
            Err(Fault::Length)
        } else {
            Ok(Self(value))
        }
    }

    #[inline]
    fn encode(&self, out: &mut Writer<'_>) -> Result<(), Full> {
        out.bytes(self.0)
    }
}

impl fmt::Debug for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", self.0.escape_ascii())
    }
}

/// A dotted name in either of the codings that CP functions use: plain text (`internet.lab`) or
/// DNS labels behind their lengths (`\x08internet\x03lab`). The octets are kept as received;
/// [`Name::octets`] gives one form for both, and comparing goes by that form.
#[derive(Clone, Copy, Default)]
pub struct Name<'a>(pub &'a [u8]);

impl<'a> Name<'a> {
    /// The longest label of a domain name (RFC 1035, 2.3.4).
    const LABEL_MAX: u8 = 63;

    /// The name as dotted text in lower case, whichever way it is coded.
    pub fn octets(self) -> impl Iterator<Item = u8> + Clone + 'a {
        let labelled = self.is_labelled();
        // In labels, `next_length` is the index of the coming length octet.
        let mut next_length = 0;
        self.0
            .iter()
            .enumerate()
            .filter_map(move |(index, &octet)| {
                if !labelled || index != next_length {
                    return Some(octet.to_ascii_lowercase());
                }
                next_length += 1 + usize::from(octet);
                (index != 0 && octet != 0).then_some(b'.')
            })
    }

    /// Whether the octets are DNS labels: lengths of 1 to 63 that lead exactly to the end, with or
    /// without a closing zero. No printable name of fewer than 33 octets can be taken for one.
    pub fn is_labelled(self) -> bool {
        let mut rest = self.0;
        let mut labels = 0;
        while let Some((&length, tail)) = rest.split_first() {
            if length == 0 && tail.is_empty() {
                return labels > 0;
            }
            match tail.split_at_checked(length.into()) {
                Some((_, next)) if length > 0 && length <= Self::LABEL_MAX => rest = next,
                _ => return false,
            }
            labels += 1;
        }
        labels > 0
    }

    /// Writes the name as DNS labels without the closing zero; a text that cannot be labels (one is
    /// empty or longer than 63 octets) is written as it stands.
    pub fn encode_as_labels(self, out: &mut Writer<'_>) -> Result<(), Full> {
        let labels = || self.0.split(|&octet| octet == b'.');
        let fits = |label: &[u8]| !label.is_empty() && label.len() <= usize::from(Self::LABEL_MAX);
        if self.is_labelled() || !labels().all(fits) {
            return out.bytes(self.0);
        }
        labels().try_for_each(|label| out.short_text(label))
    }
}

impl PartialEq for Name<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0 || self.octets().eq(other.octets())
    }
}

impl Eq for Name<'_> {}

impl core::hash::Hash for Name<'_> {
    fn hash<H: core::hash::Hasher>(&self, state: &mut H) {
        self.octets().for_each(|octet| state.write_u8(octet));
        state.write_u8(0xff);
    }
}

impl<'a> Element<'a> for Name<'a> {
    #[inline]
    fn decode(value: &'a [u8]) -> Result<Self, Fault> {
        if value.is_empty() {
            Err(Fault::Length)
        } else {
            Ok(Self(value))
        }
    }

    #[inline]
    fn encode(&self, out: &mut Writer<'_>) -> Result<(), Full> {
        out.bytes(self.0)
    }
}

/// Prints the dotted text; octets that are not printable ASCII appear escaped.
impl fmt::Display for Name<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.octets()
            .flat_map(core::ascii::escape_default)
            .try_for_each(|octet| f.write_char(octet.into()))
    }
}

impl fmt::Debug for Name<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Name({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_codings_are_the_same_name() {
        let plain = Name(b"Internet.lab");
        let labels = Name(b"\x08internet\x03LAB");
        assert_eq!(plain, labels);
        assert_eq!(Name(b"\x08internet\x03lab\0"), plain);
        assert_eq!(labels.to_string(), "internet.lab");
        assert_ne!(plain, Name(b"internet"));
    }

    #[test]
    fn a_name_that_begins_like_a_length_stays_plain() {
        assert!(!Name(b"5g-internet").is_labelled());
        assert_eq!(Name(b"5g-internet").to_string(), "5g-internet");
        assert!(!Name(b"\x08short").is_labelled());
        assert!(!Name(b"\0").is_labelled());
    }

    #[test]
    fn a_text_needs_an_octet() {
        assert_eq!(Text::decode(b""), Err(Fault::Length));
        assert_eq!(Name::decode(b""), Err(Fault::Length));
    }
}
