//! Tables divided into shards, each with one owner who may write.
//!
//! Two arenas belong together: the *lines*, one element per slot, and the
//! *extension blocks*. Element `i` of either belongs to shard
//! `i & (shards - 1)`. A worker holds an [`Owned`], the set of shards that it
//! owns, which is its only way to an element. To move a shard, its owner
//! [releases](Owned::release) it as a [`ShardOwner`], sends that value to the
//! other worker, who [accepts](Owned::accept) it.
//!
//! # Soundness
//! For each set of arenas and each shard at most one bit or token exists at any
//! time: [`create`] consumes the arenas and sets each bit once; `release` clears
//! the bit and makes the one token; `accept` takes the token and sets the bit;
//! neither `Owned` nor `ShardOwner` can be cloned or made otherwise; tokens of
//! another set are refused by identity. An element is lent only by an `Owned`
//! whose bit of the element's shard is set, and only for as long as that
//! `Owned` is borrowed. So two references to one element from two threads
//! cannot overlap: between them lies the move of a token, which, like any move
//! of a value between threads in safe Rust, orders the one before the other.
//! Elements are reached by raw pointers from the base of the mapping; no
//! reference to a whole arena exists once it is divided.
//!
//! The right to write cannot be copied:
//! ```compile_fail
//! # use sluice_mem::{arena::Arena, shard::{self, ShardCount, ShardId}};
//! # let arena = || Arena::<u64>::new("doc", 8).unwrap();
//! # let mut owned = shard::create(arena(), arena(), ShardCount::DEFAULT);
//! let token = owned.release(ShardId(0)).unwrap();
//! let second = token.clone();
//! ```
//! A line cannot outlive the right to it:
//! ```compile_fail
//! # use sluice_mem::{arena::Arena, shard::{self, ShardCount, ShardId}};
//! # let arena = || Arena::<u64>::new("doc", 8).unwrap();
//! # let mut owned = shard::create(arena(), arena(), ShardCount::DEFAULT);
//! let line = owned.line_mut(0).unwrap();
//! let token = owned.release(ShardId(0)).unwrap();
//! *line += 1;
//! ```

use core::fmt;
use core::ptr::NonNull;
use std::sync::Arc;

use crate::Zeroable;
use crate::arena::Arena;
use crate::prefetch;

/// One of the shards, counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ShardId(pub u16);

impl fmt::Display for ShardId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Into how many shards the tables are divided: a power of two up to 65536.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShardCount(u32);

impl ShardCount {
    /// 4096: a table of owners takes 4 KiB, and a move about 250 of a million
    /// sessions.
    pub const DEFAULT: Self = Self(4096);

    /// The most that a [`ShardId`] can name.
    pub const MAX: u32 = 1 << 16;

    /// Checks the count.
    ///
    /// # Errors
    /// [`BadShardCount`] if it is no power of two or above [`Self::MAX`].
    pub const fn new(count: u32) -> Result<Self, BadShardCount> {
        if count.is_power_of_two() && count <= Self::MAX {
            Ok(Self(count))
        } else {
            Err(BadShardCount(count))
        }
    }

    /// The count.
    #[inline(always)]
    pub const fn get(self) -> u32 {
        self.0
    }

    /// The shard of element `index` of either arena.
    #[inline(always)]
    pub const fn shard_of(self, index: u32) -> ShardId {
        ShardId((index & (self.0 - 1)) as u16)
    }

    /// All shards.
    pub fn all(self) -> impl Iterator<Item = ShardId> {
        (0..self.0).map(|shard| ShardId(shard as u16))
    }
}

impl Default for ShardCount {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// Not a number of shards: it must be a power of two up to 65536.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadShardCount(
    /// The number given.
    pub u32,
);

impl fmt::Display for BadShardCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} shards: must be a power of two up to {}",
            self.0,
            ShardCount::MAX
        )
    }
}

impl std::error::Error for BadShardCount {}

/// Divides the two arenas into shards, all owned by the one returned.
pub fn create<L, X>(lines: Arena<L>, exts: Arena<X>, shards: ShardCount) -> Owned<L, X>
where
    L: Zeroable + Send,
    X: Zeroable + Send,
{
    let mut owned = Owned::over(Arc::new(Set {
        lines,
        exts,
        shards,
    }));
    for shard in shards.all() {
        owned.set_bit(shard);
    }
    owned
}

/// The shards that one worker owns, and through them its lines and extension
/// blocks.
pub struct Owned<L: Zeroable, X: Zeroable> {
    lines: NonNull<L>,
    exts: NonNull<X>,
    lines_len: u32,
    exts_len: u32,
    shards: ShardCount,
    /// One bit for each shard.
    bits: Box<[u64]>,
    set: Arc<Set<L, X>>,
}

