//! Ciphering and integrity of NAS messages (TS 33.501, 6.4; TS 33.401, Annex B).

use oxirush_security as oxirush;
use oxirush_security::nas_5gs::{self, KNasEnc, KNasInt, NasConnection};

use crate::algorithm::{Ciphering, Integrity};
use crate::key::Kamf;

/// Which way a message goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    /// From the UE.
    Uplink,
    /// To the UE.
    Downlink,
}

/// NAS COUNT of one direction: 16 bits of overflow, 8 of sequence number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct NasCount(u32);

impl NasCount {
    /// Above this one, a key may not be used any more.
    pub const MAX: Self = Self((1 << 24) - 1);

    /// Of 24 bits.
    pub const fn new(value: u32) -> Option<Self> {
        if value > Self::MAX.0 {
            None
        } else {
            Some(Self(value))
        }
    }

    /// 24 bits.
    pub const fn get(self) -> u32 {
        self.0
    }

    /// The octet that a message shows.
    pub const fn sequence_number(self) -> u8 {
        self.0 as u8
    }

    /// The count after this one; none when the key is used up.
    pub const fn next(self) -> Option<Self> {
        Self::new(self.0 + 1)
    }

    /// The lowest count from this one on that shows `sequence_number`.
    pub const fn estimate(self, sequence_number: u8) -> Option<Self> {
        let ahead = sequence_number.wrapping_sub(self.sequence_number());
        Self::new(self.0 + ahead as u32)
    }
}

/// The NAS keys of a UE, for the algorithms that were chosen (TS 33.501, A.8).
pub struct NasKeys {
    /// With which messages are ciphered.
    pub ciphering: Ciphering,
    /// With which their integrity is protected.
    pub integrity: Integrity,
    encryption_key: KNasEnc,
    integrity_key: KNasInt,
}

impl NasKeys {
    /// Of the AMF's key.
    pub fn new(kamf: &Kamf, ciphering: Ciphering, integrity: Integrity) -> Self {
        let kamf = nas_5gs::KAmf::new(kamf.octets());
        Self {
            ciphering,
            integrity,
            encryption_key: nas_5gs::derive_knas_enc(&kamf, ciphering.into()),
            integrity_key: nas_5gs::derive_knas_int(&kamf, integrity.into()),
        }
    }

    /// Ciphers or deciphers in place.
    pub fn cipher(&self, count: NasCount, direction: Direction, octets: &mut [u8]) {
        let (key, algorithm) = (&self.encryption_key, self.ciphering.into());
        let access = NasConnection::ThreeGpp;
        nas_5gs::nas_cipher(
            key,
            count.into(),
            access,
            direction.into(),
            octets,
            algorithm,
        );
    }

    /// The message authentication code of a sequence number and what follows it.
    pub fn mac(&self, count: NasCount, direction: Direction, octets: &[u8]) -> [u8; 4] {
        let (key, algorithm) = (&self.integrity_key, self.integrity.into());
        let access = NasConnection::ThreeGpp;
        nas_5gs::nas_mac(
            key,
            count.into(),
            access,
            direction.into(),
            octets,
            algorithm,
        )
        .to_be_bytes()
    }
}

impl From<NasCount> for oxirush::NasCount {
    fn from(count: NasCount) -> Self {
        Self::from_parts((count.0 >> 8) as u16, count.0 as u8)
    }
}

impl From<Direction> for oxirush::Direction {
    fn from(direction: Direction) -> Self {
        match direction {
            Direction::Uplink => Self::Uplink,
            Direction::Downlink => Self::Downlink,
        }
    }
}

impl From<Ciphering> for oxirush::CipheringAlgorithm {
    fn from(algorithm: Ciphering) -> Self {
        match algorithm {
            Ciphering::Nea0 => Self::NEA0,
            Ciphering::Nea1 => Self::NEA1,
            Ciphering::Nea2 => Self::NEA2,
            Ciphering::Nea3 => Self::NEA3,
        }
    }
}

impl From<Integrity> for oxirush::IntegrityAlgorithm {
    fn from(algorithm: Integrity) -> Self {
        match algorithm {
            Integrity::Nia1 => Self::NIA1,
            Integrity::Nia2 => Self::NIA2,
            Integrity::Nia3 => Self::NIA3,
        }
    }
}

#[cfg(test)]
mod tests;
