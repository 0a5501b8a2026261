//! A burst in processing: packets, metadata and exceptions.

use crate::forward::pdr::At;
use crate::meta::Meta;
use crate::rx::parse::Class;
use arrayvec::ArrayVec;
use core::ops::{Deref, DerefMut};
use sluice_port::{BURST_MAX, Burst, Packet, PortId};

/// The rules that packets of a batch meet, by their places in it.
pub(crate) type FoundRules = [Option<At>; BURST_MAX];

/// The packets of one pass, and beside them what is known of each.
pub(crate) struct Batch<P: Packet> {
    /// Come by other ways than a receive queue: put together from fragments, or given by the
    /// control core.
    pub received: Burst<P>,
    /// Where.
    pub received_at: PortId,
    /// Received, placed here and ours.
    pub mine: Burst<P>,
    /// One for each of `mine`, once sorted.
    pub metas: BurstArray<Meta>,
    /// Room for what packets are while their keys are fetched.
    pub ahead: [Meta; BURST_MAX],
    /// The rules that those meet whose entries have several, where they were looked for.
    pub found: FoundRules,
    /// Some entry of the last packets had several rules.
    pub has_several_rules: bool,
    /// Which of those just received are not ours to execute, and what they are.
    pub exceptions: ArrayVec<(usize, Class), BURST_MAX>,
    /// To be freed.
    pub dead: Burst<P>,
}

impl<P: Packet> Batch<P> {
    /// One without packets.
    pub fn new() -> Self {
        Self {
            received: Burst::new(),
            received_at: PortId(0),
            mine: Burst::new(),
            metas: BurstArray::new(Meta::NONE),
            ahead: [Meta::NONE; BURST_MAX],
            found: [None; BURST_MAX],
            has_several_rules: false,
            exceptions: ArrayVec::new(),
            dead: Burst::new(),
        }
    }
}

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
