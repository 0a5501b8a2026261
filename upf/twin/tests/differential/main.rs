//! The packet path and the session machine against their twin: the same PFCP messages and the same
//! frames go to both, and every frame that leaves, every drop and its reason, every usage report
//! and every refusal must be the same.
//!
//! A difference is shrunk and told with the seed of its case. To repeat it:
//! `SLUICE_SEED=<seed> SLUICE_CASES=1 cargo test -p sluice-twin --test differential fresh`; to keep it, the line that
//! the failure prints adds it to `kept-seeds.txt`, whose seeds every run repeats.

#![forbid(unsafe_code)]

mod alone;
mod compare;
mod coverage;
mod encode;
mod frames;
mod generate;
mod names;
mod real;
mod refusal;
mod rng;
mod run;
mod show;
mod shrink;
mod spec;
mod world;
mod wrong;
mod wrong_rules;
mod wrong_usage;

use coverage::Counts;
use real::Model;
use rng::Rng;
use run::{Falsify, Honest, Pair};
use sluice_datapath::drop::DropReason;
use spec::Case;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Instant, SystemTime, UNIX_EPOCH};
use world::{Features, SERVED, TRANSLATED};

/// Cases with a fresh seed of each number of workers.
const CASES: u64 = 40_000;

/// Cases with a seed that never changes: they show that harness and generator are what they were.
const FIXED: u64 = 4_000;

/// Seeds that once found a difference: `WORKERS served|translated SEED # why`.
const KEPT_SEEDS: &str = include_str!("kept-seeds.txt");

#[test]
fn kept_seeds_make_no_difference_any_more() {
    let mut kept = 0;
    for line in KEPT_SEEDS.lines().filter(|line| !line.starts_with('#')) {
        let words: Vec<_> = line.split_whitespace().collect();
        let [workers, of, seed, ..] = words[..] else {
            panic!("kept-seeds.txt: expected WORKERS served|translated SEED: {line}");
        };
        let features = match of {
            "served" => SERVED,
            "translated" => TRANSLATED,
            _ => panic!("kept-seeds.txt: expected served or translated: {line}"),
        };
        series_of(
            workers.parse().expect("a number of workers"),
            parse_seed(seed),
            1,
            features,
        );
        kept += 1;
    }
    assert!(kept > 0, "kept-seeds.txt is empty");
}

#[test]
fn one_worker_does_what_the_twin_does_with_a_fixed_seed() {
    series(1, 0x0005_1c1c_e000, FIXED);
}

#[test]
fn three_workers_do_what_the_twin_does_with_a_fixed_seed() {
    series(3, 0x0005_1c1c_e003, FIXED);
}

#[test]
fn one_worker_does_what_the_twin_does_with_a_fresh_seed() {
    series(1, fresh_seed(), cases());
}

#[test]
fn three_workers_do_what_the_twin_does_with_a_fresh_seed() {
    series(3, fresh_seed(), cases());
}

#[test]
fn translation_does_what_the_twin_does_with_a_fixed_seed() {
    for workers in [1, 3] {
        series_of(workers, 0x0005_1c1c_e0a7, FIXED, TRANSLATED);
    }
}

/// The same with a translated data network: strangers are filtered and UEs meet where there is one worker,
/// neither where there are three.
#[test]
fn translation_does_what_the_twin_does_with_a_fresh_seed() {
    let [filtered, met] = coverage::OF_TRANSLATION;
    for (workers, extra) in [(1, filtered), (3, met)] {
        let counts = series_of(workers, fresh_seed(), cases(), TRANSLATED);
        let few = cases() < CASES;
        assert!(few || counts.get(extra).is_some_and(|n| *n > 0), "{extra}");
    }
}

/// What the generator can draw reaches every outcome, whether or not the packet path serves it by now.
#[test]
fn cases_reach_every_outcome_of_the_twin() {
    let mut counts = Counts::new();
    let cases = 10_000;
    for seed in 0..cases {
        let case = generate::case(seed, Features::ALL);
        alone::events(&case, Features::ALL, &mut Honest, &mut counts);
    }
    println!("{counts:?}");
    let missed = coverage::missed(&counts, true, Features::ALL, cases);
    assert!(missed.is_empty(), "never met: {missed:?}");
}

