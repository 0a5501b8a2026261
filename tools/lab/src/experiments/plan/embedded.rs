//! The experiment plans that are built into the program.

use super::{Bad, Experiment, Fits, from_text};

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
