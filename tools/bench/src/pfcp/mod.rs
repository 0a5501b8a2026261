//! `sluice bench pfcp`: the daemon's N4 loop on one core, its worker and the load on another.
//!
//! `subscribers` are the sessions of five dialects and `script` a series of their requests, encoded
//! before the clock runs; `load` sends it by one of the ways of `doors` when `clock` says so, `testbed`
//! lets the measured loop take its `turns` meanwhile.

mod clock;
pub mod flow;
pub mod lifecycle;
pub mod load;
pub mod measure;
pub mod n4_transport;
pub mod port;
pub mod ring;
pub mod script;
pub mod subscribers;
pub mod testbed;
pub mod turns;

use super::args::PfcpArgs;
use super::path::fifo::PACKETS;
use super::watch::{Failed, Measured};
use crate::measure::quietest;
use crate::report::{Outcome, join};
use crate::stats::round;
use crate::{Failure, machine};
use load::Wire;
use measure::{Case, Figures, HEADS, measure};
use n4_transport::{Datagrams, Door, SocketWire};
use port::PortDoor;
use ring::RingDoor;
use serde_json::{Value, json};
use sluice_control::core::Env;
use sluice_n4::counters::Counter;
use sluice_port_dpdk::{Mbuf, MbufPool};
use subscribers::{Armed, Variety};
use testbed::{Cpus, Testbed};

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;

/// Packet memory, in MiB.
const PACKET_MEMORY_MIB: u32 = 64;
/// A disturbed measurement is made again, until there were so many.
const ATTEMPTS: usize = 2;
/// Of these 15 in 100 delete a session: with so many there are sessions left to be asked in the end.
const MESSAGES_PER_SESSION: u64 = 4;

/// Measures.
pub fn run(args: &PfcpArgs) -> Result<Measured, Failed> {
    let most = u64::from(args.sessions) * MESSAGES_PER_SESSION;
    if u64::from(args.messages) > most {
        return Err(Failed::Usage(format!(
            "--messages {}: expected {most} at the most with {} sessions, for a repetition asks nothing more of \
             sessions that it set up itself",
            args.messages, args.sessions
        )));
    }
    let what = "one for the N4 loop, one for worker and generator";
    let [n4, worker] = machine::two_cpus(&args.cpus, what).map_err(Failed::Lacking)?;
    let cpus = Cpus { n4, worker };
    let dpdk = machine::dpdk(PACKET_MEMORY_MIB, 5 * PACKETS as u32, Some(n4));
    let (_eal, pool) = dpdk.map_err(Failed::Lacking)?;
    all(args, cpus, &pool).map_err(Failed::Midway)
}

fn all(args: &PfcpArgs, cpus: Cpus, pool: &MbufPool) -> Result<Measured, Failure> {
    let variety = Variety::new(args.peers, args.ambrs);
    let placement = format!(
        "N4 loop alone on CPU {}; worker and generator in one thread on CPU {}",
        cpus.n4, cpus.worker
    );
    let plain = series(args, variety, cpus, pool)?;
    // One after the other: there is memory for the sessions of one.
    let mut others = Vec::new();
    if args.armed {
        for (name, armed) in [("armed", Armed::Usage), ("live", Armed::Live)] {
            others.push((name, series(args, variety.with(armed), cpus, pool)?));
        }
    }
    Ok(conclude(plain, others, &placement))
}

/// Results for sessions of one variety.
struct Series {
    outcomes: Vec<Outcome>,
    /// Name and time of the N4 thread for a message, by the way that messages come.
    busy_ns: Vec<(String, f64)>,
    flow: Option<Outcome>,
    json: Value,
    line: String,
}

