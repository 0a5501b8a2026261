//! Simulated workers under constant load: throughput and latency.

use super::costs::Measured;
use super::{MS, Model, world};
use crate::elastic::measure::percentile;
use crate::stats::round;
use serde_json::{Value, json};

/// Throughput is counted for so long, latency as well, once it runs.
const LONG_NS: f64 = 5.0 * MS;
/// Packets in rings for each worker when nobody polls any more, at full load.
const IN_FLIGHT: usize = 1024;

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

/// Times from arrival to departure when so many packets come in a microsecond.
pub(super) fn latency(measured: &Measured, model: Model, workers: usize, mpps: f64) -> Value {
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
