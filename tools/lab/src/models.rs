//! Runner `models`: throughput and latency of one execution model.
//!
//! `profiles`: the same with a load of so much of that beside it.

use super::testbed::{
    CurrentTestbed, Load, Offered, add_distribution, at_full_load, at_mpps, each, engine_mpps,
    model, offer, repeats, sessions, undisturbed,
};
use crate::experiments::{Job, Measured, Problem};
use sluice_bench::elastic::source::Pace;
use sluice_bench::elastic::testbed::Testbed;
use sluice_control::scaling::load_estimate::LoadEstimate;
use sluice_host::clock;
use sluice_port::Packet;
use sluice_upf_daemon::scaling::readings;
use std::time::Duration;

/// Throughput at full load.
pub fn models<P: Packet + Send + 'static>(
    testbed: &mut CurrentTestbed<P>,
    job: &Job<'_>,
) -> Result<Measured, Problem> {
    let (testbed, mut measured) = full(testbed, job)?;
    if job.text("latency").is_ok() {
        add_latency(&mut measured, testbed, job)?;
    }
    testbed.drain();
    Ok(measured)
}

/// Latency when packets come as fast as they are taken.
fn add_latency<P: Packet + Send + 'static>(
    measured: &mut Measured,
    testbed: &mut Testbed<P>,
    job: &Job<'_>,
) -> Result<(), Problem> {
    let (mut p50, mut p99, mut times) = (vec![], vec![], vec![]);
    let each = each(job)?;
    for _ in 0..repeats(job)? {
        let seen = undisturbed(testbed, job, |testbed| offer(testbed, Pace::FULL, each))?;
        let offered = seen.what;
        measured.disturbed = measured.disturbed.take().or(seen.disturbed);
        p50.push(offered.us(0.5));
        p99.push(offered.us(0.99));
        times = offered.times_ns;
    }
    measured.add("latency_us_p50", p50);
    measured.add("latency_us_p99", p99);
    add_distribution(measured, &times);
    Ok(())
}

/// Rate of the point's model at full load.
fn full<'a, P: Packet + Send + 'static>(
    testbed: &'a mut CurrentTestbed<P>,
    job: &Job<'_>,
) -> Result<(&'a mut Testbed<P>, Measured), Problem> {
    let load = Load::of(job)?;
    let model = model(job.text("model")?)?;
    let testbed = testbed.of_sessions(sessions(job)?, &load)?;
    let (all, disturbed) = at_full_load(testbed, model, job)?;
    let mut measured = Measured {
        disturbed,
        ..Measured::default()
    };
    let gbits = load.tunnel_frame() * 8.0 / 1000.0;
    measured.add("mpps", all.iter().map(|one| one.mpps.median));
    measured.add("engine_mpps", all.iter().map(engine_mpps));
    measured.add("gbps", all.iter().map(|one| engine_mpps(one) * gbits));
    Ok((testbed, measured))
}

/// Turns without packets, which tell what a turn costs by itself.
const IDLE_NS: u64 = 1_000_000;

/// Offers packets, and says for which share of the time the workers' packets kept them busy, as the
/// daemon's scaling sees it.
fn with_load<P: Packet + Send + 'static>(
    testbed: &mut Testbed<P>,
    pace: Pace,
    each: Duration,
) -> (Offered, f64) {
    let mut effort = LoadEstimate::default();
    let mut busy_ns = |testbed: &Testbed<P>| -> u64 {
        let readings = effort.of(readings(&testbed.core)).into_iter();
        readings.map(|worker| worker.busy_ns).sum()
    };
    testbed.drain();
    busy_ns(testbed);
    testbed.turn_for(IDLE_NS);
    let (before, began_ns) = (busy_ns(testbed), clock::monotonic_ns());
    let offered = offer(testbed, pace, each);
    // Draining is idle, and short.
    let wall_ns = (clock::monotonic_ns() - began_ns).min(each.as_nanos() as u64);
    let load = (busy_ns(testbed) - before) as f64 / (2 * wall_ns) as f64;
    (offered, load)
}

/// Throughput, then workers' load, latency and order at a share of it.
pub fn profiles<P: Packet + Send + 'static>(
    testbed: &mut CurrentTestbed<P>,
    job: &Job<'_>,
) -> Result<Measured, Problem> {
    let share = job.number("load")?;
    let (testbed, mut measured) = full(testbed, job)?;
    let each = each(job)?;
    let most = measured.series.get("mpps").map_or(1.0, |mpps| mpps.median);
    let (mut busy, mut p50, mut p99, mut reordered) = (vec![], vec![], vec![], vec![]);
    for _ in 0..repeats(job)? {
        let pace = at_mpps(share * most);
        let seen = undisturbed(testbed, job, |testbed| with_load(testbed, pace, each))?;
        let (offered, load) = seen.what;
        busy.push(load * 100.0);
        p50.push(offered.us(0.5));
        p99.push(offered.us(0.99));
        reordered.push(offered.balance.reordered as f64);
        measured.disturbed = measured.disturbed.or(seen.disturbed);
    }
    measured.add("worker_load", busy);
    measured.add("latency_us_p50", p50);
    measured.add("latency_us_p99", p99);
    measured.add("reordered", reordered);
    Ok(measured)
}
