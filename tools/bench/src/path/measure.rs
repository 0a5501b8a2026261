//! Timed repetitions: path, limit and source in turn.

use super::fifo::Check;
use super::limit::Limit;
use super::testbed::Testbed;
use super::traffic::{Direction, Form};
use super::variant::{Load, Variant};
use super::waiting;
use crate::Failure;
use crate::measure::{
    Beside, Conditions, Effort, Judged, Lap, STAGES, disturbance, lap, preempted,
};
use crate::memory::Grown;
use crate::report::{HugePages, Outcome, between, join, spread};
use crate::stats::{Summary, round};
use crate::watch::history::Series;
use serde_json::json;
use sluice_port::{Burst, Packet};
use std::time::Duration;

/// Traffic of a case.
#[derive(Clone, Debug)]
pub struct Case {
    /// As results are named.
    pub name: String,
    pub directions: &'static [Direction],
    pub forms: &'static [Form],
}

const UP: &[Direction] = &[Direction::Uplink];
const DOWN: &[Direction] = &[Direction::Downlink];
const BOTH: &[Direction] = &Direction::BOTH;

/// All of the sessions that are measured where nothing is said of rules.
const CASES: [(&str, &[Direction], &[Form], Variant); 8] = [
    ("ul/default", UP, &[Form::USUAL], Variant::USUAL),
    ("dl/default", DOWN, &[Form::USUAL], Variant::USUAL),
    ("mix/default", BOTH, &[Form::USUAL], Variant::USUAL),
    ("ul/checksum", UP, &[Form::CHECKSUM], Variant::USUAL),
    (
        "ul/checksum1400",
        UP,
        &[Form::LONG_CHECKSUM],
        Variant::USUAL,
    ),
    ("ul/no-psc", UP, &[Form::BARE], Variant::BARE),
    ("ul/foreign", UP, &[Form::USUAL], Variant::FOREIGN_TEIDS),
    ("ul/routes16", UP, &[Form::USUAL], Variant::ROUTES),
];

/// Cases of such sessions: all directions for those of `--rules`.
pub fn cases(variant: &Variant) -> Vec<Case> {
    let case = |name: &str, directions, forms| Case {
        name: format!("path/{name}"),
        directions,
        forms,
    };
    if Variant::DEFAULTS.contains(variant) {
        let of = CASES.iter().filter(|(.., of)| of == variant);
        return of
            .map(|(name, ways, forms, _)| case(name, ways, forms))
            .collect();
    }
    let mut ways = vec![("ul", UP), ("dl", DOWN), ("mix", BOTH)];
    // Nobody pages a UE that sends.
    ways.retain(|(way, _)| variant.load != Load::Idle || *way == "dl");
    let named = ways
        .into_iter()
        .map(|(way, ways)| case(&format!("{way}/{}", variant.name), ways, variant.forms));
    named.collect()
}

/// Times per packet, in nanoseconds.
#[derive(Clone, Debug)]
pub struct Figures {
    pub path: Beside,
    pub source: Summary,
    /// Share of the time in which another thread had the CPU.
    pub preempted: f64,
}

/// Measures path, limit and source in turn.
pub fn measure<P: Packet>(
    limit: &mut Limit,
    testbed: &mut Testbed<P>,
    case: &Case,
    effort: Effort,
) -> Result<Figures, Failure> {
    testbed.set_forms(case.forms);
    limit.set_forms(case.forms);
    let laps = effort.repeat(|_| {
        testbed.open(case.directions, Check::Sampled);
        let path = path_lap(testbed, effort.each)?;
        let limits = effort.at_each_stage(|stage, share| {
            lap(testbed, share, Testbed::came, |testbed| {
                limit.turn(testbed, case.directions, stage)
            })
        })?;
        testbed.verdict()?;
        testbed.open(case.directions, Check::Nothing);
        let share = effort.each / STAGES.len() as u32;
        let source = lap(testbed, share, Testbed::came, |testbed| {
            turn_round(testbed, case);
            Ok(())
        })?;
        Ok((path, limits, source))
    });
    testbed.set_forms(testbed.variant.forms);
    let laps = laps?;
    let pairs = laps
        .iter()
        .map(|(path, limits, _)| (path, limits.each_ref()));
    Ok(Figures {
        path: Beside::of(pairs.clone()),
        source: Summary::of(laps.iter().map(|(.., source)| source.ns())),
        preempted: preempted(pairs.flat_map(|(path, limits)| limits.into_iter().chain([path]))),
    })
}

