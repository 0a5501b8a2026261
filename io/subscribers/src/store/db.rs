//! SQL of the subscriber store, the same for both kinds of database: statements with `?1`, `?2`, ... and values of four types.

use std::path::Path;

use rusqlite::types::ValueRef;

use super::error::Error;
use super::server::Server;

/// Where rows lie.
pub(super) enum Db {
    Sqlite(rusqlite::Connection),
    Server(Box<Server>),
}

/// What a column may have.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Value {
    Null,
    Integer(i64),
    Text(String),
    Blob(Vec<u8>),
}

impl From<i64> for Value {
    fn from(value: i64) -> Self {
        Self::Integer(value)
    }
}

impl From<u8> for Value {
    fn from(value: u8) -> Self {
        Self::Integer(value.into())
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Self::Integer(value.into())
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Self {
        Self::Text(value.to_owned())
    }
}

impl From<String> for Value {
    fn from(value: String) -> Self {
        Self::Text(value)
    }
}

impl From<&[u8]> for Value {
    fn from(value: &[u8]) -> Self {
        Self::Blob(value.to_vec())
    }
}

impl<T: Into<Self>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

/// A row that was read.
pub(super) struct Row(pub(super) Vec<Value>);

impl Row {
    fn wrong<T>(&self, at: usize) -> Result<T, SqlError> {
        let kind = match self.0.get(at) {
            None => "nothing",
            Some(Value::Null) => "NULL",
            Some(Value::Integer(_)) => "a number",
            Some(Value::Text(_)) => "text",
            Some(Value::Blob(_)) => "octets",
        };
        Err(SqlError::Column(format!("column {at} of a row has {kind}")))
    }

    pub(super) fn integer(&self, at: usize) -> Result<i64, SqlError> {
        match self.0.get(at) {
            Some(Value::Integer(value)) => Ok(*value),
            _ => self.wrong(at),
        }
    }

    pub(super) fn text(&self, at: usize) -> Result<String, SqlError> {
        match self.0.get(at) {
            Some(Value::Text(value)) => Ok(value.clone()),
            _ => self.wrong(at),
        }
    }

    /// Text, a number as text, or none.
    pub(super) fn any_text(&self, at: usize) -> Result<Option<String>, SqlError> {
        match self.0.get(at) {
            Some(Value::Null) => Ok(None),
            Some(Value::Text(value)) => Ok(Some(value.clone())),
            Some(Value::Integer(value)) => Ok(Some(value.to_string())),
            _ => self.wrong(at),
        }
    }

    pub(super) fn blob(&self, at: usize) -> Result<Vec<u8>, SqlError> {
        match self.0.get(at) {
            Some(Value::Blob(value)) => Ok(value.clone()),
            _ => self.wrong(at),
        }
    }
}

/// Why a statement was not carried out.
#[derive(Debug)]
pub(super) enum SqlError {
    Sqlite(rusqlite::Error),
    Server(postgres::Error),
    /// The server cannot be reached.
    Lost(String),
    /// The server takes no connection of this user.
    Refused(String),
    /// A column has what it cannot have.
    Column(String),
}

impl From<rusqlite::Error> for SqlError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

impl SqlError {
    pub(super) fn at(self, place: &Path) -> Error {
        match self {
            Self::Sqlite(error) => Error::sql(place, error),
            Self::Server(error) => super::server::error(place, &error),
            Self::Lost(why) => Error::Lost(place.to_owned(), why),
            Self::Refused(why) => Error::Refused(place.to_owned(), why),
            Self::Column(what) => Error::Damaged(place.to_owned(), what),
        }
    }
}

/// What a transaction is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Purpose {
    /// All that is read is of one moment.
    Read,
    /// One at a time of all that change something.
    Change,
    /// Sequence numbers alone, beside whoever changes something.
    Claim,
}

/// A transaction: what was not committed is undone.
pub(super) struct Transaction<'a> {
    db: &'a Db,
    is_open: bool,
}

