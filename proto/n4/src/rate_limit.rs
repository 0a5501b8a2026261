//! Rate limit on responses that anybody could provoke.

use crate::time::Instant;

/// At most `per_s` permits in one window of a second (twice as many where two windows meet).
#[derive(Debug)]
pub struct RateLimit {
    per_s: u32,
    window_start: Instant,
    used: u32,
}

const SECOND_NS: u64 = 1_000_000_000;

impl RateLimit {
    /// Permits per second.
    pub(crate) const fn new(per_s: u32) -> Self {
        Self {
            per_s,
            window_start: Instant(0),
            used: 0,
        }
    }

    /// Whether one more is permitted now; counts it if so.
    pub(crate) fn permit(&mut self, now: Instant) -> bool {
        if now.ns_since(self.window_start) >= SECOND_NS {
            (self.window_start, self.used) = (now, 0);
        }
        let permitted = self.used < self.per_s;
        self.used += u32::from(permitted);
        permitted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn permits_come_back_after_a_second() {
        let mut limit = RateLimit::new(2);
        let at = |ms| Instant(5 * SECOND_NS).plus_ms(ms);
        let permitted: Vec<_> = [0, 1, 2, 999, 1000, 1001, 1002]
            .map(|ms| limit.permit(at(ms)))
            .into();
        assert_eq!(permitted, [true, true, false, false, true, true, false]);
    }
}
