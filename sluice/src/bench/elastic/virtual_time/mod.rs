//! More workers than there are CPUs, in virtual time. What a turn costs is drawn from turns that the
//! real workers took in the same run, without source and sink; queues, rings and time are counted.
//! Who moves where is decided by the daemon's own code ([`Scaler`]). What is not in it: that workers
//! share a memory bus and a last-level cache. So it tells how models, rings and scaling behave, not
//! what a processor with so many cores makes.

pub(crate) mod card;
pub(crate) mod costs;
mod offer;
pub(crate) mod traffic;
pub(crate) mod workers;

use super::measure::percentile;
use super::models::ModelFigures;
use crate::bench::stats::{Summary, round};
use card::Card;
use costs::{Costs, Measured};
use offer::Offer;
use serde_json::{Value, json};
use sluice_node::elastic::Sizes;
use sluice_node::elastic::policy::{Bounds, Cycles};
use sluice_node::elastic::scaler::Scaler;
use sluice_path::limits::{BURST, HANDOVER_RING, SHARDS};
use traffic::{Feed, Traffic};
use workers::Workers;

/// How many workers.
const WORKERS: [usize; 4] = [2, 4, 8, 16];
const MS: f64 = 1_000_000.0;
/// Throughput is counted for so long, latency as well, once it runs.
const LONG_NS: f64 = 5.0 * MS;
/// Latency at this share of a model's throughput.
const LOAD: f64 = 0.5;
/// Packets in rings for each worker when nobody polls any more, at full load.
const IN_FLIGHT: usize = 1024;
/// UEs of a shard; one in [`HEAVY`] becomes heavy.
const UES: u64 = 24;
const HEAVY: u64 = 5;
const BEFORE_NS: f64 = 15.0 * MS;
const BURST_NS: f64 = 40.0 * MS;
const LEVELLED_BY_NS: f64 = 10.0 * MS;
const LOSS_LOOK_NS: f64 = 0.1 * MS;
/// A worker that loses more in a burst is overloaded.
const OVERLOAD: u64 = 10_000;
/// Bursts for each number of workers.
const BURSTS: u64 = 5;

/// Who polls and who owns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Model {
    /// The card knows the shards.
    RunToCompletion,
    /// Some poll, the others own.
    Pipeline,
    /// All poll what the card gives them, knowing no shards, and all own.
    Mixed,
}

impl Model {
    const ALL: [Self; 3] = [Self::RunToCompletion, Self::Pipeline, Self::Mixed];

    fn name(self) -> &'static str {
        match self {
            Self::RunToCompletion => "rtc",
            Self::Pipeline => "pipeline",
            Self::Mixed => "mixed",
        }
    }

    /// How many workers poll: of a pipeline as many as keep the others busy.
    pub fn pollers(self, workers: usize, measured: &Measured) -> usize {
        let (hand, take) = (measured.hand.full_ns(), measured.take.full_ns());
        match self {
            Self::Pipeline => {
                let share = hand / (hand + take);
                ((workers as f64 * share).round() as usize).clamp(1, workers - 1)
            }
            _ => workers,
        }
    }

    fn owner(self, shard: u32, workers: usize, pollers: usize) -> usize {
        match self {
            Self::Pipeline => pollers + shard as usize % (workers - pollers),
            _ => shard as usize % workers,
        }
    }

    fn feeds(self, workers: usize, pollers: usize) -> Vec<Feed> {
        let comes = |queue: usize, shard: u16| match self {
            Self::RunToCompletion => usize::from(shard) % workers == queue,
            _ => queue < pollers,
        };
        let feed = |queue| Feed {
            shards: (0..SHARDS as u16).filter(|s| comes(queue, *s)).collect(),
            ..Feed::default()
        };
        (0..workers).map(feed).collect()
    }
}

/// All of it, from what was measured; nothing if not every kind of turn was.
pub fn results(models: &[ModelFigures], moves_ns: &[f64]) -> Vec<Value> {
    let measured = Measured::of(models, moves_ns);
    if !measured.is_complete() {
        return vec![];
    }
    let mut results = vec![costs(&measured)];
    for workers in WORKERS {
        let mut rtc_mpps = f64::NAN;
        for model in Model::ALL {
            let mpps = throughput(&measured, model, workers);
            if model == Model::RunToCompletion {
                rtc_mpps = mpps;
            }
            let mut result = latency(&measured, model, workers, LOAD * mpps);
            result["mpps"] = json!(round(mpps));
            result["ratio_to_rtc"] = json!(round(mpps / rtc_mpps));
            results.push(result);
            if model != Model::Pipeline {
                let able_mpps = mpps / workers as f64;
                results.push(heavy(&measured, model, workers, able_mpps));
            }
        }
    }
    results
}