/// All rows of sessions of one variety, and packets through all of them that stand in the end.
fn series(
    args: &PfcpArgs,
    variety: Variety,
    cpus: Cpus,
    pool: &MbufPool,
) -> Result<Series, Failure> {
    let (mut outcomes, mut busy_ns) = (Vec::new(), Vec::new());
    let fresh = || {
        let packets = pool.clone();
        Box::new(move || packets.alloc())
    };
    let (n4_port, mut n4_wire) = port::pair(fresh());
    let mut testbed = Testbed::build(args.sessions, variety, fresh(), n4_port, cpus)?;
    let (mut door, mut wire) = RingDoor::pair(testbed.smf());
    eprintln!("establishing {} sessions", args.sessions);
    testbed.populate(&mut door, &mut wire)?;
    let [port, dpdk, socket, together] = cases(args, variety);
    // Rows of armed sessions belong to those of the others.
    let is_asked = |case: &Case| {
        [&case.name, &case.plain_name]
            .iter()
            .any(|of| of.contains(&args.only))
    };
    let mut keep = |name: String, (outcome, ns)| {
        outcomes.push(outcome);
        busy_ns.push((name, ns));
    };
    if is_asked(&port) {
        let of = one(&mut testbed, (&mut door, &mut wire), &port)?;
        keep(port.name, of);
    }
    if is_asked(&dpdk) {
        let mut n4 = PortDoor(fresh());
        let of = one(&mut testbed, (&mut n4, &mut n4_wire), &dpdk)?;
        keep(dpdk.name, of);
    }
    let sockets = [(socket, Datagrams::Apart), (together, Datagrams::Together)];
    for (case, datagrams) in sockets.into_iter().filter(|(case, _)| is_asked(case)) {
        let (mut n4, mut udp) = SocketWire::pair(pool.clone(), datagrams)?;
        let of = one(&mut testbed, (&mut n4, &mut udp), &case)?;
        keep(case.name, of);
    }
    let mut flow = None;
    // Armed sessions would report what flows.
    if flow::NAME.contains(&args.only) && variety.armed() == Armed::No {
        eprintln!("{}", flow::NAME);
        testbed.connect_all(&mut door, &mut wire)?;
        let ends = (&mut PortDoor(fresh()), &mut n4_wire);
        let figures = flow::measure(&mut testbed, ends, flow::asked(args.reps.into()))?;
        flow = Some(figures.outcome(args.sessions));
    }
    eprintln!("connecting all sessions and sending packets through each");
    testbed.connect_all(&mut door, &mut wire)?;
    prove(testbed, (outcomes, busy_ns), flow)
}

/// Sends packets through all sessions that stand.
fn prove(
    testbed: Testbed<Mbuf>,
    (outcomes, busy_ns): (Vec<Outcome>, Vec<(String, f64)>),
    flow: Option<Outcome>,
) -> Result<Series, Failure> {
    let sessions = testbed.subscribers.all.len() as u32;
    let (peers, ambrs) = testbed.subscribers.variety.counts();
    let counters = testbed.core.up.endpoint().counters();
    let evicted = [
        Counter::CacheEvictedRequests,
        Counter::CacheEvictedResponses,
    ];
    let evicted = evicted.map(|counter| counters.get(counter));
    let memory = testbed.memory;
    let armed = match testbed.subscribers.variety.armed() {
        Armed::No => "",
        Armed::Usage => "armed ",
        Armed::Live => "live ",
    };
    let proven = testbed.subscribers.flows()?.len();
    let compared = testbed.prove()?;
    let json = json!({
        "bytes_per_session": memory.bytes_per_session(sessions),
        "n4_cache_bytes": memory.n4_cache,
        "sessions_proven": proven,
        "packets_compared": compared,
        "cache_evicted_requests": evicted[0],
        "cache_evicted_responses": evicted[1],
    });
    let line = format!(
        "{armed}sessions at {peers} gNBs with {ambrs} values of AMBR and MBR\n\
         {proven} {armed}sessions stood at the end; {compared} packets compared\n"
    );
    Ok(Series {
        outcomes,
        busy_ns,
        flow,
        json,
        line,
    })
}

