//! Context of a UE on its way from one AMF to another (UeContext: TS 29.518, 6.1.6.2.25).

use sluice_ids::{Dnn, Guti, Imeisv, Snssai, Supi};
use zerocopy::big_endian::{U32, U64};
use zerocopy::{FromZeros, Immutable, IntoBytes, KnownLayout, TryFromBytes, Unaligned};

/// Most sessions of a UE whose context moves.
pub const MOVED_SESSIONS: usize = 8;

/// Longest UE security capability in octets (TS 24.501, 9.11.3.54).
const CAPABILITY_OCTETS: usize = 8;

/// Why an AMF asks another one for a context (TransferReason: TS 29.518, 6.1.6.3.7).
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, TryFromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(u8)]
pub enum TransferReason {
    /// INIT_REG: the UE registers anew.
    InitialRegistration = 1,
    /// MOBI_REG: the UE has come to another area.
    Mobility = 2,
    /// MOBI_REG_UE_VALIDATED: the same, and the UE has proved to the AMF that asks who it is.
    MobilityValidated = 3,
}

/// Whether a UE is named by its 5G-GUTI or its SUPI.
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, TryFromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(u8)]
enum Kind {
    Guti = 0,
    Supi = 1,
}

/// Name of a UE between AMFs.
#[derive(
    Clone, Copy, PartialEq, Eq, TryFromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct UeName {
    kind: Kind,
    guti: Guti,
    supi: Supi,
}

impl UeName {
    /// The 5G-GUTI, or the SUPI.
    pub fn get(&self) -> Result<Guti, Supi> {
        match self.kind {
            Kind::Guti => Ok(self.guti),
            Kind::Supi => Err(self.supi),
        }
    }
}

impl From<Guti> for UeName {
    fn from(guti: Guti) -> Self {
        Self {
            kind: Kind::Guti,
            guti,
            supi: FromZeros::new_zeroed(),
        }
    }
}

impl From<Supi> for UeName {
    fn from(supi: Supi) -> Self {
        Self {
            kind: Kind::Supi,
            guti: FromZeros::new_zeroed(),
            supi,
        }
    }
}

/// Keys of NAS with their counts (SeafData and MmContext: TS 29.518, 6.1.6.2.27 and 6.1.6.2.32).
#[derive(
    Clone, Copy, PartialEq, Eq, TryFromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct MovedKeys {
    /// KAMF, or K'AMF.
    pub kamf: [u8; 32],
    /// K'AMF, derived horizontally: the UE does not use it yet (TS 33.501, A.13).
    pub is_derived: bool,
    /// Key set identifier (ngKSI).
    pub ngksi: u8,
    /// Number of the ciphering algorithm (NEA).
    pub ciphering: u8,
    /// Number of the integrity algorithm (NIA).
    pub integrity: u8,
    /// NAS COUNT of the last message of the UE.
    pub uplink: U32,
    /// NAS COUNT of the next message to the UE.
    pub downlink: U32,
    capability_octets: u8,
    capability: [u8; CAPABILITY_OCTETS],
}

impl MovedKeys {
    /// No keys, for what fills them in.
    pub fn none() -> Self {
        Self {
            kamf: [0; 32],
            is_derived: false,
            ngksi: 0,
            ciphering: 0,
            integrity: 0,
            uplink: 0.into(),
            downlink: 0.into(),
            capability_octets: 0,
            capability: [0; CAPABILITY_OCTETS],
        }
    }

    /// The same with a UE security capability; one that is too long is none.
    #[must_use]
    pub fn with_capability(mut self, octets: &[u8]) -> Self {
        if let Some(room) = self.capability.get_mut(..octets.len()) {
            room.copy_from_slice(octets);
            self.capability_octets = octets.len() as u8;
        }
        self
    }

    /// UE security capability.
    pub fn capability(&self) -> &[u8] {
        &self.capability[..usize::from(self.capability_octets).min(CAPABILITY_OCTETS)]
    }
}

