//! A fixed array beside the packets of a burst.

use core::ops::{Deref, DerefMut};
use sluice_port::BURST_MAX;

/// Up to [`BURST_MAX`] values.
///
/// Not an `ArrayVec`, whose `push` may give the value back: for that it goes through memory, written in
/// pieces and read at once, which takes a processor longer than all the rest of it.
#[derive(Clone)]
pub(crate) struct BurstArray<T> {
    all: [T; BURST_MAX],
    len: usize,
}

impl<T: Copy> BurstArray<T> {
    /// An empty row; `filler` is never seen.
    pub fn new(filler: T) -> Self {
        Self {
            all: [filler; BURST_MAX],
            len: 0,
        }
    }

    /// Adds a value at the end.
    ///
    /// # Panics
    /// If the row is full.
    #[inline(always)]
    pub fn push(&mut self, value: T) {
        self.all[self.len] = value;
        self.len += 1;
    }

    /// Forgets all of them.
    #[inline]
    pub fn clear(&mut self) {
        self.len = 0;
    }
}

impl<T> Deref for BurstArray<T> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        self.all.get(..self.len).unwrap_or_default()
    }
}

impl<T> DerefMut for BurstArray<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [T] {
        self.all.get_mut(..self.len).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_holds_what_was_pushed_up_to_a_burst() {
        let mut row = BurstArray::new(7);
        assert!(row.is_empty());
        (0..BURST_MAX).for_each(|value| row.push(value));
        assert!(row.iter().copied().eq(0..BURST_MAX));
        row[3] = 1;
        assert_eq!(row.get(3), Some(&1));
        row.clear();
        assert_eq!((row.len(), row.first()), (0, None));
    }

    #[test]
    #[should_panic(expected = "out of bounds")]
    fn nothing_is_pushed_beyond_a_burst() {
        let mut row = BurstArray::new(0);
        (0..=BURST_MAX).for_each(|value| row.push(value));
    }
}
