//! UE churn: attach and detach at a rate.

use std::time::{Duration, Instant};

use super::Player;
use crate::Halt;
use crate::network::State;
use crate::scenario::Churn;

impl Player {
    /// One UE after the other, picked at random, attaches if it is not there and detaches if it
    /// is. In the end those are there again that were there in the beginning, and no others.
    pub(super) fn churn(&mut self, churn: &Churn) -> Result<(), Halt> {
        let begun = Instant::now();
        let before: Vec<_> = churn.ues.iter().map(|ue| self.is_attached(*ue)).collect();
        let mut number = 0u64;
        loop {
            let at = Duration::from_secs_f64(number as f64 / churn.rate);
            if at >= churn.time {
                break;
            }
            self.pause((begun + at).saturating_duration_since(Instant::now()))?;
            // Requests that waited for the UPF are not made up for.
            number = number.max((begun.elapsed().as_secs_f64() * churn.rate) as u64) + 1;
            self.await_n4()?;
            let pick = self.random(churn.ues.len());
            let Some(ue) = churn.ues.get(pick).copied() else {
                break;
            };
            match self.is_attached(ue) {
                true => self.network.detach(&[ue]),
                false => self.network.attach(&[ue], None),
            }
        }
        let rest = (begun + churn.time).saturating_duration_since(Instant::now());
        self.pause(rest)?;
        for (ue, was_attached) in churn.ues.iter().zip(before) {
            match (was_attached, self.is_attached(*ue)) {
                (true, false) => self.network.attach(&[*ue], None),
                (false, true) => self.network.detach(&[*ue]),
                _ => {}
            }
        }
        Ok(())
    }

    fn is_attached(&self, ue: usize) -> bool {
        let ue = self.network.ues().get(ue);
        ue.is_some_and(|ue| !matches!(ue.state, State::Off))
    }

    /// A number below `below`, the same in each run.
    fn random(&mut self, below: usize) -> usize {
        self.random.usize(..below.max(1))
    }
}
