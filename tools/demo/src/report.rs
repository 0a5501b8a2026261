//! Demo report: what a part tells at its end, JSON or text.

use std::fmt::Write as _;

use serde::Serialize;

use super::captures::Judgement;
use super::checks::Checks;
use super::phase::{Disturbed, Reached};
use super::traffic::http::Http;
use super::traffic::iperf::{Direction, TcpFlow};
use super::traffic::ping::Ping;
use sluice_program::exit::Exit;
use sluice_program::screen::Screen;

/// Everything that a part tells at the end.
#[derive(Debug, Serialize)]
pub(super) struct Report<P> {
    pub(super) checks_passed: usize,
    pub(super) checks_failed: usize,
    /// Packets that got lost, where no check expected it.
    pub(super) loss_packets: u64,
    /// Packets that the host lost: none of Sluice's, and not in `loss_packets`.
    pub(super) host_loss_packets: u64,
    /// Attempts of phases that the host disturbed.
    pub(super) disturbed: Vec<Disturbed>,
    /// Rates at which iperf3's phases held: the first ones where the host has CPU to spare.
    pub(super) rates: Vec<Reached>,
    /// The host could not carry the lowest rate: this says nothing of the UPF.
    pub(super) too_busy: bool,
    pub(super) interrupted: bool,
    /// Error that ended the demo early.
    pub(super) error: Option<String>,
    pub(super) duration_s: f64,
    pub(super) captures: Vec<Judgement>,
    pub(super) checks: Checks,
    /// The end of the UPF's log, when something went wrong.
    pub(super) upf_log: Vec<String>,
    #[serde(flatten)]
    pub(super) part: P,
}

/// Findings of one part of the demo, beside those that all have.
pub(super) trait Part: Serialize {
    /// A place in it.
    type Mark;
    fn mark(&self) -> Self::Mark;
    /// Forgets what was found since then.
    fn back_to(&mut self, mark: Self::Mark);
    /// Packets that got lost.
    fn lost(&self) -> u64;
    fn finish(&mut self) {}
    /// A UE's name in checks.
    fn ue(&self, ue: usize) -> String;
    /// Keeps what a ping of a UE counted.
    fn add_ping(&mut self, ue: usize, ping: Ping);
    fn forget_pings(&mut self);
    fn add_http(&mut self, _ue: usize, _http: Http) {}
    fn add_tcp(&mut self, _ue: usize, _direction: Direction, _flow: TcpFlow) {}
    /// Further ends of logs, by whose they are.
    fn logs(&self) -> Vec<(&'static str, &[String])> {
        Vec::new()
    }
    /// Lines for people, in front of those of all parts.
    fn head(&self) -> String;
    /// And behind.
    fn tail(&self) -> String {
        String::new()
    }
    /// How much was lost, in words.
    fn loss_text(&self, loss_packets: u64) -> String;
}

/// A place in the report.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mark<M> {
    pub(super) checks: usize,
    part: M,
}

impl<P: Part> Report<P> {
    /// Nothing has happened yet.
    pub(super) fn new(part: P, screen: Screen) -> Self {
        Self {
            checks_passed: 0,
            checks_failed: 0,
            loss_packets: 0,
            host_loss_packets: 0,
            disturbed: Vec::new(),
            rates: Vec::new(),
            too_busy: false,
            interrupted: false,
            error: None,
            duration_s: 0.0,
            captures: Vec::new(),
            checks: Checks::new(screen),
            upf_log: Vec::new(),
            part,
        }
    }

    pub(super) fn mark(&self) -> Mark<P::Mark> {
        Mark {
            checks: self.checks.len(),
            part: self.part.mark(),
        }
    }

    /// Forgets what was found since then.
    pub(super) fn back_to(&mut self, mark: Mark<P::Mark>) {
        self.checks.truncate(mark.checks);
        self.part.back_to(mark.part);
    }

    /// All echoes of a UE must have been answered.
    pub(super) fn check_ping(&mut self, ue: usize, what: &str, one: Ping) {
        let name = format!("{} {what}, answers", self.part.ue(ue));
        self.checks.equal(name, one.sent, one.received);
        self.part.add_ping(ue, one);
    }

    /// Counters of two ends must agree, as far as the host has lost nothing between them.
    pub(super) fn check_bytes(&mut self, name: String, device: u64, other: u64, unsure: u64) {
        let expected = match unsure {
            0 => device.to_string(),
            _ => format!("{device}, and {unsure} at most that the host lost"),
        };
        let pass = device.abs_diff(other) <= unsure;
        self.checks.holds(name, expected, other.to_string(), pass);
    }

    pub(super) fn finish(&mut self) {
        self.checks_passed = self.checks.passed();
        self.checks_failed = self.checks.failed();
        self.loss_packets = self.part.lost();
        self.part.finish();
    }

    /// Adds the sums of another part.
    pub(super) fn add<Q>(&mut self, other: &Report<Q>) {
        self.checks_passed += other.checks_passed;
        self.checks_failed += other.checks_failed;
        self.loss_packets += other.loss_packets;
        self.host_loss_packets += other.host_loss_packets;
        self.duration_s += other.duration_s;
        self.interrupted |= other.interrupted;
        self.too_busy |= other.too_busy;
        self.error = self.error.take().or_else(|| other.error.clone());
    }

    /// Whether all was done and everything held.
    pub(super) fn is_good(&self) -> bool {
        self.error.is_none() && self.checks_failed == 0 && self.loss_packets == 0
    }

    /// A machine without CPU to spare lacks something; what was checked before that must hold all the same.
    pub(super) fn exit(&self) -> Exit {
        let failed = self.checks_failed > 0 || self.loss_packets > 0;
        match self.is_good() {
            true => Exit::Done,
            false if self.too_busy && !failed => Exit::Lacking,
            false => Exit::Failed,
        }
    }

    /// Lines for people; writing to a String cannot fail.
    pub(super) fn text(&self) -> String {
        let mut text = self.part.head();
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
        text.push_str(&self.part.tail());
        let interrupted = match self.interrupted {
            true => "interrupted; ",
            false => "",
        };
        let by_host = match self.host_loss_packets {
            0 => String::new(),
            packets => format!(" (and {packets} by the host)"),
        };
        let _ = write!(
            text,
            "{interrupted}{} checks passed, {} failed, {} lost{by_host}, {:.0} s",
            self.checks_passed,
            self.checks_failed,
            self.part.loss_text(self.loss_packets),
            self.duration_s
        );
        text
    }
}
