//! JSON report.

use super::heavy::{self, Burst};
use super::measure::{PacketBalance, Pause};
use super::models::ModelFigures;
use crate::report::{join, object, spread};
use crate::stats::{Summary, percentile, round};
use crate::watch::series::Series;
use serde_json::{Value, json};
use sluice_datapath::drop::DropReason;

/// All that was measured.
pub struct Outcome {
    pub sessions: u32,
    pub cpus: [usize; 2],
    pub pauses: Vec<Pause>,
    /// Of the moves one by one.
    pub rate_mpps: f64,
    pub balance: PacketBalance,
    /// What the path says of those that were lost.
    pub drops: Vec<(DropReason, u64)>,
    pub models: Vec<ModelFigures>,
    /// Bursts that both workers together are able to do, and such as fill both.
    pub fits: Vec<Burst>,
    pub fills: Vec<Burst>,
    /// Of more workers.
    pub in_virtual_time: Vec<Value>,
}

impl Pause {
    /// What moves took that nothing disturbed.
    pub fn took_ns(pauses: &[Self]) -> Vec<f64> {
        let quiet = pauses.iter().filter(|p| !p.disturbed);
        quiet.map(|p| p.took_ns as f64).collect()
    }
}

/// Repetitions that lie further apart, by the median, were disturbed.
const DISTURBED: f64 = 0.2;
/// Moves follow one another: so many parts of them stand for repetitions.
const PAUSE_BLOCKS: usize = 11;
const SHARES: [(&str, f64); 3] = [("p50", 0.5), ("p99", 0.99), ("p999", 0.999)];

impl Outcome {
    /// Pauses in microseconds, sorted: those that nothing disturbed, or all.
    fn pauses_us(&self, all: bool) -> Vec<f64> {
        let counted = self.pauses.iter().filter(|p| all || !p.disturbed);
        let mut us: Vec<f64> = counted.map(|p| p.ns as f64 / 1000.0).collect();
        us.sort_by(f64::total_cmp);
        us
    }

    /// What is kept to be compared with. Pauses have no limit beside them.
    pub fn series(&self) -> Vec<Series> {
        let sessions = self.sessions;
        let model = |m: &ModelFigures| {
            let name = format!("elastic/{}/{sessions}", m.model.name());
            let ratios = m.ratios.iter().copied();
            Series::ratio(name, "Mpps by the sources' alone", ratios).higher()
        };
        let mut all: Vec<Series> = self.models.iter().map(model).collect();
        let quiet: Vec<f64> = self
            .pauses
            .iter()
            .filter(|p| !p.disturbed)
            .map(|p| p.ns as f64)
            .collect();
        let blocks = quiet.chunks(quiet.len().div_ceil(PAUSE_BLOCKS).max(1));
        let medians = blocks.map(|ns| Summary::of(ns.iter().copied()).median / 1000.0);
        let name = format!("elastic/move/{sessions}/pause_p50");
        all.push(Series::shown(name, "us", medians));
        let levelled = self.fits.iter().filter(|burst| !burst.disturbed);
        let levelled = levelled
            .filter_map(|b| b.levelled_ns)
            .map(|ns| ns as f64 / 1e6);
        let name = format!("elastic/heavy/{sessions}/levelled");
        all.push(Series::shown(name, "ms", levelled));
        all
    }

    fn took_us(&self) -> Vec<f64> {
        let counted = self.pauses.iter().filter(|p| !p.disturbed);
        let mut us: Vec<f64> = counted.map(|p| p.took_ns as f64 / 1000.0).collect();
        us.sort_by(f64::total_cmp);
        us
    }

    fn moves(&self) -> Value {
        let drops = self
            .drops
            .iter()
            .map(|(why, n)| (why.name().to_owned(), json!(n)));
        let drops: serde_json::Map<_, _> = drops.collect();
        let (quiet, all, took) = (self.pauses_us(false), self.pauses_us(true), self.took_us());
        let mut value = json!({
            "name": "elastic/move",
            "sessions": self.sessions,
            "moves": self.pauses.len(),
            "moves_disturbed": self.pauses.len() - quiet.len(),
            "rate_mpps": round(self.rate_mpps),
            "packets": self.balance.made,
            "lost": self.balance.lost,
            "lost_because": drops,
            "reordered": self.balance.reordered,
            "missed_by_source": self.balance.missed,
        });
        for (name, share) in SHARES {
            value[format!("pause_us_{name}")] = json!(round(percentile(&quiet, share)));
            value[format!("pause_all_us_{name}")] = json!(round(percentile(&all, share)));
            value[format!("move_took_us_{name}")] = json!(round(percentile(&took, share)));
        }
        value["pause_all_us_max"] = json!(round(all.last().copied().unwrap_or_default()));
        value
    }
}

fn model(figures: &ModelFigures, rtc: &ModelFigures) -> Value {
    let PacketBalance {
        made,
        lost,
        reordered,
        missed,
    } = figures.balance;
    let latency = &figures.latency;
    let mut value = json!({
        "name": format!("elastic/{}", figures.model.name()),
        "ratio_to_rtc": round(figures.mpps.median / rtc.mpps.median),
        "source_limit_mpps": round(figures.source_mpps),
        "engine_mpps": round(figures.engine_mpps()),
        "engine_ratio_to_rtc": round(figures.engine_mpps() / rtc.engine_mpps()),
        "engine_ns_near": round(figures.engine_ns[0]),
        "engine_ns_far": round(figures.engine_ns[1]),
        "longest_gap_us": figures.gap_ns as f64 / 1000.0,
        "disturbed": figures.mpps.spread() > DISTURBED,
        "latency_rate_mpps": round(figures.latency_rate_mpps),
        "latency_windows": latency.windows,
        "latency_windows_disturbed": latency.disturbed,
        "packets": made,
        "lost": lost,
        "reordered": reordered,
        "missed_by_source": missed,
    });
    value = join(value, spread("mpps", figures.mpps));
    for (at, (name, _)) in SHARES.iter().enumerate() {
        let is_known = latency.disturbed < latency.windows;
        value[format!("latency_us_{name}")] = json!(is_known.then(|| round(latency.us[at])));
        value[format!("latency_all_us_{name}")] = json!(round(latency.all_us[at]));
    }
    value
}

/// All of it as one object.
pub fn to_json(outcome: &Outcome) -> Value {
    let mut results = vec![outcome.moves()];
    let models = outcome
        .models
        .iter()
        .zip(outcome.models.iter().take(1).cycle());
    results.extend(models.map(|(m, rtc)| model(m, rtc)));
    let sum = |key: &str| results.iter().filter_map(|r| r[key].as_u64()).sum::<u64>();
    // Under the bursts the machine is to lose packets: that is what they are for.
    let (lost, reordered) = (sum("lost"), sum("reordered"));
    results.push(heavy::to_json("elastic/heavy", &outcome.fits));
    results.push(heavy::to_json("elastic/heavy_full", &outcome.fills));
    for result in &mut results {
        result["virtual"] = json!(false);
    }
    results.extend(outcome.in_virtual_time.iter().cloned());
    let rest = json!({
        "workers": "2, real threads; each with source and sink inside its ports, the control core beside the first",
        "cpus": outcome.cpus,
        "lost": lost,
        "reordered": reordered,
        "results": results,
    });
    object("elastic", rest)
}
