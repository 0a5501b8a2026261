//! The packet ledger: every packet is accounted for, and the equation is checked.
//!
//! `received + created = transmitted + dropped + to control + merged + held`

use crate::drop::DropReason;
use crate::forward::slow_reason::SlowReason;
use crate::limits::SHARDS;
use crate::stage_timer::StageStats;
use core::fmt;
use sluice_mem::counter::Counter;

/// Packets take no turn as long as this, even where memory is slow: others had the CPU.
pub const TURN_MOST_NS: u64 = 1_000_000;
/// What a turn counts for that took longer.
const TURN_USUAL_NS: u64 = 100_000;

/// A turn with so much work is full: some drivers give no more at a time.
pub const TURN_FULL: usize = 32;

/// Counters of one worker. Written by it alone, read by anyone.
#[repr(align(128))]
pub struct WorkerStats {
    /// Packets taken from receive queues.
    pub received: Counter,
    /// Packets made here or given by the control core for transmission.
    pub created: Counter,
    /// Packets that a transmit queue took.
    pub transmitted: Counter,
    /// Packets given to the control core.
    pub to_control: Counter,
    /// Fragments that became part of another packet.
    pub merged: Counter,
    /// Packets given to other workers.
    pub handed_out: Counter,
    /// Packets taken from other workers.
    pub handed_in: Counter,
    /// Packets held now (waiting for a next hop, for fragments, or for an idle UE).
    pub held: Counter,
    /// Of those, packets for idle UEs.
    pub held_for_ues: Counter,
    /// Entries with packets for idle UEs now.
    pub held_entries: Counter,
    /// Packets that had to wait for their bit rates.
    pub shaped: Counter,
    /// Those that wait now.
    pub shaped_held: Counter,
    /// TCP SYNs that offered larger segments than an interface clamps to.
    pub mss_clamped: Counter,
    /// Transactions applied.
    pub transactions: Counter,
    /// Turns that found work.
    pub busy_turns: Counter,
    /// Turns that found none.
    pub idle_turns: Counter,
    /// Time spent on turns that found work.
    pub busy_ns: Counter,
    /// Packets and transactions of all turns.
    pub work: Counter,
    /// Those of turns with [`TURN_FULL`] of them or more.
    pub full_work: Counter,
    /// Time spent on these.
    pub full_ns: Counter,
    /// Time spent on turns that found none: what a turn costs by itself.
    pub idle_ns: Counter,
    /// What turns longer than [`TURN_MOST_NS`] took beyond the usual: others had the CPU. Neither busy
    /// nor idle.
    pub away_ns: Counter,
    /// Packets that waited in the rings from other workers in the last turn.
    pub waiting: Counter,
    /// Drops by reason.
    pub dropped: [Counter; DropReason::ALL.len()],
    /// Packets that did not take the fast path, by reason.
    pub slow: [Counter; SlowReason::ALL.len()],
    /// Times slept for lack of work, in nanoseconds: CPU that others had.
    pub asleep_ns: Counter,
    /// Records of followed packets that found no place on their ring.
    pub trace_lost: Counter,
    /// What each stage took, by samples: one turn in [`crate::stage_timer::EVERY`] is timed.
    pub stages: StageStats,
    /// Packets executed by shard, by samples: one packet of each `limits::HEAT_SAMPLE` of a batch
    /// stands for them.
    pub heat: Box<[Counter]>,
}

impl Default for WorkerStats {
    fn default() -> Self {
        let zero = Counter::default;
        Self {
            received: zero(),
            created: zero(),
            transmitted: zero(),
            to_control: zero(),
            merged: zero(),
            handed_out: zero(),
            handed_in: zero(),
            held: zero(),
            held_for_ues: zero(),
            held_entries: zero(),
            shaped: zero(),
            shaped_held: zero(),
            mss_clamped: zero(),
            transactions: zero(),
            busy_turns: zero(),
            idle_turns: zero(),
            busy_ns: zero(),
            work: zero(),
            full_work: zero(),
            full_ns: zero(),
            idle_ns: zero(),
            away_ns: zero(),
            waiting: zero(),
            dropped: core::array::from_fn(|_| zero()),
            slow: core::array::from_fn(|_| zero()),
            asleep_ns: zero(),
            trace_lost: zero(),
            stages: StageStats::default(),
            heat: (0..SHARDS).map(|_| zero()).collect(),
        }
    }
}

