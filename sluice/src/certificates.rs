//! `sluice certificates`: a laboratory's authority, certificates of network functions (TS 33.310, 6.1.3c), and the key of
//! access tokens, made offline.

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
    /// NF instances that each certificate names: one for each function of the programs that show it
    #[arg(long, value_name = "COUNT", default_value_t = 8, value_parser = clap::value_parser!(u8).range(1..=64))]
    instances: u8,
    /// Make another key for access tokens; producers take both until the next time
    #[arg(long)]
    new_token_key: bool,
    /// Names of certificates
    #[arg(value_name = "NAME", default_value = "core", value_parser = name)]
    names: Vec<String>,
}

/// Shown by `sluice certificates --help`.
pub const EXAMPLES: &str = "\
Examples:
  sluice certificates --out /etc/sluice/tls                       ca.pem, core.pem, core.key, token.key, token.pem
  sluice certificates --out tls --host 10.0.0.7 --instances 1 nrf one for the program of an NRF alone
  sluice certificates --out tls --days 30 --instances 1 nrf       renewed: the program that uses it reads it again
  sluice certificates --out tls --new-token-key                   another key for access tokens

Each certificate names NF instances (urn:uuid:), which it keeps when it is renewed. No certificate
outlives its authority. token.key is for the NRF (sbi.tokens.key), token.pem for producers
(sbi.tokens.public). This is for laboratories: the authority's key lies beside its certificates.";

fn name(text: &str) -> Result<String, String> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '-';
    let is_taken = matches!(text, "ca" | "token");
    match !text.is_empty() && !is_taken && text.chars().all(is_part) {
        true => Ok(text.to_owned()),
        false => Err("expected letters, digits and hyphens, and neither ca nor token".to_owned()),
    }
}

/// Files that were written, and what else there is to say.
#[derive(Default)]
struct Made {
    written: Vec<PathBuf>,
    notes: Vec<String>,
}

/// Writes the files.
pub fn run(args: &CertificatesArgs) -> Exit {
    match make(args) {
        Ok(made) => {
            for path in made.written {
                println!("{}", path.display());
            }
            for note in made.notes {
                eprintln!("{note}");
            }
            Exit::Done
        }
        Err(why) => {
            eprintln!("{why}");
            Exit::Lacking
        }
    }
}

fn make(args: &CertificatesArgs) -> Result<Made, String> {
    fs::create_dir_all(&args.out).map_err(|e| format!("{}: {e}", args.out.display()))?;
    let (authority, written) = authority(&args.out, args.days)?;
    let mut made = Made {
        written,
        notes: Vec::new(),
    };
    let ends = OffsetDateTime::now_utc() + Duration::days(args.days.into());
    for name in &args.names {
        let paths = ["pem", "key"].map(|kind| args.out.join(format!("{name}.{kind}")));
        let [certificate, key] = &paths;
        let mut instances = instances_of(certificate);
        while instances.len() < args.instances.into() {
            // NfInstanceId is a UUID of version 4 (TS 29.571, 5.3.2).
            instances.push(uuid::Uuid::new_v4().to_string());
        }
        let (pem, secret) = certificate_of(args, name, &instances, &authority)?;
        if authority.ends < ends {
            let (path, until) = (certificate.display(), authority.ends.date());
            made.notes.push(format!(
                "{path} ends with its authority on {until}, before --days {}",
                args.days
            ));
        }
        // The key first: a program that reads both at once finds a pair, or looks again.
        put(key, &secret, 0o600)?;
        put(certificate, &pem, 0o644)?;
        made.written.extend(paths);
    }
    made.written
        .extend(token_key(&args.out, args.new_token_key)?);
    Ok(made)
}

/// Key of access tokens and its public half, where they are not there or another one is wanted; the public half of before
/// stays, as there are tokens that it has signed.
fn token_key(folder: &Path, is_new: bool) -> Result<Vec<PathBuf>, String> {
    let paths = ["token.pem", "token.key"].map(|name| folder.join(name));
    let [public, key] = &paths;
    if key.exists() && public.exists() && !is_new {
        return Ok(Vec::new());
    }
    let failed = |path: &Path, e: &dyn std::fmt::Display| format!("{}: {e}", path.display());
    let public_half = |key: &Path| -> Result<Option<String>, String> {
        if !key.exists() {
            return Ok(None);
        }
        let text = fs::read_to_string(key).map_err(|e| failed(key, &e))?;
        let pair = KeyPair::from_pem(&text).map_err(|e| failed(key, &e))?;
        Ok(Some(pair.public_key_pem()))
    };
    let before = public_half(key)?;
    if let (Some(before), false) = (&before, is_new) {
        put(public, before, 0o644)?;
        return Ok(vec![public.clone()]);
    }
    let pair = KeyPair::generate().map_err(|e| e.to_string())?;
    let both = format!("{}{}", pair.public_key_pem(), before.unwrap_or_default());
    // The public half first: producers know the key before it signs.
    put(public, &both, 0o644)?;
    put(key, &pair.serialize_pem(), 0o600)?;
    Ok(paths.into())
}

