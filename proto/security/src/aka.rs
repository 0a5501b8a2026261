//! 5G-AKA (TS 33.501, 6.1.3.2) with Milenage or TUAK: the home network's side and the SIM's.

use std::fmt;

use oxirush_security as oxirush;
use oxirush_security::{SecurityError, nas_5gs};
use sluice_ids::{ServingNetworkName, Supi};
use zeroize::Zeroizing;

use crate::credentials::Credentials;
use crate::functions::{Functions, RES, Response};
use crate::key::{Kamf, Kausf, Kseaf};
use crate::nas::NasCount;

/// A random challenge.
pub type Rand = [u8; 16];
/// Authentication token: concealed sequence number, AMF field, MAC.
pub type Autn = [u8; 16];
/// AUTS: answer of a SIM to a sequence number out of its range.
pub type Auts = [u8; 14];
/// RES*: answer of the UE.
pub type ResStar = [u8; 16];
/// HXRES*: hash with which the serving network checks the answer.
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

    /// The number of the next vector after this last one: above what a SIM says that it has, which counts more than what
    /// was stored (TS 33.102, 6.3.5), else the [next](Self::next) one.
    pub const fn following(self, said: Option<Self>, floor: u64) -> Self {
        match said {
            Some(said) => said.next(0),
            None => self.next(floor),
        }
    }
}

/// A SIM may refuse a sequence number that is 2^28 ahead of the last one (TS 33.102, C.3.2); half of
/// that leaves room for numbers that others of its 32 places have taken.
const LONGEST_STEP: u64 = 1 << 27;

/// A subscriber as the home network knows it (ARPF).
pub struct Subscriber(Functions);

/// An authentication vector of the home network for 5G-AKA.
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

/// An authentication vector of the home network for EAP-AKA', whose keys are bound to a serving
/// network (TS 33.501, 6.1.3.1, step 1).
pub struct PrimeChallenge {
    /// The challenge.
    pub rand: Rand,
    /// The home network's proof, with the sequence number.
    pub autn: Autn,
    /// The answer that is expected.
    pub xres: [u8; RES],
    /// CK' and IK'.
    pub keys: PrimeKeys,
}

/// CK' and IK' (TS 33.501, A.3; TS 33.402, A.2).
pub type PrimeKeys = Zeroizing<[u8; 32]>;

/// Authentication Management Field with the separation bit, which 5G demands.
const AMF_FIELD: [u8; 2] = [0x80, 0];
const SEPARATION: u8 = 0x80;

impl Subscriber {
    /// Of the subscriber's keys.
    pub fn new(credentials: &Credentials) -> Self {
        Self(Functions::new(credentials))
    }

    /// The vector of a challenge for this serving network.
    pub fn challenge(&self, rand: Rand, sqn: Sqn, network: &ServingNetworkName) -> Challenge {
        let response = self.0.response(&rand);
        let autn = self.0.autn(&rand, sqn, AMF_FIELD, &response);
        let (xres_star, kausf) = five_g(&rand, &autn, &response, network);
        Challenge {
            rand,
            autn,
            xres_star,
            kausf,
        }
    }

    /// The vector of a challenge by EAP-AKA' for this serving network.
    pub fn prime_challenge(
        &self,
        rand: Rand,
        sqn: Sqn,
        network: &ServingNetworkName,
    ) -> PrimeChallenge {
        let response = self.0.response(&rand);
        let autn = self.0.autn(&rand, sqn, AMF_FIELD, &response);
        let keys = prime_keys(&response.ck, &response.ik, network.octets(), &autn);
        PrimeChallenge {
            rand,
            autn,
            xres: response.res,
            keys,
        }
    }

    /// The sequence number of the SIM, if it is the SIM that says so (TS 33.102, 6.3.5).
    pub fn resynchronise(&self, rand: Rand, auts: &Auts) -> Option<Sqn> {
        self.0.check_auts(&rand, auts)
    }
}

/// RES* and KAUSF (TS 33.501, A.2 and A.4).
fn five_g(
    rand: &Rand,
    autn: &Autn,
    response: &Response,
    network: &ServingNetworkName,
) -> (ResStar, Kausf) {
    let (ck, ik) = (
        oxirush::Ck::new(&response.ck),
        oxirush::Ik::new(&response.ik),
    );
    let (rand, autn) = (oxirush::Rand::new(rand), oxirush::Autn::new(autn));
    let name = network.octets();
    let res_star = nas_5gs::compute_res_star(&ck, &ik, name, &rand, &response.res);
    let kausf = nas_5gs::derive_kausf(&ck, &ik, name, &autn);
    (
        *fits(res_star).as_octets(),
        Kausf::new(*fits(kausf).as_octets()),
    )
}

