//! Section `workers`: CPU cores of workers and control core.

use super::fields::{At, Fields};
use super::kind::{auto_or, boolean, number};
use super::machine::Machine;
use super::problem::Report;
use super::scaling::Scaling;
use sluice_datapath::limits::WORKERS;

/// Who works where, as configured.
#[derive(Clone, PartialEq, Debug)]
pub struct Workers {
    /// Number of workers; `None`: one, or one for each of the given cores.
    pub count: Option<At<u16>>,
    /// Cores of the workers; empty: chosen.
    pub cores: Vec<At<u16>>,
    /// Core of everything else; `None`: chosen.
    pub housekeeping_core: Option<At<u16>>,
    /// The longest that a worker sleeps when nothing comes, in microseconds; 0: never.
    pub sleep_us_max: At<u32>,
    /// Workers may share a core: to try several out on a small machine.
    pub share_cores: bool,
    /// How many of them work.
    pub scaling: Scaling,
}

/// Who works where, on this machine.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Placement {
    /// Core of the control core, of timers and logs.
    pub housekeeping: u16,
    /// One core for each worker; at least one.
    pub workers: Vec<u16>,
}

impl Workers {
    pub(super) fn read(fields: &mut Fields<'_, '_>) -> Self {
        let core = || number(0, 4095, "");
        let most = u16::try_from(WORKERS).unwrap_or(u16::MAX);
        let count = fields.or("count", "auto", &auto_or(number(1, most, "workers")));
        let cores = fields.list("cores", &core());
        let housekeeping_core = fields.or("housekeeping_core", "auto", &auto_or(core()));
        Self {
            count: count.given(),
            cores,
            housekeeping_core: housekeeping_core.given(),
            sleep_us_max: fields.or("sleep_us_max", "50", &number(0, 50, "microseconds")),
            share_cores: fields.or("share_cores", "false", &boolean()).value,
            scaling: Scaling::read(fields),
        }
    }

    /// Finds a core for everyone. Without further wishes housekeeping has the first core and one
    /// worker the second; on a machine of one core they share it.
    pub(super) fn place(&self, machine: &Machine, report: &mut Report) -> Placement {
        self.check_cores(machine, report);
        let housekeeping = self.housekeeping(machine);
        let workers = match self.cores.is_empty() {
            true => self.choose(machine, housekeeping, report),
            false => self.cores.iter().map(|at| at.value).collect(),
        };
        self.scaling.check(workers.len(), report);
        let shared = workers.contains(&housekeeping);
        if shared && machine.cores().len() > 1 {
            let at = self.cores.iter().find(|at| at.value == housekeeping);
            let what = format!("core {housekeeping} is housekeeping's");
            let expected = "cores that leave one for housekeeping";
            report.problem(at.map_or(0, |at| at.line), "workers.cores", what, expected);
        } else if (shared || self.share_cores) && self.sleep_us_max.value == 0 {
            let who = if shared {
                "housekeeping"
            } else {
                "other workers"
            };
            let what = format!("a worker that never sleeps would starve {who} on its core");
            let line = self.sleep_us_max.line;
            report.problem(line, "workers.sleep_us_max", what, "1 to 50 on one core");
        }
        Placement {
            housekeeping,
            workers,
        }
    }

    fn check_cores(&self, machine: &Machine, report: &mut Report) {
        let given = self.cores.iter().map(|at| (at, "workers.cores"));
        let own = self.housekeeping_core.iter();
        let own = own.map(|at| (at, "workers.housekeeping_core"));
        for (at, key) in given.chain(own) {
            if !machine.cores().contains(&at.value) {
                let what = format!("core {} is not there or not ours to use", at.value);
                report.problem(at.line, key, what, format!("cores of {}", machine.list()));
            }
        }
        for (i, at) in self.cores.iter().enumerate() {
            let again = self.cores.iter().take(i).any(|b| b.value == at.value);
            if again && !self.share_cores {
                let what = format!("core {} is given twice", at.value);
                report.problem(at.line, "workers.cores", what, "a core for each worker");
            }
        }
        if let Some(count) = self.count
            && !self.cores.is_empty()
            && usize::from(count.value) != self.cores.len()
        {
            let what = format!(
                "{} workers on {} given cores",
                count.value,
                self.cores.len()
            );
            report.problem(count.line, "workers.count", what, "no count beside cores");
        }
    }