/// Authority, and the end of its certificate, beyond which nothing that it signs counts.
struct Authority {
    issuer: Issuer<'static, KeyPair>,
    ends: OffsetDateTime,
}

/// The authority of a folder, which is made if it is not there, and what was written.
fn authority(folder: &Path, days: u16) -> Result<(Authority, Vec<PathBuf>), String> {
    let paths = ["ca.pem", "ca.key"].map(|name| folder.join(name));
    let [certificate, key] = &paths;
    let failed = |path: &Path, e: &dyn std::fmt::Display| format!("{}: {e}", path.display());
    if certificate.exists() || key.exists() {
        let pem = fs::read_to_string(certificate).map_err(|e| failed(certificate, &e))?;
        let secret = fs::read_to_string(key).map_err(|e| failed(key, &e))?;
        let secret = KeyPair::from_pem(&secret).map_err(|e| failed(key, &e))?;
        let issuer = Issuer::from_ca_cert_pem(&pem, secret);
        let issuer = issuer.map_err(|e| failed(certificate, &e))?;
        let ends = end_of(&pem).ok_or_else(|| failed(certificate, &"it has no end"))?;
        if ends <= OffsetDateTime::now_utc() {
            let why = format!(
                "the authority ended on {}; remove ca.pem and ca.key for a new one",
                ends.date()
            );
            return Err(failed(certificate, &why));
        }
        return Ok((Authority { issuer, ends }, Vec::new()));
    }
    let made = || -> Result<_, rcgen::Error> {
        let secret = KeyPair::generate()?;
        // It outlives what it signs now.
        let ends = OffsetDateTime::now_utc() + Duration::days(i64::from(days) * 2);
        let mut params = parameters("Sluice laboratory", ends)?;
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let signed = params.self_signed(&secret)?;
        Ok((signed.pem(), secret, params))
    };
    let (pem, secret, params) = made().map_err(|e| e.to_string())?;
    put(key, &secret.serialize_pem(), 0o600)?;
    put(certificate, &pem, 0o644)?;
    let ends = params.not_after;
    let issuer = Issuer::new(params, secret);
    Ok((Authority { issuer, ends }, paths.into()))
}

/// End of a certificate.
fn end_of(pem: &str) -> Option<OffsetDateTime> {
    let (_, pem) = parse_x509_pem(pem.as_bytes()).ok()?;
    let validity = pem.parse_x509().ok()?.validity().clone();
    OffsetDateTime::from_unix_timestamp(validity.not_after.timestamp()).ok()
}

/// Parameters of a certificate that counts from yesterday, since clocks differ.
fn parameters(name: &str, ends: OffsetDateTime) -> Result<CertificateParams, rcgen::Error> {
    let mut params = CertificateParams::new(Vec::new())?;
    params.distinguished_name.push(DnType::CommonName, name);
    params.not_before = OffsetDateTime::now_utc() - Duration::DAY;
    params.not_after = ends;
    Ok(params)
}

/// Certificate and key of a name, as PEM.
fn certificate_of(
    args: &CertificatesArgs,
    name: &str,
    instances: &[String],
    authority: &Authority,
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
        let ends = OffsetDateTime::now_utc() + Duration::days(args.days.into());
        let mut params = parameters(name, ends.min(authority.ends))?;
        params.subject_alt_names = hosts;
        for instance in instances {
            let uri = format!("urn:uuid:{instance}").as_str().try_into()?;
            params.subject_alt_names.push(SanType::URI(uri));
        }
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![
            ExtendedKeyUsagePurpose::ServerAuth,
            ExtendedKeyUsagePurpose::ClientAuth,
        ];
        params.use_authority_key_identifier_extension = true;
        Ok((
            params.signed_by(&secret, &authority.issuer)?.pem(),
            secret.serialize_pem(),
        ))
    };
    made().map_err(|e| format!("{name}: {e}"))
}

