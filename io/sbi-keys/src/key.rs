//! Keys of access tokens: ES256 (ECDSA with P-256 and SHA-256), and RS512 for producers that check nothing else (RFC 7518, 3).

use std::fmt;
use std::path::Path;

use ring::rand::SystemRandom;
use ring::rsa;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair,
    RSA_PKCS1_2048_8192_SHA512, RSA_PKCS1_SHA512, UnparsedPublicKey,
};
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{PrivateKeyDer, SubjectPublicKeyInfoDer};
use x509_parser::prelude::FromDer as _;
use x509_parser::public_key::PublicKey as Parsed;
use x509_parser::x509::SubjectPublicKeyInfo;

use crate::file::{FileError, read, read_secret};

/// Octets of a point of P-256 that is not compressed (SEC 1, 2.3.3).
const P256_POINT: usize = 65;

/// Algorithm of a signature.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Algorithm {
    /// ECDSA with P-256 and SHA-256.
    Es256,
    /// RSASSA-PKCS1-v1_5 with SHA-512.
    Rs512,
}

impl Algorithm {
    /// Name in the header of a token.
    pub fn name(self) -> &'static str {
        match self {
            Self::Es256 => "ES256",
            Self::Rs512 => "RS512",
        }
    }

    /// Algorithm of a name.
    pub fn of(name: &str) -> Option<Self> {
        let mut all = [Self::Es256, Self::Rs512].into_iter();
        all.find(|one| one.name() == name)
    }
}

/// Private key of an NRF.
pub struct SigningKey(Pair);

enum Pair {
    Ec(Box<EcdsaKeyPair>),
    Rsa(Box<rsa::KeyPair>),
}

impl fmt::Debug for SigningKey {
    /// Nothing of the key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SigningKey({})", self.algorithm().name())
    }
}

impl SigningKey {
    /// Of a file (PEM) that its owner alone may read: of P-256 (PKCS #8), or RSA with at least 2,048 bits.
    ///
    /// # Errors
    /// The file cannot be read, others may read it, or there is no such key in it.
    pub fn read(file: &Path) -> Result<Self, FileError> {
        let text = read_secret(file)?;
        let key = PrivateKeyDer::from_pem_slice(&text);
        let key = key.map_err(|e| FileError::unusable(file, &e))?;
        let pair = match &key {
            PrivateKeyDer::Pkcs8(key) => {
                let der = key.secret_pkcs8_der();
                let random = SystemRandom::new();
                let ec = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, der, &random);
                let rsa = || rsa::KeyPair::from_pkcs8(der).map(|rsa| Pair::Rsa(rsa.into()));
                ec.map(|ec| Pair::Ec(ec.into())).or_else(|_| rsa())
            }
            PrivateKeyDer::Pkcs1(key) => {
                let rsa = rsa::KeyPair::from_der(key.secret_pkcs1_der());
                rsa.map(|rsa| Pair::Rsa(rsa.into()))
            }
            _ => return Err(FileError::unusable(file, &"expected PKCS #8")),
        };
        let none = "expected a key of P-256 (PKCS #8), or of RSA with 2,048 bits or more";
        let pair = pair.map_err(|e| FileError::unusable(file, &format!("{e}: {none}")));
        pair.map(Self)
    }

    /// Algorithm of its signatures.
    pub fn algorithm(&self) -> Algorithm {
        match self.0 {
            Pair::Ec(_) => Algorithm::Es256,
            Pair::Rsa(_) => Algorithm::Rs512,
        }
    }

    /// Signature as JWS has it; none if the machine has no random numbers.
    pub fn sign(&self, octets: &[u8]) -> Option<Vec<u8>> {
        let random = SystemRandom::new();
        match &self.0 {
            Pair::Ec(pair) => Some(pair.sign(&random, octets).ok()?.as_ref().to_vec()),
            Pair::Rsa(pair) => {
                let mut signature = vec![0; pair.public().modulus_len()];
                let signed = pair.sign(&RSA_PKCS1_SHA512, &random, octets, &mut signature);
                signed.ok().map(|()| signature)
            }
        }
    }
}

/// Public keys of an NRF: the one in force, and others while one replaces another.
#[derive(Clone, PartialEq, Eq)]
pub struct PublicKeys(Vec<(Algorithm, Vec<u8>)>);

impl fmt::Debug for PublicKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.0.iter().map(|(algorithm, _)| algorithm.name());
        f.debug_list().entries(names).finish()
    }
}

impl PublicKeys {
    /// Of a file (PEM, `PUBLIC KEY`), which may have several.
    ///
    /// # Errors
    /// The file cannot be read, or has none, or one that is neither of P-256 nor of RSA.
    pub fn read(file: &Path) -> Result<Self, FileError> {
        let text = read(file)?;
        let mut keys = Vec::new();
        for one in SubjectPublicKeyInfoDer::pem_slice_iter(&text) {
            let one = one.map_err(|e| FileError::unusable(file, &e))?;
            let key = public_key(&one);
            keys.push(key.ok_or_else(|| {
                let expected = "expected public keys of P-256, or of RSA";
                FileError::unusable(file, &expected)
            })?);
        }
        if keys.is_empty() {
            return Err(FileError::unusable(file, &"there is no public key in it"));
        }
        Ok(Self(keys))
    }

    /// Whether one of them has signed so.
    pub fn verify(&self, algorithm: Algorithm, octets: &[u8], signature: &[u8]) -> bool {
        let its = self.0.iter().filter(|(one, _)| *one == algorithm);
        its.into_iter().any(|(_, key)| {
            let checked = match algorithm {
                Algorithm::Es256 => {
                    UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, key).verify(octets, signature)
                }
                Algorithm::Rs512 => UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA512, key)
                    .verify(octets, signature),
            };
            checked.is_ok()
        })
    }
}

/// Algorithm and key as it is used, of a SubjectPublicKeyInfo.
fn public_key(der: &[u8]) -> Option<(Algorithm, Vec<u8>)> {
    let (_, info) = SubjectPublicKeyInfo::from_der(der).ok()?;
    let octets = info.subject_public_key.data.to_vec();
    let algorithm = match info.parsed().ok()? {
        Parsed::EC(_) if octets.len() == P256_POINT => Algorithm::Es256,
        Parsed::RSA(_) => Algorithm::Rs512,
        _ => return None,
    };
    Some((algorithm, octets))
}
