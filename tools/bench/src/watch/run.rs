//! A stored run: one line of JSON.

use super::series::Series;
use crate::machine;
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::env;
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
}
