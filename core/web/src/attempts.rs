//! Rate of log-ins: a token bucket for each name, and one for all names.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Log-ins that fail in a row before a name has to wait.
const OF_NAME: u32 = 10;
/// Then one more in each of these.
const NAME_EVERY: Duration = Duration::from_secs(30);
/// Log-ins of all names in a row, right or wrong: each takes some 20 ms of a CPU.
const OF_ALL: u32 = 60;
const ALL_EVERY: Duration = Duration::from_millis(500);
/// Names that are remembered; all others are counted as one.
const NAMES_MAX: usize = 1024;

/// Tokens as they were at a time.
#[derive(Clone, Copy, Debug)]
struct Bucket {
    tokens: u32,
    since: Instant,
}

impl Bucket {
    fn full(most: u32, now: Instant) -> Self {
        Self {
            tokens: most,
            since: now,
        }
    }

    fn refill(&mut self, most: u32, every: Duration, now: Instant) {
        let passed = now.saturating_duration_since(self.since).as_millis() / every.as_millis();
        let new = u32::try_from(passed).unwrap_or(u32::MAX);
        self.tokens = self.tokens.saturating_add(new).min(most);
        self.since = match self.tokens == most {
            true => now,
            false => self.since + every * new,
        };
    }
}

/// Log-ins of late.
#[derive(Debug)]
pub struct Attempts {
    all: Bucket,
    names: BTreeMap<String, Bucket>,
    others: Bucket,
}

impl Attempts {
    /// None so far.
    pub fn new(now: Instant) -> Self {
        Self {
            all: Bucket::full(OF_ALL, now),
            names: BTreeMap::new(),
            others: Bucket::full(OF_NAME, now),
        }
    }

    /// Takes an attempt of a name; false if there were too many.
    pub fn take(&mut self, name: &str, now: Instant) -> bool {
        self.all.refill(OF_ALL, ALL_EVERY, now);
        self.names.retain(|_, bucket| {
            bucket.refill(OF_NAME, NAME_EVERY, now);
            bucket.tokens < OF_NAME
        });
        self.others.refill(OF_NAME, NAME_EVERY, now);
        let has_room = self.names.len() < NAMES_MAX || self.names.contains_key(name);
        let bucket = match has_room {
            true => {
                let new = || Bucket::full(OF_NAME, now);
                self.names.entry(name.to_owned()).or_insert_with(new)
            }
            false => &mut self.others,
        };
        if self.all.tokens == 0 || bucket.tokens == 0 {
            return false;
        }
        self.all.tokens -= 1;
        bucket.tokens -= 1;
        true
    }

    /// The name's last attempt was right: what failed before it counts no more.
    pub fn succeeded(&mut self, name: &str) {
        self.names.remove(name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_waits_after_ten_failures_and_others_do_not() {
        let now = Instant::now();
        let mut attempts = Attempts::new(now);
        let taken = |attempts: &mut Attempts, name: &str, now| {
            (0..40).filter(|_| attempts.take(name, now)).count()
        };
        assert_eq!(taken(&mut attempts, "ada", now), 10);
        assert!(attempts.take("bob", now));
        assert!(!attempts.take("ada", now + NAME_EVERY / 2));
        assert_eq!(taken(&mut attempts, "ada", now + NAME_EVERY * 3), 3);
        attempts.succeeded("ada");
        assert_eq!(taken(&mut attempts, "ada", now + NAME_EVERY * 3), 10);
    }

    #[test]
    fn all_names_together_are_bounded_and_so_is_what_is_remembered() {
        let now = Instant::now();
        let mut attempts = Attempts::new(now);
        let name = |n: usize| format!("user{n}");
        let taken = (0..5000).filter(|n| attempts.take(&name(*n), now)).count();
        assert_eq!(taken, OF_ALL as usize);
        assert!(attempts.names.len() <= NAMES_MAX);
        let later = now + ALL_EVERY * 4;
        let taken = (0..5000)
            .filter(|n| attempts.take(&name(9000 + n), later))
            .count();
        assert!((1..=4).contains(&taken), "{taken}");
    }
}
