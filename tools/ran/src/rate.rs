//! A token bucket, so that answers to nonsense cannot become a flood.

const SECOND_NS: u64 = 1_000_000_000;

/// Lets `per_second` events a second pass, and as many at once after a rest.
#[derive(Debug)]
pub(crate) struct RateLimit {
    per_second: u64,
    /// In events times [`SECOND_NS`].
    credit: u64,
    last_ns: u64,
}

impl RateLimit {
    pub(crate) fn new(per_second: u32, now_ns: u64) -> Self {
        let per_second = u64::from(per_second);
        Self {
            per_second,
            credit: per_second * SECOND_NS,
            last_ns: now_ns,
        }
    }

    /// Whether one more may pass at `now_ns`.
    pub(crate) fn take(&mut self, now_ns: u64) -> bool {
        let passed = now_ns.saturating_sub(self.last_ns);
        self.last_ns = self.last_ns.max(now_ns);
        let full = self.per_second * SECOND_NS;
        self.credit = self
            .credit
            .saturating_add(passed.saturating_mul(self.per_second))
            .min(full);
        let allowed = self.credit >= SECOND_NS;
        if allowed {
            self.credit -= SECOND_NS;
        }
        allowed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_passes_once_and_then_only_the_rate() {
        let mut limit = RateLimit::new(10, 0);
        assert_eq!((0..100).filter(|_| limit.take(0)).count(), 10);
        let in_one_second = (1..=1000).filter(|ms| limit.take(ms * 1_000_000)).count();
        assert_eq!(in_one_second, 10);
        assert_eq!(
            (0..100).filter(|_| limit.take(u64::MAX)).count(),
            10,
            "never saves up more"
        );
    }
}
