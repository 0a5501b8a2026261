//! Procedures of UEs with SIMs: paced, or so many at a time.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use sluice_host::clock;
use sluice_n1::RegistrationKind;

use super::Player;
use crate::Halt;
use crate::scenario::{Cycle, Misbehave, Signal, SignalKind};

/// UEs with procedures under way where no rate is asked for.
const TOGETHER: usize = 64;
/// Between two looks at what has come.
const LOOK: Duration = Duration::from_millis(5);
/// UEs that begin between two looks at N2: no longer than the others' answers may wait.
const BURST: usize = 16;

/// A UE in a closed loop, and which of the procedures between registration and deregistration it does next.
struct Cycling {
    ue: usize,
    next: usize,
}

impl Cycling {
    /// Next procedure of a UE; one that is not registered begins anew, whatever has failed before.
    fn next(&mut self, procedures: &[SignalKind], is_registered: bool) -> SignalKind {
        if !is_registered {
            self.next = 1;
            return SignalKind::Register(RegistrationKind::Initial);
        }
        // One that was registered before the loop, or could not deregister, goes first.
        let further = self.next.checked_sub(1).and_then(|at| procedures.get(at));
        match further {
            Some(further) => {
                self.next += 1;
                *further
            }
            None => {
                self.next = 0;
                SignalKind::Deregister { switch_off: false }
            }
        }
    }
}

impl Player {
    /// Begins a procedure of each UE, at a rate whatever becomes of those before (open loop) or with
    /// some at a time, and waits for all to end.
    pub(super) fn signal(&mut self, signal: &Signal) -> Result<(), Halt> {
        self.network.page_from(signal.data_network.as_ref());
        let begun = clock::monotonic_ns();
        let due = |number: usize, now: u64| match signal.rate {
            Some(rate) => begun + (number as f64 / rate * 1e9) as u64,
            None => now,
        };
        let mut next = 0;
        while next < signal.ues.len() {
            self.network.until.check()?;
            let mut burst = 0;
            while let Some(ue) = signal.ues.get(next).copied() {
                let now = clock::monotonic_ns();
                let due = due(next, now);
                let is_full = signal.rate.is_none() && self.network.busy() >= TOGETHER;
                if due > now || is_full || burst >= BURST {
                    break;
                }
                if !self.network.begin(ue, signal.what, due, signal.limit) {
                    self.network
                        .fail_for("signalling", ue, &"the UE has something under way");
                }
                (next, burst) = (next + 1, burst + 1);
            }
            let now = clock::monotonic_ns();
            let wait = match signal.rate {
                Some(_) => Duration::from_nanos(due(next, now).saturating_sub(now)),
                None => LOOK,
            };
            self.turn(if burst >= BURST {
                Duration::ZERO
            } else {
                wait.min(LOOK)
            })?;
        }
        self.await_signals(&signal.ues)
    }

    /// Waits until none of these UEs has anything under way.
    pub(super) fn await_signals(&mut self, ues: &[usize]) -> Result<(), Halt> {
        // First all together, which costs less to ask.
        while self.network.busy() > 0 {
            let are_ours = ues.iter().any(|ue| self.network.is_busy(*ue));
            if !are_ours {
                break;
            }
            self.turn(LOOK)?;
        }
        Ok(())
    }

    fn turn(&mut self, patience: Duration) -> Result<(), Halt> {
        self.network.until.check()?;
        self.settle();
        self.network.turn(patience);
        self.network.pulse();
        Ok(())
    }

    /// Closed loop: so many UEs at a time, each of which registers, goes through further procedures and deregisters, as
    /// often as it goes. In the end some are registered and others are not.
    pub(super) fn cycle(&mut self, cycle: &Cycle) -> Result<(), Halt> {
        self.network.page_from(cycle.data_network.as_ref());
        let end = Instant::now() + cycle.time;
        let waiting = cycle.ues.iter().map(|ue| Cycling { ue: *ue, next: 0 });
        let mut waiting: VecDeque<Cycling> = waiting.collect();
        let mut under_way: Vec<Cycling> = Vec::new();
        while Instant::now() < end {
            let all = &self.network;
            let idle = under_way.extract_if(.., |one| !all.is_busy(one.ue));
            // Whoever is in the midst of its procedures goes on before others come.
            let (done, going): (Vec<_>, Vec<_>) = idle.partition(|one| one.next == 0);
            waiting.extend(done);
            going
                .into_iter()
                .rev()
                .for_each(|one| waiting.push_front(one));
            let room = cycle.at_once.saturating_sub(under_way.len());
            for _ in 0..room.min(BURST) {
                let Some(mut one) = waiting.pop_front() else {
                    break;
                };
                let what = one.next(&cycle.procedures, self.network.is_registered(one.ue));
                let due = clock::monotonic_ns();
                if self.network.begin(one.ue, what, due, cycle.limit) {
                    under_way.push(one);
                } else {
                    waiting.push_back(one);
                }
            }
            self.turn(Duration::from_millis(1))?;
        }
        self.await_signals(&cycle.ues)
    }

    pub(super) fn misbehave(&mut self, misbehave: &Misbehave) {
        for ue in &misbehave.ues {
            self.network.misbehave(*ue, misbehave.what);
        }
    }
}
