//! `sluice certificates`: a laboratory's authority, and certificates of network functions (TS 33.310, 6.1.3c), made offline.

use clap::Args;
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, SanType,
};
use sluice_program::exit::Exit;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::net::IpAddr;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use time::{Duration, OffsetDateTime};
use x509_parser::extensions::GeneralName;
use x509_parser::pem::parse_x509_pem;

/// Arguments of `sluice certificates`.
#[derive(Clone, Debug, Args)]
pub struct CertificatesArgs {
    /// Folder of the files; an authority that is there goes on
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Address or name by which others reach the program; may be given again
    #[arg(long = "host", value_name = "HOST", default_value = "127.0.0.1")]
    hosts: Vec<String>,
    /// Days for which certificates count
    #[arg(long, value_name = "DAYS", default_value_t = 365, value_parser = clap::value_parser!(u16).range(1..=3650))]
    days: u16,
    /// Names of certificates
    #[arg(value_name = "NAME", default_value = "core", value_parser = name)]
    names: Vec<String>,
}

/// Shown by `sluice certificates --help`.
pub const EXAMPLES: &str = "\
Examples:
  sluice certificates --out /etc/sluice/tls                       ca.pem, core.pem and core.key
  sluice certificates --out tls --host 10.0.0.7 nrf udm           one each for the programs of NRF and UDM
  sluice certificates --out tls --days 30 nrf                     renewed: the program that uses it reads it again

Each certificate names an NF instance (urn:uuid:), which it keeps when it is renewed. This is for
laboratories: the authority's key lies beside its certificates.";

fn name(text: &str) -> Result<String, String> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '-';
    match !text.is_empty() && text != "ca" && text.chars().all(is_part) {
        true => Ok(text.to_owned()),
        false => Err("expected letters, digits and hyphens, and not ca".to_owned()),
    }
}

/// Writes the files.
pub fn run(args: &CertificatesArgs) -> Exit {
    match make(args) {
        Ok(written) => {
            for path in written {
                println!("{}", path.display());
            }
            Exit::Done
        }
        Err(why) => {
            eprintln!("{why}");
            Exit::Lacking
        }
    }
}

fn make(args: &CertificatesArgs) -> Result<Vec<PathBuf>, String> {
    fs::create_dir_all(&args.out).map_err(|e| format!("{}: {e}", args.out.display()))?;
    let (authority, mut written) = authority(&args.out, args.days)?;
    for name in &args.names {
        let paths = ["pem", "key"].map(|kind| args.out.join(format!("{name}.{kind}")));
        let [certificate, key] = &paths;
        let instance = instance_of(certificate);
        // NfInstanceId is a UUID of version 4 (TS 29.571, 5.3.2).
        let instance = instance.unwrap_or_else(|| uuid::Uuid::new_v4().to_string());
        let (pem, secret) = certificate_of(args, name, &instance, &authority)?;
        // The key first: a program that reads both at once finds a pair, or looks again.
        put(key, &secret, 0o600)?;
        put(certificate, &pem, 0o644)?;
        written.extend(paths);
    }
    Ok(written)
}

/// The authority of a folder, which is made if it is not there, and what was written.
fn authority(folder: &Path, days: u16) -> Result<(Issuer<'static, KeyPair>, Vec<PathBuf>), String> {
    let paths = ["ca.pem", "ca.key"].map(|name| folder.join(name));
    let [certificate, key] = &paths;
    let failed = |path: &Path, e: &dyn std::fmt::Display| format!("{}: {e}", path.display());
    if certificate.exists() || key.exists() {
        let pem = fs::read_to_string(certificate).map_err(|e| failed(certificate, &e))?;
        let secret = fs::read_to_string(key).map_err(|e| failed(key, &e))?;
        let secret = KeyPair::from_pem(&secret).map_err(|e| failed(key, &e))?;
        let issuer = Issuer::from_ca_cert_pem(&pem, secret);
        return Ok((issuer.map_err(|e| failed(certificate, &e))?, Vec::new()));
    }
    let made = || -> Result<_, rcgen::Error> {
        let secret = KeyPair::generate()?;
        // It outlives what it signs.
        let mut params = parameters("Sluice laboratory", days.saturating_mul(2))?;
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let signed = params.self_signed(&secret)?;
        Ok((signed.pem(), secret, params))
    };
    let (pem, secret, params) = made().map_err(|e| e.to_string())?;
    put(key, &secret.serialize_pem(), 0o600)?;
    put(certificate, &pem, 0o644)?;
    Ok((Issuer::new(params, secret), paths.into()))
}

