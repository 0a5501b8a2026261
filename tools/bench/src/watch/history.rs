//! The history file: one run in a line of JSON, the newest last. Lines that cannot be read are told and left
//! where they are.

use crate::machine;
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::env;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::time::SystemTime;

/// Of the line; a greater one was written by a later version.
pub const FORMAT: u32 = 1;
/// Variable in which `scripts/bench.sh` names the sources that it built.
const COMMIT_VARIABLE: &str = "SLUICE_COMMIT";

pub type Facts = BTreeMap<String, String>;

/// Which way is the good one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Better {
    Lower,
    Higher,
}

/// One figure of a run, repetition by repetition.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Series {
    /// Such as `path/ul/default/1000000`; the same in every run.
    pub name: String,
    /// Unit of the samples: for judged ones a ratio, such as "ns by the limit's ns".
    pub unit: String,
    pub better: Better,
    /// Whether the samples were divided by a limit of their own repetition: what was not moves
    /// with the machine, and is shown without a verdict.
    pub judged: bool,
    /// One of each repetition, in their order; finite and more than 0.
    pub samples: Vec<f64>,
    /// Conditions under which this figure is comparable, beside those of the whole run.
    #[serde(default)]
    pub conditions: Facts,
    /// Why the samples cannot be trusted although they are ratios, such as that others had the CPU.
    #[serde(default)]
    pub disturbed: Option<String>,
}

impl Series {
    /// Ratios to a limit of the same repetition; one in which nothing was counted has none.
    pub fn ratio(name: String, unit: &str, samples: impl IntoIterator<Item = f64>) -> Self {
        let samples = samples.into_iter();
        Self {
            name,
            unit: unit.to_owned(),
            better: Better::Lower,
            judged: true,
            samples: samples.filter(|v| v.is_finite() && *v > 0.0).collect(),
            conditions: Facts::new(),
            disturbed: None,
        }
    }

    /// Figures without a limit beside them: shown, not judged.
    pub fn shown(name: String, unit: &str, samples: impl IntoIterator<Item = f64>) -> Self {
        Self {
            judged: false,
            ..Self::ratio(name, unit, samples)
        }
    }

    pub fn higher(mut self) -> Self {
        self.better = Better::Higher;
        self
    }

    /// Comparable only with figures of which the same holds.
    pub fn under(mut self, key: &str, value: &str) -> Self {
        self.conditions.insert(key.to_owned(), value.to_owned());
        self
    }

    /// Not to be trusted, if there is a reason.
    pub fn disturbed(mut self, why: Option<String>) -> Self {
        self.disturbed = why;
        self
    }

    /// Logarithms, so that more is always worse and a slowdown by a share is a distance.
    pub fn costs(&self) -> Vec<f64> {
        let sign = match self.better {
            Better::Lower => 1.0,
            Better::Higher => -1.0,
        };
        self.samples.iter().map(|v| sign * v.ln()).collect()
    }
}

/// One run of one benchmark.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Run {
    /// See [`FORMAT`].
    pub format: u32,
    /// Such as `path`.
    pub bench: String,
    pub at: String,
    pub version: String,
    /// Of the sources, with `-dirty` if they were changed since; empty if nobody said.
    pub commit: String,
    /// A hash of the program: runs of the same differ by chance alone.
    pub program: String,
    /// Which machine, as far as figures depend on it, and for what the program was built.
    pub machine: Facts,
    /// Arguments that change what is measured.
    pub conditions: Facts,
    /// Arguments that choose names.
    pub selection: String,
    /// Why the run failed, if it did: it is never compared with.
    pub fault: Option<String>,
    pub series: Vec<Series>,
}

/// Arguments of the benchmark, as [`Run`] has them.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct RunArguments {
    pub bench: &'static str,
    pub conditions: Facts,
    pub selection: String,
}

