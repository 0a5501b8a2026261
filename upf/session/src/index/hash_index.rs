//! Prefetchable open-addressing hash index of 32-bit values by 32-bit fingerprints, and its seeded hash: two multiplications, so
//! that a peer which does not know the seed cannot aim for collisions.
//!
//! The table keeps 32 bits of the hash, its mark. What has the same mark is told apart by whoever
//! asks. Places are probed one after the other; what is taken out lets those behind it move up
//! (Knuth, The Art of Computer Programming, vol. 3, 6.4, algorithm R), so that no search grows
//! longer with time.

use core::hash::{BuildHasher, Hasher};
use sluice_mem::prefetch;
use std::hash::RandomState;

/// Neither mark nor number has all bits set in any entry.
const EMPTY: u64 = u64::MAX;

/// The table. It grows when it is seven eighths full.
#[derive(Clone, Debug)]
pub struct HashIndex {
    /// Mark and number of each.
    entries: Vec<u64>,
    used: usize,
}

fn entry(mark: u32, number: u32) -> u64 {
    u64::from(mark) << 32 | u64::from(number)
}

fn mark_of(entry: u64) -> u32 {
    (entry >> 32) as u32
}

impl HashIndex {
    /// Room for `numbers` of them, well spread.
    pub fn new(numbers: usize) -> Self {
        let places = (numbers + numbers / 4).max(8);
        Self {
            entries: vec![EMPTY; places],
            used: 0,
        }
    }

    /// Numbers in it.
    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.used
    }

    /// True if there are none.
    #[cfg(test)]
    pub fn is_empty(&self) -> bool {
        self.used == 0
    }

    /// Asks the caches for where a search for this mark begins.
    #[inline]
    pub fn prefetch(&self, mark: u32) {
        prefetch::write_index(&self.entries, self.home(mark));
    }

    /// The first number of this mark of which `is_it` is true.
    #[inline]
    pub fn find(&self, mark: u32, is_it: impl Fn(u32) -> bool) -> Option<u32> {
        let at = self.search(mark, is_it)?;
        self.entries.get(at).map(|entry| *entry as u32)
    }

    /// Puts one more number in, which is less than `u32::MAX`.
    pub fn insert(&mut self, mark: u32, number: u32) {
        debug_assert!(number != u32::MAX);
        if (self.used + 1) * 8 > self.entries.len() * 7 {
            self.grow();
        }
        self.put(entry(mark, number));
        self.used += 1;
    }

    /// Puts a number in place of another one; nothing is done if that is not there.
    pub fn replace(&mut self, mark: u32, number: u32, with: u32) {
        debug_assert!(with != u32::MAX);
        let at = self.search(mark, |there| there == number);
        if let Some(place) = at.and_then(|at| self.entries.get_mut(at)) {
            *place = entry(mark, with);
        }
    }

    /// Takes a number out; true if it was there.
    pub fn remove(&mut self, mark: u32, number: u32) -> bool {
        let Some(at) = self.search(mark, |there| there == number) else {
            return false;
        };
        self.close_up(at);
        self.used -= 1;
        true
    }

    /// The place at which a mark's entries begin: its high bits, since they are as good as others.
    #[inline]
    fn home(&self, mark: u32) -> usize {
        let wide = u64::from(mark) * self.entries.len() as u64;
        (wide >> 32) as usize
    }

    #[inline]
    fn search(&self, mark: u32, is_it: impl Fn(u32) -> bool) -> Option<usize> {
        let mut at = self.home(mark);
        loop {
            // There are always empty places.
            match *self.entries.get(at)? {
                EMPTY => return None,
                entry if mark_of(entry) == mark && is_it(entry as u32) => return Some(at),
                _ => at = self.behind(at),
            }
        }
    }

    #[inline]
    fn behind(&self, at: usize) -> usize {
        let next = at + 1;
        if next < self.entries.len() { next } else { 0 }
    }

    /// Steps from one place to another one.
    fn steps(&self, from: usize, to: usize) -> usize {
        if to >= from {
            to - from
        } else {
            to + self.entries.len() - from
        }
    }

    fn put(&mut self, entry: u64) {
        let mut at = self.home(mark_of(entry));
        while self.entries.get(at).is_some_and(|there| *there != EMPTY) {
            at = self.behind(at);
        }
        if let Some(place) = self.entries.get_mut(at) {
            *place = entry;
        }
    }

    /// Empties a place. An entry behind it moves up unless it would come to stand before its home.
    fn close_up(&mut self, mut hole: usize) {
        let mut at = self.behind(hole);
        while let Some(entry) = self.entries.get(at).copied().filter(|e| *e != EMPTY) {
            if self.steps(self.home(mark_of(entry)), at) >= self.steps(hole, at) {
                self.set(hole, entry);
                hole = at;
            }
            at = self.behind(at);
        }
        self.set(hole, EMPTY);
    }

    fn set(&mut self, at: usize, entry: u64) {
        if let Some(place) = self.entries.get_mut(at) {
            *place = entry;
        }
    }

    #[cold]
    fn grow(&mut self) {
        let twice = vec![EMPTY; self.entries.len() * 2];
        for entry in core::mem::replace(&mut self.entries, twice) {
            if entry != EMPTY {
                self.put(entry);
            }
        }
    }
}

