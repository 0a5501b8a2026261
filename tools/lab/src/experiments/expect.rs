//! Judgement of expectations: orderings and ratios within one run, never absolute figures.

use crate::experiments::plan::{Condition, Expectation, Experiment, Over, Reduce, Select};
use crate::experiments::point::{At, Scalar, show};
use crate::experiments::store::Point;
use serde::{Deserialize, Serialize};

/// What became of an expectation.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExpectationResult {
    /// It holds.
    Passed,
    /// It holds, by points all of which something disturbed.
    PassedDisturbed,
    /// It does not hold, or its points could not be measured.
    Failed,
    /// The run ended before its points were measured.
    NotJudged,
    /// What it needs to say anything was not so on this machine, or in this run.
    NotHere,
}

/// An expectation, judged.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Verdict {
    /// The expectation's name.
    pub name: String,
    /// In words.
    pub says: String,
    /// Whether it holds.
    pub passed: bool,
    /// The same, and why it may not count.
    pub outcome: ExpectationResult,
    /// The ratio that was judged: the median, or of the combination that is worst; none if nothing
    /// was measured.
    pub ours: Option<f64>,
    /// Where the worst was found, or why nothing was judged.
    pub note: String,
    /// What was expected: `>= 1.2`.
    pub expected: String,
    /// The paper's.
    pub theirs: Option<String>,
}

/// All expectations of an experiment, by the points that were measured; those that need a point which
/// the run did not come to are not judged.
pub fn judge(experiment: &Experiment, points: &[Point], missing: &[At]) -> Vec<Verdict> {
    let judged = |expectation: &Expectation| {
        let verdict = one(expectation, points);
        // What is missing may be what decides.
        match missing.iter().any(|at| decides(expectation, at)) {
            true => Verdict {
                passed: false,
                outcome: ExpectationResult::NotJudged,
                note: "the run ended before all of its points were measured".to_owned(),
                ..verdict
            },
            false => verdict,
        }
    };
    experiment.expectations.iter().map(judged).collect()
}

/// Whether a point is one of those that an expectation looks at.
fn decides(expectation: &Expectation, at: &At) -> bool {
    let takes = |select: &Select| {
        let mut wanted = select.at.iter();
        wanted.all(|(axis, value)| at.get(axis) == Some(value))
    };
    let of =
        |left: &Select, right: &Option<Select>| takes(left) || right.as_ref().is_some_and(takes);
    let mut conditions = expectation.judged_if.iter();
    of(&expectation.left, &expectation.right) || conditions.any(|c| of(&c.left, &c.right))
}

/// The points that decide about expectations which do not hold.
pub fn doubtful(experiment: &Experiment, points: &[Point]) -> Vec<At> {
    let all = experiment.expectations.iter();
    let failing = all.filter(|e| {
        let verdict = one(e, points);
        verdict.outcome == ExpectationResult::Failed && verdict.ours.is_some()
    });
    let failing: Vec<&Expectation> = failing.collect();
    let decide = points.iter().map(|point| &point.at);
    let decide = decide.filter(|at| failing.iter().any(|e| decides(e, at)));
    decide.cloned().collect()
}

fn one(expectation: &Expectation, points: &[Point]) -> Verdict {
    let judged = (&expectation.left, expectation.right.as_ref());
    let ratios = ratios(judged, &expectation.for_each, points);
    let (ours, note, passed) = match ratios {
        Err(why) => (None, why, false),
        Ok(ratios) if ratios.is_empty() => (None, "nothing was measured".to_owned(), false),
        Ok(ratios) => decide(expectation, &ratios),
    };
    let deciding = || points.iter().filter(|p| decides(expectation, &p.at));
    let attempts = deciding().map(|p| p.attempts).max().unwrap_or(1);
    let note = match attempts {
        1 => note,
        _ => format!(
            "{note}{}measured {attempts} times",
            if note.is_empty() { "" } else { "; " }
        ),
    };
    let unfit = unfit(expectation, points);
    let passed = passed && unfit.is_none();
    let outcome = match passed {
        false if unfit.is_some() => ExpectationResult::NotHere,
        false => ExpectationResult::Failed,
        true if deciding().all(|p| p.measured.disturbed.is_some()) => {
            ExpectationResult::PassedDisturbed
        }
        true => ExpectationResult::Passed,
    };
    Verdict {
        name: expectation.name.clone(),
        says: expectation.says.clone(),
        passed,
        outcome,
        ours,
        note: unfit.unwrap_or(note),
        expected: expected(expectation),
        theirs: expectation.theirs.clone(),
    }
}

/// Why an expectation says nothing on this machine, if it does not.
fn unfit(expectation: &Expectation, points: &[Point]) -> Option<String> {
    let fails = |c: &&Condition| {
        let found = ratios((&c.left, c.right.as_ref()), &expectation.for_each, points);
        let fits = |(_, ratio): &(At, f64)| within((c.at_least, c.at_most), *ratio);
        !found.is_ok_and(|found| !found.is_empty() && found.iter().all(fits))
    };
    let condition = expectation.judged_if.iter().find(fails)?;
    Some(format!("not judged here: {}", condition.otherwise))
}

