//! Judgement of expectations: orderings and ratios within one run, never absolute figures.

use crate::experiments::plan::{Condition, Expectation, Experiment, Over, Reduce, Select};
use crate::experiments::plot::distinct;
use crate::experiments::point::{At, Scalar, covers, show};
use crate::experiments::store::Point;
use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExpectationResult {
    Passed,
    /// Passed, but only with disturbed points.
    PassedDisturbed,
    /// Failed, or its points could not be measured.
    Failed,
    /// Failed, but not by the points that nothing disturbed: the machine was too busy to judge it.
    FailedDisturbed,
    /// The run ended before its points were measured.
    NotJudged,
    /// A condition of the expectation was not met on this machine, or in this run.
    NotHere,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Verdict {
    pub name: String,
    pub says: String,
    pub passed: bool,
    /// Passed, and why that may not count.
    pub outcome: ExpectationResult,
    /// The ratio that was judged: the median, or of the combination that is worst; none if nothing
    /// was measured.
    pub ours: Option<f64>,
    /// How far the left one lies above or below the right one, in percent; none of a figure alone.
    pub change_percent: Option<f64>,
    /// Place of the worst value, or the reason why nothing was judged.
    pub note: String,
    /// Expected value: `>= 1.2`.
    pub expected: String,
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
    let takes = |select: &Select| covers(&select.at, at);
    expectation.selects().any(takes)
}

/// The points that decide about expectations which do not hold.
pub fn doubtful(experiment: &Experiment, points: &[Point]) -> Vec<At> {
    let fails = |expectation: &&Expectation| {
        let verdict = one(expectation, points);
        let failed = [
            ExpectationResult::Failed,
            ExpectationResult::FailedDisturbed,
        ];
        failed.contains(&verdict.outcome) && verdict.ours.is_some()
    };
    let failing: Vec<&Expectation> = experiment.expectations.iter().filter(fails).collect();
    let decide = points.iter().map(|point| &point.at);
    let decide = decide.filter(|at| failing.iter().any(|e| decides(e, at)));
    decide.cloned().collect()
}

fn one(expectation: &Expectation, points: &[Point]) -> Verdict {
    let Expectation {
        left,
        right,
        for_each,
        ..
    } = expectation;
    let found = ratios((left, right), for_each, points);
    let is_excused = found
        .as_ref()
        .is_ok_and(|found| fails_disturbed(expectation, found, points));
    let (ours, mut note, holds) = match found {
        Err(why) => (None, why, false),
        Ok(ratios) if ratios.is_empty() => (None, "nothing was measured".to_owned(), false),
        Ok(ratios) => decide(expectation, &ratios),
    };
    let deciding = || points.iter().filter(|p| decides(expectation, &p.at));
    let attempts = deciding().map(|p| p.attempts).max().unwrap_or(1);
    if attempts > 1 {
        let apart = if note.is_empty() { "" } else { "; " };
        note += &format!("{apart}measured {attempts} times");
    }
    let outcome = match unfit(expectation, points) {
        Some(why) => {
            note = why;
            ExpectationResult::NotHere
        }
        None if is_excused => ExpectationResult::FailedDisturbed,
        None if !holds => ExpectationResult::Failed,
        None if deciding().all(|p| p.measured.disturbed.is_some()) => {
            ExpectationResult::PassedDisturbed
        }
        None => ExpectationResult::Passed,
    };
    let expected = match (expectation.at_least, expectation.at_most) {
        (Some(least), Some(most)) => format!("{least} to {most}"),
        (Some(least), None) => format!(">= {least}"),
        (None, Some(most)) => format!("<= {most}"),
        (None, None) => String::new(),
    };
    Verdict {
        name: expectation.name.clone(),
        says: expectation.says.clone(),
        passed: holds && outcome != ExpectationResult::NotHere,
        outcome,
        ours,
        change_percent: right.as_ref().and(ours).map(|ratio| (ratio - 1.0) * 100.0),
        note,
        expected,
        theirs: expectation.theirs.clone(),
    }
}

/// Whether these ratios fail, but not those of points that were all undisturbed. Points can be disturbed so much that
/// there is no ratio.
fn fails_disturbed(expectation: &Expectation, ratios: &[(At, f64)], points: &[Point]) -> bool {
    let is_quiet = |at: &At| {
        expectation.selects().all(|select| {
            let mut wanted = at.clone();
            wanted.extend(select.at.clone());
            let of_it = points.iter().filter(|point| covers(&wanted, &point.at));
            of_it
                .map(|point| &point.measured.disturbed)
                .all(Option::is_none)
        })
    };
    let quiet = ratios.iter().filter(|(at, _)| is_quiet(at)).cloned();
    let quiet: Vec<(At, f64)> = quiet.collect();
    let fails = |ratios: &[(At, f64)]| !ratios.is_empty() && !decide(expectation, ratios).2;
    match ratios.is_empty() {
        true => !is_quiet(&At::new()),
        false => fails(ratios) && !fails(&quiet),
    }
}

/// Why an expectation says nothing on this machine, if it does not.
fn unfit(expectation: &Expectation, points: &[Point]) -> Option<String> {
    let fails = |c: &&Condition| {
        let found = ratios((&c.left, &c.right), &expectation.for_each, points);
        let fits = |(_, ratio): &(At, f64)| margin((c.at_least, c.at_most), *ratio) >= 0.0;
        !found.is_ok_and(|found| !found.is_empty() && found.iter().all(fits))
    };
    let condition = expectation.judged_if.iter().find(fails)?;
    Some(format!("not judged here: {}", condition.otherwise))
}

/// How far a ratio is inside of both limits; below 0 it is outside.
fn margin((least, most): (Option<f64>, Option<f64>), ratio: f64) -> f64 {
    let above = least.map_or(f64::INFINITY, |least| ratio - least);
    let below = most.map_or(f64::INFINITY, |most| most - ratio);
    above.min(below)
}

/// The ratio that counts, what is said of it, and whether it holds.
fn decide(expectation: &Expectation, ratios: &[(At, f64)]) -> (Option<f64>, String, bool) {
    let margin = |ratio| margin((expectation.at_least, expectation.at_most), ratio);
    let mut sorted: Vec<&(At, f64)> = ratios.iter().collect();
    sorted.sort_by(|a, b| margin(a.1).total_cmp(&margin(b.1)));
    let (place, ratio) = sorted[match expectation.over {
        Over::Each => 0,
        // Of two points, and of the middle two of an even number, the worse.
        Over::Median => (sorted.len() - 1) / 2,
    }];
    let held = ratios
        .iter()
        .filter(|(_, ratio)| margin(*ratio) >= 0.0)
        .count();
    let mut note = match (expectation.over, place.is_empty()) {
        (_, true) => String::new(),
        (Over::Each, false) => format!("the worst, at {}", show(place)),
        (Over::Median, false) => "the median".to_owned(),
    };
    if ratios.len() > 1 {
        note = format!("{note}; {held} of {} hold", ratios.len());
    }
    (Some(*ratio), note, margin(*ratio) >= 0.0)
}

/// For each combination of values of these axes that was measured.
fn ratios(
    (left, right): (&Select, &Option<Select>),
    for_each: &[String],
    points: &[Point],
) -> Result<Vec<(At, f64)>, String> {
    let mut ratios = Vec::new();
    for at in distinct(points.iter().map(|point| point.at_axes(for_each))) {
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

fn pick(select: &Select, at: &At, points: &[Point]) -> Result<Option<f64>, String> {
    // What the selection says itself comes first.
    let mut wanted = at.clone();
    wanted.extend(select.at.clone());
    let fitting = points.iter().filter(|point| covers(&wanted, &point.at));
    let found = fitting.filter_map(|point| {
        let value = point.measured.series.get(&select.series)?;
        Some((&point.at, value.median))
    });
    let mut found: Vec<(&At, f64)> = found.collect();
    found.sort_by(|a, b| order(a.0, b.0));
    let mut values = found.iter().map(|(_, value)| *value);
    Ok(match (select.reduce, found.len()) {
        (None, 2..) => {
            return Err(format!(
                "{} points fit '{}' at {}: say `reduce`, or more of `where` and `for_each`",
                found.len(),
                select.series,
                show(at)
            ));
        }
        (Some(Reduce::Min), _) => values.reduce(f64::min),
        (Some(Reduce::Max), _) => values.reduce(f64::max),
        (Some(Reduce::Mean), n) if n > 0 => Some(values.sum::<f64>() / n as f64),
        (Some(Reduce::Last), _) => values.next_back(),
        _ => values.next(),
    })
}

fn order(a: &At, b: &At) -> std::cmp::Ordering {
    let key = |at: &At| -> Vec<(f64, String)> {
        let of = |value: &Scalar| (value.number().unwrap_or(0.0), value.to_string());
        at.values().map(of).collect()
    };
    let order = key(a).partial_cmp(&key(b));
    order.unwrap_or(std::cmp::Ordering::Equal)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of an even number of points the middle one that is worse: half of the points holding is not enough.
    #[test]
    fn the_median_of_two_points_is_the_worse_one() {
        let text =
            "{name: a, says: b, left: {series: x}, for_each: [p], over: median, at_least: 1}";
        let expectation: Expectation = serde_saphyr::from_str(text).unwrap();
        let ratios = |values: &[f64]| -> Vec<(At, f64)> {
            let at = |n: usize| At::from([("p".to_owned(), Scalar::Number(n as f64))]);
            let values = values.iter().enumerate();
            values.map(|(n, ratio)| (at(n), *ratio)).collect()
        };
        let judged = |values: &[f64]| {
            let (ratio, _, holds) = decide(&expectation, &ratios(values));
            (ratio, holds)
        };
        assert_eq!(judged(&[0.0, 2.0]), (Some(0.0), false));
        assert_eq!(judged(&[2.0, 0.0, 3.0]), (Some(2.0), true));
        assert_eq!(judged(&[3.0, 0.0, 0.5, 2.0]), (Some(0.5), false));
        assert_eq!(judged(&[1.5, 2.0]), (Some(1.5), true));
    }
}
