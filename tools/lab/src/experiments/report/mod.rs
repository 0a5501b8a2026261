//! Reports of an experiment: JSON ([`json()`]), [`csv`] and [`html`].

mod html;

use crate::experiments::expect::{ExpectationResult, Verdict, judge};
use crate::experiments::plan::{Experiment, Status};
use crate::experiments::plot;
use crate::experiments::point::{At, show};
use crate::experiments::run::Ran;
use crate::experiments::store::{Point, Store};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sluice_bench::stats::Summary;

pub use html::{escape, html};

/// How far an experiment came.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// All points were measured.
    Done,
    Partly,
    /// The experiment cannot be run yet.
    NotYet,
}

/// One experiment with all that is told of it.
#[derive(Clone, PartialEq, Debug)]
pub struct ReportInput {
    pub experiment: Experiment,
    pub state: State,
    pub points: Vec<Point>,
    /// Points that the run did not reach.
    pub missing: Vec<At>,
    /// Points that could not be measured, with reasons.
    pub failed: Vec<String>,
    /// Judged expectations; empty if the experiment cannot be run yet.
    pub verdicts: Vec<Verdict>,
    pub plots: Vec<(String, String)>,
}

impl ReportInput {
    /// Of an experiment that ran, or that cannot be run yet.
    pub fn of(experiment: &Experiment, ran: Option<&Ran>) -> Self {
        let points = ran.map(|ran| ran.points.clone()).unwrap_or_default();
        let failed = ran.map(|ran| ran.failed.clone()).unwrap_or_default();
        let missing = ran.map(|ran| ran.missing.clone()).unwrap_or_default();
        let cut = ran.is_some_and(|ran| ran.interrupted || !ran.failed.is_empty());
        let state = match experiment.status {
            Status::NotYet => State::NotYet,
            Status::Runs if cut || points.is_empty() => State::Partly,
            Status::Runs => State::Done,
        };
        let verdicts = match state {
            State::NotYet => vec![],
            _ => judge(experiment, &points, &missing),
        };
        let drawn = experiment.plots.iter().filter_map(|plot| {
            let figure = plot::figure(experiment, plot, &points)?;
            Some((plot.name.clone(), plot::svg(&figure)))
        });
        Self {
            plots: drawn.collect(),
            experiment: experiment.clone(),
            state,
            points,
            missing,
            failed: failed
                .iter()
                .map(|(at, why)| format!("{}: {why}", show(at)))
                .collect(),
            verdicts,
        }
    }

    pub fn of_outcome(&self, outcome: ExpectationResult) -> Vec<&Verdict> {
        let all = self.verdicts.iter();
        all.filter(|v| v.outcome == outcome).collect()
    }

    /// Expectations that hold, disturbed or not.
    pub fn passed(&self) -> usize {
        self.verdicts.iter().filter(|v| v.passed).count()
    }

    /// Expectations that do not hold; what could not be measured does not hold either.
    pub fn failing(&self) -> Vec<&Verdict> {
        self.of_outcome(ExpectationResult::Failed)
    }

    /// Expectations for which the run ended too early, or about which this machine tells nothing, perhaps because it was
    /// too busy.
    pub fn not_judged(&self) -> Vec<&Verdict> {
        let outcomes = [
            ExpectationResult::NotJudged,
            ExpectationResult::NotHere,
            ExpectationResult::FailedDisturbed,
        ];
        let of = outcomes.iter().flat_map(|one| self.of_outcome(*one));
        of.collect()
    }

    /// Points that something disturbed.
    pub fn disturbed(&self) -> usize {
        let disturbed = |p: &&Point| p.measured.disturbed.is_some();
        self.points.iter().filter(disturbed).count()
    }

    fn to_json(&self) -> Value {
        json!({
            "name": self.experiment.name,
            "title": self.experiment.title,
            "paper": self.experiment.paper,
            "state": self.state,
            "expectations_passed": self.passed(),
            "expectations_passed_disturbed": self.of_outcome(ExpectationResult::PassedDisturbed).len(),
            "expectations_failed": self.failing().len(),
            "expectations_failed_disturbed": self.of_outcome(ExpectationResult::FailedDisturbed).len(),
            "expectations_not_judged": self.not_judged().len(),
            "expectations": self.verdicts,
            "points": self.points.len(),
            "points_disturbed": self.disturbed(),
            "points_failed": self.failed,
            "not_yet_because": match self.state {
                State::NotYet => json!(self.experiment.cannot),
                _ => Value::Null,
            },
        })
    }

