//! Paced procedures of many UEs.

use std::time::{Duration, Instant};

use super::Player;
use crate::Halt;
use crate::network::Network;
use crate::scenario::{Attach, Detach, Handover, Signal, SignalKind};

/// How long each procedure of a UE with a SIM may take (TS 24.501, T3510).
const LIMIT: Duration = Duration::from_secs(15);
/// UEs whose procedures go together where no rate is asked for.
const TOGETHER: usize = 32;
/// How long a procedure waits for an association that has gone.
const N4_PATIENCE: Duration = Duration::from_secs(60);

impl Player {
    pub(super) fn attach(&mut self, attach: &Attach) -> Result<(), Halt> {
        let (sims, others) = self.by_sim(&attach.ues);
        self.paced(&others, attach.rate, |network, ues| {
            network.attach(ues, attach.gnb);
        })?;
        let away = sims
            .into_iter()
            .filter(|ue| !self.network.is_registered(*ue));
        self.signal(&Signal {
            ues: away.collect(),
            rate: attach.rate,
            what: SignalKind::Attach,
            limit: LIMIT,
            data_network: None,
        })
    }

    pub(super) fn detach(&mut self, detach: &Detach) -> Result<(), Halt> {
        let (sims, others) = self.by_sim(&detach.ues);
        self.paced(&others, detach.rate, Network::detach)?;
        let there = sims
            .into_iter()
            .filter(|ue| self.network.is_registered(*ue));
        self.signal(&Signal {
            ues: there.collect(),
            rate: detach.rate,
            what: SignalKind::Deregister { switch_off: false },
            limit: LIMIT,
            data_network: None,
        })
    }

    /// UEs with SIMs, and those without.
    fn by_sim(&self, ues: &[usize]) -> (Vec<usize>, Vec<usize>) {
        ues.iter()
            .copied()
            .partition(|ue| self.network.has_sim(*ue))
    }

    pub(super) fn hand_over(&mut self, handover: &Handover) -> Result<(), Halt> {
        self.paced(&handover.ues, handover.rate, |network, ues| {
            network.hand_over(ues, handover.from, handover.to);
        })
    }

    fn paced(
        &mut self,
        ues: &[usize],
        rate: Option<f64>,
        act: impl Fn(&mut Network, &[usize]),
    ) -> Result<(), Halt> {
        let begun = Instant::now();
        let together = rate.map_or(TOGETHER, |_| 1);
        for (number, some) in ues.chunks(together).enumerate() {
            if let Some(rate) = rate {
                let due = begun + Duration::from_secs_f64(number as f64 / rate);
                self.pause(due.saturating_duration_since(Instant::now()))?;
            }
            self.await_n4()?;
            act(&mut self.network, some);
        }
        Ok(())
    }

    /// Waits for the association, if it has gone: what is asked without it only fails.
    pub(super) fn await_n4(&mut self) -> Result<(), Halt> {
        let begun = Instant::now();
        self.network.until.check()?;
        self.network.pulse();
        while !self.network.is_n4_up() && begun.elapsed() < N4_PATIENCE {
            self.pause(Duration::from_millis(100))?;
        }
        Ok(())
    }
}
