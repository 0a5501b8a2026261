//! Contexts of UEs and sessions in LMDB, which outlive the core that stored them.
//!
//! The file is on a memory file system: it is there after the core was killed, and gone after the machine
//! was restarted, when UPFs and gNBs have lost what it is about as well. Keys of NAS are in it, so that
//! it is on no disk unless the operator wants that. All changes of a turn of the core are one transaction.
//! They are written to the page cache and not synchronised: that outlives a process and not a power cut.
//! What could not be stored makes the store stale: `mark.rs` has the next core learn that.

mod file_system;
mod mark;

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use heed::types::Bytes;
use heed::{Database, Env, EnvFlags, EnvOpenOptions, MdbError, RoTxn, WithoutTls};
use mark::Mark;
use rustix::fs::{FallocateFlags, fallocate};
use rustix::io::Errno;
use sluice_sbi::context_store::{Changes, Contexts, StoreFailure, Stored};

pub use file_system::is_in_memory;

/// Whose folder it is, held as long as the core runs.
const LOCK: &str = "core.lock";
/// One part of so many stays free: LMDB writes pages anew before it frees them, also to delete.
const SPARE: usize = 8;
/// Contexts that are deleted at a time where room is short.
const STEP: usize = 16;
/// The first pause after a failure; each further one is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
/// The longest pause.
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// Why contexts cannot be stored.
#[derive(Debug, thiserror::Error)]
pub enum ContextError {
    /// The folder cannot be used.
    #[error("{}: {error}", .0.display(), error = .1)]
    Folder(PathBuf, io::Error),
    /// The folder is on a disk, where keys of UEs would stay.
    #[error("{} is on a disk, and keys of UEs would stay there", .0.display())]
    OnDisk(PathBuf),
    /// Another core has the folder.
    #[error("{} is another core's", .0.display())]
    Busy(PathBuf),
    /// LMDB refuses.
    #[error("{}: {error}", .0.display(), error = .1)]
    Store(PathBuf, heed::Error),
}
/// How a store is opened.
#[derive(Clone, Debug)]
pub struct Opening {
    /// Its folder; it is made if it is missing, and nobody but its owner may look into it.
    pub folder: PathBuf,
    /// The most that it may take, in octets. On a memory file system what is not used takes nothing.
    pub most_octets: usize,
    /// Whether it may be on a disk, with the keys of all UEs.
    pub may_be_on_disk: bool,
}

/// Contexts in the folder of one core.
#[derive(Debug)]
pub struct ContextFile {
    env: Env<WithoutTls>,
    contexts: Database<Bytes, Bytes>,
    most_octets: usize,
    mark: Mark,
    was_behind: bool,
    is_on_disk: bool,
    pause: Option<Pause>,
    /// Behind `env`, so that the folder is free when LMDB has closed its file.
    _lock: FolderLock,
}

/// After a failure.
#[derive(Clone, Copy, Debug)]
struct Pause {
    until: Instant,
    length: Duration,
}

/// The lock of a folder. It ends with the process, however that ends.
#[derive(Debug)]
struct FolderLock(File);

impl Drop for FolderLock {
    /// Ends the lock itself: closing the file would leave it with a child that another thread has forked and
    /// that has not yet executed its program.
    fn drop(&mut self) {
        // The kernel refuses this for no open file; if it did, closing the file follows.
        let _ = self.0.unlock();
    }
}

