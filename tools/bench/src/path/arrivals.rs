//! Open-loop packet arrivals: each has a time at which it is due, and how long it takes from then
//! until it is sent is written down in a histogram.

use super::fifo::PACKETS;
use crate::stats::Random;
use sluice_mem::ticks;

const MASK: usize = PACKETS - 1;
/// Random gaps between packets that are drawn before; a power of two, few enough to stay in the
/// first-level cache.
const GAPS: usize = 1024;

/// When the packets of one FIFO are due.
pub struct Arrivals {
    /// Exponentially distributed: packets of many senders come at random (Poisson).
    gaps: Box<[u32; GAPS]>,
    next_gap: usize,
    /// When the next packet is due, in ticks.
    next_due: u64,
    /// When each packet under way was due, by its place in the FIFO.
    due: Box<[u64; PACKETS]>,
    took: Histogram,
    looked: u64,
    hiccup: u64,
    /// Arrivals that the machine missed.
    missed: Missed,
}

/// Times in which the machine had other things to do: packets that were due then come afterwards,
/// those that were under way are not timed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Missed {
    pub hiccups: u64,
    /// How long together, in ticks.
    pub ticks: u64,
    /// Packets that were under way.
    pub packets: u64,
}

impl Arrivals {
    /// From now on, `apart_ticks` apart in the mean.
    ///
    /// Nobody is away from the clock for `hiccup` ticks unless the machine has other things to do.
    pub fn new(apart_ticks: f64, hiccup: u64, seed: u64) -> Self {
        // Small seeds begin with small numbers otherwise.
        let mut random = Random::new(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        let mut gap =
            || (-(1.0 - random.uniform()).ln() * apart_ticks).min(f64::from(u32::MAX)) as u32;
        let mut gaps = Box::new([0; GAPS]);
        gaps.iter_mut().for_each(|place| *place = gap());
        level(&mut gaps[..], apart_ticks);
        Self {
            gaps,
            next_gap: 0,
            next_due: ticks::now(),
            due: Box::new([0; PACKETS]),
            took: Histogram::default(),
            looked: ticks::now(),
            hiccup,
            missed: Missed::default(),
        }
    }

    /// How many packets are due and come in at place `first` and behind it: at most `room`.
    #[inline]
    pub fn come(&mut self, first: usize, room: usize) -> usize {
        let now = ticks::now();
        self.was_away(now);
        let mut n = 0;
        while n < room && self.next_due <= now {
            self.due[(first + n) & MASK] = self.next_due;
            self.next_due += u64::from(self.gaps[self.next_gap % GAPS]);
            self.next_gap = self.next_gap.wrapping_add(1);
            n += 1;
        }
        n
    }

    /// `n` packets from place `first` on are sent.
    #[inline]
    pub fn leave(&mut self, first: usize, n: usize) {
        let now = ticks::now();
        if self.was_away(now) {
            self.missed.packets += n as u64;
            return;
        }
        for at in first..first + n {
            self.took.add(now.saturating_sub(self.due[at & MASK]));
        }
    }

    /// Whether the machine had other things to do since the last look at the clock.
    #[inline]
    fn was_away(&mut self, now: u64) -> bool {
        let away = now.saturating_sub(self.looked);
        self.looked = now;
        if away <= self.hiccup {
            return false;
        }
        self.missed.hiccups += 1;
        self.missed.ticks += away;
        self.next_due += away;
        true
    }

    pub fn missed(&self) -> Missed {
        self.missed
    }

    /// How long packets took, in ticks.
    pub fn took(&self) -> &Histogram {
        &self.took
    }
}

/// Few gaps have not quite the mean that they were drawn with; their sum must not depend on chance.
fn level(gaps: &mut [u32], apart_ticks: f64) {
    let sum: f64 = gaps.iter().copied().map(f64::from).sum();
    let factor = apart_ticks * gaps.len() as f64 / sum.max(1.0);
    for gap in gaps {
        *gap = (f64::from(*gap) * factor).round() as u32;
    }
}

/// The longest time that is told apart: a minute.
const LONGEST_NS: u64 = 60_000_000_000;
/// Decimal digits of a time that are kept.
const DIGITS: u8 = 2;

/// How often each time occurred.
#[derive(Clone, Debug)]
pub struct Histogram(hdrhistogram::Histogram<u32>);

impl Default for Histogram {
    fn default() -> Self {
        let bounded = hdrhistogram::Histogram::new_with_bounds(1, LONGEST_NS, DIGITS);
        Self(bounded.expect("the bounds are in order"))
    }
}

impl Histogram {
    /// Counts one time.
    #[inline]
    pub fn add(&mut self, value: u64) {
        self.0.saturating_record(value);
    }