    /// The given core, or the first that no worker has, or the first.
    fn housekeeping(&self, machine: &Machine) -> u16 {
        if let Some(given) = self.housekeeping_core {
            return given.value;
        }
        let taken = |core: &u16| self.cores.iter().any(|at| at.value == *core);
        let mut free = machine.cores().iter().filter(|core| !taken(core));
        let first = machine.cores().first();
        free.next().or(first).copied().unwrap_or(0)
    }

    fn choose(&self, machine: &Machine, housekeeping: u16, report: &mut Report) -> Vec<u16> {
        let mut free = machine.cores().to_vec();
        if free.len() > 1 {
            free.retain(|core| *core != housekeeping);
        }
        let count = self.count.map_or(1, |at| usize::from(at.value));
        if self.share_cores {
            return free.into_iter().cycle().take(count).collect();
        }
        if count > free.len() {
            let what = format!("{count} workers for {} free cores", free.len());
            let line = self.count.map_or(0, |at| at.line);
            report.problem(
                line,
                "workers.count",
                what,
                format!("at most {}", free.len()),
            );
        }
        free.truncate(count);
        free
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn workers(count: Option<u16>, cores: &[u16], housekeeping: Option<u16>) -> Workers {
        let at = |value| At { line: 1, value };
        Workers {
            count: count.map(at),
            cores: cores.iter().copied().map(at).collect(),
            housekeeping_core: housekeeping.map(at),
            sleep_us_max: At { line: 1, value: 50 },
            share_cores: false,
            scaling: Scaling::by_hand(),
        }
    }

    /// Housekeeping, workers, and whether all is well.
    fn placed(workers: &Workers, cores: u16) -> (u16, Vec<u16>, bool) {
        let mut report = Report::default();
        let machine = Machine::with_cores((0..cores).collect());
        let placement = workers.place(&machine, &mut report);
        (
            placement.housekeeping,
            placement.workers,
            report.finish().0.is_empty(),
        )
    }

    #[test]
    fn one_worker_has_the_second_core_if_there_is_one() {
        let auto = workers(None, &[], None);
        assert_eq!(placed(&auto, 1), (0, vec![0], true));
        assert_eq!(placed(&auto, 2), (0, vec![1], true));
        assert_eq!(placed(&auto, 16), (0, vec![1], true));
    }

    #[test]
    fn housekeeping_moves_out_of_the_workers_way() {
        assert_eq!(placed(&workers(None, &[0], None), 2), (1, vec![0], true));
        assert_eq!(
            placed(&workers(Some(3), &[], Some(2)), 4),
            (2, vec![0, 1, 3], true)
        );
    }

    #[test]
    fn no_worker_has_housekeepings_core_unless_there_is_no_other() {
        assert!(!placed(&workers(None, &[0, 1], None), 2).2);
        assert!(!placed(&workers(None, &[1], Some(1)), 4).2);
        assert!(placed(&workers(None, &[0], Some(0)), 1).2);
    }

    #[test]
    fn workers_share_cores_only_where_told() {
        let mut many = workers(Some(3), &[], None);
        many.share_cores = true;
        assert_eq!(placed(&many, 2), (0, vec![1, 1, 1], true));
        many.sleep_us_max.value = 0;
        assert!(!placed(&many, 2).2);
    }

    #[test]
    fn a_worker_that_never_sleeps_needs_a_core_of_its_own() {
        let mut restless = workers(None, &[], None);
        restless.sleep_us_max.value = 0;
        assert!(!placed(&restless, 1).2);
        assert!(placed(&restless, 2).2);
    }
}