    /// Keeps results, plots as SVG and PNG. Says what could not be made.
    pub fn keep(&self, store: &Store) -> std::io::Result<Option<plot::Blot>> {
        let write = |file: &str, bytes: &[u8]| store.write(&self.experiment.name, file, bytes);
        let all = json!({
            "experiment": self.to_json(),
            "results": self.points,
        });
        write(
            "result.json",
            serde_json::to_string_pretty(&all)?.as_bytes(),
        )?;
        write("result.csv", csv(&self.experiment, &self.points).as_bytes())?;
        let mut blot = None;
        for (plot, svg) in &self.plots {
            write(&format!("{plot}.svg"), svg.as_bytes())?;
            match plot::png(svg) {
                Ok(png) => write(&format!("{plot}.png"), &png)?,
                Err(why) => blot = Some(why),
            }
        }
        Ok(blot)
    }
}

/// Description of a run: for the report, and to repeat the run.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Run {
    /// Command line of the run.
    pub command: String,
    pub date: String,
    pub version: String,
    /// Options that repeat the run behind an experiment's name; none if they were not recorded.
    #[serde(default)]
    pub options: Option<String>,
    /// With `--quick`.
    pub quick: bool,
    /// Facts of the machine.
    pub machine: Value,
    /// Experiments asked for, in order.
    pub asked: Vec<String>,
    /// Points that failed, by experiment: `report` lists them again.
    #[serde(default)]
    pub failed: Vec<(String, String)>,
    /// Points that the run did not reach, by experiment.
    #[serde(default)]
    pub missing: Vec<(String, At)>,
}

impl Run {
    /// The command that measures this experiment as it was measured.
    pub fn again(&self, experiment: &str) -> String {
        match &self.options {
            Some(options) => format!("sluice lab run {experiment}{options}"),
            None => self.command.clone(),
        }
    }
}

/// All of it as one object.
pub fn json(run: &Run, all: &[ReportInput]) -> Value {
    json!({
        "lab": "report",
        "version": run.version,
        "command": run.command,
        "date": run.date,
        "quick": run.quick,
        "machine": run.machine,
        "experiments": all.iter().map(ReportInput::to_json).collect::<Vec<_>>(),
        "expectations_passed": all.iter().map(ReportInput::passed).sum::<usize>(),
        "expectations_failed": all.iter().map(|t| t.failing().len()).sum::<usize>(),
        "expectations_not_judged": all.iter().map(|t| t.not_judged().len()).sum::<usize>(),
    })
}

/// `axis,...,series,unit,how,min,median,max,repeats,disturbed`.
pub fn csv(experiment: &Experiment, points: &[Point]) -> String {
    let axes = || experiment.axes.iter().map(|axis| axis.name.clone());
    let rest = "series unit how min median max repeats disturbed";
    let mut text = line(axes().chain(rest.split(' ').map(str::to_owned)));
    for point in points {
        let at = |axis: String| point.at.get(&axis).map(ToString::to_string);
        for (name, summary) in &point.measured.series {
            let series = experiment.given(name);
            let unit = series.map(|series| series.unit.clone());
            let how = series.map(|series| series.how.says().to_owned());
            let Summary {
                min,
                median,
                max,
                repeats,
            } = summary;
            let figures = [min, median, max].map(|figure| Some(figure.to_string()));
            let repeats = Some(repeats.to_string());
            let mut cells: Vec<Option<String>> = axes().map(at).collect();
            cells.extend([Some(name.clone()), unit, how]);
            cells.extend(figures);
            cells.extend([repeats, point.measured.disturbed.clone()]);
            text += &line(cells.into_iter().map(Option::unwrap_or_default));
        }
    }
    text
}

/// RFC 4180: what has a comma, a quote or a line's end stands in quotes.
fn line(cells: impl Iterator<Item = String>) -> String {
    let quoted = cells.map(|cell| match cell.contains([',', '"', '\n']) {
        true => format!("\"{}\"", cell.replace('"', "\"\"")),
        false => cell,
    });
    quoted.collect::<Vec<_>>().join(",") + "\r\n"
}
