//! Messages as octets, for whoever follows a UE (`sluice ctl trace`); only while somebody does.

use sluice_ids::Supi;

/// Where a message passed (TS 23.501, 4.2.7).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum ReferencePoint {
    /// NAS of 5GMM, and of 5GSM inside; plain, as it is before it is ciphered or after it was deciphered.
    N1,
    /// NGAP.
    N2,
    /// PFCP.
    N4,
}

/// A message of a UE, or about it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TracedMessage {
    /// Where.
    pub at: ReferencePoint,
    /// Whether the core received it; else it sends it.
    pub is_received: bool,
    /// Whose, as far as that is known.
    pub supi: Option<Supi>,
    /// The AMF's number of the UE: it joins what was said before the subscriber was known with what
    /// was said afterwards.
    pub ue: Option<u64>,
    /// The message.
    pub octets: Vec<u8>,
}

/// Whose messages somebody wants as octets.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Followed {
    /// Nobody's.
    #[default]
    Nobody,
    /// All UEs'.
    All,
    /// One UE's: nothing of others is copied.
    One(Supi),
}

impl Followed {
    /// Whether those of this UE are wanted.
    pub fn is(self, supi: Supi) -> bool {
        match self {
            Self::Nobody => false,
            Self::All => true,
            Self::One(followed) => followed == supi,
        }
    }
}
