//! `sluice bench path`: the packet path on one core, from memory to memory.
//!
//! [`testbed`](self) is a UPF with established sessions between two memory FIFOs; `measure` turns
//! its worker's loop, and the limit's on the same FIFOs.

mod arrivals;
pub(crate) mod fifo;
mod form;
pub mod io;
mod latency;
mod limit;
mod load;
mod measure;
mod numbered;
mod observe;
mod public;
mod reports;
pub(crate) mod rules;
pub(crate) mod smf;
pub mod testbed;
pub mod topology;
pub(crate) mod traffic;
pub mod variant;
mod waiting;

use super::args::PathArgs;
use super::watch::{Failed, Measured};
use crate::measure::{Effort, quietest};
use crate::report::{HugePages, Outcome};
use crate::watch::history::Series;
use crate::{Failure, machine, memory};
use fifo::{PACKETS, Pool};
use limit::Limit;
use measure::{Case, HEADS, cases};
use reports::Cpus;
use serde_json::json;
use sluice_port_dpdk::{Eal, Mbuf, MbufPool};
use testbed::Testbed;
use traffic::{INNER_LEN, PLAIN_LEN, TUNNEL_LEN};
use variant::{Load, REPORTS, Variant};

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;

/// Packet memory, in MiB: both FIFOs' buffers take a quarter of it.
const PACKET_MEMORY_MIB: u32 = 64;
/// A disturbed measurement is made again, until there were so many.
const ATTEMPTS: usize = 3;

/// All that was measured.
#[derive(Default)]
struct Results {
    /// Times per packet.
    cases: Vec<Outcome>,
    /// Times from due to sent.
    latencies: Vec<Outcome>,
    /// Cost of observation.
    observed: Vec<Outcome>,
    /// Cost of reports.
    reports: Vec<Outcome>,
    /// Memory of sessions, if it was measured.
    memory: Option<Series>,
}

/// Measures.
pub fn run(args: &PathArgs) -> Result<Measured, Failed> {
    let cpu = args.cpu.map(usize::from);
    let some_wait = variants(&args.rules)
        .iter()
        .any(|of| of.load != Load::Usual);
    let mut packets = match some_wait {
        true => 6 * PACKETS as u32 + load::PACKETS,
        false => 3 * PACKETS as u32,
    };
    if args.asks(REPORTS) {
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
    let others = [&results.latencies, &results.observed, &results.reports];
    let others = || others.into_iter().flatten();
    let lines = others().map(|one| &one.below);
    let mut measured = Outcome::measured(("path", rest), (HEADS, &results.cases), lines);
    measured
        .series
        .extend(others().flat_map(|one| one.series.clone()));
    measured.series.extend(results.memory);
    Ok(measured)
}

fn all(args: &PathArgs, cpus: Cpus, eal: &Eal, pool: &MbufPool) -> Result<Results, Failure> {
    let mut results = Results::default();
    let effort = Effort::new(args.packets.reps, args.seconds);
    for &sessions in &args.packets.sessions {
        for variant in variants(&args.rules) {
            let wanted = |case: &Case| case.name.contains(&args.only);
            let cases: Vec<_> = cases(&variant).into_iter().filter(wanted).collect();
            let ours = |name: &str| variant == Variant::USUAL && name.contains(&args.only);
            let (waits, observes) = (ours(latency::NAME), ours(observe::NAME));
            if cases.is_empty() && !waits && !observes {
                continue;
            }
            let (mut testbed, mut limit, pages) = proven(sessions, variant, eal, pool)?;
            for case in cases {
                let outcome = one(&mut limit, &mut testbed, &case, effort, pages)?;
                results.cases.push(outcome);
                let bytes = testbed.memory.bytes_per_session(sessions);
                results.memory = results.memory.take().or_else(|| {
                    let name = format!("path/bytes_per_session/{sessions}");
                    Some(Series::shown(name, "octets", [bytes?]))
                });
            }
            if waits {
                eprintln!("{} with {sessions} sessions", latency::NAME);
                let latencies = latency::measure(&mut limit, &mut testbed, effort, pages)?;
                results.latencies.extend(latencies);
            }
            if observes {
                eprintln!("{} with {sessions} sessions", observe::NAME);
                let observed = observe::measure(&mut testbed, effort, pages)?;
                results.observed.push(observed);
            }
            testbed.end();
        }
        if args.asks(REPORTS) && reports::NAME.contains(&args.only) {
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

/// Variants of these names.
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
) -> Result<(Testbed<Mbuf>, Limit, HugePages), Failure> {
    eprintln!("establishing {sessions} sessions{}", variant.says);
    let packets = pool.clone();
    let mut testbed = Testbed::build(sessions, variant, move || packets.alloc())?;
    let huge_pages = HugePages {
        packets: eal.huge_pages(),
        sessions: memory::sessions_on_huge_pages(),
    };
    eprintln!("comparing every byte of every session's packets");
    testbed.prove()?;
    let mut limit = Limit::new(&testbed)?;
    limit.prove(&mut testbed)?;
    Ok((testbed, limit, huge_pages))
}

/// One case, until nothing disturbs it.
fn one(
    limit: &mut Limit,
    testbed: &mut Testbed<Mbuf>,
    case: &Case,
    effort: Effort,
    huge_pages: HugePages,
) -> Result<Outcome, Failure> {
    let sessions = testbed.flows.len() as u32;
    let title = format!("{} with {sessions} sessions", case.name);
    let measure = || measure::measure(limit, testbed, case, effort);
    let asked = (&title[..], ATTEMPTS, effort.reps);
    let (figures, conditions) = quietest(asked, measure, measure::Figures::judge)?;
    let (whose, memory) = ((&case.name[..], sessions), testbed.memory);
    let compared = testbed.verdict()?;
    Ok(figures.outcome(whose, &conditions, (&memory, huge_pages), compared))
}