/// Source and sink with nothing between them.
fn turn_round<P: Packet>(testbed: &mut Testbed<P>, case: &Case) {
    let mut burst = Burst::new();
    for way in case.directions {
        let fifo = testbed.worker.io().fifo(*way);
        fifo.receive(&mut burst, STAGES[2]);
        fifo.give_back(&mut burst);
    }
}

/// A lap of the path, in whatever directions are open.
pub fn path_lap<P: Packet>(testbed: &mut Testbed<P>, time: Duration) -> Result<Lap, Failure> {
    if testbed.variant.load == Load::Idle {
        return waiting::page(testbed, time);
    }
    let lap = lap(testbed, time, Testbed::came, |testbed| {
        testbed.turn();
        Ok(())
    })?;
    if testbed.variant.load == Load::AboveRate {
        testbed.drain()?;
    }
    Ok(lap)
}

/// Heads of the table.
pub const HEADS: &str = "|sessions|Mpps|ns/packet (min-max)|limit ns|ratio|net|B/session|pages";

impl Figures {
    /// Whether they can be trusted.
    pub fn judge(&self) -> Judged {
        Judged {
            disturbed: disturbance(self.path.spread(), self.preempted, "the CPU"),
            preempted: self.preempted,
            ns: self.path.limit.median,
        }
    }

    /// Result of a case; `compared` packets were compared.
    pub fn outcome(
        &self,
        (name, sessions): (&str, u32),
        conditions: &Conditions,
        (memory, huge_pages): (&Grown, HugePages),
        compared: u64,
    ) -> Outcome {
        let (path, limit, source) = (self.path.subject, self.path.limit, self.source.median);
        let ratio = path.median / limit.median;
        // Without what source and sink take, which is in both.
        let limit_net = limit.median - source;
        let net = (limit_net > 0.0).then(|| (path.median - source) / limit_net);
        let bytes = memory.bytes_per_session(sessions);
        let figures = json!({
            "name": name,
            "sessions": sessions,
            "mpps_median": round(1000.0 / path.median),
            "limit_mpps_median": round(1000.0 / limit.median),
            "limit_stage_packets": self.path.stage,
            "ratio_to_limit": round(ratio),
            "net_ratio_to_limit": net.map(round),
            "source_ns_median": round(source),
            "bytes_per_session": bytes,
            "n4_cache_bytes": memory.n4_cache,
            "packets_compared": compared,
        });
        let more = [
            spread("ns", path),
            spread("limit_ns", limit),
            conditions.to_json(),
            huge_pages.to_json(),
        ];
        let cells = vec![
            name.to_owned(),
            sessions.to_string(),
            format!("{:.1}", 1000.0 / path.median),
            between(path, 1),
            format!("{:.1}", limit.median),
            format!("{ratio:.2}"),
            net.map_or("-".to_owned(), |net| format!("{net:.2}")),
            bytes.map_or("-".to_owned(), |b| b.to_string()),
            huge_pages.name().to_owned(),
        ];
        let name = format!("{name}/{sessions}");
        let series = Series::ratio(name, "ns by the limit's", self.path.ratios.clone());
        // Spread says nothing of ratios.
        let series = series.disturbed(disturbance(0.0, self.preempted, "the CPU"));
        Outcome {
            json: more.into_iter().fold(figures, join),
            cells,
            below: conditions.line(),
            series: vec![huge_pages.of(series)],
        }
    }
}
