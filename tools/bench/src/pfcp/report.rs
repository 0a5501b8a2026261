//! JSON and text report.

use super::flow::{FlowFigures, RATE_PER_S};
use super::measure::{Case, Figures};
use super::preemption;
use super::testbed::Cpus;
use super::variety::Variety;
use crate::machine;
use crate::path::memory::Grown;
use crate::stats::round;
use crate::watch::series::Series;
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
    /// Why the figures cannot be trusted.
    pub disturbed: Option<String>,
    /// Measurements until one was undisturbed, or none was.
    pub attempts: usize,
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
        let Figures {
            rate_per_s,
            limit_rate_per_s,
            busy_ns,
            limit_busy_ns,
            closed,
            open,
            undisturbed,
            ..
        } = &self.figures;
        let mut map = Map::new();
        let mut put = |key: &str, value: Value| map.insert(key.to_owned(), value);
        put("name", json!(self.case.name));
        put("carried_by", json!(self.case.carried_by));
        put("sessions", json!(self.sessions));
        let (peers, ambrs) = self.variety.counts();
        put("peers", json!(peers));
        put("ambrs", json!(ambrs));
        put("messages_per_s_median", json!(rate_per_s.median.round()));
        put("messages_per_s_min", json!(rate_per_s.min.round()));
        put("messages_per_s_max", json!(rate_per_s.max.round()));
        put(
            "limit_messages_per_s_median",
            json!(limit_rate_per_s.median.round()),
        );
        put(
            "n4_busy_share",
            json!(round(self.figures.busy_share.median)),
        );
        put(
            "messages_per_turn",
            json!(round(self.figures.per_turn.median)),
        );
        put("ns_median", json!(round(busy_ns.median)));
        put("ns_min", json!(round(busy_ns.min)));
        put("ns_max", json!(round(busy_ns.max)));
        put("limit_ns_median", json!(round(limit_busy_ns.median)));
        put("ratio_to_limit", json!(round(self.ratio())));
        put("window", json!(self.case.window));
        put("closed_rtt_us_p50", json!(round(closed.p50)));
        put("closed_rtt_us_p99", json!(round(closed.p99)));
        put("rtt_us_p50", json!(round(open.p50)));
        put("rtt_us_p99", json!(round(open.p99)));
        put("rtt_us_max", json!(round(open.max)));
        put("rtt_undisturbed_us_p50", json!(round(undisturbed.p50)));
        put("rtt_undisturbed_us_p99", json!(round(undisturbed.p99)));
        put("rtt_undisturbed_us_max", json!(round(undisturbed.max)));
        put(
            "rtt_undisturbed_share",
            json!(round(self.figures.undisturbed_share.median)),
        );
        put("rtt_offered_per_s", json!(self.case.rate_per_s.round()));
        put(
            "rtt_answered_per_s",
            json!(self.figures.open_rate_per_s.median.round()),
        );
        put("repetitions", json!(self.case.reps));
        put("messages_per_repetition", json!(self.case.messages));
        put(
            "request_bytes_mean",
            json!(round(self.figures.request_octets)),
        );
        put("mix", self.mix());
        put("disturbed", json!(self.disturbed.is_some()));
        put("disturbed_because", json!(self.disturbed));
        put("attempts", json!(self.attempts));
        put("preempted_share", json!(round(self.figures.preempted)));
        Value::Object(map)
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
pub fn placement(cpus: Cpus) -> String {
    format!(
        "N4 loop alone on CPU {}; worker and generator in one thread on CPU {}",
        cpus.n4, cpus.worker
    )
}

/// All of it as one object.
pub fn to_json(outcomes: &[Outcome], run: &Run, sessions: u32) -> Value {
    let bytes = (sessions >= SESSIONS_FOR_MEMORY).then_some(run.memory.per_session.round());
    json!({
        "bench": "pfcp",
        "version": env!("CARGO_PKG_VERSION"),
        "machine": machine::facts(),
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
    })
}

fn flow_json(flow: &FlowFigures) -> Value {
    json!({
        "name": "pfcp/dpdk/flow",
        "modifications_offered_per_s": RATE_PER_S,
        "modifications_per_s_median": flow.rate_per_s.median.round(),
        "path_quiet_ns_median": round(flow.quiet_ns.median),
        "path_ns_median": round(flow.busy_ns.median),
        "path_ns_min": round(flow.busy_ns.min),
        "path_ns_max": round(flow.busy_ns.max),
        "slowdown": round(flow.slowdown()),
        "packets": flow.packets,
        "lost": flow.lost,
    })
}
