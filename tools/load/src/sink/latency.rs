//! Latency histograms.

use hdrhistogram::Histogram;
use serde::Serialize;

/// Longer times count as this.
const LONGEST_NS: u64 = 600_000_000_000;
/// Digits that a histogram keeps: an error of 1 in 1000 at most.
const DIGITS: u8 = 3;

/// A distribution of times in nanoseconds. Minimum, maximum and mean are exact, percentiles are by
/// an HDR histogram of three digits.
#[derive(Clone, Debug)]
pub struct Times {
    histogram: Histogram<u64>,
    min_ns: u64,
    max_ns: u64,
    sum_ns: u128,
}

/// Summary of a distribution of times, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[allow(missing_docs, reason = "percentiles under their usual names")]
pub struct TimeSummary {
    pub count: u64,
    pub min_ns: u64,
    pub mean_ns: f64,
    pub p50_ns: u64,
    pub p90_ns: u64,
    pub p99_ns: u64,
    pub p999_ns: u64,
    pub p9999_ns: u64,
    pub max_ns: u64,
}

impl Default for Times {
    fn default() -> Self {
        Self::new()
    }
}

impl Times {
    /// None yet.
    pub fn new() -> Self {
        let histogram = Histogram::new_with_bounds(1, LONGEST_NS, DIGITS);
        Self {
            // These bounds are right; anything else would grow by itself.
            histogram: histogram.unwrap_or_else(|_| unreachable!("bounds of a histogram")),
            min_ns: u64::MAX,
            max_ns: 0,
            sum_ns: 0,
        }
    }

    #[inline]
    pub fn record(&mut self, ns: u64) {
        self.histogram.saturating_record(ns.max(1));
        self.min_ns = self.min_ns.min(ns);
        self.max_ns = self.max_ns.max(ns);
        self.sum_ns += u128::from(ns);
    }

    /// Adds all of another.
    pub fn add(&mut self, other: &Self) {
        // Both have the same bounds.
        let _ = self.histogram.add(&other.histogram);
        self.min_ns = self.min_ns.min(other.min_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
        self.sum_ns += other.sum_ns;
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        self.histogram.reset();
        (self.min_ns, self.max_ns, self.sum_ns) = (u64::MAX, 0, 0);
    }

    pub fn count(&self) -> u64 {
        self.histogram.len()
    }

    /// The time that a share of all, from 0 to 1, does not exceed: as exact as minimum and maximum
    /// allow.
    pub fn quantile_ns(&self, share: f64) -> u64 {
        match self.count() {
            0 => 0,
            _ => self
                .histogram
                .value_at_quantile(share)
                .clamp(self.min_ns, self.max_ns),
        }
    }

    /// Bars for a plot: the highest time of each, and how many, in steps that double.
    pub fn bars(&self) -> Vec<(u64, u64)> {
        let bars = self.histogram.iter_log(1024, 1.25);
        let bar = bars.map(|bar| (bar.value_iterated_to(), bar.count_since_last_iteration()));
        bar.filter(|(_, count)| *count > 0).collect()
    }

    /// Summary of the recorded times.
    pub fn summary(&self) -> TimeSummary {
        let count = self.count();
        if count == 0 {
            return TimeSummary::default();
        }
        TimeSummary {
            count,
            min_ns: self.min_ns,
            mean_ns: self.sum_ns as f64 / count as f64,
            p50_ns: self.quantile_ns(0.5),
            p90_ns: self.quantile_ns(0.9),
            p99_ns: self.quantile_ns(0.99),
            p999_ns: self.quantile_ns(0.999),
            p9999_ns: self.quantile_ns(0.9999),
            max_ns: self.max_ns,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_is_within_a_thousandth_and_its_ends_are_exact() {
        let mut times = Times::new();
        (1..=100_000).for_each(|ns| times.record(ns));
        let summary = times.summary();
        assert_eq!((summary.min_ns, summary.max_ns), (1, 100_000));
        assert_eq!((summary.count, summary.mean_ns), (100_000, 50_000.5));
        for (is, want) in [
            (summary.p50_ns, 50_000u64),
            (summary.p90_ns, 90_000),
            (summary.p99_ns, 99_000),
            (summary.p999_ns, 99_900),
            (summary.p9999_ns, 99_990),
        ] {
            assert!(is.abs_diff(want) <= want / 1000, "{is}, want {want}");
        }
        let bars: u64 = times.bars().iter().map(|(_, count)| count).sum();
        assert_eq!(bars, 100_000);
    }

    #[test]
    fn one_value_is_told_exactly_and_none_as_nothing() {
        let mut times = Times::new();
        assert_eq!(times.summary(), TimeSummary::default());
        (0..10).for_each(|_| times.record(123_456_789));
        let summary = times.summary();
        assert_eq!(
            (summary.p50_ns, summary.p9999_ns),
            (123_456_789, 123_456_789)
        );
        times.record(u64::MAX);
        assert_eq!(times.summary().max_ns, u64::MAX);
        let mut other = Times::new();
        other.add(&times);
        assert_eq!(other.summary(), times.summary());
        times.clear();
        assert_eq!(times.count(), 0);
    }
}
