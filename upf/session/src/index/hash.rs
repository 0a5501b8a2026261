//! Seeded hashes of short keys: two multiplications under a seed, so that a peer which does not
//! know it cannot aim for collisions.

use core::hash::{BuildHasher, Hasher};
use std::hash::RandomState;

/// Makes hashers under a seed.
#[derive(Clone, Copy, Debug)]
pub struct Seeded(pub u64);

/// The state of one hash.
#[derive(Clone, Copy, Debug)]
pub struct Folding(u64);

impl Default for Seeded {
    /// Under a seed of the operating system's.
    fn default() -> Self {
        Self(RandomState::new().hash_one(()))
    }
}

impl BuildHasher for Seeded {
    type Hasher = Folding;

    fn build_hasher(&self) -> Folding {
        Folding(self.0)
    }
}

impl Folding {
    fn fold(&mut self, word: u64) {
        let wide = u128::from(self.0 ^ word ^ 0x9e37_79b9_7f4a_7c15) * 0xd6e8_feb8_6659_fd93;
        self.0 = wide as u64 ^ (wide >> 64) as u64;
    }
}

impl Hasher for Folding {
    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        for word in words {
            self.fold(u64::from_be_bytes(*word));
        }
        if !rest.is_empty() {
            let shift = |sum, octet: &u8| sum << 8 | u64::from(*octet);
            self.fold(rest.iter().fold(0, shift));
        }
    }

    fn write_u32(&mut self, word: u32) {
        self.fold(word.into());
    }

    fn write_u64(&mut self, word: u64) {
        self.fold(word);
    }

    fn write_usize(&mut self, word: usize) {
        self.fold(word as u64);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn near_keys_fall_far_apart_and_the_seed_counts() {
        let low = |seed: u64, key: u32| Seeded(seed).hash_one((key, [10, 0, 0, 1_u8])) & 0xffff;
        let places: HashSet<u64> = (0..1000).map(|key| low(1, key)).collect();
        assert!(places.len() > 970, "{}", places.len());
        assert_ne!(low(1, 7), low(2, 7));
    }
}
