//! Text report of a load run.

use std::fmt::Write as _;

use crate::TimeSummary;
use crate::n4::N4Report;
use crate::report::{Interval, LaneReport, Report};
use crate::search::{Found, SearchResult, Throughput};
use crate::source::Unit;

use super::units::Rate;
use sluice_program::units::si;

/// Nanoseconds as microseconds.
fn us(ns: u64) -> String {
    format!("{:.1}", ns as f64 / 1e3)
}

/// How far something is, on one line that is written over.
pub fn progress(what: &str, done: u32, all: u32) {
    eprint!("\r{what}: {done} of {all} ");
    if done == all {
        eprintln!();
    }
}

/// A second of a run.
pub fn interval(interval: &Interval) {
    let mut line = format!("{:>7.1} s", interval.end_s);
    for lane in &interval.lanes {
        let per_s = |count: u64| si(count as f64 / interval.length_s, "pps");
        let _ = write!(
            line,
            "   {}: sent {}, received {}, p50 {} us, p99 {} us",
            lane.lane.text(),
            per_s(lane.sent),
            per_s(lane.received),
            us(lane.latency.p50_ns),
            us(lane.latency.p99_ns),
        );
    }
    eprintln!("{line}");
}

/// A trial of the search.
pub fn tried(at: (u32, u32), rate: f64, unit: Unit, outcome: &SearchResult) {
    let bound = match outcome.generator_bound {
        true => ", generator too slow",
        false => "",
    };
    let rate = si(rate, unit_text(unit));
    eprintln!(
        "search {} of {}: {rate}: {} of {} lost{bound}",
        at.0, at.1, outcome.lost, outcome.sent
    );
}

/// How a unit is written.
pub fn unit_text(unit: Unit) -> &'static str {
    match unit {
        Unit::Packets => "pps",
        Unit::Bits => "bps",
    }
}

fn search_unit(rate: Rate) -> &'static str {
    match rate {
        Rate::Open(_, unit) => unit_text(unit),
        Rate::Window(_) | Rate::Max => "pps",
    }
}

/// Table of the highest rate that a search has found.
pub fn throughput(found: &Throughput, rate: Rate) -> String {
    let unit = search_unit(rate);
    format!(
        "highest rate without loss: {} (median of {}; lowest {}, highest {}), both directions together",
        si(found.median, unit),
        found.searches.len(),
        si(found.min, unit),
        si(found.max, unit)
    )
}

pub fn n4(what: &str, report: &N4Report) -> String {
    let mut text = String::new();
    for procedure in &report.procedures {
        let TimeSummary {
            p50_ns,
            p99_ns,
            max_ns,
            ..
        } = procedure.latency;
        let _ = writeln!(
            text,
            "{what}: {:?} {} of {} accepted, {} failed, {} without session, {:.0}/s, latency p50 {} \
             us, p99 {} us, max {} us",
            procedure.procedure,
            procedure.done,
            procedure.offered,
            procedure.failed,
            procedure.starved,
            procedure.per_s,
            us(p50_ns),
            us(p99_ns),
            us(max_ns),
        );
    }
    if text.is_empty() {
        let _ = write!(text, "{what}: nothing");
    }
    text.truncate(text.trim_end().len());
    text
}

/// A row of the table: one figure of each lane.
type Cell<'a> = &'a dyn Fn(&LaneReport) -> String;

