//! Random numbers for identifiers, from a seed: nothing here asks the system.

use core::hash::Hasher;
use std::hash::DefaultHasher;

/// A keyed hash of a counter (SipHash): whoever does not know the seed cannot tell the next
/// number from those before.
#[derive(Clone, Debug)]
pub struct Random {
    seed: [u64; 2],
    drawn: u64,
}

impl Random {
    /// A sequence of its own for each seed; draw the seed from the system at start.
    pub fn new(seed: [u64; 2]) -> Self {
        Self { seed, drawn: 0 }
    }

    /// The next number.
    pub fn next_u32(&mut self) -> u32 {
        self.drawn += 1;
        let mut hash = DefaultHasher::new();
        for word in [self.seed[0], self.seed[1], self.drawn] {
            hash.write_u64(word);
        }
        (hash.finish() >> 32) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_one_sequence_and_another_seed_another() {
        let draw = |seed| {
            let mut random = Random::new(seed);
            [random.next_u32(), random.next_u32()]
        };
        assert_eq!(draw([1, 2]), draw([1, 2]));
        assert_ne!(draw([1, 2]), draw([1, 3]));
        assert_ne!(draw([1, 2])[0], draw([1, 2])[1]);
    }
}
