//! One small run of each runner that needs no DPDK, on whatever the machine has left: no figure
//! counts, but each is there and nothing is lost without a name.

use super::keys::fits;
use super::lookup::lookup;
use super::many_workers;
use super::models::{models, profiles};
use super::scaling::scaling;
use super::shaping::shaping;
use super::testbed::{CurrentTestbed, Machine};
use super::zero_loss::zero_loss;
use crate::experiments::plan::embedded;
use crate::experiments::point::Scalar;
use crate::experiments::{At, Experiment, Job, Measured, Problem};
use sluice_bench::path::io::Pool;
use sluice_host::thread;
use sluice_port_sim::{HeapPacket, HeapPool, PoolConfig};
use std::any::Any;
use std::sync::Arc;

fn machine() -> Machine<HeapPacket> {
    let pool = HeapPool::new(PoolConfig {
        segments: 24_576,
        ..PoolConfig::default()
    });
    let allowed = thread::allowed_cpus().unwrap();
    let fresh = move || -> Pool<HeapPacket> {
        let pool = pool.clone();
        Box::new(move || pool.alloc())
    };
    let register = || -> Box<dyn Any> { Box::new(()) };
    Machine {
        pool: Box::new(fresh),
        register: Arc::new(register),
        cpus: [allowed[0], *allowed.last().unwrap()],
    }
}

/// The experiment, made very small, at its first point with these values.
fn small(name: &str, with: &[(&str, Scalar)]) -> (Experiment, At) {
    let all = embedded(&fits).unwrap();
    let mut one = all.into_iter().find(|one| one.name == name).unwrap();
    for (what, value) in [
        ("sessions", 4096.0),
        ("seconds", 0.02),
        ("repeats", 1.0),
        ("steps", 2.0),
        ("step_seconds", 0.1),
        ("top_load", 3.0),
    ] {
        if one.held.contains_key(what) {
            one.held_quick
                .insert(what.to_owned(), Scalar::Number(value));
        }
    }
    let mut at = one.points(true).remove(0);
    for (axis, value) in with {
        at.insert((*axis).to_owned(), value.clone());
    }
    (one, at)
}

fn text(text: &str) -> Scalar {
    Scalar::Text(text.to_owned())
}

