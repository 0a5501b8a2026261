//! Backups: a copy of one moment, and its return, which is verified before it replaces anything.

use std::fs::{File, OpenOptions};
use std::io::ErrorKind;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use sluice_security::Sqn;

use super::db::{Db, Purpose, SqlError};
use super::error::Error;
use super::{Access, Store, rows, shared};
use crate::key_file::{MODE, StoreKey, sync_folder_of};
use crate::record::{Record, SqnState};

/// What is behind a database's name in those of its logs of changes.
const LOGS: [&str; 3] = ["-wal", "-shm", "-journal"];

/// What a restoration has done.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Restored {
    /// Subscribers that are there now.
    pub subscribers: u64,
    /// Where the damaged database lies now that was there before, or what was left of one that was lost.
    pub damaged: Option<PathBuf>,
}

impl Store {
    /// Writes a copy of this moment to a new file of mode 0600: SQLite, also of a server's database. Its keys are
    /// encrypted with the same key file, which is no part of it.
    ///
    /// # Errors
    /// When there is a file already, or it cannot be written.
    pub fn backup(&self, to: &Path) -> Result<u64, Error> {
        if self.db.server().is_some() {
            return self.copy_to(to);
        }
        let failed = |error| Error::Io(to.to_owned(), error);
        let file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(MODE)
            .open(to);
        file.map_err(|error| match error.kind() {
            ErrorKind::AlreadyExists => Error::Exists(to.to_owned()),
            _ => failed(error),
        })?;
        let copied = || {
            let name = to
                .to_str()
                .ok_or(ErrorKind::InvalidFilename)
                .map_err(|e| failed(e.into()))?;
            let copied = self.db.execute("VACUUM INTO ?1", &[name.into()]);
            copied.map_err(|error| error.at(to))?;
            // SQLite leaves this to whoever asks for the copy.
            let on_disk = File::open(to).and_then(|file| file.sync_all());
            on_disk.and_then(|()| sync_folder_of(to)).map_err(failed)?;
            self.number()
        };
        let number = copied();
        if number.is_err() {
            let _ = std::fs::remove_file(to);
        }
        number
    }

    /// Row by row, of one moment.
    fn copy_to(&self, to: &Path) -> Result<u64, Error> {
        let mut copy = Self::create_file(to, self.sealer.clone())?;
        let mut copied = || {
            let moment = self.db.begin(Purpose::Read).map_err(|e| self.sql(e))?;
            let number = copy.write(|store, tx| {
                let mut number = 0;
                let mut stopped = Ok(());
                let read = rows::each(&self.db, &self.sealer, &mut |record| {
                    number += 1;
                    stopped = store.insert(tx, &record).map(|_| ());
                    stopped.is_ok()
                });
                read.map_err(|error| self.rows(error))?;
                stopped?;
                copy_home_keys(&self.db, tx).map_err(|error| store.sql(error))?;
                Ok(number)
            })?;
            moment.commit().map_err(|error| self.sql(error))?;
            Ok(number)
        };
        let number = copied();
        let closed = copy.close();
        if number.is_err() || closed.is_err() {
            for file in logs(to).iter().map(PathBuf::as_path).chain([to]) {
                let _ = std::fs::remove_file(file);
            }
        }
        closed.and(number)
    }

    /// Replaces all subscribers and home network keys by those of a backup, in one transaction. The
    /// backup is read and checked as a whole first. Sequence numbers never go back.
    ///
    /// # Errors
    /// When the backup is damaged or encrypted with another key; nothing has changed then.
    pub fn restore(&mut self, from: &Path, key: &StoreKey, unix_s: u64) -> Result<Restored, Error> {
        let backup = Self::open(from, key, Access::Read)?;
        backup.verify()?;
        backup.unique()?;
        self.write(|store, tx| {
            let failed = |error| store.sql(error);
            let mut subscribers = 0;
            // What is there now is needed for its sequence numbers while its rows are replaced.
            tx.batch("DELETE FROM home_key").map_err(failed)?;
            let mut there = std::collections::BTreeSet::new();
            backup.each(|record| {
                let before =
                    rows::get(tx, store.sealer, &record.supi).map_err(|e| store.rows(e))?;
                let record = match before {
                    Some(before) => not_before(record, &before, unix_s),
                    None => record,
                };
                rows::remove(tx, &record.supi).map_err(failed)?;
                store.insert(tx, &record)?;
                there.insert(record.supi);
                subscribers += 1;
                Ok(())
            })?;
            remove_others(tx, &there).map_err(failed)?;
            copy_home_keys(&backup.db, tx).map_err(failed)?;
            shared::home_keys(tx).map_err(failed)?;
            Ok(Restored {
                subscribers,
                damaged: None,
            })
        })
    }

    /// Restores a database that may be missing or damaged. A damaged one is kept beside it.
    ///
    /// # Errors
    /// As [`Store::restore`]; also when a core serves the database.
    pub fn restore_file(
        path: &Path,
        from: &Path,
        key: &StoreKey,
        unix_s: u64,
    ) -> Result<Restored, Error> {
        let opened = Self::open(path, key, Access::Serve).and_then(|store| {
            store.verify()?;
            Ok(store)
        });
        let set_aside = match opened {
            Ok(mut store) => return store.restore(from, key, unix_s),
            // The log of changes of one that is lost may still be there.
            Err(Error::Missing(_)) => logs(path).iter().any(|log| has_changes(log)),
            Err(Error::Damaged(..) | Error::Foreign(..)) => true,
            Err(other) => return Err(other),
        };
        // All that can be wrong is found with a file beside it.
        let beside = beside(path, "restored");
        let mut store = Self::create(&beside, key)?;
        let restored = store.restore(from, key, unix_s);
        let closed = store.close();
        let exchanged = restored.and_then(|mut restored| {
            closed?;
            if set_aside {
                restored.damaged = Some(set_aside_damaged(path)?);
            } else {
                // Empty, or an index: SQLite makes them anew.
                for log in logs(path) {
                    let _ = std::fs::remove_file(log);
                }
            }
            let moved = std::fs::rename(&beside, path).and_then(|()| sync_folder_of(path));
            moved.map_err(|error| Error::Io(path.to_owned(), error))?;
            Ok(restored)
        });
        if exchanged.is_err() {
            let _ = std::fs::remove_file(&beside);
            for log in logs(&beside) {
                let _ = std::fs::remove_file(log);
            }
        }
        exchanged
    }

