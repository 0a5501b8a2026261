//! Duplicate detection: the set of recent request keys, one cache line per look-up.

use sluice_mem::prefetch::{self, CACHE_LINE};

/// Words of a bucket, which takes a cache line.
const WORDS: usize = CACHE_LINE / size_of::<u64>();
/// Octets of the table for each request: a bucket has room for seven, and is given four on average.
pub const BYTES_EACH: usize = CACHE_LINE / AVERAGE;
const AVERAGE: usize = 4;

/// A number's bits in a word; above it stands a part of the key. At a million requests a second
/// they are used up after eight years.
const NUMBER_BITS: u32 = 48;
const NUMBER: u64 = (1 << NUMBER_BITS) - 1;

/// Numbers of requests by key, the newest of each bucket. Numbers rise and are never 0.
#[derive(Debug)]
pub struct SeenRequests {
    /// Buckets: first the newest number that had to leave it, then those that are in it, newest first.
    words: Box<[u64]>,
    /// Words in front of the first bucket, so that it begins with a cache line.
    skip: usize,
    /// Of buckets, a power of two.
    count: usize,
}

fn part_of(key: u64) -> u64 {
    key & !NUMBER
}

impl SeenRequests {
    /// For so many requests, a power of two. Its memory is touched as it is used.
    pub fn new(requests: usize) -> Self {
        let count = (requests / AVERAGE).max(1);
        let words = vec![0; (count + 1) * WORDS].into_boxed_slice();
        let skip = words.as_ptr().align_offset(CACHE_LINE).min(WORDS);
        Self { words, skip, count }
    }

    /// Octets of it.
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.words)
    }

    fn start(&self, key: u64) -> usize {
        self.skip + (key as usize & (self.count - 1)) * WORDS
    }

    fn bucket(&self, key: u64) -> &[u64; WORDS] {
        const NONE: [u64; WORDS] = [0; WORDS];
        let words = self.words.get(self.start(key)..).unwrap_or_default();
        words.first_chunk().unwrap_or(&NONE)
    }

    /// A key will be looked for soon: asks the caches for its bucket.
    pub fn prefetch(&self, key: u64) {
        prefetch::write_index(&self.words, self.start(key));
    }

    /// The numbers in the key's bucket that may be its own.
    pub fn of(&self, key: u64) -> impl Iterator<Item = u64> {
        let [_, numbers @ ..] = self.bucket(key);
        let alike = numbers.iter().filter(move |w| part_of(**w) == part_of(key));
        alike
            .map(|word| word & NUMBER)
            .filter(|number| *number != 0)
    }

    /// The newest number that had to leave the key's bucket; 0 if none had to.
    pub fn left(&self, key: u64) -> u64 {
        let [left, ..] = self.bucket(key);
        *left
    }

    /// The newest request has this key. Where `is_live` is true of the number that has to leave the
    /// bucket for it, that is told, and the one that left before it.
    pub fn add(
        &mut self,
        key: u64,
        number: u64,
        is_live: impl Fn(u64) -> bool,
    ) -> Option<(u64, u64)> {
        let start = self.start(key);
        let words = self.words.get_mut(start..).unwrap_or_default();
        let [left, numbers @ ..] = words.first_chunk_mut::<WORDS>()?;
        let [first, second, third, fourth, fifth, sixth, oldest] = *numbers;
        let newest = part_of(key) | number & NUMBER;
        *numbers = [newest, first, second, third, fourth, fifth, sixth];
        let leaves = oldest & NUMBER;
        if !is_live(leaves) {
            return None;
        }
        Some((leaves, core::mem::replace(left, leaves)))
    }
}
