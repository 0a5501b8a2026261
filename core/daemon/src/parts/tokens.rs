//! Access tokens of a program: keys of core.yaml by which its NRF signs them, and its services check them.

use crate::config::{CoreConfig, TokensSection};
use crate::needs::{StartError, problem};
use sluice_bus_http2::{Guard, Issuer, Wallet};
use sluice_nrf::{OtherKey, Sign, Signer};
use sluice_sbi_keys::{FileError, SigningKey, Verifier, Watched};
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// Keys as they are to be.
const EXPECTED: &str = "keys (PEM) of P-256 or RSA, as sluice certificates makes them; those that sign for this user alone";

/// Whether services of a core want tokens.
pub(crate) fn are_required(config: &CoreConfig) -> bool {
    let tokens = config.sbi.tokens.as_ref();
    tokens.is_some_and(|tokens| tokens.public.is_some())
}

/// A file of keys that cannot be used.
pub(crate) fn lack(why: &FileError) -> StartError {
    problem(0, "sbi.tokens", why.to_string(), EXPECTED).into()
}

/// Problems of key files, if any.
pub(crate) fn check(config: &CoreConfig) -> Option<StartError> {
    let opened = open(config).map(|_| ()).and_then(|()| signer(config));
    opened.err().map(|why| lack(&why))
}

/// Rules for those that ask a program, and tokens that it asks others with.
///
/// # Errors
/// A file of keys cannot be used.
pub(crate) fn open(config: &CoreConfig) -> Result<(Guard, Option<Wallet>), FileError> {
    let mut guard = Guard::default();
    let Some(tokens) = &config.sbi.tokens else {
        return Ok((guard, None));
    };
    if let Some(public) = &tokens.public {
        let verifier = Verifier::open(&public.value)?;
        guard.require(verifier, issuer(config, tokens), tokens.relays.clone());
        if tokens.any_audience {
            guard.take_empty_audience();
        }
    }
    Ok((guard, tokens.ask.then(|| Wallet::new(Instant::now()))))
}

/// NRF whose tokens are taken.
fn issuer(config: &CoreConfig, tokens: &TokensSection) -> Issuer {
    match (&tokens.issuer, &config.sbi.nrf) {
        (Some(issuer), _) => Issuer::One(issuer.clone()),
        (None, Some(_)) => Issuer::Any,
        (None, None) => Issuer::Own,
    }
}

/// Keys by which an NRF signs tokens; none of one that gives out none.
///
/// # Errors
/// A file of keys cannot be used.
pub(crate) fn signer(config: &CoreConfig) -> Result<Option<Signer>, FileError> {
    let Some(tokens) = &config.sbi.tokens else {
        return Ok(None);
    };
    let Some(key) = &tokens.key else {
        return Ok(None);
    };
    let other = tokens.rs512.as_ref().map(|(key, targets)| {
        let key = FileKey::open(&key.value)?;
        let targets = targets.clone();
        Ok(OtherKey {
            key: Box::new(key),
            targets,
        })
    });
    Ok(Some(Signer {
        key: Box::new(FileKey::open(&key.value)?),
        other: other.transpose()?,
    }))
}

/// Key of a file, which is read again when it changes.
struct FileKey(Mutex<Watched<SigningKey>>);

impl FileKey {
    fn open(file: &Path) -> Result<Self, FileError> {
        Watched::open(file, SigningKey::read).map(|key| Self(key.into()))
    }
}

impl Sign for FileKey {
    fn algorithm(&self) -> &'static str {
        let mut key = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match key.look() {
            Ok(false) => {}
            Ok(true) => tracing::info!("access tokens are signed with another key"),
            Err(why) => tracing::warn!("access tokens are signed with the key of before: {why}"),
        }
        key.value().algorithm().name()
    }

    fn sign(&self, octets: &[u8]) -> Option<Vec<u8>> {
        let key = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        key.value().sign(octets)
    }
}
