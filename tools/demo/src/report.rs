//! Demo report: JSON or text.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::Serialize;

use super::captures::Judgement;
use super::checks::{Check, Checks};
use super::phase::{Disturbed, Findings, Reached};
use super::plan::Pace;
use super::registration::Report as CoreReport;
use super::traffic::http::Http;
use super::traffic::iperf::{TcpFlow, Udp};
use super::traffic::ping::Ping;
use super::upf::{Ledger, PortCounters, WorkerLoad};
use sluice_program::exit::Exit;
use sluice_program::screen::Screen;

/// Everything that is told at the end.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    pub(super) checks_passed: usize,
    pub(super) checks_failed: usize,
    /// The sum of `loss`.
    pub(super) loss_packets: u64,
    pub(super) loss: Loss,
    /// Packets that the host lost: none of Sluice's, and not in `loss`.
    pub(super) host_loss_packets: u64,
    /// Attempts of phases that the host disturbed.
    pub(super) disturbed: Vec<Disturbed>,
    /// Rates at which iperf3's phases held: the first ones where the host has CPU to spare.
    pub(super) rates: Vec<Reached>,
    /// The host could not carry the lowest rate: this says nothing of the UPF.
    pub(super) too_busy: bool,
    pub(super) interrupted: bool,
    /// What ended the demo before its time.
    pub(super) error: Option<String>,
    pub(super) driver: &'static str,
    pub(super) duration_s: f64,
    /// How often the UEs' programs ran; the results below are those of the last time.
    pub(super) rounds: u32,
    pub(super) ues: Vec<UeReport>,
    pub(super) throughput: Throughput,
    pub(super) path_switch: Option<PathSwitch>,
    pub(super) ledger: Option<Ledger>,
    /// Drops that a check provoked.
    pub(super) expected_drops: BTreeMap<String, u64>,
    pub(super) ports: Vec<PortCounters>,
    pub(super) workers: Vec<WorkerLoad>,
    pub(super) captures: Vec<Judgement>,
    pub(super) checks: Checks,
    /// The end of the UPF's log, when something went wrong.
    pub(super) upf_log: Vec<String>,
    /// The part with the core. What it passed, failed and lost is in the sums above.
    pub(super) core: Option<CoreReport>,
}

/// Packets that got lost, by who missed them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct Loss {
    pub(super) ping: u64,
    pub(super) iperf: u64,
    /// In the UPF, except what a check provoked.
    pub(super) upf_drops: u64,
    /// In the gNBs.
    pub(super) gnb_drops: u64,
    /// Between the kernel and the UPF's ports, without what the host lost there.
    pub(super) port_misses: u64,
}

impl Loss {
    pub(super) fn total(&self) -> u64 {
        let Self {
            ping,
            iperf,
            upf_drops,
            gnb_drops,
            port_misses,
        } = self;
        ping + iperf + upf_drops + gnb_drops + port_misses
    }
}

/// A place in the report.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mark {
    checks: usize,
    loss: Loss,
}

/// What a UE's programs and counters say.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct UeReport {
    pub(super) name: String,
    pub(super) address: String,
    pub(super) gnb: String,
    pub(super) ping: Vec<Ping>,
    pub(super) http: Option<Http>,
    pub(super) udp: Option<Udp>,
    pub(super) tcp_uplink: Option<TcpFlow>,
    pub(super) tcp_downlink: Option<TcpFlow>,
    pub(super) usage: Option<Usage>,
}

/// What the UPF reported when the session was deleted, beside what the kernel counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct Usage {
    pub(super) uplink_bytes: u64,
    pub(super) downlink_bytes: u64,
    pub(super) tun_uplink_bytes: u64,
    pub(super) tun_downlink_bytes: u64,
}

/// Sums over all UEs, in bits per second.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(super) struct Throughput {
    pub(super) udp_uplink_bps: f64,
    pub(super) udp_downlink_bps: f64,
    pub(super) tcp_uplink_bps: f64,
    pub(super) tcp_downlink_bps: f64,
}

/// A UE that moved from one gNB to the other.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct PathSwitch {
    pub(super) ue: String,
    pub(super) from: String,
    pub(super) to: String,
    pub(super) end_markers: u64,
    pub(super) packets_after_end_marker: u64,
}

impl Report {
    /// Nothing has happened yet.
    pub(super) fn new(driver: &'static str, screen: Screen) -> Self {
        Self {
            checks_passed: 0,
            checks_failed: 0,
            loss_packets: 0,
            loss: Loss::default(),
            host_loss_packets: 0,
            disturbed: Vec::new(),
            rates: Vec::new(),
            too_busy: false,
            interrupted: false,
            error: None,
            driver,
            duration_s: 0.0,
            rounds: 0,
            ues: Vec::new(),
            throughput: Throughput::default(),
            path_switch: None,
            ledger: None,
            expected_drops: BTreeMap::new(),
            ports: Vec::new(),
            workers: Vec::new(),
            captures: Vec::new(),
            checks: Checks::new(screen),
            upf_log: Vec::new(),
            core: None,
        }
    }

    /// Makes the sums.
    pub(super) fn finish(&mut self) {
        self.checks_passed = self.checks.passed();
        self.checks_failed = self.checks.failed();
        self.loss_packets = self.loss.total();
        self.sum_throughput();
    }

