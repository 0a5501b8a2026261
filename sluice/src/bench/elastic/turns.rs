//! A worker's turn as the daemon's loop has it, and what some turns took.

use super::source::Source;
use sluice_host::clock;
use sluice_path::ledger::{TURN_MOST_NS, WorkerStats};
use sluice_path::worker::Worker;
use sluice_port::Packet;
use std::sync::Arc;

/// One turn in so many is written down.
const EVERY: u32 = 8;
/// So many of them at the most.
const SAMPLES: usize = 1 << 18;

/// What a turn did, and how long it took without source and sink.
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

/// What is counted and written down of one worker's turns.
pub struct Turns {
    stats: Arc<WorkerStats>,
    turns: u32,
    /// None while nothing is written down.
    samples: Option<Vec<TurnSample>>,
}

impl Turns {
    /// Of the worker with these counters.
    pub fn new(stats: Arc<WorkerStats>) -> Self {
        Self {
            stats,
            turns: 0,
            samples: None,
        }
    }

    /// From now on turns are written down, or not. What was, until now.
    pub fn sample(&mut self, on: bool) -> Vec<TurnSample> {
        let samples = on.then(|| Vec::with_capacity(SAMPLES));
        core::mem::replace(&mut self.samples, samples).unwrap_or_default()
    }
}

/// One turn, counted as the daemon's loop does it.
pub fn turn<P: Packet>(worker: &mut Worker<Source<P>>, turns: &mut Turns) {
    turns.turns = turns.turns.wrapping_add(1);
    if turns.samples.is_some() && turns.turns.is_multiple_of(EVERY) {
        return sampled_turn(worker, turns);
    }
    let began_ns = clock::monotonic_ns();
    worker.io().work();
    let work = worker.turn(clock::monotonic_ns());
    count(&turns.stats, work, began_ns);
}

fn count(stats: &WorkerStats, work: usize, began_ns: u64) -> u64 {
    let took_ns = clock::monotonic_ns() - began_ns;
    stats.count_turn(work, took_ns);
    took_ns
}

fn sampled_turn<P: Packet>(worker: &mut Worker<Source<P>>, turns: &mut Turns) {
    let stats = turns.stats.clone();
    let before = (worker.io().spent_ns, worker.io().polled);
    let handed = (stats.handed_in.get(), stats.handed_out.get());
    let began_ns = clock::monotonic_ns();
    worker.io().work();
    let work = worker.turn(clock::monotonic_ns());
    let took_ns = count(&stats, work, began_ns);
    let source_ns = worker.io().spent_ns - before.0;
    let sample = TurnSample {
        polled: (worker.io().polled - before.1) as u32,
        handed_in: (stats.handed_in.get() - handed.0) as u32,
        handed_out: (stats.handed_out.get() - handed.1) as u32,
        ns: took_ns.saturating_sub(source_ns).min(u32::MAX.into()) as u32,
    };
    if let Some(samples) = turns.samples.as_mut().filter(|s| s.len() < SAMPLES) {
        samples.push(sample);
    }
}
