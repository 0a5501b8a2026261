//! Rate limits on responses to unknown senders.

use core::hash::Hash;
use std::collections::HashMap;

/// A token bucket over whole events.
#[derive(Clone, Copy, Debug)]
struct Tokens {
    left: f64,
    at_ns: u64,
}

/// Events per second for each key, with a bounded number of keys.
#[derive(Debug)]
pub struct RateLimit<K> {
    rate_per_s: f64,
    burst: f64,
    keys_max: usize,
    tokens: HashMap<K, Tokens>,
    /// When keys that say nothing are forgotten again: that looks at all of them.
    forgets_ns: u64,
}

/// From one look at all keys to the next, for strangers bring new ones with every packet.
const FORGETS_EVERY_NS: u64 = 10_000_000;

impl<K: Eq + Hash + Copy> RateLimit<K> {
    /// `rate_per_s` for each of at most `keys_max` keys, `burst` at once.
    pub fn new(rate_per_s: impl Into<f64>, burst: u32, keys_max: usize) -> Self {
        Self {
            rate_per_s: rate_per_s.into(),
            burst: f64::from(burst),
            keys_max,
            tokens: HashMap::with_capacity(keys_max),
            forgets_ns: 0,
        }
    }

    /// True if an event of `key` may happen now.
    pub fn allow(&mut self, key: K, now_ns: u64) -> bool {
        if self.tokens.len() >= self.keys_max && !self.tokens.contains_key(&key) {
            if now_ns >= self.forgets_ns {
                self.forgets_ns = now_ns.saturating_add(FORGETS_EVERY_NS);
                self.forget_full(now_ns);
            }
            if self.tokens.len() >= self.keys_max {
                return false;
            }
        }
        let (rate, burst) = (self.rate_per_s, self.burst);
        let t = self.tokens.entry(key).or_insert(Tokens {
            left: burst,
            at_ns: now_ns,
        });
        t.left = refilled(t, now_ns, rate, burst);
        t.at_ns = now_ns;
        if t.left < 1.0 {
            return false;
        }
        t.left -= 1.0;
        true
    }

    /// A key whose bucket is full again says nothing.
    fn forget_full(&mut self, now_ns: u64) {
        let (rate, burst) = (self.rate_per_s, self.burst);
        self.tokens
            .retain(|_, t| refilled(t, now_ns, rate, burst) < burst);
    }
}

fn refilled(t: &Tokens, now_ns: u64, rate_per_s: f64, burst: f64) -> f64 {
    let waited_s = now_ns.saturating_sub(t.at_ns) as f64 / 1e9;
    (t.left + waited_s * rate_per_s).min(burst)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_key_has_its_own_rate() {
        let mut limit = RateLimit::new(10, 2, 8);
        let allowed = (0..100).filter(|i| limit.allow(1, i * 10_000_000)).count();
        assert!((10..=12).contains(&allowed), "{allowed}");
        assert!(limit.allow(2, 0));
    }

    #[test]
    fn new_keys_do_not_have_all_others_looked_at_each_time() {
        let mut limit = RateLimit::new(1000, 1, 1);
        assert!(limit.allow(1, 0));
        assert!(!limit.allow(2, 0));
        // The first key's bucket is full again, and is forgotten with the next look.
        assert!(!limit.allow(3, FORGETS_EVERY_NS - 1));
        assert!(limit.allow(3, FORGETS_EVERY_NS));
    }

    #[test]
    fn keys_are_bounded_and_come_free() {
        let mut limit = RateLimit::new(10, 2, 2);
        assert!(limit.allow(1, 0) && limit.allow(2, 0));
        assert!(!limit.allow(3, 0));
        assert!(limit.allow(3, 1_000_000_000));
    }
}
