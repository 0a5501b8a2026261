//! In-memory ports of the measured worker.

use super::fifo::Fifo;
pub use super::fifo::Pool;
use super::topology::{self, N3, N4, N6};
use super::traffic::{Direction, Flow, Frames};
use crate::Failure;
use crate::pfcp::port::N4Port;
use sluice_port::{
    Burst, LinkState, Packet, PortId, PortInfo, PortIo, PortStats, QueueId, TxProgress,
};
use std::sync::Arc;

/// Ports of which packets from N3 must leave at N6, and the other way round.
pub struct BenchIo<P: Packet> {
    ports: Vec<PortInfo>,
    /// In at N3, out at N6.
    pub uplink: Fifo<P>,
    /// In at N6, out at N3.
    pub downlink: Fifo<P>,
    open: &'static [Direction],
    /// Port of the SMFs, if they are on a port.
    n4: Option<N4Port<P>>,
    /// Pool of the path's own packets.
    pool: Pool<P>,
}

impl<P: Packet> BenchIo<P> {
    /// Ports of FIFOs of packets of `alloc`, which look like `frames`.
    pub fn new(frames: Frames, alloc: &mut impl FnMut() -> Option<P>) -> Result<Self, Failure> {
        let frames = vec![Arc::new(frames)];
        let mut fifo = |direction| {
            let fifo = Fifo::new(direction, frames.clone(), alloc);
            fifo.ok_or("no packet buffers for the memory source")
        };
        Ok(Self {
            ports: topology::ports(super::fifo::PACKETS as u16),
            uplink: fifo(Direction::Uplink)?,
            downlink: fifo(Direction::Downlink)?,
            open: &[],
            n4: None,
            // Sessions are established before packets flow, and all neighbours are known.
            pool: Box::new(|| None),
        })
    }

    /// From now on packets of these flows come in. All packets must be here.
    pub fn set_flows(&mut self, flows: &Arc<[Flow]>) {
        for fifo in self.fifos() {
            fifo.set_flows(flows.clone());
        }
    }

    /// From now on the path can make packets of its own (End Markers).
    pub fn set_pool(&mut self, pool: Pool<P>) {
        self.pool = pool;
    }

    /// SMFs are on a port of their own. Call it before the worker is made.
    pub fn set_n4(&mut self, n4: N4Port<P>) {
        self.n4 = Some(n4);
        self.ports.push(topology::port(
            N4,
            "n4",
            topology::N4_MAC,
            super::fifo::PACKETS as u16,
        ));
    }

    /// From now on packets come in these directions only.
    pub fn open(&mut self, directions: &'static [Direction]) {
        self.open = directions;
    }

    pub fn fifo(&mut self, direction: Direction) -> &mut Fifo<P> {
        match direction {
            Direction::Uplink => &mut self.uplink,
            Direction::Downlink => &mut self.downlink,
        }
    }

    fn is_open(&self, direction: Direction) -> bool {
        self.open.contains(&direction)
    }

    pub fn fifos(&mut self) -> [&mut Fifo<P>; 2] {
        [&mut self.uplink, &mut self.downlink]
    }
}

impl<P: Packet> PortIo for BenchIo<P> {
    type Packet = P;

    fn ports(&self) -> &[PortInfo] {
        &self.ports
    }

    #[inline]
    fn rx(&mut self, port: PortId, _: QueueId, burst: &mut Burst<P>, max: usize) -> usize {
        match port {
            N3 if self.is_open(Direction::Uplink) => {
                self.uplink.top_up(&mut self.pool);
                self.uplink.receive(burst, max)
            }
            N6 if self.is_open(Direction::Downlink) => {
                self.downlink.top_up(&mut self.pool);
                self.downlink.receive(burst, max)
            }
            N4 => self.n4.as_mut().map_or(0, |n4| n4.receive(burst, max)),
            _ => 0,
        }
    }

    /// One worker polls all.
    fn take_rx(&mut self, _: PortId, _: QueueId) -> bool {
        false
    }

    fn leave_rx(&mut self, _: PortId, _: QueueId) {}

    #[inline]
    fn tx(&mut self, port: PortId, _: QueueId, burst: &mut Burst<P>) -> usize {
        match port {
            N4 => self.n4.as_mut().map_or(0, |n4| n4.send(burst)),
            // What leaves while nothing comes in is of the path's own making.
            _ if self.open.is_empty() => {
                let n = burst.len();
                burst.free();
                n
            }
            N6 => self.uplink.give_back(burst),
            N3 if self.n4.is_some() => {
                let markers = take_markers(burst);
                markers + self.downlink.give_back(burst)
            }
            N3 => self.downlink.give_back(burst),
            _ => 0,
        }
    }

    fn tx_progress(&mut self, _: PortId, _: QueueId) -> Option<TxProgress> {
        None
    }

    fn alloc(&mut self) -> Option<P> {
        (self.pool)()
    }

    fn alloc_held(&mut self) -> Option<P> {
        (self.pool)()
    }

    fn stats(&mut self, _: PortId) -> Option<PortStats> {
        None
    }

    fn link(&mut self, _: PortId) -> LinkState {
        LinkState::Up
    }
}

/// Frees the End Markers in a burst: where sessions change while packets flow, not all that leaves
/// came in before.
fn take_markers<P: Packet>(burst: &mut Burst<P>) -> usize {
    const TYPE_AT: usize = 14 + 20 + 8 + 1;
    const END_MARKER: u8 = 254;
    let is_marker = |packet: &P| packet.data().get(TYPE_AT) == Some(&END_MARKER);
    if !burst.as_slice().iter().any(is_marker) {
        return 0;
    }
    let mut others = Burst::new();
    let mut markers = 0;
    for packet in burst.drain() {
        if is_marker(&packet) {
            markers += 1;
            packet.free();
        } else if let Err(packet) = others.push(packet) {
            packet.free();
        }
    }
    *burst = others;
    markers
}
