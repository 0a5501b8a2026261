//! JSON and text report.

use super::heavy::{self, Burst};
use super::measure::{PacketBalance, Pause};
use super::models::ModelFigures;
use crate::report::{join, object, spread, table};
use crate::stats::{Summary, percentile, round};
use crate::watch::history::Series;
use serde_json::{Map, Value, json};
use sluice_datapath::drop::DropReason;

/// All that was measured.
pub struct Outcome {
    pub sessions: u32,
    pub cpus: [usize; 2],
    pub pauses: Vec<Pause>,
    /// Of the moves one by one.
    pub rate_mpps: f64,
    pub balance: PacketBalance,
    /// Lost packets by the path's drop reason.
    pub drops: Vec<(DropReason, u64)>,
    pub models: Vec<ModelFigures>,
    /// Bursts that both workers together are able to do, and such as fill both.
    pub fits: Vec<Burst>,
    pub fills: Vec<Burst>,
    pub in_virtual_time: Vec<Value>,
}

impl Pause {
    /// Times of undisturbed moves.
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
    /// Something of all moves, or of those that nothing disturbed, in microseconds and sorted.
    fn moves_us(&self, all: bool, ns: fn(&Pause) -> u64) -> Vec<f64> {
        let counted = self.pauses.iter().filter(|p| all || !p.disturbed);
        let mut us: Vec<f64> = counted.map(|p| ns(p) as f64 / 1000.0).collect();
        us.sort_by(f64::total_cmp);
        us
    }

    /// Series to compare. Pauses have no limit beside them.
    pub fn series(&self) -> Vec<Series> {
        let sessions = self.sessions;
        let model = |m: &ModelFigures| {
            let name = format!("elastic/{}/{sessions}", m.model.name());
            let ratios = m.ratios.iter().copied();
            Series::ratio(name, "Mpps by the sources' alone", ratios).higher()
        };
        let mut all: Vec<Series> = self.models.iter().map(model).collect();
        let quiet = self.pauses.iter().filter(|p| !p.disturbed);
        let quiet_us: Vec<f64> = quiet.map(|p| p.ns as f64 / 1000.0).collect();
        let blocks = quiet_us.chunks(quiet_us.len().div_ceil(PAUSE_BLOCKS).max(1));
        let medians = blocks.map(|us| Summary::of(us.iter().copied()).median);
        let name = format!("elastic/move/{sessions}/pause_p50");
        all.push(Series::shown(name, "us", medians));
        let levelled = self.fits.iter().filter(|burst| !burst.disturbed);
        let levelled = levelled.filter_map(|b| Some(b.levelled_ns? as f64 / 1e6));
        let name = format!("elastic/heavy/{sessions}/levelled");
        all.push(Series::shown(name, "ms", levelled));
        all
    }

    fn moves(&self) -> Value {
        let drops = self.drops.iter();
        let drops = drops.map(|(why, n)| (why.name().to_owned(), json!(n)));
        let quiet = self.moves_us(false, |p| p.ns);
        let all = self.moves_us(true, |p| p.ns);
        let took = self.moves_us(false, |p| p.took_ns);
        let mut value = json!({
            "name": "elastic/move",
            "sessions": self.sessions,
            "moves": self.pauses.len(),
            "moves_disturbed": self.pauses.len() - quiet.len(),
            "rate_mpps": round(self.rate_mpps),
            "packets": self.balance.made,
            "lost": self.balance.lost,
            "lost_because": drops.collect::<Map<_, _>>(),
            "reordered": self.balance.reordered,
            "missed_by_source": self.balance.missed,
        });
        let kinds = [
            ("pause_us", &quiet),
            ("pause_all_us", &all),
            ("move_took_us", &took),
        ];
        for (kind, us) in kinds {
            for (name, share) in SHARES {
                value[format!("{kind}_{name}")] = json!(round(percentile(us, share)));
            }
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

/// Tables of results: heads, names and what is shown of each. A key that ends with `_us` stands for its shares,
/// one that ends with `*` for its minimum, median and maximum.
const TABLES: [(&str, &[&str], &[&str]); 4] = [
    (
        "two workers|Mpps|to RTC|sources|engine|to RTC|latency us p50, p99, p99.9",
        &["elastic/rtc", "elastic/pipeline", "elastic/mixed"],
        &[
            "mpps_median",
            "ratio_to_rtc",
            "source_limit_mpps",
            "engine_mpps",
            "engine_ratio_to_rtc",
            "latency_us",
        ],
    ),
    (
        "a worker's UEs heavy|bursts|disturbed|levelled ms min, med, max|in 10 ms|not|throughput to before",
        &["elastic/heavy", "elastic/heavy_full"],
        &[
            "bursts",
            "bursts_disturbed",
            "levelled_ms*",
            "levelled_in_time",
            "not_levelled",
            "throughput_to_before*",
        ],
    ),
    (
        "in virtual time|workers|Mpps|to RTC|latency us p50, p99, p99.9",
        &[
            "elastic/virtual/rtc",
            "elastic/virtual/pipeline",
            "elastic/virtual/mixed",
        ],
        &["workers", "mpps", "ratio_to_rtc", "latency_us"],
    ),
    (
        "UEs heavy in virtual time|workers|levelled ms min, med, max|not|bursts|moves|lost without",
        &["elastic/virtual/heavy/rtc", "elastic/virtual/heavy/mixed"],
        &[
            "workers",
            "levelled_ms*",
            "not_levelled",
            "bursts",
            "moves_median",
            "lost_without_scaling",
        ],
    ),
];

/// As tables; virtual time goes by what turns of the real workers cost.
pub fn to_table(outcome: &Outcome) -> String {
    let object = to_json(outcome);
    let all = object["results"].as_array().cloned().unwrap_or_default();
    let mut text = moves(&all[0]);
    for (heads, names, keys) in TABLES {
        let named = names
            .iter()
            .flat_map(|name| all.iter().filter(move |r| r["name"] == **name));
        let rows = named.map(|result| {
            let shown = keys.iter().map(|key| cell(result, key));
            (
                std::iter::once(show(&result["name"]))
                    .chain(shown)
                    .collect(),
                String::new(),
            )
        });
        text += &format!("\n{}", table(heads, rows));
    }
    text
}

fn moves(moves: &Value) -> String {
    let rows = [
        ("pause of an undisturbed move", "pause_us"),
        ("pause, the disturbed included", "pause_all_us"),
        ("from the order to the last token", "move_took_us"),
    ];
    let rows = rows.map(|(title, key)| (vec![title.to_owned(), cell(moves, key)], String::new()));
    format!(
        "{} moves at {} Mpps: {} lost, {} reordered\n{}{} moves met a gap of more than 50 us and are left out \
         of the first and last line\n",
        moves["moves"],
        moves["rate_mpps"],
        moves["lost"],
        moves["reordered"],
        table("microseconds|p50, p99, p99.9", rows),
        moves["moves_disturbed"],
    )
}

fn cell(result: &Value, key: &str) -> String {
    let joined = |ends: [&str; 3], key: &str| {
        let ends = ends.map(|end| show(&result[format!("{key}_{end}")]));
        ends.join(", ")
    };
    match key.strip_suffix('*') {
        Some(key) => joined(["min", "median", "max"], key),
        None if key.ends_with("_us") => joined(SHARES.map(|(name, _)| name), key),
        None => show(&result[key]),
    }
}

/// Nothing where nothing was measured.
fn show(value: &Value) -> String {
    match value {
        Value::Null => "-".to_owned(),
        Value::String(text) => text.clone(),
        value => value.to_string(),
    }
}
