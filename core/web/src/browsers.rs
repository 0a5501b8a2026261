//! Sessions of browsers: whose cookie is whose, its CSRF token, and when it ends.

use crate::password::random;
use crate::users::Role;
use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// A session ends when nothing was asked with it for so long.
const IDLE: Duration = Duration::from_secs(2 * 3600);
/// A session ends after so long in any case.
const LONGEST: Duration = Duration::from_secs(12 * 3600);
/// Sessions at a time; the one that was used longest ago goes.
const SESSIONS_MAX: usize = 256;

/// A browser that is logged in.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Browser {
    /// Name of its user.
    pub user: String,
    /// Role of that user.
    pub role: Role,
    /// Text that changes must show beside the cookie.
    pub csrf: String,
}

#[derive(Debug)]
struct Entry {
    user: String,
    csrf: String,
    begun: Instant,
    used: Instant,
}

/// All of them, by hashes of their cookies: the time of a look-up tells nothing of a cookie.
#[derive(Debug, Default)]
pub struct Browsers(BTreeMap<[u8; 32], Entry>);

impl Browsers {
    /// One more; the text of its cookie and its CSRF token.
    pub fn add(&mut self, user: &str, now: Instant) -> (String, String) {
        self.expire(now);
        if self.0.len() >= SESSIONS_MAX {
            let oldest = self.0.iter().min_by_key(|(_, entry)| entry.used);
            let oldest = oldest.map(|(key, _)| *key);
            oldest.map(|key| self.0.remove(&key));
        }
        let (cookie, csrf) = (secret(), secret());
        let entry = Entry {
            user: user.to_owned(),
            csrf: csrf.clone(),
            begun: now,
            used: now,
        };
        self.0.insert(key(&cookie), entry);
        (cookie, csrf)
    }

    /// User and CSRF token of a cookie; it is used now.
    pub fn find(&mut self, cookie: &str, now: Instant) -> Option<(String, String)> {
        self.expire(now);
        let entry = self.0.get_mut(&key(cookie))?;
        entry.used = now;
        Some((entry.user.clone(), entry.csrf.clone()))
    }

    /// User of a cookie, which is not used by that.
    pub fn user(&mut self, cookie: &str, now: Instant) -> Option<String> {
        self.expire(now);
        self.0.get(&key(cookie)).map(|entry| entry.user.clone())
    }

    /// One has logged out.
    pub fn remove(&mut self, cookie: &str) {
        self.0.remove(&key(cookie));
    }

    /// A user is gone, or has another password.
    pub fn remove_of(&mut self, user: &str) {
        self.0.retain(|_, entry| entry.user != user);
    }

    fn expire(&mut self, now: Instant) {
        let age = |since: Instant| now.saturating_duration_since(since);
        let lives = |entry: &Entry| age(entry.used) < IDLE && age(entry.begun) < LONGEST;
        self.0.retain(|_, entry| lives(entry));
    }
}

fn key(cookie: &str) -> [u8; 32] {
    Sha256::digest(cookie.as_bytes()).into()
}

/// 256 random bits as hexadecimal digits.
fn secret() -> String {
    let mut octets = [0; 32];
    random(&mut octets);
    octets.iter().map(|octet| format!("{octet:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_ends_by_log_out_by_rest_and_by_age() {
        let (now, mut browsers) = (Instant::now(), Browsers::default());
        let (cookie, csrf) = browsers.add("ada", now);
        assert!(cookie.len() == 64 && csrf.len() == 64 && cookie != csrf);
        let whose = Some(("ada".to_owned(), csrf));
        assert_eq!(browsers.find(&cookie, now + IDLE / 2), whose);
        assert_eq!(browsers.user(&cookie, now + IDLE), Some("ada".to_owned()));
        assert_eq!(browsers.find(&cookie, now + IDLE), whose);
        assert_eq!(browsers.find(&cookie, now + IDLE * 2), None);
        let (cookie, _) = browsers.add("ada", now);
        let mut at = now;
        while at < now + LONGEST {
            assert!(browsers.find(&cookie, at).is_some());
            at += IDLE / 2;
        }
        assert_eq!(browsers.find(&cookie, at), None);
        let (cookie, _) = browsers.add("ada", at);
        browsers.remove(&cookie);
        assert_eq!(browsers.find(&cookie, at), None);
    }

    #[test]
    fn the_number_of_sessions_is_bounded_and_a_user_s_end_together() {
        let (now, mut browsers) = (Instant::now(), Browsers::default());
        let (first, _) = browsers.add("bob", now);
        for n in 0..SESSIONS_MAX as u64 {
            browsers.add("ada", now + Duration::from_secs(n + 1));
        }
        assert_eq!(browsers.0.len(), SESSIONS_MAX);
        let later = now + Duration::from_secs(1000);
        assert_eq!(browsers.find(&first, later), None);
        browsers.add("bob", later);
        browsers.remove_of("ada");
        assert_eq!(browsers.0.len(), 1);
    }
}
