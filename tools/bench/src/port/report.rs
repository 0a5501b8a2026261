//! JSON and text report.

use super::link::Kind;
use super::measure::{Case, Figures, Free};
use super::{Cpus, apart_from_spread};
use crate::path::traffic::{PLAIN_LEN, TUNNEL_LEN};
use crate::report::{Conditions, HugePages, between, join, object, of, table};
use crate::stats::round;
use crate::watch::history::Series;
use serde_json::{Value, json};

/// What the path over a port may cost, by the plain loop on the same port.
const RATIO_GOAL: f64 = 1.6;
/// A side that is busy for more of the time is what limits both.
const BUSY_MIN: f64 = 0.95;

/// All that was measured, and what was not.
#[derive(Clone, Debug, Default)]
pub struct Result {
    pub measured: Vec<Outcome>,
    pub skipped: Vec<Skipped>,
}

/// A kind of link that this machine does not have.
#[derive(Clone, Debug)]
pub struct Skipped {
    pub kind: Kind,
    pub sessions: u32,
    pub why: String,
}

/// One case, and under which conditions.
#[derive(Clone, Debug)]
pub struct Outcome {
    pub kind: Kind,
    pub case: Case,
    pub sessions: u32,
    pub figures: Figures,
    pub conditions: Conditions,
    /// Packets compared before the clock ran: one of each session and direction.
    pub proven: u64,
    pub pages: HugePages,
}

impl Outcome {
    fn name(&self) -> String {
        format!("{}/{}", self.kind.name(), self.case.name)
    }

    /// Why the packets were not what they should be, if so.
    pub fn fault(&self) -> Option<String> {
        let why = self.figures.balance.fault()?;
        Some(format!("{}: {why}", self.name()))
    }

    /// What is kept to be compared with.
    pub fn series(&self) -> Series {
        let name = format!("{}/{}", self.name(), self.sessions);
        let ratios = self.figures.ratios.iter().copied();
        let series = Series::ratio(name, "ns by the plain loop's", ratios);
        self.pages
            .of(series)
            .disturbed(apart_from_spread(&self.figures))
    }

    fn to_json(&self) -> Value {
        let f = &self.figures;
        let figures = json!({
            "name": self.name(),
            "carried_by": self.kind.carried_by(),
            "sessions": self.sessions,
            "ns": of(f.path_ns),
            "limit_ns": of(f.io_ns),
            "limit_stage_packets": f.io_stage,
            "ratio_to_limit": of(f.ratio),
            "ratio_goal": RATIO_GOAL,
            "packets_a_turn": round(f.fill),
            "as_fast_as_both_can": { "path": free(&f.path_free), "limit": free(&f.io_free) },
            "packets": self.packets(),
            "far_preempted_share": round(f.far_preempted),
        });
        join(
            join(figures, self.conditions.to_json()),
            self.pages.to_json(),
        )
    }

    fn packets(&self) -> Value {
        let b = &self.figures.balance;
        let [before, within, behind, limit] = b.lost();
        let dropped = b.ledger.dropped.iter();
        let dropped: serde_json::Map<_, _> = dropped
            .map(|(reason, n)| (reason.name().to_owned(), json!(n)))
            .collect();
        json!({
            "path": {
                "sent_by_the_far_end": b.path.sent,
                "received": b.ledger.received,
                "transmitted": b.ledger.transmitted,
                "returned_to_the_far_end": b.path.returned,
                "lost_before_the_path": before,
                "lost_in_the_path": within,
                "dropped": dropped,
                "lost_behind_the_path": behind,
                "compared": b.path.compared,
                "wrong": b.path.wrong,
            },
            "limit": {
                "sent_by_the_far_end": b.io.sent,
                "returned_to_the_far_end": b.io.returned,
                "lost": limit,
                "not_taken_by_the_port": b.io_unsent,
                "compared": b.io.compared,
                "wrong": b.io.wrong,
            },
            "compared_before": self.proven,
        })
    }
}

fn free(f: &Free) -> Value {
    json!({
        "mpps": of(f.mpps),
        "busy_share": of(f.busy),
        "limited_by": limited_by(f),
    })
}

/// Which side is at its end.
fn limited_by(f: &Free) -> &'static str {
    if f.busy.median >= BUSY_MIN {
        "the measured worker"
    } else {
        "the far end"
    }
}

/// All of it as one object.
pub fn to_json(result: &Result, cpus: Cpus, seconds: f64) -> Value {
    let skipped = result.skipped.iter().map(
        |s| json!({ "name": s.kind.name(), "sessions": s.sessions, "skipped_because": s.why }),
    );
    let rest = json!({
        "cpus": { "worker": cpus.worker, "far_end": cpus.far },
        "seconds_each": seconds,
        "packet_bytes": { "plain": PLAIN_LEN, "tunnel": TUNNEL_LEN },
        "results": result.measured.iter().map(Outcome::to_json).collect::<Vec<_>>(),
        "skipped": skipped.collect::<Vec<_>>(),
    });
    object("port", rest)
}

/// For people.
pub fn to_table(result: &Result) -> String {
    let row = |o: &Outcome| {
        let f = &o.figures;
        let cells = vec![
            o.name(),
            o.sessions.to_string(),
            between(f.path_ns, 1),
            format!("{:.1}", f.io_ns.median),
            between(f.ratio, 2),
            format!("{:.2}", f.path_free.mpps.median),
            f.balance.lost().iter().sum::<u64>().to_string(),
            limited_by(&f.path_free).to_owned(),
        ];
        (cells, o.conditions.line())
    };
    let heads = "|sessions|ns/packet (min-max)|plain ns|ratio (min-max)|Mpps|lost|Mpps limited by";
    let mut text = table(heads, result.measured.iter().map(row));
    for s in &result.skipped {
        text += &format!(
            "{:<22}{:>10}  skipped: {}\n",
            s.kind.name(),
            s.sessions,
            s.why
        );
    }
    text
}
