//! Simulation of more workers than there are CPUs, in virtual time.
//!
//! What a turn costs is drawn from turns that the real workers took in the same run, without source
//! and sink; queues, rings and time are counted. Who moves where is decided by the daemon's own
//! code (`Scaler`). What is not in it: that workers share a memory bus and a last-level cache. So
//! it tells how models, rings and scaling behave, not what a processor with so many cores makes.
//!
//! `steady` has the load stay as it is, `heavy` has UEs become heavy, one `burst` after the other.

mod burst;
pub mod costs;
mod heavy;
mod model;
pub mod nic_model;
mod offered_load;
mod steady;
pub mod traffic;
pub mod workers;

pub use model::Model;
pub use steady::throughput;

use super::models::ModelFigures;
use crate::stats::round;
use costs::{Costs, Measured};
use serde_json::{Value, json};
use traffic::Traffic;
use workers::Workers;

/// How many workers.
const WORKERS: [usize; 4] = [2, 4, 8, 16];
const MS: f64 = 1_000_000.0;
/// Latency at this share of a model's throughput.
const LOAD: f64 = 0.5;

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
            let mut result = steady::latency(&measured, model, workers, LOAD * mpps);
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
