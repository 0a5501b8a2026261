//! One simulated overload: some UEs of one worker become heavy, with or without the daemon's
//! scaling.

use super::costs::Measured;
use super::traffic::{Card, Traffic};
use super::workers::Workers;
use super::{MS, testbed};
use crate::elastic::models::Model;
use sluice_control::scaling::policy::{Bounds, Cycles};
use sluice_control::scaling::scaler::Scaler;
use sluice_datapath::limits::{BURST, SHARDS};

/// UEs of a shard.
const UES: u64 = 24;
/// The scaling has a turn so often, and losses are looked for.
const LOOK_NS: f64 = 0.1 * MS;

/// Packets in a nanosecond.
#[derive(Clone, Copy, Debug)]
pub struct Offer {
    /// To each queue that is polled, of all UEs.
    pub even: f64,
    /// In a burst besides, of heavy UEs of one worker.
    pub on_top: f64,
}

#[derive(Clone, Copy, Debug)]
pub struct Scene {
    pub model: Model,
    /// How many there are, and how many of them poll.
    pub workers: [usize; 2],
    pub offer: Offer,
    /// Which share of the UEs of the first worker that owns any becomes heavy, and when.
    pub share_of_ues: f64,
    pub begins_ns: f64,
    /// Sessions move by the load.
    pub levels: bool,
    pub seed: u64,
}

/// How far it is.
pub struct Course {
    scene: Scene,
    pub all: Workers,
    pub traffic: Traffic,
    pub now_ns: f64,
    /// The daemon's, of workers that neither come nor go.
    scaler: Scaler,
    card: Card,
    bursts: bool,
}

impl Course {
    pub fn new(measured: &Measured, scene: Scene) -> Self {
        let [workers, pollers] = scene.workers;
        let (mut all, mut traffic) = testbed(measured, scene.model, scene.workers, scene.seed);
        if scene.model == Model::Pipeline {
            all.pollers = pollers;
        }
        for feed in &mut traffic.feeds {
            feed.set(scene.offer.even, 0.0, 0.0);
        }
        let owners = workers - all.pollers;
        let bounds = Bounds {
            least: owners,
            most: owners,
        };
        let burst = BURST as u64;
        let policy = Box::new(Cycles::default());
        Self {
            scaler: Scaler::new(policy, bounds, burst, &all, 0),
            card: Card::of(owners),
            scene,
            all,
            traffic,
            now_ns: 0.0,
            bursts: false,
        }
    }

    /// Goes on until the next look.
    pub fn step(&mut self) {
        if self.now_ns >= self.scene.begins_ns && !self.bursts {
            self.bursts = true;
            self.become_heavy();
        }
        self.now_ns += LOOK_NS;
        self.all.run(self.now_ns, usize::MAX, &mut self.traffic);
        if self.scene.levels {
            self.scaler.turn(self.now_ns as u64, &mut self.all);
            if self.scene.model == Model::RunToCompletion {
                self.card.follow(&self.all, &mut self.traffic, self.now_ns);
            }
        }
    }

    /// Moves that the scaling made.
    pub fn moves(&self) -> u64 {
        self.scaler.counts().1
    }

    /// Makes UEs heavy. If the card knows the shards, their packets arrive at the queue of worker 0, otherwise at all
    /// polled queues.
    fn become_heavy(&mut self) {
        let heavy = self.heavy_shards();
        let Offer { even, on_top } = self.scene.offer;
        let queues = match self.scene.model {
            Model::RunToCompletion => 1,
            _ => self.scene.workers[1],
        };
        for feed in &mut self.traffic.feeds[..queues] {
            let on_top = on_top / queues as f64;
            let rate = even + on_top;
            feed.heavy.clone_from(&heavy);
            feed.set(rate, on_top / rate.max(f64::MIN_POSITIVE), self.now_ns);
        }
    }

    /// Some of the first owner's UEs, each by lot: the shard of each.
    fn heavy_shards(&self) -> Vec<u16> {
        let owners = self.scene.workers[0] - self.all.pollers;
        let is_heavy = |ue: u64| {
            let lot = (ue + self.scene.seed).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
            (lot as f64) < self.scene.share_of_ues * 4_294_967_296.0
        };
        let of_worker = (0..SHARDS as u16).filter(|s| usize::from(*s) % owners == 0);
        of_worker
            .flat_map(|shard| (0..UES).map(move |ue| (shard, u64::from(shard) * UES + ue)))
            .filter(|(_, ue)| is_heavy(*ue))
            .map(|(shard, _)| shard)
            .collect()
    }
}
