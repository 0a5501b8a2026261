//! Mempool cache of a source: a source that waited for the memory of each one would cost more than
//! the engine that it is to feed.

use arrayvec::ArrayVec;
use sluice_port::Packet;
use sluice_port_dpdk::{Mbuf, MbufPool};

/// Packets taken together.
const TOGETHER: usize = 16;

/// Packets at hand.
pub struct Stock {
    pool: MbufPool,
    ready: ArrayVec<Mbuf, TOGETHER>,
}

impl Stock {
    /// Of this pool, none yet.
    pub fn of(pool: &MbufPool) -> Self {
        Self {
            pool: pool.clone(),
            ready: ArrayVec::new(),
        }
    }

    /// A fresh packet; none if the pool has fewer than are taken together.
    pub fn take(&mut self) -> Option<Mbuf> {
        if self.ready.is_empty() {
            self.pool.alloc_bulk(&mut self.ready);
        }
        self.ready.pop()
    }
}

impl Drop for Stock {
    fn drop(&mut self) {
        self.ready.drain(..).for_each(Packet::free);
    }
}
