//! Runners of system E, in short: programs of Sluice as they are, in namespaces of their own.
#![forbid(unsafe_code)]

use std::fs;
use std::process::Command;

use serde_json::Value;
use sluice_host::env_check::{self, Need};

/// Points of a plan with these lines for runner, axes, and what is held; none where the machine lacks something.
///
/// Programs lie beside the lab's: `make test` builds all of them.
fn points(name: &str, lines: &str, series: &[[&str; 3]]) -> Option<Vec<Value>> {
    let needs = [Need::NetworkAdmin, Need::Tool("ip"), Need::Tun];
    if let Some(lack) = env_check::missing(&needs).first() {
        println!("skipped: needs root ({lack})");
        return None;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let plans = folder.path().join("plans");
    fs::create_dir(&plans).expect("room for it");
    let series: String = series
        .iter()
        .map(|[name, unit, how]| {
            format!("  - {{name: {name}, says: a, unit: {unit}, how: {how}}}\n")
        })
        .collect();
    let plan = format!(
        "name: {name}\ntitle: Short\npaper: {{system: mine, reference: Me 2026, figure: none}}\n\
         status: runs\n{lines}series:\n{series}"
    );
    fs::write(plans.join("plan.yaml"), plan).expect("room for it");
    let out = folder.path().join("out");
    let mut command = Command::new(env!("CARGO_BIN_EXE_sluice-lab"));
    command.args(["run", name, "--plans"]).arg(&plans);
    command.arg("--out").arg(&out);
    let output = command.output().expect("the program runs");
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said).into_owned();
    assert_eq!(output.status.code(), Some(0), "{said}");
    let result = out.join(name).join("result.json");
    let result = fs::read_to_string(result).expect("a result");
    let result: Value = serde_json::from_str(&result).expect("JSON");
    result["results"].as_array().cloned()
}

/// Median of a series at a point.
fn median(point: &Value, series: &str) -> f64 {
    let median = &point["measured"]["series"][series]["median"];
    median
        .as_f64()
        .unwrap_or_else(|| panic!("{series}: {point:#}"))
}

/// Procedures have been done, in times that have an order.
fn have_times(point: &Value, procedures: &[&str]) {
    for procedure in procedures {
        let of = |figure: &str| median(point, &format!("{procedure}_ms_{figure}"));
        assert!(0.0 < of("p50") && of("p50") <= of("p99"), "{point:#}");
        assert!(0.0 < of("mean"), "{point:#}");
    }
}

const SESSIONS: [&str; 3] = ["registration", "session", "deregistration"];
const PROCEDURES: [[&str; 3]; 1] = [["procedures_per_s", "1/s", "measured"]];

#[test]
fn ues_go_through_their_procedures_in_each_wiring() {
    let lines = "runner: core-procedures\naxes:\n\
        \x20 - {name: wiring, says: a, values: [thread, ring, socket, http2]}\n\
        held: {ues: 4, placement: CPUs shared, seconds: 0.3, repeats: 1}\n";
    let Some(points) = points("wirings", lines, &PROCEDURES) else {
        return;
    };
    assert_eq!(points.len(), 4);
    for point in points {
        have_times(&point, &SESSIONS);
        assert!(median(&point, "procedures_per_s") > 0.0);
        assert!(median(&point, "core_cpu_ms") > 0.0);
    }
}

#[test]
fn functions_find_each_other_from_namespaces_of_their_own() {
    let lines = "runner: core-procedures\naxes:\n\
        \x20 - {name: discovery, says: a, values: [kept, each time]}\n\
        held: {wiring: http2, namespaces: one each, ues: 2, placement: CPUs shared, seconds: 0.3, repeats: 1}\n";
    let Some(points) = points("namespaces", lines, &PROCEDURES) else {
        return;
    };
    assert_eq!(points.len(), 2);
    points.iter().for_each(|point| have_times(point, &SESSIONS));
}

/// A UE has its session once the UPF has answered.
#[test]
fn sessions_wait_for_a_upf_that_is_far() {
    let lines = "runner: core-procedures\naxes:\n\
        \x20 - {name: upf_ms, says: a, values: [100]}\n\
        held: {wiring: ring, ues: 1, placement: CPUs shared, seconds: 0.5, repeats: 1}\n";
    let Some(points) = points("distance", lines, &PROCEDURES) else {
        return;
    };
    for point in points {
        have_times(&point, &SESSIONS);
        assert!(median(&point, "session_ms_p50") >= 2.0 * 100.0);
    }
}

#[test]
fn ues_are_handed_over_and_paged() {
    let lines = "runner: core-procedures\naxes:\n\
        \x20 - {name: ues, says: a, values: [2]}\n\
        held: {wiring: ring, activity: mobility, placement: CPUs shared, seconds: 1, repeats: 1}\n";
    let Some(points) = points("mobility", lines, &PROCEDURES) else {
        return;
    };
    for point in points {
        have_times(&point, &SESSIONS);
        have_times(&point, &["handover", "paging"]);
    }
}

#[test]
fn packets_arrive_by_each_way() {
    let lines = "runner: user-plane\naxes:\n\
        \x20 - {name: way, says: a, values: [shared memory, interfaces, sockets]}\n\
        held: {ues: 4, offered_mbps: 2, packet_bytes: 1400, seconds: 0.5, repeats: 1}\n";
    let series = [["received_mbps", "Mbit/s", "measured"]];
    let Some(points) = points("ways", lines, &series) else {
        return;
    };
    assert_eq!(points.len(), 3);
    for point in points {
        assert!(median(&point, "received_mbps") > 0.0, "{point:#}");
        assert!(median(&point, "latency_us_p50") > 0.0, "{point:#}");
    }
}

#[test]
fn cpu_of_procedures_has_parts() {
    let lines = "runner: core-parts\naxes:\n\
        \x20 - {name: procedure, says: a, values: [registration, session, deregistration]}\n\
        held: {wiring: ring, ues: 8, repeats: 1}\n";
    let series = [["total_us", "us", "measured"]];
    let Some(points) = points("parts", lines, &series) else {
        return;
    };
    assert_eq!(points.len(), 3);
    for point in points {
        let parts = ["nf", "wiring", "sctp", "crypto", "store", "ran"];
        let of = |unit: &str| -> f64 {
            let part = |name: &&str| median(&point, &format!("{name}_{unit}"));
            parts.iter().map(part).sum()
        };
        assert!((of("percent") - 100.0).abs() < 0.01, "{point:#}");
        assert!((of("us") - median(&point, "total_us")).abs() < 0.01);
        // Messages were counted, and UEs have worked.
        assert!(median(&point, "sctp_us") > 0.0 && median(&point, "ran_us") > 0.0);
    }
}
