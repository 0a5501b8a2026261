//! Stage timer: cycles per stage, sampled; one turn in some is timed, once for each stage and
//! batch, never once for a packet.

use sluice_mem::counter::Counter;
use sluice_mem::ticks;

/// One turn in so many is timed: some ten clock readings of 10 ns each in 64 turns of a full
/// batch, 8192 packets, are about a hundredth of a nanosecond a packet.
pub const EVERY: u32 = 64;

/// A stage that took longer was interrupted: the thread had lost its core. Full batches take
/// 10 us; 2^21 ticks are 0.5 ms and more on any processor of today.
const INTERRUPTED_TICKS: u64 = 1 << 21;

/// What a turn does with a batch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stage {
    /// Transactions and orders of the control core.
    Control,
    /// Receive from a queue.
    Receive,
    /// Parse, place, hand over what is others'.
    Sort,
    /// Take what other workers handed over.
    Handover,
    /// Session, PDR, QER, FAR, route, outer header, Ethernet.
    Execute,
    /// Give to the transmit queues, and free.
    Transmit,
}

impl Stage {
    /// All, in the order of a turn.
    pub const ALL: [Self; 6] = [
        Self::Control,
        Self::Receive,
        Self::Sort,
        Self::Handover,
        Self::Execute,
        Self::Transmit,
    ];

    /// The name in `ctl workers` and metrics.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Control => "control",
            Self::Receive => "receive",
            Self::Sort => "sort",
            Self::Handover => "handover",
            Self::Execute => "execute",
            Self::Transmit => "transmit",
        }
    }
}

/// What was found out about the stages of one worker.
#[derive(Debug, Default)]
pub struct StageStats {
    stages: [StageCounters; Stage::ALL.len()],
    /// Samples thrown away, for the thread had lost its core meanwhile.
    pub interrupted: Counter,
}

/// What was found out about one stage.
#[derive(Debug, Default)]
pub struct StageCounters {
    /// Time, in ticks of [`sluice_mem::ticks`].
    pub ticks: Counter,
    /// Packets (of the control core: messages) in that time.
    pub packets: Counter,
    /// In so many batches.
    pub batches: Counter,
}

impl StageStats {
    /// Of one stage.
    #[inline]
    pub fn of(&self, stage: Stage) -> &StageCounters {
        &self.stages[stage as usize]
    }
}

/// A worker's stop-watch.
#[derive(Debug, Default)]
pub(crate) struct StageTimer {
    turns: u32,
    is_on: bool,
    since: u64,
}

impl StageTimer {
    /// A turn begins.
    #[inline(always)]
    pub fn begin(&mut self) {
        self.turns = self.turns.wrapping_add(1);
        self.is_on = self.turns.is_multiple_of(EVERY);
        if self.is_on {
            self.since = ticks::now();
        }
    }

    /// A stage is over; it had `n` packets. What has none is not counted.
    #[inline(always)]
    pub fn end_stage(&mut self, stats: &StageStats, stage: Stage, n: usize) {
        if self.is_on {
            self.note(stats, stage, n, ticks::now());
        }
    }

    #[cold]
    fn note(&mut self, stats: &StageStats, stage: Stage, n: usize, now: u64) {
        let took = now.wrapping_sub(self.since);
        self.since = now;
        if n == 0 {
            return;
        }
        if took > INTERRUPTED_TICKS {
            return stats.interrupted.add(1);
        }
        let counters = stats.of(stage);
        counters.ticks.add(took);
        counters.packets.add(n as u64);
        counters.batches.add(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_turn_in_so_many_is_timed_and_empty_stages_are_not() {
        let stats = StageStats::default();
        let mut probe = StageTimer::default();
        for _ in 0..10 * EVERY {
            probe.begin();
            probe.end_stage(&stats, Stage::Receive, 0);
            probe.end_stage(&stats, Stage::Execute, 3);
        }
        let seen = |stage| {
            let counters = stats.of(stage);
            (counters.batches.get(), counters.packets.get())
        };
        assert_eq!(seen(Stage::Receive), (0, 0));
        assert_eq!(seen(Stage::Execute), (10, 30));
    }

    #[test]
    fn a_stage_in_which_the_core_was_lost_does_not_count() {
        let stats = StageStats::default();
        let mut probe = StageTimer::default();
        probe.note(&stats, Stage::Sort, 1, INTERRUPTED_TICKS);
        probe.note(&stats, Stage::Sort, 1, 2 * INTERRUPTED_TICKS + 1);
        assert_eq!(stats.of(Stage::Sort).ticks.get(), INTERRUPTED_TICKS);
        assert_eq!(stats.interrupted.get(), 1);
    }
}
