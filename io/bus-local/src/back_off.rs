//! Back-off: pauses before something that failed is tried again, each twice as long as the one before.

use std::time::{Duration, Instant};

/// First pause.
const LEAST: Duration = Duration::from_millis(100);
/// Longest pause.
const MOST: Duration = Duration::from_secs(5);
/// What held so long begins with the first pause again.
const STEADY: Duration = Duration::from_secs(60);

/// Pauses of one thing that is tried again and again.
#[derive(Clone, Debug)]
pub struct BackOff {
    pause: Duration,
    began: Instant,
}

impl BackOff {
    /// Of something that begins now.
    pub fn new(now: Instant) -> Self {
        Self {
            pause: LEAST,
            began: now,
        }
    }

    /// It has failed: when it begins anew.
    pub fn next(&mut self, now: Instant) -> Instant {
        if now.saturating_duration_since(self.began) >= STEADY {
            self.pause = LEAST;
        }
        self.began = now + self.pause;
        self.pause = (self.pause * 2).min(MOST);
        self.began
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_up_to_the_longest_and_begin_anew_after_what_held() {
        let mut now = Instant::now();
        let mut back_off = BackOff::new(now);
        let mut pause_ms = || {
            let due = back_off.next(now);
            let pause = due - now;
            now = due;
            pause.as_millis()
        };
        let pauses: Vec<_> = (0..8).map(|_| pause_ms()).collect();
        assert_eq!(pauses, [100, 200, 400, 800, 1_600, 3_200, 5_000, 5_000]);
        let after = now + STEADY;
        assert_eq!(back_off.next(after), after + LEAST);
    }
}