// SAFETY: the pointers lead to elements of L and X which only this value may
// reach (module doc), so sending it sends them.
unsafe impl<L: Zeroable + Send, X: Zeroable + Send> Send for Owned<L, X> {}

impl<L: Zeroable, X: Zeroable> Owned<L, X> {
    /// An owner of nothing yet, over the same arenas, for another worker.
    pub fn none_like(&self) -> Self {
        Self::over(self.set.clone())
    }

    /// The shard of element `index` of either arena.
    #[inline(always)]
    pub fn shard_of(&self, index: u32) -> ShardId {
        self.shards.shard_of(index)
    }

    /// Into how many shards the arenas are divided.
    pub fn shards(&self) -> ShardCount {
        self.shards
    }

    /// Lines in the arena, of all owners.
    #[inline(always)]
    pub fn line_count(&self) -> u32 {
        self.lines_len
    }

    /// Extension blocks in the arena, of all owners.
    #[inline(always)]
    pub fn ext_count(&self) -> u32 {
        self.exts_len
    }

    /// The two arenas, to ask for their memory.
    pub fn memory(&self) -> [(crate::arena::Backing, usize); 2] {
        let Set { lines, exts, .. } = &*self.set;
        [
            (lines.backing(), lines.bytes()),
            (exts.backing(), exts.bytes()),
        ]
    }

    /// Whether `shard` is owned here. A shard that does not exist is not.
    #[inline(always)]
    pub fn owns(&self, shard: ShardId) -> bool {
        u32::from(shard.0) < self.shards.get() && self.owns_index(u32::from(shard.0))
    }

    /// The shards owned here, in order.
    pub fn owned(&self) -> impl Iterator<Item = ShardId> {
        self.shards.all().filter(|&shard| self.owns(shard))
    }

    /// How many shards are owned here.
    pub fn owned_count(&self) -> u32 {
        self.bits.iter().map(|word| word.count_ones()).sum()
    }

    /// Line `index`, or none if it is out of range or its shard not owned here.
    #[inline(always)]
    pub fn line_mut(&mut self, index: u32) -> Option<&mut L> {
        // SAFETY: in range and owned, so nobody else can hold a reference to
        // it, and `&mut self` keeps this owner from lending it twice.
        self.may_reach_line(index)
            .then(|| unsafe { self.lines.add(index as usize).as_mut() })
    }

    /// Extension block `index`, or none if it is out of range or its shard not
    /// owned here.
    #[inline(always)]
    pub fn ext_mut(&mut self, index: u32) -> Option<&mut X> {
        // SAFETY: as in `line_mut`.
        self.may_reach_ext(index)
            .then(|| unsafe { self.exts.add(index as usize).as_mut() })
    }

    /// A line together with an extension block (of the same shard or another),
    /// or none if either is out of range or not owned here.
    #[inline(always)]
    pub fn line_and_ext_mut(&mut self, line: u32, ext: u32) -> Option<(&mut L, &mut X)> {
        if !(self.may_reach_line(line) && self.may_reach_ext(ext)) {
            return None;
        }
        // SAFETY: as in `line_mut`; the two lie in different arenas.
        Some(unsafe {
            (
                self.lines.add(line as usize).as_mut(),
                self.exts.add(ext as usize).as_mut(),
            )
        })
    }

    /// Line `index` to be read, on the terms of [`Self::line_mut`].
    #[inline(always)]
    pub fn line(&self, index: u32) -> Option<&L> {
        // SAFETY: as in `line_mut`; `&self` keeps this owner from writing.
        self.may_reach_line(index)
            .then(|| unsafe { self.lines.add(index as usize).as_ref() })
    }

    /// Extension block `index` to be read, on the terms of [`Self::ext_mut`].
    #[inline(always)]
    pub fn ext(&self, index: u32) -> Option<&X> {
        // SAFETY: as in `line`.
        self.may_reach_ext(index)
            .then(|| unsafe { self.exts.add(index as usize).as_ref() })
    }

    /// Brings line `index` into the cache, all of it, to be written. No owner is
    /// asked for, since a hint changes nothing; out of range it does nothing.
    #[inline(always)]
    pub fn prefetch_line(&self, index: u32) {
        if index < self.lines_len {
            let line = self.lines.as_ptr().wrapping_add(index as usize);
            prefetch::hint_write_all(line.cast(), size_of::<L>());
        }
    }

