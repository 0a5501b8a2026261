//! What all benchmarks and their reports have in common: repetitions, conditions of a figure, header,
//! pages, numbers.

use crate::machine;
use crate::path::testbed::Failure;
use crate::stats::{Summary, round};
use crate::watch::history::Series;
use serde_json::{Map, Value, json};
use std::time::Duration;

/// Repetitions of a quiet machine lie closer together than this share of their median.
const SPREAD_MAX: f64 = 0.2;
/// Beyond this share of time for others the caches are theirs, too.
const PREEMPTED_MAX: f64 = 0.05;

/// What came of one case.
#[derive(Clone, Default, Debug)]
pub struct Outcome {
    /// For scripts.
    pub json: Value,
    /// For people: cells of a table, if there is one, and whole lines below them.
    pub cells: Vec<String>,
    pub below: String,
    /// What is kept and compared.
    pub series: Vec<Series>,
}

impl Outcome {
    /// All of them as rows of a table.
    pub fn table(heads: &str, all: &[Self]) -> String {
        let row = |one: &Self| (one.cells.clone(), one.below.clone());
        table(heads, all.iter().map(row))
    }

    pub fn to_json(all: &[Self]) -> Value {
        all.iter().map(|one| one.json.clone()).collect()
    }

    pub fn series(all: &[Self]) -> Vec<Series> {
        all.iter().flat_map(|one| one.series.clone()).collect()
    }
}

/// How long is measured.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Repetitions that count; one more comes before them.
    pub reps: usize,
    /// Length of each.
    pub each: Duration,
}

/// What is to be said of an attempt to measure.
pub struct Judged {
    /// Why the figures cannot be trusted, if so.
    pub disturbed: Option<String>,
    /// Share of the time that others had the CPU.
    pub preempted: f64,
    /// Of attempts that were all disturbed the one with the least of this stands.
    pub ns: f64,
}

/// Measures again and again while it is disturbed, so often at the most; the best attempt stands.
pub fn quietest<T>(
    (most, reps): (usize, usize),
    mut measure: impl FnMut() -> Result<T, Failure>,
    judge: impl Fn(&T) -> Judged,
) -> Result<(T, Conditions), Failure> {
    let mut best: Option<(T, Judged)> = None;
    let mut attempts = 0;
    while attempts < most && best.as_ref().is_none_or(|(_, j)| j.disturbed.is_some()) {
        attempts += 1;
        let figures = measure()?;
        let judged = judge(&figures);
        let better = |(_, b): &(T, Judged)| judged.disturbed.is_none() || judged.ns < b.ns;
        if best.as_ref().is_none_or(better) {
            best = Some((figures, judged));
        }
    }
    let (figures, judged) = best.ok_or("nothing was measured")?;
    let conditions = Conditions {
        disturbed: judged.disturbed,
        attempts,
        reps,
        preempted: judged.preempted,
    };
    Ok((figures, conditions))
}

/// Whether repetitions lie so far apart that their figures cannot be trusted.
pub fn apart(spread: f64) -> Option<String> {
    let percent = spread * 100.0;
    (spread > SPREAD_MAX).then(|| format!("repetitions lie {percent:.0} % apart"))
}

/// Whether others had `what` for too much of the time.
pub fn preemption(share: f64, what: &str) -> Option<String> {
    let percent = share * 100.0;
    (share > PREEMPTED_MAX).then(|| format!("others had {what} for {percent:.0} % of the time"))
}

/// The beginning of every report; the rest is the benchmark's own.
pub fn object(bench: &str, rest: Value) -> Value {
    let mut object = Map::new();
    object.insert("bench".to_owned(), json!(bench));
    object.insert("version".to_owned(), json!(env!("CARGO_PKG_VERSION")));
    object.insert("machine".to_owned(), machine::facts());
    join(Value::Object(object), rest)
}

/// The keys of both.
pub fn join(mut first: Value, second: Value) -> Value {
    if let (Some(first), Value::Object(second)) = (first.as_object_mut(), second) {
        first.extend(second);
    }
    first
}

