//! TLS 1.3 with certificates of both sides (TS 33.210, 6.2; TS 33.501, 13.1): files of an operator, read anew when they change.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::version::TLS13;
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use sluice_sbi_keys::{FileError, Stamp};

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

impl TlsFiles {
    /// TLS as these files have it now, for programs that open connections themselves.
    ///
    /// # Errors
    /// A file cannot be used.
    pub fn sides(&self) -> Result<Sides, FileError> {
        read(self)
    }
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
#[derive(Clone, Debug)]
pub struct Sides {
    /// Server that wants certificates of its peers.
    pub server: Arc<ServerConfig>,
    /// Client that shows its certificate.
    pub client: Arc<ClientConfig>,
}

impl Tls {
    pub(crate) fn new(files: TlsFiles) -> Result<Self, FileError> {
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

fn stamps(files: &TlsFiles) -> [Option<Stamp>; 3] {
    [&files.certificate, &files.key, &files.authorities].map(|file| Stamp::of(file))
}

fn read(files: &TlsFiles) -> Result<Sides, FileError> {
    let chain = certificates(&files.certificate)?;
    let key = key(&files.key)?;
    let mut roots = RootCertStore::empty();
    for root in certificates(&files.authorities)? {
        roots
            .add(root)
            .map_err(|e| FileError::unusable(&files.authorities, &e))?;
    }
    let roots = Arc::new(roots);
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let server = server(files, &provider, &roots, chain.clone(), key.clone_key())?;
    let client = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&TLS13])
        .map_err(|e| FileError::unusable(&files.certificate, &e))?
        .with_root_certificates(roots)
        .with_client_auth_cert(chain, key);
    let mut client = client.map_err(|e| FileError::unusable(&files.certificate, &e))?;
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
) -> Result<ServerConfig, FileError> {
    let verifier =
        WebPkiClientVerifier::builder_with_provider(Arc::clone(roots), Arc::clone(provider))
            .build()
            .map_err(|e| FileError::unusable(&files.authorities, &e))?;
    let server = ServerConfig::builder_with_provider(Arc::clone(provider))
        .with_protocol_versions(&[&TLS13])
        .map_err(|e| FileError::unusable(&files.certificate, &e))?
        .with_client_cert_verifier(verifier)
        .with_single_cert(chain, key);
    let mut server = server.map_err(|e| FileError::unusable(&files.certificate, &e))?;
    server.alpn_protocols = vec![ALPN.to_vec()];
    Ok(server)
}

fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, FileError> {
    let text = sluice_sbi_keys::read(file)?;
    let all: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
    let all = all.map_err(|e| FileError::unusable(file, &e))?;
    if all.is_empty() {
        return Err(FileError::unusable(file, &"there is no certificate in it"));
    }
    Ok(all)
}

fn key(file: &Path) -> Result<PrivateKeyDer<'static>, FileError> {
    let text = sluice_sbi_keys::read_secret(file)?;
    PrivateKeyDer::from_pem_slice(&text).map_err(|e| FileError::unusable(file, &e))
}
