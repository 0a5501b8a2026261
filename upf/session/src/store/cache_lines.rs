//! Cache-line-aligned blocks of 64 octets.

use sluice_mem::prefetch::{self, CACHE_LINE};

/// Octets of a line: what a cache fetches.
pub const LINE: usize = CACHE_LINE;

/// The lines. Memory is reserved at start and touched when they are first used.
#[derive(Debug)]
pub struct Lines {
    octets: Vec<u8>,
    /// Octets in front of the first line: memory begins anywhere.
    begin: usize,
}

impl Lines {
    /// Room for so many, and none yet.
    pub fn new(limit: usize) -> Self {
        let mut octets: Vec<u8> =
            Vec::with_capacity(limit.saturating_mul(LINE).saturating_add(LINE - 1));
        let begin = octets.as_ptr().align_offset(LINE).min(LINE - 1);
        octets.resize(begin, 0);
        Self { octets, begin }
    }

    /// How many there are.
    #[inline]
    pub fn len(&self) -> usize {
        (self.octets.len() - self.begin) / LINE
    }

    /// So many from now on; those that come are 0.
    pub fn resize(&mut self, len: usize) {
        self.octets.resize(self.begin + len * LINE, 0);
    }

    /// So many adjacent ones; none if they are not all there.
    #[inline]
    pub fn get(&self, first: usize, count: usize) -> &[u8] {
        let at = self.begin + first * LINE;
        self.octets.get(at..at + count * LINE).unwrap_or_default()
    }

    /// The same, to be written.
    #[inline]
    pub fn get_mut(&mut self, first: usize, count: usize) -> &mut [u8] {
        let at = self.begin + first * LINE;
        let octets = self.octets.get_mut(at..at + count * LINE);
        octets.unwrap_or_default()
    }

    /// Asks the caches for one.
    #[inline]
    pub fn prefetch(&self, at: usize) {
        prefetch::read_index(&self.octets, self.begin + at * LINE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_lie_in_cache_lines() {
        for limit in [1, 3, 1000] {
            let mut lines = Lines::new(limit);
            let room = lines.octets.capacity();
            lines.resize(limit);
            assert_eq!(lines.len(), limit);
            assert_eq!(lines.get(0, 1).as_ptr().addr() % LINE, 0);
            assert_eq!(lines.octets.capacity(), room, "it stays where it is");
            lines.get_mut(limit - 1, 1).fill(7);
            assert_eq!(lines.get(limit - 1, 1), [7; LINE]);
            assert!(lines.get(limit - 1, 2).is_empty());
            lines.resize(limit - 1);
            lines.resize(limit);
            assert_eq!(lines.get(limit - 1, 1), [0; LINE]);
        }
    }
}
