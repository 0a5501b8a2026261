//! Users file: a line for each user with name, role and hash of the password; mode 0600, replaced as a whole.

use crate::password;
use std::collections::BTreeMap;
use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

/// Rights of a user. Each role may do what the one before it may.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Role {
    /// Sees everything but keys.
    Viewer,
    /// Changes UEs, sessions and subscribers.
    Operator,
    /// Changes users, home network keys and the core itself.
    Admin,
}

impl Role {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Viewer, Self::Operator, Self::Admin];

    /// Word of the role.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Viewer => "viewer",
            Self::Operator => "operator",
            Self::Admin => "admin",
        }
    }

    /// Of a word.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.name() == name)
    }
}

/// A user, without the name.
#[derive(Clone, PartialEq, Eq)]
pub struct User {
    /// Role of the user.
    pub role: Role,
    /// Hash of its password.
    pub hash: String,
}

impl fmt::Debug for User {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("User")
            .field("role", &self.role)
            .finish_non_exhaustive()
    }
}

/// Users by their names.
pub type Users = BTreeMap<String, User>;

/// Most users.
pub const USERS_MAX: usize = 1000;
/// Longer than any users file.
const FILE_MAX: u64 = 1 << 20;
const MODE: u32 = 0o600;
const HEAD: &str = "# Users of Sluice's screen: name, role (viewer, operator, admin), argon2id hash of the password.\n\
                    # Changed by `sluice ctl users` and by the screen.\n";

/// Reason why a users file is not used.
#[derive(Debug)]
pub enum UsersError {
    /// There is none.
    Missing(PathBuf),
    /// Others than its owner may read or write it.
    Mode(PathBuf, u32),
    /// The file belongs to another user of the machine.
    Owner(PathBuf, u32),
    /// A line is no user.
    Line(PathBuf, usize, &'static str),
    /// The file has too many users.
    Full,
    /// Without an admin nobody could change users.
    NoAdmin,
    /// There is no user of the name.
    Unknown(String),
    /// A name or a password cannot be used.
    Unfit(&'static str),
    /// The kernel refuses.
    Io(PathBuf, io::Error),
}

impl fmt::Display for UsersError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing(path) => write!(f, "there is no users file {}", path.display()),
            Self::Mode(path, mode) => {
                write!(
                    f,
                    "{} can be read by others (mode {mode:03o})",
                    path.display()
                )
            }
            Self::Owner(path, uid) => write!(f, "{} belongs to user {uid}", path.display()),
            Self::Line(path, line, what) => write!(f, "{}:{line}: {what}", path.display()),
            Self::Full => write!(f, "there are {USERS_MAX} users already"),
            Self::NoAdmin => write!(f, "no user would be left who is an admin"),
            Self::Unknown(name) => write!(f, "there is no user '{name}'"),
            Self::Unfit(what) => write!(f, "{what}"),
            Self::Io(path, error) => write!(f, "{}: {error}", path.display()),
        }
    }
}

impl std::error::Error for UsersError {}

/// Whether a name can be a user's.
pub fn is_name(name: &str) -> bool {
    let is_fit = |c: u8| c.is_ascii_alphanumeric() || b"-_.@".contains(&c);
    (1..=64).contains(&name.len()) && name.bytes().all(is_fit)
}

/// A users file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UsersFile(pub PathBuf);

impl UsersFile {
    /// All users.
    ///
    /// # Errors
    /// The file is missing, faulty, or not its owner's alone.
    pub fn read(&self) -> Result<Users, UsersError> {
        let failed = |error| UsersError::Io(self.0.clone(), error);
        let file = File::open(&self.0).map_err(|error| match error.kind() {
            ErrorKind::NotFound => UsersError::Missing(self.0.clone()),
            _ => failed(error),
        })?;
        // Of the file that is open, not of one that may lie there a moment later.
        let there = file.metadata().map_err(failed)?;
        if there.mode() & 0o077 != 0 {
            return Err(UsersError::Mode(self.0.clone(), there.mode() & 0o777));
        }
        let us = rustix::process::geteuid().as_raw();
        if there.uid() != us && there.uid() != 0 {
            return Err(UsersError::Owner(self.0.clone(), there.uid()));
        }
        let mut text = String::new();
        file.take(FILE_MAX)
            .read_to_string(&mut text)
            .map_err(failed)?;
        let users = of_text(&text);
        users.map_err(|(line, what)| UsersError::Line(self.0.clone(), line, what))
    }

