//! Simulated workers: queues, rings, turns, shard ownership.
//!
//! Costs of turns are drawn from real turns; everything else is counted, not measured.

use super::costs::Measured;
use sluice_control::scaling::Reading;
use sluice_control::scaling::scaler::ScaledWorkers;
use sluice_datapath::ids::WorkerId;
use sluice_datapath::ledger::TURN_FULL;
use sluice_datapath::limits::{BURST, HANDOVER_LATE, HANDOVER_RING, HEAT_SAMPLE, MOVES, SHARDS};
use sluice_mem::shard::ShardId;
use std::collections::VecDeque;

/// Packets that wait in a receive queue before they are missed.
const QUEUE: usize = 4096;
/// Both ports are polled in a turn.
const POLL: usize = 2 * BURST;

/// A packet: when it came, and its shard.
#[derive(Clone, Copy, Debug)]
pub struct Came {
    pub at_ns: f64,
    pub shard: u16,
}

/// Source of packets: those that have arrived at a queue by a time.
pub trait Arrivals {
    fn take(&mut self, queue: usize, until_ns: f64, max: usize, into: &mut VecDeque<Came>) -> u64;
}

#[derive(Default)]
struct SimWorker {
    free_ns: f64,
    queue: VecDeque<Came>,
    /// From each other worker: when it can be seen, and what.
    rings: Vec<VecDeque<(f64, Came)>>,
    busy_ns: f64,
    turns: u64,
    idle_turns: u64,
    full_ns: f64,
    full_packets: u64,
    packets: u64,
    sampled: usize,
}

/// All workers, and the control core's view of them.
pub struct Workers {
    costs: Measured,
    idle_ns: f64,
    workers: Vec<SimWorker>,
    owners: Vec<WorkerId>,
    /// Number of workers that poll and own nothing: the control core sees those behind them.
    pub pollers: usize,
    heat: Vec<u64>,
    /// Moves under way: when they take effect.
    moving: VecDeque<(f64, u16, WorkerId)>,
    pub now_ns: f64,
    lot: u64,
    /// Packets executed, missed by queues, dropped for full rings.
    pub executed: u64,
    pub missed: u64,
    pub dropped: u64,
    /// Times from arrival to departure, if they are wanted, of packets that came within `window_ns`.
    pub times_ns: Option<Vec<f32>>,
    pub window_ns: [f64; 2],
}

impl Workers {
    /// A number of workers, with shards to `owner`.
    pub fn new(costs: Measured, workers: usize, owner: impl Fn(u32) -> usize, seed: u64) -> Self {
        let worker = || SimWorker {
            rings: vec![VecDeque::new(); workers],
            ..SimWorker::default()
        };
        Self {
            idle_ns: costs.idle_turn_ns(),
            costs,
            workers: (0..workers).map(|_| worker()).collect(),
            owners: (0..SHARDS).map(|s| WorkerId::at(owner(s))).collect(),
            pollers: 0,
            // Every shard has sessions that were heard of.
            heat: vec![1; SHARDS as usize],
            moving: VecDeque::new(),
            now_ns: 0.0,
            lot: seed | 1,
            executed: 0,
            missed: 0,
            dropped: 0,
            times_ns: None,
            window_ns: [0.0, f64::INFINITY],
        }
    }

    /// Turns until then. `in_flight`: nobody polls while so many wait in rings.
    pub fn run(&mut self, until_ns: f64, in_flight: usize, arrivals: &mut impl Arrivals) {
        loop {
            let next = (0..self.workers.len()).min_by(|a, b| {
                self.workers[*a]
                    .free_ns
                    .total_cmp(&self.workers[*b].free_ns)
            });
            let Some(next) = next.filter(|w| self.workers[*w].free_ns < until_ns) else {
                break;
            };
            self.now_ns = self.now_ns.max(self.workers[next].free_ns);
            self.take_effect();
            self.turn(next, in_flight, arrivals);
        }
        self.now_ns = until_ns;
        self.take_effect();
    }

    fn take_effect(&mut self) {
        while let Some((at_ns, shard, to)) = self.moving.front().copied()
            && at_ns <= self.now_ns
        {
            self.moving.pop_front();
            self.owners[usize::from(shard)] = to;
        }
    }

