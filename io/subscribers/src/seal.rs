//! Keys at rest: XChaCha20-Poly1305, a nonce of 192 random bits for each row, and the name of the row as
//! associated data, so that no row's key can be put into another.

use std::io;

use chacha20poly1305::aead::{AeadInOut, KeyInit};
use chacha20poly1305::{Tag, XChaCha20Poly1305, XNonce};
use zeroize::Zeroizing;

use crate::key_file::{StoreKey, random};

const NONCE: usize = 24;
const TAG: usize = 16;

/// Encrypts and decrypts rows.
#[derive(Clone)]
pub(crate) struct Sealer(XChaCha20Poly1305);

impl Sealer {
    pub(crate) fn new(key: &StoreKey) -> Self {
        Self(XChaCha20Poly1305::new(key.octets().into()))
    }

    /// Nonce, secret encrypted, tag. `row` names the row.
    pub(crate) fn seal(&self, row: &str, secret: &[u8]) -> io::Result<Vec<u8>> {
        let mut nonce = [0; NONCE];
        random(&mut nonce)?;
        let mut hidden = secret.to_vec();
        let nonce = XNonce::from(nonce);
        let tag = self
            .0
            .encrypt_inout_detached(&nonce, row.as_bytes(), hidden.as_mut_slice().into())
            .map_err(|_| io::Error::other("too long to be encrypted"))?;
        Ok([&nonce[..], &hidden, &tag[..]].concat())
    }

    /// What was sealed for this row with this key; none if anything of it is another's or changed.
    pub(crate) fn open<const N: usize>(
        &self,
        row: &str,
        sealed: &[u8],
    ) -> Option<Zeroizing<[u8; N]>> {
        let (nonce, rest) = sealed.split_first_chunk::<NONCE>()?;
        let (hidden, tag) = rest.split_last_chunk::<TAG>()?;
        let mut secret = Zeroizing::new(<[u8; N]>::try_from(hidden).ok()?);
        let (nonce, tag) = (XNonce::from(*nonce), Tag::from(*tag));
        let opened = self.0.decrypt_inout_detached(
            &nonce,
            row.as_bytes(),
            secret.as_mut_slice().into(),
            &tag,
        );
        opened.ok().map(|()| secret)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_opens_in_its_row_with_its_key_alone() {
        let sealer = Sealer::new(&StoreKey::new([1; 32]));
        let sealed = sealer.seal("imsi-1", &[7; 32]).unwrap();
        assert_eq!(
            sealer.open::<32>("imsi-1", &sealed).as_deref(),
            Some(&[7; 32])
        );
        assert!(sealer.open::<32>("imsi-2", &sealed).is_none());
        assert!(sealer.open::<16>("imsi-1", &sealed).is_none());
        let other = Sealer::new(&StoreKey::new([2; 32]));
        assert!(other.open::<32>("imsi-1", &sealed).is_none());
        for at in 0..sealed.len() {
            let mut changed = sealed.clone();
            changed[at] ^= 1;
            assert!(sealer.open::<32>("imsi-1", &changed).is_none(), "{at}");
            assert!(sealer.open::<32>("imsi-1", &sealed[..at]).is_none(), "{at}");
        }
        // Each time with another nonce.
        assert_ne!(sealer.seal("imsi-1", &[7; 32]).unwrap(), sealed);
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
}
