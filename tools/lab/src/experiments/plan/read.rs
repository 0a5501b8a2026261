//! Plan parser: YAML to a checked [`Experiment`], with errors by file and line; and the plans that are
//! built into the program.

use super::{Experiment, Series, Wrong, check};
use std::path::{Path, PathBuf};

/// Further check of a plan that runs: the runner names the keys and values that it needs, and returns the series that
/// it measures.
pub type Fits<'a> = &'a dyn Fn(&Experiment) -> Result<Vec<Series>, Wrong>;

#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{file}{}: {what}", line.map(|line| format!(":{line}")).unwrap_or_default())]
pub struct Bad {
    pub file: String,
    /// From 1; none where the whole file is meant.
    pub line: Option<u64>,
    /// The fault, and the expected value.
    pub what: String,
}

/// One experiment of a text; `file` is for messages.
pub fn from_text(file: &str, text: &str, fits: Fits<'_>) -> Result<Experiment, Bad> {
    let read: Result<Experiment, _> = serde_saphyr::from_str(text);
    let mut experiment = read.map_err(|error| {
        let error = error.without_snippet();
        Bad {
            file: file.to_owned(),
            line: error.location().map(|at| at.line()),
            what: first_line(&error.to_string()),
        }
    })?;
    let bad = |wrong: Wrong| Bad {
        file: file.to_owned(),
        line: wrong.line_of(text),
        what: wrong.what,
    };
    check::sound(&experiment).map_err(bad)?;
    if experiment.runs() {
        experiment.gives = fits(&experiment).map_err(bad)?;
    }
    Ok(experiment)
}

/// All experiments of the `*.yaml` files in a folder, by name.
pub fn from_folder(folder: &Path, fits: Fits<'_>) -> Result<Vec<Experiment>, Bad> {
    let cannot = |path: &Path, why: std::io::Error| Bad {
        file: path.display().to_string(),
        line: None,
        what: format!("cannot be read: {why}"),
    };
    let entries = std::fs::read_dir(folder).map_err(|why| cannot(folder, why))?;
    let mut files: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|end| end == "yaml"))
        .collect();
    files.sort();
    let mut all: Vec<Experiment> = Vec::new();
    for path in files {
        let text = std::fs::read_to_string(&path).map_err(|why| cannot(&path, why))?;
        let file = path.display().to_string();
        let experiment = from_text(&file, &text, fits)?;
        if all.iter().any(|one| one.name == experiment.name) {
            let what = format!("there is another experiment named '{}'", experiment.name);
            return Err(Bad {
                file,
                line: None,
                what,
            });
        }
        all.push(experiment);
    }
    Ok(all)
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}

macro_rules! files {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../../../plans/", $name))),)*]
    };
}

/// File names and texts, in the order in which they run.
const FILES: &[(&str, &str)] = files![
    "a-remove.yaml",
    "a-add.yaml",
    "a-placement.yaml",
    "a-translation.yaml",
    "b-payload.yaml",
    "b-sessions.yaml",
    "b-cores.yaml",
    "b-skew.yaml",
    "b-scaling.yaml",
    "b-housekeeping.yaml",
    "c-steering.yaml",
    "c-scaleout.yaml",
    "c-heavy-hitters.yaml",
    "c-pfcp.yaml",
    "c-shaping.yaml",
    "c-dpoffload.yaml",
    "c-cpoffload.yaml",
    "d-profiles.yaml",
    "e-core.yaml",
    "e-parts.yaml",
    "e-placement.yaml",
    "e-l25gc.yaml",
    "e-distance.yaml",
    "e-userplane.yaml",
];

/// File names and texts of the experiments that come with the program.
pub fn embedded_files() -> &'static [(&'static str, &'static str)] {
    FILES
}

/// The experiments that come with the program, in the order in which they run.
pub fn embedded(fits: Fits<'_>) -> Result<Vec<Experiment>, Bad> {
    FILES
        .iter()
        .map(|(file, text)| from_text(file, text, fits))
        .collect()
}