    /// Adds a user, or gives one another role, another password, or both. The first user makes the file.
    ///
    /// # Errors
    /// As [`read`](Self::read); or the user is not fit, or was the last admin.
    pub fn set(
        &self,
        name: &str,
        role: Option<Role>,
        password: Option<&str>,
    ) -> Result<Role, UsersError> {
        if !is_name(name) {
            let what = "a name has 1 to 64 letters, digits and - _ . @";
            return Err(UsersError::Unfit(what));
        }
        let hash = password.map(|password| {
            password::check(password).map_err(UsersError::Unfit)?;
            password::hash(password).ok_or(UsersError::Unfit("the password cannot be hashed"))
        });
        let hash = hash.transpose()?;
        self.change(|users| {
            let known = users.get(name).cloned();
            let lacking = "a new user needs a password";
            let hash = hash.or_else(|| known.as_ref().map(|user| user.hash.clone()));
            let hash = hash.ok_or(UsersError::Unfit(lacking))?;
            let role = role.or_else(|| known.map(|user| user.role));
            let role = role.ok_or(UsersError::Unfit("a new user needs a role"))?;
            users.insert(name.to_owned(), User { role, hash });
            Ok(role)
        })
    }

    /// Removes a user.
    ///
    /// # Errors
    /// As [`read`](Self::read); or there is no such user, or it is the last admin.
    pub fn remove(&self, name: &str) -> Result<(), UsersError> {
        self.change(|users| match users.remove(name) {
            Some(_) => Ok(()),
            None => Err(UsersError::Unknown(name.to_owned())),
        })
    }

    /// Reads, changes and replaces the file; a lock keeps two changes from each other.
    fn change<T>(
        &self,
        change: impl FnOnce(&mut Users) -> Result<T, UsersError>,
    ) -> Result<T, UsersError> {
        let failed = |error| UsersError::Io(self.0.clone(), error);
        let beside = |ending: &str| {
            let mut name = self.0.clone().into_os_string();
            name.push(ending);
            PathBuf::from(name)
        };
        let lock = private(&beside(".lock"), false).map_err(failed)?;
        rustix::fs::flock(&lock, rustix::fs::FlockOperation::LockExclusive)
            .map_err(|error| failed(error.into()))?;
        let mut users = match self.read() {
            Err(UsersError::Missing(_)) => Users::new(),
            read => read?,
        };
        let had_admin = has_admin(&users) || users.is_empty();
        let done = change(&mut users)?;
        if had_admin && !has_admin(&users) {
            return Err(UsersError::NoAdmin);
        }
        if users.len() > USERS_MAX {
            return Err(UsersError::Full);
        }
        let new = beside(".new");
        let written = private(&new, true).and_then(|mut file| {
            file.write_all(text_of(&users).as_bytes())?;
            file.sync_all()?;
            fs::rename(&new, &self.0)
        });
        written.map_err(failed)?;
        Ok(done)
    }
}

fn has_admin(users: &Users) -> bool {
    users.values().any(|user| user.role == Role::Admin)
}

/// Opens a file that nobody but its owner may read.
fn private(path: &Path, truncates: bool) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options
        .create(true)
        .write(true)
        .truncate(truncates)
        .mode(MODE);
    options.open(path)
}

fn text_of(users: &Users) -> String {
    let line =
        |(name, user): (&String, &User)| format!("{name} {} {}\n", user.role.name(), user.hash);
    let lines: String = users.iter().map(line).collect();
    format!("{HEAD}{lines}")
}