impl ContextFile {
    /// Opens a folder, or makes one. What is in one whose core could not store all is deleted: UEs may have used
    /// counts of NAS that are not stored, and a later core would use them again.
    ///
    /// # Errors
    /// [`ContextError::OnDisk`] and [`ContextError::Busy`], and what the kernel or LMDB says.
    pub fn open(opening: &Opening) -> Result<Self, ContextError> {
        let folder = &opening.folder;
        let at = |error| ContextError::Folder(folder.clone(), error);
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder)
            .map_err(at)?;
        let is_on_disk = !is_in_memory(folder).map_err(at)?;
        if is_on_disk && !opening.may_be_on_disk {
            return Err(ContextError::OnDisk(folder.clone()));
        }
        fs::set_permissions(folder, fs::Permissions::from_mode(0o700)).map_err(at)?;
        let lock = lock(folder)?;
        let (mark, was_behind) = Mark::open(folder).map_err(at)?;
        reserve_locks(folder).map_err(at)?;
        let wrong = |error| ContextError::Store(folder.clone(), error);
        let env = open_env(folder, opening.most_octets).map_err(wrong)?;
        let mut txn = env.write_txn().map_err(wrong)?;
        let contexts = env.create_database(&mut txn, None).map_err(wrong)?;
        txn.commit().map_err(wrong)?;
        Ok(Self {
            env,
            contexts,
            most_octets: opening.most_octets,
            mark,
            was_behind,
            is_on_disk,
            pause: None,
            _lock: lock,
        })
    }

    /// Whether there were contexts that could not be trusted, and were deleted.
    pub fn was_behind(&self) -> bool {
        self.was_behind
    }

    /// Whether it is on a disk, which may take its time.
    pub fn is_on_disk(&self) -> bool {
        self.is_on_disk
    }

    /// All that is stored.
    ///
    /// # Errors
    /// What LMDB says.
    pub fn all(&self) -> Result<Stored, ContextError> {
        let wrong = |error| ContextError::Store(self.env.path().to_owned(), error);
        let txn = self.env.read_txn().map_err(wrong)?;
        let all = self.contexts.iter(&txn).map_err(wrong)?;
        all.map(|entry| entry.map(|(key, value)| (key.to_vec(), value.to_vec())))
            .collect::<Result<Stored, heed::Error>>()
            .map_err(wrong)
    }

    /// In one transaction.
    fn store<'a>(&self, changes: impl Iterator<Item = Change<'a>>) -> heed::Result<()> {
        let mut txn = self.env.write_txn()?;
        let before = self.taken_octets(&txn)?;
        for (key, value) in changes {
            match value {
                Some(value) => self.contexts.put(&mut txn, key, value)?,
                None => {
                    self.contexts.delete(&mut txn, key)?;
                }
            }
        }
        let taken = self.taken_octets(&txn)?;
        if taken > before && taken > self.most_octets - self.most_octets / SPARE {
            return Err(MdbError::MapFull.into());
        }
        txn.commit()
    }

    fn taken_octets(&self, txn: &RoTxn<'_>) -> heed::Result<usize> {
        let stat = self.contexts.stat(txn)?;
        let pages = stat.branch_pages + stat.leaf_pages + stat.overflow_pages;
        Ok(pages * stat.page_size as usize)
    }

    /// The same where that had no room: what goes, goes first, a few at a time, since a transaction has no use of
    /// the pages that it frees.
    fn store_in_steps(&self, changes: &Changes) -> heed::Result<()> {
        let gone: Vec<Change<'_>> = changes.iter().filter(|(_, it)| it.is_none()).collect();
        let (mut left, mut step) = (&gone[..], STEP);
        while !left.is_empty() {
            let (first, rest) = left.split_at(step.min(left.len()));
            match self.store(first.iter().copied()) {
                Ok(()) => left = rest,
                Err(error) if step == 1 => return Err(error),
                Err(_) => step /= 2,
            }
        }
        self.turn_over()?;
        self.store(changes.iter().filter(|(_, it)| it.is_some()))
    }

    /// Stores the first context once more: pages are free two transactions after the one that has freed them.
    fn turn_over(&self) -> heed::Result<()> {
        let mut txn = self.env.write_txn()?;
        let first = self.contexts.first(&txn)?;
        let first = first.map(|(key, value)| (key.to_vec(), value.to_vec()));
        if let Some((key, value)) = first {
            self.contexts.put(&mut txn, &key, &value)?;
        }
        txn.commit()
    }

    /// Something is not stored: the mark says so before what follows from it leaves.
    fn failed(&mut self, changes: &Changes, error: heed::Error) -> Result<(), StoreFailure> {
        let marked = self.mark.set(true);
        let has_gone = changes.values().any(Option::is_none);
        let stored = match marked.is_ok() && has_gone {
            true => self.store_in_steps(changes),
            false => Err(error),
        };
        let Err(error) = stored else {
            return Ok(());
        };
        let length = match self.pause {
            Some(before) => (before.length * 2).min(LONGEST_PAUSE),
            None => FIRST_PAUSE,
        };
        let until = Instant::now() + length;
        self.pause = Some(Pause { until, length });
        let folder = self.env.path().display();
        let mut why = match error {
            heed::Error::Mdb(MdbError::MapFull) => {
                let most_mib = self.most_octets >> 20;
                format!("{folder} is full: contexts may take {most_mib} MiB")
            }
            error => format!("{folder}: {error}"),
        };
        if let Err(error) = marked {
            why = format!("{why}; the next core will not know that: {error}");
        }
        Err(StoreFailure::NotStored(why))
    }
}

