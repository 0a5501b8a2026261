//! Stored runs: one line of JSON each, in a history file, the newest last.
//!
//! Lines that cannot be read are told and left where they are.

use super::series::Series;
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
/// What `scripts/bench.sh` calls the sources that it built.
pub const COMMIT_VARIABLE: &str = "SLUICE_COMMIT";

/// One run of one benchmark.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Run {
    /// See [`FORMAT`].
    pub format: u32,
    /// Such as `path`.
    pub bench: String,
    /// When it ended, UTC.
    pub at: String,
    /// Of the package.
    pub version: String,
    /// Of the sources, with `-dirty` if they were changed since; empty if nobody said.
    pub commit: String,
    /// A hash of the program: runs of the same differ by chance alone.
    pub program: String,
    /// Which machine, as far as figures depend on it, and for what the program was built.
    pub machine: BTreeMap<String, String>,
    /// Arguments that change what is measured.
    pub conditions: BTreeMap<String, String>,
    /// Arguments that choose names.
    pub selection: String,
    /// Why the run failed, if it did: it is never compared with.
    pub fault: Option<String>,
    /// The figures.
    pub series: Vec<Series>,
}

/// What the benchmark's arguments were.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct RunArguments {
    /// Such as `path`.
    pub bench: &'static str,
    /// Those that change what is measured.
    pub conditions: BTreeMap<String, String>,
    /// Those that choose names.
    pub selection: String,
}

impl Run {
    /// Made just now, by this program, on this machine.
    pub fn now(asked: RunArguments, series: Vec<Series>, fault: Option<String>) -> Self {
        let now = DateTime::<Utc>::from(SystemTime::now());
        let program = std::fs::read("/proc/self/exe").unwrap_or_default();
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

    /// The figure of this name.
    pub fn find(&self, name: &str) -> Option<&Series> {
        self.series.iter().find(|series| series.name == name)
    }

    /// What it is called: the commit, or the program where nobody told the commit.
    pub fn source(&self) -> &str {
        match self.commit.is_empty() {
            true => &self.program,
            false => &self.commit,
        }
    }
}

/// The first key whose values are not the same.
pub fn different<'a>(
    old: &'a BTreeMap<String, String>,
    new: &'a BTreeMap<String, String>,
) -> Option<(&'a str, &'a str, &'a str)> {
    let of = |map: &'a BTreeMap<String, String>, key: &str| map.get(key).map_or("-", |v| v);
    let keys = old.keys().chain(new.keys());
    let mut each = keys.map(|key| (&key[..], of(old, key), of(new, key)));
    each.find(|(_, old, new)| old != new)
}

/// Memory and kernel are left out: they change with updates, and a slowdown by one of those is to be
/// found.
fn this_machine() -> BTreeMap<String, String> {
    let facts = machine::facts();
    let keys = ["cpu", "cpus", "l2_cache", "l3_cache", "built_for"];
    let text = |key: &str| match &facts[key] {
        serde_json::Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let mut map: BTreeMap<_, _> = keys.map(|key| (key.to_owned(), text(key))).into();
    map.insert("profile".to_owned(), env!("SLUICE_PROFILE").to_owned());
    map
}

/// What the file holds.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct History {
    /// Runs, the oldest first.
    pub kept: Vec<Kept>,
    /// Lines that are none.
    pub damaged: Vec<Damaged>,
}

/// A run and where it stands.
#[derive(Clone, PartialEq, Debug)]
pub struct Kept {
    /// The first is 1.
    pub line: usize,
    /// The run.
    pub run: Run,
}

/// A line that is not a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Damaged {
    /// The first is 1.
    pub line: usize,
    /// What is wrong.
    pub why: String,
}

/// Reads all lines; a file that is not there holds none.
pub fn read(path: &Path) -> io::Result<History> {
    match fs::read(path) {
        Ok(bytes) => Ok(parse(&bytes)),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(History::default()),
        Err(e) => Err(e),
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

fn parse(bytes: &[u8]) -> History {
    let mut history = History::default();
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

fn run(text: &[u8]) -> Result<Run, String> {
    let value: serde_json::Value =
        serde_json::from_slice(text).map_err(|e| format!("not a run: {e}"))?;
    match value["format"].as_u64() {
        Some(format) if format == u64::from(FORMAT) => {}
        Some(format) => return Err(format!("format {format}; this sluice reads {FORMAT}")),
        None => return Err("not a run: no format".to_owned()),
    }
    let run: Run = serde_json::from_value(value).map_err(|e| format!("not a run: {e}"))?;
    for series in &run.series {
        let bad = series
            .samples
            .iter()
            .find(|v| !(v.is_finite() && **v > 0.0));
        if let Some(bad) = bad {
            let name = &series.name;
            return Err(format!("{name}: a sample is {bad}; expected more than 0"));
        }
    }
    Ok(run)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::watch::run::RunArguments;
    use crate::watch::series::Series;

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
        let series = Series::ratio(name.into(), "x", [1.25, 0.375]).under("pages", "huge");
        Run::now(RunArguments::default(), vec![series], None)
    }

    #[test]
    fn what_was_appended_is_read_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("history.jsonl");
        assert_eq!(read(&path).unwrap(), History::default());
        let runs = [made("a"), made("b")];
        for run in &runs {
            append(&mut open(&path).unwrap(), run).unwrap();
        }
        let history = read(&path).unwrap();
        let lines: Vec<usize> = history.kept.iter().map(|kept| kept.line).collect();
        assert_eq!((lines, history.damaged.len()), (vec![1, 2], 0));
        assert!(history.kept.iter().zip(&runs).all(|(k, run)| k.run == *run));
    }

    #[test]
    fn damaged_lines_are_told_by_number_and_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("history.jsonl");
        append(&mut open(&path).unwrap(), &made("first")).unwrap();
        let good = fs::read_to_string(&path).unwrap();
        let newer = good.replace("\"format\":1", "\"format\":2");
        let zero = good.replace("1.25", "0.0");
        let cut = &good[..good.len() / 2];
        fs::write(&path, format!("{good}\n\u{fffd}\n{newer}{{}}\n{zero}{cut}")).unwrap();
        append(&mut open(&path).unwrap(), &made("last")).unwrap();
        let history = read(&path).unwrap();
        let kept: Vec<usize> = history.kept.iter().map(|kept| kept.line).collect();
        let damaged: Vec<usize> = history.damaged.iter().map(|d| d.line).collect();
        assert_eq!((kept, damaged), (vec![1, 8], vec![3, 4, 5, 6, 7]));
        let why = |at: usize| &history.damaged[at].why;
        assert_eq!(why(1), "format 2; this sluice reads 1");
        assert_eq!(why(2), "not a run: no format");
        assert_eq!(why(3), "first: a sample is 0; expected more than 0");
        assert!(
            why(4).starts_with("not a run: EOF while parsing"),
            "{}",
            why(4)
        );
        assert!(fs::read_to_string(&path).unwrap().contains(cut));
    }

    #[test]
    fn no_bytes_make_it_panic() {
        for bytes in [
            &b"\xff\xfe\n{\n"[..],
            b"null\n1\n[]\n",
            b"\"\\u0000\"\n{\"format\":-1}",
        ] {
            let history = parse(bytes);
            assert!(history.kept.is_empty() && history.damaged.len() >= 2);
        }
    }
}
