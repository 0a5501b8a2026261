//! JSON and text report.

use super::disturbance;
use super::fifo::PACKETS;
use super::latency::{self, Latency, Times};
use super::measure::Figures;
use super::memory::Grown;
use super::observe::{self, Observed};
use super::traffic::{INNER_LEN, PLAIN_LEN, TUNNEL_LEN};
use crate::report::{Conditions, HugePages, between, join, object, of, spread, table};
use crate::stats::{Summary, round};
use crate::watch::history::Series;
use serde_json::{Value, json};

/// What metrics may cost the path.
const LOOKING_PERCENT_MAX: f64 = 2.0;
/// What the median of the path's times may be, by that of the limit's.
const LATENCY_RATIO_GOAL: f64 = 2.0;
/// At fewer sessions the fixed part of the memory would stand for them.
const SESSIONS_FOR_MEMORY: u32 = 100_000;

/// What was measured, and under which conditions.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Such as `path/ul/default`.
    pub name: &'static str,
    /// Sessions.
    pub sessions: u32,
    /// Times.
    pub figures: Figures,
    /// How they were taken.
    pub conditions: Conditions,
    /// Memory of sessions.
    pub memory: Grown,
    /// Packets whose bytes were compared.
    pub compared: u64,
    /// What lies on huge pages.
    pub huge_pages: HugePages,
}

impl Outcome {
    /// Time per packet by that of the limit.
    pub fn ratio(&self) -> f64 {
        self.figures.path.median / self.figures.limit.median
    }

    /// The same without what source and sink take, which is in both.
    pub fn net_ratio(&self) -> Option<f64> {
        let Figures {
            path,
            limit,
            source,
            ..
        } = &self.figures;
        let limit = limit.median - source.median;
        (limit > 0.0).then(|| (path.median - source.median) / limit)
    }

    fn bytes(&self) -> Option<f64> {
        (self.sessions >= SESSIONS_FOR_MEMORY).then_some(self.memory.per_session.round())
    }

    fn to_json(&self) -> Value {
        let Figures {
            path,
            limit,
            limit_stage,
            source,
            ..
        } = self.figures;
        let figures = json!({
            "name": self.name,
            "sessions": self.sessions,
            "mpps_median": round(1000.0 / path.median),
            "limit_mpps_median": round(1000.0 / limit.median),
            "limit_stage_packets": limit_stage,
            "ratio_to_limit": round(self.ratio()),
            "net_ratio_to_limit": self.net_ratio().map(round),
            "source_ns_median": round(source.median),
            "bytes_per_session": self.bytes(),
            "n4_cache_bytes": self.memory.n4_cache,
            "packets_compared": self.compared,
        });
        [
            spread("ns", path),
            spread("limit_ns", limit),
            self.conditions.to_json(),
            self.huge_pages.to_json(),
        ]
        .into_iter()
        .fold(figures, join)
    }
}

/// All that was measured.
#[derive(Clone, Debug, Default)]
pub struct Results {
    /// Times per packet.
    pub outcomes: Vec<Outcome>,
    /// Times from due to sent.
    pub latencies: Vec<Latency>,
    /// What it costs to be looked at.
    pub observed: Vec<Observed>,
}

impl Results {
    /// What is kept to be compared with.
    pub fn series(&self) -> Vec<Series> {
        let mut all: Vec<Series> = self.outcomes.iter().map(Outcome::series).collect();
        for l in &self.latencies {
            let name = latency_name(l);
            for (share, ratios) in ["p50", "p99"].into_iter().zip(&l.ratios) {
                let name = format!("{name}/{}/{share}", l.sessions);
                let series = Series::ratio(name, "ns by the limit's", ratios.iter().copied());
                let disturbed = disturbance(0.0, l.preempted);
                all.push(l.huge_pages.of(series.disturbed(disturbed)));
            }
        }
        for o in &self.observed {
            for (who, ratios) in ["scraped", "traced"].into_iter().zip(&o.ratios) {
                let name = format!("{}/{}/{who}", observe::NAME, o.sessions);
                let series = Series::ratio(name, "ns by those without", ratios.iter().copied());
                all.push(o.huge_pages.of(series));
            }
        }
        let memory = self.outcomes.iter().find_map(|o| {
            let name = format!("path/bytes_per_session/{}", o.sessions);
            Some(Series::shown(name, "octets", [o.bytes()?]))
        });
        all.extend(memory);
        all
    }
}

impl Outcome {
    fn series(&self) -> Series {
        let ratios = self.figures.ratios.iter().copied();
        let name = format!("{}/{}", self.name, self.sessions);
        let series = Series::ratio(name, "ns by the limit's", ratios);
        let disturbed = disturbance(0.0, self.figures.preempted);
        self.huge_pages.of(series.disturbed(disturbed))
    }
}

