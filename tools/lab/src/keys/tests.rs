//! Tests of plan errors: each is refused with its line and what was expected.

use super::{Allowed, RUNNERS, fits};
use crate::experiments::plan::{embedded, from_folder, from_text};
use crate::testbed::{ETH, FCS, INNER_HEADERS};
use sluice_bench::elastic::packet_template::{INNER_MAX, INNER_MIN};

const PLAN: &str = "\
name: imix-models
title: IMIX in three execution models
paper: {system: mine, reference: Me 2026, figure: none}
status: runs
runner: models
axes:
  - name: model
    says: execution model
    values: [rtc, pipeline, mixed]
  - name: uplink_percent
    says: uplink's share
    values: [10, 50, 90]
    quick: [10, 90]
held:
  traffic: IMIX
  header_bytes: 44
  sessions: 100000
  seconds: 1
  repeats: 5
held_quick: {sessions: 8192, seconds: 0.05, repeats: 2}
series:
  - {name: engine_mpps, says: the engine alone, unit: Mpps, how: measured}
";

#[test]
fn slips_in_plans_are_told_before_anything_is_measured() {
    let good = from_text("own.yaml", PLAN, &fits).unwrap();
    assert_eq!(good.given("gbps").unwrap().unit, "Gbit/s");
    let slips: Vec<(String, String, u32, String)> =
        serde_saphyr::from_str(include_str!("slips.yaml")).unwrap();
    for (old, new, line, what) in slips {
        assert!(PLAN.contains(&old), "{old}");
        let text = PLAN.replacen(&old, &new, 1);
        let bad = from_text("own.yaml", &text, &fits).unwrap_err().to_string();
        let start = format!("own.yaml:{line}: ");
        assert!(
            bad.starts_with(&start) && bad.contains(&what),
            "{new}: {bad}"
        );
    }
}

#[test]
fn plans_of_a_folder_are_checked_as_well_and_end_with_wrong_usage() {
    let folder = tempfile::tempdir().unwrap();
    let text = PLAN.replace("header_bytes: 44", "header_bytes: 45");
    std::fs::write(folder.path().join("own.yaml"), text).unwrap();
    let bad = from_folder(folder.path(), &fits).unwrap_err().to_string();
    assert!(bad.contains("own.yaml:16: header_bytes: got '45'"), "{bad}");
    let (exit, why) = crate::plans(Some(folder.path())).unwrap_err();
    assert_eq!((exit, why), (sluice_program::exit::Exit::Usage, bad));
}

#[test]
fn plans_of_the_house_fit_and_a_curve_that_nobody_draws_is_refused() {
    let all = embedded(&fits).unwrap();
    for one in all.iter().filter(|one| one.runs()) {
        assert!(!one.gives.is_empty(), "{}", one.name);
    }
    let used = |name: &str| all.iter().any(|one| one.runner.as_deref() == Some(name));
    assert!(RUNNERS.iter().all(|runner| used(&runner.name)));
    let plot =
        "plots:\n  - {name: p, title: t, kind: distribution, x: us, y: [latencys], y_says: [y]}\n";
    let text = format!("{PLAN}{plot}");
    let bad = from_text("own.yaml", &text, &fits).unwrap_err().to_string();
    assert!(bad.starts_with("own.yaml:24: plot 'p'"), "{bad}");
    assert!(bad.contains("did you mean 'latency'?"), "{bad}");
}

#[test]
fn sizes_are_those_that_sources_can_make() {
    for key in RUNNERS.iter().flat_map(|runner| &runner.keys) {
        let around = match &key.name[..] {
            "payload_bytes" => -(INNER_HEADERS as f64),
            "frame_bytes" => (ETH + FCS) as f64,
            _ => continue,
        };
        // The longest frame has the shorter outer header besides.
        let outer = if around > 0.0 { 36.0 } else { 0.0 };
        let (from, to) = (INNER_MIN as f64 + around, INNER_MAX as f64 + around + outer);
        assert!(matches!(key.takes, Allowed::Whole(a, b) if (a, b) == (from, to)));
    }
}
