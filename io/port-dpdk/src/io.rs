//! The DPDK ports of one worker ([`sluice_port::PortIo`]).

use sluice_port::{Burst, LinkState, PortId, PortInfo, PortIo, PortStats, QueueId, TxProgress};

use crate::mbuf::Mbuf;
use crate::pool::MbufPool;
use crate::port::{Port, RxQueue, TxQueue};
use crate::sys;

/// What one worker holds to receive and send: all ports, and the queues that are its own.
///
/// Queues are values ([`RxQueue`], [`TxQueue`]), so no two workers can use the same one. A
/// queue that was not given to this worker receives nothing and accepts nothing.
#[derive(Debug)]
pub struct DpdkIo {
    pool: MbufPool,
    held: Option<MbufPool>,
    ports: Vec<Port>,
    infos: Vec<PortInfo>,
    rx: Vec<Vec<Option<RxQueue>>>,
    tx: Vec<Vec<Option<TxQueue>>>,
}

impl DpdkIo {
    /// No queues yet. The place of a port in `ports` is its [`PortId`]; packets are allocated
    /// from `pool`.
    #[must_use]
    pub fn new(pool: &MbufPool, ports: &[Port]) -> Self {
        let infos: Vec<_> = (0..)
            .zip(ports)
            .map(|(place, port)| port.info(PortId(place)))
            .collect();
        let rx = infos.iter().map(|info| none(info.rx_queues)).collect();
        let tx = infos.iter().map(|info| none(info.tx_queues)).collect();
        Self {
            pool: pool.clone(),
            held: None,
            ports: ports.to_vec(),
            infos,
            rx,
            tx,
        }
    }

    /// Packets to be kept for long come from this pool; without one there are none.
    #[must_use]
    pub fn with_held_pool(mut self, pool: &MbufPool) -> Self {
        self.held = Some(pool.clone());
        self
    }

    /// Takes a receive queue over.
    ///
    /// # Errors
    /// Gives the queue back if its port is not one of this worker's.
    pub fn attach_rx(&mut self, queue: RxQueue) -> Result<(), RxQueue> {
        let port = self
            .ports
            .iter()
            .position(|port| port.number() == queue.port());
        match port.and_then(|port| self.rx.get_mut(port)?.get_mut(usize::from(queue.queue()))) {
            Some(place) => {
                *place = Some(queue);
                Ok(())
            }
            None => Err(queue),
        }
    }

    /// Takes a transmit queue over.
    ///
    /// # Errors
    /// Gives the queue back if its port is not one of this worker's.
    pub fn attach_tx(&mut self, queue: TxQueue) -> Result<(), TxQueue> {
        let port = self
            .ports
            .iter()
            .position(|port| port.number() == queue.port());
        match port.and_then(|port| self.tx.get_mut(port)?.get_mut(usize::from(queue.queue()))) {
            Some(place) => {
                *place = Some(queue);
                Ok(())
            }
            None => Err(queue),
        }
    }

    /// Gives a receive queue up, for another worker to take over.
    pub fn detach_rx(&mut self, port: PortId, queue: QueueId) -> Option<RxQueue> {
        place(&mut self.rx, port, queue)?.take()
    }

    /// Gives a transmit queue up, for another worker to take over.
    pub fn detach_tx(&mut self, port: PortId, queue: QueueId) -> Option<TxQueue> {
        place(&mut self.tx, port, queue)?.take()
    }

    /// The port of this number.
    #[must_use]
    pub fn port(&self, port: PortId) -> Option<&Port> {
        self.ports.get(usize::from(port.0))
    }
}

fn none<T>(count: u16) -> Vec<Option<T>> {
    (0..count).map(|_| None).collect()
}

#[inline(always)]
fn place<T>(places: &mut [Vec<Option<T>>], port: PortId, queue: QueueId) -> Option<&mut Option<T>> {
    places
        .get_mut(usize::from(port.0))?
        .get_mut(usize::from(queue.0))
}

impl PortIo for DpdkIo {
    type Packet = Mbuf;

    fn ports(&self) -> &[PortInfo] {
        &self.infos
    }

    #[inline]
    fn rx(&mut self, port: PortId, queue: QueueId, burst: &mut Burst<Mbuf>, max: usize) -> usize {
        let Some(Some(rx)) = place(&mut self.rx, port, queue) else {
            return 0;
        };
        let room = burst.remaining().min(max);
        let packets = burst.as_mut_vec();
        let held = packets.len();
        // SAFETY: this worker alone has the queue. `Mbuf` is a pointer (repr(transparent)), and
        // the vector has `room` free places behind its last packet, of which DPDK fills the
        // first `received` with packets that are ours from now on.
        unsafe {
            let free = packets.as_mut_ptr().add(held).cast();
            let received = sys::sdp_rx_burst(rx.port(), rx.queue(), free, room as u16);
            packets.set_len(held + usize::from(received));
            usize::from(received)
        }
    }

    fn take_rx(&mut self, port: PortId, queue: QueueId) -> bool {
        let free = self.port(port).and_then(|port| port.rx_queue(queue.0));
        free.is_some_and(|queue| self.attach_rx(queue).is_ok())
    }

    fn leave_rx(&mut self, port: PortId, queue: QueueId) {
        drop(self.detach_rx(port, queue));
    }

    #[inline]
    fn tx(&mut self, port: PortId, queue: QueueId, burst: &mut Burst<Mbuf>) -> usize {
        let Some(Some(tx)) = place(&mut self.tx, port, queue) else {
            return 0;
        };
        let packets = burst.as_mut_vec();
        let first = packets.as_mut_ptr().cast();
        // SAFETY: this worker alone has the queue, and the packets are ours. DPDK takes the
        // first `sent`, which the burst then forgets.
        let sent = unsafe { sys::sdp_tx_burst(tx.port(), tx.queue(), first, packets.len() as u16) };
        let sent = usize::from(sent);
        burst.forget_front(sent);
        tx.count(sent);
        sent
    }

    fn tx_progress(&mut self, port: PortId, queue: QueueId) -> Option<TxProgress> {
        place(&mut self.tx, port, queue)?.as_mut()?.progress()
    }

    #[inline]
    fn alloc(&mut self) -> Option<Mbuf> {
        self.pool.alloc()
    }

    fn alloc_held(&mut self) -> Option<Mbuf> {
        self.held.as_ref()?.alloc()
    }

    fn stats(&mut self, port: PortId) -> Option<PortStats> {
        self.port(port)?.stats().ok()
    }

    fn link(&mut self, port: PortId) -> LinkState {
        let link = self.port(port).and_then(|port| port.link().ok());
        link.unwrap_or(LinkState::Down)
    }
}
