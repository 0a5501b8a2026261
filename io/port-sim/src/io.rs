//! The simulated ports of one worker ([`sluice_port::PortIo`]).

use sluice_port::{
    BURST_MAX, Burst, LinkState, PortId, PortInfo, PortIo, PortStats, QueueId, TxProgress,
};

use crate::state::NetState;
use crate::{HeapPacket, HeapPool, SimNet};

/// The ports of one worker to some ports of a [`SimNet`].
pub struct SimIo {
    net: SimNet,
    infos: Vec<PortInfo>,
    /// Index in the net of each port here.
    indices: Vec<usize>,
    pool: HeapPool,
    /// Packets to be kept for long.
    held: HeapPool,
}

impl SimIo {
    pub(crate) fn new(net: SimNet, indices: Vec<usize>, pool: HeapPool) -> Self {
        let state = net.lock();
        let ids = (0..).map(PortId);
        let infos = indices
            .iter()
            .zip(ids)
            .map(|(&i, id)| state.ports[i].config.info(id));
        let infos = infos.collect();
        drop(state);
        Self {
            net,
            infos,
            indices,
            held: pool.clone(),
            pool,
        }
    }

    /// Packets to be kept for long come from another pool; as long as this is not called, from the same.
    pub fn with_held_pool(mut self, pool: HeapPool) -> Self {
        self.held = pool;
        self
    }

    /// The pool of this worker's packets.
    pub fn pool(&self) -> &HeapPool {
        &self.pool
    }

    fn index(&self, port: PortId) -> Option<usize> {
        self.indices.get(usize::from(port.0)).copied()
    }
}

impl PortIo for SimIo {
    type Packet = HeapPacket;

    fn ports(&self) -> &[PortInfo] {
        &self.infos
    }

    fn rx(
        &mut self,
        port: PortId,
        queue: QueueId,
        burst: &mut Burst<HeapPacket>,
        max: usize,
    ) -> usize {
        let Some(index) = self.index(port) else {
            return 0;
        };
        let mut state = self.net.lock();
        let received = std::iter::from_fn(|| receive_one(&mut state, index, queue, &self.pool));
        let before = burst.len();
        burst
            .as_mut_vec()
            .extend(received.take(max.min(BURST_MAX - before)));
        burst.len() - before
    }

    /// True for every queue that there is: who uses it is not watched here.
    fn take_rx(&mut self, port: PortId, queue: QueueId) -> bool {
        let info = self.infos.get(usize::from(port.0));
        info.is_some_and(|info| queue.0 < info.rx_queues)
    }

    fn leave_rx(&mut self, _: PortId, _: QueueId) {}

    fn tx(&mut self, port: PortId, queue: QueueId, burst: &mut Burst<HeapPacket>) -> usize {
        let Some(index) = self.index(port) else {
            return 0;
        };
        self.net.lock().transmit(index, queue, burst)
    }

    fn tx_progress(&mut self, port: PortId, queue: QueueId) -> Option<TxProgress> {
        self.net.lock().ports[self.index(port)?].tx_progress(queue)
    }

    fn alloc(&mut self) -> Option<HeapPacket> {
        self.pool.alloc()
    }

    fn alloc_held(&mut self) -> Option<HeapPacket> {
        self.held.alloc()
    }

    fn stats(&mut self, port: PortId) -> Option<PortStats> {
        Some(self.net.lock().ports[self.index(port)?].stats)
    }

    fn link(&mut self, port: PortId) -> LinkState {
        self.index(port)
            .map_or(LinkState::Down, |index| self.net.lock().ports[index].state)
    }
}

/// Takes the oldest frame of a queue into a packet. Without a free packet the
/// frame stays where it is.
fn receive_one(
    state: &mut NetState,
    index: usize,
    queue: QueueId,
    pool: &HeapPool,
) -> Option<HeapPacket> {
    let port = &mut state.ports[index];
    let frame = port.rx_queue(queue)?.front()?;
    let hash = frame.hash;
    let Some(mut packet) = pool.packet(&frame.bytes) else {
        port.stats.rx_no_buffer += 1;
        return None;
    };
    if let Some(hash) = hash {
        packet.set_rss_hash(hash);
    }
    port.rx_queue(queue)?.pop_front();
    state.ledger.delivered += 1;
    Some(packet)
}