/// Median, least and greatest of repetitions under `name`: `ns_median`, `ns_min`, `ns_max`.
pub fn spread(name: &str, summary: Summary) -> Value {
    json!({
        format!("{name}_median"): round(summary.median),
        format!("{name}_min"): round(summary.min),
        format!("{name}_max"): round(summary.max),
    })
}

/// The same as an object of its own.
pub fn of(summary: Summary) -> Value {
    json!({
        "min": round(summary.min),
        "median": round(summary.median),
        "max": round(summary.max),
    })
}

/// For people: the median, and between what.
pub fn between(summary: Summary, digits: usize) -> String {
    let Summary {
        min, median, max, ..
    } = summary;
    format!("{median:.digits$} ({min:.digits$}-{max:.digits$})")
}

/// A table for people, with columns as wide as their widest cell: names to the left, figures to the right.
/// Each row has its cells, and whole lines that stand below it; between two heads is a bar.
pub fn table(heads: &str, rows: impl IntoIterator<Item = (Vec<String>, String)>) -> String {
    let heads = heads.split('|').map(str::to_owned).collect();
    let head = std::iter::once((heads, String::new()));
    let rows: Vec<(Vec<String>, String)> = head.chain(rows).collect();
    let width = |column: usize| rows.iter().map(|(row, _)| row[column].len()).max();
    let mut text = String::new();
    for (cells, below) in &rows {
        for (column, cell) in cells.iter().enumerate() {
            let width = width(column).unwrap_or(0);
            text += &match column {
                0 => format!("{cell:<width$}"),
                _ => format!("  {cell:>width$}"),
            };
        }
        text.truncate(text.trim_end().len());
        text += &format!("\n{below}");
    }
    text
}

/// Under which conditions a figure was taken.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Conditions {
    /// Why the figures cannot be trusted.
    pub disturbed: Option<String>,
    /// Measurements until one was undisturbed, or none was.
    pub attempts: usize,
    /// Repetitions of each.
    pub reps: usize,
    /// Share of the time that others had the CPU.
    pub preempted: f64,
}

impl Conditions {
    /// As keys of the figure.
    pub fn to_json(&self) -> Value {
        json!({
            "repetitions": self.reps,
            "disturbed": self.disturbed.is_some(),
            "disturbed_because": self.disturbed,
            "attempts": self.attempts,
            "preempted_share": round(self.preempted),
        })
    }

    /// A line under the figure, if there is something to say.
    pub fn line(&self) -> String {
        let why = self.disturbed.as_ref();
        why.map_or_else(String::new, |why| format!("  disturbed: {why}\n"))
    }
}

/// What lies on huge pages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HugePages {
    /// Packet buffers.
    pub packets: bool,
    /// Session entries.
    pub sessions: bool,
}

impl HugePages {
    /// In a word.
    pub fn name(self) -> &'static str {
        match (self.packets, self.sessions) {
            (true, true) => "huge",
            (false, false) => "normal",
            _ => "partly huge",
        }
    }

    /// As a key of the figure.
    pub fn to_json(self) -> Value {
        json!({ "huge_pages": { "packets": self.packets, "sessions": self.sessions } })
    }

    /// Comparable only on the same pages.
    pub fn of(self, series: Series) -> Series {
        series.under("pages", self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_stay_apart_however_long_a_figure_is() {
        let row =
            |cells: [&str; 3], below: &str| (cells.map(str::to_owned).into(), below.to_owned());
        let long = [
            "pfcp/socket/mix",
            "1234567 (1-2345678)",
            "98765.4/123456.7 at 50000",
        ];
        let rows = [row(long, "  disturbed\n"), row(["a", "1", "2"], "")];
        let text = table("|ns|rtt us p50/p99 at rate", rows);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines[1],
            "pfcp/socket/mix  1234567 (1-2345678)  98765.4/123456.7 at 50000"
        );
        assert!(
            [0, 3].iter().all(|at| lines[*at].len() == lines[1].len()),
            "{text}"
        );
        assert_eq!(lines[2], "  disturbed");
        let cells: Vec<&str> = lines[3].split_whitespace().collect();
        assert_eq!(cells, ["a", "1", "2"]);
    }
}
