//! Concealment of a SUPI for its home network (TS 33.501, Annex C): null scheme, profiles A and B.
//!
//! The ephemeral key is the caller's: it must be random and used once.

use std::fmt;

use aes::Aes128;
use ctr::cipher::{KeyIvInit, StreamCipher};
use hmac::{Hmac, KeyInit, Mac};
use p256::elliptic_curve::sec1::ToSec1Point;
use sha2::{Digest, Sha256};
use sluice_ids::{Plmn, Suci, Supi, msin_digits, msin_octets};
use zeroize::{Zeroize, Zeroizing};

const MAC: usize = 8;

/// Protection schemes.
const NULL: u8 = 0;
const PROFILE_A: u8 = 1;
const PROFILE_B: u8 = 2;

/// Octets of an ephemeral public key.
const POINT_A: usize = 32;
const POINT_B: usize = 33;

/// A private key of the home network.
#[derive(Clone)]
pub enum HomeKey {
    /// X25519.
    A(x25519_dalek::StaticSecret),
    /// secp256r1.
    B(p256::SecretKey),
}

impl HomeKey {
    /// A key of profile A.
    pub fn profile_a(octets: [u8; 32]) -> Self {
        Self::A(octets.into())
    }

    /// A key of profile B; none if the octets are no scalar of the curve.
    pub fn profile_b(octets: [u8; 32]) -> Option<Self> {
        p256::SecretKey::from_slice(&octets).ok().map(Self::B)
    }

    /// The secret, for a program of the same core.
    pub fn secret(&self) -> [u8; 32] {
        match self {
            Self::A(secret) => secret.to_bytes(),
            Self::B(secret) => secret.to_bytes().into(),
        }
    }

    /// Public key, which the SIM stores.
    pub fn public(&self) -> HomePublicKey {
        match self {
            Self::A(secret) => HomePublicKey::A(x25519_dalek::PublicKey::from(secret)),
            Self::B(secret) => HomePublicKey::B(secret.public_key()),
        }
    }
}

impl fmt::Debug for HomeKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::A(_) => "HomeKey(A)",
            Self::B(_) => "HomeKey(B)",
        })
    }
}

/// A public key of the home network.
#[derive(Clone, Debug)]
pub enum HomePublicKey {
    /// X25519.
    A(x25519_dalek::PublicKey),
    /// secp256r1.
    B(p256::PublicKey),
}

impl HomePublicKey {
    /// Of profile A; all octets are a key.
    pub fn profile_a(octets: [u8; 32]) -> Self {
        Self::A(octets.into())
    }

    /// Of profile B, a point of secp256r1, compressed or not (SEC 1, 2.3.3); none if it is no point.
    pub fn profile_b(octets: &[u8]) -> Option<Self> {
        p256::PublicKey::from_sec1_bytes(octets).ok().map(Self::B)
    }

    /// The key's octets: 32 of profile A, a compressed point of 33 of profile B.
    pub fn octets(&self) -> Vec<u8> {
        match self {
            Self::A(key) => key.as_bytes().to_vec(),
            Self::B(key) => key.to_sec1_point(true).as_bytes().to_vec(),
        }
    }
}

/// Why a SUCI tells nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unreadable {
    /// The scheme or the key is not one of ours.
    Key,
    /// Too short, or no digits.
    Form,
    /// The ephemeral key is no point that may be used.
    Point,
    /// The SUCI was changed, or concealed with another key.
    Mac,
}

/// A SUCI that conceals nothing.
pub fn unconcealed(home: Plmn, msin: &str) -> Option<Suci> {
    Suci::new(home, NULL, 0, &msin_octets(msin))
}

/// Conceals an MSIN with a fresh ephemeral key of 32 random octets; none if they are no key, or the
/// MSIN has too many digits.
pub fn conceal(
    home: Plmn,
    msin: &str,
    key_id: u8,
    key: &HomePublicKey,
    ephemeral: [u8; 32],
) -> Option<Suci> {
    let (scheme, point, shared) = match key {
        HomePublicKey::A(key) => {
            let secret = x25519_dalek::StaticSecret::from(ephemeral);
            let point = x25519_dalek::PublicKey::from(&secret);
            let shared = secret.diffie_hellman(key);
            (
                PROFILE_A,
                point.as_bytes().to_vec(),
                Zeroizing::new(*shared.as_bytes()),
            )
        }
        HomePublicKey::B(key) => {
            let secret = p256::SecretKey::from_slice(&ephemeral).ok()?;
            let point = secret.public_key().to_sec1_point(true).as_bytes().to_vec();
            (PROFILE_B, point, shared_b(&secret, key))
        }
    };
    let keys = Keys::new(&shared, &point);
    let mut hidden = msin_octets(msin);
    keys.cipher(&mut hidden);
    let mac = keys.mac(&hidden);
    Suci::new(home, scheme, key_id, &[&point[..], &hidden, &mac].concat())
}

