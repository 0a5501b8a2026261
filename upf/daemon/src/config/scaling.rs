//! Keys `workers.scaling`, `working_min`, `working_max`: load-driven scaling.

use super::fields::{At, Fields};
use super::kind::{auto_or, number, word};
use super::problem::Report;
use sluice_control::scaling::policy::{Bounds, BurstFill, Cycles, Policy};

/// Who decides how many workers work.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Decides {
    /// All of them do, until somebody says otherwise (`sluice ctl scale`).
    ByHand,
    /// [`Cycles`].
    Cycles,
    /// [`BurstFill`].
    BurstFill,
}

/// Scaling, as configured.
#[derive(Clone, PartialEq, Debug)]
pub struct Scaling {
    /// From the start.
    pub decides: Decides,
    /// The fewest that work.
    least: At<u16>,
    /// The most; `None`: all.
    most: Option<At<u16>>,
}

impl Scaling {
    pub(super) fn read(fields: &mut Fields<'_, '_>) -> Self {
        let decides = word(&[
            ("by_hand", Decides::ByHand),
            ("cycles", Decides::Cycles),
            ("burst_fill", Decides::BurstFill),
        ]);
        let workers = || number(1, 64, "workers");
        let most = fields.or("working_max", "auto", &auto_or(workers()));
        Self {
            decides: fields.or("scaling", "by_hand", &decides).value,
            least: fields.or("working_min", "1", &workers()),
            most: most.given(),
        }
    }

    /// Refuses bounds that no number of workers meets.
    pub(super) fn check(&self, workers: usize, report: &mut Report) {
        let most = self.most.map_or(workers, |at| usize::from(at.value));
        if let Some(at) = self.most.filter(|at| usize::from(at.value) > workers) {
            let what = format!("{} of {workers} workers", at.value);
            report.problem(
                at.line,
                "workers.working_max",
                what,
                format!("at most {workers}"),
            );
        }
        if usize::from(self.least.value) > most.min(workers) {
            let what = format!("{} of {workers} workers", self.least.value);
            let expected = format!("at most {}", most.min(workers));
            report.problem(self.least.line, "workers.working_min", what, expected);
        }
    }

    /// Our own policy, with at least so many workers.
    pub fn at_least(workers: u16) -> Self {
        let (line, value) = (0, workers);
        Self {
            decides: Decides::Cycles,
            least: At { line, value },
            most: None,
        }
    }

    /// This policy, with at least so many workers.
    pub fn decided_by(decides: Decides, least: u16) -> Self {
        Self {
            decides,
            ..Self::at_least(least)
        }
    }

    /// The policy that decides, or would if it were told to.
    pub fn policy(&self) -> Box<dyn Policy + Send> {
        match self.decides {
            Decides::ByHand | Decides::Cycles => Box::new(Cycles::default()),
            Decides::BurstFill => Box::new(BurstFill::default()),
        }
    }

    /// Between how many.
    pub fn bounds(&self, workers: usize) -> Bounds {
        let most = self.most.map_or(workers, |at| usize::from(at.value));
        Bounds {
            least: usize::from(self.least.value),
            most: most.min(workers),
        }
    }
}

#[cfg(test)]
impl Scaling {
    /// What nothing said means.
    pub(super) fn by_hand() -> Self {
        Self {
            decides: Decides::ByHand,
            least: At { line: 0, value: 1 },
            most: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(least: u16, most: Option<u16>, workers: usize) -> Vec<String> {
        let at = |value| At { line: 3, value };
        let scaling = Scaling {
            decides: Decides::Cycles,
            least: at(least),
            most: most.map(at),
        };
        let mut report = Report::default();
        scaling.check(workers, &mut report);
        let problems = report.finish().0;
        problems
            .iter()
            .map(|p| format!("{}: {}; {}", p.key, p.what, p.expected))
            .collect()
    }

    #[test]
    fn bounds_are_met_by_some_number_of_workers() {
        assert!(problems(1, None, 1).is_empty());
        assert!(problems(2, Some(3), 3).is_empty());
        let least = "workers.working_min: 4 of 3 workers; at most 3";
        assert_eq!(problems(4, None, 3), [least]);
        let most = "workers.working_max: 4 of 3 workers; at most 3";
        assert_eq!(problems(1, Some(4), 3), [most]);
        let crossed = "workers.working_min: 3 of 4 workers; at most 2";
        assert_eq!(problems(3, Some(2), 4), [crossed]);
    }
}
