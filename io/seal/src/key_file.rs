//! A key that records are encrypted with, in a file that only its owner can read.

use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::rand::{GetRandomFlags, getrandom};
use zeroize::Zeroizing;

use crate::hex;

/// What a key is for: a key of one use is none of another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KeyUse {
    /// What the file begins with, before 64 hexadecimal digits.
    head: &'static str,
    /// How one gets such a file, as the end of a sentence.
    origin: &'static str,
}

/// Keys of subscribers and of the home network in a database.
pub const SUBSCRIBERS: KeyUse = KeyUse {
    head: "sluice-subscribers-key-1:",
    origin: "`sluice ctl subscribers init` makes one for a new database, and a database \
             that exists needs the one that it was made with",
};

/// Contexts of UEs and sessions; cores that follow each other need the same.
pub const CONTEXTS: KeyUse = KeyUse {
    head: "",
    origin: "`openssl rand -hex 32` writes one for new contexts, and a core that goes on with contexts \
             needs the one that they were stored with",
};

/// More is no key file.
const LONGEST: u64 = 256;

/// The only mode of a key file.
pub const MODE: u32 = 0o600;

/// The key. It is wiped when it is dropped, and does not print.
#[derive(Clone)]
pub struct StoreKey(Zeroizing<[u8; 32]>);

impl fmt::Debug for StoreKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StoreKey")
    }
}

/// Why there is no key. Each says what to do.
#[derive(Debug)]
pub enum KeyError {
    /// There is a file already.
    Exists(PathBuf),
    /// There is no file of this use.
    Missing(PathBuf, KeyUse),
    /// Others than its owner may read or write it.
    Mode(PathBuf, u32),
    /// It belongs to another user.
    Owner(PathBuf, u32),
    /// It has no key of this use.
    Form(PathBuf, KeyUse),
    /// The kernel refuses.
    Io(PathBuf, io::Error),
}

impl fmt::Display for KeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exists(path) => write!(
                f,
                "{} exists already and is never overwritten: what was encrypted with it could not be read any more",
                path.display()
            ),
            Self::Missing(path, KeyUse { origin, .. }) => {
                write!(f, "there is no key file {}; {origin}", path.display())
            }
            Self::Mode(path, mode) => write!(
                f,
                "{} has mode {mode:04o}, so that others may read or change it; expected {MODE:04o} (chmod 600)",
                path.display()
            ),
            Self::Owner(path, uid) => write!(
                f,
                "{} belongs to user {uid}; expected the user that runs this, or root",
                path.display()
            ),
            Self::Form(path, KeyUse { head: "", .. }) => write!(
                f,
                "{} is no key file; expected one line of 64 hexadecimal digits",
                path.display()
            ),
            Self::Form(path, KeyUse { head, .. }) => write!(
                f,
                "{} is no key file; expected one line of `{head}` and 64 hexadecimal digits",
                path.display()
            ),
            Self::Io(path, error) => write!(f, "{}: {error}", path.display()),
        }
    }
}

impl std::error::Error for KeyError {}

impl StoreKey {
    /// Of 32 octets.
    pub fn new(octets: [u8; 32]) -> Self {
        Self(Zeroizing::new(octets))
    }

    /// Makes a key of the kernel's random numbers for subscribers and writes it to a new file of mode 0600.
    ///
    /// # Errors
    /// When there is a file already, or it cannot be written.
    pub fn create(path: &Path) -> Result<Self, KeyError> {
        let failed = |error| KeyError::Io(path.to_owned(), error);
        let mut octets = Zeroizing::new([0; 32]);
        random(&mut *octets).map_err(failed)?;
        let key = Self(octets);
        let file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(MODE)
            .open(path);
        let mut file = file.map_err(|error| match error.kind() {
            ErrorKind::AlreadyExists => KeyError::Exists(path.to_owned()),
            _ => failed(error),
        })?;
        let line = Zeroizing::new(format!(
            "{}{}\n",
            SUBSCRIBERS.head,
            *Zeroizing::new(hex::write(key.octets()))
        ));
        let written = file
            .write_all(line.as_bytes())
            .and_then(|()| file.sync_all())
            .and_then(|()| sync_folder_of(path));
        if let Err(error) = written {
            // Half a key is worse than none: it would stand in the way of the next try.
            let _ = std::fs::remove_file(path);
            return Err(failed(error));
        }
        Ok(key)
    }

    /// Reads a key of subscribers from its file.
    ///
    /// # Errors
    /// When others may read the file, or it is no key file.
    pub fn read(path: &Path) -> Result<Self, KeyError> {
        Self::read_for(SUBSCRIBERS, path)
    }

