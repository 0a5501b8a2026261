//! TLS with certificates of both sides: who is let in, what a certificate says of its owner, and files that change.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, SanType};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use sluice_sbi_http2::{Config, Event, Failure, Http, Limits, TlsFiles};
use tempfile::TempDir;

use crate::frames::Hand;
use crate::support::{Answering, ask, counted, get, next, response, start, start_with};

const AMF: &str = "4ece6a3c-1b2a-4d5e-8f00-0123456789ab";
const SMF: &str = "5ece6a3c-1b2a-4d5e-8f00-0123456789ab";

struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).expect("no names");
        let name = &mut params.distinguished_name;
        name.push(DnType::CommonName, "Authority");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        Self(CertifiedIssuer::self_signed(params, key).expect("a certificate"))
    }

    /// Puts certificate, key and this authority into a folder.
    fn issue(&self, folder: &Path, instance: &str) -> TlsFiles {
        let mut params = CertificateParams::new(Vec::new()).expect("no names");
        let uri = format!("urn:uuid:{instance}");
        let name = &mut params.distinguished_name;
        name.push(DnType::CommonName, instance);
        params.subject_alt_names = vec![
            SanType::IpAddress(Ipv4Addr::LOCALHOST.into()),
            SanType::URI("https://elsewhere".try_into().expect("a URI")),
            SanType::URI(uri.as_str().try_into().expect("a URI")),
        ];
        let key = KeyPair::generate().expect("a key");
        let certificate = params.signed_by(&key, &self.0).expect("a certificate");
        let files = TlsFiles {
            certificate: folder.join("certificate.pem"),
            key: folder.join("key.pem"),
            authorities: folder.join("authorities.pem"),
        };
        // The key comes last: before it, certificate and key do not fit.
        fs::write(&files.authorities, self.0.pem()).expect("a file");
        fs::write(&files.certificate, certificate.pem()).expect("a file");
        fs::write(&files.key, key.serialize_pem()).expect("a file");
        set_mode(&files.key, 0o600);
        files
    }
}

fn set_mode(file: &Path, mode: u32) {
    fs::set_permissions(file, fs::Permissions::from_mode(mode)).expect("own file");
}

/// Folder and files of a function.
fn issued(authority: &Authority, instance: &str) -> (TempDir, TlsFiles) {
    let folder = tempfile::tempdir().expect("a folder");
    let files = authority.issue(folder.path(), instance);
    (folder, files)
}

fn function(authority: &Authority, instance: &str) -> (TempDir, Http) {
    let (folder, files) = issued(authority, instance);
    (folder, start_with(Limits::default(), Some(files)))
}

fn root(server: &Http) -> String {
    format!("https://{}", server.address())
}

