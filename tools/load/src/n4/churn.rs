//! Open-loop session churn: sessions established, modified and deleted at given rates.

use std::collections::VecDeque;
use std::ops::Range;
use std::time::Duration;

use sluice_host::clock;

use super::agent::Agent;
use super::report::{N4Report, Procedure, Tallies};
use crate::LoadError;
use crate::source::{Pace, Plan, Unit};

/// The longest wait for datagrams: heartbeats and stops are seen.
const WAIT_MAX: Duration = Duration::from_millis(20);

/// Procedures per second; 0: none.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rates {
    pub establish: f64,
    pub modify: f64,
    pub delete: f64,
}

impl Rates {
    fn of(&self, procedure: Procedure) -> f64 {
        match procedure {
            Procedure::Establish => self.establish,
            Procedure::Modify => self.modify,
            Procedure::Delete => self.delete,
        }
    }
}

/// Which sessions wait for what.
#[derive(Debug, Default)]
struct Queues {
    absent: VecDeque<u32>,
    present: VecDeque<u32>,
}

impl Queues {
    /// A session for a procedure; it is in no queue while it is busy.
    fn take(&mut self, procedure: Procedure) -> Option<u32> {
        match procedure {
            Procedure::Establish => self.absent.pop_front(),
            Procedure::Modify | Procedure::Delete => self.present.pop_front(),
        }
    }
}

impl Agent {
    /// Lets the sessions with these numbers come, change and go for so long, or until `stop` says
    /// so. The oldest goes first, and who has gone comes again last. What is established at the end
    /// stays.
    ///
    /// # Errors
    /// If a rate cannot be followed.
    pub fn churn(
        &mut self,
        sessions: Range<u32>,
        rates: Rates,
        duration: Duration,
        mut stop: impl FnMut() -> bool,
    ) -> Result<N4Report, LoadError> {
        let mut paces = Vec::new();
        for procedure in Procedure::ALL {
            let rate = rates.of(procedure);
            if rate > 0.0 {
                let ns = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
                let plan = Plan::constant(Unit::Packets, rate, ns);
                paces.push((procedure, Pace::new(plan)?));
            }
        }
        let mut queues = Queues::default();
        for session in sessions {
            let is_there = self.seid_of(session);
            let queue = if is_there {
                &mut queues.present
            } else {
                &mut queues.absent
            };
            queue.push_back(session);
        }
        self.tallies = Tallies::default();
        let origin_ns = clock::monotonic_ns();
        loop {
            let now_ns = clock::monotonic_ns().saturating_sub(origin_ns);
            let mut next_ns = None;
            let mut is_over = true;
            for (procedure, pace) in &mut paces {
                while let Some(due_ns) = pace.due_ns(0) {
                    is_over = false;
                    if due_ns > now_ns {
                        next_ns = Some(next_ns.map_or(due_ns, |next: u64| next.min(due_ns)));
                        break;
                    }
                    pace.advance(0);
                    self.ask_for(*procedure, origin_ns + due_ns, &mut queues);
                }
            }
            let stopped = stop();
            if stopped || (is_over && !self.is_waiting()) {
                paces.clear();
                if !self.is_waiting() {
                    break;
                }
            }
            let wait_ns = next_ns.map_or(u64::MAX, |next| next.saturating_sub(now_ns));
            for ended in self.pump(WAIT_MAX.min(Duration::from_nanos(wait_ns))) {
                let queue = match self.seid_of(ended.session) {
                    true => &mut queues.present,
                    false => &mut queues.absent,
                };
                match ended.procedure {
                    // Who was changed is still as old as before.
                    Procedure::Modify => queue.push_front(ended.session),
                    _ => queue.push_back(ended.session),
                }
            }
        }
        Ok(self.report(origin_ns))
    }

    fn seid_of(&self, session: u32) -> bool {
        let session = self.sessions.get(session as usize);
        session.is_some_and(|session| session.seid.is_some())
    }

    fn ask_for(&mut self, procedure: Procedure, due_ns: u64, queues: &mut Queues) {
        match queues.take(procedure) {
            Some(session) => self.ask(procedure, session, due_ns),
            None => {
                let tally = self.tallies.of(procedure);
                tally.offered += 1;
                tally.starved += 1;
            }
        }
    }
}
