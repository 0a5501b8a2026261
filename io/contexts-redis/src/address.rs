//! Where a Redis server is, as core.yaml says it: a URL that shows itself without its password.

use std::fmt;
use std::net::IpAddr;

use redis::{ConnectionAddr, ConnectionInfo, IntoConnectionInfo as _};

/// What an address is, for error messages.
pub const ADDRESS: &str =
    "redis://[USER:PASSWORD@]IP-ADDRESS:PORT[/DATABASE], or unix:///PATH[?db=DATABASE]";

/// A server and a database of it.
#[derive(Clone)]
pub struct RedisAddress {
    pub(crate) info: ConnectionInfo,
    /// As it was written.
    text: String,
}

impl RedisAddress {
    /// Reads a URL.
    ///
    /// # Errors
    /// In words, what is wrong with it. None repeats what was written: there may be a password in it.
    pub fn read(text: &str) -> Result<Self, String> {
        if text.starts_with("rediss:") || text.starts_with("valkeys:") {
            return Err(
                "an address with TLS, which is not supported; values are sealed".to_owned(),
            );
        }
        let info = text
            .into_connection_info()
            .map_err(|_| "no address of a Redis server".to_owned())?;
        let info = match info.addr().clone() {
            // IPv6 addresses come in brackets.
            ConnectionAddr::Tcp(host, port) => {
                let host = host.trim_matches(['[', ']']).to_owned();
                if host.parse::<IpAddr>().is_err() {
                    let why = "a host by name: UEs would wait while it is looked up";
                    return Err(why.to_owned());
                }
                info.set_addr(ConnectionAddr::Tcp(host, port))
            }
            ConnectionAddr::Unix(_) => info,
            _ => return Err("no address of a Redis server".to_owned()),
        };
        let redis = info.redis_settings().clone().set_skip_set_lib_name();
        Ok(Self {
            info: info.set_redis_settings(redis),
            text: text.to_owned(),
        })
    }

    /// Whether it has a password, which belongs into no file that others may read.
    pub fn has_password(&self) -> bool {
        self.info.redis_settings().password().is_some()
    }
}

impl PartialEq for RedisAddress {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for RedisAddress {}

impl fmt::Display for RedisAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let database = self.info.redis_settings().db();
        match self.info.addr() {
            ConnectionAddr::Unix(path) => write!(f, "unix://{}?db={database}", path.display()),
            ConnectionAddr::Tcp(host, port) if host.contains(':') => {
                write!(f, "redis://[{host}]:{port}/{database}")
            }
            other => write!(f, "redis://{other}/{database}"),
        }
    }
}

impl fmt::Debug for RedisAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_shown_without_its_password() {
        let shown = |text: &str| RedisAddress::read(text).expect(text).to_string();
        assert_eq!(
            shown("redis://127.0.0.1:6380/3"),
            "redis://127.0.0.1:6380/3"
        );
        assert_eq!(shown("redis://[::1]"), "redis://[::1]:6379/0");
        assert_eq!(
            shown("unix:///run/redis/s?db=2"),
            "unix:///run/redis/s?db=2"
        );
        let secret = RedisAddress::read("redis://core:secret@192.0.2.1").expect("an address");
        assert!(secret.has_password());
        assert_eq!(secret.to_string(), "redis://192.0.2.1:6379/0");
        assert!(!format!("{secret:?}").contains("secret"));
        assert!(
            !RedisAddress::read("redis://192.0.2.1")
                .expect("one")
                .has_password()
        );
    }

    #[test]
    fn what_is_no_address_is_refused_without_being_repeated() {
        for (text, why) in [
            ("redis://secret.example", "by name"),
            ("rediss://:secret@192.0.2.1", "TLS"),
            ("postgresql://secret", "no address"),
            ("secret", "no address"),
            ("redis://192.0.2.1/secret", "no address"),
        ] {
            let refused = RedisAddress::read(text).expect_err(text);
            assert!(refused.contains(why), "{text}: {refused}");
            assert!(!refused.contains("secret"), "{refused}");
        }
    }
}
