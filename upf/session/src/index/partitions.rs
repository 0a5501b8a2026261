//! Partitions of what a message writes that is not its session's, each by its own key.
//!
//! Every table of this kind is cut into [`PARTITIONS`] partitions by bits of the key that it is looked up by,
//! and never by who asks. A partition owns all that it needs: an operation on one key reads and writes one alone.
//! So N4 can run on several threads later, each part of the sessions with partitions of its own.
//!
//! | table | key | bits that tell the partition |
//! |---|---|---|
//! | [`RecentRequests`](sluice_n4) (`proto/n4`) | peer and sequence number | of their hash |
//! | sessions by CP F-SEID (`store::index`) | association and CP F-SEID | highest of their mark |
//! | sessions by a peer's tunnel (`remote_fteid_index`) | the tunnel's address and TEID | highest of its mark |
//! | transactions under way (`pending`) | the transaction's name, and so its shard | lowest of the shard |
//! | TEID slots, entries, blocks (`slot_allocator`), last TEIDs and pool entries (`resources`) | the place, and so its shard | lowest of the shard |

use crate::index::hash_index::HashIndex;
use sluice_mem::prefetch;

/// Bits of a key that tell its partition.
const BITS: u32 = 4;

/// Partitions of each table.
pub const PARTITIONS: usize = 1 << BITS;

/// One of the partitions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Partition(usize);

impl Partition {
    /// That of a mark: its highest bits.
    #[inline]
    pub fn of_mark(mark: u32) -> Self {
        Self((mark >> (u32::BITS - BITS)) as usize)
    }

    /// A mark as the partition's own table keeps it: the bits that all marks of the partition share stand last,
    /// where [`HashIndex`] looks for no place by them.
    #[inline]
    pub fn inside(mark: u32) -> u32 {
        mark.rotate_left(BITS)
    }

    /// That of a number which goes round all partitions, such as a shard or a place, and its number there.
    #[inline]
    pub fn of_number(number: u32) -> (Self, u32) {
        (Self(number as usize % PARTITIONS), number >> BITS)
    }

    /// The number of all that has this one in the partition.
    #[inline]
    pub fn number(self, inside: u32) -> u32 {
        inside << BITS | self.0 as u32
    }

    /// As an index, less than [`PARTITIONS`].
    #[inline]
    pub fn index(self) -> usize {
        self.0
    }
}

/// A value for each number, in parts.
#[derive(Debug)]
pub struct PartitionedVec<T> {
    parts: Box<[Vec<T>; PARTITIONS]>,
}

impl<T: Clone> PartitionedVec<T> {
    /// `value` for each number below `len`.
    pub fn new(value: &T, len: usize) -> Self {
        let each = len.div_ceil(PARTITIONS);
        Self {
            parts: Box::new(core::array::from_fn(|_| vec![value.clone(); each])),
        }
    }

    /// That of a number.
    #[inline]
    pub fn get(&self, number: u32) -> Option<&T> {
        let (part, inside) = Partition::of_number(number);
        self.parts[part.index() % PARTITIONS].get(inside as usize)
    }

    /// The same, to be changed.
    #[inline]
    pub fn get_mut(&mut self, number: u32) -> Option<&mut T> {
        let (part, inside) = Partition::of_number(number);
        self.parts[part.index() % PARTITIONS].get_mut(inside as usize)
    }

    /// Asks the caches for it.
    pub fn prefetch(&self, number: u32) {
        let (part, inside) = Partition::of_number(number);
        prefetch::read_index(&self.parts[part.index() % PARTITIONS], inside as usize);
    }
}

/// Bits by number, in parts.
#[derive(Debug)]
pub struct PartitionedBits {
    parts: Box<[Vec<u64>; PARTITIONS]>,
}

impl PartitionedBits {
    /// None of `len` is set.
    pub fn new(len: usize) -> Self {
        let each = len.div_ceil(PARTITIONS).div_ceil(64);
        Self {
            parts: Box::new(core::array::from_fn(|_| vec![0; each])),
        }
    }

    fn word(&mut self, number: u32) -> Option<(&mut u64, u64)> {
        let (part, inside) = Partition::of_number(number);
        let word = self.parts[part.index() % PARTITIONS].get_mut(inside as usize / 64)?;
        Some((word, 1 << (inside % 64)))
    }

    /// Sets a bit; tells whether it was set before, `None` if there is no such bit.
    pub fn set(&mut self, number: u32) -> Option<bool> {
        let (word, bit) = self.word(number)?;
        let before = *word & bit != 0;
        *word |= bit;
        Some(before)
    }

    /// True if a bit is set.
    pub fn get(&self, number: u32) -> bool {
        let (part, inside) = Partition::of_number(number);
        let part = self.parts.get(part.index() % PARTITIONS);
        let word = part.and_then(|part| part.get(inside as usize / 64));
        word.is_some_and(|word| word >> (inside % 64) & 1 != 0)
    }

