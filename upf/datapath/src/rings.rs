//! Rings of a worker: from and to the control core, and the other workers.

use crate::bells::{Bell, LateBells};
use crate::ids::{InterfaceId, WorkerId};
use crate::message::{Handover, ToControl, ToWorker};
use crate::ring_backlog::RingBacklog;
use crate::wake::Wake;
use sluice_mem::ring::{Consumer, Producer};
use std::sync::Arc;

/// A worker's rings.
pub struct WorkerRings<P> {
    /// From the control core.
    pub from_control: Consumer<ToWorker<P>>,
    /// To the control core.
    pub to_control: Producer<ToControl<P>>,
    /// PFCP packets to the control core, with the interface that each came in by.
    pub n4: Producer<(P, InterfaceId)>,
    /// To the other workers.
    pub to_workers: RingBacklog<P>,
    /// From each other worker; `None` at one's own place.
    pub from_workers: Vec<Option<Consumer<Handover<P>>>>,
    /// What the ring to the control core had no room for.
    pub(crate) late_bells: LateBells,
    /// Of every worker, and behind them the control core's.
    pub wakes: Arc<[Wake]>,
}

impl<P> WorkerRings<P> {
    /// True if something has come.
    pub(crate) fn is_waiting(&self) -> bool {
        let mut others = self.from_workers.iter().flatten();
        !self.from_control.is_empty() || others.any(|ring| !ring.is_empty())
    }

    /// What waits from other workers.
    pub(crate) fn waiting(&self) -> u64 {
        let rings = self.from_workers.iter().flatten();
        rings.map(|ring| ring.len() as u64).sum()
    }

    /// Puts something on the ring to another worker, and wakes it.
    #[inline]
    pub(crate) fn hand(&mut self, to: WorkerId, what: Handover<P>) -> Result<(), Handover<P>> {
        self.to_workers.put(to, what)?;
        self.wake(to.into());
        Ok(())
    }

    /// As [`hand`](Self::hand), in a place reserved for tokens.
    pub(crate) fn hand_token(&mut self, to: WorkerId, token: Handover<P>) -> bool {
        let handed = self.to_workers.put_token(to, token);
        self.wake(to.into());
        handed
    }

    /// What found its ring full goes on as far as there is room by now. Returns how much waited.
    #[cold]
    pub(crate) fn flush_late(&mut self) -> usize {
        let (late, wakes) = (self.to_workers.late(), &self.wakes);
        self.to_workers.flush(|to| {
            if let Some(wake) = wakes.get(to) {
                wake.wake();
            }
        });
        late
    }

    /// Tells the control core that a session has something to report. False if it cannot be told or noted now.
    #[cold]
    pub(crate) fn ring_bell(&mut self, bell: Bell) -> bool {
        let rung = self.late_bells.ring(&mut self.to_control, bell);
        self.wake_control();
        rung
    }

    /// Bells that found the ring full ring as far as there is room by now.
    #[cold]
    pub(crate) fn flush_bells(&mut self) {
        self.late_bells.flush(&mut self.to_control);
    }

    /// Wakes the control core if it sleeps.
    pub(crate) fn wake_control(&self) {
        if let Some(wake) = self.wakes.last() {
            wake.wake();
        }
    }

    #[inline]
    fn wake(&self, worker: usize) {
        if let Some(wake) = self.wakes.get(worker) {
            wake.wake();
        }
    }
}

/// The control core's end of one worker.
pub struct ControlRings<P> {
    /// To the worker.
    pub to_worker: Producer<ToWorker<P>>,
    /// From the worker.
    pub from_worker: Consumer<ToControl<P>>,
    /// PFCP packets from the worker.
    pub n4: Consumer<(P, InterfaceId)>,
}
