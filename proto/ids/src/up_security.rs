//! User plane security policy of a PDU session (TS 23.501, 5.10.3; TS 29.571, 5.4.4.23).

use std::fmt;

use zerocopy::{Immutable, IntoBytes, KnownLayout, TryFromBytes, Unaligned};

/// How far a kind of protection of the user plane is wanted (TS 29.571, 5.4.3.4 and 5.4.3.5).
#[derive(
    Clone,
    Copy,
    PartialEq,
    Eq,
    Hash,
    Debug,
    TryFromBytes,
    IntoBytes,
    KnownLayout,
    Immutable,
    Unaligned,
)]
#[repr(u8)]
pub enum UpProtection {
    /// REQUIRED: a session without it is none.
    Required = 1,
    /// PREFERRED: a session has it where its gNB can.
    Preferred = 2,
    /// NOT_NEEDED: a session has it not.
    NotNeeded = 3,
}

impl UpProtection {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Required, Self::Preferred, Self::NotNeeded];

    /// As configurations have it: the name of the TS in small letters.
    pub fn name(self) -> &'static str {
        match self {
            Self::Required => "required",
            Self::Preferred => "preferred",
            Self::NotNeeded => "not_needed",
        }
    }

    /// Of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.name() == name)
    }

    /// Of the octet of a record.
    pub fn from_octet(octet: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|one| *one as u8 == octet)
    }
}

impl fmt::Display for UpProtection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// User plane security policy (UpSecurity).
#[derive(
    Clone,
    Copy,
    PartialEq,
    Eq,
    Hash,
    Debug,
    TryFromBytes,
    IntoBytes,
    KnownLayout,
    Immutable,
    Unaligned,
)]
#[repr(C)]
pub struct UpSecurity {
    /// Integrity protection.
    pub integrity: UpProtection,
    /// Confidentiality protection.
    pub confidentiality: UpProtection,
}

impl fmt::Display for UpSecurity {
    /// `integrity required, confidentiality preferred`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            integrity,
            confidentiality,
        } = self;
        write!(
            f,
            "integrity {integrity}, confidentiality {confidentiality}"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_protection_is_read_as_it_is_written() {
        for one in UpProtection::ALL {
            assert_eq!(UpProtection::from_name(one.name()), Some(one));
            assert_eq!(UpProtection::from_octet(one as u8), Some(one));
        }
        assert_eq!(UpProtection::from_name("REQUIRED"), None);
        assert_eq!(UpProtection::from_octet(0), None);
        assert_eq!(UpProtection::from_octet(4), None);
    }
}