    /// Adds all that another counted.
    pub fn merge(&mut self, other: &Self) {
        let merged = self.0.add(&other.0);
        debug_assert!(merged.is_ok(), "both have the same bounds");
    }

    pub fn count(&self) -> u64 {
        self.0.len()
    }

    /// The time that `share` of all do not exceed; 0 of none.
    pub fn percentile(&self, share: f64) -> u64 {
        self.0.value_at_quantile(share)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_have_the_mean_asked_for_and_differ() {
        for apart in [40.0, 1_000.0, 50_000.0] {
            let arrivals = Arrivals::new(apart, u64::MAX, 7);
            let sum: f64 = arrivals.gaps.iter().copied().map(f64::from).sum();
            let mean = sum / GAPS as f64;
            assert!((mean / apart - 1.0).abs() < 0.02, "{mean}");
            // Of an exponential distribution 37 % are longer than the mean.
            let long = arrivals.gaps.iter().filter(|g| f64::from(**g) > apart);
            assert!((300..460).contains(&long.count()));
        }
    }

    #[test]
    fn what_is_late_took_its_time_and_nothing_comes_early() {
        let mut arrivals = Arrivals::new(1e9, u64::MAX, 7);
        arrivals.next_due = ticks::now();
        assert_eq!(arrivals.come(0, 64), 1);
        assert_eq!(arrivals.come(1, 64), 0);
        std::thread::sleep(std::time::Duration::from_millis(2));
        arrivals.leave(0, 1);
        // No counter is slower than 1 MHz.
        assert!(arrivals.took().percentile(0.5) >= 2_000);
        assert_eq!(arrivals.missed(), Missed::default());
        let mut hasty = Arrivals::new(1.0, u64::MAX, 7);
        hasty.next_due -= 1_000_000;
        assert_eq!(hasty.come(0, 64), 64);
        assert_eq!(hasty.took().count(), 0);
    }

    #[test]
    fn what_the_machine_was_away_for_is_counted_and_not_timed() {
        let mut arrivals = Arrivals::new(1e9, 1_000, 7);
        let due = arrivals.next_due;
        std::thread::sleep(std::time::Duration::from_millis(2));
        arrivals.come(0, 64);
        let first = arrivals.missed();
        assert!(first.hiccups == 1 && first.ticks >= 2_000, "{first:?}");
        assert!(arrivals.next_due >= due + first.ticks);
        std::thread::sleep(std::time::Duration::from_millis(2));
        arrivals.leave(0, 3);
        let both = arrivals.missed();
        assert_eq!((both.hiccups, both.packets), (2, 3));
        assert_eq!(arrivals.took().count(), 0);
    }

    #[test]
    fn small_times_are_exact_and_percentiles_those_of_the_sorted_times() {
        let mut histogram = Histogram::default();
        assert_eq!(histogram.percentile(0.5), 0);
        (1..=100).for_each(|value| histogram.add(value));
        assert_eq!(histogram.percentile(0.5), 50);
        assert_eq!(histogram.percentile(0.01), 1);
        assert_eq!(histogram.percentile(1.0), 100);
        let mut more = Histogram::default();
        (0..100).for_each(|_| more.add(7));
        histogram.merge(&more);
        assert_eq!((histogram.count(), histogram.percentile(0.5)), (200, 7));
    }

    #[test]
    fn long_times_are_told_within_a_hundredth_and_the_longest_kept() {
        let mut histogram = Histogram::default();
        histogram.add(123_456_789);
        let found = histogram.percentile(1.0);
        assert!(found.abs_diff(123_456_789) < 1_300_000, "{found}");
        histogram.add(u64::MAX);
        assert_eq!(histogram.count(), 2);
    }
}
