//! `sluice bench path`: the packet path on one core, from memory to memory.
//!
//! [`testbed`](self) is a UPF with established sessions between two memory FIFOs; `measure` turns
//! its worker's loop, and the limit's on the same FIFOs.

mod arrivals;
pub(crate) mod fifo;
pub(crate) mod filters;
mod form;
pub mod io;
mod latency;
mod limit;
mod measure;
pub(crate) mod memory;
mod numbered;
mod observe;
pub(crate) mod peers;
mod public;
mod reports;
pub(crate) mod smf;
pub mod testbed;
pub mod topology;
pub(crate) mod traffic;
pub mod usage;
pub mod variant;
mod waiting;

use super::args::PathArgs;
use super::watch::{Failed, Measured};
use crate::machine;
use crate::report::{Effort, HugePages, Judged, Outcome, apart, object, preemption, quietest};
use crate::watch::history::Series;
use fifo::PACKETS;
use io::Pool;
pub(crate) use measure::bytes_per_session;
use measure::{Bench, Case, Figures, HEADS, cases};
use reports::Cpus;
use serde_json::json;
use sluice_port_dpdk::{Eal, Mbuf, MbufPool};
use std::time::Duration;
use testbed::{Failure, Testbed};
use traffic::{INNER_LEN, PLAIN_LEN, TUNNEL_LEN};
use variant::{Load, Variant};

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;

/// Packet memory, in MiB: both FIFOs' buffers take a quarter of it.
const PACKET_MEMORY_MIB: u32 = 64;
/// A disturbed measurement is made again, until there were so many.
const ATTEMPTS: usize = 3;
/// What the limit makes at the least on huge pages with a million sessions on a server core of
/// 2024, four fifths of the 60 Mpps of a quiet one.
const LIMIT_MPPS_MIN: f64 = 48.0;
const MANY_SESSIONS: u32 = 1_000_000;

/// All that was measured.
#[derive(Default)]
struct Results {
    /// Times per packet.
    cases: Vec<Outcome>,
    /// Times from due to sent.
    latencies: Vec<Outcome>,
    /// What it costs to be looked at.
    observed: Vec<Outcome>,
    /// What it costs to report.
    reports: Vec<Outcome>,
    /// What sessions take, where it says something.
    memory: Option<Series>,
}

/// Measures.
pub fn run(args: &PathArgs) -> Result<Measured, Failed> {
    let cpu = args.cpu.map(usize::from);
    let some_wait = variants(&args.rules)
        .iter()
        .any(|of| of.load != Load::Usual);
    let mut packets = match some_wait {
        true => 6 * PACKETS as u32 + waiting::PACKETS,
        false => 3 * PACKETS as u32,
    };
    if args.asks(reports::RULES) {
        packets = packets.max(reports::PACKETS);
    }
    // As they are before DPDK chooses one for this thread.
    let cpus = reports::cpus(cpu).map_err(Failed::Lacking)?;
    let dpdk = machine::dpdk(PACKET_MEMORY_MIB, packets, cpu);
    let (eal, pool) = dpdk.map_err(Failed::Lacking)?;
    let results = all(args, cpus, &eal, &pool).map_err(Failed::Midway)?;
    let rest = json!({
        "seconds_each": args.seconds,
        "packet_bytes": { "inner": INNER_LEN, "plain": PLAIN_LEN, "tunnel": TUNNEL_LEN },
        "packets_in_flight": PACKETS,
        "results": Outcome::to_json(&results.cases),
        "latency": Outcome::to_json(&results.latencies),
        "observed": Outcome::to_json(&results.observed),
        "reports": Outcome::to_json(&results.reports),
    });
    let mut table = Outcome::table(HEADS, &results.cases);
    let others = [&results.latencies, &results.observed, &results.reports];
    let lines = others.into_iter().flatten();
    table.extend(lines.map(|one| &one.below[..]));
    let all = [&results.cases].into_iter().chain(others);
    let mut series: Vec<Series> = all.flat_map(|all| Outcome::series(all)).collect();
    series.extend(results.memory);
    Ok(Measured {
        json: object("path", rest),
        table,
        series,
        fault: None,
    })
}

