//! Histogram of times in nanoseconds: any percentile within 1 %, in constant memory.

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

    /// All times counted.
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
