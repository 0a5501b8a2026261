//! Statistics of repetitions: median, minimum, maximum.

/// Minimum, median and maximum of some repetitions.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Summary {
    /// The least.
    pub min: f64,
    /// The one in the middle; of an even number the mean of both.
    pub median: f64,
    /// The greatest.
    pub max: f64,
}

impl Summary {
    /// Of at least one value.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Self {
        let mut sorted: Vec<f64> = values.into_iter().collect();
        sorted.sort_by(f64::total_cmp);
        let at = |i: usize| sorted.get(i).copied().unwrap_or(f64::NAN);
        let last = sorted.len().saturating_sub(1);
        Self {
            min: at(0),
            median: f64::midpoint(at(last / 2), at(last.div_ceil(2))),
            max: at(last),
        }
    }

    /// How far the repetitions lie apart, by the median.
    pub fn spread(&self) -> f64 {
        (self.max - self.min) / self.median
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
