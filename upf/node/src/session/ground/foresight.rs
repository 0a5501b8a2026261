//! What the allocators are about to touch, asked of the caches ahead of time.

use super::Ground;
use super::endpoint::foreign_key;
use crate::session::rules::{Endpoint, Origin};
use sluice_mem::prefetch;
use sluice_path::foreign::ForeignKey;

impl Ground {
    /// Asks the caches for what the next [TEID](Self::new_teid) of `shard` is made of.
    pub fn prefetch_teid(&self, shard: u32) {
        if let Some(slot) = self.slots.prefetch_next(shard) {
            prefetch::read_index(&self.teids, slot as usize);
        }
    }

    /// Asks the caches for what a [TEID that is named](Self::named_teid) is put into.
    pub fn prefetch_named_teid(&self, shard: u32, local: u8, teid: u32) {
        self.known.prefetch(ForeignKey::teid(local, teid));
        self.lines.prefetch_next(shard);
    }

    /// Asks the caches for what the next [block](Self::block) of `shard` is made of.
    pub fn prefetch_block(&self, shard: u32) {
        self.blocks.prefetch_next(shard);
    }

    /// An endpoint will be [released](Self::release) soon: asks the caches for where it goes.
    pub fn prefetch_release(&self, endpoint: &Endpoint) {
        match endpoint.origin {
            Origin::Slot => self.slots.prefetch(endpoint.line),
            Origin::Foreign => {
                let key = foreign_key(endpoint.key);
                key.into_iter().for_each(|key| self.known.prefetch(key));
                self.lines.prefetch(endpoint.line);
            }
            Origin::Pool | Origin::None => {}
        }
    }
}
