//! Report of a run, also for `sluice lab report`.

use super::Done;
use super::args::{ReportArgs, RunArgs};
use super::keys;
use crate::experiments::expect::ExpectationResult;
use crate::experiments::point::show;
use crate::experiments::report::{ReportInput, Run, State, html, json};
use crate::experiments::run::Ran;
use crate::experiments::store::Store;
use crate::experiments::{At, Experiment};
use chrono::{DateTime, Utc};
use sluice_bench::{machine, report};
use sluice_program::exit::Exit;
use std::io;
use std::time::SystemTime;

pub fn now(args: &RunArgs, asked: &[Experiment]) -> Run {
    let command: Vec<String> = std::env::args().skip(1).collect();
    let now = DateTime::<Utc>::from(SystemTime::now());
    Run {
        command: format!("sluice {}", command.join(" ")),
        date: now.format("%Y-%m-%d %H:%M UTC").to_string(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        options: Some(args.again_as_typed()),
        quick: args.quick,
        machine: machine::facts(),
        asked: asked.iter().map(|one| one.name.clone()).collect(),
        ..Run::default()
    }
}

/// The machine in one line, without what changes from moment to moment.
pub fn machine_line(run: &Run) -> String {
    let parts = ["cpu", "cpus", "memory", "kernel", "huge_pages"];
    let part = |name: &&str| format!("{name} {}", run.machine[*name]);
    parts.iter().map(part).collect::<Vec<_>>().join(", ")
}

/// Writes the report, prints what came out, and says how it ends.
pub fn conclude(store: &Store, run: &Run, told: &[ReportInput], as_json: bool) -> io::Result<Exit> {
    let all = json(run, told);
    store.write_root("run.json", serde_json::to_string_pretty(run)?.as_bytes())?;
    store.write_root(
        "report.json",
        serde_json::to_string_pretty(&all)?.as_bytes(),
    )?;
    store.write_root("report.html", html(run, told).as_bytes())?;
    if as_json {
        println!("{all}");
    } else {
        print!("{}", table(told));
        println!("report: {}", store.root().join("report.html").display());
    }
    let mut exit = Exit::Done;
    for one in told.iter().filter(|one| one.state != State::NotYet) {
        for verdict in one.failing() {
            let ours = verdict
                .ours
                .map_or("nothing".to_owned(), |ours| format!("{ours:.3}"));
            eprintln!(
                "does not hold: {}/{}: {ours}, expected {} ({})",
                one.experiment.name, verdict.name, verdict.expected, verdict.note
            );
            exit = Exit::Failed;
        }
        for verdict in one.not_judged() {
            let name = &one.experiment.name;
            let why = match verdict.outcome {
                ExpectationResult::FailedDisturbed => "fails, but others had the workers' CPUs; ",
                _ => "",
            };
            eprintln!("not judged: {name}/{}: {why}{}", verdict.name, verdict.note);
            if verdict.outcome == ExpectationResult::NotJudged {
                exit = Exit::Failed;
            }
        }
        for why in &one.failed {
            eprintln!("not measured: {}: {why}", one.experiment.name);
            exit = Exit::Failed;
        }
    }
    Ok(exit)
}

fn table(told: &[ReportInput]) -> String {
    let row = |one: &ReportInput| {
        let counts = [
            one.points.len(),
            one.disturbed(),
            one.of_outcome(ExpectationResult::Passed).len(),
            one.of_outcome(ExpectationResult::PassedDisturbed).len(),
            one.failing().len(),
            one.not_judged().len(),
        ];
        let counts = match one.state {
            State::NotYet => ["not yet", "", "", "", "", ""].map(str::to_owned),
            _ => counts.map(|count| count.to_string()),
        };
        let name = std::iter::once(one.experiment.name.clone());
        (name.chain(counts).collect(), String::new())
    };
    let heads = "|points|disturbed|passed|passed (disturbed)|failed|not judged";
    report::table(heads, told.iter().map(row))
}

/// The report anew, from a folder.
pub fn again(args: &ReportArgs) -> Done {
    let store = Store::new(&args.folder);
    let usage = |what: &str, why: &dyn std::fmt::Display| {
        let folder = args.folder.display();
        (
            Exit::Usage,
            format!("{folder}: {what}: {why}; expected a folder of `sluice lab run --out`"),
        )
    };
    let run = store
        .read_root("run.json")
        .map_err(|e| usage("run.json", &e))?;
    let run: Run = serde_json::from_value(run).map_err(|e| usage("run.json", &e))?;
    let mut told = vec![];
    let all = super::plans(None)?;
    for name in &run.asked {
        let known = all
            .iter()
            .find(|one| one.name == *name && !one.runs())
            .cloned();
        let experiment = match known {
            Some(not_yet) => not_yet,
            None => match store.plan(name) {
                Ok(plan) => Experiment {
                    gives: keys::fits(&plan).unwrap_or_default(),
                    ..plan
                },
                // It was interrupted before.
                Err(_) => continue,
            },
        };
        let ran = as_left(&store, &run, &experiment);
        let now = ReportInput::of(&experiment, experiment.runs().then_some(&ran));
        if experiment.runs() {
            now.keep(&store).map_err(|e| usage(name, &e))?;
        }
        told.push(now);
    }
    conclude(&store, &run, &told, args.json).map_err(|e| usage("the report", &e))
}

/// Results of an experiment in the folder, and missing points.
fn as_left(store: &Store, run: &Run, experiment: &Experiment) -> Ran {
    let points = store.points(experiment, run.quick);
    let mine = |of: &String| *of == experiment.name;
    let all = experiment.points(run.quick);
    let told = run.failed.iter().filter(|(of, _)| mine(of));
    let place_of = |why: &str| -> Option<(At, String)> {
        let of = |at: &At| {
            Some((
                at.clone(),
                why.strip_prefix(&show(at))?.strip_prefix(": ")?.to_owned(),
            ))
        };
        all.iter().find_map(of)
    };
    let failed: Vec<(At, String)> = told
        .map(|(_, why)| place_of(why).unwrap_or((At::new(), why.clone())))
        .collect();
    let left = run.missing.iter().filter(|(of, _)| mine(of));
    let mut missing: Vec<At> = left.map(|(_, at)| at.clone()).collect();
    let is_lost = |at: &&At| {
        let has_failed = failed.iter().any(|(of, _)| of == *at);
        !has_failed && !points.iter().any(|point| point.at == **at)
    };
    missing.extend(all.iter().filter(is_lost).cloned());
    Ran {
        points,
        failed,
        interrupted: !missing.is_empty(),
        missing,
        ..Ran::default()
    }
}