    /// Clears a bit.
    pub fn clear(&mut self, number: u32) {
        if let Some((word, bit)) = self.word(number) {
            *word &= !bit;
        }
    }

    /// Bits that are set.
    pub fn count(&self) -> usize {
        let words = self.parts.iter().flatten();
        words.map(|word| word.count_ones() as usize).sum()
    }
}

/// Numbers by mark in parts; see [`HashIndex`], which each part is.
#[derive(Clone, Debug)]
pub struct PartitionedMarks {
    parts: Box<[HashIndex; PARTITIONS]>,
}

impl PartitionedMarks {
    /// Room for `numbers` of them, well spread.
    pub fn new(numbers: usize) -> Self {
        let each = numbers.div_ceil(PARTITIONS);
        Self {
            parts: Box::new(core::array::from_fn(|_| HashIndex::new(each))),
        }
    }

    #[inline]
    fn part(&self, mark: u32) -> &HashIndex {
        // `of_mark` has four bits.
        &self.parts[Partition::of_mark(mark).index() % PARTITIONS]
    }

    #[inline]
    fn part_mut(&mut self, mark: u32) -> &mut HashIndex {
        &mut self.parts[Partition::of_mark(mark).index() % PARTITIONS]
    }

    /// True if there are none.
    #[cfg(test)]
    pub fn is_empty(&self) -> bool {
        self.parts.iter().all(HashIndex::is_empty)
    }

    /// Asks the caches for where a search for this mark begins.
    #[inline]
    pub fn prefetch(&self, mark: u32) {
        self.part(mark).prefetch(Partition::inside(mark));
    }

    /// The first number of this mark of which `is_it` is true.
    #[inline]
    pub fn find(&self, mark: u32, is_it: impl Fn(u32) -> bool) -> Option<u32> {
        self.part(mark).find(Partition::inside(mark), is_it)
    }

    /// Puts one more number in, which is less than `u32::MAX`.
    pub fn insert(&mut self, mark: u32, number: u32) {
        self.part_mut(mark).insert(Partition::inside(mark), number);
    }

    /// Puts a number in place of another one; nothing is done if that is not there.
    pub fn replace(&mut self, mark: u32, number: u32, with: u32) {
        self.part_mut(mark)
            .replace(Partition::inside(mark), number, with);
    }

    /// Takes a number out; true if it was there.
    pub fn remove(&mut self, mark: u32, number: u32) -> bool {
        self.part_mut(mark).remove(Partition::inside(mark), number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// What is done with a mark leaves all parts but its own as they were.
        #[test]
        fn a_mark_touches_its_part_alone(marks in prop::collection::vec(any::<u32>(), 1..200)) {
            let mut all = PartitionedMarks::new(0);
            for (number, mark) in (0..).zip(&marks) {
                let before = all.clone();
                all.insert(*mark, number);
                let touched = (0..PARTITIONS).filter(|at| {
                    format!("{:?}", all.parts[*at]) != format!("{:?}", before.parts[*at])
                });
                prop_assert_eq!(touched.collect::<Vec<_>>(), [Partition::of_mark(*mark).index()]);
            }
            for (number, mark) in (0..).zip(&marks) {
                prop_assert_eq!(all.find(*mark, |n| n == number), Some(number));
                all.replace(*mark, number, number + 1_000);
                prop_assert!(all.remove(*mark, number + 1_000));
            }
            prop_assert!(all.is_empty());
        }
    }

    #[test]
    fn parts_fill_alike() {
        let mut all = PartitionedMarks::new(1 << 14);
        for i in 0..1_u32 << 14 {
            all.insert(i.wrapping_mul(0x9e37_79b1), i);
        }
        let lens = all.parts.iter().map(HashIndex::len);
        assert!(
            lens.clone().all(|len| (1_000..1_050).contains(&len)),
            "{:?}",
            lens.collect::<Vec<_>>()
        );
    }

    #[test]
    fn numbers_go_round_the_parts() {
        let mut values = PartitionedVec::new(&0, 100);
        let mut bits = PartitionedBits::new(100);
        for number in 0..100 {
            let (part, inside) = Partition::of_number(number);
            assert_eq!(part.number(inside), number);
            *values.get_mut(number).unwrap() = number;
            assert_eq!(
                (bits.set(number), bits.set(number)),
                (Some(false), Some(true))
            );
        }
        assert!((0..100).all(|number| values.get(number) == Some(&number)));
        assert_eq!(
            (bits.count(), bits.set(PARTITIONS as u32 * 64)),
            (100, None)
        );
        bits.clear(17);
        assert_eq!((bits.count(), bits.set(17)), (99, Some(false)));
        assert_eq!(values.get(112), None);
        assert!(values.parts.iter().all(|part| part.len() == 7));
    }
}
