//! Reassignment of receive queues between workers.
//!
//! The old poller leaves the queue and puts a [`Fence`] on its ring to every other worker, behind
//! all that it ever handed over from it. Each passes the fence on to the new poller, who begins when
//! all are in: by then everything polled before has been executed, so nothing can overtake it. The
//! port keeps what arrives meanwhile. No shard moves at the same time ([`crate::migration::controller`]), so every
//! packet handed over is with its owner one ring further.

use crate::ids::WorkerId;
use crate::message::{Fence, Handover, ToControl};
use crate::tables::Polled;
use crate::worker::Worker;
use sluice_port::PortIo;

/// A queue that will be polled here once the other workers' fences are in.
#[derive(Debug)]
pub(crate) struct ArrivingQueue {
    polled: Polled,
    left: usize,
}

impl<I: PortIo> Worker<I> {
    /// The control core gives a queue of ours to another worker. The batch is empty: all that was
    /// polled has been executed or handed over.
    #[cold]
    pub(crate) fn leave_queue(&mut self, fence: Fence) {
        self.polled.retain(|polled| *polled != fence.polled);
        self.io.leave_rx(fence.polled.port, fence.polled.queue);
        for worker in 0..self.rings.to_workers.workers() {
            if worker != usize::from(self.id) {
                self.send_token(WorkerId::at(worker), Handover::Fence(fence));
            }
        }
    }

    /// A fence for us, or to be passed on.
    #[cold]
    pub(crate) fn fence(&mut self, fence: Fence) {
        if fence.to != self.id {
            return self.send_token(fence.to, Handover::Fence(fence));
        }
        let others = self.rings.to_workers.workers() - 1;
        let polled = fence.polled;
        let at = self.arriving.iter().position(|a| a.polled == polled);
        let at = at.unwrap_or_else(|| {
            let left = others;
            self.arriving.push(ArrivingQueue { polled, left });
            self.arriving.len() - 1
        });
        self.arriving[at].left -= 1;
        if self.arriving[at].left == 0 {
            self.arriving.swap_remove(at);
            let taken = self.io.take_rx(polled.port, polled.queue);
            debug_assert!(taken, "a receive queue that nobody left");
            self.polled.push(polled);
            self.tell_control(ToControl::Requeued(polled));
        }
    }
}
