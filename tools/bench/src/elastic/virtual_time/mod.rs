//! Simulation of more workers than there are CPUs, in virtual time.
//!
//! The cost of a turn is drawn from turns that the real workers took in the same run, without source
//! and sink; queues, rings and time are counted. Who moves where is decided by the daemon's own
//! code (`Scaler`). What is not in it: that workers share a memory bus and a last-level cache. So
//! it tells how models, rings and scaling behave, not what a processor with so many cores makes.
//!
//! Here the load stays as it is; `heavy` has UEs become heavy, one `burst` after the other.

pub mod burst;
pub mod costs;
mod heavy;
pub mod traffic;
pub mod workers;

use super::models::{Model, ModelFigures};
use crate::stats::{percentile, round};
use costs::{Costs, Measured};
use serde_json::{Value, json};
use sluice_datapath::limits::SHARDS;
use traffic::{Feed, Traffic};
use workers::Workers;

const WORKERS: [usize; 4] = [2, 4, 8, 16];
const MS: f64 = 1_000_000.0;
/// Latency at this share of a model's throughput.
const LOAD: f64 = 0.5;
/// Throughput is counted for so long, latency as well, once it runs.
const LONG_NS: f64 = 5.0 * MS;
/// Packets in rings for each worker when nobody polls any more, at full load.
const IN_FLIGHT: usize = 1024;

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
                results.push(heavy::heavy(&measured, model, workers, able_mpps));
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

/// All workers before anything comes, and the traffic, which is still. Of a pipeline so many poll.
pub fn testbed(
    measured: &Measured,
    model: Model,
    [workers, pollers]: [usize; 2],
    seed: u64,
) -> (Workers, Traffic) {
    let owner = |shard: u32| match model {
        Model::Pipeline => pollers + shard as usize % (workers - pollers),
        _ => shard as usize % workers,
    };
    let comes = |queue: usize, shard: u16| match model {
        Model::RunToCompletion => usize::from(shard) % workers == queue,
        _ => queue < pollers,
    };
    let feed = |queue| Feed {
        shards: (0..SHARDS as u16).filter(|s| comes(queue, *s)).collect(),
        ..Feed::default()
    };
    let traffic = Traffic::new((0..workers).map(feed).collect(), seed);
    let workers = Workers::new(measured.clone(), workers, owner, seed);
    (workers, traffic)
}

/// How many workers poll: of a pipeline as many as keep the others busy.
pub fn pollers(model: Model, workers: usize, measured: &Measured) -> usize {
    let (hand, take) = (measured.hand.full_ns(), measured.take.full_ns());
    match model {
        Model::Pipeline => {
            let share = hand / (hand + take);
            ((workers as f64 * share).round() as usize).clamp(1, workers - 1)
        }
        _ => workers,
    }
}

/// Packets in a microsecond when they come as fast as they are taken.
pub fn throughput(measured: &Measured, model: Model, workers: usize) -> f64 {
    throughput_with(
        measured,
        model,
        [workers, pollers(model, workers, measured)],
    )
}

/// The same with so many of the workers polling.
pub fn throughput_with(measured: &Measured, model: Model, workers: [usize; 2]) -> f64 {
    let (mut all, mut traffic) = testbed(measured, model, workers, 1);
    for feed in &mut traffic.feeds {
        feed.set(f64::INFINITY, 0.0, 0.0);
    }
    let in_flight = IN_FLIGHT * workers[0];
    all.run(MS, in_flight, &mut traffic);
    let before = all.executed;
    all.run(MS + LONG_NS, in_flight, &mut traffic);
    (all.executed - before) as f64 / LONG_NS * 1000.0
}

/// Times from arrival to departure when so many packets come in a microsecond.
fn latency(measured: &Measured, model: Model, workers: usize, mpps: f64) -> Value {
    let pollers = pollers(model, workers, measured);
    let (mut all, mut traffic) = testbed(measured, model, [workers, pollers], 2);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn throughput_is_what_costs_allow() {
        let mpps = |model, workers| throughput(&Measured::fixed(), model, workers);
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
    fn latency_is_at_least_what_a_packet_costs() {
        let result = latency(&Measured::fixed(), Model::Pipeline, 2, 5.0);
        let p50 = result["latency_us_p50"].as_f64().unwrap_or_default();
        assert!((0.06..2.0).contains(&p50), "{result}");
    }
}