    fn turn(&mut self, me: usize, in_flight: usize, arrivals: &mut impl Arrivals) {
        let now_ns = self.workers[me].free_ns;
        let waiting: usize = match in_flight {
            usize::MAX => 0,
            _ => self
                .workers
                .iter()
                .flat_map(|w| &w.rings)
                .map(VecDeque::len)
                .sum(),
        };
        let room = QUEUE - self.workers[me].queue.len();
        let queue = &mut self.workers[me].queue;
        self.missed += arrivals.take(me, now_ns, room, queue);
        let poll = if waiting < in_flight {
            POLL.min(queue.len())
        } else {
            0
        };
        let polled: Vec<Came> = queue.drain(..poll).collect();
        let (own, others): (Vec<Came>, Vec<Came>) = polled
            .into_iter()
            .partition(|came| usize::from(self.owners[usize::from(came.shard)]) == me);
        let taken = self.take_handed(me, now_ns);
        let lots = [(); 3].map(|()| self.lot());
        let cost_ns = self.costs.own.draw_ns(own.len() as u32, lots[0])
            + self.costs.hand.draw_ns(others.len() as u32, lots[1])
            + self.costs.take.draw_ns(taken.len() as u32, lots[2]);
        let worker = &mut self.workers[me];
        let work = own.len() + others.len() + taken.len();
        worker.packets += work as u64;
        worker.turns += u64::from(work > 0);
        worker.idle_turns += u64::from(work == 0);
        worker.busy_ns += cost_ns;
        if work >= TURN_FULL {
            worker.full_packets += work as u64;
            worker.full_ns += cost_ns;
        }
        worker.free_ns = now_ns + if work > 0 { cost_ns } else { self.idle_ns };
        let end_ns = worker.free_ns;
        self.execute(me, end_ns, own.iter().chain(&taken));
        for came in others {
            let owner = usize::from(self.owners[usize::from(came.shard)]);
            let ring = &mut self.workers[owner].rings[me];
            if ring.len() < HANDOVER_RING + HANDOVER_LATE {
                ring.push_back((end_ns, came));
            } else {
                self.dropped += 1;
            }
        }
    }

    fn take_handed(&mut self, me: usize, now_ns: f64) -> Vec<Came> {
        let mut taken = Vec::new();
        for ring in &mut self.workers[me].rings {
            while taken.len() < BURST
                && let Some((seen_ns, came)) = ring.front()
                && *seen_ns <= now_ns
            {
                taken.push(*came);
                ring.pop_front();
            }
        }
        taken
    }

    fn execute<'a>(&mut self, me: usize, end_ns: f64, all: impl Iterator<Item = &'a Came>) {
        let mut since = 0;
        let [from_ns, to_ns] = self.window_ns;
        for came in all {
            self.executed += 1;
            if let Some(times) = &mut self.times_ns
                && (from_ns..to_ns).contains(&came.at_ns)
            {
                times.push((end_ns - came.at_ns) as f32);
            }
            // As the real worker samples which shards are hot.
            since += 1;
            if since == HEAT_SAMPLE {
                since = 0;
                self.workers[me].sampled += 1;
                self.heat[usize::from(came.shard)] += HEAT_SAMPLE as u64;
            }
        }
    }

    fn lot(&mut self) -> u64 {
        self.lot = self
            .lot
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        self.lot >> 20
    }
}

impl ScaledWorkers for Workers {
    fn readings(&self) -> Vec<Reading> {
        let reading = |w: &SimWorker| Reading {
            busy_ns: w.busy_ns as u64,
            busy_turns: w.turns,
            idle_ns: (w.idle_turns as f64 * self.idle_ns) as u64,
            idle_turns: w.idle_turns,
            work: w.packets,
            full_work: w.full_packets,
            full_ns: w.full_ns as u64,
            packets: w.packets,
            ..Reading::default()
        };
        let owners = self.workers.iter().skip(self.pollers);
        owners.map(reading).collect()
    }

    fn heat(&self) -> Vec<u64> {
        self.heat.clone()
    }

    fn owner(&self, shard: ShardId) -> WorkerId {
        let moving = self.moving.iter().rev().find(|(_, s, _)| *s == shard.0);
        let owner = moving.map_or(self.owners[usize::from(shard.0)], |(.., to)| *to);
        WorkerId::at(owner.index() - self.pollers)
    }

    fn owned(&self) -> Vec<u32> {
        let mut owned = vec![0; self.workers.len()];
        self.owners.iter().for_each(|w| owned[usize::from(*w)] += 1);
        owned.split_off(self.pollers)
    }

    fn is_moving(&self) -> bool {
        !self.moving.is_empty()
    }

    fn spread(&mut self, workers: usize) {
        for shard in 0..SHARDS as u16 {
            self.move_shard(ShardId(shard), WorkerId::at(usize::from(shard) % workers));
        }
    }

    /// As many at a time as the mover allows; those take as long as a move did, and the next ones
    /// begin behind them.
    fn move_shard(&mut self, shard: ShardId, to: WorkerId) {
        let last_ns = self.moving.back().map_or(self.now_ns, |(at_ns, ..)| *at_ns);
        let begins = self.moving.len().is_multiple_of(MOVES);
        let lot = self.lot() as usize;
        let took_ns = &self.costs.moves_ns;
        let took_ns = took_ns.get(lot % took_ns.len().max(1)).copied();
        let at_ns = last_ns + took_ns.filter(|_| begins).unwrap_or_default();
        let to = WorkerId::at(to.index() + self.pollers);
        self.moving.push_back((at_ns, shard.0, to));
    }
}
