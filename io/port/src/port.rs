//! The port trait of a worker: receive and transmit bursts, queue state, waiting.

use core::fmt;

use crate::{Burst, Packet};

/// A port of the process: its place in [`PortIo::ports`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PortId(pub u16);

/// A receive or transmit queue of a port, counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct QueueId(pub u16);

impl fmt::Display for PortId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for QueueId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// What does not change about a port while the process runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortInfo {
    /// Place in [`PortIo::ports`].
    pub id: PortId,
    /// Name by which configuration and people call it.
    pub name: String,
    /// Ethernet address.
    pub mac: [u8; 6],
    /// Largest IP packet that it sends, in bytes (without Ethernet header).
    pub mtu_bytes: u16,
    /// Number of receive queues.
    pub rx_queues: u16,
    /// Number of transmit queues.
    pub tx_queues: u16,
    /// Packets that one receive queue holds.
    pub rx_queue_packets: u16,
    /// Packets that one transmit queue holds.
    pub tx_queue_packets: u16,
}

/// Whether a port can carry packets now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkState {
    /// It can.
    Up,
    /// It cannot.
    Down,
}

/// What a port has counted since it was started, over all queues.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PortStats {
    /// Packets received into queues.
    pub rx_packets: u64,
    /// Bytes of those, without checksum.
    pub rx_bytes: u64,
    /// Packets lost because a receive queue was full.
    pub rx_missed: u64,
    /// Packets refused as damaged.
    pub rx_errors: u64,
    /// Times that no buffer was free for a packet.
    pub rx_no_buffer: u64,
    /// Packets sent.
    pub tx_packets: u64,
    /// Bytes of those, without checksum.
    pub tx_bytes: u64,
    /// Packets accepted for transmission and then lost.
    pub tx_errors: u64,
}

/// How far a transmit queue has come. Packets leave it in the order in which
/// they were accepted, so packet number `n` (from 1) has left when
/// `sent >= n`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TxProgress {
    /// Packets accepted since the start.
    pub accepted: u64,
    /// Packets that have left since the start.
    pub sent: u64,
}

/// The ports of one worker: each worker has its own, and uses each receive
/// queue, and each transmit queue, by one worker at a time.
///
/// A port or queue that does not exist receives nothing and accepts nothing.
pub trait PortIo: Send {
    /// The packets of this process.
    type Packet: Packet;

    /// All ports, in the order of their ids.
    fn ports(&self) -> &[PortInfo];

    /// Adds received packets at the end of `burst`: at most `max`, and no more
    /// than fit. Returns how many; it does not wait.
    fn rx(
        &mut self,
        port: PortId,
        queue: QueueId,
        burst: &mut Burst<Self::Packet>,
        max: usize,
    ) -> usize;

    /// Becomes the one user of a receive queue. False if another worker has it, or there is no such
    /// queue.
    fn take_rx(&mut self, port: PortId, queue: QueueId) -> bool;

    /// Is the user of a receive queue no more: another worker may take it.
    fn leave_rx(&mut self, port: PortId, queue: QueueId);

    /// Accepts packets from the front of `burst` for transmission and removes
    /// them from it. Returns how many; those for which the queue has no room
    /// stay, and are the caller's still.
    fn tx(&mut self, port: PortId, queue: QueueId, burst: &mut Burst<Self::Packet>) -> usize;

    /// How far a transmit queue has come, or none if the port cannot tell: then
    /// order across a change of queue is not guaranteed.
    fn tx_progress(&mut self, port: PortId, queue: QueueId) -> Option<TxProgress>;

    /// An empty packet of one segment, with the usual headroom; none if the
    /// pool is exhausted.
    fn alloc(&mut self) -> Option<Self::Packet>;

    /// An empty packet of another pool than received packets come from, to be kept for long; none if that pool is
    /// exhausted, or if there is none.
    fn alloc_held(&mut self) -> Option<Self::Packet> {
        None
    }

    /// Frees the packets.
    fn free(&mut self, burst: Burst<Self::Packet>) {
        drop(burst);
    }

    /// What the port has counted; none if there is no such port.
    fn stats(&mut self, port: PortId) -> Option<PortStats>;

    /// Whether the port can carry packets now; down if there is no such port.
    fn link(&mut self, port: PortId) -> LinkState;
}
