//! 5G-AKA (TS 33.501, 6.1.3.2) with Milenage (TS 35.206): the home network's side and the SIM's.

use std::fmt;

use oxirush_security as oxirush;
use oxirush_security::milenage::{self, Milenage};
use oxirush_security::{SecurityError, nas_5gs};
use sluice_ids::{ServingNetworkName, Supi};

use crate::key::{K, Kamf, Kausf, Kseaf, Opc};

/// A random challenge.
pub type Rand = [u8; 16];
/// Authentication token: concealed sequence number, AMF field, MAC.
pub type Autn = [u8; 16];
/// What the SIM answers when the sequence number is out of its range.
pub type Auts = [u8; 14];
/// What the UE answers.
pub type ResStar = [u8; 16];
/// What the serving network compares a hash of the answer with.
pub type HxresStar = [u8; 16];
/// Anti-bidding down between architectures: zeros in Release 17.
pub type Abba = [u8; 2];

/// Sequence number of authentications, 48 bits: 43 that count and 5 that index (TS 33.102, C.3.4).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Sqn(u64);

/// Bits of an index: so many vectors may be used out of order.
const INDEX_BITS: u32 = 5;

impl Sqn {
    /// Of 48 bits; higher ones are cut off.
    pub const fn new(value: u64) -> Self {
        Self(value & ((1 << 48) - 1))
    }

    /// 48 bits.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The part that counts.
    pub const fn sequence(self) -> u64 {
        self.0 >> INDEX_BITS
    }

    /// The part that names one of the SIM's 32 places.
    pub const fn index(self) -> usize {
        (self.0 & 31) as usize
    }

    /// The next number: its sequence is above this one's, at least `floor`, which follows time, and
    /// no further ahead than a SIM takes in one step (TS 33.102, C.1.1.3 and C.2.1); its index is
    /// the next one.
    pub const fn next(self, floor: u64) -> Self {
        let above = self.sequence() + 1;
        let furthest = self.sequence() + LONGEST_STEP;
        let floor = if floor < furthest { floor } else { furthest };
        let sequence = if floor > above { floor } else { above };
        Self::new(sequence << INDEX_BITS | (self.0 + 1) & 31)
    }

    fn to_milenage(self) -> milenage::Sqn {
        let octets = self.0.to_be_bytes();
        milenage::Sqn::new(&[
            octets[2], octets[3], octets[4], octets[5], octets[6], octets[7],
        ])
    }
}

/// A SIM may refuse a sequence number that is 2^28 ahead of the last one (TS 33.102, C.3.2); half of
/// that leaves room for numbers that others of its 32 places have taken.
const LONGEST_STEP: u64 = 1 << 27;

/// A subscriber as the home network knows it (ARPF).
pub struct Subscriber(Milenage);

/// An authentication vector of the home network.
pub struct Challenge {
    /// The challenge.
    pub rand: Rand,
    /// The home network's proof, with the sequence number.
    pub autn: Autn,
    /// The answer that is expected.
    pub xres_star: ResStar,
    /// The key that follows.
    pub kausf: Kausf,
}

/// Authentication Management Field with the separation bit, which 5G demands.
const AMF_FIELD: [u8; 2] = [0x80, 0];

impl Subscriber {
    /// Of the subscriber's keys.
    pub fn new(k: &K, opc: &Opc) -> Self {
        Self(milenage_of(k, opc))
    }

    /// The vector of a challenge for this serving network.
    pub fn challenge(&self, rand: Rand, sqn: Sqn, network: &ServingNetworkName) -> Challenge {
        let amf = milenage::Amf::new(&AMF_FIELD);
        let rand = oxirush::Rand::new(&rand);
        let vector = self
            .0
            .authentication_vector(&rand, &sqn.to_milenage(), &amf);
        let name = network.octets();
        let key = nas_5gs::derive_kausf(vector.ck(), vector.ik(), name, vector.autn());
        let xres_star = vector.xres_star(name);
        Challenge {
            rand: *vector.rand().as_octets(),
            autn: *vector.autn().as_octets(),
            xres_star: *fits(xres_star).as_octets(),
            kausf: Kausf::new(*fits(key).as_octets()),
        }
    }

