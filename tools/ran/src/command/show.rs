//! Live table.

use std::time::{Duration, Instant};

use crate::{GnbCounters, Mute};

use crate::network::{Network, NetworkGnb, Totals};
use sluice_program::screen::Screen;
use sluice_program::units::si;

/// From one table to the next, on a terminal.
const EACH: Duration = Duration::from_secs(1);
const EACH_IN_LOG: Duration = Duration::from_secs(10);

/// A gNB at one moment.
#[derive(Clone, Debug)]
pub struct Row {
    /// Name of the gNB.
    pub name: String,
    pub ues: usize,
    /// Messages that the gNB does not send.
    pub mute: Mute,
    /// Counters since the start of the gNB.
    pub counters: GnbCounters,
}

impl Row {
    fn of(station: &NetworkGnb) -> Self {
        Self {
            name: station.name().to_owned(),
            ues: station.served,
            mute: station.mute,
            counters: station.handle().counters().unwrap_or_default(),
        }
    }
}

/// The table, and what it showed before.
#[derive(Debug)]
pub struct Live {
    last: Instant,
    before: Vec<GnbCounters>,
}

impl Live {
    /// A table that has shown nothing.
    pub fn new() -> Self {
        Self {
            last: Instant::now(),
            before: Vec::new(),
        }
    }

    /// Shows how things are, if the last table is some time ago.
    pub fn look(&mut self, network: &Network) {
        let now = Instant::now();
        if self.is_due(now, network.screen.is_terminal()) {
            let rows = network.stations().iter().map(Row::of).collect();
            self.show(
                &network.screen,
                now,
                rows,
                network.describe(),
                &network.totals,
            );
        }
    }

    fn is_due(&self, now: Instant, is_terminal: bool) -> bool {
        let each = match is_terminal {
            true => EACH,
            false => EACH_IN_LOG,
        };
        now.duration_since(self.last) >= each
    }

    fn show(
        &mut self,
        screen: &Screen,
        now: Instant,
        rows: Vec<Row>,
        (n4, n2): (Option<&str>, Option<String>),
        totals: &Totals,
    ) {
        let elapsed_s = now.duration_since(self.last).as_secs_f64();
        self.last = now;
        let mut lines = vec![head()];
        for (number, row) in rows.iter().enumerate() {
            let before = self.before.get(number).copied().unwrap_or_default();
            lines.push(line(row, &before, elapsed_s));
        }
        lines.push(summary(&rows, n4, totals));
        lines.extend(n2.map(|n2| format!("  N2 {n2}")));
        self.before = rows.iter().map(|row| row.counters).collect();
        if screen.is_terminal() {
            screen.show(lines);
        } else {
            lines.iter().for_each(|line| screen.say(line));
        }
    }
}

fn head() -> String {
    format!(
        "  {:<12}{:>5}{:>16}{:>16}{:>16}{:>16}{:>8}{:>8}{:>8}",
        "gNB", "UEs", "up", "up", "down", "down", "drops", "marks", "err.ind"
    )
}

fn line(row: &Row, before: &GnbCounters, elapsed_s: f64) -> String {
    let now = &row.counters;
    let per_s = |now: u64, before: u64| now.saturating_sub(before) as f64 / elapsed_s;
    let pps = |now: u64, before: u64| si(per_s(now, before), "pps");
    let bps = |now: u64, before: u64| si(per_s(now, before) * 8.0, "bps");
    let mute = match row.mute {
        Mute::No => "",
        Mute::Echo => "  mute: echo",
        Mute::All => "  mute",
    };
    format!(
        "  {:<12}{:>5}{:>16}{:>16}{:>16}{:>16}{:>8}{:>8}{:>8}{mute}",
        row.name,
        row.ues,
        pps(now.uplink.packets, before.uplink.packets),
        bps(now.uplink.bytes, before.uplink.bytes),
        pps(now.downlink.packets, before.downlink.packets),
        bps(now.downlink.bytes, before.downlink.bytes),
        now.drops.total(),
        now.signalling.end_markers,
        now.signalling.error_indications + now.error_indications_sent,
    )
}

fn summary(rows: &[Row], n4: Option<&str>, totals: &Totals) -> String {
    let ues: usize = rows.iter().map(|row| row.ues).sum();
    let n4 = n4.unwrap_or("not ours");
    format!(
        "  N4 {n4}; {ues} UEs attached, {} handovers, {} sessions restored, {} failures",
        totals.handovers, totals.sessions_restored, totals.failures
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_those_since_the_last_table() {
        let mut counters = GnbCounters::default();
        counters.uplink.packets = 3000;
        let row = Row {
            name: "gnb1".to_owned(),
            ues: 4,
            mute: Mute::All,
            counters,
        };
        let mut before = GnbCounters::default();
        before.uplink.packets = 1000;
        let line = line(&row, &before, 2.0);
        assert!(
            line.contains("1.000 kpps") && line.ends_with("mute"),
            "{line}"
        );
        let text = summary(&[row], None, &Totals::default());
        assert!(text.contains("N4 not ours; 4 UEs attached"), "{text}");
    }
}
