//! Statistics of repetitions: median, minimum, maximum; percentiles; random numbers.

use serde::{Deserialize, Serialize};

/// Minimum, median and maximum of some repetitions.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Summary {
    /// The least.
    pub min: f64,
    /// The one in the middle; of an even number the mean of both.
    pub median: f64,
    pub max: f64,
    pub repeats: usize,
}

impl Summary {
    /// Of at least one value; NaN otherwise.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Self {
        let mut sorted: Vec<f64> = values.into_iter().collect();
        sorted.sort_by(f64::total_cmp);
        let at = |i: usize| sorted.get(i).copied().unwrap_or(f64::NAN);
        let last = sorted.len().saturating_sub(1);
        Self {
            min: at(0),
            median: f64::midpoint(at(last / 2), at(last.div_ceil(2))),
            max: at(last),
            repeats: sorted.len(),
        }
    }

    /// The same of the values that `of` makes of these, in the same order.
    pub fn map(self, of: impl Fn(f64) -> f64) -> Self {
        Self {
            min: of(self.min),
            median: of(self.median),
            max: of(self.max),
            ..self
        }
    }

    /// How far the repetitions lie apart, by the median.
    pub fn spread(&self) -> f64 {
        (self.max - self.min) / self.median
    }
}

/// Value that `share` of the sorted values do not exceed.
pub fn percentile<T: Copy + Default>(sorted: &[T], share: f64) -> T {
    let at = (sorted.len() as f64 * share).ceil() as usize;
    let found = sorted.get(at.saturating_sub(1));
    found.copied().unwrap_or_default()
}

/// Random numbers that are the same in every run: Marsaglia's xorshift.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Any number but 0.
    fn draw(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// Below `bound`.
    pub fn below(&mut self, bound: usize) -> usize {
        (self.draw() % bound.max(1) as u64) as usize
    }

    /// From 0 to 1.
    pub fn uniform(&mut self) -> f64 {
        (self.draw() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// To three digits behind the point.
pub fn round(value: f64) -> f64 {
    (value * 1000.0).round() / 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle_or_the_mean_of_both_middles() {
        let odd = Summary::of([3.0, 1.0, 2.0]);
        assert_eq!((odd.min, odd.median, odd.max), (1.0, 2.0, 3.0));
        assert_eq!(Summary::of([4.0, 1.0, 2.0, 3.0]).median, 2.5);
        assert_eq!(odd.spread(), 1.0);
    }
}
