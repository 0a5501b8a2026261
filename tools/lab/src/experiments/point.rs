//! Measurement points: axis values and results.

use serde::{Deserialize, Serialize};
use sluice_bench::stats::Summary;
use std::collections::BTreeMap;
use std::fmt;

/// A value on an axis, or of something held.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Scalar {
    Number(f64),
    /// A name, such as an execution model's.
    Text(String),
}

impl Scalar {
    pub fn number(&self) -> Option<f64> {
        match self {
            Self::Number(number) => Some(*number),
            Self::Text(_) => None,
        }
    }

    /// If it is a name.
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Number(_) => None,
            Self::Text(text) => Some(text),
        }
    }
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Text(text) => f.write_str(text),
        }
    }
}

/// A place on all axes, by the axis' name.
pub type At = BTreeMap<String, Scalar>;

/// Whether `at` has the values that are wanted, on their axes.
pub fn covers(wanted: &At, at: &At) -> bool {
    let mut wanted = wanted.iter();
    wanted.all(|(axis, value)| at.get(axis) == Some(value))
}

/// As people read it: `model=rtc, payload=64`.
pub fn show(at: &At) -> String {
    let parts = at.iter().map(|(axis, value)| format!("{axis}={value}"));
    parts.collect::<Vec<_>>().join(", ")
}

/// A moment of a timeline.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Mark {
    /// Place on the x axis.
    pub at: f64,
    pub says: String,
    /// Whether the event is a step of the load, which is drawn lighter.
    #[serde(default, skip_serializing_if = "is_false")]
    pub is_step: bool,
}

fn is_false(value: &bool) -> bool {
    !value
}

/// Measured values of one point.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Measured {
    pub series: BTreeMap<String, Summary>,
    /// Timelines and distributions, by the curve's name: x and y.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub curves: BTreeMap<String, Vec<[f64; 2]>>,
    /// Moments on the timelines.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub marks: Vec<Mark>,
    /// Why the figures cannot be trusted, if so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disturbed: Option<String>,
}

impl Measured {
    /// The same point measured several times: medians of the medians, the least and the greatest of
    /// all. Curves and moments are those of the first.
    pub fn of_several(attempts: &[Self]) -> Self {
        let mut all = attempts.first().cloned().unwrap_or_default();
        for (name, summary) in &mut all.series {
            let all = attempts.iter().filter_map(|a| a.series.get(name));
            let of = |figure: fn(&Summary) -> f64| Summary::of(all.clone().map(figure));
            *summary = Summary {
                min: of(|s| s.min).min,
                median: of(|s| s.median).median,
                max: of(|s| s.max).max,
                repeats: all.clone().map(|s| s.repeats).sum(),
            };
        }
        let disturbed = attempts.iter().filter_map(|a| a.disturbed.as_ref());
        let most = 2 * disturbed.clone().count() > attempts.len();
        all.disturbed = disturbed.take(usize::from(most)).next().cloned();
        all
    }

    /// Adds a series; nothing if no value is finite.
    pub fn add(&mut self, name: &str, values: impl IntoIterator<Item = f64>) {
        let summary = Summary::of(values.into_iter().filter(|v| v.is_finite()));
        if summary.repeats > 0 {
            self.series.insert(name.to_owned(), summary);
        }
    }
}
