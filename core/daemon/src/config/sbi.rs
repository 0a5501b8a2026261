//! Section `sbi`: addresses of service-based interfaces, for `wiring.transport: http2`.

use super::{WiringSection, kinds};
use sluice_bus_local::Carrier;
use sluice_program::config::fields::{At, Fields};
use sluice_program::config::kind::{Kind, boolean};
use sluice_sbi::Nf;
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
    /// API root of an SCP that requests go to.
    pub scp: Option<At<String>>,
    /// Whether the SCP asks the NRF for their receivers (model D), or this core does (model C).
    pub scp_discovers: bool,
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
    pub(super) fn read(fields: &mut Fields<'_, '_>, wiring: &WiringSection) -> Self {
        let is_http2 = wiring.carrier == Some(Carrier::Http2);
        let is_given = ["listen", "cleartext", "nrf", "scp", "tls"]
            .iter()
            .any(|key| fields.has(key));
        let listen = fields.or("listen", "127.0.0.1:7777", &address());
        let cleartext = fields.or("cleartext", "false", &boolean());
        let nrf = fields.optional("nrf", &root());
        let scp = fields.optional("scp", &root());
        let scp_discovers = fields.or("scp_discovers", "false", &boolean());
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
        match (&nrf, wiring.is_other(Nf::Nrf)) {
            (Some(nrf), false) if is_http2 => {
                let what = "the NRF is of another core by sbi.nrf, and of this one by wiring";
                problem(nrf.line, what, "nrf in wiring.others, too");
            }
            (None, true) => {
                let what = "the NRF is of another core, and its address is not told";
                problem(line, what, "sbi.nrf, such as http://127.0.0.10:8000");
            }
            _ => {}
        }
        if scp_discovers.value && scp.is_none() {
            let what = "an SCP is to discover functions, and its address is not told";
            problem(
                scp_discovers.line,
                what,
                "sbi.scp, such as http://127.0.0.200:7777",
            );
        }
        Self {
            listen,
            cleartext: cleartext.value,
            nrf,
            scp,
            scp_discovers: scp_discovers.value,
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
