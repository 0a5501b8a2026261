//! Report of the part with an emulated SMF.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::Serialize;

use crate::core::report::CorePart;
use crate::report::{Part, Report};
use crate::traffic::http::Http;
use crate::traffic::iperf::{Direction, TcpFlow, Udp};
use crate::traffic::ping::Ping;
use crate::upf::{Ledger, PortCounters, WorkerLoad};

/// Findings of this part alone.
#[derive(Debug, Default, Serialize)]
pub(crate) struct SmfPart {
    /// The sum of it is `loss_packets`.
    pub(crate) loss: Loss,
    pub(crate) driver: &'static str,
    /// How often the UEs' programs ran; the results below are those of the last time.
    pub(crate) rounds: u32,
    pub(crate) ues: Vec<UeReport>,
    pub(crate) throughput: Throughput,
    pub(crate) path_switch: Option<PathSwitch>,
    pub(crate) ledger: Option<Ledger>,
    /// Drops that a check provoked.
    pub(crate) expected_drops: BTreeMap<String, u64>,
    pub(crate) ports: Vec<PortCounters>,
    pub(crate) workers: Vec<WorkerLoad>,
    /// The part with the core, for each wiring. What it passed, failed and lost is in the sums of this one.
    pub(crate) core: Vec<Report<CorePart>>,
}

/// Packets that got lost, by who missed them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Loss {
    pub(crate) ping: u64,
    pub(crate) iperf: u64,
    /// In the UPF, except what a check provoked.
    pub(crate) upf_drops: u64,
    pub(crate) gnb_drops: u64,
    /// Between the kernel and the UPF's ports, without what the host lost there.
    pub(crate) port_misses: u64,
}

/// Results of a UE's programs and counters.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct UeReport {
    pub(crate) name: String,
    pub(crate) address: String,
    pub(crate) gnb: String,
    pub(crate) ping: Vec<Ping>,
    pub(crate) http: Option<Http>,
    pub(crate) udp: Option<Udp>,
    pub(crate) tcp_uplink: Option<TcpFlow>,
    pub(crate) tcp_downlink: Option<TcpFlow>,
    pub(crate) usage: Option<Usage>,
}

/// Usage that the UPF reported when the session was deleted, beside the kernel's counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Usage {
    pub(crate) uplink_bytes: u64,
    pub(crate) downlink_bytes: u64,
    pub(crate) tun_uplink_bytes: u64,
    pub(crate) tun_downlink_bytes: u64,
}

/// Sums over all UEs, in bits per second.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(crate) struct Throughput {
    pub(crate) udp_uplink_bps: f64,
    pub(crate) udp_downlink_bps: f64,
    pub(crate) tcp_uplink_bps: f64,
    pub(crate) tcp_downlink_bps: f64,
}

/// A UE that moved from one gNB to the other.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct PathSwitch {
    pub(crate) ue: String,
    pub(crate) from: String,
    pub(crate) to: String,
    pub(crate) end_markers: u64,
    pub(crate) packets_after_end_marker: u64,
}

impl Part for SmfPart {
    type Mark = Loss;

    fn mark(&self) -> Loss {
        self.loss
    }

    fn back_to(&mut self, mark: Loss) {
        self.loss = mark;
    }

    fn lost(&self) -> u64 {
        let Loss {
            ping,
            iperf,
            upf_drops,
            gnb_drops,
            port_misses,
        } = self.loss;
        ping + iperf + upf_drops + gnb_drops + port_misses
    }

    fn finish(&mut self) {
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

    fn ue(&self, ue: usize) -> String {
        let ue = self.ues.get(ue);
        ue.map(|ue| ue.name.clone()).unwrap_or_default()
    }

    fn add_ping(&mut self, ue: usize, ping: Ping) {
        self.loss.ping += ping.lost();
        if let Some(ue) = self.ues.get_mut(ue) {
            ue.ping.push(ping);
        }
    }

    fn forget_pings(&mut self) {
        self.ues.iter_mut().for_each(|ue| ue.ping.clear());
    }

    fn add_http(&mut self, ue: usize, http: Http) {
        if let Some(ue) = self.ues.get_mut(ue) {
            ue.http = Some(http);
        }
    }

    fn add_tcp(&mut self, ue: usize, direction: Direction, flow: TcpFlow) {
        let Some(ue) = self.ues.get_mut(ue) else {
            return;
        };
        match direction {
            Direction::Uplink => ue.tcp_uplink = Some(flow),
            Direction::Downlink => ue.tcp_downlink = Some(flow),
        }
    }

    fn head(&self) -> String {
        let mut text = String::new();
        if self.rounds > 0 {
            let t = &self.throughput;
            let [up, down, tcp_up, tcp_down] = [
                t.udp_uplink_bps,
                t.udp_downlink_bps,
                t.tcp_uplink_bps,
                t.tcp_downlink_bps,
            ]
            .map(|bps| bps / 1e6);
            let (ues, driver) = (self.ues.len(), self.driver);
            let _ = writeln!(
                text,
                "{ues} UEs over {driver}: UDP {up:.0} up + {down:.0} down, TCP {tcp_up:.0} up, {tcp_down:.0} down (Mbit/s)"
            );
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
        text
    }

    fn tail(&self) -> String {
        let mut text = String::new();
        for core in &self.core {
            let wiring = core.part.wiring;
            let _ = writeln!(text, "with the core, by {wiring}:\n{}", core.text());
        }
        match text.is_empty() {
            true => text,
            false => text + "in all:\n",
        }
    }

    fn loss_text(&self, loss_packets: u64) -> String {
        format!("{loss_packets} packets")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sluice_program::screen::Screen;

    fn empty() -> Report<SmfPart> {
        Report::new(SmfPart::default(), Screen::silent())
    }

    #[test]
    fn keys_that_scripts_rely_on_are_there() {
        let value = serde_json::to_value(empty()).expect("JSON");
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
        let mut report = empty();
        report.checks.equal("kept", 1, 1);
        let mark = report.mark();
        report.checks.equal("forgotten", 1, 2);
        report.part.loss.ping = 3;
        assert_eq!(report.checks.failures_from(mark.checks).len(), 1);
        report.back_to(mark);
        report.finish();
        assert!(report.is_good());
        assert_eq!(report.checks_passed, 1);
    }

    #[test]
    fn the_part_with_the_core_counts() {
        let mut core = Report::new(CorePart::default(), Screen::silent());
        core.checks_passed = 3;
        let mut report = empty();
        report.checks.equal("kept", 1, 1);
        report.finish();
        report.add(&core);
        assert!(report.is_good() && report.checks_passed == 4);
        (core.checks_failed, core.loss_packets) = (1, 2);
        report.add(&core);
        report.part.core.push(core);
        assert!(!report.is_good() && report.loss_packets == 2);
        assert!(report.text().contains("with the core"));
    }

    #[test]
    fn every_loss_spoils_the_result() {
        let mut report = empty();
        report.finish();
        assert!(report.is_good());
        report.part.loss.gnb_drops = 1;
        report.finish();
        assert!(!report.is_good());
    }
}