/// CK' and IK' for an access network of this name (TS 33.402, A.2).
pub(crate) fn prime_keys(ck: &[u8; 16], ik: &[u8; 16], network: &[u8], autn: &Autn) -> PrimeKeys {
    const FC: u8 = 0x20;
    let mut key = Zeroizing::new([0; 32]);
    key[..16].copy_from_slice(ck);
    key[16..].copy_from_slice(ik);
    let length = (network.len() as u16).to_be_bytes();
    let concealed = &autn[..6];
    Zeroizing::new(hmac_sha256(
        &*key,
        &[&[FC], network, &length, concealed, &[0, 6]],
    ))
}

/// A SIM: keys, and the highest sequence number of each place.
pub struct Usim {
    functions: Functions,
    taken: [u64; 1 << INDEX_BITS],
}

/// Answer of SIM and UE to a 5G-AKA challenge.
pub struct Answer {
    /// For the serving network.
    pub res_star: ResStar,
    /// The key that follows.
    pub kausf: Kausf,
}

/// Answer of SIM and UE to an EAP-AKA' challenge.
pub(crate) struct PrimeAnswer {
    /// For the home network.
    pub res: [u8; RES],
    /// CK' and IK'.
    pub keys: PrimeKeys,
}

/// Why a SIM refuses a challenge.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum UsimError {
    /// The challenge is not from the home network.
    Mac,
    /// The challenge is not for 5G: its separation bit is not set.
    SeparationBit,
    /// The sequence number was used, or is too old.
    Synch(Auts),
}

impl Usim {
    /// Of the subscriber's keys; no sequence number has been taken.
    pub fn new(credentials: &Credentials) -> Self {
        Self {
            functions: Functions::new(credentials),
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
        let response = self.take(&rand, &autn)?;
        let (res_star, kausf) = five_g(&rand, &autn, &response, network);
        Ok(Answer { res_star, kausf })
    }

    /// Answers a challenge of EAP-AKA' for a network of this name, or says why not.
    pub(crate) fn answer_prime(
        &mut self,
        rand: &Rand,
        autn: &Autn,
        network: &[u8],
    ) -> Result<PrimeAnswer, UsimError> {
        let response = self.take(rand, autn)?;
        let keys = prime_keys(&response.ck, &response.ik, network, autn);
        let res = response.res;
        Ok(PrimeAnswer { res, keys })
    }

    fn take(&mut self, rand: &Rand, autn: &Autn) -> Result<Response, UsimError> {
        let checked = self.functions.check(rand, autn).ok_or(UsimError::Mac)?;
        if checked.amf[0] & SEPARATION == 0 {
            return Err(UsimError::SeparationBit);
        }
        let sqn = checked.sqn;
        if sqn.sequence() <= self.taken[sqn.index()] {
            let highest = self.taken.iter().max().copied().unwrap_or_default();
            let auts = self.functions.auts(rand, Sqn::new(highest << INDEX_BITS));
            return Err(UsimError::Synch(auts));
        }
        self.taken[sqn.index()] = sqn.sequence();
        Ok(checked.response)
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

/// FC of K'AMF, and the direction of a mobility registration (TS 33.501, A.13).
const FC_OF_NEXT_KAMF: u8 = 0x72;
const UPLINK: u8 = 0;

/// K'AMF of a mobility registration, derived horizontally by the count of the Registration Request (TS 33.501, A.13).
pub fn next_kamf(kamf: &Kamf, uplink: NasCount) -> Kamf {
    let count = uplink.get().to_be_bytes();
    let parts: [&[u8]; 3] = [&[FC_OF_NEXT_KAMF, UPLINK, 0, 1], &count, &[0, 4]];
    Kamf::new(hmac_sha256(kamf.octets(), &parts))
}

/// HMAC-SHA-256 of what these make together.
#[allow(clippy::expect_used)]
pub(crate) fn hmac_sha256(key: &[u8], parts: &[&[u8]]) -> [u8; 32] {
    use hmac::{Hmac, KeyInit, Mac};
    let mut hmac = Hmac::<sha2::Sha256>::new_from_slice(key).expect("a key of any length is one");
    parts.iter().for_each(|part| hmac.update(part));
    hmac.finalize().into_bytes().into()
}

/// A derivation refuses only inputs of more than 65,535 octets, and a serving network name has 32.
#[allow(clippy::expect_used)]
fn fits<T>(derived: Result<T, SecurityError>) -> T {
    derived.expect("the name of a serving network has 32 octets")
}

#[cfg(test)]
mod tests;
