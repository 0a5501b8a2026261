//! Load-driven scaling: [`Scaler`] sees the workers by their counters, and moves shards by way of
//! the control core.

use super::lines::{self, Kind, Peer};
use crate::config;
use serde_json::{Value, json};
use sluice_control::core::UpfControl;
use sluice_control::scaling::Reading;
use sluice_control::scaling::scaler::{Done, ScaledWorkers, Scaler};
use sluice_datapath::ids::WorkerId;
use sluice_datapath::ledger::WorkerStats;
use sluice_datapath::limits::{BURST, SHARDS};
use sluice_host::clock;
use sluice_mem::shard::ShardId;
use sluice_port::Packet;

/// Scaling, as it is configured and while it is on.
pub struct Scaling {
    config: config::Scaling,
    running: Option<Scaler>,
}

impl Scaling {
    /// As configured, from the start if it says so.
    pub fn new<P: Packet>(config: config::Scaling, core: &mut UpfControl<P>) -> Self {
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
    pub fn begin<P: Packet>(&mut self, core: &mut UpfControl<P>) -> Value {
        let workers = core.end().workers();
        let bounds = self.config.bounds(workers);
        let burst = BURST as u64;
        let policy = self.config.policy();
        let scaler = Scaler::new(policy, bounds, burst, &Workers(core), clock::monotonic_ns());
        let answer = json!({
            "workers": "auto",
            "working": scaler.active(),
            "of": workers,
            "working_min": bounds.least,
            "working_max": bounds.most,
            "policy": scaler.policy(),
        });
        self.running = Some(scaler);
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
        let giants: Vec<u16> = running.giants().iter().map(|shard| shard.0).collect();
        let loads = running.loads().iter();
        let (changes, levelling_moves) = running.counts();
        json!({
            "scaling": "auto",
            "policy": running.policy(),
            "working": running.active(),
            "giants": giants,
            "changes": changes,
            "levelling_moves": levelling_moves,
            "busy": loads.map(|load| load.busy).collect::<Vec<_>>(),
        })
    }

    /// Looks at the load when it is time.
    pub fn turn<P: Packet>(&mut self, core: &mut UpfControl<P>) {
        let Some(running) = &mut self.running else {
            return;
        };
        match running.turn(clock::monotonic_ns(), &mut Workers(core)) {
            Done::Workers(wanted) => {
                if lines::permits(Peer::Local, Kind::Scaling) {
                    tracing::info!("{wanted} workers from now on, by the load");
                }
            }
            Done::Levelled { giants, .. } => {
                for giant in giants {
                    if !lines::permits(Peer::Local, Kind::Scaling) {
                        continue;
                    }
                    tracing::warn!("shard {giant} alone is more than a worker's share");
                }
            }
            Done::Nothing => {}
        }
    }
}

/// What was counted on each worker so far.
pub fn readings<P: Packet>(core: &UpfControl<P>) -> Vec<Reading> {
    let reading = |stats: &WorkerStats| Reading {
        busy_ns: stats.busy_ns.get(),
        busy_turns: stats.busy_turns.get(),
        work: stats.work.get(),
        full_work: stats.full_work.get(),
        full_ns: stats.full_ns.get(),
        idle_ns: stats.idle_ns.get(),
        idle_turns: stats.idle_turns.get(),
        away_ns: stats.away_ns.get(),
        packets: stats.received.get() + stats.handed_in.get(),
    };
    let stats = core.end().stats().iter();
    stats.map(|stats| reading(stats)).collect()
}

/// The workers of a control core.
struct Workers<'a, P: Packet>(&'a mut UpfControl<P>);

impl<P: Packet> ScaledWorkers for Workers<'_, P> {
    fn readings(&self) -> Vec<Reading> {
        readings(self.0)
    }

    /// By shard, over all workers.
    fn heat(&self) -> Vec<u64> {
        let mut sums = vec![0; SHARDS as usize];
        for stats in self.0.end().stats() {
            for (sum, heat) in sums.iter_mut().zip(&stats.heat) {
                *sum += heat.get();
            }
        }
        sums
    }

    fn owner(&self, shard: ShardId) -> WorkerId {
        self.0.end().mover().owner(shard)
    }

    fn owned(&self) -> Vec<u32> {
        self.0.end().mover().owned()
    }

    fn is_moving(&self) -> bool {
        self.0.end().mover().progress().1 > 0
    }

    fn spread(&mut self, workers: usize) {
        let all = self.0.end().workers();
        let active: Vec<bool> = (0..all).map(|worker| worker < workers).collect();
        self.0.end_mut().spread(&active);
    }

    fn move_shard(&mut self, shard: ShardId, to: WorkerId) {
        self.0.end_mut().move_shard(shard, to);
    }
}