/// No way in which a packet ends is forgotten: this comparison must have met it, or a test of the path does.
#[test]
fn every_drop_reason_must_be_met_here_or_by_a_test_of_the_path() {
    let here = coverage::all();
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../datapath/tests/all");
    let files = std::fs::read_dir(path).expect("tests of the path");
    let texts = files.filter_map(|file| std::fs::read_to_string(file.ok()?.path()).ok());
    let tests: String = texts.collect();
    for reason in DropReason::ALL {
        let is_here = here.contains(&reason.name());
        let elsewhere = coverage::DROPS_ELSEWHERE
            .iter()
            .find(|(of, _)| of == reason);
        match elsewhere {
            None => assert!(is_here, "{} is met nowhere", reason.name()),
            // No packet should end so.
            Some((DropReason::Internal, _)) => assert!(!is_here),
            Some((_, test)) => {
                assert!(!is_here, "{} is met here, too", reason.name());
                assert!(tests.contains(&format!("fn {test}()")), "{test}");
                let asserted = format!("DropReason::{reason:?})");
                assert!(tests.contains(&asserted), "{asserted} is asked for nowhere");
            }
        }
    }
}

/// A twin that reads one part of a filter or of a UE address wrongly says something else of some packet.
#[test]
fn every_condition_of_a_filter_is_seen_from_outside() {
    for (name, mut wrong) in wrong::readers() {
        let found = (0..10_000).find(|seed| {
            let case = generate::case(*seed, Features::ALL);
            let seen = |falsify: &mut dyn Falsify| {
                alone::events(&case, Features::ALL, falsify, &mut Counts::new())
            };
            seen(&mut Honest) != seen(&mut *wrong)
        });
        println!("a twin that {name}: found out by case {found:?}");
        assert!(found.is_some(), "a twin that {name} says the same of all");
    }
}

/// Every deliberately wrong twin is found out, or the comparison would prove nothing.
#[test]
fn wrong_twins_are_found_out() {
    let all = wrong::all().into_iter().chain(wrong_usage::all());
    for (name, mut wrong) in all.chain(wrong_rules::all()) {
        let mut pair = Pair::new(1, Model::Mixed, SERVED);
        let mut seeds = Rng::new(7);
        let found = (0..100_000).find(|_| {
            let case = generate::case(seeds.next(), SERVED);
            let differs = pair.run(&case, &mut *wrong).is_err();
            // By what it does wrong, and not by what the true one would be found out by as well.
            differs && {
                pair = Pair::new(1, Model::Mixed, SERVED);
                pair.run(&case, &mut Honest).is_ok()
            }
        });
        println!("a twin that {name}: found out by {found:?}");
        assert!(found.is_some(), "a twin that {name} was not found out");
    }
}

/// What is told of a difference is short enough to be understood.
#[test]
fn a_difference_is_shrunk_to_its_cause() {
    let differs = |case: &Case| {
        let mut wrong = wrong::all().swap_remove(1).1;
        Pair::new(1, Model::Mixed, SERVED)
            .run(case, &mut *wrong)
            .is_err()
    };
    let case = (0..)
        .map(|seed| generate::case(seed, SERVED))
        .find(&differs);
    let case = shrink::shrink(case.expect("an endless series"), differs);
    let size = case.steps.len();
    assert!(
        size <= 2,
        "{size} steps of a case that takes two:\n{case:#?}"
    );
}

/// `SLUICE_SEED`, or the time.
fn fresh_seed() -> u64 {
    let given = std::env::var("SLUICE_SEED").ok();
    given.as_deref().map(parse_seed).unwrap_or_else(|| {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        now.expect("a clock after 1970").as_nanos() as u64
    })
}

fn parse_seed(text: &str) -> u64 {
    let digits = text.trim_start_matches("0x");
    let radix = if digits.len() < text.len() { 16 } else { 10 };
    u64::from_str_radix(digits, radix).expect("a seed is a number")
}

/// How many times as long as usual (`make test-long`): `SLUICE_LONG`, or once.
fn long() -> u64 {
    let given = std::env::var("SLUICE_LONG").ok();
    given.map_or(1, |s| s.parse().expect("SLUICE_LONG is a number"))
}

