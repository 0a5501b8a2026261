//! Duration and work of single turns of a worker's loop.

use super::source::Source;
use sluice_datapath::ledger::{TURN_MOST_NS, WorkerStats};
use sluice_datapath::worker::Worker;
use sluice_host::clock;
use sluice_port::Packet;
use std::sync::Arc;

/// One turn in so many is written down.
const EVERY: u32 = 8;
/// Maximum number of samples.
const SAMPLES: usize = 1 << 18;

/// Packets of a turn, and its time without source and sink.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TurnSample {
    /// Packets from the worker's queue.
    pub polled: u32,
    /// Packets from the other worker.
    pub handed_in: u32,
    /// Packets to the other worker.
    pub handed_out: u32,
    pub ns: u32,
}

impl TurnSample {
    /// Whether it found nothing to do.
    pub fn is_idle(&self) -> bool {
        self.polled + self.handed_in == 0
    }

    /// Whether it tells what packets take.
    pub fn counts(&self) -> bool {
        !self.is_idle() && !self.was_interrupted()
    }

    /// Whether others had the CPU meanwhile: packets never take so long.
    pub fn was_interrupted(&self) -> bool {
        u64::from(self.ns) > TURN_MOST_NS
    }
}

/// Counters and samples of one worker's turns.
pub struct Turns {
    stats: Arc<WorkerStats>,
    turns: u32,
    /// When the last one was over.
    over_ns: u64,
    /// None while nothing is written down.
    samples: Option<Vec<TurnSample>>,
}

impl Turns {
    /// Of the worker with these counters.
    pub fn new(stats: Arc<WorkerStats>) -> Self {
        Self {
            stats,
            turns: 0,
            over_ns: clock::monotonic_ns(),
            samples: None,
        }
    }

    /// From now on turns are written down, or not. What was, until now.
    pub fn sample(&mut self, on: bool) -> Vec<TurnSample> {
        let samples = on.then(|| Vec::with_capacity(SAMPLES));
        core::mem::replace(&mut self.samples, samples).unwrap_or_default()
    }

    fn write_down(&mut self, before: [u64; 3], after: [u64; 3], took_ns: u64) {
        let [polled, handed_in, handed_out] = [0, 1, 2].map(|at| (after[at] - before[at]) as u32);
        let sample = TurnSample {
            polled,
            handed_in,
            handed_out,
            ns: took_ns.min(u32::MAX.into()) as u32,
        };
        if let Some(samples) = self.samples.as_mut().filter(|s| s.len() < SAMPLES) {
            samples.push(sample);
        }
    }
}

/// One turn, counted as the daemon's loop does it. What a source takes is the card's, not the worker's:
/// like the control core's turns it counts as time in which others had the CPU. When it was over.
pub fn turn<P: Packet>(worker: &mut Worker<Source<P>>, turns: &mut Turns) -> u64 {
    turns.turns = turns.turns.wrapping_add(1);
    let is_sampled = turns.samples.is_some() && turns.turns.is_multiple_of(EVERY);
    let before = is_sampled.then(|| seen(worker, &turns.stats));
    let spent_before_ns = worker.io().spent_ns;
    let began_ns = clock::monotonic_ns();
    worker.io().work();
    let work = worker.turn(clock::monotonic_ns());
    let over_ns = clock::monotonic_ns();
    let source_ns = worker.io().spent_ns - spent_before_ns;
    let took_ns = (over_ns - began_ns).saturating_sub(source_ns);
    turns.stats.count_turn(work, took_ns);
    let between_ns = began_ns.saturating_sub(turns.over_ns);
    turns.stats.away_ns.add(source_ns + between_ns);
    turns.over_ns = over_ns;
    if let Some(before) = before {
        let after = seen(worker, &turns.stats);
        turns.write_down(before, after, took_ns);
    }
    over_ns
}

/// Packets polled, handed in and handed out so far.
fn seen<P: Packet>(worker: &mut Worker<Source<P>>, stats: &WorkerStats) -> [u64; 3] {
    let handed = [&stats.handed_in, &stats.handed_out].map(|count| count.get());
    [worker.io().polled, handed[0], handed[1]]
}
