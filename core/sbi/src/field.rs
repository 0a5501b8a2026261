//! Fields that messages between network functions have in common: each an octet that is checked, or
//! a few.

use sluice_ids::{Suci, Supi};
use zerocopy::{Immutable, IntoBytes, KnownLayout, TryFromBytes, Unaligned};

/// Why a request failed.
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, TryFromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(u8)]
pub enum Problem {
    /// There is no such subscriber.
    UserNotFound = 1,
    /// The identity cannot be read: unknown key, changed, no digits.
    IdentityUnreadable = 2,
    /// The UE did not prove who it is.
    AuthenticationRejected = 3,
    /// What is referred to is not known, or not any more.
    ContextNotFound = 4,
    /// Nobody answered in time.
    Timeout = 5,
    /// Too much is under way.
    Overload = 6,
    /// The answer does not fit the request.
    Protocol = 7,
    /// The serving network may not ask.
    ServingNetworkNotAuthorized = 8,
    /// No data network of this name, or it is not subscribed in the slice.
    DnnNotSupported = 9,
    /// The UE is idle.
    UeNotReachable = 10,
}

/// What an AMF tells an SMF of a session (TS 29.502, 6.1.6.2.4).
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, TryFromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(u8)]
pub enum SmChange {
    /// A message of the UE.
    N1 = 1,
    /// The gNB has set the session up.
    SetUp = 2,
    /// The gNB has not.
    SetupFailed = 3,
    /// The gNB has released the session.
    Released = 4,
    /// The user plane is to be up.
    Activate = 5,
    /// The user plane is down.
    Deactivate = 6,
}

/// What a gNB is to do with a transfer of an SMF (TS 29.502, 6.1.6.3.9).
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, TryFromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(u8)]
pub enum N2Sm {
    /// Nothing: there is none.
    None = 0,
    /// Set the session up.
    Setup = 1,
    /// Release it.
    Release = 2,
}

/// Whether a SUPI or a SUCI names a subscriber.
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, TryFromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(u8)]
enum IdentityKind {
    Supi = 0,
    Suci = 1,
}

/// A subscriber, concealed or not.
#[derive(
    Clone, Copy, PartialEq, Eq, TryFromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct Identity {
    kind: IdentityKind,
    supi: Supi,
    suci: Suci,
}

impl Identity {
    /// The SUPI, or the SUCI.
    pub fn get(&self) -> Result<Supi, Suci> {
        match self.kind {
            IdentityKind::Supi => Ok(self.supi),
            IdentityKind::Suci => Err(self.suci),
        }
    }
}

impl From<Supi> for Identity {
    fn from(supi: Supi) -> Self {
        let suci = zerocopy::FromZeros::new_zeroed();
        Self {
            kind: IdentityKind::Supi,
            supi,
            suci,
        }
    }
}

impl From<Suci> for Identity {
    fn from(suci: Suci) -> Self {
        let supi = zerocopy::FromZeros::new_zeroed();
        Self {
            kind: IdentityKind::Suci,
            supi,
            suci,
        }
    }
}

/// What a SIM says when a sequence number is out of its range.
#[derive(
    Clone, Copy, PartialEq, Eq, Default, TryFromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct Resynchronisation {
    /// Whether there is anything to say.
    pub wanted: bool,
    /// The challenge that it refused.
    pub rand: [u8; 16],
    /// What it said.
    pub auts: [u8; 14],
}
