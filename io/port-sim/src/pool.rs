//! The pool of heap packets, with leak detection.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::HeapPacket;

/// Sizes of a pool and of its packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolConfig {
    /// Free bytes before the data of a new packet.
    pub headroom_bytes: usize,
    /// Bytes for data in each segment, beyond the headroom.
    pub room_bytes: usize,
    /// Most segments that may live at once.
    pub segments: usize,
}

impl Default for PoolConfig {
    /// DPDK's usual mbuf: 128 bytes of headroom, 2048 of data.
    fn default() -> Self {
        Self {
            headroom_bytes: 128,
            room_bytes: 2048,
            segments: usize::MAX,
        }
    }
}

/// A pool of heap packets. Clones are the same pool.
#[derive(Clone, Debug)]
pub struct HeapPool(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    config: PoolConfig,
    live: AtomicUsize,
    leaked: AtomicUsize,
}

impl HeapPool {
    /// An unused pool.
    pub fn new(config: PoolConfig) -> Self {
        let zero = || AtomicUsize::new(0);
        Self(Arc::new(Shared {
            config,
            live: zero(),
            leaked: zero(),
        }))
    }

    /// An empty packet of one segment; none if the pool is exhausted.
    pub fn alloc(&self) -> Option<HeapPacket> {
        self.take_segment().then(|| HeapPacket::new(self.clone()))
    }

    /// A packet that holds `frame`, in as many segments as it needs; none if
    /// the pool is exhausted.
    pub fn packet(&self, frame: &[u8]) -> Option<HeapPacket> {
        let (first, rest) = frame.split_at(frame.len().min(self.config().room_bytes));
        let mut packet = self.alloc()?;
        packet.fill(first);
        for part in rest.chunks(self.config().room_bytes.max(1)) {
            if !self.take_segment() {
                sluice_port::Packet::free(packet);
                return None;
            }
            packet.add_segment(part);
        }
        Some(packet)
    }

    /// A packet with one segment for each part; none if the pool is exhausted or
    /// a part does not fit in a segment.
    pub fn packet_of_segments(&self, parts: &[&[u8]]) -> Option<HeapPacket> {
        if parts
            .iter()
            .any(|part| part.len() > self.config().room_bytes)
        {
            return None;
        }
        let (first, rest) = parts.split_first()?;
        let mut packet = self.packet(first)?;
        for part in rest {
            if !self.take_segment() {
                sluice_port::Packet::free(packet);
                return None;
            }
            packet.add_segment(part);
        }
        Some(packet)
    }

    /// Segments in use now.
    pub fn live(&self) -> usize {
        self.0.live.load(Ordering::Acquire)
    }

    /// Packets that were dropped and not freed, transmitted or handed over.
    pub fn leaked(&self) -> usize {
        self.0.leaked.load(Ordering::Acquire)
    }

    /// Sizes of the pool.
    pub fn config(&self) -> &PoolConfig {
        &self.0.config
    }

    /// Counts one segment more, if the pool has one.
    fn take_segment(&self) -> bool {
        let limit = self.config().segments;
        let more = |live: usize| (live < limit).then_some(live + 1);
        self.0
            .live
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, more)
            .is_ok()
    }

    pub(crate) fn give_segments(&self, n: usize) {
        self.0.live.fetch_sub(n, Ordering::AcqRel);
    }

    pub(crate) fn count_leak(&self) {
        self.0.leaked.fetch_add(1, Ordering::AcqRel);
    }
}

impl Default for HeapPool {
    fn default() -> Self {
        Self::new(PoolConfig::default())
    }
}
