//! The database of subscribers and home network keys: SQLite, in one file that is its owner's alone, or
//! PostgreSQL.
//!
//! A core that serves subscribers of a file holds it locked, so that nobody changes it behind its back; while no
//! core does, several may read it, and one may change it. A server's may be served by several cores and changed at
//! any time: each change has a number, by which cores find out what others did ([`Store::changes`]).

mod backup;
mod db;
mod error;
mod home_keys;
mod listing;
mod location;
mod rows;
mod schema;
mod server;
mod shared;
mod transfer;

use std::fs::OpenOptions;
use std::io::ErrorKind;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};
use sluice_ids::Supi;
use sluice_security::Sqn;

use crate::draft::Draft;
use crate::key_file::{MODE, StoreKey, sync_folder_of};
use crate::problem::Problem;
use crate::record::{Record, SqnState};
use crate::seal::Sealer;

use db::{Db, Purpose, SqlError};
use server::Server;

pub use backup::Restored;
pub use error::Error;
pub use home_keys::{HomeKeyProfile, HomeKeyView};
pub use listing::{Filter, PAGE, Page};
pub use location::{Location, SERVER, ServerAddress};
pub use shared::Claim;
pub use transfer::{Format, IMPORT_BYTES, Imported};

/// How long a lock of somebody else is waited for.
const BUSY: Duration = Duration::from_secs(5);

/// What a database is opened for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    /// To be read, also while others read or change it.
    Read,
    /// To be changed, while no core serves it.
    Change,
    /// To be served by a core, until it is closed: a file's by it alone, a server's by several.
    Serve,
}

/// A database.
pub struct Store {
    db: Db,
    sealer: Sealer,
    /// The file, or how errors name the server.
    path: PathBuf,
    /// The number of the last change of a server's database that is known.
    seen: i64,
}

impl Store {
    /// Makes an empty database: in a new file of mode 0600, or the tables of a server's database.
    ///
    /// # Errors
    /// When there is one already, or it cannot be written.
    pub fn create_at(location: &Location, key: &StoreKey) -> Result<Self, Error> {
        match location {
            Location::File(path) => Self::create(path, key),
            Location::Server(address) => {
                let store = Self::connect(address, key, Access::Change)?;
                shared::create(&store.db, &store.sealer, &store.path)?;
                Ok(store)
            }
        }
    }

    /// Opens a database; one of an earlier release is brought up to date.
    ///
    /// # Errors
    /// When it is locked, damaged, no database of subscribers, of a later release, encrypted with
    /// another key, or its server cannot be reached.
    pub fn open_at(location: &Location, key: &StoreKey, access: Access) -> Result<Self, Error> {
        match location {
            Location::File(path) => Self::open(path, key, access),
            Location::Server(address) => {
                let mut store = Self::connect(address, key, access)?;
                shared::check(&store.db, &store.sealer, access, &store.path)?;
                store.seen = shared::last_change(&store.db).map_err(|e| store.sql(e))?;
                Ok(store)
            }
        }
    }

    /// Makes an empty database in a new file of mode 0600.
    ///
    /// # Errors
    /// When there is a file already, or it cannot be written.
    pub fn create(path: &Path, key: &StoreKey) -> Result<Self, Error> {
        Self::create_file(path, Sealer::new(key))
    }

    fn create_file(path: &Path, sealer: Sealer) -> Result<Self, Error> {
        let failed = |error| Error::Io(path.to_owned(), error);
        let file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(MODE)
            .open(path);
        file.map_err(|error| match error.kind() {
            ErrorKind::AlreadyExists => Error::Exists(path.to_owned()),
            _ => failed(error),
        })?;
        let made = sqlite(path, Access::Change).and_then(|mut db| {
            schema::create(&mut db, &sealer, path)?;
            sync_folder_of(path).map_err(failed)?;
            Ok(db)
        });
        if made.is_err() {
            let _ = std::fs::remove_file(path);
        }
        Ok(Self::of_file(made?, sealer, path))
    }

