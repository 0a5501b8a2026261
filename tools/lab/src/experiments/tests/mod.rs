//! The crate as a whole, with a toy that measures by a rule.

mod plans;
mod runs;
mod told;

use crate::experiments::expect::{ExpectationResult, Verdict, judge};
use crate::experiments::plan::{Experiment, Series, Wrong, from_text};
use crate::experiments::point::Measured;
use crate::experiments::run::{Course, Job, Problem, Ran, Runner};
use crate::experiments::store::{Made, Store};
use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;
use tempfile::TempDir;

const PLAN: &str = "\
name: toy
title: A toy & its <parts>
paper: {system: T, reference: Nobody 2026, figure: Fig. 1}
status: runs
runner: toy
axes:
  - {name: size, says: size, unit: B, values: [64, 128, 256]}
  - {name: model, says: model, values: [rtc, pipeline]}
series:
  - {name: mpps, says: rate, unit: Mpps, how: measured}
theirs:
  - {says: rtc by pipeline, value: '1.3', stands: page 1}
expectations:
  - name: rtc-faster
    says: rtc is faster
    left: {series: mpps, where: {model: rtc}}
    right: {series: mpps, where: {model: pipeline}}
    for_each: [size]
    at_least: 1.2
    theirs: 1.3 to 1.4
  - name: flat
    says: size does not matter
    left: {series: mpps, where: {model: rtc}, reduce: min}
    right: {series: mpps, where: {model: rtc}, reduce: max}
    at_least: 0.5
plots:
  - {name: rate, title: The rate by size, kind: curves, x: size, log_x: true, y: [mpps], by: [model]}
  - {name: bars, title: The rate by model, kind: bars, x: model, y: [mpps], by: [size]}
";

/// Measures by a rule, counts, and asks for the end after so many points.
struct Toy {
    measured: usize,
    rtc: f64,
    /// At first, for so many points, both are as fast.
    slow: usize,
    end_after: usize,
    /// Somebody else has the CPUs.
    disturbed: bool,
    stop: Rc<Cell<bool>>,
}

impl Runner for Toy {
    fn measure(&mut self, job: &Job<'_>) -> Result<Measured, Problem> {
        if self.measured == self.end_after {
            self.stop.set(true);
            return Err(Problem::Interrupted);
        }
        self.measured += 1;
        let is_fast = job.text("model")? == "rtc" && self.measured > self.slow;
        let faster = if is_fast { self.rtc } else { 1.0 };
        let size = job.number("size")?;
        let mut measured = Measured {
            disturbed: self.disturbed.then(|| "others had a CPU".to_owned()),
            ..Measured::default()
        };
        let rate = |base| base * faster - size / 1000.0;
        measured.add("mpps", [10.0, 9.0, 12.0].map(rate));
        Ok(measured)
    }
}

/// A runner that takes any keys.
fn anything(_: &Experiment) -> Result<Vec<Series>, Wrong> {
    Ok(vec![])
}

fn toy_plan() -> Experiment {
    from_text("toy.yaml", PLAN, &anything).unwrap()
}

/// The toy's experiment and a folder for its points.
struct Scene {
    experiment: Experiment,
    _folder: TempDir,
    store: Store,
    toy: Toy,
    made: Made,
    again_disturbed: bool,
    /// Output of the last run.
    said: Vec<String>,
}

impl Scene {
    /// A runner whose rtc is faster by this factor.
    fn new(rtc: f64) -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self {
            experiment: toy_plan(),
            store: Store::new(folder.path()),
            _folder: folder,
            toy: Toy {
                measured: 0,
                rtc,
                slow: 0,
                end_after: usize::MAX,
                disturbed: false,
                stop: Rc::default(),
            },
            made: Made {
                experiment: String::new(),
                machine: "a machine".to_owned(),
                binary: "a program".to_owned(),
                quick: false,
            },
            again_disturbed: false,
            said: vec![],
        }
    }

    fn run(&mut self) -> Ran {
        let stop = self.toy.stop.clone();
        stop.set(false);
        self.said.clear();
        let mut course = Course {
            store: &self.store,
            made: self.made.clone(),
            stop: &move || stop.get(),
            progress: &mut |line| self.said.push(line.to_owned()),
            again_disturbed: self.again_disturbed,
            left: 0,
            done: (0, Duration::ZERO),
        };
        course.left = course.missing(&self.experiment);
        course.run(&self.experiment, &mut self.toy).unwrap()
    }

    fn has_said(&self, words: &[&str]) -> usize {
        let all = |line: &&String| words.iter().all(|words| line.contains(words));
        self.said.iter().filter(all).count()
    }

    fn judge(&self, ran: &Ran) -> Vec<Verdict> {
        judge(&self.experiment, &ran.points, &ran.missing)
    }

    fn outcomes(&self, ran: &Ran) -> Vec<ExpectationResult> {
        self.judge(ran).iter().map(|v| v.outcome).collect()
    }
}