fn decide(expectation: &Expectation, ratios: &[(At, f64)]) -> (Option<f64>, String, bool) {
    let holds = |ratio| within((expectation.at_least, expectation.at_most), ratio);
    // How far inside; the least is the worst.
    let margin = |ratio: f64| {
        let above = expectation.at_least.map_or(f64::INFINITY, |l| ratio - l);
        let below = expectation.at_most.map_or(f64::INFINITY, |m| m - ratio);
        above.min(below)
    };
    let mut sorted: Vec<&(At, f64)> = ratios.iter().collect();
    sorted.sort_by(|a, b| margin(a.1).total_cmp(&margin(b.1)));
    let at = match expectation.over {
        Over::Each => 0,
        Over::Median => sorted.len() / 2,
    };
    let (place, ratio) = sorted[at];
    let held = ratios.iter().filter(|(_, ratio)| holds(*ratio)).count();
    let mut note = match (expectation.over, place.is_empty()) {
        (_, true) => String::new(),
        (Over::Each, false) => format!("the worst, at {}", show(place)),
        (Over::Median, false) => "the median".to_owned(),
    };
    if ratios.len() > 1 {
        note = format!("{note}; {held} of {} hold", ratios.len());
    }
    (Some(*ratio), note, holds(*ratio))
}

fn within((least, most): (Option<f64>, Option<f64>), ratio: f64) -> bool {
    least.is_none_or(|least| ratio >= least) && most.is_none_or(|most| ratio <= most)
}

/// For each combination of values of these axes.
fn ratios(
    (left, right): (&Select, Option<&Select>),
    for_each: &[String],
    points: &[Point],
) -> Result<Vec<(At, f64)>, String> {
    let mut ratios = Vec::new();
    for at in combinations(for_each, points) {
        let Some(left) = pick(left, &at, points)? else {
            continue;
        };
        let ratio = match right {
            None => left,
            Some(right) => match pick(right, &at, points)? {
                None => continue,
                // Nothing by nothing says nothing; something by nothing is without end.
                Some(0.0) if left == 0.0 => continue,
                Some(right) => left / right,
            },
        };
        ratios.push((at, ratio));
    }
    Ok(ratios)
}

/// Those that were measured.
fn combinations(axes: &[String], points: &[Point]) -> Vec<At> {
    let mut all: Vec<At> = Vec::new();
    for point in points {
        let of = |axis: &String| Some((axis.clone(), point.at.get(axis)?.clone()));
        let at: At = axes.iter().filter_map(of).collect();
        if !all.contains(&at) {
            all.push(at);
        }
    }
    all
}

fn pick(select: &Select, at: &At, points: &[Point]) -> Result<Option<f64>, String> {
    let fits = |point: &&Point| {
        let wanted = select.at.iter().chain(at.iter().filter(|(axis, _)| {
            // What the selection says itself comes first.
            !select.at.contains_key(*axis)
        }));
        let mut wanted = wanted;
        wanted.all(|(axis, value)| point.at.get(axis) == Some(value))
    };
    let mut found: Vec<(&At, f64)> = points
        .iter()
        .filter(fits)
        .filter_map(|point| {
            let value = point.measured.series.get(&select.series)?;
            Some((&point.at, value.median))
        })
        .collect();
    found.sort_by(|a, b| order(a.0, b.0));
    let values = || found.iter().map(|(_, value)| *value);
    Ok(match (select.reduce, &found[..]) {
        (_, []) => None,
        (_, [(_, one)]) => Some(*one),
        (None, _) => {
            return Err(format!(
                "{} points fit '{}' at {}: say `reduce`, or more of `where` and `for_each`",
                found.len(),
                select.series,
                show(at)
            ));
        }
        (Some(Reduce::Min), _) => values().reduce(f64::min),
        (Some(Reduce::Max), _) => values().reduce(f64::max),
        (Some(Reduce::Mean), _) => Some(values().sum::<f64>() / found.len() as f64),
        (Some(Reduce::First), _) => values().next(),
        (Some(Reduce::Last), _) => values().next_back(),
    })
}

fn order(a: &At, b: &At) -> std::cmp::Ordering {
    let key = |at: &At| -> Vec<(f64, String)> {
        let of = |value: &Scalar| (value.number().unwrap_or(0.0), value.to_string());
        at.values().map(of).collect()
    };
    key(a)
        .partial_cmp(&key(b))
        .unwrap_or(std::cmp::Ordering::Equal)
}

fn expected(expectation: &Expectation) -> String {
    match (expectation.at_least, expectation.at_most) {
        (Some(least), Some(most)) => format!("{least} to {most}"),
        (Some(least), None) => format!(">= {least}"),
        (None, Some(most)) => format!("<= {most}"),
        (None, None) => String::new(),
    }
}
