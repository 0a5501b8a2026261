//! Simulated heavy hitters: the least burst that overloads a worker, and how scaling levels it.

use super::burst::{Course, Offer, Scene};
use super::costs::Measured;
use super::{MS, pollers};
use crate::elastic::models::Model;
use crate::report::{join, spread};
use crate::stats::{Summary, round};
use serde_json::{Value, json};

/// A worker that loses more in a burst is overloaded.
const OVERLOAD: u64 = 10_000;
/// Bursts for each number of workers.
const BURSTS: u64 = 5;
/// The share of a worker's UEs that become heavy.
const HEAVY: f64 = 0.2;
const BEFORE_NS: f64 = 15.0 * MS;
const BURST_NS: f64 = 40.0 * MS;
const LEVELLED_BY_NS: f64 = 10.0 * MS;

/// As with the real workers: shares of what one worker is able to.
const EVEN: f64 = 0.4;
const ON_TOP: f64 = 0.75;
/// Even load where all workers poll for all. A worker then has less work than the packets of its UEs: to overload it
/// before all others, the base load is smaller and the burst larger.
const EVEN_MIXED: f64 = 0.25;
/// Of what all workers are able to, that much is asked for at the most.
const OF_ALL: f64 = 0.85;

/// Result of a burst: time of the last loss, number of lost packets and moved shards, and the transmitted share
/// afterwards.
struct Levelled {
    ms: Option<f64>,
    dropped: u64,
    missed: u64,
    moves: u64,
    to_offered: f64,
}

impl Offer {
    fn usual(able: f64) -> Self {
        Self {
            even: EVEN * able,
            on_top: ON_TOP * able,
        }
    }

    /// Some, smallest first.
    fn all(model: Model, workers: usize, able: f64) -> Vec<Self> {
        match model {
            Model::Mixed => {
                let even = EVEN_MIXED * able;
                let most = (OF_ALL - EVEN_MIXED) * workers as f64;
                let steps =
                    (0..=20).map(|step| ON_TOP + f64::from(step) / 20.0 * (most - ON_TOP).max(0.0));
                let on_top = steps.filter(|on_top| *on_top <= most + 0.001);
                on_top
                    .map(|on_top| Self {
                        even,
                        on_top: on_top * able,
                    })
                    .collect()
            }
            _ => {
                let factors = [1.0, 1.1, 1.2, 1.35, 1.5, 1.75, 2.0];
                let all = factors.map(|factor| Self::usual(factor * able)).into_iter();
                // Beyond what all are able to, nobody can level it.
                let most = able * workers as f64;
                all.filter(|offer| offer.of_all(workers) <= most).collect()
            }
        }
    }

    /// Of all UEs together in a burst.
    fn of_all(&self, workers: usize) -> f64 {
        self.even * workers as f64 + self.on_top
    }
}

/// Several bursts, all alike but for the lots.
pub(super) fn heavy(measured: &Measured, model: Model, workers: usize, able_mpps: f64) -> Value {
    let (offer, lost_alone) = overload(measured, model, workers, able_mpps / 1000.0);
    let offered_mpps = offer.of_all(workers) * 1000.0;
    let bursts = (1..=BURSTS).map(|seed| burst(measured, model, workers, offer, seed, true));
    let bursts: Vec<Levelled> = bursts.collect();
    let levelled = Summary::of(bursts.iter().filter_map(|b| b.ms));
    let figures = json!({
        "name": format!("elastic/virtual/heavy/{}", model.name()),
        "virtual": true,
        "workers": workers,
        "bursts": bursts.len(),
        "not_levelled": bursts.iter().filter(|b| b.ms.is_none()).count(),
        "lost": bursts.iter().map(|b| b.dropped).sum::<u64>(),
        "missed_by_card": bursts.iter().map(|b| b.missed).sum::<u64>(),
        "offered_mpps": round(offered_mpps),
        // Of what all workers can do with their shards dealt evenly: above 1 nobody can level it.
        "offered_to_able": round(offered_mpps / able_mpps / workers as f64),
        // Of one burst: with nothing to lose there is nothing to level.
        "lost_without_scaling": lost_alone,
        "moves_median": Summary::of(bursts.iter().map(|b| b.moves as f64)).median,
        "throughput_to_offered_min": round(Summary::of(bursts.iter().map(|b| b.to_offered)).min),
    });
    join(figures, spread("levelled_ms", levelled))
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
    levels: bool,
) -> Levelled {
    let scene = Scene {
        model,
        workers: [workers, pollers(model, workers, measured)],
        offer,
        share_of_ues: HEAVY,
        begins_ns: BEFORE_NS,
        levels,
        seed,
    };
    let mut course = Course::new(measured, scene);
    let (mut lost, mut last_loss_ns, mut executed) = (0, 0.0, 0);
    while course.now_ns < BEFORE_NS + BURST_NS {
        if course.now_ns < BEFORE_NS + LEVELLED_BY_NS {
            executed = course.all.executed;
        }
        course.step();
        let gone = course.all.missed + course.all.dropped;
        if gone > lost && course.now_ns > BEFORE_NS {
            last_loss_ns = course.now_ns - BEFORE_NS;
        }
        lost = gone;
    }
    let offered = offer.of_all(workers) * (BURST_NS - LEVELLED_BY_NS);
    Levelled {
        ms: (last_loss_ns < BURST_NS - LEVELLED_BY_NS).then_some(last_loss_ns / MS),
        dropped: course.all.dropped,
        missed: course.all.missed,
        moves: course.moves(),
        to_offered: (course.all.executed - executed) as f64 / offered,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::elastic::virtual_time::costs::Costs;
    use crate::elastic::virtual_time::throughput;

    #[test]
    fn a_burst_is_levelled_by_the_code_of_the_daemon() {
        for (model, workers) in [
            (Model::RunToCompletion, 2),
            (Model::Mixed, 2),
            (Model::Mixed, 4),
        ] {
            let (offer, lost) = overload(&Measured::fixed(), model, workers, 1.0 / 60.0);
            assert!(lost > OVERLOAD, "{model:?}");
            let alone = burst(&Measured::fixed(), model, workers, offer, 3, false);
            assert_eq!((alone.ms, alone.moves), (None, 0), "{model:?}");
            let burst = burst(&Measured::fixed(), model, workers, offer, 3, true);
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
            // The benchmark has all of `BURSTS`.
            for seed in 1..=2 {
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
    fn no_burst_asks_for_more_than_all_are_able_to() {
        for model in Model::ALL {
            for workers in [2, 4, 16] {
                let all = Offer::all(model, workers, 0.02);
                assert!(!all.is_empty());
                let most = 0.02 * workers as f64;
                assert!(all.iter().all(|offer| offer.of_all(workers) <= most + 1e-9));
            }
        }
    }
}
