//! The scaler: samples workers periodically, and moves shards and queues.
//!
//! Two rhythms. How many workers work is decided every [`PERIOD_NS`], by the policy: workers that
//! come and go cost something, and a policy must not follow every burst. Uneven load is looked for
//! every [`LOOK_NS`] instead: a worker that can do no more loses packets as soon as its queue is
//! full, which at some Mpps takes a millisecond, and a move of a shard costs microseconds.

mod shard_load;
#[cfg(test)]
mod tests;

use super::load_estimate::LoadEstimate;
use super::policy::{Bounds, Policy};
use super::rebalance::{Rebalance, level};
use super::{Elastic, Load, Reading};
use shard_load::shard_loads;
use sluice_datapath::ids::WorkerId;
use sluice_mem::shard::ShardId;

/// From one look to the next: some 10,000 packets of a full worker.
pub const LOOK_NS: u64 = 1_000_000;
/// From one decision on the number of workers to the next.
pub const PERIOD_NS: u64 = 5 * LOOK_NS;
/// Without need, load is levelled every so many looks.
const LEVEL_EVERY: u64 = 10;
/// Counters of all shards that were read longer ago tell of other times. They are not read at every
/// look: they are some hundred cache lines of each worker, which it writes to all the time.
const HEAT_FRESH_NS: u64 = 3 * LOOK_NS / 2;
/// A full worker that could not be relieved is left alone for so many looks. So are those between which
/// shards went, from when they are there: until the queues are worked off that filled meanwhile, either
/// looks full.
const PAUSE: u64 = 2;
/// Moved load, as a share of the busiest worker's, above which queues fill during the moves.
const MUCH: f64 = 0.1;
/// Busier than this between two looks, a worker needs relief at once. One that does all that it can
/// shows less than 1: its turns cost something by themselves.
const FULL: f64 = 0.85;
/// When all workers are busier than this, none has room for what another has too much: moves to and fro
/// would cost more than they bring.
const NO_ROOM: f64 = 0.9;
/// When no worker is busier than this, all have time enough.
const EASY: f64 = 0.5;
/// Differences that are left alone, as a share of the mean: as a rule, and while a worker is full.
/// What a full worker is seen to do is less than what came for it, so a small difference tells of a
/// greater one.
const TOLERANCE: f64 = 0.05;
const TOLERANCE_FULL: f64 = 0.03;
/// Hidden load of a full worker, as a share of the room that another has: packets that it or its queue loses, which
/// nobody counts. A smaller estimate would relieve the worker step by step only; a larger one does not help a worker
/// without room.
const UNSEEN: f64 = 0.5;
/// The workers as scaling sees them, and what it does with them.
pub trait ScaledWorkers {
    /// Counters of each worker.
    fn readings(&self) -> Vec<Reading>;
    /// Packets of each shard so far.
    fn heat(&self) -> Vec<u64>;
    /// The owner of a shard, or its next one while it moves.
    fn owner(&self, shard: ShardId) -> WorkerId;
    /// Shards of each worker.
    fn owned(&self) -> Vec<u32>;
    /// Whether any shard moves.
    fn is_moving(&self) -> bool;
    /// Spreads all shards and queues over the first workers, this many.
    fn spread(&mut self, workers: usize);
    /// A shard goes to a worker.
    fn move_shard(&mut self, shard: ShardId, to: WorkerId);
}

/// Result of a look.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Done {
    /// Nothing.
    Nothing,
    /// Number of active workers changed.
    Workers(usize),
    /// Shards were moved, and these are new among those too much for any worker.
    Levelled {
        /// How many.
        moves: usize,
        /// Not told before.
        giants: Vec<ShardId>,
    },
}

/// Scaling that is on.
pub struct Scaler {
    elastic: Elastic,
    bounds: Bounds,
    looks: u64,
    next_ns: u64,
    looked_ns: u64,
    period_ns: u64,
    active: usize,
    effort: LoadEstimate,
    last: Vec<Reading>,
    /// Of each worker, between the last two looks.
    busy_ns: Vec<u64>,
    heat: Vec<u64>,
    /// When that was read.
    heat_ns: u64,
    /// A full worker is not relieved before this look: the last one found no way to.
    again: u64,
    /// Workers between which shards went the last time, and the look from which on that counts no
    /// more.
    involved: Vec<bool>,
    rested_at: u64,
    giants: Vec<ShardId>,
    changes: u64,
    levelling_moves: u64,
}

