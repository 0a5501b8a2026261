//! `sluice bench port`: the packet path over DPDK ports, beside a loop that only moves packets over
//! the same ports.
//!
//! `testbed` is a UPF with established sessions whose ports (`doors`) come and go; `link` makes a kind
//! of port with the `far` end at work, which is a `peer` in another process or thread; `measure`
//! turns path and plain loop.

mod link;
mod measure;
mod peer;
mod ports;
mod remote_end;

use super::args::{PeerArgs, PortArgs};
use super::watch::{Failed, Measured};
use crate::Failure;
use crate::machine;
use crate::measure::{Effort, quietest};
use crate::memory;
use crate::path::traffic::{PLAIN_LEN, TUNNEL_LEN};
use crate::report::{HugePages, Outcome};
use link::{Kind, Link, Site};
use measure::{CASES, Case, Figures, HEADS, Pair};
use peer::Peer;
use ports::{Testbed, WorkerPorts};
use serde_json::{Value, json};
use sluice_port_dpdk::{DpdkIo, Eal, MbufPool};
use sluice_program::exit::Exit;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;

/// Packet memory of each process, in MiB, and packets: all rings full, and what is between them.
const PACKET_MEMORY_MIB: u32 = 64;
const PACKETS: u32 = 16_383;
/// A disturbed measurement is made again, until there were so many.
const ATTEMPTS: usize = 3;

/// CPUs of the threads.
#[derive(Clone, Copy, Debug)]
pub struct Cpus {
    /// The measured worker.
    pub worker: usize,
    /// The far end.
    pub far: usize,
}

/// All that was measured.
#[derive(Default)]
struct Results {
    cases: Vec<Outcome>,
    /// Kinds of links that this machine does not have: sessions, and why.
    skipped: Vec<(Kind, u32, String)>,
    /// Packets that were not what they should be.
    fault: Option<String>,
}

/// Measures.
pub fn run(args: &PortArgs) -> Result<Measured, Failed> {
    let cpus = cpus(args).map_err(Failed::Lacking)?;
    let (eal, pool) = start(Some(cpus.worker)).map_err(Failed::Lacking)?;
    let results = all(args, cpus, &eal, &pool).map_err(Failed::Midway)?;
    let skipped = results.skipped.iter();
    let json = skipped.clone().map(|(kind, sessions, why)| {
        json!({ "name": kind.name(), "sessions": sessions, "skipped_because": why })
    });
    let rest = json!({
        "cpus": { "worker": cpus.worker, "far_end": cpus.far },
        "seconds_each": args.seconds,
        "packet_bytes": { "plain": PLAIN_LEN, "tunnel": TUNNEL_LEN },
        "results": Outcome::to_json(&results.cases),
        "skipped": json.collect::<Value>(),
    });
    let lines = skipped.map(|(kind, sessions, why)| {
        format!("{:<22}{sessions:>10}  skipped: {why}\n", kind.name())
    });
    let mut measured = Outcome::measured(("port", rest), (HEADS, &results.cases), lines);
    measured.fault = results.fault;
    Ok(measured)
}

/// `sluice bench peer`: the far end in a process of its own.
pub fn run_peer(args: &PeerArgs) -> Exit {
    match peer(args) {
        Ok(peer) => {
            remote_end::serve(peer, std::io::stdin(), std::io::stdout());
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
    let peer = Peer::new(link::direct_doors(&pool, devices)?, &flows);
    peer.ok_or_else(|| "too few packets".to_owned())
}

fn cpus(args: &PortArgs) -> Result<Cpus, Failure> {
    let what = "one for the measured worker, one for the far end";
    let [one, other] = machine::two_cpus(&args.cpus, what)?;
    // The first one is where the kernel has most to do.
    let (worker, far) = match args.cpus.is_empty() {
        true => (other, one),
        false => (one, other),
    };
    Ok(Cpus { worker, far })
}

fn start(cpu: Option<usize>) -> Result<(Eal, MbufPool), Failure> {
    machine::dpdk(PACKET_MEMORY_MIB, PACKETS, cpu)
}

fn all(args: &PortArgs, cpus: Cpus, eal: &Eal, pool: &MbufPool) -> Result<Results, Failure> {
    let mut results = Results::default();
    for &sessions in &args.packets.sessions {
        eprintln!("establishing {sessions} sessions");
        let mut testbed = Testbed::build(sessions)?;
        for kind in Kind::ALL {
            let name = |case: &Case| format!("{}/{}", kind.name(), case.name);
            let wanted = |case: &Case| name(case).contains(&args.only);
            let cases: Vec<_> = CASES.into_iter().filter(wanted).collect();
            if cases.is_empty() {
                continue;
            }
            let flows = testbed.flows.clone();
            let site = Site {
                eal,
                pool,
                flows: &flows,
                far_cpu: cpus.far,
            };
            eprintln!("{}: connecting", kind.name());
            match kind.connect(&site) {
                Ok(link) => on_link(args, &mut testbed, (kind, link), &cases, &mut results)?,
                Err(why) => results.skipped.push((kind, sessions, why)),
            }
        }
        testbed.stop();
    }
    Ok(results)
}

/// All cases on one link.
fn on_link(
    args: &PortArgs,
    testbed: &mut Testbed<DpdkIo>,
    (kind, mut link): (Kind, Link),
    cases: &[Case],
    results: &mut Results,
) -> Result<(), Failure> {
    testbed.set_doors(link.doors);
    let mut pair = Pair {
        testbed,
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
        sessions: memory::sessions_on_huge_pages(),
    };
    let effort = Effort::new(args.packets.reps, args.seconds);
    let mut one = |case: &Case| {
        let sessions = pair.testbed.flows.len() as u32;
        let name = format!("{}/{}", kind.name(), case.name);
        let title = format!("{name} with {sessions} sessions");
        let measure = || pair.measure(*case, effort);
        let asked = (&title[..], ATTEMPTS, effort.reps);
        let (figures, conditions) = quietest(asked, measure, Figures::judge)?;
        let fault = figures.balance.fault().map(|why| format!("{name}: {why}"));
        results.fault = results.fault.take().or(fault);
        let which = (kind, *case, sessions);
        let outcome = figures.outcome(which, &conditions, (proven, pages));
        results.cases.push(outcome);
        Ok(())
    };
    let done = cases.iter().try_for_each(&mut one);
    // Before the far end goes, for some drivers say goodbye to it.
    testbed.set_doors(WorkerPorts::closed());
    done
}
