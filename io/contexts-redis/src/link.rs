//! The connection to Redis: bounded in time, and not tried again and again while the server is away.

use std::time::{Duration, Instant};

use redis::{Client, Connection, ErrorKind, RedisError, RedisResult};
use sluice_sbi::context_store::StoreFailure;

use crate::address::RedisAddress;

/// The first pause after a failure; each further one is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
/// The longest pause.
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// A server that may be away.
pub(crate) struct Link {
    address: RedisAddress,
    timeout: Duration,
    connection: Option<Connection>,
    away: Option<Away>,
}

/// It is not tried before a time.
struct Away {
    until: Instant,
    pause: Duration,
    why: String,
}

/// Why something was not done.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// Nothing was sent: the server has not answered a moment ago.
    Paused(String),
    /// Nothing was sent: there is no connection; whether the server refuses user or password.
    Unreachable { why: String, is_refused: bool },
    /// Done or not, nobody knows; whether the connection was closed by the other side, or the server refuses the user.
    Unknown {
        why: String,
        is_closed: bool,
        is_refused: bool,
    },
    /// The contexts are another core's.
    Lost(String),
}

impl Trouble {
    pub(crate) fn why(self) -> String {
        match self {
            Self::Paused(why) | Self::Lost(why) => why,
            Self::Unreachable { why, .. } | Self::Unknown { why, .. } => why,
        }
    }

    /// Whether the server refuses user, password, or what the user wants.
    pub(crate) fn is_refused(&self) -> bool {
        match self {
            Self::Unreachable { is_refused, .. } | Self::Unknown { is_refused, .. } => *is_refused,
            Self::Paused(_) | Self::Lost(_) => false,
        }
    }

    /// What it is to the core.
    pub(crate) fn failure(self) -> StoreFailure {
        match self {
            Self::Lost(why) => StoreFailure::NoLongerOurs(why),
            other => StoreFailure::NotStored(other.why()),
        }
    }
}

impl Link {
    pub(crate) fn new(address: RedisAddress, timeout: Duration) -> Self {
        Self {
            address,
            timeout,
            connection: None,
            away: None,
        }
    }

    pub(crate) fn address(&self) -> &RedisAddress {
        &self.address
    }

    /// Whether it would not be tried now.
    pub(crate) fn is_paused(&self) -> bool {
        self.paused().is_some()
    }

    /// Why it would not be tried now.
    pub(crate) fn paused(&self) -> Option<&str> {
        let away = self.away.as_ref();
        let paused = away.filter(|away| Instant::now() < away.until);
        paused.map(|away| away.why.as_str())
    }

    /// Does something with the connection, and connects before if there is none.
    pub(crate) fn with<T>(
        &mut self,
        action: impl FnOnce(&mut Connection) -> RedisResult<T>,
    ) -> Result<T, Trouble> {
        if let Some(why) = self.paused() {
            return Err(Trouble::Paused(why.to_owned()));
        }
        let connected = match self.connection.take() {
            Some(connection) => Ok(connection),
            None => self.connect(),
        };
        let mut connection = connected.map_err(|error| Trouble::Unreachable {
            is_refused: is_refused(&error),
            why: self.failed(&error),
        })?;
        match action(&mut connection) {
            Ok(answer) => {
                self.connection = Some(connection);
                self.away = None;
                Ok(answer)
            }
            // The connection goes: an answer that comes late is to no later question.
            Err(error) => Err(Trouble::Unknown {
                is_closed: error.is_connection_dropped(),
                is_refused: is_refused(&error),
                why: self.failed(&error),
            }),
        }
    }

    /// The next attempt is at once, once.
    pub(crate) fn try_at_once(&mut self) {
        if let Some(away) = &mut self.away {
            away.until = Instant::now();
        }
    }

    fn connect(&self) -> RedisResult<Connection> {
        let client = Client::open(self.address.info.clone())?;
        let connection = client.get_connection_with_timeout(self.timeout)?;
        connection.set_read_timeout(Some(self.timeout))?;
        connection.set_write_timeout(Some(self.timeout))?;
        Ok(connection)
    }

    fn failed(&mut self, error: &RedisError) -> String {
        let why = match error.is_timeout() {
            true => format!("no answer within {} ms", self.timeout.as_millis()),
            false => error.to_string(),
        };
        let why = format!("{}: {why}", self.address);
        let pause = match &self.away {
            Some(away) => (away.pause * 2).min(LONGEST_PAUSE),
            None => FIRST_PAUSE,
        };
        self.away = Some(Away {
            until: Instant::now() + pause,
            pause,
            why: why.clone(),
        });
        why
    }
}

/// Whether the server knows no such user or password, or the user may not do this.
fn is_refused(error: &RedisError) -> bool {
    let refuses = |code| matches!(code, "NOAUTH" | "WRONGPASS" | "NOPERM");
    error.kind() == ErrorKind::AuthenticationFailed || error.code().is_some_and(refuses)
}

impl std::fmt::Debug for Link {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Link")
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_is_away_is_not_tried_with_each_call() {
        let folder = tempfile::tempdir().expect("a folder");
        let url = format!("unix://{}/none", folder.path().display());
        let address = RedisAddress::read(&url).expect("an address");
        let mut link = Link::new(address, Duration::from_millis(50));
        let mut pauses = Vec::new();
        for _ in 0..9 {
            let tried = link.with(|_| Ok(()));
            assert!(
                matches!(tried, Err(Trouble::Unreachable { .. })),
                "{tried:?}"
            );
            pauses.push(link.away.as_ref().expect("it is away").pause);
            link.try_at_once();
        }
        assert_eq!(pauses[..3], [1, 2, 4].map(|n| FIRST_PAUSE * n));
        assert_eq!(pauses[8], LONGEST_PAUSE);
        let again = link.with(|_| Ok(()));
        assert!(matches!(again, Err(Trouble::Unreachable { .. })));
        assert!(link.is_paused());
        let paused = link.with(|_| Ok(()));
        assert!(matches!(paused, Err(Trouble::Paused(_))), "{paused:?}");
    }
}