fn costs(measured: &Measured) -> Value {
    let Measured {
        own, hand, take, ..
    } = measured;
    json!({
        "name": "elastic/virtual/costs",
        "virtual": false,
        "own_ns_median": round(own.full_ns()),
        "hand_over_ns_median": round(hand.full_ns()),
        "take_over_ns_median": round(take.full_ns()),
        // Of turns with 1, 2, 4 and so on packets.
        "own_ns_by_size": by_size(own),
        "hand_over_ns_by_size": by_size(hand),
        "take_over_ns_by_size": by_size(take),
        "turns_left_out": own.left_out + hand.left_out + take.left_out,
    })
}

fn by_size(costs: &Costs) -> Vec<Option<f64>> {
    costs.medians_ns().map(|ns| ns.map(round)).to_vec()
}

/// All workers before anything comes, and the traffic, which is still.
pub fn world(measured: &Measured, model: Model, workers: usize, seed: u64) -> (Workers, Traffic) {
    let pollers = model.pollers(workers, measured);
    let owner = |shard| model.owner(shard, workers, pollers);
    let traffic = Traffic::new(model.feeds(workers, pollers), seed);
    (
        Workers::new(measured.clone(), workers, owner, seed),
        traffic,
    )
}

/// Packets in a microsecond when they come as fast as they are taken.
pub fn throughput(measured: &Measured, model: Model, workers: usize) -> f64 {
    let (mut all, mut traffic) = world(measured, model, workers, 1);
    traffic
        .feeds
        .iter_mut()
        .for_each(|f| f.set(f64::INFINITY, 0.0, 0.0));
    let in_flight = IN_FLIGHT * workers;
    all.run(MS, in_flight, &mut traffic);
    let before = all.executed;
    all.run(MS + LONG_NS, in_flight, &mut traffic);
    (all.executed - before) as f64 / LONG_NS * 1000.0
}

fn latency(measured: &Measured, model: Model, workers: usize, mpps: f64) -> Value {
    let (mut all, mut traffic) = world(measured, model, workers, 2);
    let pollers = model.pollers(workers, measured);
    let rate = mpps / 1000.0 / pollers as f64;
    traffic.feeds.iter_mut().for_each(|f| f.set(rate, 0.0, 0.0));
    all.run(MS, usize::MAX, &mut traffic);
    all.times_ns = Some(vec![]);
    all.run(MS + LONG_NS, usize::MAX, &mut traffic);
    let mut times = all.times_ns.take().unwrap_or_default();
    times.sort_by(f32::total_cmp);
    let us = |share| round(f64::from(percentile(&times, share)) / 1000.0);
    json!({
        "name": format!("elastic/virtual/{}", model.name()),
        "virtual": true,
        "workers": workers,
        "pollers": pollers,
        "latency_rate_mpps": round(mpps),
        "latency_us_p50": us(0.5),
        "latency_us_p99": us(0.99),
        "latency_us_p999": us(0.999),
        "lost": all.dropped,
        "missed_by_card": all.missed,
    })
}

/// One burst: when the last packet was lost, what was lost, how many shards moved, and what left
/// behind it of what was offered.
struct Levelled {
    ms: Option<f64>,
    dropped: u64,
    missed: u64,
    moves: u64,
    to_offered: f64,
}

fn heavy(measured: &Measured, model: Model, workers: usize, able_mpps: f64) -> Value {
    let (offer, lost_alone) = overload(measured, model, workers, able_mpps / 1000.0);
    let offered_mpps = offer.of_all(workers) * 1000.0;
    let bursts = (1..=BURSTS).map(|seed| burst(measured, model, workers, offer, seed, true));
    let bursts: Vec<Levelled> = bursts.collect();
    let levelled = Summary::of(bursts.iter().filter_map(|b| b.ms));
    json!({
        "name": format!("elastic/virtual/heavy/{}", model.name()),
        "virtual": true,
        "workers": workers,
        "bursts": bursts.len(),
        "not_levelled": bursts.iter().filter(|b| b.ms.is_none()).count(),
        "levelled_ms_min": round(levelled.min),
        "levelled_ms_median": round(levelled.median),
        "levelled_ms_max": round(levelled.max),
        "lost": bursts.iter().map(|b| b.dropped).sum::<u64>(),
        "missed_by_card": bursts.iter().map(|b| b.missed).sum::<u64>(),
        "offered_mpps": round(offered_mpps),
        // Of what all workers can do with their shards dealt evenly: above 1 nobody can level it.
        "offered_to_able": round(offered_mpps / able_mpps / workers as f64),
        // Of one burst: with nothing to lose there is nothing to level.
        "lost_without_scaling": lost_alone,
        "moves_median": Summary::of(bursts.iter().map(|b| b.moves as f64)).median,
        "throughput_to_offered_min": round(Summary::of(bursts.iter().map(|b| b.to_offered)).min),
    })
}

/// The least burst of these at which the worker with heavy UEs loses packets if nobody helps it, and
/// how many.
fn overload(measured: &Measured, model: Model, workers: usize, able: f64) -> (Offer, u64) {
    let alone = |offer: Offer| {
        let alone = burst(measured, model, workers, offer, 1, false);
        (offer, alone.dropped + alone.missed)
    };
    let mut offers = Offer::all(model, workers, able).into_iter().map(alone);
    let found = offers.find(|(_, lost)| *lost > OVERLOAD);
    found.unwrap_or((Offer::usual(able), 0))
}

