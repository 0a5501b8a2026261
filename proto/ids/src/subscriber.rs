//! Permanent identities: SUPI of the type IMSI, and IMEISV (TS 23.003, 2.2A and 6.2.2).

use std::fmt;

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::Plmn;

/// Most digits of an IMSI.
const IMSI_DIGITS: usize = 15;

/// A subscriber's permanent identity: an IMSI of 6 to 15 digits.
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
pub struct Supi {
    /// Digits in ASCII, zeros behind them.
    digits: [u8; IMSI_DIGITS],
    length: u8,
}

impl Supi {
    /// Of the digits of an IMSI.
    pub fn from_imsi(imsi: &str) -> Option<Self> {
        let text = imsi.as_bytes();
        let fits = (6..=IMSI_DIGITS).contains(&text.len());
        if !fits || !text.iter().all(u8::is_ascii_digit) {
            return None;
        }
        let mut digits = [0; IMSI_DIGITS];
        digits[..text.len()].copy_from_slice(text);
        Some(Self {
            digits,
            length: text.len() as u8,
        })
    }

    /// Of a home network and the digits of an MSIN.
    pub fn from_msin(home: Plmn, msin: &str) -> Option<Self> {
        Self::from_imsi(&(home.to_string().replace('-', "") + msin))
    }

    /// The digits.
    pub fn imsi(&self) -> &str {
        let length = usize::from(self.length).min(IMSI_DIGITS);
        str::from_utf8(&self.digits[..length]).unwrap_or_default()
    }
}

impl fmt::Display for Supi {
    /// `imsi-001010000000001`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "imsi-{}", self.imsi())
    }
}

impl fmt::Debug for Supi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A device and its software version: 16 digits, two to an octet.
#[derive(Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(transparent)]
pub struct Imeisv([u8; 8]);

impl Imeisv {
    /// Of sixteen digits.
    pub fn from_digits(text: &str) -> Option<Self> {
        let text = text.as_bytes();
        if text.len() != 16 || !text.iter().all(u8::is_ascii_digit) {
            return None;
        }
        let pair = |at: usize| (text[2 * at] - b'0') << 4 | (text[2 * at + 1] - b'0');
        Some(Self(std::array::from_fn(pair)))
    }

    /// For the RAN: the last four digits of the serial number are ones (TS 38.413, 9.3.1.54).
    pub fn masked(self) -> [u8; 8] {
        let mut octets = self.0;
        octets[5..7].fill(0xff);
        octets
    }
}

impl fmt::Display for Imeisv {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|octet| write!(f, "{octet:02x}"))
    }
}

impl fmt::Debug for Imeisv {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_supi_is_home_network_and_msin() {
        let supi = Supi::from_msin(Plmn::new("001", "01").unwrap(), "0000000001").unwrap();
        assert_eq!(supi.to_string(), "imsi-001010000000001");
        assert_eq!(Supi::from_imsi("12345"), None);
        assert_eq!(Supi::from_imsi("0010100000000012"), None);
        assert_eq!(Supi::from_imsi("00101000000000x"), None);
    }

    #[test]
    fn the_serial_number_of_an_imeisv_is_masked() {
        let imeisv = Imeisv::from_digits("1234567890123456").unwrap();
        let expected = [0x12, 0x34, 0x56, 0x78, 0x90, 0xff, 0xff, 0x56];
        assert_eq!(imeisv.masked(), expected);
        assert_eq!(imeisv.to_string(), "1234567890123456");
        assert_eq!(Imeisv::from_digits("123"), None);
    }
}
