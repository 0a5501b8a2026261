//! A seeded random number generator.

/// SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number
/// Generators, 2014).
#[derive(Debug)]
pub(crate) struct Rng(u64);

impl Rng {
    /// Stream `stream` of `seed`: streams do not disturb each other.
    pub(crate) fn new(seed: u64, stream: u64) -> Self {
        let mut mixed = Self(seed ^ stream.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        Self(mixed.next())
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// True `ppm` times in a million.
    pub(crate) fn chance(&mut self, ppm: u32) -> bool {
        let below_a_million = ((self.next() >> 32) * 1_000_000) >> 32;
        below_a_million < u64::from(ppm)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_the_published_generator() {
        let mut rng = Rng(1_234_567);
        assert_eq!(
            [rng.next(), rng.next(), rng.next()],
            [
                6_457_827_717_110_365_317,
                3_203_168_211_198_807_973,
                9_817_491_932_198_370_423
            ]
        );
    }

    #[test]
    fn chances_come_about_as_often_as_they_say() {
        let mut rng = Rng::new(7, 0);
        let hits = (0..100_000).filter(|_| rng.chance(30_000)).count();
        assert!((2_700..3_300).contains(&hits), "{hits} of 3000 expected");
        assert!((0..1000).all(|_| !rng.chance(0) && rng.chance(1_000_000)));
    }
}
