//! Tests of plan errors: each is refused with its line and what was expected.

use super::{RUNNERS, fits};
use crate::experiments::plan::{embedded, from_folder, from_text};

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

/// What is changed into what, the line that is named, and what is said of it.
const SLIPS: &[(&str, &str, u32, &str)] = &[
    (
        "repeats: 5",
        "repeat: 5",
        19,
        "unknown key 'repeat' (did you mean 'repeats'?); expected one of sessions, ",
    ),
    (
        "  repeats: 5\n",
        "",
        5,
        "runner 'models' needs 'repeats' (a whole number from 1 to 1000)",
    ),
    (
        "seconds: 1\n",
        "seconds: 1s\n",
        18,
        "seconds: got '1s'; expected a number from 0.001 to 3600",
    ),
    (
        "seconds: 1\n",
        "seconds: 0\n",
        18,
        "seconds: got '0'; expected a number",
    ),
    (
        "  traffic: IMIX",
        "  trafic: IMIX",
        15,
        "unknown key 'trafic' (did you mean 'traffic'?)",
    ),
    (
        "traffic: IMIX",
        "traffic: imix",
        15,
        "got 'imix' (did you mean 'IMIX'?); expected \"64 B\", 'IMIX' or \"1400 B\"",
    ),
    (
        "traffic: IMIX",
        "payload_bytes: 4",
        15,
        "payload_bytes: got '4'; expected a whole number from 16 to 1512",
    ),
    (
        "traffic: IMIX",
        "window: 4",
        15,
        "unknown key 'window'; expected one of",
    ),
    (
        "  traffic: IMIX\n",
        "",
        5,
        "needs 'traffic' or 'payload_bytes'",
    ),
    (
        "  traffic: IMIX",
        "  traffic: IMIX\n  payload_bytes: 64",
        5,
        "'traffic' or 'payload_bytes', not both",
    ),
    (
        "  traffic: IMIX",
        "  traffic: IMIX\n  direction: uplink",
        5,
        "only where 'direction' is both",
    ),
    (
        "header_bytes: 44",
        "header_bytes: 40",
        16,
        "header_bytes: got '40'; expected 36 or 44",
    ),
    (
        "  header_bytes: 44",
        "  header_bytes: 44\n  model: foo",
        17,
        "model: got 'foo'; expected 'rtc', 'pipeline' or 'mixed'",
    ),
    (
        "  header_bytes: 44",
        "  header_bytes: 44\n  model: rtc",
        17,
        "'model' is an axis",
    ),
    (
        "[rtc, pipeline, mixed]",
        "[rtc, pipelin, mixed]",
        9,
        "model: got 'pipelin' (did you mean 'pipeline'?)",
    ),
    (
        "[10, 50, 90]\n    quick: [10, 90]",
        "[10, 50, 190]\n    quick: [10]",
        12,
        "uplink_percent: got '190'; expected a number from 0 to 100",
    ),
    (
        "repeats: 2}",
        "repeats: 1.5}",
        20,
        "repeats: got '1.5'; expected a whole number",
    ),
    (
        "seconds: 0.05",
        "second: 0.05",
        20,
        "did you mean 'seconds'?",
    ),
    (
        "name: uplink_percent",
        "name: uplink",
        10,
        "unknown key 'uplink'; expected",
    ),
    (
        "runner: models",
        "runner: model",
        5,
        "unknown runner 'model' (did you mean 'models'?); expected one of zero-loss, ",
    ),
    (
        "name: engine_mpps",
        "name: engine_mps",
        22,
        "unknown series 'engine_mps' (did you mean 'engine_mpps'?)",
    ),
    (
        "how: measured",
        "how: virtual_time",
        22,
        "'engine_mpps': expected how: measured",
    ),
];

#[test]
fn slips_in_plans_are_told_before_anything_is_measured() {
    let good = from_text("own.yaml", PLAN, &fits).unwrap();
    assert_eq!(good.given("gbps").unwrap().unit, "Gbit/s");
    for (old, new, line, what) in SLIPS {
        assert!(PLAN.contains(old), "{old}");
        let text = PLAN.replacen(old, new, 1);
        let bad = from_text("own.yaml", &text, &fits).unwrap_err().to_string();
        let start = format!("own.yaml:{line}: ");
        assert!(
            bad.starts_with(&start) && bad.contains(what),
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
    assert_eq!((exit, why), (sluice::exit::Exit::Usage, bad));
}

#[test]
fn plans_of_the_house_fit_and_a_curve_that_nobody_draws_is_refused() {
    let all = embedded(&fits).unwrap();
    for one in all.iter().filter(|one| one.runs()) {
        assert!(!one.gives.is_empty(), "{}", one.name);
    }
    let used = |name| all.iter().any(|one| one.runner.as_deref() == Some(name));
    assert!(RUNNERS.iter().all(|runner| used(runner.name)));
    let plot =
        "plots:\n  - {name: p, title: t, kind: distribution, x: us, y: [latencys], y_says: [y]}\n";
    let text = format!("{PLAN}{plot}");
    let bad = from_text("own.yaml", &text, &fits).unwrap_err().to_string();
    assert!(bad.starts_with("own.yaml:24: plot 'p'"), "{bad}");
    assert!(bad.contains("did you mean 'latency'?"), "{bad}");
}
