//! Packets between the control core and the workers: transmitted, returned, retried.

use super::ControlEnd;
use crate::message::ToWorker;
use crate::meta::Meta;
use crate::tables::InterfaceId;
use sluice_port::PortId;

impl<P> ControlEnd<P> {
    /// Gives a whole frame to a worker for transmission; it comes back if the ring is full.
    pub fn transmit(&mut self, frame: P, interface: InterfaceId) -> Result<(), P> {
        self.wakes[0].wake();
        let ring = &mut self.rings[0].to_worker;
        match ring.push(ToWorker::Transmit(frame, interface)) {
            Err(ToWorker::Transmit(frame, _)) => Err(frame),
            _ => Ok(()),
        }
    }

    /// Gives a frame to a worker as if `port` had received it; it comes back if the ring is full.
    pub fn receive(&mut self, frame: P, port: PortId) -> Result<(), P> {
        self.wakes[0].wake();
        let ring = &mut self.rings[0].to_worker;
        match ring.push(ToWorker::Receive(frame, port)) {
            Err(ToWorker::Receive(frame, _)) => Err(frame),
            _ => Ok(()),
        }
    }

    /// Gives an inner packet to a worker as if it had come for the UE that `meta` names; it comes back if the
    /// ring is full.
    pub fn to_ue(&mut self, packet: P, meta: Meta) -> Result<(), P> {
        self.wakes[0].wake();
        let ring = &mut self.rings[0].to_worker;
        match ring.push(ToWorker::ToUe(packet, meta)) {
            Err(ToWorker::ToUe(packet, _)) => Err(packet),
            _ => Ok(()),
        }
    }

    /// Takes up to `max` PFCP packets of all workers, each with the interface that it came in by.
    pub fn receive_n4(&mut self, max: usize, mut take: impl FnMut(P, InterfaceId)) {
        // The next call begins with the next worker, so that none has precedence.
        self.n4_next = (self.n4_next + 1) % self.rings.len().max(1);
        let (before, after) = self.rings.split_at_mut(self.n4_next);
        let mut left = max;
        for rings in after.iter_mut().chain(before) {
            while left > 0
                && let Some((packet, interface)) = rings.n4.pop()
            {
                take(packet, interface);
                left -= 1;
            }
        }
    }

    /// Whether workers have taken all that was put on the rings to them.
    pub fn is_all_taken(&self) -> bool {
        self.rings.iter().all(|r| r.to_worker.is_empty())
    }
}
