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
    /// Access tokens; none where nobody asks for them.
    pub tokens: Option<TokensSection>,
}

/// Access tokens (TS 33.501, 13.4.1).
#[derive(Clone, PartialEq, Debug)]
pub struct TokensSection {
    /// Whether functions ask for tokens, and send them.
    pub ask: bool,
    /// Public keys of the NRF (PEM), by which the services of this core's programs check tokens; without them they want none.
    pub public: Option<At<PathBuf>>,
    /// Key by which this core's NRF signs tokens (PEM), which nobody else may read.
    pub key: Option<At<PathBuf>>,
    /// Key for producers that check no other algorithm (RSA), and their types or instances.
    pub rs512: Option<(At<PathBuf>, Vec<String>)>,
    /// Instance of the NRF whose tokens are taken, where that is not of this core.
    pub issuer: Option<String>,
    /// Instances whose certificates may show tokens of others: an SCP, or a SEPP.
    pub relays: Vec<String>,
    /// Whether a token with an empty audience is for every producer.
    pub any_audience: bool,
}

impl TokensSection {
    fn read(fields: &mut Fields<'_, '_>) -> Self {
        let ask = fields.or("ask", "true", &boolean()).value;
        let public = fields.optional("public", &kinds::file());
        let key = fields.optional("key", &kinds::file());
        let rs512_key = fields.optional("rs512_key", &kinds::file());
        let rs512_for = fields.list("rs512_for", &producer());
        let issuer = fields.optional("issuer", &instance());
        let relays = fields.list("relays", &instance());
        let any_audience = fields.or("any_audience", "false", &boolean()).value;
        if rs512_key.is_some() == rs512_for.is_empty() {
            let (line, key) = (fields.line(), fields.key("rs512_key"));
            let what = "a key for no producers, or producers without a key";
            let expected = "both rs512_key and rs512_for, or neither";
            fields.report().problem(line, key, what, expected);
        }
        let rs512_for = rs512_for.into_iter().map(|at| at.value).collect();
        Self {
            ask,
            public,
            key,
            rs512: rs512_key.map(|key| (key, rs512_for)),
            issuer: issuer.map(|at| at.value),
            relays: relays.into_iter().map(|at| at.value).collect(),
            any_audience,
        }
    }
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
        let keys = [
            "listen",
            "cleartext",
            "nrf",
            "scp",
            "scp_discovers",
            "tls",
            "tokens",
        ];
        let is_given = keys.iter().any(|key| fields.has(key));
        let listen = fields.or("listen", "127.0.0.1:7777", &address());
        let cleartext = fields.or("cleartext", "false", &boolean());
        let nrf = fields.optional("nrf", &root());
        let scp = fields.optional("scp", &root());
        let scp_discovers = fields.or("scp_discovers", "false", &boolean());
        let tls = fields.optional_section("tls", TlsSection::read);
        let tokens = fields.optional_section("tokens", |f| Some(TokensSection::read(f)));
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
            tokens,
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

/// NF instance.
fn instance() -> Kind<String> {
    let expected = "an NF instance, such as 28a54496-eabf-41f1-a832-337339e9d41f";
    Kind::new(expected, |text| {
        sluice_services::values::instance(text).map(|instance| instance.to_string())
    })
}

/// Type of an NF, or an NF instance.
fn producer() -> Kind<String> {
    let expected = "a type such as AMF, or an NF instance";
    Kind::new(expected, |text| {
        let is_type = |text: &str| {
            let is_letter = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
            !text.is_empty() && text.chars().all(is_letter)
        };
        let instance = sluice_services::values::instance(text);
        let of_instance = instance.map(|instance| instance.to_string());
        of_instance.or_else(|| is_type(text).then(|| text.to_owned()))
    })
}
