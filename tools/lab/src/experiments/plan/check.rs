//! Semantic checks of an experiment plan: unknown names, missing limits.

use super::{Axis, Condition, Expectation, Experiment, Kind, Plot, Status};
use crate::experiments::point::{At, Scalar};
use sluice_program::config::suggest::closest;

/// Fault in a plan.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Wrong {
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

/// Message about an unknown name, with the most similar known name.
pub fn unknown(kind: &str, got: &str, known: &[&str]) -> String {
    let meant = meant(got, known).map(|name| format!(" (did you mean '{name}'?)"));
    let expected = match known {
        [] => "none".to_owned(),
        known => format!("one of {}", known.join(", ")),
    };
    let meant = meant.unwrap_or_default();
    format!("unknown {kind} '{got}'{meant}; expected {expected}")
}

pub fn meant<'k>(got: &str, known: &[&'k str]) -> Option<&'k str> {
    let same = known.iter().find(|name| name.eq_ignore_ascii_case(got));
    same.copied().or_else(|| closest(got, known))
}

/// The first problem, if any.
pub fn sound(experiment: &Experiment) -> Result<(), Wrong> {
    let wrong = |near: &str, what: &str| Err(Wrong::at(&[near], what.to_owned()));
    let name = &experiment.name;
    let is_fine = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if name.is_empty() || !name.chars().all(is_fine) {
        let what = format!("name: got '{name}'; expected lower-case letters, digits and '-'");
        return wrong("name:", &what);
    }
    match experiment.status {
        Status::NotYet if experiment.cannot.is_empty() => {
            let what = "status: not_yet needs a line under `cannot` that says why";
            return wrong("status:", what);
        }
        Status::NotYet => return Ok(()),
        Status::Runs => {}
    }
    if experiment.runner.is_none() {
        return wrong("status:", "an experiment that runs needs a `runner`");
    }
    if experiment.series.is_empty() {
        return wrong("name:", "nothing is measured: `series` is empty");
    }
    experiment.axes.iter().try_for_each(axis)?;
    for e in &experiment.expectations {
        Part::of(experiment, "expectation", &e.name).expectation(e)?;
    }
    for p in &experiment.plots {
        Part::of(experiment, "plot", &p.name).plot(p)?;
    }
    Ok(())
}

fn axis(axis: &Axis) -> Result<(), Wrong> {
    let is_number = |value: &Scalar| value.number().is_some();
    let mut all = axis.values.iter().chain(&axis.quick);
    let numbers = axis.values.iter().any(is_number);
    let name = &axis.name;
    if axis.values.is_empty() || numbers && !all.all(is_number) {
        let what = format!("axis '{name}': expected numbers or names, not both");
        return Err(Wrong::at(&[&format!("name: {name}")], what));
    }
    match axis.quick.iter().find(|v| !axis.values.contains(v)) {
        None => Ok(()),
        Some(value) => {
            let what = format!("axis '{name}': quick has {value}, values have not");
            Err(Wrong::at(&["quick:"], what))
        }
    }
}

/// An expectation or a plot, which names series, axes and their values.
struct Part<'a> {
    experiment: &'a Experiment,
    kind: &'static str,
    name: &'a str,
}

impl<'a> Part<'a> {
    fn of(experiment: &'a Experiment, kind: &'static str, name: &'a str) -> Self {
        Self {
            experiment,
            kind,
            name,
        }
    }

    fn wrong<T>(&self, what: &str) -> Result<T, Wrong> {
        let Self { kind, name, .. } = self;
        let what = format!("{kind} '{name}': {what}");
        Err(Wrong::at(&[&format!("name: {name}")], what))
    }

    fn axis(&self, name: &str) -> Result<&'a Axis, Wrong> {
        let axes = &self.experiment.axes;
        let known: Vec<&str> = axes.iter().map(|axis| &axis.name[..]).collect();
        let found = self.experiment.axis(name).map(Ok);
        found.unwrap_or_else(|| self.wrong(&unknown("axis", name, &known)))
    }

    fn axes(&self, names: &[String]) -> Result<(), Wrong> {
        names.iter().try_for_each(|name| self.axis(name).map(drop))
    }

    fn series(&self, name: &str) -> Result<(), Wrong> {
        let series = &self.experiment.series;
        let known: Vec<&str> = series.iter().map(|series| &series.name[..]).collect();
        match known.contains(&name) {
            true => Ok(()),
            false => self.wrong(&unknown("series", name, &known)),
        }
    }

    fn places(&self, at: &At) -> Result<(), Wrong> {
        at.iter().try_for_each(
            |(axis, value)| match self.axis(axis)?.values.contains(value) {
                true => Ok(()),
                false => self.wrong(&format!("axis '{axis}' has no value {value}")),
            },
        )
    }

    fn expectation(&self, expectation: &Expectation) -> Result<(), Wrong> {
        if expectation.at_least.is_none() && expectation.at_most.is_none() {
            return self.wrong("needs `at_least` or `at_most`");
        }
        let boundless = |c: &Condition| c.at_least.is_none() && c.at_most.is_none();
        if expectation.judged_if.iter().any(boundless) {
            return self.wrong("`judged_if` needs `at_least` or `at_most`");
        }
        for select in expectation.selects() {
            self.series(&select.series)?;
            self.places(&select.at)?;
        }
        self.axes(&expectation.for_each)
    }

    fn plot(&self, plot: &Plot) -> Result<(), Wrong> {
        if plot.y.is_empty() {
            return self.wrong("`y` is empty");
        }
        self.axes(&plot.by)?;
        self.places(&plot.at)?;
        self.their_curves(plot)?;
        if !plot.kind.has_curves() {
            self.axis(&plot.x)?;
            return plot.y.iter().try_for_each(|y| self.series(y));
        }
        match plot.y_says.len() == plot.y.len() {
            true => Ok(()),
            false => self.wrong("`y_says` needs a line for each of `y`"),
        }
    }

    fn their_curves(&self, plot: &Plot) -> Result<(), Wrong> {
        if !plot.theirs.is_empty() && plot.kind != Kind::Curves {
            return self.wrong("`theirs` stands beside curves alone");
        }
        let stray = plot.theirs.iter().find(|one| !plot.y.contains(&one.y));
        match stray {
            Some(one) => self.wrong(&format!("`theirs`: '{}' is none of `y`", one.y)),
            None => Ok(()),
        }
    }
}
