//! Section `metrics`: the Prometheus exporter.

use super::fields::Fields;
use super::kind::Kind;
use core::net::SocketAddr;

/// Where metrics are served.
#[derive(Clone, PartialEq, Debug)]
pub struct Metrics {
    /// The address; none: nowhere.
    pub listen: Option<SocketAddr>,
    /// The line of it.
    pub line: u32,
    /// The file says so: what cannot be had is an error and not a warning.
    pub is_given: bool,
}

impl Metrics {
    /// Reads the section.
    pub(super) fn read(fields: &mut Fields<'_, '_>) -> Self {
        let is_given = fields.has("listen");
        let listen = fields.or("listen", "127.0.0.1:9469", &place());
        if let Some(address) = listen.value
            && !address.ip().is_loopback()
        {
            let key = fields.key("listen");
            let what =
                format!("whoever reaches {address} can read the metrics, without a password");
            let expected = "an address of the loopback, or a firewall";
            fields.report().warning(listen.line, key, what, expected);
        }
        Self {
            listen: listen.value,
            line: listen.line,
            is_given,
        }
    }
}

fn place() -> Kind<Option<SocketAddr>> {
    let expected = "none, or ADDRESS:PORT such as 127.0.0.1:9469";
    Kind::new(expected, |text| match text {
        "none" => Some(None),
        text => {
            let address: SocketAddr = text.parse().ok()?;
            (address.port() != 0).then_some(Some(address))
        }
    })
}
