//! Runners `pfcp`: message rate of the N4 loop; and `housekeeping`: control core load on its own CPU or
//! on the worker's.

use super::testbed::{Machine, bad, best_of, repeats};
use crate::experiments::{Job, Measured, Problem};
use sluice_bench::path::io::Pool;
use sluice_bench::pfcp::flow::{self, FlowLoad};
use sluice_bench::pfcp::lifecycle::Act;
use sluice_bench::pfcp::load::{Log, Pace, Wire};
use sluice_bench::pfcp::measure::{Case, measure};
use sluice_bench::pfcp::n4_transport::{Datagrams, Door, SocketWire};
use sluice_bench::pfcp::port::{self, N4Port, PortDoor};
use sluice_bench::pfcp::ring::RingDoor;
use sluice_bench::pfcp::script::Script;
use sluice_bench::pfcp::subscribers::Variety;
use sluice_bench::pfcp::testbed::{Cpus, Loop, Testbed};
use sluice_bench::stats::percentile;
use sluice_control::core::Env;
use sluice_port_dpdk::{Mbuf, MbufPool};

/// The share of the closed loop's rate at which answers are timed.
const TIMED: f64 = 0.1;
/// If others had the CPUs for more of the time, it is measured again. The kernel's own work for sockets
/// takes some.
const PREEMPTED_MOST: f64 = 0.05;
/// A first look at that rate takes so many of the messages.
const LOOK: usize = 4;

/// One way for messages to come.
pub fn pfcp(machine: &Machine<Mbuf>, pool: &MbufPool, job: &Job<'_>) -> Result<Measured, Problem> {
    let cpus = Cpus {
        n4: machine.cpus[0],
        worker: machine.cpus[1],
    };
    let fresh = || -> Pool<Mbuf> { (machine.pool)() };
    let (n4_port, mut n4_wire) = port::pair(fresh());
    let mut testbed = world_of(machine, job, n4_port, cpus)?;
    let (mut door, mut wire) = RingDoor::pair(testbed.smf());
    let measured = match job.text("via")? {
        "port" => all(&mut testbed, &mut PortDoor(fresh()), &mut n4_wire, job),
        "socket" => {
            let (mut n4, mut udp) = SocketWire::pair(pool.clone(), Datagrams::Apart)?;
            all(&mut testbed, &mut n4, &mut udp, job)
        }
        other => Err(bad("via", other, "port or socket")),
    }?;
    // What stands in the end carries packets; and all buffers go back.
    testbed.connect_all(&mut door, &mut wire)?;
    testbed.prove()?;
    Ok(measured)
}

/// A UPF with the point's sessions, all of them connected.
pub fn world_of(
    machine: &Machine<Mbuf>,
    job: &Job<'_>,
    n4: N4Port<Mbuf>,
    cpus: Cpus,
) -> Result<Testbed<Mbuf>, Problem> {
    let sessions = job.number("sessions")? as u32;
    let mut testbed = Testbed::build(sessions, Variety::uniform(), (machine.pool)(), n4, cpus)?;
    let (mut door, mut wire) = RingDoor::pair(testbed.smf());
    testbed.populate(&mut door, &mut wire)?;
    Ok(testbed)
}

