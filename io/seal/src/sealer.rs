//! Records at rest: XChaCha20-Poly1305, a nonce of 192 random bits for each, and the name of its place as
//! associated data, so that no record can be put into another's place.

use std::io;

use chacha20poly1305::aead::{AeadInOut, KeyInit};
use chacha20poly1305::{Tag, XChaCha20Poly1305, XNonce};
use hmac::{Hmac, Mac as _};
use sha2::Sha256;
use zeroize::Zeroizing;

use crate::key_file::{StoreKey, random};

const NONCE: usize = 24;
const TAG: usize = 16;

/// Encrypts and decrypts records.
#[derive(Clone)]
pub struct Sealer(XChaCha20Poly1305);

impl std::fmt::Debug for Sealer {
    /// Without its key.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Sealer")
    }
}

impl Sealer {
    /// With this key.
    pub fn new(key: &StoreKey) -> Self {
        Self(XChaCha20Poly1305::new(key.octets().into()))
    }

    /// Nonce, secret encrypted, tag. `place` names where it lies.
    ///
    /// # Errors
    /// The kernel has no random numbers, or the secret is longer than the cipher takes (256 GiB).
    pub fn seal(&self, place: &[u8], secret: &[u8]) -> io::Result<Vec<u8>> {
        let mut nonce = [0; NONCE];
        random(&mut nonce)?;
        let mut sealed = Vec::with_capacity(NONCE + secret.len() + TAG);
        sealed.extend_from_slice(&nonce);
        sealed.extend_from_slice(secret);
        let hidden = sealed.get_mut(NONCE..).unwrap_or_default();
        let tag = self
            .0
            .encrypt_inout_detached(&XNonce::from(nonce), place, hidden.into())
            .map_err(|_| io::Error::other("too long to be encrypted"))?;
        sealed.extend_from_slice(&tag);
        Ok(sealed)
    }

    /// What was sealed for this place with this key; none if anything of it is another's or changed.
    pub fn open<const N: usize>(&self, place: &[u8], sealed: &[u8]) -> Option<Zeroizing<[u8; N]>> {
        let opened = self.open_any(place, sealed)?;
        let mut secret = Zeroizing::new([0; N]);
        (opened.len() == N).then(|| secret.copy_from_slice(&opened))?;
        Some(secret)
    }

    /// The same for secrets of any length.
    pub fn open_any(&self, place: &[u8], sealed: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
        let (nonce, rest) = sealed.split_first_chunk::<NONCE>()?;
        let (hidden, tag) = rest.split_last_chunk::<TAG>()?;
        let mut secret = Zeroizing::new(hidden.to_vec());
        let (nonce, tag) = (XNonce::from(*nonce), Tag::from(*tag));
        let hidden = secret.as_mut_slice().into();
        let opened = self.0.decrypt_inout_detached(&nonce, place, hidden, &tag);
        opened.ok().map(|()| secret)
    }
}

/// Names that tell nothing of what they name to whoever lacks the key: HMAC-SHA-256, the first half.
#[derive(Clone)]
pub struct NameKey(Hmac<Sha256>);

impl std::fmt::Debug for NameKey {
    /// Without its key.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("NameKey")
    }
}

impl NameKey {
    /// With this key, which nothing else may use.
    pub fn new(key: &StoreKey) -> Self {
        // A key of the block's length or shorter is taken as it is (RFC 2104, 2).
        let mut block = Zeroizing::new([0; 64]);
        block[..32].copy_from_slice(key.octets());
        Self(Hmac::new(&(*block).into()))
    }

    /// The name that stands for another.
    pub fn of(&self, name: &[u8]) -> [u8; 16] {
        let mut mac = self.0.clone();
        mac.update(name);
        let whole = mac.finalize().into_bytes();
        std::array::from_fn(|at| whole[at])
    }
}

impl StoreKey {
    /// A key of its own for each use of one key file (HMAC-SHA-256 of what it is used for).
    #[must_use]
    pub fn derived(&self, used_for: &str) -> Self {
        let mut mac = NameKey::new(self).0;
        mac.update(used_for.as_bytes());
        Self::new(mac.finalize().into_bytes().into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_opens_in_its_row_with_its_key_alone() {
        let sealer = Sealer::new(&StoreKey::new([1; 32]));
        let sealed = sealer.seal(b"imsi-1", &[7; 32]).unwrap();
        assert_eq!(
            sealer.open::<32>(b"imsi-1", &sealed).as_deref(),
            Some(&[7; 32])
        );
        assert!(sealer.open::<32>(b"imsi-2", &sealed).is_none());
        assert!(sealer.open::<16>(b"imsi-1", &sealed).is_none());
        let other = Sealer::new(&StoreKey::new([2; 32]));
        assert!(other.open::<32>(b"imsi-1", &sealed).is_none());
        for at in 0..sealed.len() {
            let mut changed = sealed.clone();
            changed[at] ^= 1;
            assert!(sealer.open::<32>(b"imsi-1", &changed).is_none(), "{at}");
            assert!(
                sealer.open::<32>(b"imsi-1", &sealed[..at]).is_none(),
                "{at}"
            );
        }
        // Each time with another nonce.
        assert_ne!(sealer.seal(b"imsi-1", &[7; 32]).unwrap(), sealed);
    }

    /// The vector of draft-irtf-cfrg-xchacha-03, A.3.1, by octets of another implementation.
    #[test]
    fn the_cipher_is_the_one_of_its_description() {
        let mut key = [0; 32];
        key.iter_mut()
            .zip(0x80..)
            .for_each(|(octet, value)| *octet = value);
        let mut nonce = [0; NONCE];
        nonce
            .iter_mut()
            .zip(0x40..)
            .for_each(|(octet, value)| *octet = value);
        let aad = [
            0x50, 0x51, 0x52, 0x53, 0xc0, 0xc1, 0xc2, 0xc3, 0xc4, 0xc5, 0xc6, 0xc7,
        ];
        let mut text = *b"Ladies and Gentlemen of the class of '99: If I could offer you \
only one tip for the future, sunscreen would be it.";
        let sealer = Sealer::new(&StoreKey::new(key));
        let tag = sealer
            .0
            .encrypt_inout_detached(&XNonce::from(nonce), &aad, text.as_mut_slice().into())
            .unwrap();
        assert_eq!(text[..4], [0xbd, 0x6d, 0x17, 0x9d]);
        let expected = [
            0xc0, 0x87, 0x59, 0x24, 0xc1, 0xc7, 0x98, 0x79, 0x47, 0xde, 0xaf, 0xd8, 0x78, 0x0a,
            0xcf, 0x49,
        ];
        assert_eq!(tag[..], expected);
    }

    /// Octets by another implementation (Python's).
    #[test]
    fn names_are_of_their_key_and_keys_of_their_use() {
        let key = StoreKey::new([7; 32]);
        let names = NameKey::new(&key);
        let hex = |octets: &[u8]| crate::hex::write(octets);
        assert_eq!(
            hex(&names.of(b"amf/ue/1")),
            "775dde00b0bc604fbf1fb4c8d644ebe7"
        );
        assert_ne!(names.of(b"amf/ue/1"), names.of(b"amf/ue/2"));
        let (one, two) = (key.derived("names"), key.derived("values"));
        assert_ne!(one.octets(), two.octets());
        assert_eq!(
            hex(one.octets()),
            "75567afe0d26bf32b411a8d90a1b053af938bb60770e5291aa607358bf164a4f"
        );
    }
}