    /// Whether no address is had twice.
    fn unique(&self) -> Result<(), Error> {
        let taken = rows::taken_addresses(&self.db, None).map_err(|error| self.sql(error))?;
        match taken.first() {
            None => Ok(()),
            Some(one) => Err(Error::Damaged(
                self.path.clone(),
                one.problem(&one.imsi).to_string(),
            )),
        }
    }
}

/// The record of a backup with a sequence number that is not below what has been used since, if the
/// SIM is the same.
fn not_before(record: Record, now: &Record, unix_s: u64) -> Record {
    let is_same = record.credentials.algorithm == now.credentials.algorithm;
    let (theirs, ours) = (record.sqn.bound(unix_s), now.sqn.bound(unix_s));
    let higher: Sqn = theirs.max(ours);
    let sqn = match is_same && ours > theirs {
        true => SqnState::new(higher, unix_s),
        false => record.sqn,
    };
    Record { sqn, ..record }
}

fn remove_others(
    tx: &Db,
    there: &std::collections::BTreeSet<sluice_ids::Supi>,
) -> Result<(), SqlError> {
    let is_there =
        |imsi: &str| sluice_ids::Supi::from_imsi(imsi).is_some_and(|s| there.contains(&s));
    for row in tx.query("SELECT imsi FROM subscriber", &[])? {
        let imsi = row.text(0)?;
        if !is_there(&imsi) {
            let delete = "DELETE FROM subscriber WHERE imsi = ?1";
            tx.execute(delete, &[imsi.as_str().into()])?;
            shared::removed(tx, &imsi)?;
        }
    }
    Ok(())
}

/// They are encrypted with the same key, for the same rows.
fn copy_home_keys(from: &Db, to: &Db) -> Result<(), SqlError> {
    let select = "SELECT id, profile, private, public FROM home_key";
    let insert = "INSERT INTO home_key (id, profile, private, public) VALUES (?1, ?2, ?3, ?4)";
    for row in from.query(select, &[])? {
        to.execute(insert, &row.0)?;
    }
    Ok(())
}

/// A database that cannot be read goes to a name of its own, and its log of changes with it: the one that
/// comes in its place must not find that.
fn set_aside_damaged(path: &Path) -> Result<PathBuf, Error> {
    let failed = |error| Error::Io(path.to_owned(), error);
    let to = beside(path, "damaged");
    let mut set_aside = to.clone();
    for suffix in LOGS.into_iter().chain([""]) {
        let from = with_suffix(path, suffix);
        let to = with_suffix(&to, suffix);
        match std::fs::rename(&from, &to) {
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Ok(()) => set_aside = to,
            Err(error) => return Err(failed(error)),
        }
    }
    Ok(set_aside)
}

/// Where SQLite has changes of a database; it would make them in whichever comes in its place.
fn logs(path: &Path) -> [PathBuf; 3] {
    LOGS.map(|suffix| with_suffix(path, suffix))
}

/// An index (-shm) alone has none.
fn has_changes(log: &Path) -> bool {
    let is_index = log.as_os_str().as_encoded_bytes().ends_with(b"-shm");
    !is_index && log.metadata().is_ok_and(|there| there.len() > 0)
}

fn is_there(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

/// A free name beside a file.
fn beside(path: &Path, what: &str) -> PathBuf {
    let name = |number: u32| with_suffix(path, &format!(".{what}-{number}"));
    let is_free = |name: &PathBuf| !is_there(name) && !logs(name).iter().any(|log| is_there(log));
    let free = (1..u32::MAX).map(name).find(is_free);
    free.unwrap_or_else(|| name(0))
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use sluice_ids::Supi;
    use sluice_security::{Credentials, K, Opc};

    fn record(k: u8, sequence: u64, unix_s: u64) -> Record {
        Record {
            supi: Supi::from_imsi("001010000000001").unwrap(),
            credentials: Credentials::milenage(K::new([k; 16]), Opc::new([2; 16])),
            sqn: SqnState::new(Sqn::new(sequence << 5), unix_s),
            profile: crate::record::Profile {
                barred: false,
                ambr_bps: (1_000, 1_000),
                slices: Vec::new(),
            },
        }
    }

    #[test]
    fn sequence_numbers_do_not_go_back_with_a_backup() {
        let sequence = |old: &Record, now: &Record| {
            not_before(old.clone(), now, 1_000)
                .sqn
                .bound(1_000)
                .sequence()
        };
        assert_eq!(sequence(&record(1, 5, 1_000), &record(1, 50, 1_000)), 50);
        assert_eq!(sequence(&record(1, 50, 1_000), &record(1, 5, 1_000)), 50);
        // Another SIM has taken none of them.
        assert_eq!(sequence(&record(1, 5, 1_000), &record(3, 50, 1_000)), 5);
    }

    #[test]
    fn a_name_beside_a_file_is_free() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("db");
        assert!(beside(&path, "damaged").ends_with("db.damaged-1"));
        std::fs::write(folder.path().join("db.damaged-1"), "").unwrap();
        assert!(beside(&path, "damaged").ends_with("db.damaged-2"));
    }
}
