//! Where a subscriber database is: a file of SQLite's, or a PostgreSQL server by its connection string.

use std::fmt;
use std::path::{Path, PathBuf};

use postgres::Config;
use postgres::config::{Host, SslMode};

/// What connection strings begin with.
const SCHEMES: [&str; 2] = ["postgresql://", "postgres://"];

/// What a connection string is, for error messages.
pub const SERVER: &str = "postgresql://USER[:PASSWORD]@HOST[:PORT]/DATABASE, \
    or postgresql:///DATABASE?host=/FOLDER&user=USER of a server on this machine";

/// A place of a database.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Location {
    /// SQLite, in this file.
    File(PathBuf),
    /// A PostgreSQL server.
    Server(ServerAddress),
}

/// A database of a PostgreSQL server. It shows itself without its password.
#[derive(Clone)]
pub struct ServerAddress {
    pub(super) config: Box<Config>,
    /// As it was written.
    text: String,
}

impl ServerAddress {
    /// Reads a connection string, as PostgreSQL's own programs take it (libpq, 34.1.1.2 "Connection URIs").
    ///
    /// # Errors
    /// In words, what it is not. None repeats what was written: there may be a password in it.
    pub fn read(text: &str) -> Result<Self, String> {
        if !SCHEMES.iter().any(|scheme| text.starts_with(scheme)) {
            return Err("no connection string".to_owned());
        }
        let config: Config = text.parse().map_err(|error: postgres::Error| {
            let why = std::error::Error::source(&error).map(ToString::to_string);
            format!("no connection string: {}", why.unwrap_or_default())
        })?;
        if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
            return Err("a connection string without a host".to_owned());
        }
        if config.get_ssl_mode() == SslMode::Require {
            return Err("sslmode=require: connections are not encrypted yet".to_owned());
        }
        Ok(Self {
            config: Box::new(config),
            text: text.to_owned(),
        })
    }

    /// Whether it has a password, which belongs into no file that others may read.
    pub fn has_password(&self) -> bool {
        self.config.get_password().is_some()
    }

    /// What errors name it by.
    pub(super) fn name(&self) -> PathBuf {
        self.to_string().into()
    }
}

impl PartialEq for ServerAddress {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for ServerAddress {}

impl fmt::Display for ServerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("postgresql://")?;
        if let Some(user) = self.config.get_user() {
            write!(f, "{user}@")?;
        }
        let mut ports = self.config.get_ports().iter();
        for (at, host) in self.config.get_hosts().iter().enumerate() {
            let comma = if at > 0 { "," } else { "" };
            match host {
                Host::Tcp(name) => write!(f, "{comma}{name}")?,
                Host::Unix(folder) => write!(f, "{comma}{}", folder.display())?,
            }
            if let Some(port) = ports.next() {
                write!(f, ":{port}")?;
            }
        }
        write!(f, "/{}", self.config.get_dbname().unwrap_or_default())
    }
}

impl fmt::Debug for ServerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ServerAddress({self})")
    }
}

impl Location {
    /// A file.
    pub fn file(path: &Path) -> Self {
        Self::File(path.to_owned())
    }

    /// Whether several cores may serve it at a time.
    pub fn is_shared(&self) -> bool {
        matches!(self, Self::Server(_))
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => path.display().fmt(f),
            Self::Server(server) => server.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_string_is_read_and_shown_without_its_password() {
        let read = |text| ServerAddress::read(text).unwrap();
        let one = read("postgresql://core:s3cret@db.example:5433/sluice?connect_timeout=9");
        assert_eq!(one.to_string(), "postgresql://core@db.example:5433/sluice");
        assert!(one.has_password() && !format!("{one:?}").contains("s3cret"));
        let one = read("postgresql:///sluice?host=/run/postgresql&user=core");
        assert_eq!(one.to_string(), "postgresql://core@/run/postgresql/sluice");
        assert!(!one.has_password());
        assert_ne!(
            one,
            read("postgresql:///sluice?host=/run/postgresql&user=other")
        );
        assert_eq!(one, one.clone());
    }

    #[test]
    fn what_is_none_is_refused_without_being_repeated() {
        for (text, expected) in [
            ("", "no connection string"),
            ("mysql://core:s3cret@host/db", "no connection string"),
            (
                "postgresql://core:s3cret@host:x/db",
                "no connection string: ",
            ),
            (
                "postgresql:///db?user=core&password=s3cret",
                "without a host",
            ),
            (
                "postgresql://core:s3cret@host/db?sslmode=require",
                "not encrypted yet",
            ),
        ] {
            let told = ServerAddress::read(text).unwrap_err();
            assert!(told.contains(expected), "{text}: {told}");
            assert!(!told.contains("s3cret"), "{told}");
        }
    }
}