fn all(
    testbed: &mut Testbed<Mbuf>,
    door: &mut impl Door<Around: Env<Packet = Mbuf>>,
    wire: &mut (impl Wire + Send),
    job: &Job<'_>,
) -> Result<Measured, Problem> {
    let messages = job.number("messages")? as usize;
    let mut measured = Measured::default();
    let mut procedures = vec![];
    for _ in 0..repeats(job)? {
        job.go_on()?;
        procedures.push(lives(testbed, door, wire, messages)?);
    }
    measured.add("procedures_per_s", procedures);
    let case = |messages, rate_per_s, reps| Case {
        name: "lab".to_owned(),
        plain_name: "lab".to_owned(),
        carried_by: "",
        messages,
        window: job.number("window").unwrap_or(256.0) as usize,
        rate_per_s,
        reps,
    };
    job.go_on()?;
    let look = case((messages / LOOK).max(1_000), 10_000.0, 1);
    let look = measure(testbed, (&mut *door, &mut *wire), &look)?;
    // One repetition at a time, so that Ctrl-C is heard between them.
    let timed = case(messages, TIMED * look.rate_per_s.median, 1);
    let (mut rates, mut p50, mut p99) = (vec![], vec![], vec![]);
    for _ in 0..repeats(job)? {
        let seen = best_of(PREEMPTED_MOST, || {
            job.go_on()?;
            let figures = measure(testbed, (&mut *door, &mut *wire), &timed)?;
            let share = figures.preempted;
            Ok((figures, share))
        })?;
        rates.push(seen.what.rate_per_s.median);
        p50.push(seen.what.open.p50);
        p99.push(seen.what.open.p99);
        measured.disturbed = measured.disturbed.or(seen.disturbed);
    }
    measured.add("messages_per_s", rates);
    measured.add("latency_us_p50", p50);
    measured.add("latency_us_p99", p99);
    Ok(measured)
}

/// Sessions end, begin and are connected: procedures of deletion, establishment and modification,
/// a second.
fn lives(
    testbed: &mut Testbed<Mbuf>,
    door: &mut impl Door<Around: Env<Packet = Mbuf>>,
    wire: &mut (impl Wire + Send),
    messages: usize,
) -> Result<f64, Problem> {
    let count = (messages / 3).min(testbed.subscribers.all.len()).max(1) as u32;
    testbed.connect_all(door, wire)?;
    let (mut script, mut log) = (Script::default(), Log::new(count as usize));
    // All stand: what was absent is established first.
    let absent = std::mem::take(&mut testbed.subscribers.absent);
    for index in absent {
        script.each(&mut testbed.subscribers, index..index + 1, Act::Establish);
        serve(testbed, door, wire, &script, &mut log)?;
    }
    testbed.connect_all(door, wire)?;
    let mut wall_ns = 0;
    for act in [Act::Delete, Act::Establish, Act::Proceed] {
        script.each(&mut testbed.subscribers, 0..count, act);
        wall_ns += serve(testbed, door, wire, &script, &mut log)?;
    }
    testbed.subscribers.absent.clear();
    Ok(f64::from(count) * 1e9 / wall_ns as f64)
}

fn serve(
    testbed: &mut Testbed<Mbuf>,
    door: &mut impl Door<Around: Env<Packet = Mbuf>>,
    wire: &mut (impl Wire + Send),
    script: &Script,
    log: &mut Log,
) -> Result<u64, Problem> {
    let spent = testbed.lap((door, wire), script, Pace::Closed(256), Loop::N4, log)?;
    testbed.judge(script, log)?;
    Ok(spent.lap.wall_ns)
}

/// Packets of one worker while sessions are modified.
pub fn housekeeping(machine: &Machine<Mbuf>, job: &Job<'_>) -> Result<Measured, Problem> {
    let [control, worker] = machine.cpus;
    let n4 = match job.text("control")? {
        "own core" => control,
        "the worker's core" => worker,
        other => return Err(bad("control", other, "'own core' or 'the worker's core'")),
    };
    let fresh = || -> Pool<Mbuf> { (machine.pool)() };
    let (n4_port, mut n4_wire) = port::pair(fresh());
    let mut testbed = world_of(machine, job, n4_port, Cpus { n4, worker })?;
    let asked = FlowLoad {
        rate_per_s: job.number("modifications_per_s")?,
        what: Loop::Housekeeping,
        reps: repeats(job)?,
    };
    job.go_on()?;
    let mut door = PortDoor(fresh());
    let figures = flow::measure(&mut testbed, (&mut door, &mut n4_wire), asked)?;
    let mut measured = Measured::default();
    let trips_us = |share| f64::from(percentile(&figures.trips_ns, share)) / 1000.0;
    measured.add(
        "mpps",
        [figures.mpps.min, figures.mpps.median, figures.mpps.max],
    );
    measured.add("answer_us_p50", [trips_us(0.5)]);
    measured.add("answer_us_p99", [trips_us(0.99)]);
    measured.add("lost", [figures.lost as f64]);
    Ok(measured)
}
