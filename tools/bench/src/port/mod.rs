//! `sluice bench port`: the packet path over DPDK ports, beside a loop that only moves packets over
//! the same ports.
//!
//! `world` is a UPF with established sessions whose ports (`doors`) come and go; `link` makes a kind
//! of port with the `far` end at work, which is a `peer` in another process or thread; `measure`
//! turns path and plain loop, and `report` tells.

mod link;
mod measure;
mod packet_balance;
mod peer;
mod ports;
mod remote_end;
mod report;
mod testbed;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;

use super::args::{PeerArgs, PortArgs};
use super::path::testbed::Failure;
use super::watch::{Failed, Measured};
use crate::report::{Conditions, HugePages};
use link::{Kind, Link, Site};
use measure::{CASES, Case, Effort, Figures, Pair};
use peer::Peer;
use ports::WorkerPorts;
use report::{Outcome, Result as Outcomes, Skipped};
use sluice::exit::Exit;
use sluice_host::thread;
use sluice_port_dpdk::{DpdkIo, Eal, EalConfig, MbufPool, Memory, PoolConfig};
use std::time::Duration;
use testbed::Testbed;

/// Packet memory of each process, in MiB, and packets: all rings full, and what is between them.
const PACKET_MEMORY_MIB: u32 = 64;
const PACKETS: u32 = 16_383;
/// A disturbed measurement is made again, until there were so many.
const ATTEMPTS: usize = 3;
/// Repetitions of a quiet machine lie closer together than this share of their median.
const SPREAD_MAX: f64 = 0.2;
/// Beyond this share of time for others the caches are theirs, too.
const PREEMPTED_MAX: f64 = 0.05;

/// Whose CPU is which.
#[derive(Clone, Copy, Debug)]
pub struct Cpus {
    /// The measured worker.
    pub worker: usize,
    /// The far end.
    pub far: usize,
}

/// Measures.
pub fn run(args: &PortArgs) -> Result<Measured, Failed> {
    let cpus = cpus(args).map_err(Failed::Lacking)?;
    let (eal, pool) = start(Some(cpus.worker)).map_err(Failed::Lacking)?;
    let outcomes = all(args, cpus, &eal, &pool).map_err(Failed::Midway)?;
    Ok(Measured {
        json: report::to_json(&outcomes, cpus, args.seconds),
        table: report::to_table(&outcomes),
        series: outcomes.measured.iter().map(Outcome::series).collect(),
        fault: outcomes.measured.iter().find_map(Outcome::fault),
    })
}

/// `sluice bench peer`: the far end in a process of its own.
pub fn run_peer(args: &PeerArgs) -> Exit {
    match peer(args) {
        Ok(peer) => {
            remote_end::serve(peer);
            Exit::Done
        }
        Err(why) => {
            eprintln!("sluice bench peer: {why}");
            Exit::Lacking
        }
    }
}

fn peer(args: &PeerArgs) -> Result<Peer<WorkerPorts<DpdkIo>>, Failure> {
    let devices = <&[String; 2]>::try_from(&args.devices[..]).map_err(|_| "two devices")?;
    let flows = remote_end::read_flows(&args.flows)?;
    let (_eal, pool) = start(args.cpu.map(usize::from))?;
    Ok(Peer::new(link::direct_doors(&pool, devices)?, flows))
}

fn cpus(args: &PortArgs) -> Result<Cpus, Failure> {
    let allowed = thread::allowed_cpus().map_err(|e| e.to_string())?;
    match (&args.cpus[..], &allowed[..]) {
        ([worker, far], _) => Ok(Cpus {
            worker: usize::from(*worker),
            far: usize::from(*far),
        }),
        (_, [far, worker, ..]) => Ok(Cpus {
            worker: *worker,
            far: *far,
        }),
        _ => Err("two CPUs are needed: one for the measured worker, one for the far end".into()),
    }
}

fn start(cpu: Option<usize>) -> Result<(Eal, MbufPool), Failure> {
    let eal = Eal::init(&EalConfig {
        memory: Memory::Auto {
            mib: PACKET_MEMORY_MIB,
        },
        main_cpus: cpu.map(|cpu| cpu.to_string()),
        ..EalConfig::default()
    });
    let eal = eal.map_err(|e| e.to_string())?;
    let config = PoolConfig {
        packets: PACKETS,
        ..PoolConfig::default()
    };
    let pool = MbufPool::create(&eal, config).map_err(|e| e.to_string())?;
    Ok((eal, pool))
}

