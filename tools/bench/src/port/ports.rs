//! Ports of the measured worker and of the remote end, which come and go: DPDK's, or pairs of one-way
//! ports that make one.

use crate::Failure;
use crate::path::testbed::Upf;
use crate::path::topology::{self, N3, N6};
use crate::path::variant::Variant;
use sluice_port::{Burst, LinkState, PortId, PortInfo, PortIo, PortStats, QueueId, TxProgress};

/// Packets that a queue of any link here holds, as the path is told.
const QUEUE_PACKETS: u16 = 1024;

/// A UPF whose worker is measured at such ports.
pub type Testbed<I> = Upf<WorkerPorts<I>>;

impl<I: PortIo> Testbed<I> {
    /// Starts a UPF and establishes `sessions` sessions over N4; its ports are closed.
    pub fn build(sessions: u32) -> Result<Self, Failure> {
        Self::start(sessions, Variant::USUAL, WorkerPorts::closed())
    }

    /// Packets come by these ports from now on.
    pub fn set_doors(&mut self, doors: WorkerPorts<I>) {
        *self.worker.io() = doors;
    }

    /// The limit: what comes in at one port leaves by the other, up to `stage` packets at a time,
    /// and nothing is looked at. Returns how many came, and how many of them found no room.
    #[inline(always)]
    pub fn turn_io(&mut self, stage: usize) -> (usize, usize) {
        let io = self.worker.io();
        let mut burst = Burst::new();
        let (mut came, mut lost) = (0, 0);
        for (from, to) in [(N3, N6), (N6, N3)] {
            let n = io.rx(from, QueueId(0), &mut burst, stage);
            if n > 0 {
                came += n;
                io.tx(to, QueueId(0), &mut burst);
                lost += burst.len();
                burst.free();
            }
        }
        (came, lost)
    }
}

/// N3 and N6, each with one queue, over ports of `I`.
pub struct WorkerPorts<I> {
    infos: Vec<PortInfo>,
    inner: Option<I>,
    wires: [Wire; 2],
}

/// Which ports of `I` stand for one of ours: usually the same both ways.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Wire {
    pub rx: PortId,
    pub tx: PortId,
}

impl<I: PortIo> WorkerPorts<I> {
    /// Ports that nothing comes from and that take nothing.
    pub fn closed() -> Self {
        let nowhere = PortId(u16::MAX);
        let (rx, tx) = (nowhere, nowhere);
        Self {
            infos: topology::ports(QUEUE_PACKETS),
            inner: None,
            wires: [Wire { rx, tx }; 2],
        }
    }

    /// N3 and N6 over ports of `inner`.
    pub fn over(inner: I, wires: [Wire; 2]) -> Self {
        Self {
            inner: Some(inner),
            wires,
            ..Self::closed()
        }
    }

    #[inline(always)]
    fn wire(&self, port: PortId) -> Option<Wire> {
        self.wires.get(usize::from(port.0)).copied()
    }
}

impl<I: PortIo> PortIo for WorkerPorts<I> {
    type Packet = I::Packet;

    fn ports(&self) -> &[PortInfo] {
        &self.infos
    }

    #[inline]
    fn rx(
        &mut self,
        port: PortId,
        queue: QueueId,
        burst: &mut Burst<I::Packet>,
        max: usize,
    ) -> usize {
        match (self.wire(port), &mut self.inner) {
            (Some(wire), Some(inner)) => inner.rx(wire.rx, queue, burst, max),
            _ => 0,
        }
    }

    /// One worker polls all.
    fn take_rx(&mut self, _: PortId, _: QueueId) -> bool {
        false
    }

    fn leave_rx(&mut self, _: PortId, _: QueueId) {}

    #[inline]
    fn tx(&mut self, port: PortId, queue: QueueId, burst: &mut Burst<I::Packet>) -> usize {
        match (self.wire(port), &mut self.inner) {
            (Some(wire), Some(inner)) => inner.tx(wire.tx, queue, burst),
            _ => 0,
        }
    }

    /// No shard moves here.
    fn tx_progress(&mut self, _: PortId, _: QueueId) -> Option<TxProgress> {
        None
    }

    fn alloc(&mut self) -> Option<I::Packet> {
        self.inner.as_mut()?.alloc()
    }

    /// Counters of received and sent packets.
    fn stats(&mut self, port: PortId) -> Option<PortStats> {
        let (wire, inner) = (self.wire(port)?, self.inner.as_mut()?);
        let (rx, tx) = (inner.stats(wire.rx)?, inner.stats(wire.tx)?);
        Some(PortStats {
            tx_packets: tx.tx_packets,
            tx_bytes: tx.tx_bytes,
            tx_errors: tx.tx_errors,
            ..rx
        })
    }

    fn link(&mut self, port: PortId) -> LinkState {
        match (self.wire(port), &mut self.inner) {
            (Some(wire), Some(inner)) => inner.link(wire.rx),
            _ => LinkState::Down,
        }
    }
}