    /// As [`Self::prefetch_line`], for a line that will only be read.
    #[inline(always)]
    pub fn prefetch_line_read(&self, index: u32) {
        if index < self.lines_len {
            let line = self.lines.as_ptr().wrapping_add(index as usize);
            prefetch::hint_read_all(line.cast(), size_of::<L>());
        }
    }

    /// As [`Self::prefetch_line`], for an extension block.
    #[inline(always)]
    pub fn prefetch_ext(&self, index: u32) {
        if index < self.exts_len {
            let ext = self.exts.as_ptr().wrapping_add(index as usize);
            prefetch::hint_write_all(ext.cast(), size_of::<X>());
        }
    }

    /// Gives up `shard`; whoever accepts the returned value owns it then. None
    /// if it is not owned here.
    #[must_use = "a shard whose owner value is dropped can never be written again"]
    pub fn release(&mut self, shard: ShardId) -> Option<ShardOwner<L, X>> {
        if !self.owns(shard) {
            return None;
        }
        self.bits[usize::from(shard.0) / 64] &= !(1 << (shard.0 % 64));
        Some(ShardOwner {
            shard,
            set: self.set.clone(),
        })
    }

    /// Takes over the shard.
    ///
    /// # Errors
    /// Gives the value back if it belongs to other arenas.
    pub fn accept(&mut self, owner: ShardOwner<L, X>) -> Result<(), ShardOwner<L, X>> {
        if !Arc::ptr_eq(&self.set, &owner.set) {
            return Err(owner);
        }
        self.set_bit(owner.shard);
        Ok(())
    }

    fn over(set: Arc<Set<L, X>>) -> Self {
        Self {
            lines: set.lines.base(),
            exts: set.exts.base(),
            lines_len: set.lines.len(),
            exts_len: set.exts.len(),
            shards: set.shards,
            bits: vec![0; set.shards.get().div_ceil(64) as usize].into(),
            set,
        }
    }

    /// For a shard below the count.
    fn set_bit(&mut self, shard: ShardId) {
        self.bits[usize::from(shard.0) / 64] |= 1 << (shard.0 % 64);
    }

    #[inline(always)]
    fn may_reach_line(&self, index: u32) -> bool {
        index < self.lines_len && self.owns_index(index)
    }

    #[inline(always)]
    fn may_reach_ext(&self, index: u32) -> bool {
        index < self.exts_len && self.owns_index(index)
    }

    /// Whether the shard of element `index` is owned here.
    #[inline(always)]
    fn owns_index(&self, index: u32) -> bool {
        let shard = index & (self.shards.get() - 1);
        // SAFETY: there is a bit for each shard (`over`), and the masked shard
        // is below the count.
        let word = unsafe { self.bits.get_unchecked(shard as usize / 64) };
        word & (1 << (shard % 64)) != 0
    }
}

impl<L: Zeroable, X: Zeroable> fmt::Debug for Owned<L, X> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Owned({} of {} shards)",
            self.owned_count(),
            self.shards.get()
        )
    }
}

/// The right to write one shard, on its way to the next owner. Dropping it
/// loses the shard: nobody can write it any more.
#[must_use = "a shard whose owner value is dropped can never be written again"]
pub struct ShardOwner<L: Zeroable, X: Zeroable> {
    shard: ShardId,
    set: Arc<Set<L, X>>,
}

impl<L: Zeroable, X: Zeroable> ShardOwner<L, X> {
    /// Which shard.
    pub fn shard(&self) -> ShardId {
        self.shard
    }
}

impl<L: Zeroable, X: Zeroable> fmt::Debug for ShardOwner<L, X> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ShardOwner({})", self.shard)
    }
}

/// The arenas that belong together. Nobody borrows from it: elements are
/// reached through the owners' pointers.
struct Set<L: Zeroable, X: Zeroable> {
    lines: Arena<L>,
    exts: Arena<X>,
    shards: ShardCount,
}

// SAFETY: sharing a Set gives no access to elements; those are sent between
// threads with their shards, hence L: Send and X: Send.
unsafe impl<L: Zeroable + Send, X: Zeroable + Send> Sync for Set<L, X> {}

#[cfg(test)]
mod tests {
    use super::*;

    fn tables(lines: usize, exts: usize, shards: u32) -> Owned<[u64; 8], u32> {
        let lines = Arena::new("lines", lines).unwrap();
        let exts = Arena::new("exts", exts).unwrap();
        create(lines, exts, ShardCount::new(shards).unwrap())
    }

