//! Why something was not done with a database: each says what it is about, and what helps.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use rusqlite::ErrorCode;
use sluice_ids::Supi;

use crate::key_file::KeyError;
use crate::problem::{Problem, Problems};

/// Why something was not done. Nothing has changed then.
#[derive(Debug)]
pub enum Error {
    /// What was asked for is wrong.
    Problems(Problems),
    /// There is no such subscriber.
    NotFound(Supi),
    /// There are as many subscribers as a core takes.
    Full,
    /// There is a file already.
    Exists(PathBuf),
    /// There is no file.
    Missing(PathBuf),
    /// Somebody else has it locked.
    Busy(PathBuf),
    /// It is something else.
    Foreign(PathBuf, String),
    /// It was written by a later release.
    Newer(PathBuf, u32),
    /// It was written by an earlier release and would have to be changed.
    Older(PathBuf, u32),
    /// Its keys are encrypted with another key.
    WrongKey(PathBuf),
    /// What it says cannot be.
    Damaged(PathBuf, String),
    /// The key file.
    Key(KeyError),
    /// The kernel refuses.
    Io(PathBuf, io::Error),
    /// The database's own program refuses.
    Sql(PathBuf, String),
    /// A server cannot be reached.
    Lost(PathBuf, String),
    /// A server takes no connection of this user.
    Refused(PathBuf, String),
    /// Others change it for too long.
    Waited(PathBuf),
}

impl Error {
    /// Of what a draft's check has found.
    pub(crate) fn of(found: Vec<Problem>) -> Self {
        let mut problems = Problems::default();
        found.into_iter().for_each(|problem| problems.push(problem));
        Self::Problems(problems)
    }

    pub(super) fn sql(path: &Path, error: rusqlite::Error) -> Self {
        let path = path.to_owned();
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Busy(path),
            Some(ErrorCode::NotADatabase) => Self::Foreign(path, "no SQLite database".to_owned()),
            Some(ErrorCode::DatabaseCorrupt) => Self::Damaged(path, error.to_string()),
            _ => Self::Sql(path, error.to_string()),
        }
    }

    /// Whether the caller asked for something wrong, rather than that the database cannot do it.
    pub fn is_of_request(&self) -> bool {
        matches!(self, Self::Problems(_) | Self::NotFound(_) | Self::Full)
    }
}

impl From<Problem> for Error {
    fn from(problem: Problem) -> Self {
        Self::Problems(problem.into())
    }
}

impl From<Problems> for Error {
    fn from(problems: Problems) -> Self {
        Self::Problems(problems)
    }
}

impl From<KeyError> for Error {
    fn from(error: KeyError) -> Self {
        Self::Key(error)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = |path: &PathBuf| path.display().to_string();
        match self {
            Self::Problems(problems) => problems.fmt(f),
            Self::NotFound(supi) => write!(f, "there is no subscriber {}", supi.imsi()),
            Self::Full => write!(
                f,
                "there are {} subscribers, which is the most that a core takes",
                sluice_udr::SUBSCRIBERS
            ),
            Self::Exists(path) => write!(f, "{} exists already", at(path)),
            Self::Missing(path) => write!(
                f,
                "there is no database of subscribers in {}; `sluice ctl subscribers init` makes one",
                at(path)
            ),
            Self::Busy(path) => write!(
                f,
                "{} is in use: ask the core that serves it (without --file), or stop it first",
                at(path)
            ),
            Self::Foreign(path, what) => {
                write!(f, "{} is no database of subscribers: {what}", at(path))
            }
            Self::Newer(path, version) => write!(
                f,
                "{} was written by a later release (version {version}); this one knows version {}",
                at(path),
                super::schema::VERSION
            ),
            Self::Older(path, version) => write!(
                f,
                "{} was written by an earlier release (version {version}); start the core, or change something with \
                 --file, to bring it up to date",
                at(path)
            ),
            Self::WrongKey(path) => write!(
                f,
                "the keys in {} were encrypted with another key; expected the key file that it was made with",
                at(path)
            ),
            Self::Damaged(path, what) => write!(
                f,
                "{} is damaged: {what}; `sluice ctl subscribers restore` brings back a backup",
                at(path)
            ),
            Self::Key(error) => error.fmt(f),
            Self::Io(path, error) => write!(f, "{}: {error}", at(path)),
            Self::Sql(path, error) => write!(f, "{}: {error}", at(path)),
            Self::Lost(path, why) => write!(
                f,
                "{} cannot be reached: {why}; expected a PostgreSQL server that takes connections of this user",
                at(path)
            ),
            Self::Refused(path, why) => write!(f, "{} takes no connection: {why}", at(path)),
            Self::Waited(path) => write!(
                f,
                "{} is being changed by others for too long; ask again",
                at(path)
            ),
        }
    }
}

impl std::error::Error for Error {}