    /// Reads a key of some use from its file.
    ///
    /// # Errors
    /// When others may read the file, or it is no key file of this use.
    pub fn read_for(of: KeyUse, path: &Path) -> Result<Self, KeyError> {
        let failed = |error| KeyError::Io(path.to_owned(), error);
        let file = File::open(path).map_err(|error| match error.kind() {
            ErrorKind::NotFound => KeyError::Missing(path.to_owned(), of),
            _ => failed(error),
        })?;
        // Of the file that is open, not of one that may lie there a moment later.
        let there = file.metadata().map_err(failed)?;
        if !there.is_file() {
            return Err(KeyError::Form(path.to_owned(), of));
        }
        let mode = there.mode() & 0o7777;
        if mode != MODE {
            return Err(KeyError::Mode(path.to_owned(), mode));
        }
        let us = rustix::process::geteuid().as_raw();
        if there.uid() != us && there.uid() != 0 {
            return Err(KeyError::Owner(path.to_owned(), there.uid()));
        }
        let mut text = Zeroizing::new(String::with_capacity(LONGEST as usize));
        let read = file.take(LONGEST).read_to_string(&mut text);
        read.map_err(|error| match error.kind() {
            ErrorKind::InvalidData => KeyError::Form(path.to_owned(), of),
            _ => failed(error),
        })?;
        let digits = text.strip_prefix(of.head).map(str::trim_end);
        let octets = digits.and_then(hex::read::<32>);
        octets
            .map(Self)
            .ok_or_else(|| KeyError::Form(path.to_owned(), of))
    }

    pub(crate) fn octets(&self) -> &[u8; 32] {
        &self.0
    }
}

/// Random octets of the kernel.
///
/// # Errors
/// The kernel's reason.
pub fn random(mut octets: &mut [u8]) -> io::Result<()> {
    while !octets.is_empty() {
        match getrandom(&mut *octets, GetRandomFlags::empty()) {
            Ok(filled) => octets = octets.get_mut(filled..).unwrap_or_default(),
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// A new name in a folder is on disk once the folder is.
///
/// # Errors
/// The kernel's reason.
pub fn sync_folder_of(path: &Path) -> io::Result<()> {
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_key_file_is_made_once_and_read_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        assert!(matches!(StoreKey::read(&path), Err(KeyError::Missing(..))));
        let key = StoreKey::create(&path).unwrap();
        let mode = path.metadata().unwrap().permissions().mode() & 0o7777;
        assert_eq!(mode, 0o600);
        assert_eq!(StoreKey::read(&path).unwrap().octets(), key.octets());
        let before = std::fs::read(&path).unwrap();
        let again = StoreKey::create(&path).unwrap_err();
        assert!(again.to_string().contains("never overwritten"), "{again}");
        assert_eq!(std::fs::read(&path).unwrap(), before);
        assert_eq!(format!("{key:?}"), "StoreKey");
    }

    #[test]
    fn a_key_file_that_others_may_read_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        StoreKey::create(&path).unwrap();
        for mode in [0o644, 0o640, 0o660, 0o666, 0o700, 0o604] {
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            let refused = StoreKey::read(&path).unwrap_err().to_string();
            assert!(refused.contains(&format!("mode {mode:04o}")), "{refused}");
            assert!(refused.contains("expected 0600"), "{refused}");
        }
    }

    #[test]
    fn a_file_without_a_key_is_refused_and_not_shown() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        let long = format!("{}{}", SUBSCRIBERS.head, "0".repeat(1000));
        for text in ["", "secret", &format!("{}secret", SUBSCRIBERS.head), &long] {
            std::fs::write(&path, text).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(MODE)).unwrap();
            let refused = StoreKey::read(&path).unwrap_err();
            assert!(matches!(refused, KeyError::Form(..)), "{text}: {refused}");
            assert!(!refused.to_string().contains("secret"));
        }
        std::fs::write(&path, [0xff; 90]).unwrap();
        assert!(matches!(StoreKey::read(&path), Err(KeyError::Form(..))));
        assert!(matches!(
            StoreKey::read(folder.path()),
            Err(KeyError::Form(..))
        ));
    }

    #[test]
    fn a_key_of_one_use_is_none_of_another() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        let missing = StoreKey::read_for(CONTEXTS, &path).unwrap_err().to_string();
        assert!(missing.contains("openssl rand -hex 32"), "{missing}");
        StoreKey::create(&path).unwrap();
        let refused = StoreKey::read_for(CONTEXTS, &path).unwrap_err();
        assert!(matches!(refused, KeyError::Form(..)), "{refused}");
        std::fs::write(&path, format!("{}\n", "1f".repeat(32))).unwrap();
        let key = StoreKey::read_for(CONTEXTS, &path).unwrap();
        assert_eq!(key.octets(), &[0x1f; 32]);
        assert!(matches!(StoreKey::read(&path), Err(KeyError::Form(..))));
    }
}
