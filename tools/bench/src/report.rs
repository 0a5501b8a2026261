//! Reports of all benchmarks: header, figures of a case, tables, pages, numbers.

use crate::machine;
use crate::stats::{Summary, round};
use crate::watch::Measured;
use crate::watch::history::Series;
use serde_json::{Map, Value, json};

/// Result of one case.
#[derive(Clone, Default, Debug)]
pub struct Outcome {
    pub json: Value,
    /// For people: cells of a table, if there is one, and whole lines below them.
    pub cells: Vec<String>,
    pub below: String,
    /// Series that are stored and compared.
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

    /// The end of a benchmark: rows of a table, and lines that stand below it.
    pub fn measured(
        (bench, rest): (&str, Value),
        (heads, rows): (&str, &[Self]),
        lines: impl IntoIterator<Item = impl AsRef<str>>,
    ) -> Measured {
        let mut table = Self::table(heads, rows);
        lines.into_iter().for_each(|line| table += line.as_ref());
        Measured {
            json: object(bench, rest),
            table,
            series: rows.iter().flat_map(|one| one.series.clone()).collect(),
            fault: None,
        }
    }
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

/// Memory on huge pages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HugePages {
    pub packets: bool,
    pub sessions: bool,
}

impl HugePages {
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
