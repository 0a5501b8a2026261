//! Blocks of a quarter of a cache line, of which the first begins one.

use sluice_mem::prefetch::{self, CACHE_LINE};

/// Octets of a granule: a quarter of what a cache fetches. Records are some hundred octets long, so that whole lines
/// would leave many octets unused.
pub const GRANULE: usize = CACHE_LINE / 4;

/// The granules. Memory is reserved at start and touched when they are first used.
#[derive(Debug)]
pub struct Granules {
    octets: Vec<u8>,
    /// Octets in front of the first one: memory begins anywhere.
    begin: usize,
}

impl Granules {
    /// Room for so many, and none yet.
    pub fn new(limit: usize) -> Self {
        let mut octets: Vec<u8> =
            Vec::with_capacity(limit.saturating_mul(GRANULE).saturating_add(CACHE_LINE - 1));
        let begin = octets.as_ptr().align_offset(CACHE_LINE).min(CACHE_LINE - 1);
        octets.resize(begin, 0);
        Self { octets, begin }
    }

    /// How many there are.
    #[inline]
    pub fn len(&self) -> usize {
        (self.octets.len() - self.begin) / GRANULE
    }

    /// So many from now on; those that come are 0.
    pub fn resize(&mut self, len: usize) {
        self.octets.resize(self.begin + len * GRANULE, 0);
    }

    /// So many adjacent ones; none if they are not all there.
    #[inline]
    pub fn get(&self, first: usize, count: usize) -> &[u8] {
        let at = self.begin + first * GRANULE;
        self.octets
            .get(at..at + count * GRANULE)
            .unwrap_or_default()
    }

    /// The same, to be written.
    #[inline]
    pub fn get_mut(&mut self, first: usize, count: usize) -> &mut [u8] {
        let at = self.begin + first * GRANULE;
        let octets = self.octets.get_mut(at..at + count * GRANULE);
        octets.unwrap_or_default()
    }

    /// Asks the caches for one.
    #[inline]
    pub fn prefetch(&self, at: usize) {
        prefetch::read_index(&self.octets, self.begin + at * GRANULE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_lies_at_a_cache_line() {
        for limit in [1, 3, 1000] {
            let mut granules = Granules::new(limit);
            let room = granules.octets.capacity();
            granules.resize(limit);
            assert_eq!(granules.len(), limit);
            assert_eq!(granules.get(0, 1).as_ptr().addr() % CACHE_LINE, 0);
            assert_eq!(granules.octets.capacity(), room, "it stays where it is");
            granules.get_mut(limit - 1, 1).fill(7);
            assert_eq!(granules.get(limit - 1, 1), [7; GRANULE]);
            assert!(granules.get(limit - 1, 2).is_empty());
            granules.resize(limit - 1);
            granules.resize(limit);
            assert_eq!(granules.get(limit - 1, 1), [0; GRANULE]);
        }
    }
}