/// The SUPI that a SUCI conceals, by the key that it names. `keys` finds a key by its identifier.
pub fn deconceal<'a>(
    suci: &Suci,
    keys: impl FnOnce(u8) -> Option<&'a HomeKey>,
) -> Result<Supi, Unreadable> {
    let msin = match suci.scheme {
        NULL => Zeroizing::new(suci.output().to_vec()),
        PROFILE_A | PROFILE_B => open(suci, keys(suci.key_id).ok_or(Unreadable::Key)?)?,
        _ => return Err(Unreadable::Key),
    };
    let digits = Zeroizing::new(msin_digits(&msin).ok_or(Unreadable::Form)?);
    Supi::from_msin(suci.home, &digits).ok_or(Unreadable::Form)
}

fn open(suci: &Suci, key: &HomeKey) -> Result<Zeroizing<Vec<u8>>, Unreadable> {
    let point_length = match (key, suci.scheme) {
        (HomeKey::A(_), PROFILE_A) => POINT_A,
        (HomeKey::B(_), PROFILE_B) => POINT_B,
        _ => return Err(Unreadable::Key),
    };
    let output = suci.output();
    // At least one octet is concealed.
    if output.len() <= point_length + MAC {
        return Err(Unreadable::Form);
    }
    let (point, rest) = output.split_at(point_length);
    let (hidden, mac) = rest.split_at(rest.len() - MAC);
    let keys = Keys::new(&*shared_with(key, point)?, point);
    let mut state = keys.mac_state();
    state.update(hidden);
    state
        .verify_truncated_left(mac)
        .map_err(|_| Unreadable::Mac)?;
    let mut msin = Zeroizing::new(hidden.to_vec());
    keys.cipher(&mut msin);
    Ok(msin)
}

/// The secret that both have; the ephemeral key of profile B must be compressed (TS 33.501, C.3.4.2).
fn shared_with(key: &HomeKey, point: &[u8]) -> Result<Zeroizing<[u8; 32]>, Unreadable> {
    match key {
        HomeKey::A(secret) => {
            let point: [u8; POINT_A] = point.try_into().map_err(|_| Unreadable::Point)?;
            let shared = secret.diffie_hellman(&point.into());
            // A point of small order gives the same secret to everyone.
            let is_secret = shared.was_contributory();
            is_secret
                .then(|| Zeroizing::new(*shared.as_bytes()))
                .ok_or(Unreadable::Point)
        }
        HomeKey::B(secret) => {
            let is_compressed = matches!(point.first(), Some(2 | 3));
            let point = p256::PublicKey::from_sec1_bytes(point)
                .ok()
                .filter(|_| is_compressed);
            Ok(shared_b(secret, &point.ok_or(Unreadable::Point)?))
        }
    }
}

fn shared_b(secret: &p256::SecretKey, point: &p256::PublicKey) -> Zeroizing<[u8; 32]> {
    let shared = p256::ecdh::diffie_hellman(secret.to_nonzero_scalar(), point.as_affine());
    let mut octets = Zeroizing::new([0; 32]);
    octets.copy_from_slice(shared.raw_secret_bytes().as_slice());
    octets
}

/// Keys of one concealment: of ciphering (16 octets), counter block (16) and MAC (32).
struct Keys([u8; 64]);

impl Keys {
    /// ANSI X9.63 KDF with SHA-256 over the shared secret and the ephemeral public key.
    fn new(shared: &[u8; 32], point: &[u8]) -> Self {
        let mut octets = [0; 64];
        for (half, counter) in octets.chunks_mut(32).zip(1u32..) {
            let digest = Sha256::new()
                .chain_update(shared)
                .chain_update(counter.to_be_bytes())
                .chain_update(point);
            half.copy_from_slice(&digest.finalize());
        }
        Self(octets)
    }

    /// AES-128 in counter mode; the counter is the block's last 32 bits.
    fn cipher(&self, octets: &mut [u8]) {
        let (mut key, mut block) = ([0; 16], [0; 16]);
        key.copy_from_slice(&self.0[..16]);
        block.copy_from_slice(&self.0[16..32]);
        ctr::Ctr32BE::<Aes128>::new(&key.into(), &block.into()).apply_keystream(octets);
        key.zeroize();
    }

    fn mac_state(&self) -> Hmac<Sha256> {
        let mut key = [0; 32];
        key.copy_from_slice(&self.0[32..]);
        // A key of the block's length or shorter is taken as it is.
        let mut block = [0; 64];
        block[..32].copy_from_slice(&key);
        key.zeroize();
        Hmac::new(&block.into())
    }

    fn mac(&self, octets: &[u8]) -> [u8; MAC] {
        let mut state = self.mac_state();
        state.update(octets);
        let tag = state.finalize().into_bytes();
        std::array::from_fn(|at| tag[at])
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

#[cfg(test)]
mod tests;
