//! Semantic checks of an experiment plan: unknown names, missing limits.

use super::{Condition, Expectation, Experiment, Kind, Plot, Select, Status};
use crate::experiments::point::{At, Scalar};

/// What is wrong in a plan.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Wrong {
    /// For people.
    pub what: String,
    /// The way to the line that is meant: words, each looked for from the line of those before on.
    near: Vec<String>,
}

impl Wrong {
    /// `near` is the way to the line, such as `held:`, then `seconds:`.
    pub fn at(near: &[&str], what: String) -> Self {
        let near = near.iter().map(|words| (*words).to_owned()).collect();
        Self { what, near }
    }

    fn new<T>(near: &str, what: String) -> Result<T, Self> {
        Err(Self::at(&[near], what))
    }

    /// The line, from 1, as far as the way to it is found.
    pub fn line_of(&self, text: &str) -> Option<u64> {
        let lines: Vec<&str> = text.lines().collect();
        let next = |found: Option<usize>, words: &String| {
            let from = found.unwrap_or(0);
            let here = lines[from..].iter().position(|line| stands(words, line));
            here.map(|n| from + n).or(found)
        };
        let found = self.near.iter().fold(None, next);
        found.map(|at| at as u64 + 1)
    }
}

/// Whether the words stand in a line, not as a part of longer ones.
fn stands(words: &str, line: &str) -> bool {
    let goes_on = |c: char| c.is_alphanumeric() || "_-.".contains(c);
    let open = words.ends_with(':');
    let whole = |at: usize| {
        let behind = line[at + words.len()..].chars().next();
        !line[..at].ends_with(goes_on) && (open || !behind.is_some_and(goes_on))
    };
    let is_said = !line.trim_start().starts_with('#');
    is_said && line.match_indices(words).any(|(at, _)| whole(at))
}

/// As it stands in a file.
fn named(name: &str) -> String {
    format!("name: {name}")
}

/// The first problem, if any.
pub fn sound(experiment: &Experiment) -> Result<(), Wrong> {
    let name = &experiment.name;
    let is_fine = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if name.is_empty() || !name.chars().all(is_fine) {
        let what = format!("name: got '{name}'; expected lower-case letters, digits and '-'");
        return Wrong::new("name:", what);
    }
    match experiment.status {
        Status::NotYet if experiment.cannot.is_empty() => {
            let what = "status: not_yet needs a line under `cannot` that says why".to_owned();
            Wrong::new("status:", what)
        }
        Status::NotYet => Ok(()),
        Status::Runs => runs(experiment),
    }
}

fn runs(experiment: &Experiment) -> Result<(), Wrong> {
    if experiment.runner.is_none() {
        let what = "an experiment that runs needs a `runner`".to_owned();
        return Wrong::new("status:", what);
    }
    if experiment.series.is_empty() {
        return Wrong::new("name:", "nothing is measured: `series` is empty".to_owned());
    }
    for axis in &experiment.axes {
        let is_number = |value: &Scalar| value.number().is_some();
        let numbers = axis.values.iter().filter(|v| is_number(v)).count();
        let all = axis.values.iter().chain(&axis.quick);
        if numbers != 0 && !all.clone().all(is_number) || axis.values.is_empty() {
            let what = format!("axis '{}': expected numbers or names, not both", axis.name);
            return Wrong::new(&named(&axis.name), what);
        }
        let unknown = axis.quick.iter().find(|value| !axis.values.contains(value));
        if let Some(value) = unknown {
            let what = format!("axis '{}': quick has {value}, values have not", axis.name);
            return Wrong::new("quick:", what);
        }
    }
    let mut expectations = experiment.expectations.iter();
    expectations.try_for_each(|e| expectation(experiment, e))?;
    experiment
        .plots
        .iter()
        .try_for_each(|p| plot(experiment, p))
}

fn expectation(experiment: &Experiment, expectation: &Expectation) -> Result<(), Wrong> {
    let name = &expectation.name;
    if expectation.at_least.is_none() && expectation.at_most.is_none() {
        let what = format!("expectation '{name}': needs `at_least` or `at_most`");
        return Wrong::new(&named(name), what);
    }
    let conditions = &expectation.judged_if;
    let boundless = |c: &Condition| c.at_least.is_none() && c.at_most.is_none();
    if conditions.iter().any(boundless) {
        let what = format!("expectation '{name}': `judged_if` needs `at_least` or `at_most`");
        return Wrong::new(&named(name), what);
    }
    let of_conditions = conditions
        .iter()
        .flat_map(|c| std::iter::once(&c.left).chain(&c.right));
    let selects = std::iter::once(&expectation.left).chain(&expectation.right);
    let selects = selects.chain(of_conditions);
    for Select { series, at, .. } in selects {
        if experiment.series(series).is_none() {
            return Wrong::new(&named(name), unknown(experiment, name, series));
        }
        places(experiment, name, at)?;
    }
    let mut axes = expectation.for_each.iter();
    match axes.find(|axis| experiment.axis(axis).is_none()) {
        None => Ok(()),
        Some(axis) => {
            let what = format!("expectation '{name}': there is no axis '{axis}'");
            Wrong::new(&named(name), what)
        }
    }
}

fn unknown(experiment: &Experiment, name: &str, series: &str) -> String {
    let known: Vec<&str> = experiment.series.iter().map(|s| s.name.as_str()).collect();
    let known = known.join(", ");
    format!("'{name}': there is no series '{series}'; expected one of {known}")
}

fn places(experiment: &Experiment, name: &str, at: &At) -> Result<(), Wrong> {
    at.iter().try_for_each(|(axis, value)| {
        let known = experiment.axis(axis);
        if known.is_some_and(|axis| axis.values.contains(value)) {
            return Ok(());
        }
        let what = match known {
            None => format!("'{name}': there is no axis '{axis}'"),
            Some(_) => format!("'{name}': axis '{axis}' has no value {value}"),
        };
        Wrong::new(&named(name), what)
    })
}

fn plot(experiment: &Experiment, plot: &Plot) -> Result<(), Wrong> {
    let name = &plot.name;
    if plot.y.is_empty() {
        return Wrong::new(&named(name), format!("plot '{name}': `y` is empty"));
    }
    let lost = plot.by.iter().find(|axis| experiment.axis(axis).is_none());
    if let Some(axis) = lost {
        return Wrong::new(
            &named(name),
            format!("plot '{name}': there is no axis '{axis}'"),
        );
    }
    if matches!(plot.kind, Kind::Timeline | Kind::Distribution) {
        let what = format!("plot '{name}': `y_says` needs a line for each of `y`");
        return match plot.y_says.len() == plot.y.len() {
            true => Ok(()),
            false => Wrong::new(&named(name), what),
        };
    }
    if experiment.axis(&plot.x).is_none() {
        let what = format!("plot '{name}': there is no axis '{}'", plot.x);
        return Wrong::new(&named(name), what);
    }
    let unknown_series = plot.y.iter().find(|y| experiment.series(y).is_none());
    if let Some(series) = unknown_series {
        return Wrong::new(&named(name), unknown(experiment, name, series));
    }
    places(experiment, name, &plot.at)
}
