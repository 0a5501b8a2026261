//! Errors of the start: a line of the file that this machine cannot fulfil, or a step that failed.

use crate::config::Problem;
use core::fmt;
use std::path::Path;

/// Why the UPF does not start.
#[derive(Debug)]
pub enum BootError {
    /// A line of the file cannot be fulfilled on this machine.
    Line(Problem),
    /// A step that no single line stands for.
    Step {
        /// Action that failed.
        doing: &'static str,
        /// Reason.
        why: String,
    },
}

impl BootError {
    /// The text, with the file whose lines it names.
    pub fn in_file(&self, file: &Path) -> String {
        match self {
            Self::Line(problem) => problem.in_file(file).to_string(),
            Self::Step { doing, why } => format!("{doing}: {why}"),
        }
    }

    pub(crate) fn line(
        line: u32,
        key: impl Into<String>,
        what: String,
        expected: impl Into<String>,
    ) -> Self {
        Self::Line(Problem {
            line,
            key: key.into(),
            what,
            expected: expected.into(),
        })
    }
}

pub(crate) fn failed<E: fmt::Display>(doing: &'static str) -> impl FnOnce(E) -> BootError {
    move |e| BootError::Step {
        doing,
        why: e.to_string(),
    }
}
