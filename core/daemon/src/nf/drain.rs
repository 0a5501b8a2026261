//! Drain of a program that an operator takes out: it ends when its callers are done with it.

use std::time::{Duration, Instant};

/// Time without a message after which nobody asks it any more: callers have heard of the drain long before.
const QUIET: Duration = Duration::from_secs(1);
/// Longest drain: UEs have 30 s for an answer to a challenge.
const MOST: Duration = Duration::from_secs(60);

/// Drain under way.
#[derive(Debug)]
pub(super) struct Drain {
    began: Instant,
    /// Messages so far.
    received: u64,
    /// Since then nothing has come, and nothing is under way.
    quiet_since: Instant,
}

impl Drain {
    pub fn begin(now: Instant) -> Self {
        Self {
            began: now,
            received: 0,
            quiet_since: now,
        }
    }

    /// Amount of what is under way, and number of messages that have come.
    pub fn look(&mut self, now: Instant, open: usize, received: u64) {
        if open > 0 || received != self.received {
            (self.received, self.quiet_since) = (received, now);
        }
    }

    pub fn is_over(&self, now: Instant) -> bool {
        now.duration_since(self.quiet_since) >= QUIET || now.duration_since(self.began) >= MOST
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drain_is_over_when_nothing_has_come_for_a_while_or_it_takes_too_long() {
        let began = Instant::now();
        let at = |ms| began + Duration::from_millis(ms);
        let mut drain = Drain::begin(began);
        drain.look(at(500), 0, 7);
        drain.look(at(1_400), 0, 7);
        assert!(!drain.is_over(at(1_499)) && drain.is_over(at(1_500)));
        drain.look(at(1_450), 1, 7);
        assert!(!drain.is_over(at(2_449)) && drain.is_over(at(2_450)));
        for ms in (2_000..60_000).step_by(500) {
            drain.look(at(ms), 1, 7);
            assert!(!drain.is_over(at(ms)));
        }
        drain.look(at(60_000), 1, 7);
        assert!(drain.is_over(at(60_000)));
    }
}
