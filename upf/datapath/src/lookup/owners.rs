//! Shard owner table, as one producer knows it.

use crate::ids::{NO_WORKER, WorkerId};
use crate::limits::{SHARDS, STEERED_GROUP_BITS, WORKERS};
use crate::migration::protocol::Routes;
use sluice_mem::shard::ShardId;
use sluice_port::steer::dealt;

/// Of the number of a group of shards that a port can steer.
const BITS: u32 = STEERED_GROUP_BITS[0];

// It stays in the first-level cache.
const _: () = assert!(size_of::<[WorkerId; SHARDS as usize]>() == 4096);

/// This producer's copy of who owns which shard: 4 KiB.
#[derive(Clone, Debug)]
pub struct OwnerTable(Box<[WorkerId; SHARDS as usize]>);

impl OwnerTable {
    /// The shards dealt out evenly to `workers` workers (at least one, at most `WORKERS`), whole
    /// groups of those that a port can steer.
    pub fn dealt(workers: usize) -> Self {
        let workers = workers.clamp(1, WORKERS);
        let mut table = Box::new([NO_WORKER; SHARDS as usize]);
        for (shard, owner) in table.iter_mut().enumerate() {
            *owner = WorkerId::at(dealt(shard as u32 % (1 << BITS), BITS, workers));
        }
        Self(table)
    }

    /// The owner of the shard of element `index`.
    #[inline]
    pub fn of_index(&self, index: u32) -> WorkerId {
        self.0[(index % SHARDS) as usize]
    }

    /// The owner of a shard.
    #[inline]
    pub fn of(&self, shard: ShardId) -> WorkerId {
        self.of_index(u32::from(shard.0))
    }
}

impl Routes for OwnerTable {
    fn set(&mut self, shard: ShardId, to: WorkerId) {
        self.0[usize::from(shard.0) % SHARDS as usize] = to;
    }
}
