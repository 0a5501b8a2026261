//! Sequence of a load run: sessions, ports, generator limit, traffic, release.

use std::io::IsTerminal;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::Flows;
use crate::n4::{Agent, N4Report};
use crate::report::Report;
use serde_json::{Map, Value, json};
use sluice_host::signal::Shutdown;

use super::args::LoadArgs;
use super::drive::{self, Watch};
use super::testbed::Testbed;
use super::trial::Recipe;
use super::{Failure, sessions, show};
use sluice_program::exit::Exit;

/// The result, as it comes together.
struct RunResult {
    json: Map<String, Value>,
    problems: Vec<String>,
    is_quiet: bool,
}

impl RunResult {
    fn put(&mut self, key: &str, value: impl serde::Serialize) {
        // Plain data has a JSON form.
        let value = serde_json::to_value(value).unwrap_or(Value::Null);
        self.json.insert(key.to_owned(), value);
    }

    fn say(&self, line: impl std::fmt::Display) {
        if !self.is_quiet {
            println!("{line}");
        }
    }

    fn problem(&mut self, what: String) {
        eprintln!("sluice load: {what}");
        self.problems.push(what);
    }
}

/// Does all of it; whatever happens, sessions are released.
pub fn all(args: &LoadArgs) -> Result<Exit, Failure> {
    check(args)?;
    let shutdown = Shutdown::install().map_err(Failure::lacking)?;
    let mut result = RunResult {
        json: Map::new(),
        problems: Vec::new(),
        is_quiet: args.json,
    };
    if let Some(cpu) = args.cpu {
        sluice_host::thread::pin(&[cpu]).map_err(Failure::usage)?;
    }
    if args.rest {
        sluice_host::thread::sleep_precisely();
    }
    let recipe = Recipe::new(args)?;
    let watch = Watch {
        shutdown: &shutdown,
        rests: args.rest,
        shows: !args.json && std::io::stderr().is_terminal(),
        tells: !args.json,
    };
    let ended = match sessions::agent(args)? {
        None => traffic(args, &recipe, None, &watch, &mut result),
        Some(mut agent) => {
            agent.associate().map_err(Failure::failed)?;
            let ended = with_sessions(args, &recipe, &mut agent, &watch, &mut result);
            release(&mut agent, &watch, &mut result);
            ended
        }
    };
    if let Err(failure) = ended {
        if !args.json || failure.exit != Exit::Failed {
            return Err(failure);
        }
        result.problem(failure.why);
    }
    Ok(finish(args, result))
}

/// Rejects combinations of arguments that make no sense.
fn check(args: &LoadArgs) -> Result<(), Failure> {
    let has_ports = args.n3.is_some() || args.n6.is_some();
    let has_work = has_ports || args.self_test || args.n4.is_some();
    if !has_work {
        return Err(Failure::usage(
            "nothing to do: --n3 and --n6 name ports, --n4 a UPF, --self-test measures the generator",
        ));
    }
    for (is_wrong, why) in [
        (
            args.n4.is_some() != args.upf.is_some(),
            "--n4 and --upf belong together: our address on N4, and the UPF's",
        ),
        (
            args.churn.is_some() && args.n4.is_none(),
            "--churn needs --n4 and --upf",
        ),
        (
            (args.n4.is_some() || args.n3.is_some()) && args.gnb.is_none(),
            "--gnb is missing: our address on N3, where downlink packets go; the UPF must have a route \
             to it, also if no packets are sent",
        ),
        (
            has_ports && args.server.is_none(),
            "--server is missing: with whom UEs speak, our address on N6",
        ),
        (
            args.n6.is_some() && args.n6_via.is_none(),
            "--n6-via is missing: the UPF's address on N6, or its MAC",
        ),
        (
            args.search && !args.steps.is_empty(),
            "--search needs --rate, not --steps",
        ),
    ] {
        if is_wrong {
            return Err(Failure::usage(why));
        }
    }
    if args
        .steps
        .windows(2)
        .any(|pair| pair[0].unit != pair[1].unit)
    {
        return Err(Failure::usage("--steps must all be in pps or all in bps"));
    }
    Ok(())
}

fn with_sessions(
    args: &LoadArgs,
    recipe: &Recipe,
    agent: &mut Agent,
    watch: &Watch,
    result: &mut RunResult,
) -> Result<(), Failure> {
    let report = agent.establish(args.ues, |ended| {
        if watch.shows {
            show::progress("sessions established", ended, args.ues);
        }
        !watch.shutdown.is_requested()
    });
    result.say(show::n4("established", &report));
    result.put("established", &report);
    let missing = args.ues as usize - agent.established().min(args.ues as usize);
    if watch.shutdown.is_requested() {
        return Err(Failure::failed("stopped"));
    }
    if missing > 0 {
        let why = report.first_failure.unwrap_or_default();
        let hint = match why.contains("Network Instance") {
            true => sessions::instance_hint(args),
            false => String::new(),
        };
        return Err(Failure::failed(format!(
            "{missing} of {} sessions were not established: {why}{hint}",
            args.ues
        )));
    }
    traffic(args, recipe, Some(agent), watch, result)
}