/// `SLUICE_CASES`, or the usual number.
fn cases() -> u64 {
    let given = std::env::var("SLUICE_CASES").ok();
    let usual = || CASES * long();
    given.map_or_else(usual, |s| s.parse().expect("SLUICE_CASES is a number"))
}

/// Cases with seeds `seed`, `seed + 1`, ...: so one of them can be repeated alone. Several workers
/// are run-to-completion, a pipeline, a mixture or on the move by turns.
fn series(workers: usize, seed: u64, cases: u64) {
    series_of(workers, seed, cases, SERVED);
}

fn series_of(workers: usize, seed: u64, cases: u64, features: Features) -> Counts {
    println!("{workers} workers, seed {seed:#x}, {cases} cases");
    let start = Instant::now();
    let models = if workers > 1 {
        &Model::ALL[..]
    } else {
        &[Model::Mixed]
    };
    let mut pairs: Vec<Pair> = models
        .iter()
        .map(|m| Pair::new(workers, *m, features))
        .collect();
    for i in 0..cases {
        let seed = seed.wrapping_add(i);
        let case = generate::case(seed, features);
        let at = (seed % models.len() as u64) as usize;
        if let Err(difference) = attempt(&mut pairs[at], &case, &mut Honest) {
            tell(workers, models[at], (seed, features), case, &difference);
        }
    }
    for (model, pair) in models.iter().zip(&pairs) {
        let (forwarded, counts) = (pair.forwarded, &pair.counts);
        println!("{model:?}: {forwarded} frames forwarded: {counts:?}");
        assert!(
            !model.shapes() || cases < 10_000 || counts.contains_key("left when it was due"),
            "{model:?}: no packet waited to the end"
        );
        assert!(
            cases < 1_000 || forwarded > cases / models.len() as u64,
            "{model:?}: hardly a packet was forwarded"
        );
    }
    println!("{:?}", start.elapsed());
    let mut all = Counts::new();
    for (name, n) in pairs.into_iter().flat_map(|pair| pair.counts) {
        *all.entry(name).or_default() += n;
    }
    // Of all models together, and where there are so many cases that the rarest outcome comes some ten times: a
    // fresh seed must not miss one by chance.
    let shapes = models.iter().any(|model| model.shapes());
    let missed = coverage::missed(&all, shapes, features, cases / 4);
    assert!(missed.is_empty(), "never met: {missed:?}");
    all
}

/// Runs a case; a panic is a difference, too.
fn attempt(pair: &mut Pair, case: &Case, falsify: &mut dyn Falsify) -> Result<(), String> {
    let run = catch_unwind(AssertUnwindSafe(|| pair.run(case, falsify)));
    run.unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(ToString::to_string));
        Err(format!("panic: {}", text.unwrap_or_default()))
    })
}

/// Shrinks a case that fails, and says all about it.
fn tell(
    workers: usize,
    model: Model,
    (seed, features): (u64, Features),
    case: Case,
    difference: &str,
) -> ! {
    let alone = |case: &Case| attempt(&mut Pair::new(workers, model, features), case, &mut Honest);
    let of = if features.nat { "translated" } else { "served" };
    let repeat = format!(
        "SLUICE_SEED={seed:#x} SLUICE_CASES=1 cargo test -p sluice-twin --test differential fresh\n\
        To keep it: echo '{workers} {of} {seed:#x} # why' >>upf/twin/tests/differential/kept-seeds.txt"
    );
    if alone(&case).is_ok() {
        panic!(
            "{difference}\nThis took the cases before it; alone the case passes.\n{repeat}\n{case:#?}"
        );
    }
    // What is being looked for, not any other difference that a smaller case may have.
    let kind = |difference: &str| difference.chars().take(14).collect::<String>();
    let sought = kind(difference);
    std::panic::set_hook(Box::new(|_| {}));
    let case = shrink::shrink(case, |case| {
        alone(case).is_err_and(|other| kind(&other) == sought)
    });
    drop(std::panic::take_hook());
    let mut pair = Pair::new(workers, model, features);
    pair.diary = Some(Vec::new());
    let last = attempt(&mut pair, &case, &mut Honest).expect_err("it failed before");
    let diary = pair.diary.unwrap_or_default().join("\n");
    panic!(
        "{workers} workers, {model:?}, shrunk:\n{diary}\n\nDIFFERENCE: {last}\n\nTo repeat: {repeat}"
    );
}
