//! Experiment plans: axes, held values, measured series, published findings, expectations.

mod check;
mod read;

use crate::experiments::point::{At, Scalar};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

pub use check::{Wrong, meant, unknown};
pub use read::{Bad, Fits, from_folder, from_text};
pub use read::{embedded, embedded_files};

/// One file of `lab/experiments/plans`, or of a folder of the user's.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Experiment {
    pub name: String,
    pub title: String,
    pub paper: Paper,
    /// Whether it can be run.
    pub status: Status,
    /// Runner of the `sluice` command that measures the experiment.
    #[serde(default)]
    pub runner: Option<String>,
    /// Axes: all combinations are measured, the last axis fastest.
    #[serde(default)]
    pub axes: Vec<Axis>,
    #[serde(default)]
    pub held: BTreeMap<String, Scalar>,
    /// Fixed values that differ with `--quick`.
    #[serde(default)]
    pub held_quick: BTreeMap<String, Scalar>,
    #[serde(default)]
    pub series: Vec<Series>,
    #[serde(default)]
    pub theirs: Vec<Theirs>,
    /// Orderings and ratios that have to hold.
    #[serde(default)]
    pub expectations: Vec<Expectation>,
    #[serde(default)]
    pub plots: Vec<Plot>,
    /// Parts that really carry packets, and parts that are modelled or in virtual time.
    #[serde(default)]
    pub how: Vec<String>,
    /// Parts that cannot be done here, with reasons.
    #[serde(default)]
    pub cannot: Vec<String>,
    /// All that its runner can measure; not a part of the file.
    #[serde(skip)]
    pub gives: Vec<Series>,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Paper {
    /// `A` to `E`, or a name of the user's.
    pub system: String,
    pub reference: String,
    /// Which figure, table or section.
    pub figure: String,
}

/// Whether an experiment can be run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    Runs,
    /// The experiment needs parts that do not exist, listed in `cannot`. Never counted as passed.
    NotYet,
}

/// Axis of an experiment.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Axis {
    /// As points and series name it.
    pub name: String,
    pub says: String,
    #[serde(default)]
    pub unit: String,
    /// All values, numbers or names.
    pub values: Vec<Scalar>,
    /// The values with `--quick`; all if there are none.
    #[serde(default)]
    pub quick: Vec<Scalar>,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Series {
    /// As results name it.
    pub name: String,
    pub says: String,
    #[serde(default)]
    pub unit: String,
    pub how: How,
}

/// How a figure comes about.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum How {
    /// On this machine, by the clock.
    Measured,
    /// By a model; the experiment says which.
    Modelled,
    /// Queues and time are counted; what turns cost was measured in the same run.
    VirtualTime,
}

impl How {
    pub fn says(self) -> &'static str {
        match self {
            Self::Measured => "measured",
            Self::Modelled => "modelled",
            Self::VirtualTime => "virtual time",
        }
    }
}

/// A figure of the paper.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Theirs {
    pub says: String,
    /// As printed, with its unit.
    pub value: String,
    /// Place of the statement in the paper.
    pub stands: String,
}

/// An ordering or a ratio that has to hold: left by right (or left alone) is at least or at most
/// so much.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expectation {
    /// Short, for reports and scripts.
    pub name: String,
    pub says: String,
    pub left: Select,
    #[serde(default)]
    pub right: Option<Select>,
    /// Judged for each combination of values of these axes.
    #[serde(default)]
    pub for_each: Vec<String>,
    /// Whether each combination has to hold, or their median.
    #[serde(default)]
    pub over: Over,
    #[serde(default)]
    pub at_least: Option<f64>,
    #[serde(default)]
    pub at_most: Option<f64>,
    /// Conditions of this machine and this run under which the expectation applies.
    #[serde(default)]
    pub judged_if: Vec<Condition>,
    /// The same ratio in the paper.
    #[serde(default)]
    pub theirs: Option<String>,
}

/// A value, or a ratio of two, without which an expectation is not judged: one that says that levelling
/// wins needs a load at which something is lost without it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Condition {
    pub left: Select,
    #[serde(default)]
    pub right: Option<Select>,
    /// The least with which the expectation is judged, for each of its combinations.
    #[serde(default)]
    pub at_least: Option<f64>,
    #[serde(default)]
    pub at_most: Option<f64>,
    /// Why it is not judged otherwise, in words.
    pub otherwise: String,
}

