//! Named figures of each repetition, for the history.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Which way is the good one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Better {
    /// Times, and bytes.
    Lower,
    /// Rates.
    Higher,
}

/// One figure of a run, repetition by repetition.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Series {
    /// Such as `path/ul/default/1000000`; the same in every run.
    pub name: String,
    /// What the samples are: for judged ones a ratio, such as "ns by the limit's ns".
    pub unit: String,
    /// Which way is the good one.
    pub better: Better,
    /// Whether the samples were divided by a limit of their own repetition: what was not moves
    /// with the machine, and is shown without a verdict.
    pub judged: bool,
    /// One of each repetition, in their order; finite and more than 0.
    pub samples: Vec<f64>,
    /// What must be the same for this figure to be comparable, beside what holds for the whole run.
    #[serde(default)]
    pub conditions: BTreeMap<String, String>,
    /// Why the samples cannot be trusted although they are ratios, such as that others had the CPU.
    #[serde(default)]
    pub disturbed: Option<String>,
}

impl Series {
    /// Ratios to a limit of the same repetition.
    pub fn ratio(name: String, unit: &str, samples: impl IntoIterator<Item = f64>) -> Self {
        Self {
            name,
            unit: unit.to_owned(),
            better: Better::Lower,
            judged: true,
            samples: usable(samples),
            conditions: BTreeMap::new(),
            disturbed: None,
        }
    }

    /// Figures without a limit beside them: shown, not judged.
    pub fn shown(name: String, unit: &str, samples: impl IntoIterator<Item = f64>) -> Self {
        Self {
            judged: false,
            ..Self::ratio(name, unit, samples)
        }
    }

    /// More is better.
    pub fn higher(mut self) -> Self {
        self.better = Better::Higher;
        self
    }

    /// Comparable only with figures of which the same holds.
    pub fn under(mut self, key: &str, value: &str) -> Self {
        self.conditions.insert(key.to_owned(), value.to_owned());
        self
    }

    /// Not to be trusted, if there is a reason.
    pub fn disturbed(mut self, why: Option<String>) -> Self {
        self.disturbed = why;
        self
    }

    /// Logarithms, so that more is always worse and a slowdown by a share is a distance.
    pub fn costs(&self) -> Vec<f64> {
        let sign = match self.better {
            Better::Lower => 1.0,
            Better::Higher => -1.0,
        };
        self.samples.iter().map(|v| sign * v.ln()).collect()
    }
}

/// A repetition in which nothing was counted has no figure.
fn usable(samples: impl IntoIterator<Item = f64>) -> Vec<f64> {
    let samples = samples.into_iter();
    samples.filter(|v| v.is_finite() && *v > 0.0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_cost_is_worse_whichever_way_is_better() {
        let slower = |series: [Series; 2]| {
            let [old, new] = series.map(|s| s.costs()[0]);
            new - old
        };
        let time = |v| Series::ratio("t".into(), "ns", [v]);
        let rate = |v| time(v).higher();
        assert!((slower([time(1.0), time(1.1)]) - 1.1_f64.ln()).abs() < 1e-12);
        assert!((slower([rate(1.1), rate(1.0)]) - 1.1_f64.ln()).abs() < 1e-12);
    }

    #[test]
    fn what_was_not_counted_is_no_sample() {
        let series = Series::shown("x".into(), "us", [f64::NAN, 0.0, 2.0, f64::INFINITY]);
        assert_eq!((series.samples, series.judged), (vec![2.0], false));
    }
}