/// Makes hashers under a seed.
#[derive(Clone, Copy, Debug)]
pub struct Seeded(pub u64);

/// The state of one hash.
#[derive(Clone, Copy, Debug)]
pub struct Folding(u64);

impl Default for Seeded {
    /// Under a seed of the operating system's.
    fn default() -> Self {
        Self(RandomState::new().hash_one(()))
    }
}

impl BuildHasher for Seeded {
    type Hasher = Folding;

    fn build_hasher(&self) -> Folding {
        Folding(self.0)
    }
}

impl Folding {
    fn fold(&mut self, word: u64) {
        let wide = u128::from(self.0 ^ word ^ 0x9e37_79b9_7f4a_7c15) * 0xd6e8_feb8_6659_fd93;
        self.0 = wide as u64 ^ (wide >> 64) as u64;
    }
}

impl Hasher for Folding {
    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        for word in words {
            self.fold(u64::from_be_bytes(*word));
        }
        if !rest.is_empty() {
            let shift = |sum, octet: &u8| sum << 8 | u64::from(*octet);
            self.fold(rest.iter().fold(0, shift));
        }
    }

    fn write_u32(&mut self, word: u32) {
        self.fold(word.into());
    }

    fn write_u64(&mut self, word: u64) {
        self.fold(word);
    }

    fn write_usize(&mut self, word: usize) {
        self.fold(word as u64);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[derive(Clone, Copy, Debug)]
    enum Step {
        Insert(u32, u32),
        Remove(u32, u32),
        Replace(u32, u32, u32),
    }

    /// Few marks close together, those at the table's end among them, so that runs meet and wrap.
    fn step() -> impl Strategy<Value = Step> {
        let mark = prop_oneof![
            0..4_u32,
            u32::MAX - 3..=u32::MAX,
            (0..8_u32).prop_map(|i| i << 29)
        ];
        (mark, 0..6_u32, 0..6_u32, 0..4_u8).prop_map(|(mark, number, other, kind)| match kind {
            0 | 1 => Step::Insert(mark, number),
            2 => Step::Remove(mark, number),
            _ => Step::Replace(mark, number, other),
        })
    }

    proptest! {
        #[test]
        fn it_holds_what_a_plain_list_holds(room in 0..24_usize, steps in prop::collection::vec(step(), 0..200)) {
            let (mut marks, mut list) = (HashIndex::new(room), Vec::new());
            for step in steps {
                match step {
                    Step::Insert(mark, number) => {
                        marks.insert(mark, number);
                        list.push((mark, number));
                    }
                    Step::Remove(mark, number) => {
                        let at = list.iter().position(|one| *one == (mark, number));
                        prop_assert_eq!(marks.remove(mark, number), at.is_some());
                        at.map(|at| list.swap_remove(at));
                    }
                    Step::Replace(mark, number, other) => {
                        marks.replace(mark, number, other);
                        if let Some(one) = list.iter_mut().find(|one| **one == (mark, number)) {
                            one.1 = other;
                        }
                    }
                }
                prop_assert_eq!(marks.len(), list.len());
                for (mark, number) in &list {
                    prop_assert_eq!(marks.find(*mark, |n| n == *number), Some(*number));
                }
                let found = marks.find(1, |_| true);
                prop_assert_eq!(found.is_some(), list.iter().any(|one| one.0 == 1));
            }
            for (mark, number) in list {
                prop_assert!(marks.remove(mark, number));
            }
            prop_assert!(marks.is_empty());
            prop_assert!(marks.entries.iter().all(|entry| *entry == EMPTY));
        }
    }
}

#[cfg(test)]
mod hash_tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn near_keys_fall_far_apart_and_the_seed_counts() {
        let low = |seed: u64, key: u32| Seeded(seed).hash_one((key, [10, 0, 0, 1_u8])) & 0xffff;
        let places: HashSet<u64> = (0..1000).map(|key| low(1, key)).collect();
        assert!(places.len() > 970, "{}", places.len());
        assert_ne!(low(1, 7), low(2, 7));
    }
}
