//! One simulated overload: some UEs of one worker become heavy, with or without the daemon's
//! scaling.

use super::costs::Measured;
use super::nic_model::Card;
use super::offered_load::Offer;
use super::traffic::Traffic;
use super::workers::Workers;
use super::{MS, Model, world};
use sluice_control::scaling::Sizes;
use sluice_control::scaling::policy::{Bounds, Cycles};
use sluice_control::scaling::scaler::Scaler;
use sluice_datapath::limits::{BURST, HANDOVER_RING, SHARDS};

/// UEs of a shard; one in [`HEAVY`] becomes heavy.
const UES: u64 = 24;
const HEAVY: u64 = 5;
const BEFORE_NS: f64 = 15.0 * MS;
const BURST_NS: f64 = 40.0 * MS;
const LEVELLED_BY_NS: f64 = 10.0 * MS;
const LOSS_LOOK_NS: f64 = 0.1 * MS;

/// What became of a burst: when the last packet was lost, what was lost, how many shards moved, and what left
/// behind it of what was offered.
pub(super) struct Levelled {
    pub ms: Option<f64>,
    pub dropped: u64,
    pub missed: u64,
    pub moves: u64,
    pub to_offered: f64,
}

/// One burst, 15 ms after the beginning.
pub(super) fn burst(
    measured: &Measured,
    model: Model,
    workers: usize,
    offer: Offer,
    seed: u64,
    scaling: bool,
) -> Levelled {
    let (mut all, mut traffic) = world(measured, model, workers, seed);
    let mut scaler = scaler(&all, workers);
    traffic
        .feeds
        .iter_mut()
        .for_each(|f| f.set(offer.even, 0.0, 0.0));
    let mut card = Card::of(workers);
    let (mut lost, mut last_loss_ns) = (0, 0.0);
    let (mut now_ns, mut executed) = (0.0, 0);
    let end_ns = BEFORE_NS + BURST_NS;
    while now_ns < end_ns {
        if now_ns >= BEFORE_NS && traffic.feeds[0].heavy.is_empty() {
            become_heavy(&mut traffic, model, workers, offer, now_ns, seed);
        }
        if now_ns < BEFORE_NS + LEVELLED_BY_NS {
            executed = all.executed;
        }
        now_ns += LOSS_LOOK_NS;
        all.run(now_ns, usize::MAX, &mut traffic);
        if scaling {
            scaler.turn(now_ns as u64, &mut all);
        }
        if scaling && model == Model::RunToCompletion {
            card.follow(&all, &mut traffic, now_ns);
        }
        if all.missed + all.dropped > lost && now_ns > BEFORE_NS {
            last_loss_ns = now_ns - BEFORE_NS;
        }
        lost = all.missed + all.dropped;
    }
    let offered = offer.of_all(workers) * (BURST_NS - LEVELLED_BY_NS);
    Levelled {
        ms: (last_loss_ns < BURST_NS - LEVELLED_BY_NS).then_some(last_loss_ns / MS),
        dropped: all.dropped,
        missed: all.missed,
        moves: scaler.counts().1,
        to_offered: (all.executed - executed) as f64 / offered,
    }
}

/// As the daemon's, of workers that neither come nor go.
fn scaler(all: &Workers, workers: usize) -> Scaler {
    let bounds = Bounds {
        least: workers,
        most: workers,
    };
    let sizes = Sizes {
        burst: BURST as u64,
        rings: (HANDOVER_RING * (workers - 1)) as u64,
    };
    let policy = Box::new(Cycles::default());
    Scaler::new(policy, bounds, sizes, all, 0)
}

/// Where the card knows the shards the packets of heavy UEs come to the queue of worker 0, otherwise
/// to all.
fn become_heavy(
    traffic: &mut Traffic,
    model: Model,
    workers: usize,
    offer: Offer,
    now_ns: f64,
    seed: u64,
) {
    let heavy = heavy_shards(workers, seed);
    let queues = match model {
        Model::RunToCompletion => 1,
        _ => workers,
    };
    for feed in &mut traffic.feeds[..queues] {
        let on_top = offer.on_top / queues as f64;
        let rate = offer.even + on_top;
        feed.heavy.clone_from(&heavy);
        feed.set(rate, on_top / rate, now_ns);
    }
}

/// A fifth of the UEs of worker 0, each by lot: the shard of each.
fn heavy_shards(workers: usize, seed: u64) -> Vec<u16> {
    let is_heavy =
        |ue: u64| (ue + seed).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32 < (1 << 32) / HEAVY;
    let of_worker = (0..SHARDS as u16).filter(|s| usize::from(*s) % workers == 0);
    of_worker
        .flat_map(|shard| (0..UES).map(move |ue| (shard, u64::from(shard) * UES + ue)))
        .filter(|(_, ue)| is_heavy(*ue))
        .map(|(shard, _)| shard)
        .collect()
}
