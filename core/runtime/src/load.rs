//! Load of the loop: whether there is more to do than can be done, from what each turn tells, with time as an input.
//!
//! A loop that hardly ever sleeps has messages waiting behind those that it handles. gNBs are asked to keep a share
//! of UEs away then, more as long as it stays so, and less again when there is time left; in between nothing changes.

use std::time::Duration;

use sluice_n2::{Overload, OverloadAction};
use sluice_sbi::Instant;

/// What is looked at together: some hundred turns of a busy loop.
const WINDOW_MS: u64 = 500;

/// How busy the loop is when there is too much to do, and when there is time left, in percent. A step of [`SHARES`]
/// is at most a factor of two, which does not lead from one of them to the other.
const FULL_PERCENT: u64 = 95;
const EASY_PERCENT: u64 = 40;

/// How long it stays so before another share is asked for: longer than a burst of gNBs that come back takes, and
/// than gNBs take to follow.
const RISE_MS: u64 = 1_500;
const FALL_MS: u64 = 3_000;

/// Shares of UEs that gNBs keep away, by level, in percent.
const SHARES: [u8; 8] = [25, 50, 70, 85, 92, 96, 98, 99];

/// The state.
#[derive(Clone, Debug)]
pub struct Load {
    is_automatic: bool,
    /// When the window began, and what the loop slept in it.
    began: Option<Instant>,
    slept_ns: u64,
    busy_percent: u64,
    /// Since when all windows were full, or all had time left.
    full_since: Option<Instant>,
    easy_since: Option<Instant>,
    /// How many of [`SHARES`] were reached.
    level: usize,
}

impl Default for Load {
    fn default() -> Self {
        Self {
            is_automatic: true,
            began: None,
            slept_ns: 0,
            busy_percent: 0,
            full_since: None,
            easy_since: None,
            level: 0,
        }
    }
}

impl Load {
    /// Whether gNBs are asked for anything.
    pub fn set_automatic(&mut self, is_automatic: bool) {
        self.is_automatic = is_automatic;
    }

    /// A turn has ended, for a part of which the loop slept. True if gNBs are to hear of [`Load::overload`].
    pub fn turn(&mut self, now: Instant, slept: Duration) -> bool {
        let before = self.overload();
        let began = *self.began.get_or_insert(now);
        self.slept_ns = self.slept_ns.saturating_add(slept.as_nanos() as u64);
        let passed_ns = now.0.saturating_sub(began.0);
        if now >= began.plus_ms(WINDOW_MS) {
            let busy_ns = passed_ns.saturating_sub(self.slept_ns);
            self.busy_percent = busy_ns.saturating_mul(100) / passed_ns.max(1);
            (self.began, self.slept_ns) = (Some(now), 0);
            self.window(began, now);
        }
        self.overload() != before
    }

    /// A window has ended.
    fn window(&mut self, began: Instant, now: Instant) {
        let is_full = self.busy_percent >= FULL_PERCENT;
        let is_easy = self.busy_percent <= EASY_PERCENT;
        let since = |before: Option<Instant>, is_so: bool| is_so.then(|| before.unwrap_or(began));
        self.full_since = since(self.full_since, is_full);
        self.easy_since = since(self.easy_since, is_easy);
        let has_lasted = |since: Option<Instant>, ms| since.is_some_and(|at| now >= at.plus_ms(ms));
        if has_lasted(self.full_since, RISE_MS) {
            self.level = (self.level + 1).min(SHARES.len());
            self.full_since = None;
        } else if has_lasted(self.easy_since, FALL_MS) {
            self.level = self.level.saturating_sub(1);
            self.easy_since = None;
        }
    }

    /// What gNBs are to keep away: UEs that come for signalling, which are those that register. Those that have data,
    /// which are known, may come.
    pub fn overload(&self) -> Option<Overload> {
        let share = *SHARES.get(self.level.checked_sub(1)?)?;
        self.is_automatic.then_some(Overload {
            action: OverloadAction::RejectSignalling,
            percent: Some(share),
        })
    }

    /// How busy the loop was in the last window, in percent of the time.
    pub fn busy_percent(&self) -> u64 {
        self.busy_percent
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A loop that is offered so much, in percent of what it can do, of which gNBs keep away what they are asked to.
    struct Offered {
        load: Load,
        now: Instant,
        changes: Vec<Option<u8>>,
    }

    impl Offered {
        fn new() -> Self {
            Self {
                load: Load::default(),
                now: Instant(7),
                changes: Vec::new(),
            }
        }

        /// Turns of 10 ms for so many seconds.
        fn go_on(&mut self, offered_percent: u64, time_s: u64) {
            for _ in 0..time_s * 100 {
                let share = self.share().unwrap_or(0);
                let busy = (offered_percent * u64::from(100 - share) / 100).min(100);
                self.now = self.now.plus_ms(10);
                let slept = Duration::from_micros(10_000 - 100 * busy);
                if self.load.turn(self.now, slept) {
                    self.changes.push(self.share());
                }
            }
        }

        fn share(&self) -> Option<u8> {
            self.load.overload().and_then(|overload| overload.percent)
        }
    }

    #[test]
    fn what_can_be_done_is_no_overload() {
        let mut offered = Offered::new();
        for percent in [10, 94, 100, 30, 94] {
            // A second at most of more than that, as when gNBs come back.
            offered.go_on(percent, if percent == 100 { 1 } else { 60 });
        }
        assert_eq!(offered.changes, []);
        assert_eq!(offered.load.busy_percent(), 94);
    }

    #[test]
    fn a_storm_is_kept_away_step_by_step_and_so_it_ends() {
        let mut offered = Offered::new();
        offered.go_on(300, 60);
        // 0.9 of what can be done is let in, and it stays so.
        assert_eq!(offered.changes, [Some(25), Some(50), Some(70)]);
        offered.changes.clear();
        offered.go_on(50, 60);
        assert_eq!(offered.changes, [Some(50), Some(25), None]);
    }

    #[test]
    fn no_offer_makes_it_go_up_and_down() {
        for percent in (5..5_000).step_by(5) {
            let mut offered = Offered::new();
            offered.go_on(percent, 60);
            let settled = offered.changes.len();
            assert!(settled <= SHARES.len(), "{percent}: {:?}", offered.changes);
            offered.go_on(percent, 120);
            assert_eq!(offered.changes.len(), settled, "{percent}");
            assert!(offered.changes.is_sorted(), "{percent}");
        }
    }

    #[test]
    fn one_long_turn_is_a_window_of_its_own() {
        let mut load = Load::default();
        assert!(!load.turn(Instant(0), Duration::ZERO));
        assert!(load.turn(Instant(0).plus_ms(2_000), Duration::ZERO));
        assert_eq!(load.busy_percent(), 100);
        // Whoever asks for nothing asks for nothing.
        load.set_automatic(false);
        assert_eq!(load.overload(), None);
    }
}
