//! Packet ledger metrics over all workers.

use super::page::Page;
use sluice_datapath::drop::DropReason;
use sluice_datapath::ledger::{Ledger, WorkerStats};
use std::sync::Arc;

pub(super) fn packets(page: &mut Page, stats: &[Arc<WorkerStats>]) {
    let ledger = Ledger::read(stats.iter().map(|s| &**s));
    let terms: [(&'static str, &str, u64); 5] = [
        (
            "sluice_packets_received_total",
            "Packets taken from receive queues.",
            ledger.received,
        ),
        (
            "sluice_packets_created_total",
            "Packets made here.",
            ledger.created,
        ),
        (
            "sluice_packets_transmitted_total",
            "Packets that a transmit queue took.",
            ledger.transmitted,
        ),
        (
            "sluice_packets_to_control_total",
            "Packets given to the control core.",
            ledger.to_control,
        ),
        (
            "sluice_packets_merged_total",
            "Fragments that became part of another packet.",
            ledger.merged,
        ),
    ];
    for (name, help, n) in terms {
        page.counter(name, help).sample(&[], n);
    }
    let help = "Packets that wait, or are between two workers.";
    // A moment's difference of two counters may be below 0.
    let held = ledger.held.cast_signed().max(0);
    page.gauge("sluice_packets_held", help).sample(&[], held);
    let mut dropped = page.counter(
        "sluice_packets_dropped_total",
        "Packets dropped, by reason.",
    );
    for reason in DropReason::ALL {
        let n = ledger.dropped_for(*reason);
        dropped.sample(&[("reason", &reason.name())], n);
    }
}
