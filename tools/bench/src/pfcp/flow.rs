//! Packet path under session modifications: loss, and how much slower the path becomes by it.

use super::load::{Log, Pace, Wire, drive};
use super::n4_transport::Door;
use super::script::Script;
use super::testbed::{Loop, Testbed};
use crate::Failure;
use crate::measure::{Effort, Lap, Stopwatch};
use crate::path::fifo::Check;
use crate::path::io::BenchIo;
use crate::path::testbed::shuffled;
use crate::path::traffic::{Direction, Flow};
use crate::report::{Outcome, between, join, spread};
use crate::stats::{Summary, round};
use crate::watch::history::Series;
use serde_json::json;
use sluice_control::core::Env;
use sluice_datapath::worker::Worker;
use sluice_host::clock;
use sluice_port::Packet;
use std::sync::Arc;

/// Load of the N4 side during the packets.
#[derive(Clone, Copy, Debug)]
pub struct FlowLoad {
    /// Modifications a second.
    pub rate_per_s: f64,
    /// Loop of the N4 side.
    pub what: Loop,
    /// How often, besides once to warm up.
    pub reps: usize,
}

/// As the result is named.
pub const NAME: &str = "pfcp/dpdk/flow";
/// Modifications a second that slow the path by a tenth at the most.
pub const RATE_PER_S: f64 = 100_000.0;
/// A repetition takes so long, or less where there are few sessions: some dialects leave URRs behind
/// with each turn from idle to active, and a session has no endless room for them.
const SECONDS: f64 = 0.2;

/// Load that `sluice bench` measures.
pub fn asked(reps: usize) -> FlowLoad {
    FlowLoad {
        rate_per_s: RATE_PER_S,
        what: Loop::N4,
        reps,
    }
}

#[derive(Clone, Debug)]
pub struct FlowFigures {
    /// CPU time of the worker for a packet while nothing is modified, nanoseconds.
    pub quiet_ns: Summary,
    /// The same while sessions are modified, all that their messages take of the worker included.
    pub busy_ns: Summary,
    /// The one by the other, by repetition.
    pub ratios: Vec<f64>,
    /// Modifications answered a second.
    pub rate_per_s: Summary,
    /// Packets meanwhile, millions a second by the clock on the wall.
    pub mpps: Summary,
    /// Times to the answers of all modifications, sorted.
    pub trips_ns: Vec<u32>,
    /// Packets that did not come out, or came out wrong.
    pub lost: u64,
    /// Packets sent while sessions were modified.
    pub packets: u64,
}

impl FlowFigures {
    /// Result with this number of sessions.
    pub fn outcome(&self, sessions: u32) -> Outcome {
        // How much slower the path is meanwhile.
        let slowdown = self.busy_ns.median / self.quiet_ns.median - 1.0;
        let figures = json!({
            "name": NAME,
            "modifications_offered_per_s": RATE_PER_S,
            "modifications_per_s_median": self.rate_per_s.median.round(),
            "path_quiet_ns_median": round(self.quiet_ns.median),
            "slowdown": round(slowdown),
            "packets": self.packets,
            "lost": self.lost,
        });
        let line = format!(
            "{NAME}    {:.0} modifications/s beside {} packets: {} lost, {} ns a packet instead of {} ({:+.1} %)\n",
            self.rate_per_s.median,
            self.packets,
            self.lost,
            between(self.busy_ns, 0),
            between(self.quiet_ns, 0),
            slowdown * 100.0,
        );
        let unit = "worker's ns a packet by those without modifications";
        let name = format!("{NAME}/{sessions}");
        Outcome {
            json: join(figures, spread("path_ns", self.busy_ns)),
            below: line,
            series: vec![Series::ratio(name, unit, self.ratios.clone())],
            ..Outcome::default()
        }
    }
}

