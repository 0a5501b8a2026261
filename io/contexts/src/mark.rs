//! Mark of a store: whether it has all that its core has told UEs, gNBs and UPFs, so that the next core may trust it.
//!
//! It is a file whose name says so: a store that is full can still rename it.

use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Its name while all is stored.
const CURRENT: &str = "current";
/// Its name while something is not stored, and what follows from it has left.
const BEHIND: &str = "behind";
/// The files of LMDB.
const FILES: [&str; 2] = ["data.mdb", "lock.mdb"];

/// The mark in the folder of one core.
#[derive(Debug)]
pub(crate) struct Mark {
    folder: PathBuf,
    is_behind: bool,
}

impl Mark {
    /// Looks for the mark, before LMDB opens its files and behind the lock of the folder. A store that is behind
    /// is emptied; whether it was.
    pub(crate) fn open(folder: &Path) -> io::Result<(Self, bool)> {
        let was_behind = folder.join(BEHIND).try_exists()?;
        if was_behind {
            // The mark stays until all is gone, for a core that is killed meanwhile.
            for name in FILES {
                match fs::remove_file(folder.join(name)) {
                    Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
                    _ => {}
                }
            }
            fs::rename(folder.join(BEHIND), folder.join(CURRENT))?;
        } else {
            make(&folder.join(CURRENT))?;
        }
        let mark = Self {
            folder: folder.to_owned(),
            is_behind: false,
        };
        Ok((mark, was_behind))
    }

    /// Says it from now on.
    pub(crate) fn set(&mut self, is_behind: bool) -> io::Result<()> {
        if self.is_behind == is_behind {
            return Ok(());
        }
        let (from, to) = match is_behind {
            true => (CURRENT, BEHIND),
            false => (BEHIND, CURRENT),
        };
        let to = self.folder.join(to);
        match fs::rename(self.folder.join(from), &to) {
            // Somebody has taken it away.
            Err(error) if error.kind() == ErrorKind::NotFound => make(&to)?,
            renamed => renamed?,
        }
        self.is_behind = is_behind;
        Ok(())
    }
}

fn make(file: &Path) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.create(true).truncate(false).write(true).mode(0o600);
    options.open(file).map(drop)
}
