//! The live table: UEs, packets, bytes, drops by reason, load of the workers.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use sluice_host::link::{Link, LinkCounters};

use super::error::DemoError;
use super::host::UePlace;
use super::upf::{Ctl, Ledger, WorkerLoad};
use sluice_program::screen::Screen;

const TERMINAL_INTERVAL: Duration = Duration::from_millis(500);
const LINE_INTERVAL: Duration = Duration::from_secs(2);

/// Shows the table until it is dropped.
#[derive(Debug)]
pub(super) struct Watch {
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

struct Watched {
    name: String,
    address: String,
    tun: Link,
    last: LinkCounters,
}

/// A UE as the table shows it.
#[derive(Clone, Debug, Default)]
struct Row {
    name: String,
    address: String,
    now: LinkCounters,
    uplink_bps: f64,
    downlink_bps: f64,
}

impl Watch {
    pub(super) fn start(screen: &Screen, ctl: &Ctl, ues: &[UePlace]) -> Result<Self, DemoError> {
        let watched = |ue: &UePlace| Watched {
            name: ue.name.clone(),
            address: ue.address.clone(),
            tun: ue.tun.clone(),
            last: LinkCounters::default(),
        };
        let mut ues: Vec<_> = ues.iter().map(watched).collect();
        let (screen, ctl) = (screen.clone(), ctl.clone());
        let (end, ended) = channel::<()>();
        let interval = if screen.is_terminal() {
            TERMINAL_INTERVAL
        } else {
            LINE_INTERVAL
        };
        let look = move || {
            let mut last = Instant::now();
            while ended.recv_timeout(interval) == Err(RecvTimeoutError::Timeout) {
                let elapsed_s = last.elapsed().as_secs_f64();
                last = Instant::now();
                // What cannot be read now is read the next time.
                let rows: Vec<_> = ues.iter_mut().filter_map(|ue| ue.look(elapsed_s)).collect();
                if let (Ok(ledger), Ok(workers)) = (ctl.ledger(), ctl.workers()) {
                    show(&screen, &rows, &ledger, &workers);
                }
            }
            screen.show(Vec::new());
        };
        let thread = std::thread::Builder::new()
            .name("watch".to_owned())
            .spawn(look);
        Ok(Self {
            end: Some(end),
            thread: Some(thread.map_err(DemoError::io("start the table's thread"))?),
        })
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.end = None;
        if let Some(thread) = self.thread.take() {
            // It has nothing to tell.
            let _ = thread.join();
        }
    }
}

impl Watched {
    fn look(&mut self, elapsed_s: f64) -> Option<Row> {
        let now = self.tun.counters().ok()?;
        let last = std::mem::replace(&mut self.last, now);
        let bps = |now: u64, last: u64| now.saturating_sub(last) as f64 * 8.0 / elapsed_s;
        Some(Row {
            name: self.name.clone(),
            address: self.address.clone(),
            now,
            uplink_bps: bps(now.tx_bytes, last.tx_bytes),
            downlink_bps: bps(now.rx_bytes, last.rx_bytes),
        })
    }
}

fn show(screen: &Screen, rows: &[Row], ledger: &Ledger, workers: &[WorkerLoad]) {
    if screen.is_terminal() {
        screen.show(table(rows, ledger, workers));
    } else {
        let sum = |of: fn(&Row) -> f64| rows.iter().map(of).sum::<f64>() / 1e6;
        screen.say(&format!(
            "          up {:.1} Mbit/s, down {:.1} Mbit/s, {}, {}",
            sum(|row| row.uplink_bps),
            sum(|row| row.downlink_bps),
            drops_text(ledger),
            load_text(workers)
        ));
    }
}

fn table(rows: &[Row], ledger: &Ledger, workers: &[WorkerLoad]) -> Vec<String> {
    let mut lines = vec![format!(
        "  {:<5}{:<11}{:>10}{:>12}{:>8}{:>11}{:>12}{:>8}",
        "UE", "address", "up packets", "bytes", "Mbit/s", "down pack.", "bytes", "Mbit/s"
    )];
    lines.extend(rows.iter().map(|row| {
        format!(
            "  {:<5}{:<11}{:>10}{:>12}{:>8.1}{:>11}{:>12}{:>8.1}",
            row.name,
            row.address,
            row.now.tx_packets,
            row.now.tx_bytes,
            row.uplink_bps / 1e6,
            row.now.rx_packets,
            row.now.rx_bytes,
            row.downlink_bps / 1e6
        )
    }));
    lines.push(format!("  {}; {}", drops_text(ledger), load_text(workers)));
    lines
}

fn drops_text(ledger: &Ledger) -> String {
    let reasons: Vec<_> = ledger
        .dropped
        .iter()
        .filter(|(_, packets)| **packets > 0)
        .map(|(reason, packets)| format!("{reason} {packets}"))
        .collect();
    if reasons.is_empty() {
        "no drops".to_owned()
    } else {
        format!("drops: {}", reasons.join(", "))
    }
}

fn load_text(workers: &[WorkerLoad]) -> String {
    let loads: Vec<_> = workers
        .iter()
        .map(|worker| format!("worker {} {:.0} %", worker.id, worker.busy_share * 100.0))
        .collect();
    loads.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_names_ues_drops_and_load() {
        let row = Row {
            name: "ue1".to_owned(),
            address: "10.60.0.2".to_owned(),
            uplink_bps: 52.04e6,
            ..Row::default()
        };
        let ledger = Ledger {
            dropped: [("no_session".to_owned(), 3), ("other".to_owned(), 0)].into(),
            ..Ledger::default()
        };
        let worker = WorkerLoad {
            busy_share: 0.336,
            ..WorkerLoad::default()
        };
        let lines = table(&[row], &ledger, &[worker]);
        assert!(
            lines[1].contains("ue1") && lines[1].contains("52.0"),
            "{}",
            lines[1]
        );
        assert_eq!(lines[2], "  drops: no_session 3; worker 0 34 %");
        assert_eq!(drops_text(&Ledger::default()), "no drops");
    }
}