/// Parameters of a certificate that counts from yesterday, since clocks differ.
fn parameters(name: &str, days: u16) -> Result<CertificateParams, rcgen::Error> {
    let mut params = CertificateParams::new(Vec::new())?;
    params.distinguished_name.push(DnType::CommonName, name);
    let now = OffsetDateTime::now_utc();
    params.not_before = now - Duration::DAY;
    params.not_after = now + Duration::days(days.into());
    Ok(params)
}

/// Certificate and key of a name, as PEM.
fn certificate_of(
    args: &CertificatesArgs,
    name: &str,
    instance: &str,
    authority: &Issuer<'_, KeyPair>,
) -> Result<(String, String), String> {
    let host = |host: &String| match host.parse::<IpAddr>() {
        Ok(address) => Ok(SanType::IpAddress(address)),
        Err(_) => {
            let text = host.as_str().try_into();
            let wrong = |_| format!("--host {host}: expected an address, or a name of a host");
            text.map(SanType::DnsName).map_err(wrong)
        }
    };
    let hosts: Result<Vec<SanType>, String> = args.hosts.iter().map(host).collect();
    let hosts = hosts?;
    let made = || -> Result<_, rcgen::Error> {
        let secret = KeyPair::generate()?;
        let mut params = parameters(name, args.days)?;
        params.subject_alt_names = hosts;
        let uri = format!("urn:uuid:{instance}").as_str().try_into()?;
        params.subject_alt_names.push(SanType::URI(uri));
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![
            ExtendedKeyUsagePurpose::ServerAuth,
            ExtendedKeyUsagePurpose::ClientAuth,
        ];
        params.use_authority_key_identifier_extension = true;
        Ok((
            params.signed_by(&secret, authority)?.pem(),
            secret.serialize_pem(),
        ))
    };
    made().map_err(|e| format!("{name}: {e}"))
}

/// NF instance that a certificate names; none if there is no such certificate.
fn instance_of(path: &Path) -> Option<String> {
    let pem = fs::read(path).ok()?;
    let (_, pem) = parse_x509_pem(&pem).ok()?;
    let certificate = pem.parse_x509().ok()?;
    let names = certificate.subject_alternative_name().ok()??;
    names.value.general_names.iter().find_map(|one| match one {
        GeneralName::URI(uri) => uri.strip_prefix("urn:uuid:").map(str::to_owned),
        _ => None,
    })
}

/// Writes a file beside its place, then moves it there: nobody reads half of it.
fn put(path: &Path, text: &str, mode: u32) -> Result<(), String> {
    let beside = path.with_extension("new");
    let written = || -> std::io::Result<()> {
        let _ = fs::remove_file(&beside);
        let mut options = OpenOptions::new();
        let mut file = options
            .write(true)
            .create_new(true)
            .mode(mode)
            .open(&beside)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&beside, path)
    };
    written().map_err(|e| format!("{}: {e}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    fn arguments(folder: &Path, names: &[&str]) -> CertificatesArgs {
        CertificatesArgs {
            out: folder.to_owned(),
            hosts: vec!["127.0.0.1".to_owned(), "nrf.example".to_owned()],
            days: 30,
            names: names.iter().map(|name| (*name).to_owned()).collect(),
        }
    }

    #[test]
    fn a_certificate_is_renewed_by_the_same_authority_and_keeps_its_instance() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let read = |name: &str| fs::read_to_string(path(name)).unwrap();
        let written = make(&arguments(folder.path(), &["nrf", "udm"])).unwrap();
        assert_eq!(written.len(), 6);
        for (name, mode) in [("ca.key", 0o600), ("nrf.key", 0o600), ("nrf.pem", 0o644)] {
            let metadata = fs::metadata(path(name)).unwrap();
            assert_eq!(metadata.permissions().mode() & 0o777, mode, "{name}");
        }
        let (authority, before) = (read("ca.pem"), read("nrf.pem"));
        let instance = instance_of(&path("nrf.pem")).unwrap();
        assert_ne!(Some(&instance), instance_of(&path("udm.pem")).as_ref());
        assert_eq!(make(&arguments(folder.path(), &["nrf"])).unwrap().len(), 2);
        assert_eq!(read("ca.pem"), authority);
        assert_ne!(read("nrf.pem"), before);
        assert_eq!(instance_of(&path("nrf.pem")), Some(instance));
    }

    #[test]
    fn what_cannot_be_used_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let mut wrong = arguments(folder.path(), &["nrf"]);
        wrong.hosts = vec!["n\u{e4}me".to_owned()];
        let why = make(&wrong).unwrap_err();
        assert!(why.contains("--host n\u{e4}me"), "{why}");
        fs::write(folder.path().join("ca.key"), "none").unwrap();
        let why = make(&arguments(folder.path(), &["nrf"])).unwrap_err();
        assert!(why.contains("ca.key"), "{why}");
        assert!(name("ca").is_err() && name("a/b").is_err() && name("").is_err());
    }
}
