//! Sessions by association and F-SEID at the CP function: places alone, since what they are found
//! by stands in the sessions.

use super::CpSession;
use crate::hash::Seeded;
use core::hash::BuildHasher;
use core::hint::black_box;
use hashbrown::HashTable;
use sluice_n4::AssociationId;

/// What a session is found by.
pub type Key = (AssociationId, CpSession);

/// The places.
#[derive(Debug)]
pub struct Index {
    places: HashTable<u32>,
    hash: Seeded,
}

impl Index {
    /// Room for so many sessions.
    pub fn new(sessions: usize, hash: Seeded) -> Self {
        Self {
            places: HashTable::with_capacity(sessions),
            hash,
        }
    }

    /// True if no key means any place.
    #[cfg(test)]
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// The place of a key; `key_of` tells that of a place.
    pub fn find(&self, key: Key, key_of: impl Fn(u32) -> Option<Key>) -> Option<u32> {
        let same = |at: &u32| key_of(*at) == Some(key);
        self.places.find(self.hash.hash_one(key), same).copied()
    }

    /// Looks for a key that is [forgotten](Self::forget) soon: of several such looks none waits for
    /// another.
    pub fn look(&self, key: Key, at: u32) {
        black_box(
            self.places
                .find(self.hash.hash_one(key), |there| *there == at),
        );
    }

    /// The key means this place from now on, whatever it meant before.
    pub fn set(&mut self, key: Key, at: u32, key_of: impl Fn(u32) -> Option<Key>) {
        let hash = self.hash;
        let of = |at: &u32| key_of(*at).map_or(0, |key| hash.hash_one(key));
        let same = |at: &u32| key_of(*at) == Some(key);
        let entry = self.places.entry(hash.hash_one(key), same, of);
        *entry.or_insert(at).get_mut() = at;
    }

    /// The key means this place no longer, if it did.
    pub fn forget(&mut self, key: Key, at: u32) {
        let entry = self
            .places
            .find_entry(self.hash.hash_one(key), |there| *there == at);
        if let Ok(entry) = entry {
            entry.remove();
        }
    }
}