    /// Opens a database in a file; one of an earlier release is brought up to date.
    ///
    /// # Errors
    /// When it is locked, damaged, no database of subscribers, of a later release, or encrypted with
    /// another key.
    pub fn open(path: &Path, key: &StoreKey, access: Access) -> Result<Self, Error> {
        match std::fs::metadata(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                return Err(Error::Missing(path.to_owned()));
            }
            Err(error) => return Err(Error::Io(path.to_owned(), error)),
            Ok(there) if !there.is_file() => {
                return Err(Error::Foreign(path.to_owned(), "no file".to_owned()));
            }
            Ok(_) => {}
        }
        let mut db = sqlite(path, access)?;
        let sealer = Sealer::new(key);
        schema::check(&mut db, &sealer, access != Access::Read, path)?;
        let store = Self::of_file(db, sealer, path);
        schema::check_key(&store.db, &store.sealer, path)?;
        Ok(store)
    }

    fn of_file(db: Connection, sealer: Sealer, path: &Path) -> Self {
        Self {
            db: Db::Sqlite(db),
            sealer,
            path: path.to_owned(),
            seen: 0,
        }
    }

    fn connect(address: &ServerAddress, key: &StoreKey, access: Access) -> Result<Self, Error> {
        let path = address.name();
        let server = Server::connect(&address.config, access);
        let server = server.map_err(|error| error.at(&path))?;
        Ok(Self {
            db: Db::Server(Box::new(server)),
            sealer: Sealer::new(key),
            path,
            seen: 0,
        })
    }

    /// Closes it; a file is whole then without its log of changes.
    ///
    /// # Errors
    /// When SQLite cannot write what it has left.
    pub fn close(self) -> Result<(), Error> {
        let Self { db, path, .. } = self;
        match db {
            Db::Sqlite(db) => db.close().map_err(|(_, error)| Error::sql(&path, error)),
            Db::Server(_) => Ok(()),
        }
    }

    /// Its file, or how its server is named.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// How many subscribers there are.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn number(&self) -> Result<u64, Error> {
        rows::number(&self.db).map_err(|error| self.sql(error))
    }

    /// One subscriber.
    ///
    /// # Errors
    /// When the file cannot be read, or what it has of this subscriber is damaged.
    pub fn get(&self, supi: &Supi) -> Result<Option<Record>, Error> {
        rows::get(&self.db, &self.sealer, supi).map_err(|error| self.rows(error))
    }

    /// All subscribers by IMSI, each handed to `take`.
    ///
    /// # Errors
    /// When the file cannot be read or is damaged, or what `take` says.
    pub fn each(&self, mut take: impl FnMut(Record) -> Result<(), Error>) -> Result<(), Error> {
        // One moment for all that is read.
        let moment = self.db.begin(Purpose::Read);
        let moment = moment.map_err(|error| self.sql(error))?;
        let mut stopped = None;
        let read = rows::each(&self.db, &self.sealer, &mut |record| {
            stopped = take(record).err();
            stopped.is_none()
        });
        read.map_err(|error| self.rows(error))?;
        moment.commit().map_err(|error| self.sql(error))?;
        stopped.map_or(Ok(()), Err)
    }

    /// Adds a subscriber.
    ///
    /// # Errors
    /// What is wrong with it, or that there is one of this IMSI.
    pub fn add(&mut self, draft: &Draft, unix_s: u64) -> Result<Record, Error> {
        let checked = draft.check(None).map_err(Error::of)?;
        let record = checked.into_record(None, unix_s);
        let record = record.ok_or_else(|| Error::from(Problem::new("k", "missing", "a key")))?;
        self.write(|store, tx| {
            if rows::number(tx).map_err(|e| store.sql(e))? >= sluice_udr::SUBSCRIBERS as u64 {
                return Err(Error::Full);
            }
            if !store.insert(tx, &record)? {
                let problem = Problem::new("imsi", "there is one already", "a new one");
                return Err(problem.of(record.supi.imsi()).into());
            }
            store.unique_addresses(tx, &record.supi)
        })?;
        Ok(record)
    }

    /// Changes a subscriber: `change` gets what there is, without keys, and gives what there is to be.
    /// Keys that it does not give stay.
    ///
    /// # Errors
    /// What is wrong with it, or that there is no such subscriber.
    pub fn change(
        &mut self,
        supi: &Supi,
        unix_s: u64,
        change: impl FnOnce(Draft) -> Result<Draft, Problem>,
    ) -> Result<Record, Error> {
        self.write(|store, tx| {
            let before = rows::get(tx, store.sealer, supi).map_err(|e| store.rows(e))?;
            let before = before.ok_or(Error::NotFound(*supi))?;
            let view = crate::json::view(&before, false, unix_s);
            let draft = crate::json::draft_of(view).and_then(change);
            let checked = draft.map_err(Error::from)?.check(Some(&before));
            let checked = checked.map_err(Error::of)?;
            if checked.supi != *supi {
                let problem = Problem::new("imsi", "another one", "the one that is changed");
                return Err(problem.of(supi.imsi()).into());
            }
            let after = checked.into_record(Some(&before), unix_s);
            let after = after.ok_or(Error::NotFound(*supi))?;
            rows::remove(tx, supi).map_err(|e| store.sql(e))?;
            store.insert(tx, &after)?;
            store.unique_addresses(tx, supi)?;
            Ok(after)
        })
    }

    /// Removes a subscriber; false if there is none.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn remove(&mut self, supi: &Supi) -> Result<bool, Error> {
        self.write(|store, tx| {
            let was_there = rows::remove(tx, supi).map_err(|error| store.sql(error))?;
            if was_there {
                shared::removed(tx, supi.imsi()).map_err(|error| store.sql(error))?;
            }
            Ok(was_there)
        })
    }

    /// Stores where sequence numbers are, of all of them or of none. Those of subscribers that are
    /// gone are forgotten.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn store_sqns(&mut self, states: &[(Supi, SqnState)]) -> Result<(), Error> {
        let tx = self.db.begin(Purpose::Claim).map_err(|e| self.sql(e))?;
        let stored = states
            .iter()
            .try_for_each(|(supi, state)| rows::set_sqn(&self.db, supi, *state));
        let stored = stored.and_then(|()| tx.commit());
        stored.map_err(|error| self.sql(error))
    }

    /// Whether pages, rows and keys are as they were written.
    ///
    /// # Errors
    /// What is damaged first.
    pub fn verify(&self) -> Result<u64, Error> {
        if let Db::Sqlite(db) = &self.db {
            schema::integrity(db, &self.path)?;
        }
        let mut number = 0;
        self.each(|_| {
            number += 1;
            Ok(())
        })?;
        self.home_keys()?;
        Ok(number)
    }

    /// A transaction: all of it, or nothing.
    fn write<T>(
        &mut self,
        work: impl FnOnce(&Tools<'_>, &Db) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let failed = |error: SqlError| error.at(&self.path);
        let (tx, number) = shared::begin(&self.db).map_err(failed)?;
        let tools = Tools {
            sealer: &self.sealer,
            path: &self.path,
        };
        let done = work(&tools, &self.db)?;
        shared::end(&self.db, tx, number).map_err(failed)?;
        if let Some(number) = number.filter(|number| *number == self.seen + 1) {
            self.seen = number;
        }
        Ok(done)
    }

    fn sql(&self, error: SqlError) -> Error {
        error.at(&self.path)
    }

    fn rows(&self, error: rows::Unreadable) -> Error {
        error.in_file(&self.path)
    }
}

