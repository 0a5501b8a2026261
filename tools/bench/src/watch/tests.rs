//! Made histories: what is promised of the comparison, tried a thousand times.

use super::compare::{Comparison, Row, With, compare};
use super::history::{FORMAT, Kept, Run, RunArguments, Series};
use super::verdict::{ALPHA, Contrast, Verdict};
use crate::stats::Random;
use std::sync::LazyLock;

/// Repetitions that benchmarks make unless told otherwise.
const REPS: usize = 25;
/// Names of a run, half of what `sluice bench path` has.
const NAMES: usize = 12;
/// How far repetitions of one run lie from their median (standard deviation), and medians of runs of
/// one program from each other, as shares.
const WITHIN: f64 = 0.03;
const BETWEEN: f64 = 0.01;

/// Normal, nearly: the sum of twelve.
fn normal(random: &mut Random) -> f64 {
    (0..12).map(|_| random.uniform()).sum::<f64>() - 6.0
}

/// Repetitions with now and then one far above, as when something else runs.
fn samples(random: &mut Random, median: f64, n: usize) -> Vec<f64> {
    let median = median * (1.0 + BETWEEN * normal(random));
    let mut one = || {
        let far = if random.uniform() < 0.05 {
            0.2 * random.uniform()
        } else {
            0.0
        };
        median * (1.0 + far + WITHIN * normal(random))
    };
    (0..n).map(|_| one()).collect()
}

fn name(at: usize) -> String {
    format!("path/made/{at}")
}

/// Runs of program `program`: name 3 takes `slower` times as long.
fn run(random: &mut Random, program: &str, slower: f64, reps: usize) -> Run {
    let series = (0..NAMES).map(|at| {
        let median = if at == 3 { 1.3 * slower } else { 1.3 };
        Series::ratio(name(at), "ns by the limit's", samples(random, median, reps))
    });
    plain(program, series.collect())
}

/// This program is read but once: hashing it takes longer than a thousand comparisons.
fn plain(program: &str, series: Vec<Series>) -> Run {
    static HERE: LazyLock<Run> = LazyLock::new(|| {
        let asked = RunArguments {
            bench: "path",
            ..RunArguments::default()
        };
        Run::now(asked, vec![], None)
    });
    Run {
        program: program.to_owned(),
        series,
        ..HERE.clone()
    }
}

fn history(runs: impl IntoIterator<Item = Run>) -> Vec<Kept> {
    let lines = (1..).zip(runs);
    lines.map(|(line, run)| Kept { line, run }).collect()
}

fn last(kept: &[Kept]) -> Comparison {
    compare(kept, kept.last().unwrap(), &With::Last).unwrap()
}

fn slower(comparison: &Comparison) -> Vec<String> {
    comparison.slower().map(|row| row.name.clone()).collect()
}

fn row(comparison: &Comparison, name: &str) -> Row {
    let found = comparison.rows.iter().find(|row| row.name == name);
    found.unwrap().clone()
}

fn differs(row: &Row) -> bool {
    row.contrast.as_ref().is_some_and(Contrast::differs)
}

#[test]
fn without_a_change_less_than_promised_is_called_slower_or_faster() {
    let mut random = Random::new(0x9e37_79b9_7f4a_7c15);
    let mut wrong = 0;
    for _ in 0..1_000 {
        let kept = history(["a", "b"].map(|program| run(&mut random, program, 1.0, REPS)));
        wrong += usize::from(last(&kept).rows.iter().any(differs));
    }
    assert!(wrong as f64 <= 1_000.0 * ALPHA, "{wrong} of 1,000 runs");
}

#[test]
fn a_slowdown_of_a_tenth_is_found_by_name() {
    let mut random = Random::new(0x2545_f491_4f6c_dd1d);
    let mut found = 0;
    for _ in 0..200 {
        let kept = history([
            run(&mut random, "a", 1.0, REPS),
            run(&mut random, "b", 1.1, REPS),
        ]);
        let slower = slower(&last(&kept));
        assert!(slower.iter().all(|n| *n == name(3)), "{slower:?}");
        found += slower.len();
    }
    assert!(found >= 180, "{found} of 200");
}

#[test]
fn it_is_told_by_both_medians_and_what_chance_does() {
    let mut random = Random::new(7);
    let kept = history([
        run(&mut random, "a", 1.0, REPS),
        run(&mut random, "b", 1.15, REPS),
    ]);
    let comparison = last(&kept);
    let table = comparison.to_table();
    let told = table.lines().last().unwrap();
    assert!(told.starts_with("slower: path/made/3: 1."), "{table}");
    assert!(
        told.contains(" then, 1.") && told.contains(", p "),
        "{told}"
    );
    let json = comparison.to_json();
    assert_eq!(json["slower"], serde_json::json!([name(3)]));
    let of = |key: &str| json["names"][3][key].as_f64().unwrap();
    assert!(
        of("ratio") > 1.1 && of("p") <= ALPHA,
        "{}",
        json["names"][3]
    );
    assert_eq!(json["names"][4]["verdict"], "no difference shown");
    assert_eq!(json["compared_with"][0]["line"], 1);
}

#[test]
fn too_few_repetitions_are_said_to_be_too_few() {
    let mut random = Random::new(11);
    let kept = history([run(&mut random, "a", 1.0, 5), run(&mut random, "b", 1.3, 5)]);
    let comparison = last(&kept);
    let slow = row(&comparison, &name(3));
    assert_eq!(slow.verdict, Verdict::CannotTell);
    let needed = slow.contrast.unwrap().repetitions_needed.unwrap().unwrap();
    assert!((8..=40).contains(&needed), "{needed}");
    assert!(comparison.to_table().contains("cannot tell: about"));
}