impl Run {
    /// Made just now, by this program, on this machine.
    pub fn now(asked: RunArguments, series: Vec<Series>, fault: Option<String>) -> Self {
        let now = DateTime::<Utc>::from(SystemTime::now());
        let program = fs::read("/proc/self/exe").unwrap_or_default();
        Self {
            format: FORMAT,
            bench: asked.bench.to_owned(),
            at: now.format("%Y-%m-%dT%H:%M:%SZ").to_string(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            commit: env::var(COMMIT_VARIABLE).unwrap_or_default(),
            program: super::hash_of(&program),
            machine: this_machine(),
            conditions: asked.conditions,
            selection: asked.selection,
            fault,
            series,
        }
    }

    /// Why figures of both cannot be compared, if so.
    pub fn differs(&self, other: &Self) -> Option<String> {
        if self.bench != other.bench {
            return Some(format!("bench {} and {}", other.bench, self.bench));
        }
        let facts = [
            ("machine", &self.machine, &other.machine),
            ("arguments", &self.conditions, &other.conditions),
        ];
        facts.into_iter().find_map(|(what, new, old)| {
            let (key, old, new) = different(old, new)?;
            Some(format!("{what}: {key} was {old}, is {new}"))
        })
    }

    /// Whether it is that very run. Samples may differ by what writing and reading them does.
    pub fn is_same(&self, other: &Self) -> bool {
        let key = |run: &Self| (run.bench.clone(), run.at.clone(), run.program.clone());
        key(self) == key(other)
    }

    pub fn find(&self, name: &str) -> Option<&Series> {
        self.series.iter().find(|series| series.name == name)
    }
}

/// The first key whose values are not the same.
pub fn different<'a>(old: &'a Facts, new: &'a Facts) -> Option<(&'a str, &'a str, &'a str)> {
    let of = |map: &'a Facts, key: &str| map.get(key).map_or("-", |v| v);
    let keys = old.keys().chain(new.keys());
    let mut each = keys.map(|key| (&key[..], of(old, key), of(new, key)));
    each.find(|(_, old, new)| old != new)
}

/// Memory and kernel are left out: they change with updates, and a slowdown by one of those is to be
/// found.
fn this_machine() -> Facts {
    let facts = machine::facts();
    let keys = ["cpu", "cpus", "l2_cache", "l3_cache", "built_for"];
    let text = |key: &str| match &facts[key] {
        serde_json::Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let mut map: Facts = keys.map(|key| (key.to_owned(), text(key))).into();
    map.insert("profile".to_owned(), env!("SLUICE_PROFILE").to_owned());
    map
}

/// Contents of the file.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct History {
    /// The oldest first.
    pub kept: Vec<Kept>,
    pub damaged: Vec<Damaged>,
}

/// A run and where it stands; the first line is 1.
#[derive(Clone, PartialEq, Debug)]
pub struct Kept {
    pub line: usize,
    pub run: Run,
}

impl std::fmt::Display for Kept {
    /// Line, time and sources: the commit, or the program where nobody told the commit.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Run { bench, at, .. } = &self.run;
        let sources = [&self.run.commit, &self.run.program];
        let source = sources.into_iter().find(|source| !source.is_empty());
        let source = source.map_or("", |source| source);
        let (line, version) = (self.line, &self.run.version);
        write!(f, "bench {bench}, line {line}, {at}, {version} {source}")
    }
}

/// A line that is not a run.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Damaged {
    pub line: usize,
    #[serde(rename = "skipped_because")]
    pub why: String,
}

impl History {
    /// Reads all lines; a file that is not there holds none.
    pub fn read(path: &Path) -> io::Result<Self> {
        match fs::read(path) {
            Ok(bytes) => Ok(Self::parse(&bytes)),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(Self::default()),
            Err(e) => Err(e),
        }
    }

    fn parse(bytes: &[u8]) -> Self {
        let mut history = Self::default();
        for (line, text) in (1..).zip(bytes.split(|byte| *byte == b'\n')) {
            if text.trim_ascii().is_empty() {
                continue;
            }
            match run(text) {
                Ok(run) => history.kept.push(Kept { line, run }),
                Err(why) => history.damaged.push(Damaged { line, why }),
            }
        }
        history
    }

    /// How many lines the file has, at least.
    pub fn lines(&self) -> usize {
        let kept = self.kept.last().map_or(0, |kept| kept.line);
        kept.max(self.damaged.last().map_or(0, |damaged| damaged.line))
    }

    /// Tells people of the lines that could not be read.
    pub fn tell_damage(&self, path: &Path) {
        for Damaged { line, why } in &self.damaged {
            eprintln!("{}:{line}: skipped: {why}", path.display());
        }
    }
}

/// Opens it for a line more, so that one who may not write learns it before the measurement.
pub fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).append(true).create(true).open(path)
}