fn of_text(text: &str) -> Result<Users, (usize, &'static str)> {
    let mut users = Users::new();
    for (at, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let at = at + 1;
        let words: Vec<_> = line.split_whitespace().collect();
        let [name, role, hash] = words[..] else {
            return Err((at, "expected name, role and hash of the password"));
        };
        let role = Role::named(role).ok_or((at, "expected a role: viewer, operator or admin"))?;
        if !is_name(name) {
            return Err((at, "expected a name of letters, digits and - _ . @"));
        }
        if !password::is_hash(hash) {
            return Err((
                at,
                "expected an argon2id hash; set the password by sluice ctl users",
            ));
        }
        let hash = hash.to_owned();
        if users.insert(name.to_owned(), User { role, hash }).is_some() {
            return Err((at, "the name stands twice"));
        }
        if users.len() > USERS_MAX {
            return Err((at, "too many users"));
        }
    }
    Ok(users)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    const PASSWORD: &str = "a long password";

    fn place() -> (tempfile::TempDir, UsersFile) {
        let folder = tempfile::tempdir().unwrap();
        let file = UsersFile(folder.path().join("users"));
        (folder, file)
    }

    #[test]
    fn the_first_user_makes_a_file_of_its_owner_alone_and_is_an_admin() {
        let (_folder, file) = place();
        assert!(matches!(file.read(), Err(UsersError::Missing(_))));
        let refused = file.set("eve", Some(Role::Viewer), Some(PASSWORD));
        assert!(matches!(refused, Err(UsersError::NoAdmin)), "{refused:?}");
        file.set("ada", Some(Role::Admin), Some(PASSWORD)).unwrap();
        let mode = fs::metadata(&file.0).unwrap().mode() & 0o777;
        assert_eq!(mode, 0o600);
        let users = file.read().unwrap();
        assert_eq!(users["ada"].role, Role::Admin);
        assert!(password::is_of(PASSWORD, &users["ada"].hash));
        let text = fs::read_to_string(&file.0).unwrap();
        assert!(
            !text.contains(PASSWORD) && text.starts_with("# Users"),
            "{text}"
        );
        fs::set_permissions(&file.0, fs::Permissions::from_mode(0o640)).unwrap();
        assert!(matches!(file.read(), Err(UsersError::Mode(_, 0o640))));
    }

    #[test]
    fn users_change_and_go_but_for_the_last_admin() {
        let (_folder, file) = place();
        file.set("ada", Some(Role::Admin), Some(PASSWORD)).unwrap();
        for lacking in [(Some(Role::Viewer), None), (None, Some(PASSWORD))] {
            let refused = file.set("bob", lacking.0, lacking.1);
            assert!(matches!(refused, Err(UsersError::Unfit(_))), "{refused:?}");
        }
        file.set("bob", Some(Role::Viewer), Some(PASSWORD)).unwrap();
        assert_eq!(
            file.set("bob", Some(Role::Operator), None).unwrap(),
            Role::Operator
        );
        let users = file.read().unwrap();
        assert!(password::is_of(PASSWORD, &users["bob"].hash));
        for last in [
            file.remove("ada"),
            file.set("ada", Some(Role::Viewer), None).map(drop),
        ] {
            assert!(matches!(last, Err(UsersError::NoAdmin)), "{last:?}");
        }
        file.remove("bob").unwrap();
        assert!(matches!(file.remove("bob"), Err(UsersError::Unknown(_))));
        for name in ["", "a b", "a\nb", "é", &"x".repeat(65)] {
            let refused = file.set(name, Some(Role::Viewer), Some(PASSWORD));
            assert!(matches!(refused, Err(UsersError::Unfit(_))), "{name}");
        }
        assert_eq!(file.read().unwrap().len(), 1);
    }

    #[test]
    fn a_faulty_line_is_named() {
        let hash = password::hash(PASSWORD).unwrap();
        let good = format!("# x\n\nada admin {hash}\n");
        assert_eq!(of_text(&good).unwrap().len(), 1);
        for (bad, line) in [
            ("ada admin".to_owned(), 1),
            (format!("ada root {hash}"), 1),
            (format!("{good}bob viewer secret"), 4),
            (format!("{good}ada viewer {hash}"), 4),
            (format!("a/b viewer {hash}"), 1),
        ] {
            assert_eq!(of_text(&bad).unwrap_err().0, line, "{bad}");
        }
    }
}
