//! Trials and the throughput search on an engine.

use std::time::Duration;

use crate::engine::{Clock, Engine, Phase, Trial};
use crate::report::Report;
use crate::search::{Search, SearchResult, Throughput};
use sluice_host::signal::Shutdown;
use sluice_port::PortIo;

use super::Failure;
use super::args::LoadArgs;
use super::show;
use super::trial::Recipe;
use super::units::Rate;

/// How long neighbours may take to answer ARP.
const FOUND_WITHIN_NS: u64 = 10_000_000_000;
/// The longest rest, and what is worth one.
const REST: Duration = Duration::from_micros(50);
const WORTH_NS: u64 = 100_000;
/// How long the generator is measured by itself.
const SELF_TEST: Duration = Duration::from_millis(500);
/// A figure above this part of the generator's own limit is not told: what is measured could be
/// the generator.
const OWN_LIMIT_PART: f64 = 0.8;

pub struct Watch<'a> {
    pub shutdown: &'a Shutdown,
    /// Whether to sleep while nothing is to do.
    pub rests: bool,
    pub shows: bool,
    /// Whether a search is told trial by trial.
    pub tells: bool,
}

pub fn resolve<I: PortIo, C: Clock>(
    engine: &mut Engine<I, C>,
    watch: &Watch,
) -> Result<(), Failure> {
    let began_ns = engine.now_ns();
    while let Some((address, port)) = engine.unresolved() {
        engine.turn();
        if engine.now_ns() - began_ns > FOUND_WITHIN_NS {
            return Err(Failure::lacking(format!(
                "nobody answers ARP for {address} on {port}: is it there, and in the same network? \
                 --{port}-via names another next hop, or its MAC"
            )));
        }
        if watch.shutdown.is_requested() {
            return Err(Failure::failed("stopped"));
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    Ok(())
}

/// One trial to its end.
pub fn run<I: PortIo, C: Clock>(
    engine: &mut Engine<I, C>,
    trial: &Trial,
    watch: &Watch,
) -> Result<Report, Failure> {
    engine.start(trial).map_err(Failure::usage)?;
    let mut told = 0;
    while engine.phase() != Phase::Done {
        let moved = engine.turn();
        if watch.shutdown.is_requested() {
            engine.stop();
        }
        if watch.shows {
            for interval in engine.timeline().iter().skip(told) {
                show::interval(interval);
                told += 1;
            }
        }
        if watch.rests && moved == 0 {
            let now_ns = engine.now_ns();
            if engine.next_ns().is_none_or(|next| next > now_ns + WORTH_NS) {
                std::thread::sleep(REST);
            }
        }
    }
    engine
        .finish()
        .ok_or_else(|| Failure::failed("the run came to nothing"))
}

/// Rate that the generator reaches by itself, in packets per second of all lanes: the same source and sink with nothing
/// between them.
pub fn self_test<I: PortIo, C: Clock>(
    engine: &mut Engine<I, C>,
    recipe: &Recipe,
    args: &LoadArgs,
    watch: &Watch,
) -> Result<(f64, Report), Failure> {
    let trial = recipe.trial_at(args, Rate::Max, SELF_TEST);
    let quiet = Watch {
        shows: false,
        ..*watch
    };
    let report = run(engine, &trial, &quiet)?;
    Ok((packets_per_s(&report), report))
}

/// Packets that arrived, of all lanes but returns, per second.
pub fn packets_per_s(report: &Report) -> f64 {
    let lanes = report.lanes.iter();
    lanes.map(|lane| lane.received_pps).sum()
}

/// The search, below the rate of the options.
pub fn search<I: PortIo, C: Clock>(
    engine: &mut Engine<I, C>,
    recipe: &Recipe,
    args: &LoadArgs,
    watch: &Watch,
) -> Result<(Throughput, Report), Failure> {
    let Rate::Open(highest, unit) = args.rate else {
        return Err(Failure::usage(
            "--search needs a --rate in pps or bps, below which it searches",
        ));
    };
    let search = Search {
        highest,
        resolution: args.resolution,
        loss_tolerance: args.tolerance,
        repeats: args.repeats,
    };
    let quiet = Watch {
        shows: false,
        ..*watch
    };
    let mut failure = None;
    let mut last_good = None;
    let mut begun = 0;
    if watch.tells {
        let trials = f64::from(args.repeats.max(1)) * f64::from(search.trials_at_most());
        let most_s = trials * args.duration.as_secs_f64();
        eprintln!(
            "searching below {}: {most_s:.0} s at the most",
            sluice_program::units::si(highest, show::unit_text(unit))
        );
    }
    let found = search.run(|rate| {
        if watch.shutdown.is_requested() {
            return None;
        }
        let trial = recipe.trial_at(args, Rate::Open(rate, unit), args.duration);
        match run(engine, &trial, &quiet) {
            Ok(report) if report.stopped_early => None,
            Ok(report) => {
                let outcome = outcome(&report);
                // Each search begins at the top.
                begun += u32::from(rate == highest);
                if watch.tells {
                    show::tried((begun, args.repeats.max(1)), rate, unit, &outcome);
                }
                let lost = outcome.lost as f64 / outcome.sent.max(1) as f64;
                if !outcome.generator_bound && lost <= args.tolerance {
                    last_good = Some(report);
                }
                Some(outcome)
            }
            Err(error) => {
                failure = Some(error);
                None
            }
        }
    });
    match (found, last_good, failure) {
        (_, _, Some(error)) => Err(error),
        (None, ..) => Err(Failure::failed("stopped before the search was over")),
        (Some(found), Some(report), None) => Ok((found, report)),
        (Some(_), None, None) => Err(Failure::failed(
            "no rate was without loss; --tolerance allows some",
        )),
    }
}

fn outcome(report: &Report) -> SearchResult {
    let lanes = || report.lanes.iter().filter(|lane| lane.measured);
    SearchResult {
        sent: lanes().map(|lane| lane.sent + lane.refused).sum(),
        lost: lanes().map(|lane| lane.lost).sum(),
        generator_bound: report.lanes.iter().any(|lane| lane.is_generator_bound()),
    }
}

/// Whether a figure is too near to what the generator can do.
pub fn is_own_limit(packets_per_s: f64, own_per_s: f64) -> bool {
    packets_per_s > own_per_s * OWN_LIMIT_PART
}
