//! Statistics of PFCP procedures.

use serde::Serialize;

use crate::sink::{TimeSummary, Times};

/// Session procedures of PFCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Procedure {
    /// Session Establishment (TS 29.244, 6.3.2).
    Establish,
    /// Session Modification (6.3.3).
    Modify,
    /// Session Deletion (6.3.4).
    Delete,
}

impl Procedure {
    pub(super) const ALL: [Self; 3] = [Self::Establish, Self::Modify, Self::Delete];
}

/// All procedures of a time.
#[derive(Clone, Debug, Serialize)]
pub struct N4Report {
    /// How long it took, in seconds.
    pub seconds: f64,
    /// Procedures that were requested at least once.
    pub procedures: Vec<ProcedureReport>,
    /// The first that went wrong, in words.
    pub first_failure: Option<String>,
}

/// One kind of procedure.
#[derive(Clone, Debug, Serialize)]
pub struct ProcedureReport {
    pub procedure: Procedure,
    /// Asked for by plan; those for which there was no session at that moment included.
    pub offered: u64,
    pub done: u64,
    /// Refused, or without answer.
    pub failed: u64,
    /// Not asked, as no session was there to be established, changed or deleted.
    pub starved: u64,
    /// Accepted per second.
    pub per_s: f64,
    /// From due to the answer.
    pub latency: TimeSummary,
    /// From sending to the answer.
    pub latency_from_sent: TimeSummary,
}

/// Counts one kind.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) offered: u64,
    pub(super) done: u64,
    pub(super) failed: u64,
    pub(super) starved: u64,
    pub(super) from_due: Times,
    pub(super) from_sent: Times,
}

/// Counts all.
#[derive(Debug, Default)]
pub(super) struct Tallies {
    pub(super) all: [Tally; 3],
    pub(super) first_failure: Option<String>,
}

impl Tallies {
    pub(super) fn of(&mut self, procedure: Procedure) -> &mut Tally {
        let [establish, modify, delete] = &mut self.all;
        match procedure {
            Procedure::Establish => establish,
            Procedure::Modify => modify,
            Procedure::Delete => delete,
        }
    }

    pub(super) fn report(&self, seconds: f64) -> N4Report {
        let pairs = Procedure::ALL.into_iter().zip(&self.all);
        let used = pairs.filter(|(_, tally)| tally.offered > 0);
        let report = |(procedure, tally): (Procedure, &Tally)| ProcedureReport {
            procedure,
            offered: tally.offered,
            done: tally.done,
            failed: tally.failed,
            starved: tally.starved,
            per_s: tally.done as f64 / seconds.max(1e-9),
            latency: tally.from_due.summary(),
            latency_from_sent: tally.from_sent.summary(),
        };
        N4Report {
            seconds,
            procedures: used.map(report).collect(),
            first_failure: self.first_failure.clone(),
        }
    }
}