impl WorkerStats {
    /// A turn that found so much work is over.
    #[inline]
    pub fn count_turn(&self, work: usize, took_ns: u64) {
        let (turns, ns) = match work {
            0 => (&self.idle_turns, &self.idle_ns),
            _ => (&self.busy_turns, &self.busy_ns),
        };
        turns.add(1);
        let own_ns = match took_ns {
            0..=TURN_MOST_NS => took_ns,
            _ => TURN_USUAL_NS,
        };
        ns.add(own_ns);
        self.work.add(work as u64);
        if work >= TURN_FULL {
            self.full_work.add(work as u64);
            self.full_ns.add(own_ns);
        }
        if own_ns < took_ns {
            self.away_ns.add(took_ns - own_ns);
        }
    }

    /// Count a drop.
    #[inline]
    pub fn count_drop(&self, reason: DropReason) {
        self.dropped[reason as usize].add(1);
    }
}

/// A reading of the ledger, summed over workers.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Ledger {
    /// See [`WorkerStats::received`].
    pub received: u64,
    /// See [`WorkerStats::created`].
    pub created: u64,
    /// See [`WorkerStats::transmitted`].
    pub transmitted: u64,
    /// See [`WorkerStats::to_control`].
    pub to_control: u64,
    /// See [`WorkerStats::merged`].
    pub merged: u64,
    /// Held now, and on the way between workers.
    pub held: u64,
    /// Drops by reason, those that occurred.
    pub dropped: Vec<(DropReason, u64)>,
}

impl Ledger {
    /// The sum over `workers`. Exact when they stand still.
    pub fn read<'a>(workers: impl IntoIterator<Item = &'a WorkerStats>) -> Self {
        let mut sum = Self::default();
        let mut dropped = [0; DropReason::ALL.len()];
        let (mut handed_out, mut handed_in) = (0u64, 0u64);
        for w in workers {
            sum.received += w.received.get();
            sum.created += w.created.get();
            sum.transmitted += w.transmitted.get();
            sum.to_control += w.to_control.get();
            sum.merged += w.merged.get();
            sum.held += w.held.get();
            handed_out += w.handed_out.get();
            handed_in += w.handed_in.get();
            for (total, c) in dropped.iter_mut().zip(&w.dropped) {
                *total += c.get();
            }
        }
        // Workers that run may have taken in meanwhile what was not yet handed out when that was read.
        sum.held = (sum.held + handed_out).saturating_sub(handed_in);
        sum.dropped = DropReason::ALL
            .iter()
            .map(|r| (*r, dropped[*r as usize]))
            .filter(|(_, n)| *n > 0)
            .collect();
        sum
    }

    /// All drops.
    pub fn dropped_total(&self) -> u64 {
        self.dropped.iter().map(|(_, n)| n).sum()
    }

    /// Drops of one reason.
    pub fn dropped_for(&self, reason: DropReason) -> u64 {
        self.dropped
            .iter()
            .find(|(r, _)| *r == reason)
            .map_or(0, |(_, n)| *n)
    }

    /// Packets that came in or were made, and where they went: equal, or the counters are wrong.
    pub fn sides(&self) -> (u64, u64) {
        (
            self.received + self.created,
            self.transmitted + self.dropped_total() + self.to_control + self.merged + self.held,
        )
    }

    /// True if every packet is accounted for.
    pub fn balances(&self) -> bool {
        let (left, right) = self.sides();
        left == right
    }
}

impl fmt::Display for Ledger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (left, right) = self.sides();
        let sign = if left == right { "=" } else { "!=" };
        write!(
            f,
            "received {} + created {} {sign} transmitted {} + dropped {} + to control {} + merged {} + held {}",
            self.received,
            self.created,
            self.transmitted,
            self.dropped_total(),
            self.to_control,
            self.merged,
            self.held
        )?;
        for (reason, n) in &self.dropped {
            write!(f, "\n  {n:>12} {}", reason.name())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reading_of_workers_that_run_holds_no_less_than_nothing() {
        let workers = [WorkerStats::default(), WorkerStats::default()];
        workers[0].handed_out.add(2);
        workers[1].handed_in.add(5);
        assert_eq!(Ledger::read(&workers).held, 0);
        workers[1].held.add(4);
        assert_eq!(Ledger::read(&workers).held, 1);
    }
}
