//! A PostgreSQL server: the connection to it, made anew when it was lost.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::error::Error as _;
use std::path::Path;
use std::time::Duration;

use postgres::error::SqlState;
use postgres::types::{IsNull, ToSql, Type, to_sql_checked};
use postgres::{Client, Config, NoTls, Statement};

use super::Access;
use super::db::{Purpose, Row, SqlError, Value};
use super::error::Error;

/// How long a server may take to take a connection, unless the address says otherwise (connect_timeout).
const CONNECT_WITHIN: Duration = Duration::from_secs(2);
/// After this time without an acknowledgement a connection is lost (tcp_user_timeout).
const ACKNOWLEDGED_WITHIN: Duration = Duration::from_secs(5);
/// A silent connection is asked for after this time.
const KEEPALIVE_AFTER: Duration = Duration::from_secs(10);

/// What each connection is told first: nobody waits for a lock or a statement without end.
const SETTINGS: &str = "SET lock_timeout = '5s'; SET statement_timeout = '60s'; \
    SET idle_in_transaction_session_timeout = '300s'; SET synchronous_commit = on;";

/// A connection to a server.
pub(super) struct Server {
    config: Config,
    access: Access,
    live: RefCell<Option<Live>>,
    /// The transaction that is under way.
    purpose: Cell<Option<Purpose>>,
}

struct Live {
    client: Client,
    statements: HashMap<String, Statement>,
}

impl Live {
    fn prepared(&mut self, sql: &str) -> Result<Statement, postgres::Error> {
        if let Some(statement) = self.statements.get(sql) {
            return Ok(statement.clone());
        }
        let statement = self.client.prepare(&sql.replace('?', "$"))?;
        self.statements.insert(sql.to_owned(), statement.clone());
        Ok(statement)
    }
}

impl Server {
    /// Connects.
    pub(super) fn connect(config: &Config, access: Access) -> Result<Self, SqlError> {
        let mut config = config.clone();
        config.get_connect_timeout().is_none().then(|| {
            config.connect_timeout(CONNECT_WITHIN);
        });
        config.get_tcp_user_timeout().is_none().then(|| {
            config.tcp_user_timeout(ACKNOWLEDGED_WITHIN);
        });
        config.keepalives_idle(KEEPALIVE_AFTER);
        config.keepalives_interval(ACKNOWLEDGED_WITHIN);
        if config.get_application_name().is_none() {
            config.application_name("sluice");
        }
        let server = Self {
            config,
            access,
            live: RefCell::new(None),
            purpose: Cell::new(None),
        };
        server.again()?;
        Ok(server)
    }

    /// Makes the connection anew.
    fn again(&self) -> Result<(), SqlError> {
        *self.live.borrow_mut() = None;
        let connected = self.config.connect(NoTls).and_then(|mut client| {
            client.batch_execute(SETTINGS)?;
            if self.access == Access::Read {
                client.batch_execute("SET default_transaction_read_only = on")?;
            }
            Ok(client)
        });
        let client = connected.map_err(|error| match is_refused(&error) {
            true => SqlError::Refused(words(&error)),
            false => SqlError::Lost(words(&error)),
        })?;
        *self.live.borrow_mut() = Some(Live {
            client,
            statements: HashMap::new(),
        });
        Ok(())
    }

    /// Asks the server. Outside a transaction, where nothing is changed, a connection that turns out to be
    /// lost is made anew at once.
    fn with<T>(
        &self,
        mut ask: impl FnMut(&mut Live) -> Result<T, postgres::Error>,
    ) -> Result<T, SqlError> {
        let may_repeat = self.purpose.get().is_none();
        let first = self.live.borrow_mut().as_mut().map(&mut ask);
        match first {
            Some(Ok(done)) => return Ok(done),
            Some(Err(error)) if !self.is_lost(&error) => return Err(SqlError::Server(error)),
            Some(Err(error)) if !may_repeat => {
                *self.live.borrow_mut() = None;
                return Err(SqlError::Lost(words(&error)));
            }
            None if !may_repeat => return Err(SqlError::Lost("the connection is lost".to_owned())),
            _ => self.again()?,
        }
        match self.live.borrow_mut().as_mut() {
            Some(live) => ask(live).map_err(SqlError::Server),
            None => Err(SqlError::Lost("the connection is lost".to_owned())),
        }
    }

    /// Whether the connection is at its end: it is closed, or the server says that it ends.
    fn is_lost(&self, error: &postgres::Error) -> bool {
        let live = self.live.borrow();
        live.as_ref().is_none_or(|live| live.client.is_closed()) || is_lost(error)
    }

