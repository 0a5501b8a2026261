//! Scaling as the load asks for it: readings of the workers' counters for the policy, its decisions
//! for the workers.

use crate::config;
use serde_json::{Value, json};
use sluice_host::clock;
use sluice_mem::shard::ShardId;
use sluice_node::core::Core;
use sluice_node::elastic::level::{Heat, level};
use sluice_node::elastic::{Elastic, Reading, Sizes};
use sluice_path::ledger::WorkerStats;
use sluice_path::limits::{BURST, HANDOVER_RING, SHARDS};
use sluice_path::worker::WorkerId;
use sluice_port::Packet;

/// Loads are looked at so often: a worker that gets too much is helped within two of these.
const PERIOD_NS: u64 = 5_000_000;
/// Shards are levelled every so many periods.
const LEVEL_EVERY: u64 = 2;

/// Scaling, as it is configured and while it is on.
pub struct Scaling {
    config: config::Scaling,
    running: Option<Running>,
}

struct Running {
    elastic: Elastic,
    next_ns: u64,
    periods: u64,
    active: usize,
    heat: Vec<u64>,
    /// Shards that are too much for any worker, as far as that was said.
    giants: Vec<ShardId>,
    /// Decisions for another number of workers, and moves to level their load.
    changes: u64,
    levelling_moves: u64,
}

impl Scaling {
    /// As configured, from the start if it says so.
    pub fn new<P: Packet>(config: config::Scaling, core: &Core<P>) -> Self {
        let mut scaling = Self {
            config,
            running: None,
        };
        if scaling.config.decides != config::Decides::ByHand {
            scaling.begin(core);
        }
        scaling
    }

    /// From now on the load decides.
    pub fn begin<P: Packet>(&mut self, core: &Core<P>) -> Value {
        let (readings, now_ns) = (readings(core), clock::monotonic_ns());
        let workers = readings.len();
        let working = core
            .end()
            .mover()
            .owned()
            .iter()
            .filter(|n| **n > 0)
            .count();
        let bounds = self.config.bounds(workers);
        let sizes = Sizes {
            burst: BURST as u64,
            rings: (HANDOVER_RING * (workers - 1)) as u64,
        };
        let elastic = Elastic::new(
            self.config.policy(),
            bounds,
            sizes,
            &readings,
            working,
            now_ns,
        );
        let answer = json!({
            "workers": "auto",
            "working": working,
            "of": workers,
            "working_min": bounds.least,
            "working_max": bounds.most,
            "policy": elastic.policy(),
        });
        self.running = Some(Running {
            elastic,
            next_ns: now_ns + PERIOD_NS,
            periods: 0,
            active: working,
            heat: heat(core),
            giants: Vec::new(),
            changes: 0,
            levelling_moves: 0,
        });
        answer
    }

    /// Somebody else decides.
    pub fn end(&mut self) {
        self.running = None;
    }

    /// What it has decided.
    pub fn view(&self) -> Value {
        let Some(running) = &self.running else {
            return json!({ "scaling": "by hand" });
        };
        let giants: Vec<u16> = running.giants.iter().map(|shard| shard.0).collect();
        let loads = running.elastic.loads().iter();
        json!({
            "scaling": "auto",
            "policy": running.elastic.policy(),
            "working": running.active,
            "giants": giants,
            "changes": running.changes,
            "levelling_moves": running.levelling_moves,
            "busy": loads.map(|load| load.busy).collect::<Vec<_>>(),
        })
    }

    /// Looks at the load when a period is over.
    pub fn turn<P: Packet>(&mut self, core: &mut Core<P>) {
        let Some(running) = &mut self.running else {
            return;
        };
        let now_ns = clock::monotonic_ns();
        if now_ns < running.next_ns {
            return;
        }
        running.next_ns = now_ns + PERIOD_NS;
        running.periods += 1;
        if let Some(wanted) = running.elastic.period(now_ns, &readings(core)) {
            tracing::info!("{wanted} workers from now on, by the load");
            running.active = wanted;
            running.changes += 1;
            let workers = core.end().workers();
            let active: Vec<bool> = (0..workers).map(|worker| worker < wanted).collect();
            core.end_mut().spread(&active);
        } else if running.periods.is_multiple_of(LEVEL_EVERY) {
            running.level(core);
        }
    }
}

impl Running {
    /// Moves hot shards away from workers that have too many. Not while others move: their heat is
    /// in two places.
    fn level<P: Packet>(&mut self, core: &mut Core<P>) {
        let now = heat(core);
        let before = core::mem::replace(&mut self.heat, now);
        if core.end().mover().progress().1 > 0 {
            return;
        }
        let owner = |shard| core.end().mover().owner(ShardId(shard));
        let heats = (0..SHARDS as u16).map(|shard| Heat {
            shard: ShardId(shard),
            owner: owner(shard),
            heat: self.heat[usize::from(shard)].saturating_sub(before[usize::from(shard)]),
        });
        let heats: Vec<Heat> = heats.filter(|heat| heat.heat > 0).collect();
        if !self.is_worth_it() {
            return;
        }
        let active: Vec<WorkerId> = (0..self.active as WorkerId).collect();
        let levelling = level(&heats, &active);
        for giant in &levelling.giants {
            if !self.giants.contains(giant) {
                tracing::warn!("shard {giant} alone is more than a worker's share");
            }
        }
        self.giants = levelling.giants;
        self.levelling_moves += levelling.moves.len() as u64;
        for (shard, to) in levelling.moves {
            core.end_mut().move_shard(shard, to);
        }
    }

    /// Workers that have time enough need no levelling.
    fn is_worth_it(&self) -> bool {
        self.elastic.loads().iter().any(|load| load.busy > 0.5)
    }
}

fn readings<P: Packet>(core: &Core<P>) -> Vec<Reading> {
    let reading = |stats: &WorkerStats| Reading {
        busy_ns: stats.busy_ns.get(),
        busy_turns: stats.busy_turns.get(),
        packets: stats.received.get() + stats.handed_in.get(),
        waiting: stats.waiting.get(),
    };
    core.end()
        .stats()
        .iter()
        .map(|stats| reading(stats))
        .collect()
}

/// By shard, over all workers.
fn heat<P: Packet>(core: &Core<P>) -> Vec<u64> {
    let mut sums = vec![0; SHARDS as usize];
    for stats in core.end().stats() {
        for (sum, heat) in sums.iter_mut().zip(&stats.heat) {
            *sum += heat.get();
        }
    }
    sums
}
