//! `path/mix/reports`: sessions that report all the time beside the same whose threshold nobody reaches.
//!
//! Both UPFs have their N4 on a port in the process, which the worker polls. What is asked is the worker's time for a
//! packet; that nothing is lost is checked for each session: all octets that it forwarded were reported, once, and
//! its reports have one number behind the other.

mod ledger;
mod testbed;

pub use testbed::Cpus;

use super::fifo;
use super::io::Pool;
use super::rules::Usage;
use crate::measure::{Conditions, Effort, Judged, Lap, disturbance, preempted, quietest};
use crate::report::{HugePages, Outcome, between, join, spread};
use crate::stats::{Summary, round};
use crate::watch::history::Series;
use crate::{Failure, memory};
use ledger::Balance;
use serde_json::json;
use sluice_host::thread;
use sluice_port::Packet;
use testbed::{ReportTestbed, Spent};

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;

/// As results are named.
pub const NAME: &str = "path/mix/reports";
/// A disturbed measurement is made again, until there were so many.
const ATTEMPTS: usize = 3;
/// Packets of two UPFs with two FIFOs each, as many again for N4 frames, and what pools keep for each thread.
pub const PACKETS: u32 = 10 * fifo::PACKETS as u32;

/// Figures of a run.
#[derive(Clone, Debug)]
struct Figures {
    /// The worker's time for a packet, in nanoseconds, while sessions report; and while none does.
    ns: Summary,
    quiet_ns: Summary,
    /// The one by the other, by repetition.
    ratios: Vec<f64>,
    reports_per_s: Summary,
    /// Share of the time in which others had one of the CPUs.
    preempted: f64,
}

/// The worker on this CPU, or on the last; control core and SMF on another, if there is one.
pub fn cpus(worker: Option<usize>) -> Result<Cpus, Failure> {
    let allowed = thread::allowed_cpus().map_err(|e| e.to_string())?;
    let worker = worker.or(allowed.last().copied()).unwrap_or_default();
    let others = allowed.into_iter().find(|cpu| *cpu != worker);
    Ok(Cpus {
        worker,
        control: others.unwrap_or(worker),
    })
}

/// Measures.
pub fn measure<P: Packet>(
    (sessions, cpus, effort): (u32, Cpus, Effort),
    are_packets_huge: bool,
    mut pool: impl FnMut() -> Pool<P>,
) -> Result<Outcome, Failure> {
    let mut quiet = ReportTestbed::build(sessions, Usage::Counted, &mut pool)?;
    let mut storm = ReportTestbed::build(sessions, Usage::Storm, &mut pool)?;
    let pages = HugePages {
        packets: are_packets_huge,
        sessions: memory::sessions_on_huge_pages(),
    };
    let judge = |figures: &Figures| {
        let spread = figures.ns.spread().max(figures.quiet_ns.spread());
        Judged {
            disturbed: disturbance(spread, figures.preempted, "the CPU"),
            preempted: figures.preempted,
            ns: figures.ns.median,
        }
    };
    let laps = || laps([&mut quiet, &mut storm], cpus, effort);
    let title = format!("{NAME} with {sessions} sessions");
    let measured = quietest((&title, ATTEMPTS, effort.reps), laps, judge);
    let balances = (quiet.close(), storm.close());
    let (figures, conditions) = measured?;
    let (without, with) = (balances.0?, balances.1?);
    if without.reports > 0 {
        return Err(format!("{} reports that nobody asked for", without.reports));
    }
    Ok(figures.outcome(sessions, &conditions, with, pages))
}

/// Repetitions of both in turn.
fn laps<P: Packet>(
    testbeds: [&mut ReportTestbed<P>; 2],
    cpus: Cpus,
    effort: Effort,
) -> Result<Figures, Failure> {
    let [quiet, storm] = testbeds;
    let all =
        effort.repeat(|_| Ok([quiet.lap(cpus, effort.each)?, storm.lap(cpus, effort.each)?]))?;
    if all.iter().all(|[_, storm]| storm.reports == 0) {
        return Err("no session reported anything".to_owned());
    }
    let threads = |s: &'_ Spent| [s.worker, s.control];
    let threads: Vec<Lap> = all.iter().flatten().flat_map(threads).collect();
    let per_s = |s: &Spent| s.reports as f64 * 1e9 / s.worker.wall_ns;
    let pairs = all.iter();
    let ratios = pairs.map(|[quiet, storm]| storm.worker.ns() / quiet.worker.ns());
    Ok(Figures {
        ns: Summary::of(all.iter().map(|[_, storm]| storm.worker.ns())),
        quiet_ns: Summary::of(all.iter().map(|[quiet, _]| quiet.worker.ns())),
        ratios: ratios.collect(),
        reports_per_s: Summary::of(all.iter().map(|[_, storm]| per_s(storm))),
        preempted: preempted(&threads),
    })
}

impl Figures {
    fn outcome(
        &self,
        sessions: u32,
        conditions: &Conditions,
        balance: Balance,
        pages: HugePages,
    ) -> Outcome {
        let ratio = Summary::of(self.ratios.iter().copied());
        let Balance { reports, octets } = balance;
        let figures = json!({
            "name": NAME,
            "sessions": sessions,
            "reports": reports,
            "octets_reported": octets,
            "reports_per_s_median": self.reports_per_s.median.round(),
            "quiet_ns_median": round(self.quiet_ns.median),
        });
        let more = [
            spread("ns", self.ns),
            spread("ratio_to_quiet", ratio),
            conditions.to_json(),
            pages.to_json(),
        ];
        let line = format!(
            "{NAME:<18}{sessions:>10}  {} ns beside {} of sessions that report nothing: {} times; {:.0} reports/s; \
             {reports} reports told of all {octets} octets, each once\n{}",
            between(self.ns, 1),
            between(self.quiet_ns, 1),
            between(ratio, 2),
            self.reports_per_s.median,
            conditions.line(),
        );
        let name = format!("{NAME}/{sessions}");
        let series = Series::ratio(name, "ns by those that report nothing", self.ratios.clone());
        Outcome {
            json: more.into_iter().fold(figures, join),
            below: line,
            series: vec![pages.of(series.disturbed(disturbance(0.0, self.preempted, "the CPU")))],
            ..Outcome::default()
        }
    }
}
