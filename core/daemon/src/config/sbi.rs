//! Section `sbi`: addresses of service-based interfaces, for `wiring.transport: http2`.

use super::kinds;
use sluice_program::config::fields::{At, Fields};
use sluice_program::config::kind::{Kind, boolean};
use std::net::SocketAddr;
use std::path::PathBuf;

/// Service-based interfaces of the programs of a core.
#[derive(Clone, PartialEq, Debug)]
pub struct SbiSection {
    /// Address of the core's own program; that of each other without `sbi` has the next port.
    pub listen: At<SocketAddr>,
    /// HTTP/2 without TLS (h2c).
    pub cleartext: bool,
    /// API root of an NRF that is not of this core.
    pub nrf: Option<At<String>>,
    /// Certificates; none with `cleartext`.
    pub tls: Option<TlsSection>,
}

/// Files of TLS.
#[derive(Clone, PartialEq, Debug)]
pub struct TlsSection {
    /// Certificate chain of this host's programs (PEM).
    pub certificate: At<PathBuf>,
    /// Key of it (PEM), which nobody else may read.
    pub key: At<PathBuf>,
    /// Authorities of which others have theirs (PEM).
    pub authority: At<PathBuf>,
}

impl TlsSection {
    fn read(fields: &mut Fields<'_, '_>) -> Option<Self> {
        let certificate = fields.required("certificate", &kinds::file());
        let key = fields.required("key", &kinds::file());
        let authority = fields.required("authority", &kinds::file());
        Some(Self {
            certificate: certificate?,
            key: key?,
            authority: authority?,
        })
    }
}

impl SbiSection {
    pub(super) fn read(fields: &mut Fields<'_, '_>, is_http2: bool) -> Self {
        let is_given = ["listen", "cleartext", "nrf", "tls"]
            .iter()
            .any(|key| fields.has(key));
        let listen = fields.or("listen", "127.0.0.1:7777", &address());
        let cleartext = fields.or("cleartext", "false", &boolean());
        let nrf = fields.optional("nrf", &root());
        let tls = fields.optional_section("tls", TlsSection::read);
        let line = fields.line();
        let mut problem = |line, what: &str, expected: &str| {
            let key = "sbi".to_owned();
            fields.report().problem(line, key, what, expected);
        };
        match (is_http2, cleartext.value, tls.is_some()) {
            (false, ..) if is_given => {
                let expected = "wiring.transport: http2, or no sbi";
                problem(line, "given for functions that have no HTTP", expected);
            }
            (true, false, false) => {
                let expected = "sbi.tls, or cleartext: true on a network of the core's own";
                problem(line, "services by HTTP have no certificates", expected);
            }
            (true, true, true) => {
                problem(
                    cleartext.line,
                    "cleartext, and certificates",
                    "one of the two",
                );
            }
            _ => {}
        }
        Self {
            listen,
            cleartext: cleartext.value,
            nrf,
            tls,
        }
    }

    /// Address of the program of this number, which has none of its own: the ports follow that of the core's own program.
    pub fn address_of(&self, program: usize) -> SocketAddr {
        let mut address = self.listen.value;
        let offset = u16::try_from(program).unwrap_or(u16::MAX).saturating_add(1);
        address.set_port(address.port().saturating_add(offset));
        address
    }

    /// API root of a server.
    pub fn root(&self, address: SocketAddr) -> String {
        let scheme = match self.cleartext {
            true => "http",
            false => "https",
        };
        format!("{scheme}://{address}")
    }
}

/// Address of a server, which others are told.
pub(super) fn address() -> Kind<SocketAddr> {
    let expected = "ADDRESS:PORT by which others reach it, such as 127.0.0.1:7777";
    Kind::new(expected, |text| {
        let address: SocketAddr = text.parse().ok()?;
        (address.port() != 0 && !address.ip().is_unspecified()).then_some(address)
    })
}

/// API root of a server.
fn root() -> Kind<String> {
    let expected = "an API root, such as http://127.0.0.10:8000";
    Kind::new(expected, |text| {
        let rest = text
            .strip_prefix("http://")
            .or_else(|| text.strip_prefix("https://"))?;
        let is_root = !rest.is_empty() && !rest.contains(['/', '?', '#', ' ', '@']);
        is_root.then(|| text.to_owned())
    })
}
