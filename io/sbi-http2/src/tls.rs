//! TLS 1.3 with certificates of both sides (TS 33.210, 6.2; TS 33.501, 13.1): files of an operator, read anew when they change.

use std::cell::RefCell;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::version::TLS13;
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use x509_parser::extensions::GeneralName;

use crate::counters::Tally;
use crate::inbox::Inbox;

/// HTTP/2 in the negotiation of protocols (RFC 7301).
const ALPN: &[u8] = b"h2";

/// Files of TLS, all PEM.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TlsFiles {
    /// Own certificate, then those between it and the authority's.
    pub certificate: PathBuf,
    /// Private key of it; no other user may read it.
    pub key: PathBuf,
    /// Certificates of the authorities that peers' certificates come from.
    pub authorities: PathBuf,
}

/// File that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// Reading fails.
    #[error("cannot read {}: {why}", file.display())]
    Read {
        /// File.
        file: PathBuf,
        /// Reason.
        why: String,
    },
    /// Other users can read the private key.
    #[error("{} can be read by others (mode {mode:03o}); chmod 600 takes that away", file.display())]
    Mode {
        /// File.
        file: PathBuf,
        /// Mode of the file.
        mode: u32,
    },
    /// The content does not fit.
    #[error("cannot use {}: {why}", file.display())]
    Use {
        /// File.
        file: PathBuf,
        /// Reason.
        why: String,
    },
}

/// TLS of both sides.
pub(crate) struct Tls {
    files: TlsFiles,
    now: RefCell<Now>,
}

struct Now {
    stamps: [Option<Stamp>; 3],
    sides: Sides,
}

/// TLS as a server and as a client.
#[derive(Clone)]
pub(crate) struct Sides {
    pub(crate) server: Arc<ServerConfig>,
    pub(crate) client: Arc<ClientConfig>,
}

/// A file that differs in this has changed.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Stamp {
    inode: u64,
    octets: u64,
    changed: (i64, i64),
    mode: u32,
}

impl Tls {
    pub(crate) fn new(files: TlsFiles) -> Result<Self, TlsError> {
        let stamps = stamps(&files);
        let sides = read(&files)?;
        let now = RefCell::new(Now { stamps, sides });
        Ok(Self { files, now })
    }

    /// TLS by the files as they are now. Files that changed and cannot be used leave everything as it was.
    pub(crate) fn now(&self, inbox: &Inbox, tally: &Tally) -> Sides {
        let mut now = self.now.borrow_mut();
        let stamps = stamps(&self.files);
        if stamps != now.stamps {
            now.stamps = stamps;
            match read(&self.files) {
                Ok(sides) => {
                    now.sides = sides;
                    tally.tls_renewals.add();
                    inbox.set_trouble(None);
                }
                Err(e) => {
                    tally.tls_renewals_failed.add();
                    inbox.set_trouble(Some(e.to_string()));
                }
            }
        }
        now.sides.clone()
    }
}

/// NF instance of a certificate: the UUID of a URI `urn:uuid:` among its alternative names.
pub(crate) fn instance_of(certificate: &CertificateDer<'_>) -> Option<String> {
    let (_, read) = x509_parser::parse_x509_certificate(certificate).ok()?;
    let names = read.subject_alternative_name().ok()??;
    let mut uris = names
        .value
        .general_names
        .iter()
        .filter_map(|name| match name {
            GeneralName::URI(uri) => {
                let (scheme, uuid) = uri.split_at_checked("urn:uuid:".len())?;
                scheme.eq_ignore_ascii_case("urn:uuid:").then_some(uuid)
            }
            _ => None,
        });
    uris.next().map(str::to_owned)
}

fn stamps(files: &TlsFiles) -> [Option<Stamp>; 3] {
    [&files.certificate, &files.key, &files.authorities].map(|file| {
        let stamp = |data: Metadata| Stamp {
            inode: data.ino(),
            octets: data.len(),
            changed: (data.mtime(), data.mtime_nsec()),
            mode: data.mode(),
        };
        fs::metadata(file).ok().map(stamp)
    })
}

fn read(files: &TlsFiles) -> Result<Sides, TlsError> {
    let chain = certificates(&files.certificate)?;
    let key = key(&files.key)?;
    let mut roots = RootCertStore::empty();
    for root in certificates(&files.authorities)? {
        roots
            .add(root)
            .map_err(|e| unusable(&files.authorities, &e))?;
    }
    let roots = Arc::new(roots);
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let server = server(files, &provider, &roots, chain.clone(), key.clone_key())?;
    let client = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&TLS13])
        .map_err(|e| unusable(&files.certificate, &e))?
        .with_root_certificates(roots)
        .with_client_auth_cert(chain, key);
    let mut client = client.map_err(|e| unusable(&files.certificate, &e))?;
    client.alpn_protocols = vec![ALPN.to_vec()];
    let server = Arc::new(server);
    let client = Arc::new(client);
    Ok(Sides { server, client })
}

fn server(
    files: &TlsFiles,
    provider: &Arc<CryptoProvider>,
    roots: &Arc<RootCertStore>,
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
) -> Result<ServerConfig, TlsError> {
    let verifier =
        WebPkiClientVerifier::builder_with_provider(Arc::clone(roots), Arc::clone(provider))
            .build()
            .map_err(|e| unusable(&files.authorities, &e))?;
    let server = ServerConfig::builder_with_provider(Arc::clone(provider))
        .with_protocol_versions(&[&TLS13])
        .map_err(|e| unusable(&files.certificate, &e))?
        .with_client_cert_verifier(verifier)
        .with_single_cert(chain, key);
    let mut server = server.map_err(|e| unusable(&files.certificate, &e))?;
    server.alpn_protocols = vec![ALPN.to_vec()];
    Ok(server)
}

fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let text = fs::read(file).map_err(|e| unreadable(file, &e))?;
    let all: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
    let all = all.map_err(|e| unusable(file, &e))?;
    if all.is_empty() {
        return Err(unusable(file, &"there is no certificate in it"));
    }
    Ok(all)
}

fn key(file: &Path) -> Result<PrivateKeyDer<'static>, TlsError> {
    let mode = fs::metadata(file).map_err(|e| unreadable(file, &e))?.mode() & 0o777;
    if mode & 0o077 != 0 {
        let file = file.to_owned();
        return Err(TlsError::Mode { file, mode });
    }
    let text = fs::read(file).map_err(|e| unreadable(file, &e))?;
    PrivateKeyDer::from_pem_slice(&text).map_err(|e| unusable(file, &e))
}

fn unreadable(file: &Path, why: &io::Error) -> TlsError {
    TlsError::Read {
        file: file.to_owned(),
        why: why.to_string(),
    }
}

fn unusable(file: &Path, why: &dyn std::fmt::Display) -> TlsError {
    TlsError::Use {
        file: file.to_owned(),
        why: why.to_string(),
    }
}
