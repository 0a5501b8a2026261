//! Keys of a benchmark: an authority, a certificate that names all functions, and the key of access tokens, as files that
//! programs read.

use std::fs::{self, Permissions};
use std::net::Ipv4Addr;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, SanType};
use sluice_nrf::{Sign, Signer};
use sluice_sbi::{Nf, NfInstance};
use sluice_sbi_http2::TlsFiles;
use sluice_sbi_keys::{SigningKey, Verifier};
use tempfile::TempDir;

use super::told;
use crate::Failure;

/// Identity of a function.
pub fn instance(nf: Nf) -> NfInstance {
    NfInstance::of([nf as u8 + 1; 16])
}

/// Folder of the files.
pub struct Keys(TempDir);

impl Keys {
    pub fn new() -> Result<Self, Failure> {
        let keys = Self(tempfile::tempdir().map_err(told)?);
        for (name, text) in texts().map_err(told)? {
            let path = keys.path(name);
            fs::write(&path, text).map_err(told)?;
            fs::set_permissions(&path, Permissions::from_mode(0o600)).map_err(told)?;
        }
        Ok(keys)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn tls(&self) -> TlsFiles {
        TlsFiles {
            certificate: self.path("core.pem"),
            key: self.path("core.key"),
            authorities: self.path("ca.pem"),
        }
    }

    /// Signs tokens of an NRF.
    pub fn signer(&self) -> Result<Signer, Failure> {
        Ok(Signer {
            key: Box::new(Key::read(&self.path("token.key"))?),
            other: None,
        })
    }

    /// Checks them.
    pub fn verifier(&self) -> Result<Verifier, Failure> {
        Verifier::open(&self.path("token.pem")).map_err(told)
    }
}

fn texts() -> Result<[(&'static str, String); 5], rcgen::Error> {
    let mut params = CertificateParams::new(Vec::new())?;
    let name = &mut params.distinguished_name;
    name.push(DnType::CommonName, "Authority of a benchmark");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate()?)?;
    let mut params = CertificateParams::new(Vec::new())?;
    params.subject_alt_names = vec![SanType::IpAddress(Ipv4Addr::LOCALHOST.into())];
    for nf in Nf::ALL {
        let uri = format!("urn:uuid:{}", instance(nf));
        let uri = uri.as_str().try_into()?;
        params.subject_alt_names.push(SanType::URI(uri));
    }
    let (own, token) = (KeyPair::generate()?, KeyPair::generate()?);
    Ok([
        ("ca.pem", authority.pem()),
        ("core.pem", params.signed_by(&own, &authority)?.pem()),
        ("core.key", own.serialize_pem()),
        ("token.key", token.serialize_pem()),
        ("token.pem", token.public_key_pem()),
    ])
}

struct Key(SigningKey);

impl Key {
    fn read(file: &Path) -> Result<Self, Failure> {
        SigningKey::read(file).map(Self).map_err(told)
    }
}

impl Sign for Key {
    fn algorithm(&self) -> &'static str {
        self.0.algorithm().name()
    }

    fn sign(&self, octets: &[u8]) -> Option<Vec<u8>> {
        self.0.sign(octets)
    }
}
