//! User identifiers of a session (IMSI, MSISDN), for display.

use super::record::{Kinds, OctetReader, OctetWriter};
use arrayvec::ArrayString;

/// User ID.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct User {
    /// IMSI, digits.
    pub imsi: Digits,
    /// MSISDN, digits.
    pub msisdn: Digits,
}

/// Up to 15 digits (ITU-T E.164, E.212).
pub type Digits = ArrayString<15>;

/// In place of a digit: none.
const FILLER: u8 = 15;

impl User {
    /// Writes what is known.
    pub fn write(&self, kinds: Kinds, pen: &mut OctetWriter<'_>) {
        if kinds.has(Kinds::IMSI) {
            pen.put(packed(&self.imsi));
        }
        if kinds.has(Kinds::MSISDN) {
            pen.put(packed(&self.msisdn));
        }
    }

    /// Reads it again.
    pub fn read(kinds: Kinds, eye: &mut OctetReader<'_>) -> Self {
        let mut digits = |part| {
            let known = kinds.has(part).then(|| unpacked(eye.get()));
            known.unwrap_or_default()
        };
        Self {
            imsi: digits(Kinds::IMSI),
            msisdn: digits(Kinds::MSISDN),
        }
    }

    /// Passes over it.
    pub fn pass(kinds: Kinds, eye: &mut OctetReader<'_>) {
        for part in [Kinds::IMSI, Kinds::MSISDN] {
            if kinds.has(part) {
                eye.get::<8>();
            }
        }
    }
}

/// Two digits in an octet.
fn packed(digits: &str) -> [u8; 8] {
    let mut octets = [FILLER << 4 | FILLER; 8];
    for (pair, octet) in digits.as_bytes().chunks(2).zip(&mut octets) {
        let value = |i: usize| pair.get(i).map_or(FILLER, |c| c.wrapping_sub(b'0') & 15);
        *octet = value(1) << 4 | value(0);
    }
    octets
}

fn unpacked(octets: [u8; 8]) -> Digits {
    let halves = octets.into_iter().flat_map(|o| [o & 15, o >> 4]);
    let mut digits = Digits::new();
    for digit in halves.take_while(|half| *half != FILLER).take(15) {
        digits.push(char::from(b'0' + digit));
    }
    digits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_kept_whatever_their_number() {
        for text in ["", "1", "42", "001010000000001", "99999999999999"] {
            assert_eq!(&unpacked(packed(text))[..], text);
        }
    }
}