/// Keys, if there are any.
#[derive(
    Clone, Copy, PartialEq, Eq, TryFromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct SomeKeys {
    are_there: bool,
    keys: MovedKeys,
}

impl SomeKeys {
    /// The keys.
    pub fn get(&self) -> Option<&MovedKeys> {
        self.are_there.then_some(&self.keys)
    }
}

impl From<Option<MovedKeys>> for SomeKeys {
    fn from(keys: Option<MovedKeys>) -> Self {
        Self {
            are_there: keys.is_some(),
            keys: keys.unwrap_or_else(MovedKeys::none),
        }
    }
}

/// Device of a UE (Pei), if it is known.
#[derive(
    Clone, Copy, PartialEq, Eq, TryFromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct SomeDevice {
    is_there: bool,
    imeisv: Imeisv,
}

impl SomeDevice {
    /// The device.
    pub fn get(&self) -> Option<Imeisv> {
        self.is_there.then_some(self.imeisv)
    }
}

impl From<Option<Imeisv>> for SomeDevice {
    fn from(imeisv: Option<Imeisv>) -> Self {
        Self {
            is_there: imeisv.is_some(),
            imeisv: imeisv.unwrap_or_else(FromZeros::new_zeroed),
        }
    }
}

/// A PDU session of a UE (PduSessionContext: TS 29.518, 6.1.6.2.37).
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, TryFromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct MovedSession {
    /// PDU session identity.
    pub session: u8,
    /// In which slice.
    pub slice: Snssai,
    /// In which data network.
    pub dnn: Dnn,
    /// The SMF's name of it.
    pub context: U64,
}

/// PDU sessions of a UE.
#[derive(
    Clone, Copy, PartialEq, Eq, TryFromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct MovedSessions {
    number: u8,
    session: [MovedSession; MOVED_SESSIONS],
}

impl MovedSessions {
    /// The first 8 of these.
    pub fn new(all: &[MovedSession]) -> Self {
        let nothing = MovedSession {
            session: 0,
            slice: Snssai::new(0, None),
            dnn: Dnn::NONE,
            context: 0.into(),
        };
        let mut session = [nothing; MOVED_SESSIONS];
        let number = all.len().min(MOVED_SESSIONS);
        session[..number].copy_from_slice(&all[..number]);
        Self {
            number: number as u8,
            session,
        }
    }

    /// Those.
    pub fn all(&self) -> &[MovedSession] {
        &self.session[..usize::from(self.number).min(MOVED_SESSIONS)]
    }

    /// A bit for each.
    pub fn bits(&self) -> u16 {
        let all = self.all().iter();
        all.fold(0, |bits, one| bits | 1 << (one.session & 15))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sluice_ids::{AmfId, Guami, Plmn, Tmsi};

    #[test]
    fn a_ue_is_named_by_one_of_two() {
        let guami = Guami {
            plmn: Plmn::new("001", "01").expect("digits"),
            amf: AmfId::new(1, 1, 1).expect("small"),
        };
        let guti = Guti {
            guami,
            tmsi: Tmsi([1, 2, 3, 4]),
        };
        let supi = Supi::from_imsi("001010000000001").expect("digits");
        assert_eq!(UeName::from(guti).get(), Ok(guti));
        assert_eq!(UeName::from(supi).get(), Err(supi));
    }

    #[test]
    fn lists_that_are_too_long_are_cut_and_never_read_beyond_their_end() {
        let keys = MovedKeys::none().with_capability(&[1; 9]);
        assert_eq!(keys.capability(), [0; 0]);
        let keys = MovedKeys::none().with_capability(&[0xf0, 0x70]);
        assert_eq!(keys.capability(), [0xf0, 0x70]);
        let one = |session| MovedSession {
            session,
            slice: Snssai::new(1, None),
            dnn: Dnn::NONE,
            context: 7.into(),
        };
        let all: Vec<MovedSession> = (1..=9).map(one).collect();
        let moved = MovedSessions::new(&all);
        assert_eq!(moved.all(), &all[..8]);
        assert_eq!(moved.bits(), 0b1_1111_1110);
    }
}