impl Scaler {
    /// From now on.
    pub fn new(
        policy: Box<dyn Policy + Send>,
        bounds: Bounds,
        burst: u64,
        fleet: &impl ScaledWorkers,
        now_ns: u64,
    ) -> Self {
        let mut effort = LoadEstimate::default();
        let readings = effort.of(fleet.readings());
        let workers = readings.len();
        let active = fleet.owned().iter().filter(|n| **n > 0).count();
        Self {
            elastic: Elastic::new(policy, bounds, burst, &readings, active, now_ns),
            bounds,
            looks: 0,
            next_ns: now_ns + LOOK_NS,
            looked_ns: now_ns,
            period_ns: now_ns + PERIOD_NS,
            active,
            busy_ns: vec![0; readings.len()],
            effort,
            last: readings,
            heat: fleet.heat(),
            heat_ns: now_ns,
            again: 0,
            involved: vec![false; workers],
            rested_at: 0,
            giants: Vec::new(),
            changes: 0,
            levelling_moves: 0,
        }
    }

    /// The policy's name.
    pub fn policy(&self) -> &'static str {
        self.elastic.policy()
    }

    /// Between how many workers it decides.
    pub fn bounds(&self) -> Bounds {
        self.bounds
    }

    /// Workers that work.
    pub fn active(&self) -> usize {
        self.active
    }

    /// Loads of the last period.
    pub fn loads(&self) -> &[Load] {
        self.elastic.loads()
    }

    /// Shards that alone are too much for any worker.
    pub fn giants(&self) -> &[ShardId] {
        &self.giants
    }

    /// Decisions for another number of workers, and moves to level their load.
    pub fn counts(&self) -> (u64, u64) {
        (self.changes, self.levelling_moves)
    }

    /// Looks if it is time.
    pub fn turn(&mut self, now_ns: u64, fleet: &mut impl ScaledWorkers) -> Done {
        if now_ns < self.next_ns {
            return Done::Nothing;
        }
        self.next_ns = now_ns + LOOK_NS;
        self.looks += 1;
        let readings = self.effort.of(fleet.readings());
        let elapsed_ns = self.take_busy(now_ns, &readings);
        if fleet.is_moving() {
            self.rested_at = self.looks + PAUSE;
        }
        if now_ns >= self.period_ns {
            self.period_ns = now_ns + PERIOD_NS;
            if let Some(wanted) = self.elastic.period(now_ns, &readings) {
                self.active = wanted;
                self.changes += 1;
                self.read_heat(now_ns, fleet);
                fleet.spread(wanted);
                return Done::Workers(wanted);
            }
        }
        let routine = self.looks.is_multiple_of(LEVEL_EVERY);
        let full = self.is_full(elapsed_ns) && self.looks >= self.again;
        if full && !routine && now_ns > self.heat_ns + HEAT_FRESH_NS {
            // What is hot now shows by what comes until the next look, for which half of the time is
            // enough.
            self.read_heat(now_ns, fleet);
            self.next_ns = now_ns + LOOK_NS / 2;
            return Done::Nothing;
        }
        if full || routine && self.busiest_ns() > EASY * elapsed_ns {
            let done = self.level(full.then_some(elapsed_ns), now_ns, fleet);
            if full && done == Done::Nothing && !fleet.is_moving() {
                self.again = self.looks + PAUSE;
            }
            return done;
        }
        if routine {
            self.read_heat(now_ns, fleet);
        }
        Done::Nothing
    }

    fn read_heat(&mut self, now_ns: u64, fleet: &impl ScaledWorkers) -> Vec<u64> {
        self.heat_ns = now_ns;
        core::mem::replace(&mut self.heat, fleet.heat())
    }

    /// How long each worker would have been busy since the last look, had it had its CPU for all of that
    /// time. Returns how long that was ago.
    fn take_busy(&mut self, now_ns: u64, readings: &[Reading]) -> f64 {
        let elapsed_ns = now_ns.saturating_sub(self.looked_ns).max(1) as f64;
        self.looked_ns = now_ns;
        for ((busy, last), now) in self.busy_ns.iter_mut().zip(&self.last).zip(readings) {
            // From less than half of the time nothing can be said of the rest.
            let own_ns = now.own_ns(last, elapsed_ns).max(elapsed_ns / 2.0);
            let busy_ns = now.busy_ns.saturating_sub(last.busy_ns) as f64;
            *busy = (busy_ns * elapsed_ns / own_ns).min(elapsed_ns) as u64;
        }
        self.last.copy_from_slice(readings);
        elapsed_ns
    }

    fn busiest_ns(&self) -> f64 {
        self.busy_ns.iter().copied().max().unwrap_or(0) as f64
    }

    /// Whether a worker is, for another reason than that it was, and another is not.
    fn is_full(&self, elapsed_ns: f64) -> bool {
        let working = self.busy_ns.iter().take(self.active);
        let least_ns = working.copied().min().unwrap_or(0);
        if least_ns as f64 > NO_ROOM * elapsed_ns {
            return false;
        }
        let rests = |involved: bool| involved && self.looks < self.rested_at;
        let mut workers = self.busy_ns.iter().zip(&self.involved);
        workers.any(|(busy_ns, involved)| *busy_ns as f64 > FULL * elapsed_ns && !rests(*involved))
    }

    /// Load of each worker, if it had its CPU for all of the time.
    fn demand_ns(&self, elapsed_ns: f64) -> Vec<u64> {
        let working = self.busy_ns.get(..self.active).unwrap_or(&self.busy_ns);
        let least_ns = working.iter().copied().min().unwrap_or(0) as f64;
        let unseen = UNSEEN * (1.0 - least_ns / elapsed_ns).max(0.0);
        let demand_ns = |busy_ns: &u64| match *busy_ns as f64 {
            full_ns if full_ns > FULL * elapsed_ns => (full_ns * (1.0 + unseen)) as u64,
            _ => *busy_ns,
        };
        self.busy_ns.iter().map(demand_ns).collect()
    }

    /// Moves shards away from workers that have too many; `full_ns`: the time of the look, if one is
    /// full. Not while others move: their packets are with two workers.
    fn level(&mut self, full_ns: Option<f64>, now_ns: u64, fleet: &mut impl ScaledWorkers) -> Done {
        let before = self.read_heat(now_ns, fleet);
        if fleet.is_moving() {
            return Done::Nothing;
        }
        let demand_ns = match full_ns {
            Some(elapsed_ns) => self.demand_ns(elapsed_ns),
            None => self.busy_ns.clone(),
        };
        let shard_loads = shard_loads(&before, &self.heat, &demand_ns, fleet);
        let working = (0..).map(WorkerId).zip(demand_ns);
        let loads: Vec<(WorkerId, u64)> = working.take(self.active).collect();
        let tolerance = match full_ns {
            Some(_) => TOLERANCE_FULL,
            None => TOLERANCE,
        };
        let Rebalance {
            moves,
            carried,
            giants,
        } = level(&shard_loads, &loads, tolerance);
        let told = core::mem::replace(&mut self.giants, giants);
        let new = self.giants.iter().filter(|giant| !told.contains(giant));
        let giants: Vec<ShardId> = new.copied().collect();
        self.levelling_moves += moves.len() as u64;
        if !moves.is_empty() {
            self.involved.fill(false);
        }
        let fills_queues = full_ns.is_some() && carried as f64 > MUCH * self.busiest_ns();
        if fills_queues {
            self.rested_at = self.looks + PAUSE;
        }
        for (shard, to) in &moves {
            for worker in [fleet.owner(*shard), *to] {
                if let Some(involved) = self.involved.get_mut(usize::from(worker)) {
                    *involved |= fills_queues;
                }
            }
            fleet.move_shard(*shard, *to);
        }
        match moves.len() {
            0 if giants.is_empty() => Done::Nothing,
            moves => Done::Levelled { moves, giants },
        }
    }
}
