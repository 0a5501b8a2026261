//! What the demo of the core tells at its end: JSON or text.

use std::fmt::Write as _;

use serde::Serialize;
use sluice_program::exit::Exit;
use sluice_program::screen::Screen;

use crate::captures::Judgement;
use crate::checks::{Check, Checks};
use crate::phase::{Disturbed, Findings, Reached};
use crate::plan::Pace;
use crate::traffic::ping::Ping;

/// Everything that is told.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    pub(crate) checks_passed: usize,
    pub(crate) checks_failed: usize,
    /// Echoes that were sent, in phases that count.
    pub(super) packets_sent: u64,
    /// Those of them without an answer.
    pub(crate) loss_packets: u64,
    /// Packets that the host lost; what they disturbed was done again.
    pub(crate) host_loss_packets: u64,
    pub(super) disturbed: Vec<Disturbed>,
    /// Rates at which iperf3's phases held.
    pub(super) rates: Vec<Reached>,
    /// The host could not carry the lowest rate.
    pub(crate) too_busy: bool,
    pub(crate) interrupted: bool,
    /// What ended the demo before its time.
    pub(crate) error: Option<String>,
    pub(crate) duration_s: f64,
    pub(super) ues: Vec<Ue>,
    /// Packets that gNBs forwarded for UEs that had left.
    pub(super) forwarded_packets: u64,
    /// What network functions, gNBs and UEs said, in order, with the steps of TS 23.502.
    pub(super) call_flow: Vec<String>,
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
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Ue {
    pub(super) supi: String,
    /// How it showed who it is.
    pub(super) scheme: &'static str,
    /// From its first message until it was registered.
    pub(super) registration_ms: f64,
    /// Of its session.
    pub(super) addresses: Vec<String>,
    /// How often it came back as it was called.
    pub(super) pages_answered: u64,
    pub(super) handovers: Vec<Handover>,
    pub(super) dedicated_flow: Option<DedicatedFlow>,
    pub(super) pings: Vec<Ping>,
}

/// A handover of a UE.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Handover {
    pub(super) by: &'static str,
    pub(super) from: String,
    pub(super) to: String,
    /// From the source's decision until the network knew where the UE is.
    pub(super) took_ms: f64,
}

/// Packets of a flow that an application started.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct DedicatedFlow {
    pub(super) qfi: u8,
    pub(super) uplink_packets: u64,
    pub(super) downlink_packets: u64,
}

/// What a capture held, and what tshark thinks of it.
#[derive(Debug, Serialize)]
pub(crate) struct Capture {
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
    pub(crate) fn new(screen: Screen) -> Self {
        Self {
            checks_passed: 0,
            checks_failed: 0,
            packets_sent: 0,
            loss_packets: 0,
            host_loss_packets: 0,
            disturbed: Vec::new(),
            rates: Vec::new(),
            too_busy: false,
            interrupted: false,
            error: None,
            duration_s: 0.0,
            ues: Vec::new(),
            forwarded_packets: 0,
            call_flow: Vec::new(),
            captures: Vec::new(),
            user_plane_captures: Vec::new(),
            core_log: Vec::new(),
            upf_log: Vec::new(),
            refusals: Vec::new(),
            checks: Checks::new(screen),
        }
    }

    /// All echoes of a UE must have been answered.
    pub(super) fn check_ping(&mut self, ue: usize, what: &str, one: Ping) {
        let supi = self.ues.get(ue).map_or("", |ue| &ue.supi);
        let name = format!("{supi} {what}, answers");
        self.checks.equal(name, one.sent, one.received);
        self.packets_sent += one.sent;
        self.loss_packets += one.lost();
        if let Some(ue) = self.ues.get_mut(ue) {
            ue.pings.push(one);
        }
    }

    /// Makes the sums.
    pub(super) fn finish(&mut self) {
        self.checks_passed = self.checks.passed();
        self.checks_failed = self.checks.failed();
    }

    /// Whether all was done and everything held.
    pub(crate) fn is_good(&self) -> bool {
        self.error.is_none() && self.checks_failed == 0 && self.loss_packets == 0
    }

    /// A machine without CPU to spare lacks something; what was checked before that must hold all the same.
    pub(crate) fn exit(&self) -> Exit {
        let failed = self.checks_failed > 0 || self.loss_packets > 0;
        match self.is_good() {
            true => Exit::Done,
            false if self.too_busy && !failed => Exit::Lacking,
            false => Exit::Failed,
        }
    }

    /// Lines for people; writing to a String cannot fail.
    pub(crate) fn text(&self) -> String {
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
        for disturbed in &self.disturbed {
            let _ = writeln!(text, "  disturbed: {}", disturbed.text());
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
            "{interrupted}{} checks passed, {} failed, {} of {} echoes lost, {:.0} s",
            self.checks_passed,
            self.checks_failed,
            self.loss_packets,
            self.packets_sent,
            self.duration_s
        );
        text
    }
}

/// How much there was at one moment.
pub(crate) struct Mark {
    checks: usize,
    packets: (u64, u64),
    ues: Vec<Ue>,
}

impl Findings for Report {
    type Mark = Mark;

    fn mark(&self) -> Mark {
        Mark {
            checks: self.checks.len(),
            packets: (self.packets_sent, self.loss_packets),
            ues: self.ues.clone(),
        }
    }

    fn failed_since(&self, mark: &Mark) -> Vec<Check> {
        self.checks.failures_from(mark.checks)
    }

    fn back_to(&mut self, mark: Mark) {
        self.checks.truncate(mark.checks);
        (self.packets_sent, self.loss_packets) = mark.packets;
        self.ues = mark.ues;
    }

    fn disturbed(&mut self) -> &mut Vec<Disturbed> {
        &mut self.disturbed
    }

    fn reached(&mut self, phase: &'static str, pace: Pace) {
        self.rates.push(Reached::new(phase, pace));
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

    #[test]
    fn what_was_found_since_a_mark_is_forgotten() {
        let mut report = Report::new(Screen::silent());
        report.ues.push(Ue::default());
        let mark = report.mark();
        let one = Ping {
            sent: 3,
            received: 2,
            rtt_mean_ms: None,
        };
        report.check_ping(0, "ping", one);
        report.finish();
        assert!(!report.is_good() && report.failed_since(&mark).len() == 1);
        report.back_to(mark);
        report.finish();
        assert!(report.is_good() && report.ues[0].pings.is_empty());
        assert_eq!((report.packets_sent, report.loss_packets), (0, 0));
    }
}