impl Transaction<'_> {
    pub(super) fn commit(mut self) -> Result<(), SqlError> {
        self.is_open = false;
        let done = self.db.batch("COMMIT");
        if done.is_err() {
            let _ = self.db.batch("ROLLBACK");
        }
        self.db.leave();
        done
    }
}

impl Drop for Transaction<'_> {
    fn drop(&mut self) {
        if self.is_open {
            // Of a server that is gone the transaction is gone as well.
            let _ = self.db.batch("ROLLBACK");
            self.db.leave();
        }
    }
}

impl Db {
    /// The server, if it is one.
    pub(super) fn server(&self) -> Option<&Server> {
        match self {
            Self::Sqlite(_) => None,
            Self::Server(server) => Some(server.as_ref()),
        }
    }

    pub(super) fn begin(&self, purpose: Purpose) -> Result<Transaction<'_>, SqlError> {
        match (self, purpose) {
            (Self::Sqlite(db), Purpose::Read) => db.execute_batch("BEGIN")?,
            (Self::Sqlite(db), _) => db.execute_batch("BEGIN IMMEDIATE")?,
            (Self::Server(server), purpose) => server.begin(purpose)?,
        }
        Ok(Transaction {
            db: self,
            is_open: true,
        })
    }

    fn leave(&self) {
        if let Self::Server(server) = self {
            server.leave();
        }
    }

    /// How many rows it was about.
    pub(super) fn execute(&self, sql: &str, values: &[Value]) -> Result<u64, SqlError> {
        match self {
            Self::Sqlite(db) => {
                let values = values.iter().map(sqlite_value);
                let mut statement = db.prepare_cached(sql)?;
                Ok(statement.execute(rusqlite::params_from_iter(values))? as u64)
            }
            Self::Server(server) => server.execute(sql, values),
        }
    }

    pub(super) fn query(&self, sql: &str, values: &[Value]) -> Result<Vec<Row>, SqlError> {
        let db = match self {
            Self::Sqlite(db) => db,
            Self::Server(server) => return server.query(sql, values),
        };
        let mut statement = db.prepare_cached(sql)?;
        let columns = statement.column_count();
        let values = values.iter().map(sqlite_value);
        let mut rows = statement.query(rusqlite::params_from_iter(values))?;
        let mut all = Vec::new();
        while let Some(row) = rows.next()? {
            let column = |at| Ok::<_, rusqlite::Error>(value_of(row.get_ref(at)?));
            let row = (0..columns).map(column).collect::<Result<_, _>>()?;
            all.push(Row(row));
        }
        Ok(all)
    }

    /// The one number that a query is for.
    pub(super) fn number(&self, sql: &str) -> Result<i64, SqlError> {
        let rows = self.query(sql, &[])?;
        let none = || SqlError::Column("no row where one must be".to_owned());
        rows.first().ok_or_else(none)?.integer(0)
    }

    /// Statements without values.
    pub(super) fn batch(&self, sql: &str) -> Result<(), SqlError> {
        match self {
            Self::Sqlite(db) => Ok(db.execute_batch(sql)?),
            Self::Server(server) => server.batch(sql),
        }
    }

    /// What a query of a subscriber that is about to be changed ends in: with several cores at a server,
    /// nobody may use one of its sequence numbers meanwhile.
    pub(super) fn locking(&self) -> &'static str {
        match self {
            Self::Server(server) if server.is_changing() => " FOR UPDATE",
            _ => "",
        }
    }
}

fn sqlite_value(value: &Value) -> rusqlite::types::Value {
    use rusqlite::types::Value as Of;
    match value {
        Value::Null => Of::Null,
        Value::Integer(value) => Of::Integer(*value),
        Value::Text(value) => Of::Text(value.clone()),
        Value::Blob(value) => Of::Blob(value.clone()),
    }
}

fn value_of(value: ValueRef<'_>) -> Value {
    match value {
        ValueRef::Null | ValueRef::Real(_) => Value::Null,
        ValueRef::Integer(value) => Value::Integer(value),
        ValueRef::Text(octets) => Value::Text(String::from_utf8_lossy(octets).into_owned()),
        ValueRef::Blob(octets) => Value::Blob(octets.to_vec()),
    }
}
