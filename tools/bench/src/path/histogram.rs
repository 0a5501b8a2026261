//! Log-linear histogram of times (HDR): any percentile within 1.6 %, in constant memory.

/// Places for each doubling: 2^6.
const BITS: u32 = 6;
const PER_DOUBLING: usize = 1 << BITS;
const PLACES: usize = (64 - BITS as usize + 1) * PER_DOUBLING;

/// How often each time occurred.
#[derive(Clone, Debug)]
pub struct Histogram {
    counts: Box<[u32; PLACES]>,
}

impl Default for Histogram {
    fn default() -> Self {
        Self {
            counts: Box::new([0; PLACES]),
        }
    }
}

impl Histogram {
    /// Counts one time.
    #[inline]
    pub fn add(&mut self, value: u64) {
        if let Some(count) = self.counts.get_mut(place(value)) {
            *count = count.saturating_add(1);
        }
    }

    /// Adds all that another counted.
    pub fn merge(&mut self, other: &Self) {
        for (count, more) in self.counts.iter_mut().zip(other.counts.iter()) {
            *count = count.saturating_add(*more);
        }
    }

    /// All times counted.
    pub fn count(&self) -> u64 {
        self.counts.iter().copied().map(u64::from).sum()
    }

    /// The time that `share` of all do not exceed; 0 of none.
    pub fn percentile(&self, share: f64) -> u64 {
        let wanted = (self.count() as f64 * share).ceil() as u64;
        let mut seen = 0;
        for (place, count) in self.counts.iter().enumerate() {
            seen += u64::from(*count);
            if seen >= wanted && seen > 0 {
                return middle(place);
            }
        }
        0
    }
}

#[inline]
fn place(value: u64) -> usize {
    let doublings = (value | (PER_DOUBLING as u64 - 1)).ilog2() + 1 - BITS;
    let within = (value >> doublings.saturating_sub(1)) as usize;
    // The first doubling has no leading bit to leave out.
    within + doublings.saturating_sub(1) as usize * PER_DOUBLING
}

/// A time that lies at this place.
fn middle(place: usize) -> u64 {
    let doublings = (place / PER_DOUBLING).saturating_sub(1);
    let low = ((place - doublings * PER_DOUBLING) as u64) << doublings;
    low + ((1 << doublings) >> 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_time_is_found_again_within_its_place(value: u64) {
            let found = middle(place(value));
            let error = value.abs_diff(found) as f64 / value.max(1) as f64;
            prop_assert!(error <= 1.0 / PER_DOUBLING as f64, "{value} {found}");
            prop_assert!(place(value) < PLACES);
        }

        #[test]
        fn longer_times_have_later_places(a: u64, b: u64) {
            prop_assert_eq!(place(a.min(b)) <= place(a.max(b)), true);
        }
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
}
