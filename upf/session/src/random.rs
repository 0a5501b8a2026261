//! Seeded random numbers for identifiers: nothing here asks the system.

use core::hash::Hasher;
use siphasher::sip::SipHasher13;

/// A keyed hash of a counter (SipHash): whoever does not know the seed cannot tell the next
/// number from those before.
#[derive(Clone, Debug)]
pub struct Random {
    seed: [u64; 2],
    hashed: u64,
    /// The other half of the last hash.
    half: Option<u32>,
}

impl Random {
    /// A sequence of its own for each seed; draw the seed from the system at start.
    pub fn new(seed: [u64; 2]) -> Self {
        Self {
            seed,
            hashed: 0,
            half: None,
        }
    }

    /// The next number.
    pub fn next_u32(&mut self) -> u32 {
        if let Some(half) = self.half.take() {
            return half;
        }
        self.hashed += 1;
        let mut hash = SipHasher13::new_with_keys(self.seed[0], self.seed[1]);
        hash.write_u64(self.hashed);
        let sum = hash.finish();
        self.half = Some(sum as u32);
        (sum >> 32) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_one_sequence_and_another_seed_another() {
        let draw = |seed| {
            let mut random = Random::new(seed);
            [(); 6].map(|()| random.next_u32())
        };
        assert_eq!(draw([1, 2]), draw([1, 2]));
        assert_ne!(draw([1, 2]), draw([1, 3]));
        let mut drawn = draw([1, 2]);
        drawn.sort_unstable();
        assert!(drawn.windows(2).all(|two| two[0] != two[1]), "{drawn:?}");
    }
}
