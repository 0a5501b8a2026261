//! Slots: values of a few words that one thread replaces one by one, and many read without waiting.
//!
//! Replacing one costs the same however many there are, unlike publishing a whole table
//! ([`crate::publish`]). Each word is read as it was written, but a reader may see words of two values if it
//! reads while the slot is being replaced. So while somebody refers to a slot one of its words may change;
//! for more, nobody may refer to it: its number is given out, by a [`crate::ring`], after it was written,
//! and taken back from all before it is written again.

use core::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

type Places<const N: usize> = Arc<[[AtomicU64; N]]>;

/// The writer's end. There is one.
#[derive(Debug)]
pub struct Slots<const N: usize>(Places<N>);

/// A reader's end.
#[derive(Clone, Debug)]
pub struct SlotReader<const N: usize>(Places<N>);

impl<const N: usize> Slots<N> {
    /// So many slots, all zero.
    pub fn new(len: usize) -> Self {
        let zero = || core::array::from_fn(|_| AtomicU64::new(0));
        Self((0..len).map(|_| zero()).collect())
    }

    /// An end for a reader.
    pub fn reader(&self) -> SlotReader<N> {
        SlotReader(self.0.clone())
    }

    /// Replaces a value; false if there is no such slot.
    pub fn write(&mut self, at: usize, value: [u64; N]) -> bool {
        let Some(words) = self.0.get(at) else {
            return false;
        };
        for (word, value) in words.iter().zip(value) {
            word.store(value, Ordering::Relaxed);
        }
        true
    }
}

impl<const N: usize> SlotReader<N> {
    /// Brings a slot into the cache.
    #[inline(always)]
    pub fn prefetch(&self, at: usize) {
        crate::prefetch::read_index(&self.0, at);
    }

    /// A slot.
    #[inline(always)]
    pub fn slot(&self, at: usize) -> Option<Slot<'_, N>> {
        self.0.get(at).map(Slot)
    }

    /// The value now.
    #[inline(always)]
    pub fn read(&self, at: usize) -> Option<[u64; N]> {
        self.slot(at).map(Slot::words)
    }
}

/// A slot whose words are read as they are asked for.
#[derive(Clone, Copy, Debug)]
pub struct Slot<'s, const N: usize>(&'s [AtomicU64; N]);

impl<const N: usize> Slot<'_, N> {
    /// One of its words now.
    #[inline(always)]
    pub fn word<const AT: usize>(self) -> u64 {
        const { assert!(AT < N) };
        self.0[AT].load(Ordering::Relaxed)
    }

    /// All of them.
    #[inline(always)]
    pub fn words(self) -> [u64; N] {
        core::array::from_fn(|i| self.0[i].load(Ordering::Relaxed))
    }
}

impl<const N: usize> Default for SlotReader<N> {
    /// Of no slots.
    fn default() -> Self {
        Self(Arc::from([]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readers_see_what_was_written_and_nothing_beyond_the_end() {
        let mut slots = Slots::<2>::new(3);
        let reader = slots.reader();
        assert_eq!(reader.read(1), Some([0, 0]));
        assert!(slots.write(1, [7, 8]));
        assert_eq!(
            (reader.read(1), reader.read(2)),
            (Some([7, 8]), Some([0, 0]))
        );
        assert!(!slots.write(3, [1, 1]));
        assert_eq!(reader.read(3), None);
        assert_eq!(reader.slot(1).map(|slot| slot.word::<1>()), Some(8));
        assert_eq!(SlotReader::<1>::default().read(0), None);
    }

    #[test]
    fn a_value_of_one_word_is_never_half_of_another() {
        let mut slots = Slots::<1>::new(1);
        let reader = slots.reader();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                for n in 0..100_000u64 {
                    slots.write(0, [n << 32 | n]);
                }
            });
            for _ in 0..100_000 {
                let [word] = reader.read(0).unwrap_or_default();
                assert_eq!(word >> 32, word & 0xffff_ffff);
            }
        });
    }
}
