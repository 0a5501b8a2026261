//! `sluice lab`: the papers' experiments, repeated.
//!
//! [`experiments`] has plans, results, expectations, plots and reports. The other modules are runners: they set up
//! the testbeds of `sluice bench` for each point, and measure.
#![forbid(unsafe_code)]
#![allow(
    missing_docs,
    reason = "a library for the commands beside it; what is public is used by no one else"
)]

pub mod args;
mod core_parts;
mod core_procedures;
pub mod experiments;
mod keys;
mod lookup;
mod many_workers;
mod models;
mod pfcp;
mod placement;
mod programs;
mod report;
mod runners;
mod scaling;
mod shaping;
mod testbed;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
mod user_plane;
mod zero_loss;

use crate::experiments::Experiment;
use crate::experiments::plan::{self, Status};
use crate::experiments::report::ReportInput;
use crate::experiments::run::Course;
use crate::experiments::store::{Made, Store, hash_of};
use args::{Again, LabArgs, LabKind, ListArgs, RunArgs};
use report::{conclude, machine_line};
use runners::Lab;
use serde_json::json;
use sluice_host::signal::Shutdown;
use sluice_program::exit::Exit;
use std::path::Path;
use std::time::Duration;

/// Does what was asked for.
pub fn run(args: &LabArgs) -> Exit {
    let done = match &args.kind {
        LabKind::List(list) => self::list(list),
        LabKind::Run(run) => measure(run),
        LabKind::Report(again) => report::again(again),
        LabKind::Place(place) => placement::child(place),
    };
    done.unwrap_or_else(|(exit, why)| {
        eprintln!("sluice lab: {why}");
        exit
    })
}

/// An exit and what to say.
type Done = Result<Exit, (Exit, String)>;

/// Ours, with those of the user's folder in their places or behind them.
fn plans(folder: Option<&Path>) -> Result<Vec<Experiment>, (Exit, String)> {
    let usage = |bad: plan::Bad| (Exit::Usage, bad.to_string());
    let mut all = plan::embedded(&keys::fits).map_err(usage)?;
    let own = folder.map_or(Ok(vec![]), |folder| plan::from_folder(folder, &keys::fits));
    for own in own.map_err(usage)? {
        match all.iter_mut().find(|one| one.name == own.name) {
            Some(place) => *place = own,
            None => all.push(own),
        }
    }
    Ok(all)
}

fn list(args: &ListArgs) -> Done {
    let all = plans(args.plans.as_deref())?;
    if args.json {
        let one = |e: &Experiment| {
            json!({
                "name": e.name,
                "system": e.paper.system,
                "title": e.title,
                "figure": e.paper.figure,
                "runs": e.runs(),
                "points": e.points(false).len(),
                "points_quick": e.points(true).len(),
                "expectations": e.expectations.len(),
            })
        };
        println!(
            "{}",
            json!({ "experiments": all.iter().map(one).collect::<Vec<_>>() })
        );
        return Ok(Exit::Done);
    }
    println!("name              system   points  quick  title");
    for one in &all {
        let [full, quick] = match one.status {
            Status::NotYet => ["-", "not yet"].map(str::to_owned),
            Status::Runs => [false, true].map(|quick| one.points(quick).len().to_string()),
        };
        let (name, system, title) = (&one.name, &one.paper.system, &one.title);
        println!("{name:<18}{system:<8}{full:>7}{quick:>8} {title}");
    }
    Ok(Exit::Done)
}

fn asked(names: &[String], all: &[Experiment]) -> Result<Vec<Experiment>, (Exit, String)> {
    if names.iter().any(|name| name == "all") {
        return Ok(all.to_vec());
    }
    let find = |name: &String| {
        let found = all.iter().find(|one| one.name == *name).cloned();
        found.ok_or_else(|| {
            let known: Vec<&str> = all.iter().map(|one| one.name.as_str()).collect();
            let known = known.join(", ");
            (
                Exit::Usage,
                format!("there is no experiment '{name}'; expected all, {known}"),
            )
        })
    };
    names.iter().map(find).collect()
}

fn measure(args: &RunArgs) -> Done {
    let failed = |why: String| (Exit::Failed, why);
    let asked = asked(&args.names, &plans(args.plans.as_deref())?)?;
    if !matches!(args.cpus.len(), 0 | 2) {
        let why = format!("--cpus: {} given; expected two, as 2,3", args.cpus.len());
        return Err((Exit::Usage, why));
    }
    let shutdown = Shutdown::install().map_err(|e| failed(e.to_string()))?;
    let store = Store::new(&args.out);
    let mut run = report::now(args, &asked);
    let stop = || shutdown.is_requested();
    let mut course = Course {
        store: &store,
        made: Made {
            experiment: String::new(),
            machine: machine_line(&run),
            binary: binary(),
            quick: args.quick,
        },
        stop: &stop,
        progress: &mut |line| eprintln!("{line}"),
        again_disturbed: args.again == Some(Again::Disturbed),
        left: 0,
        done: (0, Duration::ZERO),
    };
    let runs = || asked.iter().filter(|one| one.runs());
    course.left = runs().map(|one| course.missing(one)).sum();
    let mut lab = Lab::new(&args.cpus);
    let (mut told, mut end) = (vec![], None);
    for one in &asked {
        if !one.runs() {
            told.push(ReportInput::of(one, None));
            continue;
        }
        let ran = course
            .run(one, &mut lab)
            .map_err(|e| cannot_write(&args.out, &e))?;
        let first = ran.failed.first().map(|(_, why)| why.clone());
        let now = ReportInput::of(one, Some(&ran));
        let blot = now.keep(&store).map_err(|e| cannot_write(&args.out, &e))?;
        if let Some(blot) = blot {
            eprintln!("{}: no PNG: {blot}", one.name);
        }
        run.failed
            .extend(now.failed.iter().map(|why| (one.name.clone(), why.clone())));
        run.missing
            .extend(now.missing.iter().map(|at| (one.name.clone(), at.clone())));
        told.push(now);
        if ran.interrupted {
            end = Some((
                Exit::Failed,
                "interrupted; the same command goes on from here".to_owned(),
            ));
            break;
        }
        if ran.lacking {
            end = Some((Exit::Lacking, first.unwrap_or_default()));
            break;
        }
    }
    lab.end();
    let exit = conclude(&store, &run, &told, args.json).map_err(|e| cannot_write(&args.out, &e))?;
    end.map_or(Ok(exit), Err)
}

fn cannot_write(folder: &Path, why: &std::io::Error) -> (Exit, String) {
    let folder = folder.display();
    (
        Exit::Usage,
        format!("--out {folder}: cannot be written: {why}"),
    )
}

/// The program that is running.
fn binary() -> String {
    std::fs::read("/proc/self/exe")
        .map(|bytes| hash_of(&bytes))
        .unwrap_or_default()
}