fn all(args: &PathArgs, cpus: Cpus, eal: &Eal, pool: &MbufPool) -> Result<Results, Failure> {
    let mut results = Results::default();
    let effort = Effort {
        reps: args.packets.reps.into(),
        each: Duration::from_secs_f64(args.seconds),
    };
    for &sessions in &args.packets.sessions {
        for variant in variants(&args.rules) {
            let wanted = |case: &Case| case.name.contains(&args.only);
            let cases: Vec<_> = cases(&variant).into_iter().filter(wanted).collect();
            let ours = |name: &str| variant == Variant::USUAL && name.contains(&args.only);
            let (waits, observes) = (ours(latency::NAME), ours(observe::NAME));
            if cases.is_empty() && !waits && !observes {
                continue;
            }
            let (mut world, mut bench, pages) = proven(sessions, variant, eal, pool)?;
            for case in cases {
                let outcome = one(&mut bench, &mut world, &case, effort, pages)?;
                results.cases.push(outcome);
                let bytes = bytes_per_session(sessions, &world.memory);
                results.memory = results.memory.take().or_else(|| {
                    let name = format!("path/bytes_per_session/{sessions}");
                    Some(Series::shown(name, "octets", [bytes?]))
                });
            }
            if waits {
                eprintln!("{} with {sessions} sessions", latency::NAME);
                let latencies = latency::measure(&mut bench, &mut world, effort, pages)?;
                results.latencies.extend(latencies);
            }
            if observes {
                eprintln!("{} with {sessions} sessions", observe::NAME);
                let observed = observe::measure(&mut world, effort, pages)?;
                results.observed.push(observed);
            }
            world.end();
        }
        if args.asks(reports::RULES) && reports::NAME.contains(&args.only) {
            eprintln!("{} with {sessions} sessions", reports::NAME);
            let fresh = || -> Pool<Mbuf> {
                let packets = pool.clone();
                Box::new(move || packets.alloc())
            };
            let asked = (sessions, cpus, effort);
            let outcome = reports::measure(asked, eal.huge_pages(), fresh)?;
            results.reports.push(outcome);
        }
    }
    Ok(results)
}

/// Those of these names.
fn variants(rules: &[String]) -> Vec<Variant> {
    let all = Variant::DEFAULTS.into_iter().chain(Variant::RULES);
    all.filter(|variant| rules.iter().any(|name| name == variant.name))
        .collect()
}

/// A UPF with sessions, and the limit for them; all bytes of both compared.
fn proven(
    sessions: u32,
    variant: Variant,
    eal: &Eal,
    pool: &MbufPool,
) -> Result<(Testbed<Mbuf>, Bench, HugePages), Failure> {
    eprintln!("establishing {sessions} sessions{}", variant.says);
    let packets = pool.clone();
    let mut world = Testbed::build(sessions, variant, move || packets.alloc())?;
    let huge_pages = HugePages {
        packets: eal.huge_pages(),
        sessions: memory::is_on_huge_pages("sluice-lines"),
    };
    eprintln!("comparing every byte of every session's packets");
    world.prove()?;
    let mut bench = Bench::new(&world)?;
    bench.prove(&mut world)?;
    Ok((world, bench, huge_pages))
}

/// One case, until nothing disturbs it.
fn one(
    bench: &mut Bench,
    world: &mut Testbed<Mbuf>,
    case: &Case,
    effort: Effort,
    huge_pages: HugePages,
) -> Result<Outcome, Failure> {
    let sessions = world.flows.len() as u32;
    let measure = || {
        eprintln!("{} with {sessions} sessions", case.name);
        bench.measure(world, case, effort)
    };
    let judge = |figures: &Figures| Judged {
        disturbed: disturbed(figures, sessions, huge_pages),
        preempted: figures.preempted,
        ns: figures.limit.median,
    };
    let (figures, conditions) = quietest((ATTEMPTS, effort.reps), measure, judge)?;
    let (whose, of) = (
        (&case.name[..], sessions),
        (&world.memory.clone(), huge_pages),
    );
    Ok(figures.outcome(whose, &conditions, of, world.verdict()?))
}

/// Why the figures cannot be trusted, if so.
fn disturbed(figures: &Figures, sessions: u32, huge_pages: HugePages) -> Option<String> {
    let spread = figures.path.spread().max(figures.limit.spread());
    let mpps = 1000.0 / figures.limit.median;
    let huge = huge_pages.packets && huge_pages.sessions;
    let slow = huge && sessions >= MANY_SESSIONS && mpps < LIMIT_MPPS_MIN;
    let slow = slow.then(|| {
        format!(
            "the limit makes {mpps:.1} Mpps, less than {LIMIT_MPPS_MIN}: a busy or slow machine"
        )
    });
    disturbance(spread, figures.preempted).or(slow)
}

/// Repetitions far apart, or others who had the CPU.
fn disturbance(spread: f64, preempted: f64) -> Option<String> {
    apart(spread).or_else(|| preemption(preempted, "the CPU"))
}
