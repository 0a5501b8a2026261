//! JSON and text report.

use super::flow::{FlowFigures, RATE_PER_S};
use super::measure::{Case, Figures};
use super::preemption;
use super::subscribers::Variety;
use super::testbed::Cpus;
use crate::path::memory::Grown;
use crate::report::{Conditions, between, join, object, spread, table};
use crate::stats::round;
use crate::watch::history::Series;
use serde_json::{Map, Value, json};

/// At fewer sessions the fixed part of the memory would stand for them.
const SESSIONS_FOR_MEMORY: u32 = 100_000;

/// What was measured, and under which conditions.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The case.
    pub case: Case,
    /// Sessions.
    pub sessions: u32,
    /// In what they differ.
    pub variety: Variety,
    /// Figures.
    pub figures: Figures,
    /// How they were taken.
    pub conditions: Conditions,
}

/// What holds for all outcomes.
#[derive(Clone, Debug)]
pub struct Run {
    /// Who ran where.
    pub cpus: Cpus,
    /// Memory of sessions when all were established.
    pub memory: Grown,
    /// Packets beside modifications.
    pub flow: Option<FlowFigures>,
    /// Sessions that stood at the end.
    pub proven: usize,
    /// Packets compared to prove it.
    pub compared: u64,
    /// Counters of the retransmission cache: requests and responses that had to go early.
    pub evicted: [u64; 2],
}

impl Outcome {
    /// Time of the N4 thread for a message by that of the limit.
    pub fn ratio(&self) -> f64 {
        self.figures.busy_ns.median / self.figures.limit_busy_ns.median
    }

    fn to_json(&self) -> Value {
        let f = &self.figures;
        let case = &self.case;
        let (peers, ambrs) = self.variety.counts();
        let figures = json!({
            "name": case.name,
            "carried_by": case.carried_by,
            "sessions": self.sessions,
            "peers": peers,
            "ambrs": ambrs,
            "limit_messages_per_s_median": f.limit_rate_per_s.median.round(),
            "n4_busy_share": round(f.busy_share.median),
            "messages_per_turn": round(f.per_turn.median),
            "limit_ns_median": round(f.limit_busy_ns.median),
            "ratio_to_limit": round(self.ratio()),
            "window": case.window,
            "closed_rtt_us_p50": round(f.closed.p50),
            "closed_rtt_us_p99": round(f.closed.p99),
            "rtt_us_p50": round(f.open.p50),
            "rtt_us_p99": round(f.open.p99),
            "rtt_us_max": round(f.open.max),
            "rtt_undisturbed_us_p50": round(f.undisturbed.p50),
            "rtt_undisturbed_us_p99": round(f.undisturbed.p99),
            "rtt_undisturbed_us_max": round(f.undisturbed.max),
            "rtt_undisturbed_share": round(f.undisturbed_share.median),
            "rtt_offered_per_s": case.rate_per_s.round(),
            "rtt_answered_per_s": f.open_rate_per_s.median.round(),
            "messages_per_repetition": case.messages,
            "request_bytes_mean": round(f.request_octets),
            "mix": self.mix(),
        });
        [
            spread("messages_per_s", f.rate_per_s),
            spread("ns", f.busy_ns),
            self.conditions.to_json(),
        ]
        .into_iter()
        .fold(figures, join)
    }

    fn mix(&self) -> Value {
        let shares = self.figures.shares.iter();
        shares
            .map(|(name, share)| ((*name).to_owned(), json!(round(*share))))
            .collect::<Map<_, _>>()
            .into()
    }
}

/// What is kept to be compared with.
pub fn series(outcomes: &[Outcome], run: &Run, sessions: u32) -> Vec<Series> {
    let mut all: Vec<Series> = outcomes.iter().flat_map(Outcome::series).collect();
    all.extend(run.flow.as_ref().map(|flow| {
        let name = format!("pfcp/dpdk/flow/{sessions}");
        let ratios = flow.ratios.iter().copied();
        Series::ratio(
            name,
            "worker's ns a packet by those without modifications",
            ratios,
        )
    }));
    all
}