fn all(args: &PortArgs, cpus: Cpus, eal: &Eal, pool: &MbufPool) -> Result<Outcomes, Failure> {
    let mut outcomes = Outcomes::default();
    for &sessions in &args.sessions {
        eprintln!("establishing {sessions} sessions");
        let mut world = Testbed::build(sessions)?;
        for kind in Kind::ALL {
            let name = |case: &Case| format!("{}/{}", kind.name(), case.name);
            let wanted = |case: &Case| name(case).contains(&args.only);
            let cases: Vec<_> = CASES.into_iter().filter(wanted).collect();
            if cases.is_empty() {
                continue;
            }
            let flows = world.flows.clone();
            let site = Site {
                eal,
                pool,
                flows: &flows,
                far_cpu: cpus.far,
            };
            eprintln!("{}: connecting", kind.name());
            match kind.connect(&site) {
                Ok(link) => {
                    let measured = on_link(args, &mut world, (kind, link), &cases);
                    outcomes.measured.extend(measured?);
                }
                Err(why) => outcomes.skipped.push(Skipped {
                    kind,
                    sessions,
                    why,
                }),
            }
        }
        world.end();
    }
    Ok(outcomes)
}

/// All cases on one link.
fn on_link(
    args: &PortArgs,
    world: &mut Testbed<DpdkIo>,
    (kind, mut link): (Kind, Link),
    cases: &[Case],
) -> Result<Vec<Outcome>, Failure> {
    world.set_doors(link.doors);
    let mut pair = Pair {
        world,
        far: &mut link.far,
        window: kind.window(),
    };
    eprintln!(
        "{}: comparing every byte of every session's packets",
        kind.name()
    );
    let proven = pair.prove()?;
    let pages = HugePages {
        packets: link.on_huge_pages,
        sessions: pair.world.on_huge_pages,
    };
    let effort = Effort {
        reps: args.reps.into(),
        each: Duration::from_secs_f64(args.seconds),
    };
    let outcome = |case: &Case| {
        let (figures, attempts) = undisturbed(&mut pair, (kind, *case), effort)?;
        Ok(Outcome {
            kind,
            case: *case,
            sessions: pair.world.flows.len() as u32,
            conditions: Conditions {
                disturbed: disturbance(&figures),
                attempts,
                reps: effort.reps,
                preempted: figures.preempted,
            },
            figures,
            proven,
            pages,
        })
    };
    let outcomes = cases.iter().map(outcome).collect();
    // Before the far end goes, for some drivers say goodbye to it.
    world.set_doors(WorkerPorts::closed());
    outcomes
}

/// One case, again and again while it is disturbed; the best attempt stands.
fn undisturbed(
    pair: &mut Pair<DpdkIo>,
    (kind, case): (Kind, Case),
    effort: Effort,
) -> Result<(Figures, usize), Failure> {
    let mut best: Option<Figures> = None;
    for attempt in 1..=ATTEMPTS {
        let sessions = pair.world.flows.len();
        eprintln!("{}/{} with {sessions} sessions", kind.name(), case.name);
        let figures = pair.measure(case, effort)?;
        if disturbance(&figures).is_none() {
            return Ok((figures, attempt));
        }
        let better = |b: &Figures| figures.io_ns.median < b.io_ns.median;
        if best.as_ref().is_none_or(better) {
            best = Some(figures);
        }
    }
    let best = best.map(|figures| (figures, ATTEMPTS));
    best.ok_or_else(|| "nothing was measured".to_owned())
}

/// Why the figures cannot be trusted, if so.
fn disturbance(figures: &Figures) -> Option<String> {
    let spread = figures.path_ns.spread().max(figures.io_ns.spread());
    if spread > SPREAD_MAX {
        return Some(format!("repetitions lie {:.0} % apart", spread * 100.0));
    }
    apart_from_spread(figures)
}

/// The machine's speed may change from repetition to repetition: ratios need not mind.
fn apart_from_spread(figures: &Figures) -> Option<String> {
    let away = figures.preempted.max(figures.far_preempted);
    if away > PREEMPTED_MAX {
        return Some(format!(
            "others had one of the CPUs for {:.0} % of the time",
            away * 100.0
        ));
    }
    let lost: u64 = figures.balance.lost().iter().sum();
    (lost > 0).then(|| format!("{lost} packets were lost"))
}
