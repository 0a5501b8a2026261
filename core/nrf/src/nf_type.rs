//! Types of network functions by their names (NFType: TS 29.510, 6.1.6.3.3): ours, and those of other cores.

use std::fmt;

use sluice_sbi::Nf;

/// Longest name.
const OCTETS: usize = 32;

/// Name of a type, `SMF` or `SCP`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct NfType(String);

impl NfType {
    /// Of a name in capitals, digits and underscores.
    pub fn new(name: &str) -> Option<Self> {
        let is_right = |c: u8| c.is_ascii_uppercase() || c.is_ascii_digit() || c == b'_';
        let fits = (1..=OCTETS).contains(&name.len()) && name.bytes().all(is_right);
        fits.then(|| Self(name.to_owned()))
    }

    /// Name.
    pub fn name(&self) -> &str {
        &self.0
    }

    /// Our type of this name.
    pub fn nf(&self) -> Option<Nf> {
        Nf::ALL.into_iter().find(|nf| self == nf)
    }
}

impl From<Nf> for NfType {
    fn from(nf: Nf) -> Self {
        Self(nf.to_string())
    }
}

impl PartialEq<Nf> for NfType {
    fn eq(&self, nf: &Nf) -> bool {
        self.0 == nf.to_string()
    }
}

impl fmt::Display for NfType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}