/// Adds a run in one write: who is interrupted leaves nothing, or a damaged last line, to which
/// nothing is added.
pub fn append(file: &mut File, run: &Run) -> io::Result<()> {
    let mut text = serde_json::to_string(run)?;
    text.push('\n');
    if file.seek(SeekFrom::End(0))? > 0 {
        let mut last = [0];
        file.seek(SeekFrom::End(-1))?;
        file.read_exact(&mut last)?;
        if last != *b"\n" {
            text.insert(0, '\n');
        }
    }
    file.write_all(text.as_bytes())
}

fn run(text: &[u8]) -> Result<Run, String> {
    let no_run = |e: serde_json::Error| format!("not a run: {e}");
    let value: serde_json::Value = serde_json::from_slice(text).map_err(no_run)?;
    match value["format"].as_u64() {
        Some(format) if format == u64::from(FORMAT) => {}
        Some(format) => return Err(format!("format {format}; this sluice reads {FORMAT}")),
        None => return Err("not a run: no format".to_owned()),
    }
    let run: Run = serde_json::from_value(value).map_err(no_run)?;
    for Series { name, samples, .. } in &run.series {
        if let Some(bad) = samples.iter().find(|v| !(v.is_finite() && **v > 0.0)) {
            return Err(format!("{name}: a sample is {bad}; expected more than 0"));
        }
    }
    Ok(run)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_other_machines_and_arguments_are_not_comparable() {
        let run = Run::now(RunArguments::default(), vec![], None);
        assert_eq!(run.differs(&run.clone()), None);
        assert!(!run.machine["profile"].is_empty() && run.program.len() >= 16);
        let mut other = run.clone();
        other.machine.insert("cpu".into(), "Another".into());
        let why = run.differs(&other).unwrap();
        assert!(why.starts_with("machine: cpu was Another, is "), "{why}");
        let mut other = run.clone();
        other.conditions.insert("seconds".into(), "2".into());
        let why = run.differs(&other).unwrap();
        assert_eq!(why, "arguments: seconds was 2, is -");
        other.bench = "port".into();
        assert!(run.differs(&other).unwrap().starts_with("bench port"));
    }

    fn made(name: &str) -> Run {
        let samples = [f64::NAN, 1.25, 0.0, f64::INFINITY, 0.375];
        let series = Series::ratio(name.into(), "x", samples).under("pages", "huge");
        Run::now(RunArguments::default(), vec![series], None)
    }

    #[test]
    fn damaged_lines_are_told_by_number_and_kept_and_the_others_are_read_as_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("history.jsonl");
        assert_eq!(History::read(&path).unwrap(), History::default());
        let (first, last) = (made("first"), made("last"));
        assert_eq!(first.series[0].samples, [1.25, 0.375]);
        append(&mut open(&path).unwrap(), &first).unwrap();
        let good = fs::read_to_string(&path).unwrap();
        let newer = good.replace("\"format\":1", "\"format\":2");
        let zero = good.replace("1.25", "0.0");
        let cut = &good[..good.len() / 2];
        fs::write(&path, format!("{good}\n\u{fffd}\n{newer}{{}}\n{zero}{cut}")).unwrap();
        append(&mut open(&path).unwrap(), &last).unwrap();
        let history = History::read(&path).unwrap();
        let kept = |at: usize, line, run| assert_eq!(history.kept[at], Kept { line, run });
        kept(0, 1, first);
        kept(1, 8, last);
        let damaged: Vec<usize> = history.damaged.iter().map(|d| d.line).collect();
        assert_eq!((damaged, history.lines()), (vec![3, 4, 5, 6, 7], 8));
        let why = |at: usize| &history.damaged[at].why;
        assert_eq!(why(1), "format 2; this sluice reads 1");
        assert_eq!(why(2), "not a run: no format");
        assert_eq!(why(3), "first: a sample is 0; expected more than 0");
        assert!(why(4).starts_with("not a run: EOF while parsing"));
        assert!(fs::read_to_string(&path).unwrap().contains(cut));
    }

    #[test]
    fn no_bytes_make_it_panic() {
        for bytes in [
            &b"\xff\xfe\n{\n"[..],
            b"null\n1\n[]\n",
            b"\"\\u0000\"\n{\"format\":-1}",
        ] {
            let history = History::parse(bytes);
            assert!(history.kept.is_empty() && history.damaged.len() >= 2);
        }
    }
}
