//! Stage metrics of the packet path: sampled seconds and packets.

use super::page::Page;
use crate::metrics::snapshot::Snapshot;
use sluice_datapath::forward::slow_reason::SlowReason;
use sluice_datapath::ledger::WorkerStats;
use sluice_datapath::stage_timer::Stage;
use std::sync::Arc;

pub(super) fn stages(page: &mut Page, s: &Snapshot, stats: &[Arc<WorkerStats>]) {
    let help = "Time that sampled batches spent in a stage.";
    let mut seconds = page.counter("sluice_stage_sampled_seconds_total", help);
    for (id, worker) in stats.iter().enumerate() {
        for stage in Stage::ALL {
            let ticks = worker.stages.of(stage).ticks.get() as f64;
            let value = ticks / s.ticks_per_ns.max(f64::MIN_POSITIVE) / 1e9;
            seconds.sample(&[("worker", &id), ("stage", &stage.name())], value);
        }
    }
    let mut packets = page.counter("sluice_stage_sampled_packets_total", "Packets of those.");
    for (id, worker) in stats.iter().enumerate() {
        for stage in Stage::ALL {
            let n = worker.stages.of(stage).packets.get();
            packets.sample(&[("worker", &id), ("stage", &stage.name())], n);
        }
    }
    let mut batches = page.counter("sluice_stage_sampled_batches_total", "How many batches.");
    for (id, worker) in stats.iter().enumerate() {
        for stage in Stage::ALL {
            let n = worker.stages.of(stage).batches.get();
            batches.sample(&[("worker", &id), ("stage", &stage.name())], n);
        }
    }
    let help = "Packets that did not take the fast path, by reason.";
    let mut slow = page.counter("sluice_slow_path_packets_total", help);
    for (id, worker) in stats.iter().enumerate() {
        for reason in SlowReason::ALL {
            let n = worker.slow[reason as usize].get();
            slow.sample(&[("worker", &id), ("reason", &reason.name())], n);
        }
    }
}