    #[test]
    fn the_first_owner_reaches_every_element_and_none_beyond() {
        let mut owned = tables(100, 50, 16);
        assert_eq!((owned.owned_count(), owned.owned().count()), (16, 16));
        for i in 0..100 {
            owned.line_mut(i).unwrap()[0] = u64::from(i);
        }
        *owned.ext_mut(49).unwrap() = 5;
        assert!((0..100).all(|i| owned.line(i).unwrap()[0] == u64::from(i)));
        assert_eq!(owned.ext(49), Some(&5));
        assert!(owned.line_mut(100).is_none() && owned.line(u32::MAX).is_none());
        assert!(owned.ext_mut(50).is_none());
        owned.prefetch_line(99);
        owned.prefetch_line_read(u32::MAX);
        owned.prefetch_ext(50);
    }

    #[test]
    fn a_shard_can_be_reached_by_one_owner_at_a_time() {
        let mut a = tables(64, 64, 16);
        let mut b = a.none_like();
        assert!((0..64).all(|i| b.line_mut(i).is_none() && b.ext_mut(i).is_none()));
        let token = a.release(ShardId(3)).unwrap();
        assert_eq!(token.shard(), ShardId(3));
        assert!(a.release(ShardId(3)).is_none(), "only once");
        for i in 0..64 {
            assert_eq!(a.line_mut(i).is_some(), i % 16 != 3);
            assert_eq!(a.ext_mut(i).is_some(), i % 16 != 3);
            assert!(b.line_mut(i).is_none(), "the token is still on its way");
        }
        b.accept(token).unwrap();
        assert!((0..64).all(|i| b.line_mut(i).is_some() == (i % 16 == 3)));
        assert_eq!(b.owned().collect::<Vec<_>>(), [ShardId(3)]);
        assert!(b.owns(ShardId(3)) && !a.owns(ShardId(3)) && !b.owns(ShardId(19)));
    }

    #[test]
    fn tokens_of_other_tables_are_refused() {
        let mut a = tables(16, 16, 16);
        let mut other = tables(16, 16, 16);
        let token = other.release(ShardId(1)).unwrap();
        let token = a.accept(token).unwrap_err();
        other.accept(token).unwrap();
        assert_eq!(other.owned_count(), 16);
    }

    #[test]
    fn a_line_and_an_extension_are_lent_together_only_if_both_are_owned() {
        let mut a = tables(16, 16, 4);
        let (line, ext) = a.line_and_ext_mut(5, 6).unwrap();
        (line[0], *ext) = (1, 2);
        assert_eq!((a.line(5).unwrap()[0], a.ext(6)), (1, Some(&2)));
        let _gone = a.release(ShardId(2)).unwrap();
        assert!(a.line_and_ext_mut(5, 6).is_none() && a.line_and_ext_mut(6, 5).is_none());
        assert!(a.line_and_ext_mut(5, 16).is_none());
    }

    #[test]
    fn counts_of_shards_are_checked() {
        assert_eq!(ShardCount::new(0), Err(BadShardCount(0)));
        assert_eq!(ShardCount::new(48), Err(BadShardCount(48)));
        assert_eq!(ShardCount::new(1 << 17), Err(BadShardCount(1 << 17)));
        assert_eq!(ShardCount::default().get(), 4096);
        for shards in [1, 2, 64, 128, 1 << 16] {
            let mut owned = tables(130, 1, shards);
            assert_eq!(owned.owned_count(), shards);
            assert_eq!(owned.shard_of(129).0, (129 % shards) as u16);
            let last = ShardId((shards - 1) as u16);
            let token = owned.release(last).unwrap();
            assert_eq!(owned.owned_count(), shards - 1);
            owned.accept(token).unwrap();
        }
    }

    #[test]
    fn what_one_thread_wrote_the_next_owner_reads() {
        let mut a = tables(64, 64, 8);
        let mut b = a.none_like();
        let (mut to_b, mut from_a) = crate::ring::spsc(8, 0);
        std::thread::scope(|scope| {
            scope.spawn(move || {
                for shard in ShardCount::new(8).unwrap().all() {
                    (0..64).for_each(|i| {
                        if let Some(line) = a.line_mut(i) {
                            line[1] += 1;
                        }
                    });
                    to_b.push(a.release(shard).unwrap()).unwrap();
                }
            });
            scope.spawn(move || {
                while b.owned_count() < 8 {
                    from_a.drain(8).for_each(|token| {
                        let shard = token.shard();
                        b.accept(token).unwrap();
                        let line = b.line_mut(u32::from(shard.0)).unwrap();
                        assert_eq!(line[1], u64::from(shard.0) + 1);
                    });
                    std::thread::yield_now();
                }
            });
        });
    }
}
