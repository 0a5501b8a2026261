//! NF instances of a certificate: UUIDs of the URIs `urn:uuid:` among its alternative names (TS 33.310, 6.1.3c.3).

use std::path::Path;

use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject as _;
use x509_parser::extensions::GeneralName;

use crate::file::{FileError, read};

const SCHEME: &str = "urn:uuid:";

/// NF instances of a certificate (DER) in its order, in lower case. A program with several functions has one that names
/// them all.
pub fn instances_of(certificate: &[u8]) -> Vec<String> {
    let Ok((_, read)) = x509_parser::parse_x509_certificate(certificate) else {
        return Vec::new();
    };
    let Ok(Some(names)) = read.subject_alternative_name() else {
        return Vec::new();
    };
    let names = names.value.general_names.iter();
    let uuids = names.filter_map(|name| match name {
        GeneralName::URI(uri) => {
            let (scheme, uuid) = uri.split_at_checked(SCHEME.len())?;
            let is_uuid = scheme.eq_ignore_ascii_case(SCHEME);
            is_uuid.then(|| uuid.to_ascii_lowercase())
        }
        _ => None,
    });
    uuids.collect()
}

/// NF instances of the first certificate of a file (PEM).
///
/// # Errors
/// There is none in it.
pub fn instances_in_file(file: &Path) -> Result<Vec<String>, FileError> {
    let text = read(file)?;
    let certificate = CertificateDer::from_pem_slice(&text);
    let certificate = certificate.map_err(|e| FileError::unusable(file, &e))?;
    Ok(instances_of(&certificate))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rcgen::{CertificateParams, KeyPair, SanType};

    #[test]
    fn all_instances_of_a_certificate_are_known_in_their_order() {
        let mut params = CertificateParams::new(Vec::new()).expect("no names");
        let uris = [
            "urn:uuid:5ece6a3c-1b2a-4d5e-8f00-0123456789ab",
            "https://elsewhere",
            "URN:UUID:4ECE6A3C-1b2a-4d5e-8f00-0123456789ab",
        ];
        let uris = uris.map(|uri| SanType::URI(uri.try_into().expect("a URI")));
        params.subject_alt_names = uris.into();
        let key = KeyPair::generate().expect("a key");
        let certificate = params.self_signed(&key).expect("a certificate");
        let expected = [
            "5ece6a3c-1b2a-4d5e-8f00-0123456789ab",
            "4ece6a3c-1b2a-4d5e-8f00-0123456789ab",
        ];
        assert_eq!(instances_of(certificate.der()), expected);
        assert!(instances_of(b"none").is_empty());
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("certificate.pem");
        std::fs::write(&file, certificate.pem()).expect("a file");
        assert_eq!(
            instances_in_file(&file).as_deref(),
            Ok(&expected.map(str::to_owned)[..])
        );
        std::fs::write(&file, "none").expect("a file");
        instances_in_file(&file).expect_err("no certificate");
    }
}
