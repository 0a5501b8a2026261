//! Section `api`: the management API by HTTP.

use super::kinds;
use sluice_program::config::fields::{At, Fields};
use sluice_program::config::kind::{Kind, boolean};
use std::net::SocketAddr;
use std::path::PathBuf;

/// Where the management API is, and for whom.
#[derive(Clone, PartialEq, Debug)]
pub struct ApiSection {
    /// The address; none: nowhere.
    pub listen: At<Option<SocketAddr>>,
    /// A file with a token that whoever asks must show.
    pub token_file: Option<At<PathBuf>>,
    /// Users, who log in with browsers.
    pub users_file: Option<At<PathBuf>>,
    /// Others than this machine may ask, although there is no token.
    pub allow_remote: bool,
}

impl ApiSection {
    pub(super) fn read(fields: &mut Fields<'_, '_>) -> Self {
        let listen = fields.or("listen", "none", &place());
        let token_file = fields.optional("token_file", &kinds::file());
        let users_file = fields.optional("users_file", &kinds::file());
        let allow_remote = fields.or("allow_remote", "false", &boolean());
        if let Some(address) = listen.value.filter(|address| !address.ip().is_loopback()) {
            let key = fields.key("listen");
            let what = format!("whoever reaches {address} could change the core");
            match (
                token_file.is_some() || users_file.is_some(),
                allow_remote.value,
            ) {
                (true, _) if users_file.is_some() => {
                    let what = format!("passwords come to {address} without TLS");
                    let expected = "an address of the loopback, and a proxy with TLS before it";
                    fields.report().warning(listen.line, key, what, expected);
                }
                (true, _) => {}
                (false, false) => {
                    let expected = "an address of the loopback, a token_file, a users_file, or allow_remote: true";
                    fields.report().problem(listen.line, key, what, expected);
                }
                (false, true) => {
                    let expected = "a token_file, or a firewall";
                    fields.report().warning(listen.line, key, what, expected);
                }
            }
        }
        Self {
            listen,
            token_file,
            users_file,
            allow_remote: allow_remote.value,
        }
    }
}

fn place() -> Kind<Option<SocketAddr>> {
    let expected = "none, or ADDRESS:PORT such as 127.0.0.1:9471";
    Kind::new(expected, |text| match text {
        "none" => Some(None),
        text => {
            let address: SocketAddr = text.parse().ok()?;
            (address.port() != 0).then_some(Some(address))
        }
    })
}
