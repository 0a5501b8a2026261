//! Experiment runner: measures the missing points and stores each.

use crate::experiments::expect::doubtful;
use crate::experiments::plan::Experiment;
use crate::experiments::point::{At, Measured, Scalar, show};
use crate::experiments::store::{Found, Made, Point, Store, hash_of_plan};
use std::time::{Duration, Instant};

/// How often a point is measured that decides about an expectation which does not hold.
const ATTEMPTS: usize = 3;

/// Why a point was not measured.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Problem {
    #[error("interrupted")]
    Interrupted,
    #[error("{0}")]
    Failed(String),
    /// The machine lacks something; the message says what and how to get it.
    #[error("{0}")]
    Lacking(String),
}

/// Of what benchmarks say of a failure.
impl From<String> for Problem {
    fn from(why: String) -> Self {
        Self::Failed(why)
    }
}

#[derive(Clone, Copy)]
pub struct Job<'a> {
    pub experiment: &'a Experiment,
    /// Place of the point on its axes.
    pub at: &'a At,
    /// Few points and short repetitions: some minutes for everything.
    pub quick: bool,
    /// Whether somebody wants the end: to be asked between repetitions.
    pub stop: &'a dyn Fn() -> bool,
}

impl Job<'_> {
    /// A number: on the axes, else held.
    pub fn number(&self, name: &str) -> Result<f64, Problem> {
        let value = self.value(name).and_then(Scalar::number);
        value.ok_or_else(|| self.lacks(name, "a number"))
    }

    /// A name: on the axes, else held.
    pub fn text(&self, name: &str) -> Result<&str, Problem> {
        let value = self.value(name).and_then(Scalar::text);
        value.ok_or_else(|| self.lacks(name, "a name"))
    }

    /// Ends it if somebody wants that.
    pub fn go_on(&self) -> Result<(), Problem> {
        match (self.stop)() {
            true => Err(Problem::Interrupted),
            false => Ok(()),
        }
    }

    fn value(&self, name: &str) -> Option<&Scalar> {
        let held = || self.experiment.held(name, self.quick);
        self.at.get(name).or_else(held)
    }

    fn lacks(&self, name: &str, what: &str) -> Problem {
        let experiment = &self.experiment.name;
        Problem::Failed(format!(
            "experiment '{experiment}': its runner needs {what} '{name}', as an axis or under `held`"
        ))
    }
}

pub trait Runner {
    fn measure(&mut self, job: &Job<'_>) -> Result<Measured, Problem>;
}

/// Result of an experiment.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Ran {
    /// Points in the order of the plan.
    pub points: Vec<Point>,
    /// How many of them were there before.
    pub kept: usize,
    /// Points that failed, with reasons.
    pub failed: Vec<(At, String)>,
    /// Points that the run did not reach before it ended, or had begun to measure again.
    pub missing: Vec<At>,
    pub interrupted: bool,
    pub lacking: bool,
}

/// How far the whole run is.
pub struct Course<'a> {
    pub store: &'a Store,
    /// The program and the machine; the experiment is filled in.
    pub made: Made,
    /// Whether somebody wants the end.
    pub stop: &'a dyn Fn() -> bool,
    pub progress: &'a mut dyn FnMut(&str),
    /// Whether disturbed points are measured again.
    pub again_disturbed: bool,
    /// Points of all experiments that are still to be measured.
    pub left: usize,
    /// Measured so far, and how long that took.
    pub done: (usize, Duration),
}

