//! Single-writer counters with any number of readers.

use core::sync::atomic::{AtomicU64, Ordering};

/// A count kept by one thread and read by others at any time.
///
/// Adding is a plain load and a plain store, no locked instruction. If two
/// threads add at once, one of the additions may be lost (nothing worse), so
/// give each writer a counter of its own and sum when reading.
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct Counter(AtomicU64);

impl Counter {
    /// A counter at `value`.
    pub const fn new(value: u64) -> Self {
        Self(AtomicU64::new(value))
    }

    /// Adds `n`, wrapping at 2^64.
    #[inline(always)]
    pub fn add(&self, n: u64) {
        self.0.store(self.get().wrapping_add(n), Ordering::Relaxed);
    }

    /// The count as last stored.
    #[inline(always)]
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// Replaces the count.
    #[inline(always)]
    pub fn set(&self, value: u64) {
        self.0.store(value, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn additions_of_one_writer_are_all_seen_by_a_reader() {
        let counter = Counter::new(5);
        std::thread::scope(|scope| {
            scope.spawn(|| (0..1000).for_each(|_| counter.add(2)));
        });
        assert_eq!(counter.get(), 2005);
        counter.set(u64::MAX);
        counter.add(2);
        assert_eq!(counter.get(), 1, "wraps as the doc says");
    }
}
