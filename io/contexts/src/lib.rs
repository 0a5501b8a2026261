//! Contexts of UEs and sessions in LMDB, which outlive the core that stored them.
//!
//! The file is on a memory file system: it is there after the core was killed, and gone after the machine
//! was restarted, when UPFs and gNBs have lost what it is about as well. Keys of NAS are in it, so that
//! it is on no disk unless the operator wants that. All changes of a turn of the core are one transaction.
//! They are written to the page cache and not synchronised: that outlives a process and not a power cut.

mod file_system;

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use heed::types::Bytes;
use heed::{Database, Env, EnvFlags, EnvOpenOptions, WithoutTls};
use sluice_sbi::kept::{Changes, Contexts, StoreFailure, Stored};

pub use file_system::is_in_memory;

/// Whose folder it is, held as long as the core runs.
const LOCK: &str = "core.lock";

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
    /// Behind `env`, so that the folder is free when LMDB has closed its file.
    _lock: FolderLock,
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
    /// Opens a folder, or makes one.
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
        if !opening.may_be_on_disk && !is_in_memory(folder).map_err(at)? {
            return Err(ContextError::OnDisk(folder.clone()));
        }
        fs::set_permissions(folder, fs::Permissions::from_mode(0o700)).map_err(at)?;
        let lock = lock(folder)?;
        let wrong = |error| ContextError::Store(folder.clone(), error);
        let env = open_env(folder, opening.most_octets).map_err(wrong)?;
        let mut txn = env.write_txn().map_err(wrong)?;
        let contexts = env.create_database(&mut txn, None).map_err(wrong)?;
        txn.commit().map_err(wrong)?;
        Ok(Self {
            env,
            contexts,
            _lock: lock,
        })
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

    fn store(&self, changes: &Changes) -> Result<(), heed::Error> {
        let mut txn = self.env.write_txn()?;
        for (key, value) in changes {
            match value {
                Some(value) => self.contexts.put(&mut txn, key, value)?,
                None => {
                    self.contexts.delete(&mut txn, key)?;
                }
            }
        }
        txn.commit()
    }
}

impl Contexts for ContextFile {
    fn put(&mut self, changes: &Changes) -> Result<(), StoreFailure> {
        self.store(changes)
            .map_err(|error| StoreFailure::NotStored(error.to_string()))
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
