//! Loopback ports, for measuring the generator's own limit.

use std::collections::VecDeque;

use sluice_port::{
    Burst, LinkState, Packet, PortId, PortInfo, PortIo, PortStats, QueueId, TxProgress,
};

/// Packets that each direction holds.
const ROOM: usize = 1024;

/// Two ports of `I`, without what is between them. Packets are those of `I`; its ports are not
/// touched.
pub struct Loopback<I: PortIo> {
    inner: I,
    ends: [PortId; 2],
    /// Packets that wait at each end.
    queues: [VecDeque<I::Packet>; 2],
}

impl<I: PortIo> Loopback<I> {
    /// In place of `ends` of `inner`.
    pub fn new(inner: I, ends: [PortId; 2]) -> Self {
        Self {
            inner,
            ends,
            queues: [VecDeque::with_capacity(ROOM), VecDeque::with_capacity(ROOM)],
        }
    }

    fn end(&self, port: PortId) -> Option<usize> {
        self.ends.iter().position(|end| *end == port)
    }
}

impl<I: PortIo> PortIo for Loopback<I> {
    type Packet = I::Packet;

    fn ports(&self) -> &[PortInfo] {
        self.inner.ports()
    }

    fn rx(&mut self, port: PortId, _: QueueId, burst: &mut Burst<I::Packet>, max: usize) -> usize {
        let Some(queue) = self.end(port).and_then(|end| self.queues.get_mut(end)) else {
            return 0;
        };
        let room = burst.remaining().min(max).min(queue.len());
        burst.as_mut_vec().extend(queue.drain(..room));
        room
    }

    fn take_rx(&mut self, _: PortId, _: QueueId) -> bool {
        false
    }

    fn leave_rx(&mut self, _: PortId, _: QueueId) {}

    fn tx(&mut self, port: PortId, _: QueueId, burst: &mut Burst<I::Packet>) -> usize {
        let other = self.end(port).map(|end| 1 - end);
        let Some(queue) = other.and_then(|end| self.queues.get_mut(end)) else {
            return 0;
        };
        let room = ROOM.saturating_sub(queue.len()).min(burst.len());
        queue.extend(burst.drain_front(room));
        room
    }

    fn tx_progress(&mut self, _: PortId, _: QueueId) -> Option<TxProgress> {
        None
    }

    fn alloc(&mut self) -> Option<I::Packet> {
        self.inner.alloc()
    }

    fn stats(&mut self, port: PortId) -> Option<PortStats> {
        self.inner.stats(port)
    }

    fn link(&mut self, _: PortId) -> LinkState {
        LinkState::Up
    }
}

impl<I: PortIo> Drop for Loopback<I> {
    fn drop(&mut self) {
        for queue in &mut self.queues {
            queue.drain(..).for_each(Packet::free);
        }
    }
}
