//! Procedures of UEs, counted, with their durations.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use hdrhistogram::Histogram;
use serde_json::{Value, json};
use sluice_ue::{Ended, Outcome};

/// Reasons that are kept by their words; others are counted together.
const REASONS: usize = 32;

/// Results of procedures of one kind.
#[derive(Clone, Debug)]
pub struct Kind {
    pub done: u64,
    pub refused: u64,
    pub timed_out: u64,
    /// Cut off, or not possible.
    pub lost: u64,
    /// Durations of those that are done, in microseconds.
    took_us: Histogram<u64>,
    /// Why they were not done.
    reasons: BTreeMap<String, u64>,
}

impl Default for Kind {
    #[allow(clippy::expect_used)]
    fn default() -> Self {
        // An hour is longer than any limit; three digits are what people read.
        let took_us = Histogram::new_with_max(3_600_000_000, 3).expect("bounds that are in order");
        Self {
            done: 0,
            refused: 0,
            timed_out: 0,
            lost: 0,
            took_us,
            reasons: BTreeMap::new(),
        }
    }
}

impl Kind {
    /// A quantile of the durations, in milliseconds.
    pub fn quantile_ms(&self, quantile: f64) -> f64 {
        self.took_us.value_at_quantile(quantile) as f64 / 1e3
    }
}

/// All kinds, by name.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    kinds: BTreeMap<&'static str, Kind>,
}

impl Tally {
    /// Another procedure has ended. Why, if it was not done.
    pub fn add(&mut self, ended: &Ended) -> Option<String> {
        let kind = self.kinds.entry(ended.procedure.name()).or_default();
        let why = match &ended.outcome {
            Outcome::Done => {
                kind.done += 1;
                kind.took_us.saturating_record(ended.took_ns / 1000);
                return None;
            }
            Outcome::Refused(why) => {
                kind.refused += 1;
                format!("refused: {why}")
            }
            Outcome::TimedOut => {
                kind.timed_out += 1;
                "no answer in time".to_owned()
            }
            Outcome::Lost => {
                kind.lost += 1;
                "the connection was released before it was done".to_owned()
            }
            Outcome::Impossible(why) => {
                kind.lost += 1;
                (*why).to_owned()
            }
        };
        let is_known = kind.reasons.contains_key(&why) || kind.reasons.len() < REASONS;
        let key = if is_known {
            why.clone()
        } else {
            "other".to_owned()
        };
        *kind.reasons.entry(key).or_default() += 1;
        Some(why)
    }

    /// One kind; none if there was no such procedure.
    pub fn kind(&self, name: &str) -> Option<&Kind> {
        self.kinds.get(name)
    }

    /// The sum of a count over all kinds.
    pub fn sum(&self, of: impl Fn(&Kind) -> u64) -> u64 {
        self.kinds.values().map(of).sum()
    }

    /// A line for each kind, for people.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for (name, kind) in &self.kinds {
            let ms = |quantile| kind.quantile_ms(quantile);
            // Writing to a String cannot fail.
            let _ = writeln!(
                text,
                "{name}: {} done, {} refused, {} timed out, {} lost; p50 {:.1} ms, p99 {:.1} ms, \
                 longest {:.1} ms",
                kind.done,
                kind.refused,
                kind.timed_out,
                kind.lost,
                ms(0.5),
                ms(0.99),
                ms(1.0),
            );
        }
        text
    }

    pub fn json(&self) -> Value {
        let kinds = self.kinds.iter().map(|(name, kind)| {
            let ms = |quantile| json!(kind.quantile_ms(quantile));
            let object = json!({
                "done": kind.done,
                "refused": kind.refused,
                "timed_out": kind.timed_out,
                "lost": kind.lost,
                "mean_ms": kind.took_us.mean() / 1e3,
                "p50_ms": ms(0.5),
                "p90_ms": ms(0.9),
                "p99_ms": ms(0.99),
                "p999_ms": ms(0.999),
                "max_ms": ms(1.0),
                "reasons": kind.reasons,
            });
            ((*name).replace(' ', "_"), object)
        });
        Value::Object(kinds.collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sluice_ue::Procedure;

    #[test]
    fn outcomes_are_counted_by_kind_with_their_durations_and_reasons() {
        let mut tally = Tally::default();
        let mut ended = Ended {
            ue: 0,
            procedure: Procedure::Service,
            outcome: Outcome::Done,
            took_ns: 2_000_000,
        };
        assert_eq!(tally.add(&ended), None);
        ended.outcome = Outcome::Refused("#9".to_owned());
        assert_eq!(tally.add(&ended).as_deref(), Some("refused: #9"));
        ended.outcome = Outcome::TimedOut;
        assert!(tally.add(&ended).is_some());
        let kind = tally.kind("service request").expect("counted");
        assert_eq!((kind.done, kind.refused, kind.timed_out), (1, 1, 1));
        assert!((kind.quantile_ms(0.5) - 2.0).abs() < 0.01);
        assert_eq!(tally.sum(|kind| kind.refused), 1);
        let json = tally.json();
        assert_eq!(json["service_request"]["reasons"]["refused: #9"], 1);
        let mean_ms = json["service_request"]["mean_ms"].as_f64();
        assert!(mean_ms.is_some_and(|ms| (ms - 2.0).abs() < 0.01));
        assert!(tally.text().contains("service request: 1 done, 1 refused"));
    }

    #[test]
    fn reasons_do_not_grow_without_end() {
        let mut tally = Tally::default();
        for number in 0..100 {
            tally.add(&Ended {
                ue: 0,
                procedure: Procedure::Idle,
                outcome: Outcome::Refused(number.to_string()),
                took_ns: 0,
            });
        }
        let kind = tally.kind("AN release").expect("counted");
        assert_eq!(kind.reasons.len(), REASONS + 1);
        assert_eq!(kind.reasons["other"], 100 - REASONS as u64);
    }
}
