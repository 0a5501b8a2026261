//! The door of the screen: log-in, sessions, and changes of users while the core runs.

use crate::attempts::Attempts;
use crate::browsers::{Browser, Browsers};
use crate::password;
use crate::users::{Role, Users, UsersError, UsersFile};
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// Why nobody is let in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refused {
    /// There is no such user, or it has another password.
    Wrong,
    /// There were too many attempts.
    Often,
}

/// A session that has begun.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Opened {
    /// Text of the cookie.
    pub cookie: String,
    /// The browser that gets it.
    pub browser: Browser,
}

/// Tells whether a file is still the one that was read: device, inode, size, change in nanoseconds.
type Version = (u64, u64, u64, i64, i64);

struct Inside {
    users: Users,
    version: Option<Version>,
    browsers: Browsers,
    attempts: Attempts,
}

/// Users, and browsers that are logged in.
pub struct Door {
    file: UsersFile,
    inside: Mutex<Inside>,
}

impl Door {
    /// With the users of a file.
    ///
    /// # Errors
    /// The file is missing, faulty, or not its owner's alone.
    pub fn open(file: UsersFile) -> Result<Self, UsersError> {
        let version = version(&file);
        let inside = Inside {
            users: file.read()?,
            version,
            browsers: Browsers::default(),
            attempts: Attempts::new(Instant::now()),
        };
        let inside = Mutex::new(inside);
        Ok(Self { file, inside })
    }

    /// Users as the file has them now. One that cannot be read any more lets nobody in.
    fn inside(&self) -> MutexGuard<'_, Inside> {
        let mut inside = self.inside.lock().unwrap_or_else(PoisonError::into_inner);
        let version = version(&self.file);
        if version.is_none() || version != inside.version {
            let users = self.file.read().unwrap_or_default();
            // Another password, or no user any more, ends the sessions.
            let Inside {
                users: before,
                browsers,
                ..
            } = &mut *inside;
            for (name, user) in before.iter() {
                if users.get(name).is_none_or(|now| now.hash != user.hash) {
                    browsers.remove_of(name);
                }
            }
            inside.users = users;
            inside.version = version;
        }
        inside
    }

    /// Lets a user in. It takes some 20 ms.
    ///
    /// # Errors
    /// Name or password is wrong, or there were too many attempts.
    pub fn log_in(&self, name: &str, password: &str, now: Instant) -> Result<Opened, Refused> {
        let hash = {
            let mut inside = self.inside();
            if !inside.attempts.take(name, now) {
                return Err(Refused::Often);
            }
            inside.users.get(name).map(|user| user.hash.clone())
        };
        // Others are not kept waiting meanwhile.
        let is_right = match &hash {
            Some(hash) => password::is_of(password, hash),
            None => {
                password::of_nobody(password);
                false
            }
        };
        let mut inside = self.inside();
        let user = inside
            .users
            .get(name)
            .filter(|user| Some(&user.hash) == hash.as_ref());
        let role = user.filter(|_| is_right).map(|user| user.role);
        let role = role.ok_or(Refused::Wrong)?;
        inside.attempts.succeeded(name);
        let (cookie, csrf) = inside.browsers.add(name, now);
        let browser = Browser {
            user: name.to_owned(),
            role,
            csrf,
        };
        Ok(Opened { cookie, browser })
    }

    /// The browser of a cookie.
    pub fn browser(&self, cookie: &str, now: Instant) -> Option<Browser> {
        let mut inside = self.inside();
        let (user, csrf) = inside.browsers.find(cookie, now)?;
        let role = inside.users.get(&user)?.role;
        Some(Browser { user, role, csrf })
    }

    /// Whether a cookie is that of a session; unlike [`browser`](Self::browser), it keeps the session no longer.
    pub fn is_logged_in(&self, cookie: &str, now: Instant) -> bool {
        let mut inside = self.inside();
        let user = inside.browsers.user(cookie, now);
        user.is_some_and(|user| inside.users.contains_key(&user))
    }

    /// Ends a session.
    pub fn log_out(&self, cookie: &str) {
        self.inside().browsers.remove(cookie);
    }

    /// Names and roles of all users.
    pub fn users(&self) -> Vec<(String, Role)> {
        let inside = self.inside();
        let users = inside.users.iter();
        users
            .map(|(name, user)| (name.clone(), user.role))
            .collect()
    }

    /// Adds or changes a user, see [`UsersFile::set`].
    ///
    /// # Errors
    /// As there.
    pub fn set(
        &self,
        name: &str,
        role: Option<Role>,
        password: Option<&str>,
    ) -> Result<Role, UsersError> {
        self.file.set(name, role, password)
    }

    /// Removes a user and ends its sessions.
    ///
    /// # Errors
    /// As [`UsersFile::remove`].
    pub fn remove(&self, name: &str) -> Result<(), UsersError> {
        self.file.remove(name)
    }
}

