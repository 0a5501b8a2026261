//! What the demo of the core tells at its end: JSON or text.

use std::fmt::Write as _;

use serde::Serialize;
use sluice::screen::Screen;

use crate::captures::Judgement;
use crate::checks::Checks;
use crate::traffic::ping::Ping;

/// Everything that is told.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    pub(super) checks_passed: usize,
    pub(super) checks_failed: usize,
    pub(super) interrupted: bool,
    /// What ended the demo before its time.
    pub(super) error: Option<String>,
    pub(super) ues: Vec<Ue>,
    /// What network functions, gNB and UEs said, in order, with the steps of TS 23.502.
    pub(super) ladder: Vec<String>,
    pub(super) captures: Vec<Capture>,
    /// Of N3 and N4.
    pub(super) user_plane_captures: Vec<Judgement>,
    /// The last lines of logs, where something did not hold, and what the core refused.
    pub(super) core_log: Vec<String>,
    pub(super) upf_log: Vec<String>,
    pub(super) refusals: Vec<String>,
    pub(super) checks: Checks,
}

/// A UE.
#[derive(Debug, Default, Serialize)]
pub(super) struct Ue {
    pub(super) supi: String,
    /// How it showed who it is.
    pub(super) scheme: &'static str,
    /// From its first message until it was registered.
    pub(super) registration_ms: f64,
    /// Of its session.
    pub(super) addresses: Vec<String>,
    pub(super) pings: Vec<Ping>,
}

/// What a capture held, and what tshark thinks of it.
#[derive(Debug, Serialize)]
pub(super) struct Capture {
    pub(super) interface: &'static str,
    pub(super) frames: u64,
    /// NGAP messages in them.
    pub(super) messages: u64,
    /// Frames that the capture should have but has not.
    pub(super) missed: u64,
    pub(super) complaints: usize,
    pub(super) first_complaints: Vec<String>,
}

impl Report {
    /// Nothing has happened yet.
    pub(super) fn new(screen: Screen) -> Self {
        Self {
            checks_passed: 0,
            checks_failed: 0,
            interrupted: false,
            error: None,
            ues: Vec::new(),
            ladder: Vec::new(),
            captures: Vec::new(),
            user_plane_captures: Vec::new(),
            core_log: Vec::new(),
            upf_log: Vec::new(),
            refusals: Vec::new(),
            checks: Checks::new(screen),
        }
    }

    /// Makes the sums.
    pub(super) fn finish(&mut self) {
        self.checks_passed = self.checks.passed();
        self.checks_failed = self.checks.failed();
    }

    /// Whether all was done and everything held.
    pub(super) fn is_good(&self) -> bool {
        self.error.is_none() && self.checks_failed == 0
    }

    /// Lines for people; writing to a String cannot fail.
    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        for ue in &self.ues {
            let Ue {
                supi,
                scheme,
                registration_ms,
                addresses,
                ..
            } = ue;
            let addresses = addresses.join(" ");
            let _ = writeln!(
                text,
                "  {supi}  {scheme:<11} {registration_ms:.1} ms  {addresses}"
            );
        }
        for check in self.checks.failures() {
            let _ = writeln!(
                text,
                "FAILED {}: expected {}, got {}",
                check.name, check.expected, check.got
            );
        }
        let interrupted = if self.interrupted {
            "interrupted; "
        } else {
            ""
        };
        let _ = write!(
            text,
            "{interrupted}{} checks passed, {} failed",
            self.checks_passed, self.checks_failed
        );
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_or_a_failed_check_spoils_the_result() {
        let mut report = Report::new(Screen::silent());
        report.finish();
        assert!(report.is_good());
        report.checks.equal("two", 1, 2);
        report.finish();
        assert!(!report.is_good() && report.text().contains("FAILED two"));
        let mut report = Report::new(Screen::silent());
        report.error = Some("no".to_owned());
        assert!(!report.is_good());
    }
}