impl Outcome {
    fn series(&self) -> [Series; 3] {
        let Figures {
            ratios,
            rate_ratios,
            open_p50_us,
            preempted,
            ..
        } = &self.figures;
        let name = format!("{}/{}", self.case.name, self.sessions);
        let [ns, rate, rtt] = [ratios, rate_ratios, open_p50_us].map(|all| all.iter().copied());
        let rates = format!("{name}/rate");
        let trips = format!("{name}/rtt_p50");
        let all = [
            Series::ratio(name, "ns a message by the limit's", ns),
            Series::ratio(rates, "messages/s by the limit's", rate).higher(),
            Series::shown(trips, "us", rtt),
        ];
        all.map(|series| series.disturbed(preemption(*preempted)))
    }
}

/// Who runs where, in words.
fn placement(cpus: Cpus) -> String {
    format!(
        "N4 loop alone on CPU {}; worker and generator in one thread on CPU {}",
        cpus.n4, cpus.worker
    )
}

/// All of it as one object.
pub fn to_json(outcomes: &[Outcome], run: &Run, sessions: u32) -> Value {
    let bytes = (sessions >= SESSIONS_FOR_MEMORY).then_some(run.memory.per_session.round());
    let rest = json!({
        "placement": placement(run.cpus),
        "dialects": sluice_smf::Dialect::ALL.map(|d| d.to_string()),
        "bytes_per_session": bytes,
        "n4_cache_bytes": run.memory.n4_cache,
        "flow": run.flow.as_ref().map(flow_json),
        "sessions_proven": run.proven,
        "packets_compared": run.compared,
        "cache_evicted_requests": run.evicted[0],
        "cache_evicted_responses": run.evicted[1],
        "results": outcomes.iter().map(Outcome::to_json).collect::<Vec<_>>(),
    });
    object("pfcp", rest)
}

fn flow_json(flow: &FlowFigures) -> Value {
    let figures = json!({
        "name": "pfcp/dpdk/flow",
        "modifications_offered_per_s": RATE_PER_S,
        "modifications_per_s_median": flow.rate_per_s.median.round(),
        "path_quiet_ns_median": round(flow.quiet_ns.median),
        "slowdown": round(flow.slowdown()),
        "packets": flow.packets,
        "lost": flow.lost,
    });
    join(figures, spread("path_ns", flow.busy_ns))
}

/// For people.
pub fn to_table(outcomes: &[Outcome], run: &Run) -> String {
    let row = |o: &Outcome| {
        let f = &o.figures;
        let trips = (f.open.p50, f.open.p99, o.case.rate_per_s);
        let cells = vec![
            o.case.name.to_owned(),
            o.sessions.to_string(),
            between(f.rate_per_s, 0),
            between(f.busy_ns, 0),
            format!("{:.0}", f.limit_busy_ns.median),
            format!("{:.2}", o.ratio()),
            format!("{:.1}/{:.1} at {:.0}", trips.0, trips.1, trips.2),
        ];
        let (by, undisturbed) = (o.case.carried_by, undisturbed(o));
        let below = format!("  {by}\n  {undisturbed}\n{}", o.conditions.line());
        (cells, below)
    };
    let heads =
        "|sessions|messages/s (min-max)|ns/message (min-max)|limit ns|ratio|rtt us p50/p99 at rate";
    let mut text = table(heads, outcomes.iter().map(row));
    if let Some(flow) = &run.flow {
        text += &format!(
            "pfcp/dpdk/flow    {:.0} modifications/s beside {} packets: {} lost, {} ns a packet \
             instead of {} ({:+.1} %)\n",
            flow.rate_per_s.median,
            flow.packets,
            flow.lost,
            between(flow.busy_ns, 0),
            between(flow.quiet_ns, 0),
            flow.slowdown() * 100.0,
        );
    }
    text += &format!("{}\n", placement(run.cpus));
    if let Some(o) = outcomes.first() {
        let (peers, ambrs) = o.variety.counts();
        text += &format!("sessions at {peers} gNBs with {ambrs} values of AMBR and MBR\n");
    }
    text += &format!(
        "{} sessions stood at the end; {} packets compared\n",
        run.proven, run.compared
    );
    text
}

/// Round trips while nobody took a CPU away.
fn undisturbed(o: &Outcome) -> String {
    let f = &o.figures;
    format!(
        "rtt us p50/p99/max {:.1}/{:.1}/{:.1} at {:.0} while both threads had their CPUs: {:.1} % of the requests",
        f.undisturbed.p50,
        f.undisturbed.p99,
        f.undisturbed.max,
        o.case.rate_per_s,
        f.undisturbed_share.median * 100.0,
    )
}
