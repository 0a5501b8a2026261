//! Scenario checks.

use std::time::{Duration, Instant};

use super::outcome::ALWAYS;
use super::{Player, Row};
use crate::Halt;
use crate::command::ping::Tally;
use crate::metrics::{ATTACHED, COUNT, METRICS, OF_GNB, index};
use crate::network::Figures;
use crate::scenario::{Check, Since};

/// Rows that are kept: of checks that held before, only their number is.
const ROWS_MAX: usize = 1000;
/// From one look at what shall come to the next.
const LOOK: Duration = Duration::from_millis(50);

/// Figures as they were, and pings as they are.
pub struct Ledger {
    start: Figures,
    last: Figures,
    pings: Tally,
    pings_all: Tally,
    usage_ended: u64,
    first_memory_mb: Option<f64>,
    /// Failures that checks have spoken of.
    pub judged_failures: f64,
}

impl Ledger {
    pub fn new(figures: Figures) -> Self {
        Self {
            start: figures.clone(),
            last: figures,
            pings: Tally::default(),
            pings_all: Tally::default(),
            usage_ended: 0,
            first_memory_mb: None,
            judged_failures: 0.0,
        }
    }

    /// Another run of pings has ended.
    pub fn add_pings(&mut self, tally: &Tally) {
        self.pings.add(tally);
        self.pings_all.add(tally);
    }
}

impl Player {
    pub(super) fn check(&mut self, check: &Check) -> Result<(), Halt> {
        self.await_tasks(0)?;
        let deadline = Instant::now() + check.within;
        let (figures, values) = loop {
            let figures = self.network.figures();
            let values = self.values(check, &figures);
            let mut wanted = check.expectations.iter();
            let holds = wanted.all(|e| e.bound.holds(values[e.metric]));
            if holds || Instant::now() >= deadline {
                break (figures, values);
            }
            self.pause(LOOK)?;
        };
        for expectation in &check.expectations {
            let value = values[expectation.metric];
            let what = METRICS[expectation.metric].name;
            if what == "failures" {
                self.ledger.judged_failures = figures.all[expectation.metric];
            }
            self.tell(Row {
                line: expectation.line,
                what: self.named(what, check),
                expected: expectation.bound.to_string(),
                seen: rounded(value),
                pass: expectation.bound.holds(value),
            });
        }
        self.ledger.last = figures;
        self.ledger.pings = Tally::default();
        self.ledger.usage_ended = self.network.totals.usage_difference;
        Ok(())
    }

    fn values(&mut self, check: &Check, figures: &Figures) -> [f64; COUNT] {
        let before = match check.since {
            Since::Check => &self.ledger.last,
            Since::Start => &self.ledger.start,
        };
        let gnbs: Vec<usize> = match &check.gnbs {
            Some(gnbs) => gnbs.clone(),
            None => (0..figures.gnbs.len()).collect(),
        };
        let mut values = [0.0; COUNT];
        for (number, metric) in METRICS.iter().enumerate() {
            let since = |now: f64, before: f64| match metric.counts {
                true => now - before,
                false => now,
            };
            values[number] = if number < OF_GNB {
                let each = gnbs.iter().filter_map(|gnb| {
                    let (now, before) = figures.gnbs.get(*gnb).zip(before.gnbs.get(*gnb))?;
                    Some(since(now[number], before[number]))
                });
                each.sum()
            } else {
                since(figures.all[number], before.all[number])
            };
        }
        self.put_pings(check, &mut values);
        self.put_measured(check, &mut values);
        values
    }

    fn put_pings(&self, check: &Check, values: &mut [f64; COUNT]) {
        let pings = match check.since {
            Since::Check => &self.ledger.pings,
            Since::Start => &self.ledger.pings_all,
        };
        let ms = |ns: u64| ns as f64 / 1e6;
        let lost = pings.lost() as f64;
        for (name, value) in [
            ("ping_sent", pings.sent as f64),
            ("ping_lost", lost),
            ("ping_lost_percent", lost * 100.0 / pings.sent.max(1) as f64),
            ("rtt_p50_ms", ms(pings.rtt_ns.value_at_quantile(0.5))),
            ("rtt_p99_ms", ms(pings.rtt_ns.value_at_quantile(0.99))),
            ("rtt_max_ms", ms(pings.rtt_ns.max())),
        ] {
            values[index(name)] = value;
        }
    }

    /// Adds figures that are only measured if a check asks for them.
    fn put_measured(&mut self, check: &Check, values: &mut [f64; COUNT]) {
        let asks = |name: &str| {
            let wanted = index(name);
            check.expectations.iter().any(|e| e.metric == wanted)
        };
        if asks("usage_difference_bytes") {
            let before = match check.since {
                Since::Check => self.ledger.usage_ended,
                Since::Start => 0,
            };
            let (ended, alive) = self.network.usage_difference();
            let difference = ended.saturating_sub(before) + alive;
            values[index("usage_difference_bytes")] = difference as f64;
        }
        if asks("memory_growth_mb") {
            let now = values[index("memory_mb")];
            let first = *self.ledger.first_memory_mb.get_or_insert(now);
            values[index("memory_growth_mb")] = (now - first).max(0.0);
        }
    }

    fn named(&self, what: &str, check: &Check) -> String {
        let Some(gnbs) = &check.gnbs else {
            return what.to_owned();
        };
        let names = &self.network.scenario.names;
        let names: Vec<_> = gnbs.iter().map(|gnb| names.gnb(*gnb)).collect();
        format!("{what} at {}", names.join(", "))
    }

    /// Keeps a verdict and shows it. Rows that held are forgotten before memory grows.
    pub(super) fn tell(&mut self, row: Row) {
        let Row {
            line,
            what,
            expected,
            seen,
            pass,
        } = &row;
        let place = match line {
            0 => ALWAYS.to_owned(),
            line => format!("line {line}"),
        };
        self.network.screen.say(&match pass {
            true => format!("  ok      {place}: {what}: {seen}"),
            false => format!("  FAILED  {place}: {what}: expected {expected}, seen {seen}"),
        });
        self.rows.push(row);
        if self.rows.len() > ROWS_MAX {
            let held = self.rows.iter().position(|row| row.pass).unwrap_or(0);
            let forgotten = self.rows.remove(held);
            self.held_before += u64::from(forgotten.pass);
            self.failed_before += u64::from(!forgotten.pass);
        }
    }

    /// UEs that gNBs serve.
    pub(super) fn attached(figures: &Figures) -> usize {
        let all = figures.gnbs.iter().map(|gnb| gnb[ATTACHED]);
        all.sum::<f64>() as usize
    }
}

fn rounded(value: f64) -> String {
    match value.fract() == 0.0 {
        true => format!("{value:.0}"),
        false => format!("{value:.3}"),
    }
}
