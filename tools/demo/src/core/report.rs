//! Report of the part with the core.

use std::fmt::Write as _;

use serde::Serialize;

use crate::args::Wiring;
use crate::captures::Judgement;
use crate::report::Part;
use crate::traffic::ping::Ping;

/// Findings of this part alone.
#[derive(Debug, Default, Serialize)]
pub(crate) struct CorePart {
    /// How the functions of the core reach each other.
    pub(crate) wiring: &'static str,
    /// Echoes that were sent, in phases that count.
    pub(crate) packets_sent: u64,
    /// Echoes without an answer.
    #[serde(skip)]
    unanswered: u64,
    pub(crate) ues: Vec<Ue>,
    /// Packets that gNBs forwarded for UEs that had left.
    pub(crate) forwarded_packets: u64,
    /// Messages of network functions, gNBs and UEs, in order, with the steps of TS 23.502.
    pub(crate) call_flow: Vec<String>,
    /// Of N3 and N4.
    pub(crate) user_plane_captures: Vec<Judgement>,
    /// The last lines of its log, where something did not hold, and what the core refused.
    pub(crate) core_log: Vec<String>,
    pub(crate) refusals: Vec<String>,
}

#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Ue {
    pub(crate) supi: String,
    /// How it showed who it is.
    pub(crate) scheme: &'static str,
    /// From its first message until it was registered.
    pub(crate) registration_ms: f64,
    /// Of its session.
    pub(crate) addresses: Vec<String>,
    /// How often it came back as it was called.
    pub(crate) pages_answered: u64,
    pub(crate) handovers: Vec<Handover>,
    pub(crate) dedicated_flow: Option<DedicatedFlow>,
    pub(crate) pings: Vec<Ping>,
}

#[derive(Clone, Debug, Serialize)]
pub(crate) struct Handover {
    pub(crate) by: &'static str,
    pub(crate) from: String,
    pub(crate) to: String,
    /// From the source's decision until the network knew where the UE is.
    pub(crate) took_ms: f64,
}

/// Packets of a flow that an application started.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct DedicatedFlow {
    pub(crate) qfi: u8,
    pub(crate) uplink_packets: u64,
    pub(crate) downlink_packets: u64,
}

impl CorePart {
    /// Of a core with this wiring.
    pub(crate) fn of(wiring: Wiring) -> Self {
        Self {
            wiring: wiring.transport(),
            ..Self::default()
        }
    }
}

impl Part for CorePart {
    /// Echoes, and UEs as they were.
    type Mark = ([u64; 2], Vec<Ue>);

    fn mark(&self) -> Self::Mark {
        ([self.packets_sent, self.unanswered], self.ues.clone())
    }

    fn back_to(&mut self, (echoes, ues): Self::Mark) {
        [self.packets_sent, self.unanswered] = echoes;
        self.ues = ues;
    }

    fn lost(&self) -> u64 {
        self.unanswered
    }

    fn ue(&self, ue: usize) -> String {
        let ue = self.ues.get(ue);
        ue.map(|ue| ue.supi.clone()).unwrap_or_default()
    }

    fn add_ping(&mut self, ue: usize, ping: Ping) {
        self.packets_sent += ping.sent;
        self.unanswered += ping.lost();
        if let Some(ue) = self.ues.get_mut(ue) {
            ue.pings.push(ping);
        }
    }

    fn forget_pings(&mut self) {
        self.ues.iter_mut().for_each(|ue| ue.pings.clear());
    }

    fn logs(&self) -> Vec<(&'static str, &[String])> {
        vec![("core", &self.core_log)]
    }

    fn head(&self) -> String {
        let mut text = String::new();
        for ue in &self.ues {
            let Ue {
                supi,
                scheme,
                registration_ms: ms,
                addresses,
                ..
            } = ue;
            let addresses = addresses.join(" ");
            // Writing to a String cannot fail.
            let _ = writeln!(text, "  {supi}  {scheme:<11} {ms:.1} ms  {addresses}");
        }
        text
    }

    fn loss_text(&self, loss_packets: u64) -> String {
        format!("{loss_packets} of {} echoes", self.packets_sent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Report;
    use sluice_program::screen::Screen;

    fn empty() -> Report<CorePart> {
        Report::new(CorePart::default(), Screen::silent())
    }

    #[test]
    fn an_error_or_a_failed_check_spoils_the_result() {
        let mut report = empty();
        report.finish();
        assert!(report.is_good());
        report.checks.equal("two", 1, 2);
        report.finish();
        assert!(!report.is_good() && report.text().contains("FAILED two"));
        let mut report = empty();
        report.error = Some("no".to_owned());
        assert!(!report.is_good());
    }

    #[test]
    fn what_was_found_since_a_mark_is_forgotten() {
        let mut report = empty();
        report.part.ues.push(Ue::default());
        let mark = report.mark();
        let one = Ping {
            sent: 3,
            received: 2,
            rtt_mean_ms: None,
        };
        report.check_ping(0, "ping", one);
        report.finish();
        assert!(!report.is_good() && report.loss_packets == 1);
        report.back_to(mark);
        report.finish();
        assert!(report.is_good() && report.part.ues[0].pings.is_empty());
        assert_eq!((report.part.packets_sent, report.loss_packets), (0, 0));
    }
}
