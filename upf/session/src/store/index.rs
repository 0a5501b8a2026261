//! Session index by association and CP F-SEID: places alone, since what they are found by stands in
//! the sessions.

use super::CpSession;
use crate::index::hash::Seeded;
use crate::index::partitions::PartitionedMarks;
use core::hash::BuildHasher;
use sluice_n4::AssociationId;

/// What a session is found by.
pub type CpKey = (AssociationId, CpSession);

/// The places.
#[derive(Debug)]
pub struct Index {
    /// In parts by the highest bits of the key's mark.
    places: PartitionedMarks,
    hash: Seeded,
}

impl Index {
    /// Room for so many sessions.
    pub fn new(sessions: usize, hash: Seeded) -> Self {
        Self {
            places: PartitionedMarks::new(sessions),
            hash,
        }
    }

    /// True if no key means any place.
    #[cfg(test)]
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    fn mark(&self, key: CpKey) -> u32 {
        self.hash.hash_one(key) as u32
    }

    /// Asks the caches for where a key stands.
    pub fn prefetch(&self, key: CpKey) {
        self.places.prefetch(self.mark(key));
    }

    /// The place of a key; `key_of` tells that of a place.
    pub fn find(&self, key: CpKey, key_of: impl Fn(u32) -> Option<CpKey>) -> Option<u32> {
        let same = |at| key_of(at) == Some(key);
        self.places.find(self.mark(key), same)
    }

    /// The key means this place from now on, whatever it meant before.
    pub fn set(&mut self, key: CpKey, at: u32, key_of: impl Fn(u32) -> Option<CpKey>) {
        let mark = self.mark(key);
        match self.places.find(mark, |at| key_of(at) == Some(key)) {
            Some(before) => self.places.replace(mark, before, at),
            None => self.places.insert(mark, at),
        }
    }

    /// The key means this place no longer, if it did.
    pub fn forget(&mut self, key: CpKey, at: u32) {
        self.places.remove(self.mark(key), at);
    }
}
