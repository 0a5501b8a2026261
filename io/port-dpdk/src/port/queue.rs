//! Receive and transmit queues as owned values, so that only one thread can use each.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use sluice_port::TxProgress;

use super::Attached;
use crate::sys;

/// The right to receive from one queue of one port. It may move between threads, and goes back
/// to the port when dropped.
#[derive(Debug)]
pub struct RxQueue {
    attached: Arc<Attached>,
    queue: u16,
}

/// The right to send by one queue of one port. It may move between threads, and goes back to the
/// port when dropped.
#[derive(Debug)]
pub struct TxQueue {
    attached: Arc<Attached>,
    queue: u16,
    progress: TxProgress,
}

impl RxQueue {
    pub(super) fn new(attached: Arc<Attached>, queue: u16) -> Self {
        Self { attached, queue }
    }

    /// Number of the port.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.attached.number
    }

    /// Number of the queue.
    #[must_use]
    pub fn queue(&self) -> u16 {
        self.queue
    }
}

impl TxQueue {
    pub(super) fn new(attached: Arc<Attached>, queue: u16) -> Self {
        Self {
            attached,
            queue,
            progress: TxProgress {
                accepted: 0,
                sent: 0,
            },
        }
    }

    /// Notes that the driver accepted `packets` more.
    #[inline]
    pub(crate) fn count(&mut self, packets: usize) {
        self.progress.accepted += packets as u64;
    }

    /// How many packets have left; `None` if the driver cannot tell.
    pub(crate) fn progress(&mut self) -> Option<TxProgress> {
        let waiting = if self.attached.sends_at_once {
            0
        } else {
            self.waiting()?
        };
        // A packet takes one descriptor or more, so no more packets than descriptors wait.
        let sent = self.progress.accepted.saturating_sub(waiting.into());
        self.progress.sent = self.progress.sent.max(sent);
        Some(self.progress)
    }

    /// Descriptors that have not left: they lie behind the place of the next packet, the oldest
    /// farthest, so the boundary is found by halving.
    fn waiting(&self) -> Option<u16> {
        let descriptors = self.attached.info.tx_queue_packets;
        let (mut waiting, mut done) = (0, descriptors);
        while waiting < done {
            let middle = waiting + (done - waiting) / 2;
            let offset = descriptors - 1 - middle;
            // SAFETY: the port runs and the queue is ours alone; DPDK checks the offset.
            match unsafe { sys::sdp_tx_done(self.port(), self.queue, offset) } {
                0 => waiting = middle + 1,
                1.. => done = middle,
                _ => return None,
            }
        }
        Some(waiting)
    }

    /// Number of the port.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.attached.number
    }

    /// Number of the queue.
    #[must_use]
    pub fn queue(&self) -> u16 {
        self.queue
    }
}

impl Drop for RxQueue {
    fn drop(&mut self) {
        if let Some(taken) = self.attached.rx_taken.get(usize::from(self.queue)) {
            taken.store(false, Ordering::Release);
        }
    }
}

impl Drop for TxQueue {
    fn drop(&mut self) {
        if let Some(taken) = self.attached.tx_taken.get(usize::from(self.queue)) {
            taken.store(false, Ordering::Release);
        }
    }
}
