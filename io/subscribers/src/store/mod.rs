//! The database of subscribers and home network keys: SQLite, in one file that is its owner's alone.
//!
//! A core that serves subscribers holds the file locked, so that nobody changes it behind its back; while no
//! core does, several may read it, and one may change it.

mod backup;
mod error;
mod home_keys;
mod listing;
mod rows;
mod schema;
mod transfer;

use std::fs::OpenOptions;
use std::io::ErrorKind;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, TransactionBehavior};
use sluice_ids::Supi;
use sluice_security::Sqn;

use crate::draft::Draft;
use crate::key_file::{MODE, StoreKey, sync_folder_of};
use crate::problem::Problem;
use crate::record::{Record, SqnState};
use crate::seal::Sealer;

pub use backup::Restored;
pub use error::Error;
pub use home_keys::{HomeKeyProfile, HomeKeyView};
pub use listing::{Filter, PAGE, Page};
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
    /// To be served by a core, until it is closed.
    Serve,
}

/// A database.
pub struct Store {
    db: Connection,
    sealer: Sealer,
    path: PathBuf,
}

impl Store {
    /// Makes an empty database in a new file of mode 0600.
    ///
    /// # Errors
    /// When there is a file already, or it cannot be written.
    pub fn create(path: &Path, key: &StoreKey) -> Result<Self, Error> {
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
        let made = Self::connect(path, key, Access::Change).and_then(|mut store| {
            schema::create(&mut store.db, &store.sealer, path)?;
            sync_folder_of(path).map_err(failed)?;
            Ok(store)
        });
        if made.is_err() {
            let _ = std::fs::remove_file(path);
        }
        made
    }

    /// Opens a database; one of an earlier release is brought up to date.
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
        let mut store = Self::connect(path, key, access)?;
        schema::check(&mut store.db, access != Access::Read, path)?;
        schema::check_key(&store.db, &store.sealer, path)?;
        Ok(store)
    }

    fn connect(path: &Path, key: &StoreKey, access: Access) -> Result<Self, Error> {
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
        Ok(Self {
            db,
            sealer: Sealer::new(key),
            path: path.to_owned(),
        })
    }

    /// Where it is.
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
        let moment = self.db.unchecked_transaction();
        let moment = moment.map_err(|error| self.sql(error))?;
        let mut stopped = None;
        let read = rows::each(&moment, &self.sealer, &mut |record| {
            stopped = take(record).err();
            stopped.is_none()
        });
        read.map_err(|error| self.rows(error))?;
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
        self.write(|store, tx| rows::remove(tx, supi).map_err(|error| store.sql(error)))
    }

    /// Stores where sequence numbers are, of all of them or of none. Those of subscribers that are
    /// gone are forgotten.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn store_sqns(&mut self, states: &[(Supi, SqnState)]) -> Result<(), Error> {
        self.write(|store, tx| {
            let stored = states
                .iter()
                .try_for_each(|(supi, state)| rows::set_sqn(tx, supi, *state));
            stored.map_err(|error| store.sql(error))
        })
    }

    /// Whether pages, rows and keys are as they were written.
    ///
    /// # Errors
    /// What is damaged first.
    pub fn verify(&self) -> Result<u64, Error> {
        schema::integrity(&self.db, &self.path)?;
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
        work: impl FnOnce(&Tools<'_>, &Connection) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let failed = |error| Error::sql(&self.path, error);
        let tx = self
            .db
            .transaction_with_behavior(TransactionBehavior::Immediate);
        let tx = tx.map_err(failed)?;
        let tools = Tools {
            sealer: &self.sealer,
            path: &self.path,
        };
        let done = work(&tools, &tx)?;
        tx.commit().map_err(failed)?;
        Ok(done)
    }

    fn sql(&self, error: rusqlite::Error) -> Error {
        Error::sql(&self.path, error)
    }

    fn rows(&self, error: rows::Unreadable) -> Error {
        error.in_file(&self.path)
    }
}

/// What a transaction works with beside its connection.
struct Tools<'a> {
    sealer: &'a Sealer,
    path: &'a Path,
}

impl Tools<'_> {
    fn sql(&self, error: rusqlite::Error) -> Error {
        Error::sql(self.path, error)
    }

    fn rows(&self, error: rows::Unreadable) -> Error {
        error.in_file(self.path)
    }

    /// False if there is one already.
    fn insert(&self, tx: &Connection, record: &Record) -> Result<bool, Error> {
        let [(_, k), (_, variant)] = crate::json::keys(record);
        let keys = zeroize::Zeroizing::new([k, variant].concat());
        let sealed = self.sealer.seal(&rows::row_name(&record.supi), &keys);
        let sealed = sealed.map_err(|error| Error::Io(self.path.to_owned(), error))?;
        rows::insert(tx, record, &sealed).map_err(|error| self.sql(error))
    }

    fn unique_addresses(&self, tx: &Connection, supi: &Supi) -> Result<(), Error> {
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

/// A sequence number and its difference to time as they are stored by the repository's commits.
///
/// The value is that of a commit whose key is `udr/sqn/IMSI`.
pub fn sqn_of_commit(value: &[u8]) -> Option<SqnState> {
    let (last, difference) = value.split_first_chunk::<8>()?;
    Some(SqnState {
        last: Sqn::new(u64::from_be_bytes(*last)),
        difference_s: i64::from_be_bytes(difference.try_into().ok()?),
    })
}
