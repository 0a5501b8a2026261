//! Source and sink as a worker's ports.

use super::Source;
use crate::path::topology::{N3, N6};
use sluice_host::clock;
use sluice_port::{
    Burst, LinkState, Packet, PortId, PortInfo, PortIo, PortStats, QueueId, TxProgress,
};

impl<P: Packet> PortIo for Source<P> {
    type Packet = P;

    fn ports(&self) -> &[PortInfo] {
        &self.infos
    }

    fn rx(&mut self, port: PortId, queue: QueueId, burst: &mut Burst<P>, max: usize) -> usize {
        let Some((queue, direction)) = place(port, queue) else {
            return 0;
        };
        let max = max.min(burst.remaining());
        let n = self.slots.take(queue, direction, max, |packet| {
            if let Err(packet) = burst.push(packet) {
                packet.free();
            }
        });
        self.polled += n as u64;
        n
    }

    fn take_rx(&mut self, port: PortId, queue: QueueId) -> bool {
        place(port, queue).is_some_and(|(queue, direction)| self.slots.adopt(queue, direction))
    }

    fn leave_rx(&mut self, port: PortId, queue: QueueId) {
        if let Some((queue, direction)) = place(port, queue) {
            self.slots.leave(queue, direction);
        }
    }

    fn tx(&mut self, _: PortId, _: QueueId, burst: &mut Burst<P>) -> usize {
        let n = burst.len();
        let now_ns = clock::monotonic_ns();
        self.sink.take(&self.flows, burst, now_ns);
        self.spent_ns += clock::monotonic_ns() - now_ns;
        n
    }

    /// What is accepted has left.
    fn tx_progress(&mut self, _: PortId, _: QueueId) -> Option<TxProgress> {
        None
    }

    fn alloc(&mut self) -> Option<P> {
        None
    }

    fn stats(&mut self, _: PortId) -> Option<PortStats> {
        None
    }

    fn link(&mut self, _: PortId) -> LinkState {
        LinkState::Up
    }
}

/// Where the card has the packets of a port's queue: queue and direction.
fn place(port: PortId, queue: QueueId) -> Option<(usize, usize)> {
    let direction = [N3, N6].iter().position(|of| *of == port)?;
    (queue.0 < 2).then_some((queue.0.into(), direction))
}