/// Measures the traffic, while the agent answers heartbeats and sessions come and go.
fn traffic(
    args: &LoadArgs,
    recipe: &Recipe,
    agent: Option<&mut Agent>,
    watch: &Watch,
    result: &mut RunResult,
) -> Result<(), Failure> {
    let has_ports = args.n3.is_some() || args.n6.is_some();
    let Some(agent) = agent else {
        let flows = match has_ports {
            true => sessions::flows(args, None)?,
            false => own_flows(args)?,
        };
        return packets(args, recipe, flows, watch, result);
    };
    if !has_ports && !args.self_test {
        let churned = churn(args, agent, watch.shutdown.flag().as_ref())?;
        tell_churn(churned, result);
        return Ok(());
    }
    let flows = sessions::flows(args, Some(agent))?;
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let beside = std::thread::Builder::new().name("n4".to_owned());
        let stop = &is_over;
        let churning = beside
            .spawn_scoped(scope, move || {
                let churned = churn(args, agent, stop);
                agent.idle(|| stop.load(Ordering::Acquire));
                churned
            })
            .map_err(Failure::lacking);
        let ended = packets(args, recipe, flows, watch, result);
        is_over.store(true, Ordering::Release);
        let churned = churning?
            .join()
            .map_err(|_| Failure::failed("the N4 thread panicked"))??;
        tell_churn(churned, result);
        ended
    })
}

/// None where nothing is to come and go.
fn churn(
    args: &LoadArgs,
    agent: &mut Agent,
    stop: &AtomicBool,
) -> Result<Option<N4Report>, Failure> {
    let Some(rates) = args.churn else {
        return Ok(None);
    };
    let sessions = args.ues..args.ues.saturating_add(args.churn_sessions);
    let duration = match args.steps.is_empty() && !args.search {
        true => args.duration,
        // As long as the traffic.
        false => std::time::Duration::from_secs(1_000_000),
    };
    let report = agent.churn(sessions, rates, duration, || stop.load(Ordering::Acquire));
    report.map(Some).map_err(Failure::usage)
}

fn tell_churn(churned: Option<N4Report>, result: &mut RunResult) {
    if let Some(report) = churned {
        result.say(show::n4("churn", &report));
        result.put("churn", &report);
        let failed: u64 = report.procedures.iter().map(|p| p.failed).sum();
        if failed > 0 {
            let why = report.first_failure.unwrap_or_default();
            result.problem(format!("{failed} procedures of the churn failed: {why}"));
        }
    }
}

/// Tunnels for a self-test that nobody else needs.
fn own_flows(args: &LoadArgs) -> Result<Flows, Failure> {
    let mut args = args.clone();
    args.n3_upf = args.n3_upf.or(Some(std::net::Ipv4Addr::LOCALHOST));
    sessions::flows(&args, None)
}

fn packets(
    args: &LoadArgs,
    recipe: &Recipe,
    flows: Flows,
    watch: &Watch,
    result: &mut RunResult,
) -> Result<(), Failure> {
    let flows = Arc::new(flows);
    let world = Testbed::open(args, recipe.longest_bytes())?;
    let mut own_per_s = f64::INFINITY;
    if args.search || args.self_test {
        let mut engine = world.loopback(args);
        engine.set_flows(flows.clone());
        let (per_s, report) = drive::self_test(&mut engine, recipe, args, watch)?;
        own_per_s = per_s;
        result.say(format!(
            "generator: {} by itself, without ports",
            sluice_program::units::si(per_s, "pps")
        ));
        result.put(
            "generator",
            json!({"limit_pps": per_s, "lanes": report.lanes}),
        );
        if args.self_test {
            return Ok(());
        }
    }
    let mut engine = world.engine(args)?;
    engine.set_flows(flows);
    drive::resolve(&mut engine, watch)?;
    if args.search {
        let (found, report) = drive::search(&mut engine, recipe, args, watch)?;
        let is_own =
            found.is_generators || drive::is_own_limit(drive::packets_per_s(&report), own_per_s);
        if is_own {
            result.put(
                "search",
                json!({"refused": true, "searches": found.searches}),
            );
            let reached = drive::packets_per_s(&report);
            result.problem(show::refusal(&found, args.rate, reached, own_per_s));
            return Ok(());
        }
        result.say(show::throughput(&found, args.rate));
        result.say(format!("last trial: {}", show::report(&report)));
        result.put("search", &found);
        result.put("run", &report);
        return Ok(());
    }
    let trial = recipe.trial(args);
    let report = drive::run(&mut engine, &trial, watch)?;
    result.say(show::report(&report));
    let remarks = show::remarks(&report);
    remarks.iter().for_each(|remark| result.say(remark));
    result.put("remarks", &remarks);
    judge(args, &report, result);
    result.put("run", &report);
    Ok(())
}

fn judge(args: &LoadArgs, report: &Report, result: &mut RunResult) {
    for lane in &report.lanes {
        let name = lane.lane.text();
        if lane.is_generator_bound() {
            result.problem(format!(
                "{name}: the generator was too slow for {} of {} packets; its figures are its own, \
                 not the UPF's",
                lane.unsent, lane.offered
            ));
        }
        if args.max_loss.is_some_and(|max| lane.loss_ratio > max) {
            let percent = lane.loss_ratio * 100.0;
            result.problem(format!("{name}: {percent:.4} % lost, more than --max-loss"));
        }
    }
}

/// Gives everything back, also after Ctrl-C: that it was pressed once does not end this.
fn release(agent: &mut Agent, watch: &Watch, result: &mut RunResult) {
    let all = agent.established() as u32;
    let report = agent.delete_all(|ended| {
        if watch.shows {
            show::progress("sessions released", ended, all);
        }
        true
    });
    result.say(show::n4("released", &report));
    result.put("released", &report);
    let left = agent.established();
    if left > 0 {
        let why = report.first_failure.unwrap_or_default();
        result.problem(format!("{left} sessions were not released: {why}"));
    }
    if let Err(error) = agent.release() {
        result.problem(format!("the association was not released: {error}"));
    }
}

fn finish(args: &LoadArgs, mut result: RunResult) -> Exit {
    let problems = result.problems.clone();
    result.put("problems", &problems);
    if args.json {
        println!("{}", Value::Object(result.json));
    }
    match problems.is_empty() {
        true => Exit::Done,
        false => Exit::Failed,
    }
}