fn version(file: &UsersFile) -> Option<Version> {
    let there = fs::metadata(&file.0).ok()?;
    let (changed_s, changed_ns) = (there.ctime(), there.ctime_nsec());
    Some((
        there.dev(),
        there.ino(),
        there.size(),
        changed_s,
        changed_ns,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PASSWORD: &str = "a long password";

    fn door() -> (tempfile::TempDir, Door) {
        let folder = tempfile::tempdir().unwrap();
        let file = UsersFile(folder.path().join("users"));
        file.set("ada", Some(Role::Admin), Some(PASSWORD)).unwrap();
        (folder, Door::open(file).unwrap())
    }

    #[test]
    fn the_right_password_opens_a_session_and_a_wrong_one_none() {
        let (_folder, door) = door();
        let now = Instant::now();
        for (name, password) in [("ada", "another one"), ("eve", PASSWORD), ("ada", "")] {
            assert_eq!(
                door.log_in(name, password, now),
                Err(Refused::Wrong),
                "{name}"
            );
        }
        let opened = door.log_in("ada", PASSWORD, now).unwrap();
        assert_eq!(door.browser(&opened.cookie, now), Some(opened.browser));
        assert_eq!(door.browser("", now), None);
        door.log_out(&opened.cookie);
        assert_eq!(door.browser(&opened.cookie, now), None);
    }

    #[test]
    fn the_right_password_does_not_help_after_too_many_wrong_ones() {
        let (_folder, door) = door();
        let now = Instant::now();
        while door.log_in("ada", "wrong", now) == Err(Refused::Wrong) {}
        assert_eq!(door.log_in("ada", PASSWORD, now), Err(Refused::Often));
    }

    #[test]
    fn changes_of_the_file_count_at_once() {
        let (_folder, door) = door();
        let now = Instant::now();
        let beside = UsersFile(door.file.0.clone());
        beside
            .set("bob", Some(Role::Operator), Some(PASSWORD))
            .unwrap();
        let bob = door.log_in("bob", PASSWORD, now).unwrap();
        let ada = door.log_in("ada", PASSWORD, now).unwrap();
        beside.set("bob", Some(Role::Viewer), None).unwrap();
        let role = door.browser(&bob.cookie, now).map(|browser| browser.role);
        assert_eq!(role, Some(Role::Viewer));
        beside.set("bob", None, Some("another password")).unwrap();
        assert_eq!(door.browser(&bob.cookie, now), None);
        let bob = door.log_in("bob", "another password", now).unwrap();
        beside.remove("bob").unwrap();
        assert_eq!(door.browser(&bob.cookie, now), None);
        assert!(door.browser(&ada.cookie, now).is_some());
        fs::remove_file(&door.file.0).unwrap();
        assert_eq!(door.browser(&ada.cookie, now), None);
        assert_eq!(door.users(), []);
    }
}
