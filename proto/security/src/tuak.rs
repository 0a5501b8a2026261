//! TUAK (TS 35.231): authentication functions of Keccak-f[1600], and TOPc.

use keccak::Keccak;
use zeroize::Zeroizing;

use crate::aka::Rand;
use crate::credentials::TuakKey;
use crate::functions::RES;
use crate::key::Topc;

/// "TUAK1.0" (TS 35.231, 6.1).
const NAME: [u8; 7] = *b"TUAK1.0";

/// Octets that Keccak's permutation works on.
const STATE: usize = 200;

/// How often the permutation is applied: what TS 35.231, 5.2 has where the operator says nothing.
const ITERATIONS: u8 = 1;

/// Octets of f1's and f1*'s output, which an AUTN and an AUTS have room for.
const MAC: usize = 8;

/// Octets of CK and IK, which all that follows takes (TS 33.501, A.2).
const KEY: usize = 16;

/// Lengths that an operator chooses, in octets, and the number of iterations (TS 35.231, 5).
#[derive(Clone, Copy)]
struct Variant {
    mac: usize,
    res: usize,
    ck: usize,
    ik: usize,
    iterations: u8,
}

const OURS: Variant = Variant {
    mac: MAC,
    res: RES,
    ck: KEY,
    ik: KEY,
    iterations: ITERATIONS,
};

/// Which function an instance is of: its two highest bits (TS 35.231, 6.2 to 6.5).
const F1: u8 = 0x00;
const F1_STAR: u8 = 0x80;
const F2345: u8 = 0x40;
const F5_STAR: u8 = 0xc0;

/// Offsets at which f2345 and f5* put their results.
const CK_AT: usize = 32;
const IK_AT: usize = 64;
const AK_AT: usize = 96;

/// The functions with a subscriber's keys.
pub(crate) struct Tuak {
    k: TuakKey,
    topc: Topc,
}

/// Results of f2 to f5.
pub(crate) struct Output {
    pub res: [u8; RES],
    pub ck: Zeroizing<[u8; KEY]>,
    pub ik: Zeroizing<[u8; KEY]>,
    pub ak: Zeroizing<[u8; 6]>,
}

impl Tuak {
    pub fn new(k: &TuakKey, topc: &Topc) -> Self {
        let (k, topc) = (k.clone(), topc.clone());
        Self { k, topc }
    }

    pub fn f1(&self, rand: &Rand, sqn: &[u8; 6], amf: [u8; 2]) -> [u8; MAC] {
        let state = self.mac(F1, OURS, rand, sqn, amf);
        *taken(&state, 0)
    }

    pub fn f1_star(&self, rand: &Rand, sqn: &[u8; 6], amf: [u8; 2]) -> [u8; MAC] {
        let state = self.mac(F1_STAR, OURS, rand, sqn, amf);
        *taken(&state, 0)
    }

    pub fn f2345(&self, rand: &Rand) -> Output {
        let state = self.response(OURS, rand);
        Output {
            res: *taken(&state, 0),
            ck: taken(&state, CK_AT),
            ik: taken(&state, IK_AT),
            ak: taken(&state, AK_AT),
        }
    }

    pub fn f5_star(&self, rand: &Rand) -> Zeroizing<[u8; 6]> {
        taken(&self.conceal(OURS, rand), AK_AT)
    }

    /// 6.2 and 6.3: MAC-A or MAC-S begins the output.
    fn mac(&self, kind: u8, variant: Variant, rand: &Rand, sqn: &[u8; 6], amf: [u8; 2]) -> State {
        // 8, 16 and 32 octets.
        let length = (variant.mac / 8) as u8;
        self.run(kind | length << 3, variant, rand, sqn, amf)
    }

    /// 6.4: RES begins the output; CK, IK and AK have places of their own.
    fn response(&self, variant: Variant, rand: &Rand) -> State {
        // 4, 8, 16 and 32 octets.
        let res = (variant.res / 8) as u8;
        let (ck, ik) = (u8::from(variant.ck > KEY), u8::from(variant.ik > KEY));
        let instance = F2345 | res << 3 | ck << 2 | ik << 1;
        self.run(instance, variant, rand, &[0; 6], [0; 2])
    }

    /// 6.5: AK*.
    fn conceal(&self, variant: Variant, rand: &Rand) -> State {
        self.run(F5_STAR, variant, rand, &[0; 6], [0; 2])
    }

    fn run(
        &self,
        instance: u8,
        variant: Variant,
        rand: &Rand,
        sqn: &[u8; 6],
        amf: [u8; 2],
    ) -> State {
        let input = Input {
            variant: self.topc.octets(),
            instance,
            rand,
            amf,
            sqn,
            k: &self.k,
        };
        input.permuted(variant.iterations)
    }
}

/// TOPc (6.1).
pub(crate) fn topc(k: &TuakKey, top: &[u8; 32]) -> Topc {
    topc_after(ITERATIONS, k, top)
}

fn topc_after(iterations: u8, k: &TuakKey, top: &[u8; 32]) -> Topc {
    let input = Input {
        variant: top,
        instance: 0,
        rand: &[0; 16],
        amf: [0; 2],
        sqn: &[0; 6],
        k,
    };
    Topc::new(*taken(&input.permuted(iterations), 0))
}

type State = Zeroizing<[u8; STATE]>;

/// Input of the permutation (6.1, IN).
struct Input<'a> {
    variant: &'a [u8; 32],
    instance: u8,
    rand: &'a Rand,
    amf: [u8; 2],
    sqn: &'a [u8; 6],
    k: &'a TuakKey,
}

impl Input<'_> {
    fn permuted(&self, iterations: u8) -> State {
        let k = self.k.octets();
        let is_long = u8::from(k.len() > 16);
        let mut octets = Zeroizing::new([0; STATE]);
        // Bits are counted from the last one of each value, so its octets stand the other way round.
        let mut at = 0;
        let mut put = |value: &[u8]| {
            for (place, octet) in octets[at..].iter_mut().zip(value.iter().rev()) {
                *place = *octet;
            }
            at += value.len();
        };
        put(self.variant);
        put(&[self.instance | is_long]);
        put(&NAME);
        put(self.rand);
        put(&self.amf);
        put(self.sqn);
        put(k);
        // Padding of a message of 768 bits at a rate of 1088.
        octets[96] = 0x1f;
        octets[135] = 0x80;
        let mut lanes = Zeroizing::new([0u64; STATE / 8]);
        for (lane, octets) in lanes.iter_mut().zip(octets.chunks_exact(8)) {
            *lane = octets
                .iter()
                .rev()
                .fold(0, |lane, octet| lane << 8 | u64::from(*octet));
        }
        let keccak = Keccak::new();
        for _ in 0..iterations {
            keccak.with_f1600(|permute| permute(&mut lanes));
        }
        for (octets, lane) in octets.chunks_exact_mut(8).zip(lanes.iter()) {
            octets.copy_from_slice(&lane.to_le_bytes());
        }
        octets
    }
}

/// A value that begins at this octet of the output.
fn taken<const N: usize>(state: &State, at: usize) -> Zeroizing<[u8; N]> {
    let mut value = Zeroizing::new([0; N]);
    let octets = state[at..].iter().take(N);
    for (place, octet) in value.iter_mut().rev().zip(octets) {
        *place = *octet;
    }
    value
}

#[cfg(test)]
mod tests;
