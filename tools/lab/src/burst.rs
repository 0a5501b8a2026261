//! Simulated overload of one worker's UEs, with or without scaling.

use sluice_bench::elastic::virtual_time::Model;
use sluice_bench::elastic::virtual_time::costs::Measured as Costs;
use sluice_bench::elastic::virtual_time::nic_model::Card;
use sluice_bench::elastic::virtual_time::traffic::{Feed, Traffic};
use sluice_bench::elastic::virtual_time::workers::Workers;
use sluice_control::scaling::policy::{Bounds, Cycles};
use sluice_control::scaling::scaler::{ScaledWorkers, Scaler};
use sluice_control::scaling::{Reading, Sizes};
use sluice_datapath::ids::WorkerId;
use sluice_datapath::limits::{BURST, HANDOVER_RING, SHARDS};
use sluice_mem::shard::ShardId;

const MS: f64 = 1_000_000.0;
/// Evenly before, then the burst; what it comes to is counted behind the time for levelling.
const BEFORE_NS: f64 = 5.0 * MS;
const LEVELLED_NS: f64 = 20.0 * MS;
const COUNTED_NS: f64 = 15.0 * MS;
/// Longer than full queues and rings take when nothing comes any more: by then what came while it was
/// counted has left, or is lost.
const LEAVING_NS: f64 = 25.0 * MS;
const LOOK_NS: f64 = 0.1 * MS;
/// What a worker is able to is counted for so long, with so many packets in rings for each.
const ABLE_NS: f64 = 3.0 * MS;
const IN_FLIGHT: usize = 1024;
/// UEs of a shard.
const UES: u64 = 24;

/// What happens.
pub struct Scene {
    pub model: Model,
    /// Sessions move by the load.
    pub levels: bool,
    /// Workers that execute; a pipeline has pollers besides.
    pub owners: usize,
    /// Load of each worker's UEs, and that of the first one's once it bursts, by what a worker is
    /// able to.
    pub other_load: f64,
    pub hot_load: f64,
    /// Which share of the first worker's UEs makes the burst.
    pub share_of_ues: f64,
}

/// What came of packets that came behind the time for levelling, and of no others.
pub struct BurstResult {
    pub offered_mpps: f64,
    pub sent_mpps: f64,
    /// Of packets that were sent; sorted.
    pub times_ns: Vec<u32>,
    pub p99_ns: u32,
}

/// Reckons it.
pub fn run(costs: &Costs, scene: &Scene, seed: u64) -> BurstResult {
    let pollers = pollers(costs, scene);
    let able = able(costs, scene, pollers);
    let owner = |shard: u32| pollers + shard as usize % scene.owners;
    let mut all = Workers::new(costs.clone(), pollers + scene.owners, owner, seed);
    let mut traffic = Traffic::new(feeds(scene, pollers), seed);
    let even = scene.other_load * able * scene.owners as f64;
    let on_top = (scene.hot_load - scene.other_load).max(0.0) * able;
    set(&mut traffic, scene, pollers, (even, 0.0), 0.0);
    let sizes = Sizes {
        burst: BURST as u64,
        rings: (HANDOVER_RING * (pollers + scene.owners - 1)) as u64,
    };
    let bounds = Bounds {
        least: scene.owners,
        most: scene.owners,
    };
    let mut card = Card::of(scene.owners);
    let first = Owners(&mut all, pollers);
    let mut scaler = Scaler::new(Box::new(Cycles::default()), bounds, sizes, &first, 0);
    let from_ns = BEFORE_NS + LEVELLED_NS;
    let window_ns = [from_ns, from_ns + COUNTED_NS];
    (all.window_ns, traffic.window_ns) = (window_ns, window_ns);
    all.times_ns = Some(vec![]);
    let (mut now_ns, mut bursts) = (0.0, false);
    while now_ns < window_ns[1] + LEAVING_NS {
        if now_ns >= BEFORE_NS && !bursts {
            bursts = true;
            set(&mut traffic, scene, pollers, (even, on_top), now_ns);
            become_heavy(&mut traffic, scene, pollers, seed);
        }
        if now_ns >= window_ns[1] {
            traffic.feeds.iter_mut().for_each(|feed| feed.rate = 0.0);
        }
        now_ns += LOOK_NS;
        all.run(now_ns, usize::MAX, &mut traffic);
        if scene.levels {
            scaler.turn(now_ns as u64, &mut Owners(&mut all, pollers));
            if pollers == 0 {
                card.follow(&all, &mut traffic, now_ns);
            }
        }
    }
    let times = all.times_ns.take().unwrap_or_default();
    let mut times_ns: Vec<u32> = times.into_iter().map(|ns| ns as u32).collect();
    times_ns.sort_unstable();
    let p99 = (times_ns.len() as f64 * 0.99) as usize;
    BurstResult {
        offered_mpps: traffic.came as f64 / COUNTED_NS * 1000.0,
        sent_mpps: times_ns.len() as f64 / COUNTED_NS * 1000.0,
        p99_ns: times_ns.get(p99).copied().unwrap_or_default(),
        times_ns,
    }
}

/// As many as keep the others busy; none but in a pipeline.
fn pollers(costs: &Costs, scene: &Scene) -> usize {
    let (hand, take) = (costs.hand.full_ns(), costs.take.full_ns());
    match scene.model {
        // One more than full workers would need: pollers are never what is short.
        Model::Pipeline => (scene.owners as f64 * hand / take).ceil() as usize + 1,
        _ => 0,
    }
}

