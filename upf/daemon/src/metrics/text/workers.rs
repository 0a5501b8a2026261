//! Worker metrics.

use super::page::Page;
use crate::metrics::snapshot::Snapshot;
use sluice_datapath::ledger::WorkerStats;
use std::sync::Arc;

type Pick = fn(&WorkerStats) -> u64;

pub(super) fn workers(page: &mut Page, s: &Snapshot, stats: &[Arc<WorkerStats>]) {
    counters(page, stats);
    waiting(page, stats);
    times(page, stats);
    turns(page, stats);
    shares(page, s);
    moves(page, s);
}

fn counters(page: &mut Page, stats: &[Arc<WorkerStats>]) {
    let counters: [(&'static str, &str, Pick); 8] = [
        (
            "sluice_worker_received_packets_total",
            "Packets taken from receive queues.",
            |w| w.received.get(),
        ),
        (
            "sluice_worker_transmitted_packets_total",
            "Packets that a transmit queue took.",
            |w| w.transmitted.get(),
        ),
        (
            "sluice_worker_handed_out_packets_total",
            "Packets given to other workers.",
            |w| w.handed_out.get(),
        ),
        (
            "sluice_worker_handed_in_packets_total",
            "Packets taken from other workers.",
            |w| w.handed_in.get(),
        ),
        (
            "sluice_worker_transactions_total",
            "Transactions of rules applied.",
            |w| w.transactions.get(),
        ),
        (
            "sluice_worker_shaped_packets_total",
            "Packets that had to wait for their bit rates.",
            |w| w.shaped.get(),
        ),
        (
            "sluice_worker_mss_clamped_total",
            "TCP SYNs that offered larger segments than an interface clamps to.",
            |w| w.mss_clamped.get(),
        ),
        (
            "sluice_worker_trace_lost_total",
            "Steps of followed packets that found no place.",
            |w| w.trace_lost.get(),
        ),
    ];
    for (name, help, pick) in counters {
        let mut family = page.counter(name, help);
        for (id, worker) in stats.iter().enumerate() {
            family.sample(&[("worker", &id)], pick(worker));
        }
    }
}

fn waiting(page: &mut Page, stats: &[Arc<WorkerStats>]) {
    let mut waiting = page.gauge(
        "sluice_worker_shaped_packets",
        "Packets that wait for their bit rates.",
    );
    for (id, worker) in stats.iter().enumerate() {
        waiting.sample(&[("worker", &id)], worker.shaped_held.get());
    }
}

fn times(page: &mut Page, stats: &[Arc<WorkerStats>]) {
    let seconds: [(&'static str, &str, Pick); 3] = [
        (
            "sluice_worker_busy_seconds_total",
            "Time on turns that found work.",
            |w| w.busy_ns.get(),
        ),
        (
            "sluice_worker_asleep_seconds_total",
            "Time slept for lack of work.",
            |w| w.asleep_ns.get(),
        ),
        (
            "sluice_worker_away_seconds_total",
            "Time in which others had the worker's CPU in the middle of a turn.",
            |w| w.away_ns.get(),
        ),
    ];
    for (name, help, pick) in seconds {
        let mut family = page.counter(name, help);
        for (id, worker) in stats.iter().enumerate() {
            family.sample(&[("worker", &id)], pick(worker) as f64 / 1e9);
        }
    }
}

fn turns(page: &mut Page, stats: &[Arc<WorkerStats>]) {
    let mut turns = page.counter(
        "sluice_worker_turns_total",
        "Turns by whether they found work.",
    );
    for (id, worker) in stats.iter().enumerate() {
        turns.sample(
            &[("worker", &id), ("work", &"yes")],
            worker.busy_turns.get(),
        );
        turns.sample(&[("worker", &id), ("work", &"no")], worker.idle_turns.get());
    }
    let help = "Packets that waited in a worker's rings from others in its last turn.";
    let mut waiting = page.gauge("sluice_worker_ring_packets", help);
    for (id, worker) in stats.iter().enumerate() {
        waiting.sample(&[("worker", &id)], worker.waiting.get());
    }
}

fn shares(page: &mut Page, s: &Snapshot) {
    let mut shards = page.gauge("sluice_worker_shards", "Shards that a worker owns.");
    for (id, (owned, _)) in s.shares.iter().enumerate() {
        shards.sample(&[("worker", &id)], owned);
    }
    let mut queues = page.gauge(
        "sluice_worker_receive_queues",
        "Queues that a worker polls.",
    );
    for (id, (_, polled)) in s.shares.iter().enumerate() {
        queues.sample(&[("worker", &id)], polled);
    }
}

fn moves(page: &mut Page, s: &Snapshot) {
    let (done, left) = s.moves;
    page.counter(
        "sluice_moves_total",
        "Moves of shards and queues that are over.",
    )
    .sample(&[], done);
    page.gauge("sluice_moves_under_way", "Moves that are not.")
        .sample(&[], left);
    let help = "Groups of shards that ports steer to another queue since.";
    page.counter("sluice_port_steering_changes_total", help)
        .sample(&[], s.resteers.0);
}
