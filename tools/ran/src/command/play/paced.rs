//! Paced procedures of many UEs.

use std::time::{Duration, Instant};

use super::Player;
use crate::command::Halt;
use crate::command::runtime::Runtime;
use crate::command::scenario::{Attach, Detach, Handover};

/// UEs whose procedures go together where no rate is asked for.
const TOGETHER: usize = 32;
/// How long a procedure waits for an association that has gone.
const N4_PATIENCE: Duration = Duration::from_secs(60);

impl Player {
    pub(super) fn attach(&mut self, attach: &Attach) -> Result<(), Halt> {
        self.paced(&attach.ues, attach.rate, |world, ues| {
            world.attach(ues, attach.gnb);
        })
    }

    pub(super) fn detach(&mut self, detach: &Detach) -> Result<(), Halt> {
        self.paced(&detach.ues, detach.rate, Runtime::detach)
    }

    pub(super) fn hand_over(&mut self, handover: &Handover) -> Result<(), Halt> {
        self.paced(&handover.ues, handover.rate, |world, ues| {
            world.hand_over(ues, handover.from, handover.to);
        })
    }

    fn paced(
        &mut self,
        ues: &[usize],
        rate: Option<f64>,
        act: impl Fn(&mut Runtime, &[usize]),
    ) -> Result<(), Halt> {
        let begun = Instant::now();
        let together = rate.map_or(TOGETHER, |_| 1);
        for (number, some) in ues.chunks(together).enumerate() {
            if let Some(rate) = rate {
                let due = begun + Duration::from_secs_f64(number as f64 / rate);
                self.pause(due.saturating_duration_since(Instant::now()))?;
            }
            self.await_n4()?;
            act(&mut self.world, some);
        }
        Ok(())
    }

    /// Waits for the association, if it has gone: what is asked without it only fails.
    pub(super) fn await_n4(&mut self) -> Result<(), Halt> {
        let begun = Instant::now();
        self.world.until.check()?;
        self.world.pulse();
        while !self.world.is_n4_up() && begun.elapsed() < N4_PATIENCE {
            self.pause(Duration::from_millis(100))?;
        }
        Ok(())
    }
}