#[test]
fn runs_of_one_program_tell_how_much_is_no_difference() {
    let mut random = Random::new(13);
    let mut runs: Vec<Run> = [1.0, 1.12, 0.98]
        .map(|by| run(&mut random, "a", by, REPS))
        .into();
    runs.push(run(&mut random, "b", 1.12, REPS));
    assert_eq!(slower(&last(&history(runs.clone()))), Vec::<String>::new());
    // Against the last alone it would have been told.
    runs.drain(..2);
    assert_eq!(slower(&last(&history(runs))), [name(3)]);
}

#[test]
fn other_machines_arguments_pages_and_failed_runs_are_not_compared_with() {
    let mut random = Random::new(17);
    let new = run(&mut random, "b", 1.3, REPS);
    let old = run(&mut random, "a", 1.0, REPS);
    let mut machine = old.clone();
    machine.machine.insert("cpu".into(), "Another".into());
    let mut arguments = old.clone();
    arguments.conditions.insert("seconds".into(), "9".into());
    let mut failed = old.clone();
    failed.fault = Some("a packet was wrong".into());
    let mut other = old.clone();
    other.bench = "port".into();
    let kept = history([machine, arguments, failed, other, new.clone()]);
    let comparison = last(&kept);
    assert!(comparison.then.is_empty() && slower(&comparison).is_empty());
    let (count, line, why) = comparison.others.clone().unwrap();
    assert_eq!((count, line), (3, 3), "{why}");
    assert!(why.contains("failed: a packet was wrong"), "{why}");
    assert!(
        comparison
            .to_table()
            .contains("no earlier run is comparable")
    );
    let asked = compare(&kept, &kept[4], &With::Line(1)).unwrap_err();
    assert!(
        asked.starts_with("line 1 is not comparable: machine: cpu"),
        "{asked}"
    );
    // A name whose pages changed is new; the others are compared.
    let mut pages = old;
    pages.series[3] = pages.series[3].clone().under("pages", "huge");
    let comparison = last(&history([pages, new]));
    assert_eq!(row(&comparison, &name(3)).verdict, Verdict::New);
    assert!(row(&comparison, &name(4)).contrast.is_some());
}

#[test]
fn names_that_come_and_go_are_told() {
    let mut random = Random::new(19);
    let mut old = run(&mut random, "a", 1.0, REPS);
    let mut new = run(&mut random, "b", 1.0, REPS);
    old.series.remove(5);
    new.series.remove(8);
    new.series
        .push(Series::shown("rtt".into(), "us", [1.0, 2.0]));
    old.series
        .push(Series::shown("rtt".into(), "us", [4.0, 5.0]));
    let comparison = last(&history([old.clone(), new.clone()]));
    assert_eq!(row(&comparison, &name(5)).verdict, Verdict::New);
    assert_eq!(row(&comparison, &name(8)).verdict, Verdict::Gone);
    let rtt = row(&comparison, "rtt");
    assert_eq!((rtt.verdict, rtt.contrast), (Verdict::Shown, None));
    assert_eq!((rtt.median_then, rtt.median_now), (Some(4.5), Some(1.5)));
    // Whoever asked for fewer names misses none.
    new.selection = "only one".into();
    let comparison = last(&history([old, new]));
    assert!(comparison.rows.iter().all(|row| row.name != name(8)));
}

#[test]
fn what_was_disturbed_is_no_baseline_and_does_not_count() {
    let mut random = Random::new(23);
    let quiet = run(&mut random, "a", 1.0, REPS);
    let mut disturbed = run(&mut random, "b", 1.3, REPS);
    disturbed.series[3].disturbed = Some("others had the CPU".into());
    let mut new = run(&mut random, "c", 1.3, REPS);
    // The run between is passed over for this name, and for this name only.
    let comparison = last(&history([quiet.clone(), disturbed.clone(), new.clone()]));
    assert_eq!(row(&comparison, &name(3)).line, Some(1));
    assert_eq!(row(&comparison, &name(4)).line, Some(2));
    assert_eq!(slower(&comparison), [name(3)]);
    // If there is no other, it is told and does not count.
    let slow = run(&mut random, "c", 1.8, REPS);
    let comparison = last(&history([disturbed, slow]));
    let told = row(&comparison, &name(3));
    assert!(differs(&told) && told.disturbed.unwrap().starts_with("then: "));
    assert!(slower(&comparison).is_empty());
    assert!(comparison.to_table().contains("slower, but disturbed"));
    new.series[3].disturbed = Some("others had the CPU".into());
    assert!(slower(&last(&history([quiet, new]))).is_empty());
}

#[test]
fn a_run_can_be_pinned_by_line_or_commit() {
    let mut random = Random::new(29);
    let mut runs = [1.0, 1.3, 1.3].map(|by| run(&mut random, "x", by, REPS));
    for (run, (program, commit)) in runs
        .iter_mut()
        .zip([("a", "12ab"), ("b", "34cd"), ("c", "")])
    {
        (run.program, run.commit) = (program.into(), commit.into());
    }
    let kept = history(runs);
    let with = |text: &str| compare(&kept, &kept[2], &With::parse(Some(text), kept.len()));
    assert!(slower(&last(&kept)).is_empty());
    assert_eq!(slower(&with("1").unwrap()), [name(3)]);
    assert_eq!(slower(&with("12a").unwrap()), [name(3)]);
    assert!(
        slower(&with("34").unwrap()).is_empty(),
        "a commit, for the file has no such line"
    );
    assert!(with("ffff").unwrap_err().contains("begins with ffff"));
    assert!(with("3").unwrap_err().contains("not before line 3"));
    assert_eq!(kept[0].run.format, FORMAT);
}
