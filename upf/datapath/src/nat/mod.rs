//! Network address and port translation (NAPT44) between UEs and a data network, on N6.
//!
//! `docs/developer/nat.md` has the drawing: [`pool`] numbers public ports, [`mapping`] is what a worker keeps
//! of a UE, [`ends`] reads and rewrites packets, [`inbound`] and [`outbound`] are the two directions.

pub mod ends;
pub mod inbound;
pub mod mapping;
pub mod outbound;
pub mod pool;
pub(crate) mod prefetch;

use crate::limits::BURST;
use crate::meta::Meta;
use mapping::{NatChunk, NatOwned, NatRemotes, NatUser};
use sluice_mem::shard::{ShardId, ShardOwner};
use std::collections::VecDeque;

/// The right to write the mappings of a shard; it goes where the right to its entries goes.
pub type NatShardOwner = ShardOwner<NatUser, NatChunk, NatRemotes>;

/// A worker's part of translation.
pub struct NatState<P> {
    /// Users and mappings of the shards that it owns.
    pub(crate) owned: NatOwned,
    /// Packets of UEs to UEs by public addresses, already translated once: at most a burst.
    pub(crate) hairpins: VecDeque<(P, Meta)>,
}

impl<P> NatState<P> {
    /// With the mappings of these shards.
    pub fn new(owned: NatOwned) -> Self {
        Self {
            owned,
            hairpins: VecDeque::with_capacity(BURST),
        }
    }

    /// Gives up a shard's mappings.
    pub(crate) fn release(&mut self, shard: ShardId) -> Option<NatShardOwner> {
        self.owned.release(shard)
    }
}