impl Course<'_> {
    /// With what points of this experiment are measured.
    pub fn made(&self, experiment: &Experiment) -> Made {
        let experiment = hash_of_plan(experiment);
        Made {
            experiment,
            ..self.made.clone()
        }
    }

    /// How many points of an experiment are missing.
    pub fn missing(&self, experiment: &Experiment) -> usize {
        let made = self.made(experiment);
        let points = experiment.points(self.made.quick);
        let is_kept = |at: &&At| {
            let found = self.store.find(&experiment.name, at, &made);
            matches!(found, Found::Here(point) if self.keeps(&point))
        };
        points.len() - points.iter().filter(is_kept).count()
    }

    /// Whether a point that is there is left as it is.
    fn keeps(&self, point: &Point) -> bool {
        !self.again_disturbed || point.measured.disturbed.is_none()
    }

    /// Measures what is missing of one experiment.
    pub fn run(
        &mut self,
        experiment: &Experiment,
        runner: &mut dyn Runner,
    ) -> Result<Ran, std::io::Error> {
        let name = &experiment.name;
        let plan = serde_json::to_string_pretty(experiment)?;
        self.store.write(name, "plan.json", plan.as_bytes())?;
        let (made, quick) = (self.made(experiment), self.made.quick);
        let mut ran = Ran::default();
        let mut stale: Vec<&'static str> = vec![];
        let points = experiment.points(quick);
        for (n, at) in points.iter().enumerate() {
            match self.store.find(name, at, &made) {
                Found::Here(point) if self.keeps(&point) => {
                    ran.kept += 1;
                    ran.points.push(*point);
                    continue;
                }
                Found::Here(_) => {}
                Found::Stale(why) => stale.push(why),
                Found::Missing => {}
            }
            if let [why] = stale[..] {
                let line = format!("{name}: points measured before are measured again: {why}");
                (self.progress)(&line);
                stale.push(why);
            }
            let job = Job {
                experiment,
                at,
                quick,
                stop: self.stop,
            };
            match self.one(&job, runner, &made) {
                Ok(point) => {
                    self.store.keep(name, &point)?;
                    ran.points.push(point);
                }
                Err(Problem::Interrupted) => {
                    ran.interrupted = true;
                    ran.missing = points[n..].to_vec();
                    break;
                }
                Err(Problem::Lacking(why)) => {
                    ran.lacking = true;
                    ran.missing = points[n..].to_vec();
                    ran.failed.push((at.clone(), why));
                    break;
                }
                Err(Problem::Failed(why)) => {
                    (self.progress)(&format!("{name}: {}: {why}", show(at)));
                    ran.failed.push((at.clone(), why));
                }
            }
        }
        if !ran.interrupted && !ran.lacking {
            self.doubt(experiment, runner, &mut ran)?;
        }
        if ran.kept > 0 {
            let line = format!("{name}: {} points were there already", ran.kept);
            (self.progress)(&line);
        }
        Ok(ran)
    }

    /// Measures a failed expectation twice more, side by side: a shared machine changes its speed from one minute to
    /// the next. All measurements count.
    fn doubt(
        &mut self,
        experiment: &Experiment,
        runner: &mut dyn Runner,
        ran: &mut Ran,
    ) -> Result<(), std::io::Error> {
        let doubtful = doubtful(experiment, &ran.points);
        let once = |point: &&mut Point| point.attempts == 1 && doubtful.contains(&point.at);
        let mut points: Vec<&mut Point> = ran.points.iter_mut().filter(once).collect();
        if points.is_empty() {
            return Ok(());
        }
        let (name, made) = (&experiment.name, self.made(experiment));
        let line = format!("{name}: an expectation does not hold, its points are measured again");
        (self.progress)(&line);
        self.left += points.len() * (ATTEMPTS - 1);
        let mut all: Vec<Vec<Measured>> = points.iter().map(|p| vec![p.measured.clone()]).collect();
        for _ in 1..ATTEMPTS {
            for (point, attempts) in points.iter_mut().zip(&mut all) {
                let job = Job {
                    experiment,
                    at: &point.at,
                    quick: self.made.quick,
                    stop: self.stop,
                };
                match self.one(&job, runner, &made) {
                    Ok(again) => {
                        point.took_s += again.took_s;
                        attempts.push(again.measured);
                    }
                    Err(Problem::Interrupted) => {
                        ran.interrupted = true;
                        // Nothing is said of them before they were measured so often.
                        ran.missing = doubtful;
                        return Ok(());
                    }
                    Err(Problem::Lacking(why) | Problem::Failed(why)) => {
                        (self.progress)(&format!("{name}: {}: {why}", show(&point.at)));
                    }
                }
            }
        }
        for (point, attempts) in points.into_iter().zip(&all) {
            point.measured = Measured::of_several(attempts);
            point.attempts = ATTEMPTS;
            self.store.keep(name, point)?;
        }
        Ok(())
    }

    fn one(
        &mut self,
        job: &Job<'_>,
        runner: &mut dyn Runner,
        made: &Made,
    ) -> Result<Point, Problem> {
        job.go_on()?;
        let line = format!(
            "{}: {} ({})",
            job.experiment.name,
            show(job.at),
            self.left()
        );
        (self.progress)(&line);
        let began = Instant::now();
        let measured = runner.measure(job);
        let took = began.elapsed();
        self.left = self.left.saturating_sub(1);
        self.done = (self.done.0 + 1, self.done.1 + took);
        // What was measured while somebody wanted the end is not whole.
        job.go_on()?;
        Ok(Point {
            at: job.at.clone(),
            measured: measured?,
            attempts: 1,
            took_s: took.as_secs_f64(),
            made: made.clone(),
        })
    }

    fn left(&self) -> String {
        let points = format!("{} points left", self.left);
        match self.done {
            (0, _) => points,
            (done, took) => {
                let each = took.as_secs_f64() / done as f64;
                format!("{points}, about {:.0} s", each * self.left as f64)
            }
        }
    }
}
