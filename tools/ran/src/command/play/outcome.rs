//! Result of a scenario.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::Duration;

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::Player;
use crate::command::{Halt, at};
use crate::metrics::{METRICS, OF_GNB, index};
use crate::network::{Figures, Tally};
use sluice_program::exit::Exit;

/// The place of what holds for every scenario.
pub const ALWAYS: &str = "always";

#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// Line in the file; 0: what holds for every scenario.
    pub line: u32,
    pub what: String,
    pub expected: String,
    pub seen: String,
    pub pass: bool,
}

#[derive(Debug)]
pub struct ScenarioResult {
    file: PathBuf,
    rows: Vec<Row>,
    held_before: u64,
    failed_before: u64,
    halt: Halt,
    duration: Duration,
    gnbs: Vec<String>,
    figures: Figures,
    attached_last: usize,
    tally: Tally,
}

impl Player {
    /// Ends tasks, gives sessions back, and sums up.
    pub fn finish(mut self, halt: Halt, duration: Duration) -> ScenarioResult {
        self.stop_tasks();
        let attached_last = Self::attached(&self.network.figures());
        self.network.close();
        let figures = self.network.figures();
        let failures = figures.all[index("failures")] - self.ledger.judged_failures;
        let unaccounted: f64 = figures.gnbs.iter().map(|g| g[index("unaccounted")]).sum();
        for (what, seen) in [
            ("procedures that failed unseen by a check", failures),
            ("datagrams without a fate", unaccounted),
        ] {
            self.tell(Row {
                line: 0,
                what: what.to_owned(),
                expected: "0".to_owned(),
                seen: format!("{seen}"),
                pass: seen == 0.0,
            });
        }
        let names = &self.network.scenario.names;
        ScenarioResult {
            file: self.file.clone(),
            gnbs: (0..names.gnb_count())
                .map(|gnb| names.gnb(gnb).to_owned())
                .collect(),
            rows: std::mem::take(&mut self.rows),
            held_before: self.held_before,
            failed_before: self.failed_before,
            halt,
            duration,
            figures,
            attached_last,
            tally: self.network.take_tally(),
        }
    }
}

impl ScenarioResult {
    /// Whether all checks held.
    pub fn exit(&self) -> Exit {
        match self.failed() {
            0 => Exit::Done,
            _ => Exit::Failed,
        }
    }

    fn failed(&self) -> u64 {
        let failed = self.rows.iter().filter(|row| !row.pass).count() as u64;
        failed + self.failed_before
    }

    fn passed(&self) -> u64 {
        let passed = self.rows.iter().filter(|row| row.pass).count() as u64;
        passed + self.held_before
    }

    fn place(&self, row: &Row) -> String {
        match row.line {
            0 => ALWAYS.to_owned(),
            line => at(&self.file, line),
        }
    }

    fn halt(&self) -> &'static str {
        match self.halt {
            Halt::Interrupted => "interrupted",
            Halt::TimeUp => "time up",
            Halt::End => "at its end",
        }
    }

    pub fn text(&self) -> String {
        let width = self.rows.iter().map(|row| self.place(row).len()).max();
        let width = width.unwrap_or(0);
        let mut text = String::new();
        for row in &self.rows {
            let verdict = if row.pass { "ok    " } else { "FAILED" };
            let place = self.place(row);
            let Row {
                what,
                expected,
                seen,
                ..
            } = row;
            // Writing to a String cannot fail.
            let _ = writeln!(
                text,
                "{verdict}  {place:<width$}  {what}: expected {expected}, seen {seen}"
            );
        }
        text.push_str(&self.tally.text());
        let (passed, failed) = (self.passed(), self.failed());
        let (halt, seconds) = (self.halt(), self.duration.as_secs_f64());
        let _ = writeln!(
            text,
            "{passed} checks passed, {failed} failed; {halt} after {seconds:.1} s"
        );
        text
    }

    pub fn json(&self) -> Value {
        let checks = self.rows.iter().map(|row| {
            let mut object = json!(row);
            object["at"] = json!(self.place(row));
            object
        });
        let gnbs = self.gnbs.iter().zip(&self.figures.gnbs).map(|(name, of)| {
            let mut object = figures(&METRICS[..OF_GNB], of);
            object.insert("name".to_owned(), json!(name));
            Value::Object(object)
        });
        json!({
            "scenario": self.file.display().to_string(),
            "checks_passed": self.passed(),
            "checks_failed": self.failed(),
            "checks": checks.collect::<Vec<_>>(),
            "ended": self.halt(),
            "duration_s": self.duration.as_secs_f64(),
            "attached_at_the_end": self.attached_last,
            "gnbs": gnbs.collect::<Vec<_>>(),
            "counters": counters(&self.figures),
            "procedures": self.tally.json(),
        })
    }
}

fn figures(metrics: &[crate::metrics::Metric], of: &[f64]) -> Map<String, Value> {
    let pairs = metrics.iter().zip(of);
    pairs
        .map(|(metric, value)| (metric.name.to_owned(), json!(*value as u64)))
        .collect()
}

/// Counters that are not gNBs'.
fn counters(of: &Figures) -> Value {
    let rest = METRICS.iter().zip(&of.all).skip(OF_GNB);
    let counters = rest.filter(|(metric, _)| metric.counts);
    let counters = counters.filter(|(metric, _)| !metric.name.starts_with("ping_"));
    Value::Object(
        counters
            .map(|(metric, value)| (metric.name.to_owned(), json!(*value as u64)))
            .collect(),
    )
}