    /// Adds the part with the core.
    pub(super) fn add_core(&mut self, core: CoreReport) {
        self.checks_passed += core.checks_passed;
        self.checks_failed += core.checks_failed;
        self.loss_packets += core.loss_packets;
        self.host_loss_packets += core.host_loss_packets;
        self.duration_s += core.duration_s;
        self.interrupted |= core.interrupted;
        self.too_busy |= core.too_busy;
        self.error = self.error.take().or_else(|| core.error.clone());
        self.core = Some(core);
    }

    fn sum_throughput(&mut self) {
        // Not `sum`, which makes a negative zero of nothing.
        let sum = |of: fn(&UeReport) -> Option<f64>| {
            let each = self.ues.iter().filter_map(of);
            each.fold(0.0, |sum, one| sum + one)
        };
        self.throughput = Throughput {
            udp_uplink_bps: sum(|ue| Some(ue.udp?.uplink.bits_per_second)),
            udp_downlink_bps: sum(|ue| Some(ue.udp?.downlink.bits_per_second)),
            tcp_uplink_bps: sum(|ue| Some(ue.tcp_uplink?.bits_per_second)),
            tcp_downlink_bps: sum(|ue| Some(ue.tcp_downlink?.bits_per_second)),
        };
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

    fn throughput_text(&self) -> String {
        let t = &self.throughput;
        format!(
            "{} UEs over {}: UDP {:.0} up + {:.0} down, TCP {:.0} up, {:.0} down (Mbit/s)",
            self.ues.len(),
            self.driver,
            t.udp_uplink_bps / 1e6,
            t.udp_downlink_bps / 1e6,
            t.tcp_uplink_bps / 1e6,
            t.tcp_downlink_bps / 1e6
        )
    }

    /// Lines for people; writing to a String cannot fail.
    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        if self.rounds > 0 {
            let _ = writeln!(text, "{}", self.throughput_text());
        }
        for ue in &self.ues {
            let Some(usage) = ue.usage else { continue };
            let _ = writeln!(
                text,
                "  {:<6}{:<14}{:<7} usage up {} down {} bytes; its TUN up {} down {}",
                ue.name,
                ue.address,
                ue.gnb,
                usage.uplink_bytes,
                usage.downlink_bytes,
                usage.tun_uplink_bytes,
                usage.tun_downlink_bytes
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
        if let Some(core) = &self.core {
            let _ = writeln!(text, "with the core:\n{}\nin all:", core.text());
        }
        let interrupted = if self.interrupted {
            "interrupted; "
        } else {
            ""
        };
        let by_host = match self.host_loss_packets {
            0 => String::new(),
            packets => format!(" (and {packets} by the host)"),
        };
        let _ = write!(
            text,
            "{interrupted}{} checks passed, {} failed, {} packets lost{by_host}, {:.0} s",
            self.checks_passed, self.checks_failed, self.loss_packets, self.duration_s
        );
        text
    }
}

impl Findings for Report {
    type Mark = Mark;

    fn mark(&self) -> Mark {
        Mark {
            checks: self.checks.len(),
            loss: self.loss,
        }
    }

    fn failed_since(&self, mark: &Mark) -> Vec<Check> {
        self.checks.failures_from(mark.checks)
    }

    /// Checks and losses.
    fn back_to(&mut self, mark: Mark) {
        self.checks.truncate(mark.checks);
        self.loss = mark.loss;
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
    fn keys_that_scripts_rely_on_are_there() {
        let value = serde_json::to_value(Report::new("af_packet", Screen::silent())).expect("JSON");
        for key in [
            "checks_passed",
            "checks_failed",
            "loss_packets",
            "checks",
            "ues",
            "loss",
            "host_loss_packets",
            "disturbed",
            "rates",
            "too_busy",
        ] {
            assert!(value.get(key).is_some(), "{key}");
        }
    }

    #[test]
    fn what_was_found_since_a_mark_is_forgotten() {
        let mut report = Report::new("af_packet", Screen::silent());
        report.checks.equal("kept", 1, 1);
        let mark = report.mark();
        report.checks.equal("forgotten", 1, 2);
        report.loss.ping = 3;
        assert_eq!(report.failed_since(&mark).len(), 1);
        report.back_to(mark);
        report.finish();
        assert!(report.is_good());
        assert_eq!(report.checks_passed, 1);
    }

    #[test]
    fn the_part_with_the_core_counts() {
        let mut core = CoreReport::new(Screen::silent());
        core.checks_passed = 3;
        let mut report = Report::new("af_packet", Screen::silent());
        report.checks.equal("kept", 1, 1);
        report.finish();
        report.add_core(core);
        assert!(report.is_good() && report.checks_passed == 4);
        let mut core = CoreReport::new(Screen::silent());
        (core.checks_failed, core.loss_packets) = (1, 2);
        report.add_core(core);
        assert!(!report.is_good() && report.loss_packets == 2);
        assert!(report.text().contains("with the core"));
    }

    #[test]
    fn every_loss_spoils_the_result() {
        let mut report = Report::new("af_packet", Screen::silent());
        assert!(report.is_good());
        report.loss.gnb_drops = 1;
        report.loss_packets = report.loss.total();
        assert!(!report.is_good());
    }
}