/// A connection to a file.
fn sqlite(path: &Path, access: Access) -> Result<Connection, Error> {
    let failed = |error| Error::sql(path, error);
    let flags = match access {
        Access::Read => OpenFlags::SQLITE_OPEN_READ_ONLY,
        Access::Change | Access::Serve => OpenFlags::SQLITE_OPEN_READ_WRITE,
    };
    let flags = flags | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let db = Connection::open_with_flags(path, flags).map_err(failed)?;
    db.busy_timeout(BUSY).map_err(failed)?;
    // Nothing that a file says of itself is run, and what is removed is overwritten.
    let settings = "PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON; \
                    PRAGMA foreign_keys = ON; PRAGMA secure_delete = ON;";
    db.execute_batch(settings).map_err(failed)?;
    if access == Access::Serve {
        // The lock is taken by the first look at the file, which follows, and kept.
        let settings = "PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; COMMIT;";
        db.execute_batch(settings).map_err(failed)?;
    }
    Ok(db)
}

/// What a transaction works with beside its connection.
struct Tools<'a> {
    sealer: &'a Sealer,
    path: &'a Path,
}

impl Tools<'_> {
    fn sql(&self, error: SqlError) -> Error {
        error.at(self.path)
    }

    fn rows(&self, error: rows::Unreadable) -> Error {
        error.in_file(self.path)
    }

    /// False if there is one already.
    fn insert(&self, tx: &Db, record: &Record) -> Result<bool, Error> {
        let [(_, k), (_, variant)] = crate::json::keys(record);
        let keys = zeroize::Zeroizing::new([k, variant].concat());
        let sealed = self
            .sealer
            .seal(rows::row_name(&record.supi).as_bytes(), &keys);
        let sealed = sealed.map_err(|error| Error::Io(self.path.to_owned(), error))?;
        rows::insert(tx, record, &sealed).map_err(|error| self.sql(error))
    }

    fn unique_addresses(&self, tx: &Db, supi: &Supi) -> Result<(), Error> {
        let taken = rows::taken_addresses(tx, Some(supi)).map_err(|error| self.sql(error))?;
        match taken.into_iter().next() {
            None => Ok(()),
            Some(taken) => Err(taken.problem(supi.imsi()).into()),
        }
    }
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Store({})", self.path.display())
    }
}

/// A sequence number and its difference to time as they are stored by the repository's commits, and which one was
/// the last before it, if several cores share the database.
///
/// The value is that of a commit whose key is `udr/sqn/IMSI`.
pub fn sqn_of_commit(value: &[u8]) -> Option<(SqnState, Option<Sqn>)> {
    let (last, rest) = value.split_first_chunk::<8>()?;
    let (difference, before) = rest.split_first_chunk::<8>()?;
    let before = match before.is_empty() {
        true => None,
        false => Some(Sqn::new(u64::from_be_bytes(before.try_into().ok()?))),
    };
    let state = SqnState {
        last: Sqn::new(u64::from_be_bytes(*last)),
        difference_s: i64::from_be_bytes(*difference),
    };
    Some((state, before))
}