/// A key and its value; none deletes it.
type Change<'a> = (&'a Vec<u8>, &'a Option<Vec<u8>>);

impl Contexts for ContextFile {
    fn put(&mut self, changes: &Changes) -> Result<(), StoreFailure> {
        if let Err(error) = self.store(changes.iter()) {
            self.failed(changes, error)?;
        }
        self.pause = None;
        let marked = self.mark.set(false);
        marked.map_err(|error| {
            let folder = self.env.path().display();
            let why = format!("{folder}: the next core will not trust what is stored: {error}");
            StoreFailure::StoredWeakly(why)
        })
    }

    fn may_have(&self, key: &[u8]) -> bool {
        let txn = self.env.read_txn();
        let found = txn.and_then(|txn| Ok(self.contexts.get(&txn, key)?.is_some()));
        found.unwrap_or(true)
    }

    fn is_paused(&self) -> bool {
        self.pause.is_some_and(|pause| Instant::now() < pause.until)
    }
}

/// One core alone has a folder.
fn lock(folder: &Path) -> Result<FolderLock, ContextError> {
    let at = |error| ContextError::Folder(folder.to_owned(), error);
    let file = OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .mode(0o600)
        .open(folder.join(LOCK))
        .map_err(at)?;
    match file.try_lock() {
        Ok(()) => Ok(FolderLock(file)),
        Err(fs::TryLockError::WouldBlock) => Err(ContextError::Busy(folder.to_owned())),
        Err(fs::TryLockError::Error(error)) => Err(at(error)),
    }
}

/// LMDB writes its locks through a map of a file that it makes longer: without room for that page the process would end
/// by SIGBUS.
fn reserve_locks(folder: &Path) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.create(true).truncate(false).write(true).mode(0o600);
    let locks = options.open(folder.join("lock.mdb"))?;
    match fallocate(locks, FallocateFlags::empty(), 0, 4_096) {
        // A file system of a disk that cannot promise room.
        Err(Errno::OPNOTSUPP) => Ok(()),
        reserved => Ok(reserved?),
    }
}

/// Without synchronisation, and without a map that could be written by accident.
fn open_env(folder: &Path, most_octets: usize) -> heed::Result<Env<WithoutTls>> {
    let mut options = EnvOpenOptions::new().read_txn_without_tls();
    options.map_size(most_octets).max_dbs(1).max_readers(4);
    // SAFETY: NO_SYNC gives up durability when the machine stops, which the store does not promise; LMDB
    // keeps its file whole when a process is killed, since the kernel has all that was written.
    unsafe { options.flags(EnvFlags::NO_SYNC) };
    // SAFETY: the map is sound as long as nobody else changes the file: the folder is its owner's alone,
    // and the lock that the caller holds keeps other cores away; it is opened once in a process.
    unsafe { options.open(folder) }
}
