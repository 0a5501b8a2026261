//! Shards that are about to leave a worker: what it holds of them leaves with the next one, whose transmit queue may be
//! shorter than what stands in this one's.

use super::queues::Held;
use crate::ids::EntryId;
use crate::limits::SHARDS;
use sluice_mem::shard::ShardId;

/// The queues of a shard, on their way to another worker.
pub struct ShardHeld<P> {
    pub(super) queues: Vec<MovedQueue<P>>,
}

pub(super) struct MovedQueue<P> {
    pub entry: EntryId,
    pub kept: Vec<Held<P>>,
    pub leaving: Vec<Held<P>>,
    pub is_draining: bool,
    pub rings: bool,
}

impl<P> ShardHeld<P> {
    /// How many packets there are.
    pub fn packets(&self) -> usize {
        let queues = self.queues.iter();
        queues.map(|q| q.kept.len() + q.leaving.len()).sum()
    }

    /// Its packets, for the end of the program.
    pub fn into_packets(self) -> impl Iterator<Item = P> {
        let queues = self.queues.into_iter();
        let all = queues.flat_map(|queue| queue.kept.into_iter().chain(queue.leaving));
        all.map(|held| held.packet)
    }
}

/// A bit for each shard.
pub(super) struct LeavingShards {
    bits: Box<[u64; SHARDS as usize / 64]>,
    len: usize,
}

impl Default for LeavingShards {
    fn default() -> Self {
        Self {
            bits: Box::new([0; SHARDS as usize / 64]),
            len: 0,
        }
    }
}

impl LeavingShards {
    pub fn set(&mut self, ShardId(shard): ShardId, on: bool) {
        let (word, bit) = (usize::from(shard) / 64, 1 << (shard % 64));
        let Some(word) = self.bits.get_mut(word) else {
            return;
        };
        match (*word & bit != 0, on) {
            (false, true) => self.len += 1,
            (true, false) => self.len -= 1,
            _ => return,
        }
        *word ^= bit;
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub fn has(&self, EntryId(entry): EntryId) -> bool {
        let shard = (entry % SHARDS) as usize;
        self.bits[shard / 64] & 1 << (shard % 64) != 0
    }
}