    pub(super) fn begin(&self, purpose: Purpose) -> Result<(), SqlError> {
        let begin = match purpose {
            Purpose::Read => "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
            Purpose::Change | Purpose::Claim => "BEGIN ISOLATION LEVEL READ COMMITTED",
        };
        self.batch(begin)?;
        self.purpose.set(Some(purpose));
        Ok(())
    }

    pub(super) fn leave(&self) {
        self.purpose.set(None);
    }

    pub(super) fn is_changing(&self) -> bool {
        self.purpose.get() == Some(Purpose::Change)
    }

    pub(super) fn execute(&self, sql: &str, values: &[Value]) -> Result<u64, SqlError> {
        self.with(|live| {
            let statement = live.prepared(sql)?;
            live.client.execute(&statement, &parameters(values))
        })
    }

    pub(super) fn query(&self, sql: &str, values: &[Value]) -> Result<Vec<Row>, SqlError> {
        let rows = self.with(|live| {
            let statement = live.prepared(sql)?;
            live.client.query(&statement, &parameters(values))
        })?;
        rows.iter().map(read).collect()
    }

    pub(super) fn batch(&self, sql: &str) -> Result<(), SqlError> {
        self.with(|live| live.client.batch_execute(sql))
    }
}

fn parameters(values: &[Value]) -> Vec<&(dyn ToSql + Sync)> {
    values.iter().map(|value| value as _).collect()
}

impl ToSql for Value {
    fn to_sql(
        &self,
        kind: &Type,
        out: &mut bytes::BytesMut,
    ) -> Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
        match self {
            Self::Null => Ok(IsNull::Yes),
            Self::Integer(value) => value.to_sql(kind, out),
            Self::Text(value) => value.to_sql(kind, out),
            Self::Blob(value) => value.to_sql(kind, out),
        }
    }

    fn accepts(kind: &Type) -> bool {
        matches!(*kind, Type::INT8 | Type::TEXT | Type::BYTEA)
    }

    to_sql_checked!();
}

/// The tables have columns of three types alone.
fn read(row: &postgres::Row) -> Result<Row, SqlError> {
    let columns = row.columns().iter().enumerate();
    let value = |(at, column): (usize, &postgres::Column)| {
        let value = match *column.type_() {
            Type::INT8 => row.try_get::<_, Option<i64>>(at).map(Value::from),
            Type::TEXT => row.try_get::<_, Option<String>>(at).map(Value::from),
            Type::BYTEA => {
                let octets = row.try_get::<_, Option<&[u8]>>(at);
                octets.map(Value::from)
            }
            _ => {
                let what = format!("column {} is of type {}", column.name(), column.type_());
                return Err(SqlError::Column(what));
            }
        };
        value.map_err(SqlError::Server)
    };
    columns.map(value).collect::<Result<_, _>>().map(Row)
}

fn is_lost(error: &postgres::Error) -> bool {
    let ends = [
        SqlState::ADMIN_SHUTDOWN,
        SqlState::CRASH_SHUTDOWN,
        SqlState::CANNOT_CONNECT_NOW,
        SqlState::DATABASE_DROPPED,
    ];
    match error.code() {
        Some(code) => ends.contains(code) || code.code().starts_with("08"),
        None => {
            let cause = error.source();
            error.is_closed() || cause.is_some_and(|cause| cause.is::<std::io::Error>())
        }
    }
}

/// Whether a connection is refused for its user or password (class 28 of SQLSTATE), or lacks what the server asks for.
fn is_refused(error: &postgres::Error) -> bool {
    match error.code() {
        Some(code) => code.code().starts_with("28"),
        None => {
            let cause = error.source();
            cause.is_some_and(|cause| !cause.is::<std::io::Error>())
        }
    }
}

/// The server's own words, or those of the kernel.
fn words(error: &postgres::Error) -> String {
    match (error.as_db_error(), error.source()) {
        (Some(db), _) => db.message().to_owned(),
        (None, Some(cause)) => cause.to_string(),
        (None, None) => error.to_string(),
    }
}

/// What the server refuses, as this crate says it.
pub(super) fn error(place: &Path, error: &postgres::Error) -> Error {
    let place = place.to_owned();
    let busy = [
        SqlState::LOCK_NOT_AVAILABLE,
        SqlState::T_R_DEADLOCK_DETECTED,
        SqlState::QUERY_CANCELED,
    ];
    match error.code() {
        Some(code) if busy.contains(code) => Error::Waited(place),
        Some(code) if *code == SqlState::UNDEFINED_TABLE || *code == SqlState::UNDEFINED_COLUMN => {
            Error::Foreign(place, words(error))
        }
        _ if is_lost(error) => Error::Lost(place, words(error)),
        _ => Error::Sql(place, words(error)),
    }
}
