//! Errors that end a demo early.

use std::io;
use std::time::Duration;

use sluice_host::HostError;
use sluice_host::capture::CaptureError;
use sluice_host::env_check::Missing;
use sluice_host::tool::ToolError;
use sluice_ran::{CallError, Failure, RanError};

use sluice_program::ask::AskError;

/// Errors that stop the demo. A failed check does not stop it and is no error.
#[derive(Debug, thiserror::Error)]
pub(super) enum DemoError {
    #[error("the demo needs what is not here:{}", listed(.0))]
    Missing(Vec<Missing>),
    /// Other programs leave the demo too little of the CPUs.
    #[error(
        "{phase}: this machine has not come to {wanted}, for other programs have its CPUs; stop some of them, and try again"
    )]
    Busy { phase: &'static str, wanted: String },
    #[error("interrupted")]
    Interrupted,
    #[error(transparent)]
    Host(#[from] HostError),
    #[error(transparent)]
    Tool(#[from] ToolError),
    #[error(transparent)]
    Capture(#[from] CaptureError),
    #[error(transparent)]
    Ran(#[from] RanError),
    #[error(transparent)]
    Network(#[from] Failure),
    #[error(transparent)]
    Call(CallError),
    #[error(transparent)]
    Ctl(#[from] AskError),
    #[error("{action}: {source}")]
    Io { action: String, source: io::Error },
    #[error("{program} ended by itself ({status}): {said}")]
    Ended {
        program: String,
        status: String,
        said: String,
    },
    #[error("{what} within {limit:?}")]
    TooLate { what: String, limit: Duration },
    /// A program or the UPF answered in a form that we do not understand.
    #[error("{from} answered unexpectedly: {answer}")]
    Answer { from: String, answer: String },
    #[error("{step}: {source}")]
    Step {
        step: &'static str,
        source: Box<DemoError>,
    },
}

impl DemoError {
    /// For `map_err` at file and socket work.
    pub(super) fn io(action: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let action = action.into();
        move |source| Self::Io { action, source }
    }

    /// Names what answered wrongly, with the beginning of its answer.
    pub(super) fn answer(from: impl Into<String>, answer: impl AsRef<str>) -> Self {
        Self::Answer {
            from: from.into(),
            answer: answer.as_ref().trim().chars().take(400).collect(),
        }
    }

    /// Whether somebody wanted the end.
    pub(super) fn is_interruption(&self) -> bool {
        match self {
            Self::Interrupted => true,
            Self::Step { source, .. } => source.is_interruption(),
            _ => false,
        }
    }

    /// Whether the machine is to blame, which has no CPU to spare.
    pub(super) fn is_busy(&self) -> bool {
        match self {
            Self::Busy { .. } => true,
            Self::Step { source, .. } => source.is_busy(),
            _ => false,
        }
    }
}

impl From<CallError> for DemoError {
    fn from(error: CallError) -> Self {
        match error {
            CallError::Halted(_) => Self::Interrupted,
            error => Self::Call(error),
        }
    }
}

/// Names the step in which an error happened.
pub(super) trait InStep<T> {
    /// The same outcome, with the step in front of the error.
    fn in_step(self, step: &'static str) -> Result<T, DemoError>;
}

impl<T, E: Into<DemoError>> InStep<T> for Result<T, E> {
    fn in_step(self, step: &'static str) -> Result<T, DemoError> {
        self.map_err(|error| DemoError::Step {
            step,
            source: Box::new(error.into()),
        })
    }
}

fn listed(missing: &[Missing]) -> String {
    missing.iter().map(|m| format!("\n  - {m}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interruption_is_recognised_inside_a_step() {
        let error = Err::<(), _>(DemoError::Interrupted)
            .in_step("ping")
            .expect_err("error");
        assert!(error.is_interruption());
        assert_eq!(error.to_string(), "ping: interrupted");
    }
}
