//! `sluice bench --history` and `sluice bench compare` from outside: what is measured is kept, what
//! became slower is named, and the exit code tells.
#![forbid(unsafe_code)]

use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::process::Command;

const NAME: &str = "path/ul/default/100";

/// Exit code, standard output, standard error.
fn bench(arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_sluice-bench"))
        .args(arguments)
        .env_remove("SLUICE_LOG")
        .env("SLUICE_COMMIT", "0123abc")
        .output()
        .expect("the binary runs");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
    (
        output.status.code(),
        text(output.stdout),
        text(output.stderr),
    )
}

/// Five repetitions of a few milliseconds: no figure counts.
fn measured(history: &str) -> Value {
    let tiny = "path --json --sessions 100 --only ul/default --reps 5 --seconds 0.004";
    let watched = ["--warn-only", "--history", history];
    let arguments: Vec<&str> = tiny.split(' ').chain(watched).collect();
    let (code, out, err) = bench(&arguments);
    assert_eq!(code, Some(0), "{err}");
    serde_json::from_str(&out).expect("JSON and nothing else")
}

fn lines(history: &str) -> Vec<Value> {
    let text = fs::read_to_string(history).expect("a history");
    let lines = text.lines().map(serde_json::from_str);
    lines.collect::<Result<_, _>>().expect("JSON on each line")
}

#[test]
fn runs_are_kept_and_what_became_slower_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("history.jsonl");
    let history = path.to_str().expect("UTF-8");

    let first = measured(history);
    assert_eq!(first["comparison"]["compared_with"], json!([]));
    assert_eq!(first["comparison"]["names"][0]["verdict"], "new");
    let second = measured(history);
    let compared = &second["comparison"];
    assert_eq!(compared["run"]["line"], 2);
    assert_eq!(compared["compared_with"][0]["line"], 1);
    assert_eq!(compared["compared_with"][0]["commit"], "0123abc");
    assert_eq!(compared["names"][0]["name"], NAME);
    let ratio = &second["results"][0]["ratio_to_limit"];
    let median = compared["names"][0]["median_now"]
        .as_f64()
        .expect("a ratio");
    let apart = (median / ratio.as_f64().expect("a ratio") - 1.0).abs();
    assert!(apart < 0.5, "{median} is a ratio to the limit, as {ratio}");

    slower(&path);
    broken(history);
}

/// The same figures, by another program, half as long then: exit code 1, and the name.
fn slower(path: &Path) {
    let history = path.to_str().expect("UTF-8");
    let mut runs = lines(history);
    let samples = &runs[1]["series"][0]["samples"];
    let samples: Vec<f64> = serde_json::from_value(samples.clone()).expect("numbers");
    assert_eq!(samples.len(), 5);
    runs[0]["program"] = json!("another");
    let half: Vec<f64> = (0..5).map(|i| 0.5 + f64::from(i) / 1000.0).collect();
    let whole: Vec<f64> = half.iter().map(|half| half * 2.0).collect();
    for (run, samples) in runs.iter_mut().zip([half, whole]) {
        run["series"][0]["samples"] = json!(samples);
        run["series"][0]["disturbed"] = Value::Null;
    }
    fs::write(path, format!("{}\nnothing\n{}\n", runs[0], runs[1])).expect("room");

    let (code, out, err) = bench(&["compare", history]);
    assert_eq!(code, Some(1), "{out}{err}");
    assert!(
        out.contains(&format!("slower: {NAME}: 0.5020 then, 1.0040 now")),
        "{out}"
    );
    assert!(
        err.contains(&format!("{history}:2: skipped: not a run")),
        "{err}"
    );
    let (code, out, _) = bench(&["compare", history, "--json"]);
    let object: Value = serde_json::from_str(&out).expect("JSON and nothing else");
    assert_eq!((code, &object["slower"]), (Some(1), &json!([NAME])));
    assert_eq!(object["history_damaged"][0]["line"], 2);
    let (code, _, _) = bench(&["compare", history, "--warn-only"]);
    assert_eq!(code, Some(0));
    let (code, out, _) = bench(&["compare", history, "--list"]);
    assert_eq!((code, out.lines().count()), (Some(0), 2), "{out}");

    // The first has nothing before it.
    let (code, out, _) = bench(&["compare", history, "--run", "1"]);
    assert_eq!(code, Some(0));
    assert!(out.contains("no earlier run is comparable"), "{out}");
}

fn broken(history: &str) {
    let wrong = [
        (
            vec!["compare", history, "--with", "2"],
            "line 2 of the history is no run",
        ),
        (
            vec!["compare", history, "--with", "ffff"],
            "begins with ffff",
        ),
        (
            vec!["compare", history, "--run", "9"],
            "--run 9: that line is no run",
        ),
        (vec!["compare", "/nowhere/at/all"], "there is no such file"),
        (
            vec!["path", "--history", "/nowhere/at/all"],
            "expected a file that can be written",
        ),
        (vec!["path", "--warn-only"], "--history"),
    ];
    for (arguments, why) in wrong {
        let (code, out, err) = bench(&arguments);
        assert_eq!((code, &out[..]), (Some(2), ""), "{arguments:?}");
        assert!(err.contains(why), "{arguments:?}: {err}");
    }
}