/// Packets that a worker is able to in a nanosecond: of those that execute, when packets come as fast
/// as they are taken.
fn able(costs: &Costs, scene: &Scene, pollers: usize) -> f64 {
    let owner = |shard: u32| pollers + shard as usize % scene.owners;
    let all = pollers + scene.owners;
    let mut workers = Workers::new(costs.clone(), all, owner, 1);
    let mut traffic = Traffic::new(feeds(scene, pollers), 1);
    for feed in &mut traffic.feeds {
        feed.set(f64::INFINITY, 0.0, 0.0);
    }
    workers.run(MS, IN_FLIGHT * all, &mut traffic);
    let before = workers.executed;
    workers.run(MS + ABLE_NS, IN_FLIGHT * all, &mut traffic);
    (workers.executed - before) as f64 / ABLE_NS / scene.owners as f64
}

fn feeds(scene: &Scene, pollers: usize) -> Vec<Feed> {
    let comes = |queue: usize, shard: u16| match pollers {
        0 => usize::from(shard) % scene.owners == queue,
        _ => queue < pollers,
    };
    let feed = |queue| Feed {
        shards: (0..SHARDS as u16).filter(|s| comes(queue, *s)).collect(),
        ..Feed::default()
    };
    (0..pollers + scene.owners).map(feed).collect()
}

/// Even load to all queues, and so much on top for the first worker's UEs.
fn set(traffic: &mut Traffic, scene: &Scene, pollers: usize, (even, top): (f64, f64), now_ns: f64) {
    let queues = if pollers == 0 { scene.owners } else { pollers };
    for (queue, feed) in traffic.feeds.iter_mut().enumerate().take(queues) {
        let top = match pollers {
            0 if queue > 0 => 0.0,
            0 => top,
            _ => top / pollers as f64,
        };
        let rate = even / queues as f64 + top;
        feed.set(rate, top / rate.max(f64::MIN_POSITIVE), now_ns);
    }
}

fn become_heavy(traffic: &mut Traffic, scene: &Scene, pollers: usize, seed: u64) {
    let is_heavy = |ue: u64| {
        let lot = (ue + seed).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        (lot as f64) < scene.share_of_ues * 4_294_967_296.0
    };
    let of_worker = (0..SHARDS as u16).filter(|s| usize::from(*s) % scene.owners == 0);
    let heavy: Vec<u16> = of_worker
        .flat_map(|shard| (0..UES).map(move |ue| (shard, u64::from(shard) * UES + ue)))
        .filter(|(_, ue)| is_heavy(*ue))
        .map(|(shard, _)| shard)
        .collect();
    let queues = if pollers == 0 { 1 } else { pollers };
    for feed in &mut traffic.feeds[..queues] {
        feed.heavy.clone_from(&heavy);
    }
}

/// The workers that execute: sessions never move to those that poll.
struct Owners<'a>(&'a mut Workers, usize);

impl ScaledWorkers for Owners<'_> {
    fn readings(&self) -> Vec<Reading> {
        self.0.readings().split_off(self.1)
    }

    fn heat(&self) -> Vec<u64> {
        self.0.heat()
    }

    fn owner(&self, shard: ShardId) -> WorkerId {
        WorkerId::at(self.0.owner(shard).index() - self.1)
    }

    fn owned(&self) -> Vec<u32> {
        self.0.owned().split_off(self.1)
    }

    fn is_moving(&self) -> bool {
        self.0.is_moving()
    }

    fn spread(&mut self, workers: usize) {
        for shard in 0..SHARDS as u16 {
            self.move_shard(ShardId(shard), WorkerId::at(usize::from(shard) % workers));
        }
    }

    fn move_shard(&mut self, shard: ShardId, to: WorkerId) {
        self.0.move_shard(shard, WorkerId::at(to.index() + self.1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sluice_bench::elastic::virtual_time::costs::Costs as Each;

    fn sent(model: Model, levels: bool, hot_load: f64) -> f64 {
        let costs = Costs {
            own: Each::fixed(200.0),
            hand: Each::fixed(120.0),
            take: Each::fixed(230.0),
            idle_ns: vec![150],
            moves_ns: vec![2_000.0],
        };
        let scene = Scene {
            model,
            levels,
            owners: 4,
            other_load: 0.4,
            hot_load,
            share_of_ues: 0.2,
        };
        let outcome = run(&costs, &scene, 1);
        let share = outcome.sent_mpps / outcome.offered_mpps;
        assert!(share <= 1.0, "sent {share} of what was offered");
        share
    }

    /// A poller that hands over pays more than half of what executing costs, so moves alone would not
    /// do for run-to-completion: the card has to follow.
    #[test]
    fn a_burst_is_levelled_where_sessions_move_and_nowhere_else() {
        let rtc = Model::RunToCompletion;
        // Where every queue has room nothing is lost.
        assert_eq!(sent(rtc, false, 0.5), 1.0);
        assert!(sent(rtc, false, 1.75) < 0.8);
        for hot_load in [1.25, 1.75] {
            for model in [rtc, Model::Pipeline] {
                let share = sent(model, true, hot_load);
                assert!(share > 0.97, "{model:?} at {hot_load}: {share}");
            }
        }
    }
}
