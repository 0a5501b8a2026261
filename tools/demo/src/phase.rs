//! Phases of the demo that are repeated where the host disturbed them.

use serde::Serialize;

use sluice::screen::Screen;

use super::checks::{Check, Checks};
use super::error::DemoError;
use super::host::{Host, HostLosses};

/// A host that disturbs a phase so often is no place for a demo.
const ATTEMPTS: u32 = 3;

/// What of a phase's outcome the host alone is to blame for: senders that did not come to send as much
/// as they were told to, in words.
pub(super) type Starved = Vec<String>;

/// A report from which findings can be taken back.
pub(super) trait Findings {
    /// How much there is at one moment.
    type Mark;
    /// How much there is now.
    fn mark(&self) -> Self::Mark;
    /// Checks since then that do not hold.
    fn failed_since(&self, mark: &Self::Mark) -> Vec<Check>;
    /// Forgets what was found since then.
    fn back_to(&mut self, mark: Self::Mark);
    /// What has been checked.
    fn checks(&mut self) -> &mut Checks;
    /// Attempts that do not count.
    fn disturbed(&mut self) -> &mut Vec<Disturbed>;
}

/// An attempt that does not count.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Disturbed {
    pub(super) phase: &'static str,
    pub(super) attempt: u32,
    pub(super) host_losses: HostLosses,
    pub(super) starved: Starved,
    /// What did not hold.
    pub(super) failed: Vec<Check>,
    pub(super) error: Option<String>,
}

/// Plays a phase; where the host lost packets meanwhile or starved a sender, all that was found is
/// forgotten and the phase is played again, [`ATTEMPTS`] times in all.
pub(super) fn undisturbed<R: Findings>(
    screen: &Screen,
    host: &Host<'_>,
    report: &mut R,
    phase: &'static str,
    mut act: impl FnMut(&mut R) -> Result<Starved, DemoError>,
) -> Result<(), DemoError> {
    let mut attempt = 1;
    loop {
        let mark = report.mark();
        let before = host.lost()?;
        let outcome = act(report);
        if matches!(&outcome, Err(error) if error.is_interruption()) {
            return outcome.map(drop);
        }
        let losses = host.lost()?.since(&before);
        let starved = outcome.as_ref().map_or_else(|_| Vec::new(), Clone::clone);
        if losses.total() == 0 && starved.is_empty() {
            return outcome.map(drop);
        }
        let disturbed = Disturbed {
            phase,
            attempt,
            failed: report.failed_since(&mark),
            error: outcome.as_ref().err().map(ToString::to_string),
            host_losses: losses,
            starved,
        };
        let what = disturbed.text();
        if attempt == ATTEMPTS {
            let name = format!("{phase}: an attempt that the host does not disturb");
            let expected = format!("one of {ATTEMPTS}");
            report.checks().holds(name, expected, what, false);
            report.disturbed().push(disturbed);
            return outcome.map(drop);
        }
        screen.say(&format!("  again   {what}"));
        report.back_to(mark);
        report.disturbed().push(disturbed);
        attempt += 1;
    }
}

impl Disturbed {
    /// What happened, and what follows.
    pub(super) fn text(&self) -> String {
        let mut said = Vec::new();
        if self.host_losses.total() > 0 {
            said.push(format!("the host lost {}", self.host_losses.text()));
        }
        said.extend(self.starved.iter().cloned());
        format!(
            "{} (attempt {}): {}; other programs have the CPUs, so this says nothing of the UPF",
            self.phase,
            self.attempt,
            said.join("; ")
        )
    }
}