/// Tells what was measured, and what armed sessions cost by the others.
fn conclude(plain: Series, others: Vec<(&str, Series)>, placement: &str) -> Measured {
    let mut outcomes = plain.outcomes;
    let (mut line, mut told) = (plain.line, json!({ "armed": null, "live": null }));
    for (name, armed) in others {
        let pairs = plain.busy_ns.iter().zip(&armed.busy_ns);
        let ratios: Vec<_> = pairs.map(|(by, of)| (&of.0, &by.0, of.1 / by.1)).collect();
        line += &armed.line;
        for (of, by, ratio) in &ratios {
            line += &format!("{of} takes {ratio:.2} times the time of {by}\n");
        }
        let ratios: Vec<Value> = ratios
            .iter()
            .map(|(of, by, ratio)| json!({"name": of, "by": by, "ns_ratio": round(*ratio)}))
            .collect();
        told[name] = join(armed.json, json!({ "ratios": ratios }));
        outcomes.extend(armed.outcomes);
    }
    let flow = plain.flow;
    let rest = json!({
        "placement": placement,
        "dialects": subscribers::DIALECTS.map(|d| d.to_string()),
        "flow": flow.as_ref().map_or(Value::Null, |flow| flow.json.clone()),
        "armed": told["armed"],
        "live": told["live"],
        "results": Outcome::to_json(&outcomes),
    });
    let flow_line = flow.as_ref().map_or("", |flow| &flow.below);
    let lines = [flow_line, placement, "\n", &line];
    let told = ("pfcp", join(plain.json, rest));
    let mut measured = Outcome::measured(told, (HEADS, &outcomes), lines);
    measured
        .series
        .extend(flow.into_iter().flat_map(|flow| flow.series));
    measured
}

/// Cases by the transport of messages. Sessions that are all alike are a case of their own, and so are armed ones.
fn cases(args: &PfcpArgs, variety: Variety) -> [Case; 4] {
    let uniform = variety.is_all_alike();
    let sessions = match variety.armed() {
        Armed::Live => "live",
        Armed::Usage => "armed",
        Armed::No if uniform => "uniform",
        Armed::No => "mix",
    };
    let named = |way: &str, sessions: &str| match (way, sessions) {
        ("together", "mix") => "pfcp/socket/together".to_owned(),
        ("together", sessions) => format!("pfcp/socket/{sessions}-together"),
        (way, sessions) => format!("pfcp/{way}/{sessions}"),
    };
    let case = |way: &str, carried_by, rate_per_s| Case {
        name: named(way, sessions),
        plain_name: named(way, if uniform { "uniform" } else { "mix" }),
        carried_by,
        messages: args.messages as usize,
        window: args.window.into(),
        rate_per_s,
        reps: args.reps.into(),
    };
    [
        case(
            "port",
            "a ring of buffers in the process, as between a worker and the N4 loop; no NIC and no \
             Ethernet, IP or UDP headers",
            args.port_rate,
        ),
        case(
            "dpdk",
            "whole frames in mbufs on a port in the process, received and sent by the worker; no \
             NIC",
            args.port_rate,
        ),
        case(
            "socket",
            "kernel UDP on loopback, the daemon's socket; the SMFs send and take each datagram by \
             itself",
            args.socket_rate,
        ),
        case(
            "together",
            "the same, the SMFs sending and taking datagrams of one length as one (UDP_SEGMENT, \
             UDP_GRO), as a card may bring them",
            args.socket_rate,
        ),
    ]
}

/// One case, until nothing disturbs it; and the time of the N4 thread for a message, in nanoseconds.
fn one(
    testbed: &mut Testbed<Mbuf>,
    (door, wire): (
        &mut impl Door<Around: Env<Packet = Mbuf>>,
        &mut (impl Wire + Send),
    ),
    case: &Case,
) -> Result<(Outcome, f64), Failure> {
    let measure = || measure(testbed, (&mut *door, &mut *wire), case);
    let asked = (&case.name[..], ATTEMPTS, case.reps);
    let (figures, conditions) = quietest(asked, measure, Figures::judge)?;
    let all = &testbed.subscribers;
    let of = (all.all.len() as u32, all.variety);
    let outcome = figures.outcome(case, of, &conditions);
    Ok((outcome, figures.busy_ns.median))
}