fn measured(
    (experiment, at): &(Experiment, At),
    run: impl FnOnce(&Job<'_>) -> Result<Measured, Problem>,
) -> Measured {
    let job = Job {
        experiment,
        at,
        quick: true,
        stop: &|| false,
    };
    let measured = run(&job).unwrap();
    for name in measured.series.keys() {
        // Also what is not asked for: its unit is known.
        assert!(experiment.given(name).is_some(), "{name}");
    }
    measured
}

#[test]
fn runners_measure_what_their_experiments_say() {
    let (mut testbed, mut known) = (CurrentTestbed::new(machine()), None);
    let full = small(
        "b-payload",
        &[
            ("model", text("mixed")),
            ("payload_bytes", Scalar::Number(1024.0)),
        ],
    );
    let full = measured(&full, |job| models(&mut testbed, job));
    assert!(full.series["mpps"].median > 0.0 && full.series["engine_mpps"].median > 0.0);
    let steering = small("c-steering", &[("traffic", text("IMIX"))]);
    let steering = measured(&steering, |job| models(&mut testbed, job));
    assert!(steering.series["latency_us_p50"].median > 0.0);
    assert!(steering.curves["latency"].len() > 50);
    let profile = measured(&small("d-profiles", &[]), |job| profiles(&mut testbed, job));
    assert_eq!(profile.series["reordered"].max, 0.0);
    assert!(profile.series["worker_load"].median > 0.0);
    for (name, frame) in [("a-remove", 100.0), ("a-add", 1482.0)] {
        let small = small(name, &[("frame_bytes", Scalar::Number(frame))]);
        let found = measured(&small, |job| zero_loss(&mut testbed, job));
        let (percent, ceiling) = (
            found.series["percent"].max,
            found.series["ceiling_percent"].max,
        );
        assert!(
            (0.0..=ceiling + 0.01).contains(&percent),
            "{percent} of {ceiling}"
        );
    }
    let two = small("b-cores", &[("cores", Scalar::Number(2.0))]);
    let two = measured(&two, |job| {
        many_workers::cores(&mut testbed, &mut known, job)
    });
    assert!(two.series["mpps"].median > 0.0 && two.series["real_mpps"].median > 0.0);
    // Reckoned with the costs that were just measured.
    for model in ["rtc", "pipeline", "sluice"] {
        let small = small(
            "b-skew",
            &[("model", text(model)), ("hot_load", Scalar::Number(0.5))],
        );
        let found = measured(&small, |job| {
            many_workers::skew(&mut testbed, &mut known, job)
        });
        let sent = found.series["sent_percent"].median;
        assert!((80.0..=100.0).contains(&sent), "{model}: {sent}");
    }
}

/// A look-up that finds nothing is a failure.
#[test]
fn each_translation_is_found_in_either_table() {
    for table in ["binary search", "numbered"] {
        let small = small(
            "a-translation",
            &[("table", text(table)), ("entries", Scalar::Number(1000.0))],
        );
        let found = measured(&small, lookup);
        assert!(found.series["lookup_ns"].median > 0.0);
    }
}

/// In a second of virtual time: the rate is kept, and packets wait where they are shaped.
#[test]
fn an_ambr_is_kept_by_delay_and_by_dropping() {
    for traffic in ["TCP", "bursts"] {
        let of = |scheme: &str| {
            let with = [
                ("scheme", text(scheme)),
                ("traffic", text(traffic)),
                ("ambr_mbps", Scalar::Number(10.0)),
                ("flows", Scalar::Number(4.0)),
            ];
            let mut small = small("c-shaping", &with);
            let seconds = ("seconds".to_owned(), Scalar::Number(3.0));
            small.0.held_quick.extend([seconds]);
            measured(&small, shaping)
        };
        let [policed, shaped] = ["policing", "shaping"].map(of);
        let of = |found: &Measured, series: &str| found.series[series].median;
        assert!(
            (70.0..104.0).contains(&of(&policed, "of_ambr")),
            "{traffic}"
        );
        assert!((90.0..101.0).contains(&of(&shaped, "of_ambr")), "{traffic}");
        assert_eq!(of(&policed, "latency_us_p99"), 0.0, "{traffic}");
        assert!(of(&shaped, "latency_us_p50") > 1_000.0, "{traffic}");
        assert!(of(&shaped, "latency_us_p99") <= 101_000.0, "{traffic}");
        assert!(of(&policed, "lost_percent") > 0.0, "{traffic}");
    }
}

/// The capacity of the workers is measured first. If other processes use the CPUs meanwhile, the result is too low: the
/// second worker may then not be needed, or the curve have few points, but not repeatedly.
#[test]
fn a_worker_rests_under_light_load_and_comes_in_when_the_load_grows() {
    let mut testbed = CurrentTestbed::new(machine());
    let scaleout = small("c-scaleout", &[("design", text("steer"))]);
    let came_in = (0..10).any(|_| {
        let found = measured(&scaleout, |job| scaling(&mut testbed, job));
        found.curves["rate"].len() > 20 && found.series["scale_outs"].median == 1.0
    });
    assert!(came_in);
}

#[test]
fn what_no_runner_understands_is_named() {
    let mut testbed = CurrentTestbed::new(machine());
    let (experiment, at) = small("b-payload", &[("model", text("quantum"))]);
    let job = Job {
        experiment: &experiment,
        at: &at,
        quick: true,
        stop: &|| false,
    };
    let why = models(&mut testbed, &job).unwrap_err().to_string();
    assert!(why.contains("model: got 'quantum'; expected rtc"), "{why}");
    let stopped = Job {
        stop: &|| true,
        ..job
    };
    assert_eq!(stopped.go_on(), Err(Problem::Interrupted));
}