pub fn report(report: &Report) -> String {
    let mut text = format!("sent for {:.1} s\n", report.sending_s);
    let row = |name: &str, cell: Cell| {
        let cells = report
            .lanes
            .iter()
            .map(|lane| format!("{:>18}", cell(lane)));
        format!("{name:<26}{}\n", cells.collect::<String>())
    };
    let rows: [(&str, Cell); 21] = [
        ("", &|lane| lane.lane.text().to_owned()),
        ("sent, packets", &|lane| lane.sent.to_string()),
        ("sent", &|lane| si(lane.sent_pps, "pps")),
        ("sent, IP", &|lane| si(lane.sent_bps, "bps")),
        ("refused by the port", &|lane| lane.refused.to_string()),
        ("never made", &|lane| lane.unsent.to_string()),
        ("late", &|lane| lane.late.to_string()),
        ("received, packets", &|lane| measured(lane, lane.received)),
        ("received", &|lane| si(lane.received_pps, "pps")),
        ("lost", &|lane| measured(lane, lane.lost)),
        ("lost, percent", &|lane| {
            format!("{:.5}", lane.loss_ratio * 100.0)
        }),
        ("flows with loss", &|lane| {
            format!("{} of {}", lane.flows_with_loss, lane.flows)
        }),
        ("duplicates", &|lane| measured(lane, lane.duplicates)),
        ("reordered", &|lane| measured(lane, lane.reordered)),
        ("latency from due, us: min", &|lane| us(lane.latency.min_ns)),
        ("  p50", &|lane| us(lane.latency.p50_ns)),
        ("  p99", &|lane| us(lane.latency.p99_ns)),
        ("  p99.9", &|lane| us(lane.latency.p999_ns)),
        ("  p99.99", &|lane| us(lane.latency.p9999_ns)),
        ("  max", &|lane| us(lane.latency.max_ns)),
        ("jitter, mean, us", &|lane| {
            format!("{:.1}", lane.jitter_mean_ns / 1e3)
        }),
    ];
    for (name, cell) in rows {
        text.push_str(&row(name, cell));
    }
    for (what, count) in strays(report) {
        if count > 0 {
            let _ = writeln!(text, "also came: {count} {what}");
        }
    }
    text.truncate(text.trim_end().len());
    text
}

/// Remarks that limit the meaning of a run's figures.
pub fn remarks(report: &Report) -> Vec<String> {
    let mut remarks = Vec::new();
    for lane in &report.lanes {
        let name = lane.lane.text();
        if lane.refused > 0 {
            remarks.push(format!(
                "{name}: {} of the {} lost were refused by the port: what is measured did not fetch \
                 them for a millisecond (it is busy, or was not given its CPU)",
                lane.refused, lane.lost
            ));
        }
        if lane.late * 100 > lane.sent * LATE_PERCENT {
            let percent = 100.0 * lane.late as f64 / lane.sent as f64;
            remarks.push(format!(
                "{name}: {percent:.0} % left late: this machine had no time for the generator, and \
                 latencies from due count that; --cpu gives it a CPU of its own"
            ));
        }
    }
    remarks
}

/// More late packets than this are worth a word.
const LATE_PERCENT: u64 = 5;

/// Why a search has no figure.
pub fn refusal(found: &Throughput, rate: Rate, reached_pps: f64, own_pps: f64) -> String {
    let unit = search_unit(rate);
    let each = |own: bool| {
        let of_kind = found.searches.iter().filter(|f| f.is_generators == own);
        let rates = of_kind.map(|f| si(f.rate, unit)).collect::<Vec<_>>();
        rates.join(", ")
    };
    let (own, theirs) = (each(true), each(false));
    let is_top = |f: &Found| matches!(&f.trials[..], [only] if only.is_good);
    if found.searches.iter().any(is_top) {
        return "no figure: the highest rate was still without loss; raise --rate".to_owned();
    }
    let mut text = match found.is_generators {
        true => format!(
            "no figure: {own} without loss, and above that the generator itself was too slow"
        ),
        false => format!(
            "no figure: {} is more than 80 % of the {} that the generator makes by itself",
            si(reached_pps, "pps"),
            si(own_pps, "pps")
        ),
    };
    if found.is_generators && !theirs.is_empty() {
        let _ = write!(text, " (other searches found {theirs})");
    }
    text + ". If the generator is at its limit, a faster one is needed: a CPU of its own (--cpu), \
            longer packets (--size)"
}

fn measured(lane: &LaneReport, count: u64) -> String {
    match lane.measured {
        true => count.to_string(),
        false => "not seen here".to_owned(),
    }
}

fn strays(report: &Report) -> [(&'static str, u64); 9] {
    let strays = &report.strays;
    [
        (
            "packets in the wrong place or for the wrong UE",
            strays.misdelivered,
        ),
        ("packets of an earlier run", strays.stale),
        ("malformed frames", strays.malformed),
        ("fragments, which are not put together", strays.fragments),
        (
            "ICMP fragmentation needed: the MTU of a link behind is too small (N3 needs 44 octets \
             more than the longest packet)",
            strays.too_big,
        ),
        (
            "GTP-U Error Indications: the UPF does not know a tunnel",
            strays.error_indications,
        ),
        ("GTP-U End Markers", strays.end_markers),
        (
            "packets that the mirror's port did not take",
            strays.mirror_refused,
        ),
        ("other frames", strays.other),
    ]
}
