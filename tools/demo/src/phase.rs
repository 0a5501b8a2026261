//! Phases of the demo that are repeated where the host disturbed them.

use serde::Serialize;

use sluice_program::screen::Screen;

use super::checks::Check;
use super::error::DemoError;
use super::host::{Host, HostLosses};
use super::plan::{self, Pace};
use super::report::{Part, Report};

/// A host that disturbs a phase so often is no place for a demo.
const ATTEMPTS: u32 = 5;

/// Shortfalls for which the host alone is to blame: senders that could not send at the rate that they were given, in
/// words.
pub(super) type Starved = Vec<String>;

/// The pace at which a phase held.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Reached {
    pub(super) phase: &'static str,
    /// UDP of each UE in each direction.
    pub(super) udp_mbps: f64,
    /// TCP of each UE; none: as fast as it went.
    pub(super) tcp_mbps: Option<f64>,
}

impl Reached {
    fn new(phase: &'static str, pace: Pace) -> Self {
        Self {
            phase,
            udp_mbps: pace.promised_mbps(),
            tcp_mbps: pace.tcp_bps.map(|bps| bps as f64 / 1e6),
        }
    }
}

/// An attempt that does not count.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Disturbed {
    pub(super) phase: &'static str,
    pub(super) attempt: u32,
    pub(super) host_losses: HostLosses,
    pub(super) starved: Starved,
    pub(super) failed: Vec<Check>,
    pub(super) error: Option<String>,
}

/// Plays a phase; where the host lost packets meanwhile or starved a sender, all that was found is
/// forgotten and the phase is played again, [`ATTEMPTS`] times in all.
///
/// # Errors
/// [`DemoError::Busy`] if the host disturbs all of them; whatever ends the phase.
pub(super) fn undisturbed<P: Part>(
    screen: &Screen,
    host: &Host<'_>,
    report: &mut Report<P>,
    phase: &'static str,
    mut act: impl FnMut(&mut Report<P>) -> Result<Starved, DemoError>,
) -> Result<(), DemoError> {
    for attempt in 1..=ATTEMPTS {
        let Some(disturbed) = attempted(host, report, phase, attempt, &mut act)? else {
            return Ok(());
        };
        screen.say(&format!("  again   {}", disturbed.text()));
        report.disturbed.push(disturbed);
    }
    Err(DemoError::Busy {
        phase,
        wanted: format!("one of {ATTEMPTS} attempts undisturbed"),
    })
}

/// Plays a phase that offers traffic; where the host cannot carry as much, it is played again with less, down to
/// the lowest of [`plan::PACES`].
///
/// # Errors
/// [`DemoError::Busy`] if the host cannot carry that either; whatever ends the phase.
pub(super) fn paced<P: Part>(
    screen: &Screen,
    host: &Host<'_>,
    report: &mut Report<P>,
    phase: &'static str,
    mut act: impl FnMut(&mut Report<P>, Pace) -> Result<Starved, DemoError>,
) -> Result<(), DemoError> {
    for (attempt, pace) in (1..).zip(plan::PACES) {
        let Some(disturbed) = attempted(host, report, phase, attempt, |r| act(r, pace))? else {
            report.rates.push(Reached::new(phase, pace));
            return Ok(());
        };
        screen.say(&format!("  slower  {}", disturbed.text()));
        report.disturbed.push(disturbed);
    }
    Err(DemoError::Busy {
        phase,
        wanted: format!("{:.0} Mbit/s a UE", plan::LOWEST_PACE.promised_mbps()),
    })
}

/// Plays a phase once. If the host disturbed it, all that was found is forgotten but this.
fn attempted<P: Part>(
    host: &Host<'_>,
    report: &mut Report<P>,
    phase: &'static str,
    attempt: u32,
    mut act: impl FnMut(&mut Report<P>) -> Result<Starved, DemoError>,
) -> Result<Option<Disturbed>, DemoError> {
    let mark = report.mark();
    let before = host.lost()?;
    let outcome = act(report);
    if matches!(&outcome, Err(error) if error.is_interruption()) {
        return outcome.map(|_| None);
    }
    let host_losses = host.lost()?.since(&before);
    let starved = outcome.as_ref().map_or_else(|_| Vec::new(), Clone::clone);
    if host_losses.total() == 0 && starved.is_empty() {
        return outcome.map(|_| None);
    }
    let disturbed = Disturbed {
        phase,
        attempt,
        failed: report.checks.failures_from(mark.checks),
        error: outcome.as_ref().err().map(ToString::to_string),
        host_losses,
        starved,
    };
    report.back_to(mark);
    Ok(Some(disturbed))
}

impl Disturbed {
    /// Description of the phase's result.
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
