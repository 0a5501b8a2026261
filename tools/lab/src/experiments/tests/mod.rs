//! The crate as a whole, with a toy that measures by a rule.

mod plans;
mod runs;
mod told;

use crate::experiments::plan::{Experiment, Series, Wrong, from_text};
use crate::experiments::point::Measured;
use crate::experiments::run::{Course, Job, Problem, Ran, Runner};
use crate::experiments::store::{Made, Store};
use std::cell::Cell;
use std::time::Duration;

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
    stop: std::rc::Rc<Cell<bool>>,
}

impl Toy {
    fn new(rtc: f64) -> Self {
        Self {
            measured: 0,
            rtc,
            slow: 0,
            end_after: usize::MAX,
            disturbed: false,
            stop: Default::default(),
        }
    }
}

impl Runner for Toy {
    fn measure(&mut self, job: &Job<'_>) -> Result<Measured, Problem> {
        if self.measured == self.end_after {
            self.stop.set(true);
            return Err(Problem::Interrupted);
        }
        self.measured += 1;
        let is_slow = self.measured <= self.slow;
        let faster = if job.text("model")? == "rtc" && !is_slow {
            self.rtc
        } else {
            1.0
        };
        let size = job.number("size")?;
        let mut measured = Measured {
            disturbed: self.disturbed.then(|| "others had a CPU".to_owned()),
            ..Measured::default()
        };
        measured.add(
            "mpps",
            [10.0, 9.0, 12.0].map(|base| base * faster - size / 1000.0),
        );
        Ok(measured)
    }
}

/// A runner that takes any keys.
fn anything(_: &Experiment) -> Result<Vec<Series>, Wrong> {
    Ok(vec![])
}

fn made() -> Made {
    Made {
        experiment: String::new(),
        machine: "a machine".to_owned(),
        binary: "a program".to_owned(),
        quick: false,
    }
}

fn run(store: &Store, experiment: &Experiment, toy: &mut Toy, made: Made) -> (Ran, Vec<String>) {
    run_again(store, experiment, toy, made, false)
}

fn run_again(
    store: &Store,
    experiment: &Experiment,
    toy: &mut Toy,
    made: Made,
    again_disturbed: bool,
) -> (Ran, Vec<String>) {
    let stop = toy.stop.clone();
    stop.set(false);
    let stop = move || stop.get();
    let mut said = vec![];
    let mut say = |line: &str| said.push(line.to_owned());
    let mut course = Course {
        store,
        made,
        stop: &stop,
        progress: &mut say,
        again_disturbed,
        left: 0,
        done: (0, Duration::ZERO),
    };
    course.left = course.missing(experiment);
    let ran = course.run(experiment, toy).unwrap();
    (ran, said)
}

fn toy_plan() -> Experiment {
    from_text("toy.yaml", PLAN, &anything).unwrap()
}
