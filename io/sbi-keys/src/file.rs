//! Files of keys and certificates (PEM): modes of secret ones are checked, and all are read again when they change.

use std::fmt::Display;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use zeroize::Zeroizing;

/// File that cannot be used.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum FileError {
    /// Reading fails.
    #[error("cannot read {}: {why}", file.display())]
    Read {
        /// File.
        file: PathBuf,
        /// Reason.
        why: String,
    },
    /// Other users can read the private key.
    #[error("{} can be read by others (mode {mode:03o}); chmod 600 takes that away", file.display())]
    Mode {
        /// File.
        file: PathBuf,
        /// Mode of the file.
        mode: u32,
    },
    /// The content does not fit.
    #[error("cannot use {}: {why}", file.display())]
    Use {
        /// File.
        file: PathBuf,
        /// Reason.
        why: String,
    },
}

impl FileError {
    /// The content of a file does not fit.
    pub fn unusable(file: &Path, why: &dyn Display) -> Self {
        Self::Use {
            file: file.to_owned(),
            why: why.to_string(),
        }
    }

    fn unreadable(file: &Path, why: &io::Error) -> Self {
        Self::Read {
            file: file.to_owned(),
            why: why.to_string(),
        }
    }
}

/// A file that differs in this has changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stamp {
    inode: u64,
    octets: u64,
    changed: (i64, i64),
    mode: u32,
}

impl Stamp {
    /// Of a file as it is now; none if it is not there.
    pub fn of(file: &Path) -> Option<Self> {
        let stamp = |data: Metadata| Self {
            inode: data.ino(),
            octets: data.len(),
            changed: (data.mtime(), data.mtime_nsec()),
            mode: data.mode(),
        };
        fs::metadata(file).ok().map(stamp)
    }
}

/// Content of a file.
///
/// # Errors
/// The kernel's.
pub fn read(file: &Path) -> Result<Vec<u8>, FileError> {
    fs::read(file).map_err(|e| FileError::unreadable(file, &e))
}

/// Content of a file that its owner alone may read.
///
/// # Errors
/// Others may read it, or the kernel's.
pub fn read_secret(file: &Path) -> Result<Zeroizing<Vec<u8>>, FileError> {
    let metadata = fs::metadata(file).map_err(|e| FileError::unreadable(file, &e))?;
    let mode = metadata.mode() & 0o777;
    if mode & 0o077 != 0 {
        let file = file.to_owned();
        return Err(FileError::Mode { file, mode });
    }
    read(file).map(Zeroizing::new)
}

/// Value of a file, which is read again when it changes. A file that changed and cannot be used leaves the value as it was.
#[derive(Debug)]
pub struct Watched<T> {
    file: PathBuf,
    read: fn(&Path) -> Result<T, FileError>,
    stamp: Option<Stamp>,
    value: T,
}

impl<T> Watched<T> {
    /// Reads a file.
    ///
    /// # Errors
    /// The file cannot be used.
    pub fn open(file: &Path, read: fn(&Path) -> Result<T, FileError>) -> Result<Self, FileError> {
        let stamp = Stamp::of(file);
        Ok(Self {
            file: file.to_owned(),
            read,
            stamp,
            value: read(file)?,
        })
    }

    /// Reads the file again if it has changed; whether there is another value.
    ///
    /// # Errors
    /// The file changed and cannot be used, once for each change.
    pub fn look(&mut self) -> Result<bool, FileError> {
        let stamp = Stamp::of(&self.file);
        if stamp == self.stamp {
            return Ok(false);
        }
        self.stamp = stamp;
        self.value = (self.read)(&self.file)?;
        Ok(true)
    }

    /// Value of the file as it was last when it could be used.
    pub fn value(&self) -> &T {
        &self.value
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    fn number(file: &Path) -> Result<u32, FileError> {
        let text = read(file)?;
        let text = String::from_utf8_lossy(&text);
        text.parse().map_err(|e| FileError::unusable(file, &e))
    }

    #[test]
    fn a_file_is_read_again_and_a_wrong_one_changes_nothing() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("number");
        assert!(matches!(
            Watched::open(&file, number),
            Err(FileError::Read { .. })
        ));
        fs::write(&file, "1").expect("a file");
        let mut watched = Watched::open(&file, number).expect("a number");
        assert_eq!(watched.look(), Ok(false));
        fs::write(&file, "twenty").expect("a file");
        let trouble = watched.look().expect_err("a wrong file").to_string();
        assert!(trouble.contains("number"), "{trouble}");
        assert_eq!((watched.look(), *watched.value()), (Ok(false), 1));
        fs::write(&file, "20").expect("a file");
        assert_eq!((watched.look(), *watched.value()), (Ok(true), 20));
    }

    #[test]
    fn a_secret_that_others_may_read_is_none() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("secret");
        fs::write(&file, "x").expect("a file");
        let set_mode = |mode| fs::set_permissions(&file, fs::Permissions::from_mode(mode));
        set_mode(0o640).expect("own file");
        let why = read_secret(&file).expect_err("others read it").to_string();
        assert!(why.contains("mode 640"), "{why}");
        set_mode(0o600).expect("own file");
        assert_eq!(read_secret(&file).expect("a secret").as_slice(), b"x");
    }
}