/// One request with an answer; says who asked.
fn served(client: &mut Http, server: &mut Http) -> Option<String> {
    let until = Instant::now() + Duration::from_secs(10);
    client.call(1, &root(server), get("/"), until);
    let Event::Request { exchange, peer, .. } = next(server) else {
        panic!("no request")
    };
    server.answer(exchange, response(200, ""));
    match next(client) {
        Event::Response { .. } => peer.instances?.first().cloned(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn both_sides_show_certificates_and_the_server_knows_the_instance() {
    let authority = Authority::new();
    let (_amf, mut amf) = function(&authority, AMF);
    let (_smf, mut smf) = function(&authority, SMF);
    assert_eq!(served(&mut amf, &mut smf).as_deref(), Some(AMF));
    assert_eq!(served(&mut smf, &mut amf).as_deref(), Some(SMF));
    // The same port speaks nothing in the clear.
    let clear = Hand::connect(Ipv4Addr::LOCALHOST, &smf.address().to_string(), &[]);
    assert_eq!(clear.end(), None);
    counted(&smf, |counters| counters.tls_refused == 1);
    // Functions without TLS are called by one that has it.
    let mut plain = start(Limits::default());
    let until = Instant::now() + Duration::from_secs(10);
    amf.call(1, &format!("http://{}", plain.address()), get("/"), until);
    assert!(matches!(next(&mut plain), Event::Request { peer, .. } if peer.instances.is_none()));
}

#[test]
fn certificates_of_another_authority_are_refused_on_both_sides() {
    let (ours, other) = (Authority::new(), Authority::new());
    let (_server, server) = function(&ours, SMF);
    let (folder, files) = issued(&other, AMF);
    let mut client = start_with(Limits::default(), Some(files.clone()));
    let failed = ask(&mut client, &root(&server), get("/")).expect_err("unknown to the client");
    assert!(matches!(failed, Failure::Connect { .. }), "{failed}");
    assert!(
        failed.to_string().contains("invalid peer certificate"),
        "{failed}"
    );
    // Now the client knows the server, and still not the other way round.
    fs::write(&files.authorities, ours.0.pem()).expect("a file");
    let failed = ask(&mut client, &root(&server), get("/")).expect_err("unknown to the server");
    assert!(matches!(failed, Failure::Lost { .. }), "{failed}");
    let counters = counted(&server, |counters| counters.tls_refused >= 2);
    assert_eq!(counters.requests, 0);
    drop(folder);
}

#[test]
fn a_client_without_a_certificate_is_refused() {
    let authority = Authority::new();
    let (_folder, server) = function(&authority, SMF);
    let mut roots = rustls::RootCertStore::empty();
    let text = authority.0.pem();
    let known = CertificateDer::from_pem_slice(text.as_bytes()).expect("a certificate");
    roots.add(known).expect("an authority");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec()];
    let name = ServerName::from(std::net::IpAddr::from(Ipv4Addr::LOCALHOST));
    let tls = rustls::ClientConnection::new(Arc::new(config), name).expect("a client");
    let tcp = TcpStream::connect(server.address()).expect("a server");
    let mut stream = rustls::StreamOwned::new(tls, tcp);
    let _ = stream.write_all(crate::frames::PREFACE);
    let error = stream.read(&mut [0; 1]).expect_err("refused");
    assert!(error.to_string().contains("CertificateRequired"), "{error}");
    counted(&server, |counters| counters.tls_refused == 1);
}

/// Nothing is computed for a peer that does not begin, nor is its place kept.
#[test]
fn handshakes_that_do_not_begin_end_in_time() {
    let authority = Authority::new();
    let (_folder, files) = issued(&authority, SMF);
    let limits = Limits {
        half_open: Duration::from_millis(200),
        connections_per_peer: 2,
        ..Limits::default()
    };
    let mut server = start_with(limits, Some(files));
    let address = server.address().to_string();
    let silent = Hand::connect_only(Ipv4Addr::new(127, 0, 0, 2), &address);
    let slow = Hand::connect_only(Ipv4Addr::new(127, 0, 0, 2), &address);
    let third = Hand::connect_only(Ipv4Addr::new(127, 0, 0, 2), &address);
    assert_eq!(third.end(), None);
    let (_client, mut client) = function(&authority, AMF);
    assert!(served(&mut client, &mut server).is_some());
    assert_eq!((silent.end(), slow.end()), (None, None));
    let counters = counted(&server, |counters| counters.half_open == 2);
    assert_eq!(counters.peer_connections_refused, 1);
}

fn refused(files: TlsFiles) -> String {
    let config = Config {
        listen: "127.0.0.1:0".parse().expect("an address"),
        agent: "AMF".to_owned(),
        limits: Limits::default(),
        tls: Some(files),
    };
    let error = Http::start(config).err().expect("a file that is wrong");
    error.to_string()
}

#[test]
fn files_that_cannot_be_used_are_named() {
    let authority = Authority::new();
    let (folder, files) = issued(&authority, AMF);
    let key = files.key.display().to_string();
    for mode in [0o640, 0o604] {
        set_mode(&files.key, mode);
        let text = refused(files.clone());
        let wanted =
            format!("{key} can be read by others (mode {mode:03o}); chmod 600 takes that away");
        assert_eq!(text, wanted);
    }
    set_mode(&files.key, 0o400);
    let missing = TlsFiles {
        certificate: folder.path().join("nothing.pem"),
        ..files.clone()
    };
    assert!(refused(missing).contains("nothing.pem"));
    let (_other, other) = issued(&authority, SMF);
    let mixed = TlsFiles {
        certificate: other.certificate,
        ..files.clone()
    };
    assert!(refused(mixed).starts_with("cannot use "));
    fs::write(&files.authorities, "nothing\n").expect("a file");
    let text = refused(files);
    assert!(
        text.ends_with("authorities.pem: there is no certificate in it"),
        "{text}"
    );
}

/// An authority ends and another follows it: connections after that know the new one alone, without a new start.
#[test]
fn files_that_change_are_used_for_the_next_connection() {
    let (old, new) = (Authority::new(), Authority::new());
    let (folder, files) = issued(&old, SMF);
    let mut server = start_with(Limits::default(), Some(files.clone()));
    let (_before, mut before) = function(&old, AMF);
    assert!(served(&mut before, &mut server).is_some());
    // Half a change leaves everything as it was, and says so.
    fs::write(&files.certificate, "-----BEGIN").expect("a file");
    let (_again, mut again) = function(&old, AMF);
    assert!(served(&mut again, &mut server).is_some());
    let trouble = server.tls_trouble().expect("a wrong file");
    assert!(trouble.contains("certificate.pem"), "{trouble}");
    new.issue(folder.path(), SMF);
    let (_after, mut after) = function(&new, AMF);
    assert_eq!(served(&mut after, &mut server).as_deref(), Some(AMF));
    assert_eq!(server.tls_trouble(), None);
    let counters = server.counters();
    assert_eq!(
        (counters.tls_renewals, counters.tls_renewals_failed),
        (1, 1)
    );
    let (_late, mut late) = function(&old, AMF);
    let failed = ask(&mut late, &root(&server), get("/")).expect_err("another authority");
    assert!(matches!(failed, Failure::Connect { .. }), "{failed}");
    // A connection that was there goes on.
    assert!(served(&mut before, &mut server).is_some());
    assert_eq!(before.counters().connections_opened, 1);
}

/// OpenSSL judges TLS.
#[test]
fn curl_with_a_certificate_is_served() {
    let authority = Authority::new();
    let (_server, server) = function(&authority, SMF);
    let (_client, files) = issued(&authority, AMF);
    let address = server.address();
    let answering = Answering::start(server, |_| Some(response(200, "answer")));
    let curl = Command::new("curl")
        .args(["--silent", "--show-error", "--max-time", "20", "--tlsv1.3"])
        .args(["--write-out", " %{http_version} %{http_code}", "--cacert"])
        .arg(&files.authorities)
        .arg("--cert")
        .arg(&files.certificate)
        .arg("--key")
        .arg(&files.key)
        .arg(format!("https://{address}/"))
        .output();
    let Ok(curl) = curl else {
        eprintln!("skipped: there is no curl");
        return;
    };
    let text = String::from_utf8_lossy(&curl.stdout);
    let errors = String::from_utf8_lossy(&curl.stderr);
    assert_eq!(text, "answer 2 200", "{errors}");
    answering.end();
}
