//! Prefetch of the allocators' next slots.

use super::Resources;
use super::endpoint::foreign_key;
use crate::rules::{Endpoint, Origin};

impl Resources {
    /// A session of `shard` is about to be established: asks the caches for what its next
    /// [TEID](Self::new_teid) and [block](Self::block) are made of.
    pub fn prefetch_taking(&self, shard: u32) {
        if let Some(slot) = self.slots.prefetch_next(shard) {
            self.teids.prefetch(slot);
        }
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
