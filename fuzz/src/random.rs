//! Random numbers that are the same on every machine for the same seed.

/// SplitMix64 (Steele, Lea, Flood 2014): small, and good enough to choose mutations.
#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    /// The numbers of case `case` under `seed`; cases do not depend on each other, so that one
    /// can be repeated alone.
    pub fn new(seed: u64, case: u64) -> Self {
        let mut rng = Self(seed);
        let mixed = rng.draw();
        Self(mixed ^ case.wrapping_mul(0xd6e8_feb8_6659_fd93))
    }

    /// The next 64 bits.
    pub fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// A number below `bound`; 0 if `bound` is 0.
    pub fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.draw()) * bound as u128) >> 64) as usize
    }

    /// True once in `n` times.
    pub fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    /// An octet.
    pub fn octet(&mut self) -> u8 {
        self.draw() as u8
    }

    /// One of `items`, if there are any.
    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> Option<&'a T> {
        items.get(self.below(items.len()))
    }

    /// Random octets.
    pub fn octets(&mut self, len: usize) -> Vec<u8> {
        (0..len).map(|_| self.octet()).collect()
    }

    /// A number at an edge: 0, 1, a power of two or one beside it, all ones; or any.
    pub fn edge(&mut self) -> u64 {
        let power = 1u64 << self.below(64);
        match self.below(8) {
            0 => 0,
            1 => 1,
            2 => u64::MAX,
            3 | 4 => power,
            5 => power - 1,
            6 => power + 1,
            _ => self.draw(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_same_numbers_and_each_case_its_own() {
        let draw = |seed, case| Rng::new(seed, case).draw();
        assert_eq!(draw(1, 2), draw(1, 2));
        assert_ne!(draw(1, 2), draw(1, 3));
        assert_ne!(draw(1, 2), draw(2, 2));
    }

    #[test]
    fn numbers_stay_below_their_bound_and_reach_all_of_it() {
        let mut rng = Rng::new(7, 0);
        let mut seen = [false; 10];
        for _ in 0..500 {
            seen[rng.below(10)] = true;
        }
        assert_eq!(seen, [true; 10]);
        assert_eq!((rng.below(0), rng.below(1)), (0, 0));
    }
}
