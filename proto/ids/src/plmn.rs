//! PLMN identity (TS 23.003, 12.1) and serving network name (TS 24.501, 9.12.1).

use std::fmt;

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// MCC and MNC as three octets (TS 24.008, 10.5.1.3).
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
pub struct Plmn([u8; 3]);

/// Stands for the third digit of an MNC of two digits.
const NO_DIGIT: u8 = 0xf;

impl Plmn {
    /// Of three octets; none if a digit is not one.
    pub fn from_octets(octets: [u8; 3]) -> Option<Self> {
        let plmn = Self(octets);
        let [a, b, c, d, e, f] = plmn.digits();
        let are_digits = [a, b, c, d, e].iter().all(|digit| *digit < 10);
        (are_digits && (f < 10 || f == NO_DIGIT)).then_some(plmn)
    }

    /// Of three digits MCC and two or three digits MNC.
    pub fn new(mcc: &str, mnc: &str) -> Option<Self> {
        let digit = |text: &str, at: usize| match text.as_bytes().get(at) {
            Some(c @ b'0'..=b'9') => Some(c - b'0'),
            _ => None,
        };
        if mcc.len() != 3 || !(2..=3).contains(&mnc.len()) {
            return None;
        }
        let third = if mnc.len() == 3 {
            digit(mnc, 2)?
        } else {
            NO_DIGIT
        };
        Some(Self([
            digit(mcc, 1)? << 4 | digit(mcc, 0)?,
            third << 4 | digit(mcc, 2)?,
            digit(mnc, 1)? << 4 | digit(mnc, 0)?,
        ]))
    }

    /// As on the wire.
    pub fn octets(self) -> [u8; 3] {
        self.0
    }

    /// The three digits of the MCC, then those of the MNC; the last may be absent (15).
    fn digits(self) -> [u8; 6] {
        let [a, b, c] = self.0;
        [a & 15, a >> 4, b & 15, c & 15, c >> 4, b >> 4]
    }

    /// `5G:mnc001.mcc001.3gppnetwork.org`.
    pub fn serving_network_name(self) -> ServingNetworkName {
        let [m1, m2, m3, n1, n2, n3] = self.digits().map(|digit| b'0' + digit % 10);
        // An MNC of two digits is written with a zero before it.
        let mnc = if self.digits()[5] == NO_DIGIT {
            [b'0', n1, n2]
        } else {
            [n1, n2, n3]
        };
        let mut name = *b"5G:mnc000.mcc000.3gppnetwork.org";
        name[6..9].copy_from_slice(&mnc);
        name[13..16].copy_from_slice(&[m1, m2, m3]);
        ServingNetworkName(name)
    }
}

impl fmt::Display for Plmn {
    /// `001-01`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, last] = self.digits();
        write!(f, "{a:x}{b:x}{c:x}-{d:x}{e:x}")?;
        if last == NO_DIGIT {
            Ok(())
        } else {
            write!(f, "{last:x}")
        }
    }
}

impl fmt::Debug for Plmn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// What the keys of a registration are bound to: the name of the serving network.
#[derive(Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(transparent)]
pub struct ServingNetworkName([u8; 32]);

impl ServingNetworkName {
    /// ASCII, as key derivations take it.
    pub fn octets(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for ServingNetworkName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&String::from_utf8_lossy(&self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plmn_is_three_octets_with_swapped_digits() {
        let two = Plmn::new("208", "93").expect("digits");
        assert_eq!(two.octets(), [0x02, 0xf8, 0x39]);
        assert_eq!(two.to_string(), "208-93");
        let three = Plmn::new("310", "410").expect("digits");
        assert_eq!(three.octets(), [0x13, 0x00, 0x14]);
        assert_eq!(Plmn::from_octets(three.octets()), Some(three));
        assert_eq!(Plmn::from_octets([0x0a, 0, 0]), None);
        assert_eq!(Plmn::new("20", "93"), None);
        assert_eq!(Plmn::new("2o8", "93"), None);
    }

    #[test]
    fn the_serving_network_name_has_three_digits_of_each() {
        let name = |mcc, mnc| format!("{:?}", Plmn::new(mcc, mnc).unwrap().serving_network_name());
        assert_eq!(name("208", "93"), "5G:mnc093.mcc208.3gppnetwork.org");
        assert_eq!(name("310", "410"), "5G:mnc410.mcc310.3gppnetwork.org");
    }
}
