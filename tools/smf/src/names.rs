//! Encoded Network Instances, DNNs and user IDs, built once.

use std::fmt;

use arrayvec::ArrayVec;

/// The longest label of a domain name (RFC 1035, 2.3.4).
const LABEL_MAX: usize = 63;
/// The longest APN (TS 23.003, 9.1).
const NAME_MAX: usize = 100;
/// Digits of an IMSI (TS 23.003, 2.2).
const IMSI_DIGITS: std::ops::RangeInclusive<usize> = 6..=15;
const SUPI_PREFIX: &[u8] = b"imsi-";

/// A text that cannot be the name that it should be.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum NameError {
    #[error(
        "network name {0:?} must be dotted labels of 1 to 63 letters, digits and '-', \
         100 octets at most (TS 23.003, 9.1)"
    )]
    Network(String),
    #[error("IMSI {0:?} must have 6 to 15 digits (TS 23.003, 2.2)")]
    Imsi(String),
    #[error("number {0:?} must have 1 to 16 digits")]
    Digits(String),
}

/// A DNN or Network Instance as plain text and as DNS labels (TS 29.244, 8.2.4).
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct NetworkName {
    text: Box<str>,
    labels: Box<[u8]>,
}

impl NetworkName {
    /// From dotted text, such as `internet` or `access.example`.
    pub fn new(text: &str) -> Result<Self, NameError> {
        let good = |label: &str| {
            let letters = |c: u8| c.is_ascii_alphanumeric() || c == b'-';
            !label.is_empty() && label.len() <= LABEL_MAX && label.bytes().all(letters)
        };
        if text.len() > NAME_MAX || !text.split('.').all(good) {
            return Err(NameError::Network(text.to_owned()));
        }
        let labels = text.split('.').flat_map(|label| {
            // A label has at most 63 octets.
            std::iter::once(label.len() as u8).chain(label.bytes())
        });
        Ok(Self {
            text: text.into(),
            labels: labels.collect(),
        })
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    /// Labels behind their lengths, without a closing zero (RFC 1035, 3.1).
    pub fn labels(&self) -> &[u8] {
        &self.labels
    }
}

impl fmt::Display for NetworkName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for NetworkName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.text, f)
    }
}

/// A data network, and the UPF's network instances on both sides of a session to it. Some SMFs
/// use the DNN for both.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Network {
    pub dnn: NetworkName,
    /// The network instance towards the gNB.
    pub access: NetworkName,
    /// The network instance towards the data network.
    pub core: NetworkName,
}

impl Network {
    /// A data network with network instances `access` and `core`.
    pub fn new(dnn: &str, access: &str, core: &str) -> Result<Self, NameError> {
        Ok(Self {
            dnn: NetworkName::new(dnn)?,
            access: NetworkName::new(access)?,
            core: NetworkName::new(core)?,
        })
    }
}

/// A subscriber's IMSI: as text of a SUPI, and in TBCD (TS 29.274, 8.3).
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Imsi {
    supi: ArrayVec<u8, 20>,
    tbcd: ArrayVec<u8, 8>,
}

impl Imsi {
    pub fn new(digits: &str) -> Result<Self, NameError> {
        let is_imsi =
            IMSI_DIGITS.contains(&digits.len()) && digits.bytes().all(|c| c.is_ascii_digit());
        if !is_imsi {
            return Err(NameError::Imsi(digits.to_owned()));
        }
        let supi = SUPI_PREFIX.iter().copied().chain(digits.bytes()).collect();
        let tbcd = tbcd(digits);
        Ok(Self { supi, tbcd })
    }

    /// `imsi-` and the digits (TS 29.571, 5.3.2).
    pub fn supi(&self) -> &[u8] {
        &self.supi
    }

    /// Two digits in an octet, the first in the low half; a filler of 15 ends an odd number.
    pub fn tbcd(&self) -> &[u8] {
        &self.tbcd
    }
}

/// An IMEISV or MSISDN in TBCD (TS 29.274, 8.10 and 8.11).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct TbcdDigits {
    length: u8,
    octets: [u8; 8],
}

impl TbcdDigits {
    pub fn new(digits: &str) -> Result<Self, NameError> {
        let good = (1..=16).contains(&digits.len()) && digits.bytes().all(|c| c.is_ascii_digit());
        if !good {
            return Err(NameError::Digits(digits.to_owned()));
        }
        let mut octets = [0; 8];
        let coded = tbcd(digits);
        octets
            .iter_mut()
            .zip(&coded)
            .for_each(|(to, from)| *to = *from);
        let length = coded.len() as u8;
        Ok(Self { length, octets })
    }

    /// Two digits in an octet, the first in the low half; a filler of 15 ends an odd number.
    pub fn tbcd(&self) -> &[u8] {
        self.octets
            .get(..usize::from(self.length))
            .unwrap_or_default()
    }
}

/// At most 16 digits.
fn tbcd(digits: &str) -> ArrayVec<u8, 8> {
    let digit = |octet: &u8| octet - b'0';
    let octets = digits.as_bytes().chunks(2).map(|pair| {
        let high = pair.get(1).map_or(0x0f, digit);
        high << 4 | pair.first().map_or(0x0f, digit)
    });
    octets.collect()
}

impl fmt::Debug for Imsi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.supi.escape_ascii())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_name_has_both_codings() {
        let name = NetworkName::new("internet.lab").unwrap();
        assert_eq!(name.text(), "internet.lab");
        assert_eq!(name.labels(), b"\x08internet\x03lab");
    }

    #[test]
    fn a_network_name_has_no_empty_long_or_odd_labels() {
        for bad in [
            "",
            ".",
            "a..b",
            "a.",
            "a b",
            &"x".repeat(64),
            &["x"; 51].join("."),
        ] {
            assert!(NetworkName::new(bad).is_err(), "{bad:?}");
        }
        assert!(NetworkName::new(&"x".repeat(63)).is_ok());
    }

    #[test]
    fn an_imsi_has_both_codings() {
        let odd = Imsi::new("001010000000001").unwrap();
        assert_eq!(odd.supi(), b"imsi-001010000000001");
        assert_eq!(odd.tbcd(), [0x00, 0x01, 0x01, 0x00, 0x00, 0x00, 0x00, 0xf1]);
        assert_eq!(Imsi::new("123456").unwrap().tbcd(), [0x21, 0x43, 0x65]);
        assert!(Imsi::new("12345").is_err() && Imsi::new("12345x").is_err());
        assert!(Imsi::new("1234567890123456").is_err());
        assert_eq!(TbcdDigits::new("090").unwrap().tbcd(), [0x90, 0xf0]);
        assert!(TbcdDigits::new("").is_err() && TbcdDigits::new("12345678901234567").is_err());
    }
}