    /// The sequence number of the SIM, if it is the SIM that says so (TS 33.102, 6.3.5).
    pub fn resynchronise(&self, rand: Rand, auts: &Auts) -> Option<Sqn> {
        let auts = milenage::Auts::new(auts);
        let sqn = self.0.verify_auts(&oxirush::Rand::new(&rand), &auts).ok()?;
        Some(Sqn::new(sqn.get()))
    }
}

/// A SIM: keys, and the highest sequence number of each place.
pub struct Usim {
    milenage: Milenage,
    taken: [u64; 1 << INDEX_BITS],
}

/// What a SIM and its phone answer a challenge with.
pub struct Answer {
    /// For the serving network.
    pub res_star: ResStar,
    /// The key that follows.
    pub kausf: Kausf,
}

/// Why a SIM refuses a challenge.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum UsimError {
    /// The challenge is not from the home network.
    Mac,
    /// It is not meant for 5G: its separation bit is not set.
    SeparationBit,
    /// Its sequence number was used, or is too old.
    Synch(Auts),
}

impl Usim {
    /// Of the subscriber's keys; no sequence number has been taken.
    pub fn new(k: &K, opc: &Opc) -> Self {
        Self {
            milenage: milenage_of(k, opc),
            taken: [0; 1 << INDEX_BITS],
        }
    }

    /// From now on sequence numbers up to this one are refused.
    pub fn advance(&mut self, sqn: Sqn) {
        self.taken = [sqn.sequence(); 1 << INDEX_BITS];
    }

    /// Answers a challenge, or says why not.
    pub fn answer(
        &mut self,
        rand: Rand,
        autn: Autn,
        network: &ServingNetworkName,
    ) -> Result<Answer, UsimError> {
        let (rand, autn) = (oxirush::Rand::new(&rand), oxirush::Autn::new(&autn));
        let response = self
            .milenage
            .check_autn(&rand, &autn)
            .map_err(|_| UsimError::Mac)?;
        if !response.amf().separation_bit() {
            return Err(UsimError::SeparationBit);
        }
        let sqn = Sqn::new(response.sqn().get());
        if sqn.sequence() <= self.taken[sqn.index()] {
            let highest = self.taken.iter().max().copied().unwrap_or_default();
            let auts = self
                .milenage
                .auts(&rand, &Sqn::new(highest << INDEX_BITS).to_milenage());
            return Err(UsimError::Synch(*auts.as_octets()));
        }
        self.taken[sqn.index()] = sqn.sequence();
        let name = network.octets();
        let key = nas_5gs::derive_kausf(response.ck(), response.ik(), name, &autn);
        Ok(Answer {
            res_star: *fits(response.res_star(name)).as_octets(),
            kausf: Kausf::new(*fits(key).as_octets()),
        })
    }
}

impl fmt::Debug for Usim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Usim")
    }
}

/// Of RES* or XRES* (TS 33.501, A.5).
pub fn hxres_star(rand: Rand, xres_star: &ResStar) -> HxresStar {
    let xres_star = nas_5gs::XresStar::new(xres_star);
    *nas_5gs::compute_hxres_star(&oxirush::Rand::new(&rand), &xres_star).as_octets()
}

/// KSEAF (TS 33.501, A.6).
pub fn kseaf(kausf: &Kausf, network: &ServingNetworkName) -> Kseaf {
    let key = nas_5gs::derive_kseaf(&nas_5gs::KAusf::new(kausf.octets()), network.octets());
    Kseaf::new(*fits(key).as_octets())
}

/// KAMF (TS 33.501, A.7); none if the SUPI has no digits.
pub fn kamf(kseaf: &Kseaf, supi: &Supi, abba: &Abba) -> Option<Kamf> {
    let text = supi.to_string();
    let supi = nas_5gs::Supi::parse(&text).ok()?;
    let key = nas_5gs::derive_kamf(&nas_5gs::KSeaf::new(kseaf.octets()), &supi, abba).ok()?;
    Some(Kamf::new(*key.as_octets()))
}

fn milenage_of(k: &K, opc: &Opc) -> Milenage {
    Milenage::new(
        &milenage::K::new(k.octets()),
        &milenage::Opc::new(opc.octets()),
    )
}

/// A derivation refuses only inputs of more than 65,535 octets, and a serving network name has 32.
#[allow(clippy::expect_used)]
fn fits<T>(derived: Result<T, SecurityError>) -> T {
    derived.expect("the name of a serving network has 32 octets")
}

#[cfg(test)]
mod tests;