/// NF instances that a certificate names; none if there is no such certificate.
fn instances_of(path: &Path) -> Vec<String> {
    let read = || {
        let pem = fs::read(path).ok()?;
        let (_, pem) = parse_x509_pem(&pem).ok()?;
        let certificate = pem.parse_x509().ok()?;
        let names = certificate.subject_alternative_name().ok()??;
        let uuids = names
            .value
            .general_names
            .iter()
            .filter_map(|one| match one {
                GeneralName::URI(uri) => uri.strip_prefix("urn:uuid:").map(str::to_owned),
                _ => None,
            });
        Some(uuids.collect())
    };
    read().unwrap_or_default()
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
            instances: 2,
            new_token_key: false,
            names: names.iter().map(|name| (*name).to_owned()).collect(),
        }
    }

    #[test]
    fn a_certificate_is_renewed_by_the_same_authority_and_keeps_its_instance() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let read = |name: &str| fs::read_to_string(path(name)).unwrap();
        let made = make(&arguments(folder.path(), &["nrf", "udm"])).unwrap();
        assert_eq!((made.written.len(), made.notes.len()), (8, 0));
        for (name, mode) in [
            ("ca.key", 0o600),
            ("nrf.key", 0o600),
            ("nrf.pem", 0o644),
            ("token.key", 0o600),
            ("token.pem", 0o644),
        ] {
            let metadata = fs::metadata(path(name)).unwrap();
            assert_eq!(metadata.permissions().mode() & 0o777, mode, "{name}");
        }
        let (authority, before) = (read("ca.pem"), read("nrf.pem"));
        let instances = instances_of(&path("nrf.pem"));
        assert_eq!(instances.len(), 2);
        assert_ne!(instances, instances_of(&path("udm.pem")));
        let more = CertificatesArgs {
            instances: 3,
            ..arguments(folder.path(), &["nrf"])
        };
        assert_eq!(make(&more).unwrap().written.len(), 2);
        assert_eq!(read("ca.pem"), authority);
        assert_ne!(read("nrf.pem"), before);
        assert_eq!(instances_of(&path("nrf.pem"))[..2], instances);
        assert_eq!(instances_of(&path("nrf.pem")).len(), 3);
    }

    #[test]
    fn no_certificate_outlives_its_authority() {
        let folder = tempfile::tempdir().unwrap();
        make(&arguments(folder.path(), &["nrf"])).unwrap();
        let long = CertificatesArgs {
            days: 90,
            ..arguments(folder.path(), &["nrf"])
        };
        let made = make(&long).unwrap();
        assert!(
            made.notes[0].contains("nrf.pem ends with its authority"),
            "{:?}",
            made.notes
        );
        let end = |name: &str| end_of(&fs::read_to_string(folder.path().join(name)).unwrap());
        assert_eq!(end("nrf.pem"), end("ca.pem"));
        // An authority that is over signs nothing.
        let secret = KeyPair::from_pem(&fs::read_to_string(folder.path().join("ca.key")).unwrap());
        let past = OffsetDateTime::now_utc() - Duration::HOUR;
        let over = parameters("over", past)
            .unwrap()
            .self_signed(&secret.unwrap())
            .unwrap();
        fs::write(folder.path().join("ca.pem"), over.pem()).unwrap();
        let why = make(&long).err().unwrap();
        assert!(why.contains("the authority ended on"), "{why}");
    }

    #[test]
    fn another_token_key_leaves_the_public_half_of_before() {
        let folder = tempfile::tempdir().unwrap();
        let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
        make(&arguments(folder.path(), &["nrf"])).unwrap();
        let (key, public) = (read("token.key"), read("token.pem"));
        let new = CertificatesArgs {
            new_token_key: true,
            ..arguments(folder.path(), &["nrf"])
        };
        make(&new).unwrap();
        assert_ne!(read("token.key"), key);
        assert!(read("token.pem").ends_with(&public) && read("token.pem") != public);
        let second = read("token.pem").replace(&public, "");
        make(&new).unwrap();
        assert!(read("token.pem").ends_with(&second) && !read("token.pem").contains(&public));
        // A public half that was lost is made of the key.
        fs::remove_file(folder.path().join("token.pem")).unwrap();
        make(&arguments(folder.path(), &["nrf"])).unwrap();
        assert!(!read("token.pem").is_empty());
    }

    #[test]
    fn what_cannot_be_used_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let mut wrong = arguments(folder.path(), &["nrf"]);
        wrong.hosts = vec!["n\u{e4}me".to_owned()];
        let why = make(&wrong).err().unwrap();
        assert!(why.contains("--host n\u{e4}me"), "{why}");
        fs::write(folder.path().join("ca.key"), "none").unwrap();
        let why = make(&arguments(folder.path(), &["nrf"])).err().unwrap();
        assert!(why.contains("ca.key"), "{why}");
        assert!(
            name("ca").is_err()
                && name("token").is_err()
                && name("a/b").is_err()
                && name("").is_err()
        );
    }
}