/// Which combinations have to hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Over {
    #[default]
    Each,
    /// The one in the middle.
    Median,
}

/// Values of a series.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Select {
    /// Of which series, the medians.
    pub series: String,
    /// Only where these axes have these values.
    #[serde(default, rename = "where")]
    pub at: At,
    /// Reduction of several values to one.
    #[serde(default)]
    pub reduce: Option<Reduce>,
}

/// One value of several.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reduce {
    Min,
    Max,
    Mean,
    /// Of the least place on its axes.
    First,
    /// Of the greatest place on its axes.
    Last,
}

/// Plot of an experiment.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plot {
    /// Name of the plot's file, after the experiment's name.
    pub name: String,
    pub title: String,
    pub kind: Kind,
    /// The axis along x; of timelines and distributions: what stands there.
    pub x: String,
    /// The series, or the curves of timelines and distributions: each has a panel.
    pub y: Vec<String>,
    /// A curve for each combination of these axes' values.
    #[serde(default)]
    pub by: Vec<String>,
    /// Only where these axes have these values.
    #[serde(default, rename = "where")]
    pub at: At,
    #[serde(default)]
    pub log_x: bool,
    #[serde(default)]
    pub log_y: bool,
    /// Labels of the y axis for timelines and distributions; one for each of `y`.
    #[serde(default)]
    pub y_says: Vec<String>,
    /// Published figures that stand beside ours, of curves alone.
    #[serde(default)]
    pub theirs: Vec<TheirCurve>,
}

/// A curve of figures that others have published.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TheirCurve {
    /// As the legend has it.
    pub name: String,
    /// Series beside which it stands.
    pub y: String,
    /// Places on both axes, as printed in the paper.
    pub places: Vec<[f64; 2]>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Medians with bars from minimum to maximum, over an axis of numbers.
    Curves,
    /// The same over an axis of names.
    Bars,
    /// Curves of points over time, with moments marked.
    Timeline,
    /// The share of values below each.
    Distribution,
}

impl Kind {
    /// Whether it shows curves that a point has, and no series.
    pub fn has_curves(self) -> bool {
        matches!(self, Self::Timeline | Self::Distribution)
    }
}

impl Expectation {
    /// All that it looks at.
    pub fn selects(&self) -> impl Iterator<Item = &Select> {
        let conditions = self.judged_if.iter();
        let conditions = conditions.flat_map(|c| std::iter::once(&c.left).chain(&c.right));
        let own = std::iter::once(&self.left).chain(&self.right);
        own.chain(conditions)
    }
}

impl Experiment {
    /// All points, in the order in which they are measured.
    pub fn points(&self, quick: bool) -> Vec<At> {
        let mut points = vec![At::new()];
        for axis in &self.axes {
            let values = match quick && !axis.quick.is_empty() {
                true => &axis.quick,
                false => &axis.values,
            };
            let with = |at: &At, value: &Scalar| {
                let mut at = at.clone();
                at.insert(axis.name.clone(), value.clone());
                at
            };
            points = points
                .iter()
                .flat_map(|at| values.iter().map(move |value| with(at, value)))
                .collect();
        }
        points
    }

    /// Fixed value of this name.
    pub fn held(&self, name: &str, quick: bool) -> Option<&Scalar> {
        let quick = self.held_quick.get(name).filter(|_| quick);
        quick.or_else(|| self.held.get(name))
    }

    pub fn axis(&self, name: &str) -> Option<&Axis> {
        self.axes.iter().find(|axis| axis.name == name)
    }

    /// The series of this name, asked for or not.
    pub fn given(&self, name: &str) -> Option<&Series> {
        let asked = self.series(name);
        asked.or_else(|| self.gives.iter().find(|series| series.name == name))
    }

    pub fn series(&self, name: &str) -> Option<&Series> {
        self.series.iter().find(|series| series.name == name)
    }

    /// Whether it can be run.
    pub fn runs(&self) -> bool {
        self.status == Status::Runs
    }
}
