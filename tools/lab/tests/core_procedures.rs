//! Runner `core-procedures`, in short: `sluice core` in each wiring, with UEs of `sluice ran`.
#![forbid(unsafe_code)]

use std::fs;
use std::process::Command;

use serde_json::Value;
use sluice_host::env_check::{self, Need};

const PLAN: &str = "\
name: tiny-core
title: Four UEs in each wiring
paper: {system: mine, reference: Me 2026, figure: none}
status: runs
runner: core-procedures
axes:
  - {name: wiring, says: wiring, values: [thread, ring, socket, http2]}
held: {ues: 4, placement: CPUs shared, seconds: 0.3, repeats: 1}
series:
  - {name: procedures_per_s, says: procedures, unit: 1/s, how: measured}
  - {name: core_cpu_ms, says: CPU of the core, unit: ms, how: measured}
expectations:
  - name: cpu
    says: programs have used CPUs
    left: {series: core_cpu_ms, reduce: min}
    at_least: 0.01
";

/// `sluice-core` and `sluice-ran` lie beside the lab's program: `make test` builds all of them.
#[test]
fn ues_go_through_their_procedures_in_each_wiring() {
    let needs = [Need::NetworkAdmin, Need::Tool("ip")];
    if let Some(lack) = env_check::missing(&needs).first() {
        println!("skipped: needs root ({lack})");
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let plans = folder.path().join("plans");
    fs::create_dir(&plans).expect("room for it");
    fs::write(plans.join("tiny-core.yaml"), PLAN).expect("room for it");
    let out = folder.path().join("out");
    let mut command = Command::new(env!("CARGO_BIN_EXE_sluice-lab"));
    command.args(["run", "tiny-core", "--plans"]).arg(&plans);
    command.arg("--out").arg(&out);
    let output = command.output().expect("the program runs");
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said).into_owned();
    assert_eq!(output.status.code(), Some(0), "{said}");
    let result = fs::read_to_string(out.join("tiny-core/result.json")).expect("a result");
    let result: Value = serde_json::from_str(&result).expect("JSON");
    let points = result["results"].as_array().expect("points");
    assert_eq!(points.len(), 4, "{result:#}");
    for point in points {
        let median = |series: &str| point["measured"]["series"][series]["median"].as_f64();
        for procedure in ["registration", "session", "deregistration"] {
            let [p50, p99, mean] =
                ["p50", "p99", "mean"].map(|figure| median(&format!("{procedure}_ms_{figure}")));
            assert!(Some(0.0) < p50 && p50 <= p99, "{point:#}");
            assert!(Some(0.0) < mean, "{point:#}");
        }
        assert!(median("procedures_per_s") > Some(0.0), "{point:#}");
    }
}
