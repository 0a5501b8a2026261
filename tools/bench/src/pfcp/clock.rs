//! Due times of requests, and moments when a measuring thread did not have its CPU.

use super::load::{Log, Pace, UNDER_WAY_MAX};
use std::sync::atomic::{AtomicU64, Ordering};

/// Of one run of the generator.
pub struct Clock<'a> {
    pace: Pace,
    /// When the first request would have been due.
    began_ns: u64,
    away: &'a Away,
    /// How often the measured thread had been away when it was last asked.
    times: u64,
    /// The last look at the clock.
    looked_ns: u64,
    /// Somebody was away: nothing is sent until all is answered.
    waits: bool,
}

impl<'a> Clock<'a> {
    pub fn new(pace: Pace, away: &'a Away, now_ns: u64) -> Self {
        Self {
            pace,
            began_ns: now_ns,
            away,
            times: away.times(),
            looked_ns: now_ns,
            waits: false,
        }
    }

    /// How many requests may be sent now, behind so many.
    pub fn may(&mut self, now_ns: u64, sent: usize, log: &mut Log) -> usize {
        let room = |window: usize| (window + log.answered()).saturating_sub(sent);
        match self.pace {
            Pace::Closed(window) => room(window),
            Pace::Open(per_s) => self.due(now_ns, per_s, sent).min(room(UNDER_WAY_MAX)),
            Pace::Undisturbed(per_s) => {
                self.look(now_ns, sent, log);
                if self.waits && log.answered() < sent {
                    return 0;
                }
                if core::mem::take(&mut self.waits) {
                    self.began_ns = now_ns - (sent as f64 * 1e9 / per_s) as u64;
                }
                let room = (UNDER_WAY_MAX + log.answered()).saturating_sub(sent);
                self.due(now_ns, per_s, sent).min(room)
            }
        }
    }

    /// When a request that is sent now was due.
    pub fn due_ns(&self, now_ns: u64, request: usize) -> u64 {
        match self.pace {
            Pace::Closed(_) => now_ns,
            Pace::Open(per_s) | Pace::Undisturbed(per_s) => {
                self.began_ns + (request as f64 * 1e9 / per_s) as u64 + 1
            }
        }
    }

    /// The first one is due at once, each other an interval later.
    fn due(&self, now_ns: u64, per_s: f64, sent: usize) -> usize {
        let due = 1 + ((now_ns - self.began_ns) as f64 * per_s / 1e9) as usize;
        due.saturating_sub(sent)
    }

    /// Whether one of the threads was away since the last look.
    fn look(&mut self, now_ns: u64, sent: usize, log: &mut Log) {
        let turn_ns = now_ns.saturating_sub(self.looked_ns);
        let times = self.away.times();
        if times != self.times || is_gap(turn_ns, 0) {
            (self.waits, log.timed_from) = (true, sent);
        }
        (self.looked_ns, self.times) = (now_ns, times);
    }
}

/// A turn that takes so much longer than its work does: the thread was away.
pub const GAP_NS: u64 = 50_000;
/// Upper bound for a message, or a return from a worker: some three times the usual time.
const WORK_NS: u64 = 6_000;

/// How often the measured thread was away, told to the generator.
#[derive(Debug, Default)]
pub struct Away(AtomicU64);

impl Away {
    /// A turn of the measured thread took so long, for so many messages.
    pub fn note(&self, turn_ns: u64, work: usize) {
        if is_gap(turn_ns, work) {
            // One thread writes.
            self.0.store(self.times() + 1, Ordering::Release);
        }
    }

    /// How often it was away.
    pub fn times(&self) -> u64 {
        self.0.load(Ordering::Acquire)
    }
}

/// Whether a turn with so many messages took longer than they explain.
pub fn is_gap(turn_ns: u64, work: usize) -> bool {
    turn_ns > GAP_NS + WORK_NS * work as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS_NS: u64 = 1_000_000;

    #[test]
    fn after_an_absence_nothing_is_due_until_all_is_answered() {
        let (away, mut log) = (Away::default(), Log::new(0));
        // One request in a microsecond.
        let mut clock = Clock::new(Pace::Undisturbed(1e6), &away, MS_NS);
        assert_eq!(clock.may(MS_NS + 3_000, 0, &mut log), 4);
        assert_eq!(clock.due_ns(MS_NS + 3_000, 3), MS_NS + 3_001);
        assert_eq!(
            (log.timed_from, clock.may(MS_NS + 6_000, 4, &mut log)),
            (0, 3)
        );
        away.note(MS_NS, 1);
        assert_eq!(
            (clock.may(MS_NS + 8_000, 4, &mut log), log.timed_from),
            (0, 4)
        );
        log.untimed = 4;
        // Those that would have been due meanwhile are due from now on.
        assert_eq!(clock.may(MS_NS + 20_000, 4, &mut log), 1);
        assert_eq!(clock.may(MS_NS + 21_500, 4, &mut log), 2);
        // The generator itself was away.
        assert_eq!(clock.may(2 * MS_NS, 6, &mut log), 0);
        assert_eq!(log.timed_from, 6);
    }

    #[test]
    fn long_work_is_no_absence() {
        let away = Away::default();
        away.note(GAP_NS, 0);
        away.note(GAP_NS + 60 * WORK_NS, 60);
        assert_eq!(away.times(), 0);
        away.note(GAP_NS + 60 * WORK_NS + 1, 60);
        assert_eq!(away.times(), 1);
    }
}
