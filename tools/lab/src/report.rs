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
use sluice::exit::Exit;
use sluice_bench::machine;
use sluice_host::clock;
use std::io;

/// What a run is.
pub struct Chart {
    pub run: Run,
}

impl Chart {
    /// Of these experiments, now, here.
    pub fn new(args: &RunArgs, asked: &[Experiment]) -> Self {
        let command: Vec<String> = std::env::args().skip(1).collect();
        Self {
            run: Run {
                command: format!("sluice {}", command.join(" ")),
                date: date(clock::wall().as_secs()),
                version: env!("CARGO_PKG_VERSION").to_owned(),
                options: Some(args.again_as_typed()),
                quick: args.quick,
                machine: machine::facts(),
                asked: asked.iter().map(|one| one.name.clone()).collect(),
                failed: vec![],
                missing: vec![],
            },
        }
    }

    /// The machine in one line, without what changes from moment to moment.
    pub fn machine_line(&self) -> String {
        let facts = &self.run.machine;
        let parts = ["cpu", "cpus", "memory", "kernel", "huge_pages"];
        let part = |name: &&str| format!("{name} {}", facts[*name]);
        parts.iter().map(part).collect::<Vec<_>>().join(", ")
    }
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
            eprintln!("not judged: {name}/{}: {}", verdict.name, verdict.note);
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
    let mut text = format!(
        "{:<18}{:>8}{:>11}{:>8}{:>20}{:>8}{:>12}\n",
        "", "points", "disturbed", "passed", "passed (disturbed)", "failed", "not judged"
    );
    for one in told {
        let name = &one.experiment.name;
        text += &match one.state {
            State::NotYet => format!("{name:<18}{:>8}\n", "not yet"),
            _ => format!(
                "{name:<18}{:>8}{:>11}{:>8}{:>20}{:>8}{:>12}\n",
                one.points.len(),
                one.disturbed(),
                one.of_outcome(ExpectationResult::Passed).len(),
                one.of_outcome(ExpectationResult::PassedDisturbed).len(),
                one.failing().len(),
                one.not_judged().len(),
            ),
        };
    }
    text
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

/// What the folder has of an experiment, and what it lacks.
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
        kept: 0,
        failed,
        interrupted: !missing.is_empty(),
        missing,
        lacking: false,
    }
}

/// Seconds since 1970 as ISO 8601 has them, UTC (days to a date: H. Hinnant's algorithm).
fn date(unix_s: u64) -> String {
    let (days, second) = ((unix_s / 86_400) as i64 + 719_468, unix_s % 86_400);
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year + year / 4 - year / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 {
        shifted + 3
    } else {
        shifted - 9
    };
    let year = year + era * 400 + i64::from(month <= 2);
    let (hour, minute) = (second / 3600, second / 60 % 60);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02} UTC")
}

#[cfg(test)]
mod tests {
    use super::date;

    #[test]
    fn dates_are_those_of_the_calendar() {
        assert_eq!(date(0), "1970-01-01 00:00 UTC");
        assert_eq!(date(951_782_400), "2000-02-29 00:00 UTC");
        assert_eq!(date(1_798_761_599), "2026-12-31 23:59 UTC");
    }
}