/// All of it as one object.
pub fn to_json(results: &Results, seconds: f64) -> Value {
    let Results {
        outcomes,
        latencies,
        observed,
    } = results;
    let rest = json!({
        "seconds_each": seconds,
        "packet_bytes": { "inner": INNER_LEN, "plain": PLAIN_LEN, "tunnel": TUNNEL_LEN },
        "packets_in_flight": PACKETS,
        "results": outcomes.iter().map(Outcome::to_json).collect::<Vec<_>>(),
        "latency": latencies.iter().map(latency_json).collect::<Vec<_>>(),
        "observed": observed.iter().map(observed_json).collect::<Vec<_>>(),
    });
    object("path", rest)
}

fn latency_json(l: &Latency) -> Value {
    let times = |t: &Times| {
        json!({
            "p50_ns": of(t.p50),
            "p99_ns": of(t.p99),
            "p99_9_ns": of(t.p999),
            "mpps": of(t.mpps),
        })
    };
    let conditions = Conditions {
        disturbed: l.disturbed(),
        attempts: 1,
        reps: l.reps,
        preempted: l.preempted,
    };
    let figures = json!({
        "name": latency_name(l),
        "sessions": l.sessions,
        "load_percent": l.load_percent,
        "path": times(&l.path),
        "limit": times(&l.limit),
        "p50_ratio_to_limit": of(l.ratio),
        "p50_ratio_goal": LATENCY_RATIO_GOAL,
        "away_share": round(l.away),
        "packets_untimed": l.untimed,
    });
    join(join(figures, conditions.to_json()), l.huge_pages.to_json())
}

fn latency_name(l: &Latency) -> String {
    format!("{}/{}", latency::NAME, l.load_percent)
}

fn latency_lines(l: &Latency) -> String {
    let us = |t: &Times| {
        let [p50, p99, p999] = [t.p50, t.p99, t.p999].map(|s| s.median / 1000.0);
        format!("{p50:.2}/{p99:.2}/{p999:.2}")
    };
    let why = l.disturbed().map(|why| format!("  disturbed: {why}\n"));
    format!(
        "{:<18}{:>10}  p50/p99/p99.9 us {}, limit {}, p50 ratio {:.2} ({:.2}-{:.2}) at {:.1} Mpps\n{}",
        latency_name(l),
        l.sessions,
        us(&l.path),
        us(&l.limit),
        l.ratio.median,
        l.ratio.min,
        l.ratio.max,
        l.path.mpps.median,
        why.unwrap_or_default(),
    )
}

fn observed_json(o: &Observed) -> Value {
    let cost = |share: Summary| spread("percent", share.map(|s| s * 100.0));
    let figures = json!({
        "name": observe::NAME,
        "sessions": o.sessions,
        "ns_median": round(o.alone.median),
        "ns_median_scraped": round(o.scraped.median),
        "ns_median_traced": round(o.traced.median),
        "scraping_costs": cost(o.scraped_share),
        "tracing_costs": cost(o.traced_share),
        "limit_percent": LOOKING_PERCENT_MAX,
        "pages_made": o.pages,
        "packets_followed": o.followed,
    });
    join(figures, o.huge_pages.to_json())
}

fn observed_line(o: &Observed) -> String {
    let cost = |share: Summary| {
        let Summary {
            median, min, max, ..
        } = share.map(|s| s * 100.0);
        format!("{median:+.1} % ({min:+.1} to {max:+.1})")
    };
    format!(
        "{:<18}{:>10}  {:.1} ns; metrics scraped {}, one UE traced {}; {} pages, {} packets\n",
        observe::NAME,
        o.sessions,
        o.alone.median,
        cost(o.scraped_share),
        cost(o.traced_share),
        o.pages,
        o.followed,
    )
}

/// For people.
pub fn to_table(results: &Results) -> String {
    let row = |o: &Outcome| {
        let Figures { path, limit, .. } = o.figures;
        let cells = vec![
            o.name.to_owned(),
            o.sessions.to_string(),
            format!("{:.1}", 1000.0 / path.median),
            between(path, 1),
            format!("{:.1}", limit.median),
            format!("{:.2}", o.ratio()),
            o.net_ratio()
                .map_or("-".to_owned(), |net| format!("{net:.2}")),
            o.bytes().map_or("-".to_owned(), |b| b.to_string()),
            o.huge_pages.name().to_owned(),
        ];
        (cells, o.conditions.line())
    };
    let heads = "|sessions|Mpps|ns/packet (min-max)|limit ns|ratio|net|B/session|pages";
    let mut text = table(heads, results.outcomes.iter().map(row));
    text.extend(results.latencies.iter().map(latency_lines));
    text.extend(results.observed.iter().map(observed_line));
    text
}
