//! Transmit: TX buffers per port, flushed together; what did not leave is dropped under a name and
//! given back to usage.

use crate::batch::BurstArray;
use crate::drop::DropReason;
use crate::forward::pdr::At;
use crate::ids::EntryId;
use crate::ledger::WorkerStats;
use crate::trace::{Sent, Snap};
use sluice_port::{Burst, Packet, PortId, PortIo, QueueId};

/// Whose usage a packet counts on: 12 bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UsageRef {
    /// The entry.
    pub entry: EntryId,
    /// The rule of an extension block, or none for the entry's own.
    pub at: Option<At>,
    /// Inner bytes.
    pub len: u32,
}

impl UsageRef {
    /// Of an entry's own rule.
    #[inline(always)]
    pub fn of_entry(entry: EntryId, len: u32) -> Self {
        let at = None;
        Self { entry, at, len }
    }

    /// Nobody's.
    pub const NONE: Self = Self {
        entry: EntryId(u32::MAX),
        at: None,
        len: 0,
    };
}

/// The frames for one port.
pub struct TxBuffer<P: Packet> {
    port: PortId,
    queue: QueueId,
    frames: Burst<P>,
    charges: BurstArray<UsageRef>,
}

impl<P: Packet> TxBuffer<P> {
    /// An empty buffer for a transmit queue.
    pub fn new(port: PortId, queue: QueueId) -> Self {
        Self {
            port,
            queue,
            frames: Burst::new(),
            charges: BurstArray::new(UsageRef::NONE),
        }
    }

    /// The frames that wait for the next flush.
    pub fn frames(&self) -> &[P] {
        self.frames.as_slice()
    }

    /// The queue that it sends by.
    pub fn queue(&self) -> QueueId {
        self.queue
    }

    /// A copy of a frame, and where it leaves.
    pub fn sends(&self, frame: &P) -> Sent {
        Sent {
            port: self.port,
            queue: self.queue,
            frame: Snap::of(frame.data()),
        }
    }

    /// True if a flush is due before the next frame.
    #[inline(always)]
    pub fn is_full(&self) -> bool {
        self.frames.is_full()
    }

    /// Adds a frame; the caller flushed a full buffer.
    #[inline(always)]
    pub fn push(&mut self, frame: P, charge: UsageRef) {
        match self.frames.push(frame) {
            Ok(()) => self.charges.push(charge),
            Err(frame) => frame.free(),
        }
    }

    /// Packets that the queue has accepted since the start; none if the port cannot tell which
    /// of them have left.
    pub fn accepted<I: PortIo<Packet = P>>(&self, io: &mut I) -> Option<u64> {
        Some(io.tx_progress(self.port, self.queue)?.accepted)
    }

    /// Whether as many have left as `mark` says.
    pub fn has_sent<I: PortIo<Packet = P>>(&self, io: &mut I, mark: Option<u64>) -> bool {
        let progress = io.tx_progress(self.port, self.queue);
        mark.is_none_or(|mark| progress.is_none_or(|p| p.sent >= mark))
    }

    /// Sends all frames; `refund` is told of each that did not leave.
    #[inline(always)]
    pub fn flush<I: PortIo<Packet = P>>(
        &mut self,
        io: &mut I,
        stats: &WorkerStats,
        refund: impl FnMut(UsageRef),
    ) {
        if self.frames.is_empty() {
            return;
        }
        let sent = io.tx(self.port, self.queue, &mut self.frames);
        stats.transmitted.add(sent as u64);
        if !self.frames.is_empty() {
            self.give_up(sent, stats, refund);
        }
        self.charges.clear();
    }

    #[cold]
    fn give_up(&mut self, sent: usize, stats: &WorkerStats, refund: impl FnMut(UsageRef)) {
        for _ in 0..self.frames.len() {
            stats.count_drop(DropReason::TransmitFull);
        }
        self.frames.free();
        let unsent = self.charges.iter().skip(sent);
        unsent.copied().for_each(refund);
    }
}
