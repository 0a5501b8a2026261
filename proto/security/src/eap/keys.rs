//! Keys of EAP-AKA' (RFC 9048, 3.3 and 3.4.1), and KAUSF of them (TS 33.501, 6.1.3.1, step 9).

use zeroize::Zeroizing;

use crate::aka::{PrimeKeys, hmac_sha256};
use crate::key::Kausf;

/// Octets of K_encr, K_aut, K_re, MSK and EMSK, in this order.
pub(super) const MATERIAL: usize = 16 + 32 + 32 + 64 + 64;
const K_AUT_AT: usize = 16;
const EMSK_AT: usize = 144;

/// K_aut, and the key of the home network.
pub(super) struct Keys {
    pub k_aut: KAut,
    pub kausf: Kausf,
}

/// With which packets are authenticated.
pub(super) type KAut = Zeroizing<[u8; 32]>;

impl Keys {
    /// Of CK' and IK'. The identity is the IMSI's digits, whatever the UE has shown (TS 33.501, F.3).
    pub fn new(prime: &PrimeKeys, imsi: &str) -> Self {
        let material = material(prime, imsi.as_bytes());
        let part = |at: usize| {
            let mut octets = Zeroizing::new([0; 32]);
            octets.copy_from_slice(&material[at..at + 32]);
            octets
        };
        Self {
            k_aut: part(K_AUT_AT),
            kausf: Kausf::new(*part(EMSK_AT)),
        }
    }
}

/// MK: PRF'(IK' | CK', "EAP-AKA'" | identity).
pub(super) fn material(prime: &PrimeKeys, identity: &[u8]) -> Zeroizing<[u8; MATERIAL]> {
    let mut key = Zeroizing::new([0; 32]);
    key[..16].copy_from_slice(&prime[16..]);
    key[16..].copy_from_slice(&prime[..16]);
    let mut material = Zeroizing::new([0; MATERIAL]);
    let mut before = Zeroizing::new([0; 32]);
    for (number, octets) in (1u8..).zip(material.chunks_mut(32)) {
        let last = if number == 1 { &[][..] } else { &before[..] };
        let next = hmac_sha256(&*key, &[last, b"EAP-AKA'", identity, &[number]]);
        *before = next;
        octets.copy_from_slice(&next[..octets.len()]);
    }
    material
}
