//! Counter delta of one packet.

use crate::drop::DropReason;
use crate::ledger::WorkerStats;

/// Counters before a step; what grew says what became of the packet.
pub(super) struct CounterDelta {
    dropped: [u64; DropReason::ALL.len()],
    pub(super) to_control: u64,
    pub(super) handed_out: u64,
}

impl CounterDelta {
    pub(super) fn of(stats: &WorkerStats) -> Self {
        Self {
            dropped: core::array::from_fn(|i| stats.dropped[i].get()),
            to_control: stats.to_control.get(),
            handed_out: stats.handed_out.get(),
        }
    }

    pub(super) fn dropped_since(&self, stats: &WorkerStats) -> Option<DropReason> {
        let all = DropReason::ALL.iter();
        all.zip(&self.dropped)
            .find(|(reason, before)| stats.dropped[**reason as usize].get() != **before)
            .map(|(reason, _)| *reason)
    }
}
