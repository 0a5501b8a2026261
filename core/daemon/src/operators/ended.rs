//! Procedures that ended, and how long they took: for metrics.

use serde::{Deserialize, Serialize};
use sluice_sbi::tally::{Tally, Times};

/// Procedures that ended alike.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Ended {
    pub procedure: String,
    pub cause: String,
    pub slice: String,
    pub gnb: String,
    count: u64,
    sum_ns: u64,
    /// How many took no longer than each bound of a histogram, and longer than the one before.
    within: Vec<u64>,
}

/// All of a function.
pub(crate) fn of(tally: &Tally) -> Vec<Ended> {
    let row = |(end, times): (&sluice_sbi::tally::End, &Times)| Ended {
        procedure: end.procedure.to_owned(),
        cause: end.cause.clone(),
        slice: end.slice.clone(),
        gnb: end.gnb.clone(),
        count: times.count,
        sum_ns: times.sum_ns,
        within: times.within.to_vec(),
    };
    tally.ends().map(row).collect()
}

impl Ended {
    /// How long they took.
    pub fn times(&self) -> Times {
        let mut times = Times {
            count: self.count,
            sum_ns: self.sum_ns,
            ..Times::default()
        };
        for (to, from) in times.within.iter_mut().zip(&self.within) {
            *to = *from;
        }
        times
    }
}
