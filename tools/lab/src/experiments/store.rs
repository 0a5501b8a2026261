//! Result store: a folder with one file per measured point, so that an interruption loses the point
//! under way and nothing else.
//!
//! `DIR/NAME/plan.json` is the experiment as it was run, `DIR/NAME/points/*.json` are its points,
//! `DIR/NAME/result.json` and `result.csv` all of them together.

use crate::experiments::plan::Experiment;
use crate::experiments::point::{At, Measured, show};
use serde::{Deserialize, Serialize};
use serde_json::Value;
pub(crate) use sluice_bench::watch::hash_of;
use std::io;
use std::path::{Path, PathBuf};

/// Versions and settings of a measurement: points measured with others are not valid for this run.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Made {
    /// A hash of the plan, without words for people.
    pub experiment: String,
    pub machine: String,
    /// A hash of the program.
    pub binary: String,
    /// With `--quick`.
    pub quick: bool,
}

impl Made {
    /// Why this is not what `wanted` asks for.
    fn differs(&self, wanted: &Self) -> Option<&'static str> {
        Some(match self {
            _ if self.experiment != wanted.experiment => "the experiment changed",
            _ if self.machine != wanted.machine => "it is another machine",
            _ if self.binary != wanted.binary => "it is another program",
            _ if self.quick != wanted.quick => "one of both is --quick",
            _ => return None,
        })
    }
}

/// A point with what came out.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Point {
    /// Place of the point on its axes.
    pub at: At,
    pub measured: Measured,
    /// How often it was measured; if more than once, figures are of all of them.
    #[serde(default = "once")]
    pub attempts: usize,
    pub took_s: f64,
    pub made: Made,
}

fn once() -> usize {
    1
}

impl Point {
    /// Place of the point on these axes.
    pub fn at_axes(&self, axes: &[String]) -> At {
        let of = |axis: &String| Some((axis.clone(), self.at.get(axis)?.clone()));
        axes.iter().filter_map(of).collect()
    }
}

/// State of a point in the folder.
#[derive(Clone, PartialEq, Debug)]
pub enum Found {
    Missing,
    /// Measured with another version or other settings.
    Stale(&'static str),
    Here(Box<Point>),
}

#[derive(Clone, Debug)]
pub struct Store {
    folder: PathBuf,
}

impl Store {
    /// In this folder; it is made when something is written.
    pub fn new(folder: &Path) -> Self {
        let folder = folder.to_owned();
        Self { folder }
    }

    pub fn folder(&self, experiment: &str) -> PathBuf {
        self.folder.join(experiment)
    }

    /// The folder of all.
    pub fn root(&self) -> &Path {
        &self.folder
    }

    /// Whether this point has been measured by what `wanted` says.
    pub fn find(&self, experiment: &str, at: &At, wanted: &Made) -> Found {
        match self.read(experiment, at) {
            None => Found::Missing,
            Some(point) => match point.made.differs(wanted) {
                Some(why) => Found::Stale(why),
                None => Found::Here(Box::new(point)),
            },
        }
    }

    /// All points that the plan has and the folder has, whoever measured them.
    pub fn points(&self, experiment: &Experiment, quick: bool) -> Vec<Point> {
        let all = experiment.points(quick);
        let read = |at| self.read(&experiment.name, at);
        all.iter().filter_map(read).collect()
    }

    /// None of what cannot be read: it was never finished.
    fn read(&self, experiment: &str, at: &At) -> Option<Point> {
        let text = std::fs::read_to_string(self.file(experiment, at)).ok()?;
        let point: Point = serde_json::from_str(&text).ok()?;
        (point.at == *at).then_some(point)
    }

    /// Keeps a point: wholly or not at all.
    pub fn keep(&self, experiment: &str, point: &Point) -> io::Result<()> {
        let text = serde_json::to_string_pretty(point)?;
        write(&self.file(experiment, &point.at), text.as_bytes())
    }

    /// Keeps a file of an experiment.
    pub fn write(&self, experiment: &str, name: &str, bytes: &[u8]) -> io::Result<()> {
        write(&self.folder(experiment).join(name), bytes)
    }

    /// Keeps a file of all.
    pub fn write_root(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        write(&self.folder.join(name), bytes)
    }

    /// Reads a file of all.
    pub fn read_root(&self, name: &str) -> io::Result<Value> {
        let text = std::fs::read_to_string(self.folder.join(name))?;
        Ok(serde_json::from_str(&text)?)
    }

    pub fn plan(&self, experiment: &str) -> io::Result<Experiment> {
        let text = std::fs::read_to_string(self.folder(experiment).join("plan.json"))?;
        Ok(serde_json::from_str(&text)?)
    }

    fn file(&self, experiment: &str, at: &At) -> PathBuf {
        let folder = self.folder(experiment).join("points");
        folder.join(format!("{}.json", key(at)))
    }
}

/// A file name for a place: readable, and no two places have the same.
fn key(at: &At) -> String {
    let shown = show(at).replace(", ", ",");
    let fine = |c: char| c.is_ascii_alphanumeric() || "=,.-_".contains(c);
    let name: String = shown.chars().filter(|c| fine(*c)).take(120).collect();
    match name == shown {
        true if name.is_empty() => "all".to_owned(),
        true => name,
        false => format!("{name}-{}", hash_of(shown.as_bytes())),
    }
}

/// A hash of what decides about figures: runner, axes, what is held. Words and limits may change.
pub fn hash_of_plan(experiment: &Experiment) -> String {
    let series: Vec<&str> = experiment.series.iter().map(|s| s.name.as_str()).collect();
    let Experiment {
        runner,
        held,
        held_quick,
        ..
    } = experiment;
    let decides = serde_json::to_string(&(runner, held, held_quick, series));
    hash_of(decides.unwrap_or_default().as_bytes())
}

/// Beside it first, then in its place: a reader sees the old one or the new one, whole.
fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let mut beside = path.as_os_str().to_owned();
    beside.push(".part");
    std::fs::write(&beside, bytes)?;
    std::fs::rename(&beside, path)
}
