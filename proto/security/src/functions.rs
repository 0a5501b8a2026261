//! Authentication functions f1 to f5* of a subscriber (TS 33.102, 6.3), and what is made of them alone.

use oxirush_security::Rand as OxirushRand;
use oxirush_security::milenage::{Amf, Milenage, Sqn as OxirushSqn};
use zeroize::Zeroizing;

use crate::aka::{Autn, Auts, Rand, Sqn};
use crate::credentials::{Algorithm, Credentials};
use crate::key::{K, Opc};
use crate::tuak::{self, Tuak};

/// Octets of RES and of a MAC: what Milenage has, and TUAK is asked for.
pub(crate) const RES: usize = 8;
const MAC: usize = 8;

/// The functions of one of the algorithms, with a subscriber's keys.
pub(crate) enum Functions {
    /// TS 35.206
    Milenage(Milenage),
    /// TS 35.231
    Tuak(Tuak),
}

/// Results of f2 to f5 for a challenge.
pub(crate) struct Response {
    /// RES.
    pub res: [u8; RES],
    /// CK.
    pub ck: Zeroizing<[u8; 16]>,
    /// IK.
    pub ik: Zeroizing<[u8; 16]>,
    /// AK, which conceals the sequence number.
    ak: Zeroizing<[u8; 6]>,
}

/// A network's proof whose MAC was right.
pub(crate) struct Checked {
    /// The sequence number in it.
    pub sqn: Sqn,
    /// The authentication management field in it.
    pub amf: [u8; 2],
    /// The answer.
    pub response: Response,
}

impl Functions {
    pub fn new(credentials: &Credentials) -> Self {
        match &credentials.algorithm {
            Algorithm::Milenage { k, opc } => Self::Milenage(milenage_of(k, opc)),
            Algorithm::Tuak { k, topc } => Self::Tuak(Tuak::new(k, topc)),
        }
    }

    fn f1(&self, rand: &Rand, sqn: &[u8; 6], amf: [u8; 2]) -> [u8; MAC] {
        match self {
            Self::Milenage(milenage) => {
                let mac = milenage.f1(
                    &OxirushRand::new(rand),
                    &OxirushSqn::new(sqn),
                    &Amf::new(&amf),
                );
                *mac.as_octets()
            }
            Self::Tuak(tuak) => tuak.f1(rand, sqn, amf),
        }
    }

    fn f1_star(&self, rand: &Rand, sqn: &[u8; 6], amf: [u8; 2]) -> [u8; MAC] {
        match self {
            Self::Milenage(milenage) => {
                let (rand, sqn) = (OxirushRand::new(rand), OxirushSqn::new(sqn));
                *milenage.f1_star(&rand, &sqn, &Amf::new(&amf)).as_octets()
            }
            Self::Tuak(tuak) => tuak.f1_star(rand, sqn, amf),
        }
    }

    /// f2, f3, f4 and f5.
    pub fn response(&self, rand: &Rand) -> Response {
        match self {
            Self::Milenage(milenage) => {
                let (res, ck, ik, ak) = milenage.f2345(&OxirushRand::new(rand));
                Response {
                    res: *res.as_octets(),
                    ck: Zeroizing::new(*ck.as_octets()),
                    ik: Zeroizing::new(*ik.as_octets()),
                    ak: Zeroizing::new(*ak.as_octets()),
                }
            }
            Self::Tuak(tuak) => {
                let tuak::Output { res, ck, ik, ak } = tuak.f2345(rand);
                Response { res, ck, ik, ak }
            }
        }
    }

    fn f5_star(&self, rand: &Rand) -> Zeroizing<[u8; 6]> {
        match self {
            Self::Milenage(milenage) => {
                let ak = milenage.f5_star(&OxirushRand::new(rand));
                Zeroizing::new(*ak.as_octets())
            }
            Self::Tuak(tuak) => tuak.f5_star(rand),
        }
    }

    /// The home network's proof (TS 33.102, 6.3.2): concealed sequence number, AMF field, MAC-A.
    pub fn autn(&self, rand: &Rand, sqn: Sqn, amf: [u8; 2], response: &Response) -> Autn {
        let sqn = sqn_octets(sqn);
        let mac = self.f1(rand, &sqn, amf);
        let mut autn = [0; 16];
        autn[..6].copy_from_slice(&xor(sqn, &response.ak));
        autn[6..8].copy_from_slice(&amf);
        autn[8..].copy_from_slice(&mac);
        autn
    }

    /// Checks it; none if its MAC is wrong (TS 33.102, 6.3.3).
    pub fn check(&self, rand: &Rand, autn: &Autn) -> Option<Checked> {
        let response = self.response(rand);
        let mut concealed = [0; 6];
        concealed.copy_from_slice(&autn[..6]);
        let sqn = xor(concealed, &response.ak);
        let amf = [autn[6], autn[7]];
        is_same(&self.f1(rand, &sqn, amf), &autn[8..]).then(|| Checked {
            sqn: sqn_of(sqn),
            amf,
            response,
        })
    }

    /// AUTS for a sequence number (TS 33.102, 6.3.3); the AMF field is zero.
    pub fn auts(&self, rand: &Rand, sqn: Sqn) -> Auts {
        let sqn = sqn_octets(sqn);
        let mut auts = [0; 14];
        auts[..6].copy_from_slice(&xor(sqn, &self.f5_star(rand)));
        auts[6..].copy_from_slice(&self.f1_star(rand, &sqn, [0; 2]));
        auts
    }

    /// Reads it; none if it was not that SIM (TS 33.102, 6.3.5).
    pub fn check_auts(&self, rand: &Rand, auts: &Auts) -> Option<Sqn> {
        let mut concealed = [0; 6];
        concealed.copy_from_slice(&auts[..6]);
        let sqn = xor(concealed, &self.f5_star(rand));
        is_same(&self.f1_star(rand, &sqn, [0; 2]), &auts[6..]).then(|| sqn_of(sqn))
    }
}

/// Compares in a time that does not tell where they differ.
pub(crate) fn is_same(a: &[u8], b: &[u8]) -> bool {
    let differ = a.iter().zip(b).fold(0, |all, (a, b)| all | (a ^ b));
    a.len() == b.len() && differ == 0
}

fn sqn_octets(sqn: Sqn) -> [u8; 6] {
    let [_, _, octets @ ..] = sqn.get().to_be_bytes();
    octets
}

fn sqn_of(octets: [u8; 6]) -> Sqn {
    Sqn::new(
        octets
            .iter()
            .fold(0, |sqn, octet| sqn << 8 | u64::from(*octet)),
    )
}

fn xor(mut octets: [u8; 6], with: &[u8; 6]) -> [u8; 6] {
    for (octet, with) in octets.iter_mut().zip(with) {
        *octet ^= with;
    }
    octets
}

pub(crate) fn milenage_of(k: &K, opc: &Opc) -> Milenage {
    use oxirush_security::milenage;
    Milenage::new(
        &milenage::K::new(k.octets()),
        &milenage::Opc::new(opc.octets()),
    )
}