/// Packets of one half of the sessions, while the other half is modified. All sessions must be
/// connected; those that were modified need not be afterwards.
pub fn measure<P: Packet, W: Wire + Send>(
    testbed: &mut Testbed<P>,
    (door, wire): (&mut impl Door<Around: Env<Packet = P>>, &mut W),
    asked: FlowLoad,
) -> Result<FlowFigures, Failure> {
    let half = testbed.subscribers.all.len() / 2;
    let flows = testbed.subscribers.flows_below(half)?;
    open(testbed.io(), shuffled(flows));
    let dropped = testbed.core.ledger().dropped_total();
    let count = (asked.rate_per_s * SECONDS) as usize;
    let count = count.clamp(1, 2 * half);
    let (mut script, mut log) = (Script::default(), Log::new(count));
    let mut trips_ns = Vec::new();
    let away = Arc::clone(&testbed.away);
    let laps = Effort::new(asked.reps, 0.0).repeat(|rep| {
        script.modifying(&mut testbed.subscribers, half, count);
        let mut taken = [Lap::default(); 2];
        let [calm, moved] = &mut taken;
        let pace = Pace::Open(asked.rate_per_s);
        let calm_ns = count as f64 * 1e9 / asked.rate_per_s;
        let spent = testbed.lap_while((door, wire), asked.what, |wire, worker| {
            idle(worker, calm, calm_ns);
            let lap = drive(wire, &script, pace, (&mut log, &away), || {
                turn(worker, moved)
            });
            settle(worker);
            lap
        })?;
        testbed.judge(&script, &log)?;
        if rep > 0 {
            trips_ns.extend_from_slice(&log.rtt_ns);
        }
        Ok((taken, spent.lap.wall_ns as f64))
    })?;
    let wrong = close(testbed.io())?;
    trips_ns.sort_unstable();
    let ns = |at: usize| laps.iter().map(move |(taken, _)| taken[at].ns());
    let per_s = |n: fn(&Lap) -> f64| laps.iter().map(move |([_, moved], ns)| n(moved) * 1e9 / ns);
    let rate_per_s = laps.iter().map(|(_, ns)| count as f64 * 1e9 / ns);
    let packets: f64 = laps.iter().map(|([_, moved], _)| moved.packets).sum();
    Ok(FlowFigures {
        ratios: ns(1).zip(ns(0)).map(|(busy, quiet)| busy / quiet).collect(),
        quiet_ns: Summary::of(ns(0)),
        busy_ns: Summary::of(ns(1)),
        rate_per_s: Summary::of(rate_per_s),
        mpps: Summary::of(per_s(|moved| moved.packets / 1e6)),
        trips_ns,
        lost: testbed.core.ledger().dropped_total() - dropped + wrong,
        packets: packets as u64,
    })
}

/// A turn of the worker, and what it took.
fn turn<P: Packet>(worker: &mut Worker<BenchIo<P>>, taken: &mut Lap) {
    let (before, watch) = (returned(worker), Stopwatch::start());
    worker.turn(clock::monotonic_ns());
    let lap = watch.lap(0);
    taken.add(Lap {
        packets: (returned(worker) - before) as f64,
        ..lap
    });
}

fn returned<P: Packet>(worker: &mut Worker<BenchIo<P>>) -> usize {
    let fifos = worker.io().fifos();
    fifos.iter().map(|fifo| fifo.returned()).sum()
}

/// As many packets as come during the modifications, about.
fn idle<P: Packet>(worker: &mut Worker<BenchIo<P>>, taken: &mut Lap, until_ns: f64) {
    worker.io().open(&Direction::BOTH);
    while taken.cpu_ns < until_ns {
        turn(worker, taken);
    }
}

/// No packet comes any more; those under way leave.
fn settle<P: Packet>(worker: &mut Worker<BenchIo<P>>) {
    worker.io().open(&[]);
    worker.turn(clock::monotonic_ns());
}

fn open<P: Packet>(io: &mut BenchIo<P>, flows: Arc<[Flow]>) {
    io.set_flows(&flows);
    for fifo in io.fifos() {
        fifo.set_check(Check::Sampled);
    }
}

/// Packets that did not come back; an error tells of those that came back wrong.
fn close<P: Packet>(io: &mut BenchIo<P>) -> Result<u64, Failure> {
    let mut missing = 0;
    for fifo in io.fifos() {
        missing += u64::from(fifo.under_way() > 0);
        fifo.judge()?;
    }
    Ok(missing)
}