/// One burst, 15 ms after the beginning.
fn burst(
    measured: &Measured,
    model: Model,
    workers: usize,
    offer: Offer,
    seed: u64,
    scaling: bool,
) -> Levelled {
    let (mut all, mut traffic) = world(measured, model, workers, seed);
    let bounds = Bounds {
        least: workers,
        most: workers,
    };
    let sizes = Sizes {
        burst: BURST as u64,
        rings: (HANDOVER_RING * (workers - 1)) as u64,
    };
    let policy = Box::new(Cycles::default());
    let mut scaler = Scaler::new(policy, bounds, sizes, &all, 0);
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

/// A fifth of the UEs of worker 0, each by lot. Where the card knows the shards their packets come
/// to its own queue, otherwise to all.
fn become_heavy(
    traffic: &mut Traffic,
    model: Model,
    workers: usize,
    offer: Offer,
    now_ns: f64,
    seed: u64,
) {
    let is_heavy =
        |ue: u64| (ue + seed).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32 < (1 << 32) / HEAVY;
    let of_worker = (0..SHARDS as u16).filter(|s| usize::from(*s) % workers == 0);
    let heavy: Vec<u16> = of_worker
        .flat_map(|shard| (0..UES).map(move |ue| (shard, u64::from(shard) * UES + ue)))
        .filter(|(_, ue)| is_heavy(*ue))
        .map(|(shard, _)| shard)
        .collect();
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

#[cfg(test)]
mod tests {
    use super::*;

    fn measured() -> Measured {
        Measured {
            own: Costs::fixed(50.0),
            hand: Costs::fixed(20.0),
            take: Costs::fixed(40.0),
            idle_ns: vec![100],
            moves_ns: vec![5_000.0],
        }
    }

    #[test]
    fn throughput_is_what_costs_allow() {
        let mpps = |model, workers| throughput(&measured(), model, workers);
        let rtc = mpps(Model::RunToCompletion, 4);
        assert!((78.0..81.0).contains(&rtc), "{rtc}");
        // One polls at 50 Mpps, three execute 25 each.
        let pipeline = mpps(Model::Pipeline, 4);
        assert!((45.0..51.0).contains(&pipeline), "{pipeline}");
        // Half of all is one's own.
        let mixed = mpps(Model::Mixed, 2);
        assert!((34.0..38.0).contains(&mixed), "{mixed}");
    }

    #[test]
    fn a_burst_is_levelled_by_the_code_of_the_daemon() {
        for (model, workers) in [
            (Model::RunToCompletion, 2),
            (Model::Mixed, 2),
            (Model::Mixed, 4),
        ] {
            let (offer, lost) = overload(&measured(), model, workers, 1.0 / 60.0);
            assert!(lost > OVERLOAD, "{model:?}");
            let alone = burst(&measured(), model, workers, offer, 3, false);
            assert_eq!((alone.ms, alone.moves), (None, 0), "{model:?}");
            let burst = burst(&measured(), model, workers, offer, 3, true);
            let ms = burst.ms.unwrap_or(f64::INFINITY);
            assert!(ms < 10.0, "{model:?}: {ms} ms, {} moves", burst.moves);
            assert!(burst.to_offered > 0.95, "{}", burst.to_offered);
            assert!(burst.moves > 0);
        }
    }

    /// As real turns do, those with few packets cost far more a packet.
    #[test]
    fn who_runs_to_completion_is_relieved_too_where_packets_alone_are_dear() {
        let measured = Measured {
            own: Costs::by_size(&[311.0, 205.0, 147.0, 91.0, 59.0, 44.0, 40.5, 39.5, 39.0]),
            hand: Costs::by_size(&[250.0, 175.0, 130.0, 89.0, 66.0, 41.0, 38.0, 37.0]),
            take: Costs::by_size(&[331.0, 220.0, 144.0, 111.0, 95.0, 88.0, 85.0, 84.0, 81.0]),
            idle_ns: vec![140],
            moves_ns: vec![2_000.0],
        };
        for workers in [2, 4, 8] {
            let able = throughput(&measured, Model::RunToCompletion, workers) / 1000.0;
            let able = able / workers as f64;
            let (offer, lost) = overload(&measured, Model::RunToCompletion, workers, able);
            assert!(lost > OVERLOAD);
            for seed in 1..=BURSTS {
                let burst = burst(
                    &measured,
                    Model::RunToCompletion,
                    workers,
                    offer,
                    seed,
                    true,
                );
                let ms = burst.ms.unwrap_or(f64::INFINITY);
                assert!(
                    ms < 10.0,
                    "{workers} workers: {ms} ms, {} moves",
                    burst.moves
                );
            }
        }
    }

    #[test]
    fn latency_is_at_least_what_a_packet_costs() {
        let result = latency(&measured(), Model::Pipeline, 2, 5.0);
        let p50 = result["latency_us_p50"].as_f64().unwrap_or_default();
        assert!((0.06..2.0).contains(&p50), "{result}");
    }
}
