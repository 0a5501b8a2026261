//! Sharded tables, each shard with one owner that may write.
//!
//! Four arenas belong together: the *entries*, one element per slot, the
//! *extension blocks*, the *usage records*, and beside each entry the number of
//! its usage record. Element `i` of any of them belongs to shard
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
//! # let numbers = Arena::<u32>::new("doc", 8).unwrap();
//! # let mut owned = shard::create(arena(), arena(), (arena(), numbers), ShardCount::DEFAULT);
//! let token = owned.release(ShardId(0)).unwrap();
//! let second = token.clone();
//! ```
//! An entry cannot outlive the right to it:
//! ```compile_fail
//! # use sluice_mem::{arena::Arena, shard::{self, ShardCount, ShardId}};
//! # let arena = || Arena::<u64>::new("doc", 8).unwrap();
//! # let numbers = Arena::<u32>::new("doc", 8).unwrap();
//! # let mut owned = shard::create(arena(), arena(), (arena(), numbers), ShardCount::DEFAULT);
//! let entry = owned.entry_mut(0).unwrap();
//! let token = owned.release(ShardId(0)).unwrap();
//! *entry += 1;
//! ```

use core::fmt;
use core::ptr::NonNull;
use std::sync::Arc;

use crate::Zeroable;
use crate::arena::Arena;
use crate::prefetch;

mod count;

pub use count::{BadShardCount, ShardCount, ShardId};

/// Divides the arenas into shards, all owned by the one returned. Of `records` the second has, for each
/// entry, the number of its record; only as many entries have one as there are numbers.
pub fn create<L, X, R>(
    entries: Arena<L>,
    exts: Arena<X>,
    (records, numbers): (Arena<R>, Arena<u32>),
    shards: ShardCount,
) -> Owned<L, X, R>
where
    L: Zeroable + Send,
    X: Zeroable + Send,
    R: Zeroable + Send,
{
    let mut owned = Owned::over(Arc::new(Set {
        entries,
        exts,
        records,
        numbers,
        shards,
    }));
    for shard in shards.all() {
        owned.set_bit(shard);
    }
    owned
}

/// The shards that one worker owns, and through them its entries and extension
/// blocks.
pub struct Owned<L: Zeroable, X: Zeroable, R: Zeroable> {
    entries: NonNull<L>,
    exts: NonNull<X>,
    entries_len: u32,
    exts_len: u32,
    records: NonNull<R>,
    numbers: NonNull<u32>,
    records_len: u32,
    numbers_len: u32,
    shards: ShardCount,
    /// One bit for each shard.
    bits: Box<[u64]>,
    set: Arc<Set<L, X, R>>,
}

// SAFETY: the pointers lead to elements of L, X and R, and to numbers, which only this value may
// reach (module doc), so sending it sends them.
unsafe impl<L: Zeroable + Send, X: Zeroable + Send, R: Zeroable + Send> Send for Owned<L, X, R> {}

impl<L: Zeroable, X: Zeroable, R: Zeroable> Owned<L, X, R> {
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

    /// Entries in the arena, of all owners.
    #[inline(always)]
    pub fn entry_count(&self) -> u32 {
        self.entries_len
    }

    /// Extension blocks in the arena, of all owners.
    #[inline(always)]
    pub fn ext_count(&self) -> u32 {
        self.exts_len
    }

    /// Usage records in the arena, of all owners.
    pub fn record_count(&self) -> u32 {
        self.records_len
    }

    /// Entries, blocks and records, to ask for their memory.
    pub fn memory(&self) -> [(crate::arena::Backing, usize); 3] {
        let Set {
            entries,
            exts,
            records,
            ..
        } = &*self.set;
        [
            (entries.backing(), entries.bytes()),
            (exts.backing(), exts.bytes()),
            (records.backing(), records.bytes()),
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

    /// Entry `index`, or none if it is out of range or its shard not owned here.
    #[inline(always)]
    pub fn entry_mut(&mut self, index: u32) -> Option<&mut L> {
        // SAFETY: in range and owned, so nobody else can hold a reference to
        // it, and `&mut self` keeps this owner from lending it twice.
        self.may_reach_entry(index)
            .then(|| unsafe { self.entries.add(index as usize).as_mut() })
    }

    /// Extension block `index`, or none if it is out of range or its shard not
    /// owned here.
    #[inline(always)]
    pub fn ext_mut(&mut self, index: u32) -> Option<&mut X> {
        // SAFETY: as in `entry_mut`.
        self.may_reach_ext(index)
            .then(|| unsafe { self.exts.add(index as usize).as_mut() })
    }

    /// Usage record `index`, or none if it is out of range or its shard not owned
    /// here.
    #[inline]
    pub fn record_mut(&mut self, index: u32) -> Option<&mut R> {
        let may = index < self.records_len && self.owns_index(index);
        // SAFETY: as in `entry_mut`.
        may.then(|| unsafe { self.records.add(index as usize).as_mut() })
    }

    /// Usage record `index` to be read, on the terms of [`Self::entry_mut`].
    #[inline]
    pub fn record(&self, index: u32) -> Option<&R> {
        let may = index < self.records_len && self.owns_index(index);
        // SAFETY: as in `entry`.
        may.then(|| unsafe { self.records.add(index as usize).as_ref() })
    }

    /// Where the number of an entry's record stands, on the terms of
    /// [`Self::entry_mut`].
    #[inline]
    pub fn number_mut(&mut self, entry: u32) -> Option<&mut u32> {
        let may = entry < self.numbers_len && self.owns_index(entry);
        // SAFETY: as in `entry_mut`: the number belongs to the entry's shard.
        may.then(|| unsafe { self.numbers.add(entry as usize).as_mut() })
    }

    /// The number of an entry's record, on the terms of [`Self::entry_mut`].
    #[inline]
    pub fn number(&self, entry: u32) -> Option<u32> {
        let may = entry < self.numbers_len && self.owns_index(entry);
        // SAFETY: as in `number_mut`; `&self` keeps this owner from writing.
        may.then(|| unsafe { self.numbers.add(entry as usize).read() })
    }

    /// An entry together with an extension block (of the same shard or another),
    /// or none if either is out of range or not owned here.
    #[inline(always)]
    pub fn entry_and_ext_mut(&mut self, entry: u32, ext: u32) -> Option<(&mut L, &mut X)> {
        if !(self.may_reach_entry(entry) && self.may_reach_ext(ext)) {
            return None;
        }
        // SAFETY: as in `entry_mut`; the two lie in different arenas.
        Some(unsafe {
            (
                self.entries.add(entry as usize).as_mut(),
                self.exts.add(ext as usize).as_mut(),
            )
        })
    }

    /// Entry `index` to be read, on the terms of [`Self::entry_mut`].
    #[inline(always)]
    pub fn entry(&self, index: u32) -> Option<&L> {
        // SAFETY: as in `entry_mut`; `&self` keeps this owner from writing.
        self.may_reach_entry(index)
            .then(|| unsafe { self.entries.add(index as usize).as_ref() })
    }

    /// Extension block `index` to be read, on the terms of [`Self::ext_mut`].
    #[inline(always)]
    pub fn ext(&self, index: u32) -> Option<&X> {
        // SAFETY: as in `entry`.
        self.may_reach_ext(index)
            .then(|| unsafe { self.exts.add(index as usize).as_ref() })
    }

    /// Brings entry `index` into the cache, all of it, to be written. No owner is
    /// asked for, since a hint changes nothing; out of range it does nothing.
    #[inline(always)]
    pub fn prefetch_entry(&self, index: u32) {
        if index < self.entries_len {
            let entry = self.entries.as_ptr().wrapping_add(index as usize);
            prefetch::hint_write_all(entry.cast(), size_of::<L>());
        }
    }

    /// As [`Self::prefetch_entry`], for an entry that will only be read.
    #[inline(always)]
    pub fn prefetch_entry_read(&self, index: u32) {
        if index < self.entries_len {
            let entry = self.entries.as_ptr().wrapping_add(index as usize);
            prefetch::hint_read_all(entry.cast(), size_of::<L>());
        }
    }

    /// As [`Self::prefetch_entry`], for an extension block.
    #[inline(always)]
    pub fn prefetch_ext(&self, index: u32) {
        if index < self.exts_len {
            let ext = self.exts.as_ptr().wrapping_add(index as usize);
            prefetch::hint_write_all(ext.cast(), size_of::<X>());
        }
    }

    /// As [`Self::prefetch_entry`], for the cache line of an extension block that has this octet.
    #[inline(always)]
    pub fn prefetch_ext_line(&self, index: u32, at: usize) {
        if index < self.exts_len && at < size_of::<X>() {
            let ext = self.exts.as_ptr().wrapping_add(index as usize);
            prefetch::hint_write(ext.cast::<u8>().wrapping_add(at));
        }
    }

    /// The same of a usage record, to be read.
    #[inline(always)]
    pub fn prefetch_record_line(&self, index: u32, at: usize) {
        if index < self.records_len && at < size_of::<R>() {
            let record = self.records.as_ptr().wrapping_add(index as usize);
            prefetch::hint_read(record.cast::<u8>().wrapping_add(at));
        }
    }

    /// Gives up `shard`; whoever accepts the returned value owns it then. None
    /// if it is not owned here.
    #[must_use = "a shard whose owner value is dropped can never be written again"]
    pub fn release(&mut self, shard: ShardId) -> Option<ShardOwner<L, X, R>> {
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
    pub fn accept(&mut self, owner: ShardOwner<L, X, R>) -> Result<(), ShardOwner<L, X, R>> {
        if !Arc::ptr_eq(&self.set, &owner.set) {
            return Err(owner);
        }
        self.set_bit(owner.shard);
        Ok(())
    }

    fn over(set: Arc<Set<L, X, R>>) -> Self {
        Self {
            entries: set.entries.base(),
            exts: set.exts.base(),
            entries_len: set.entries.len(),
            exts_len: set.exts.len(),
            records: set.records.base(),
            numbers: set.numbers.base(),
            records_len: set.records.len(),
            numbers_len: set.numbers.len(),
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
    fn may_reach_entry(&self, index: u32) -> bool {
        index < self.entries_len && self.owns_index(index)
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

impl<L: Zeroable, X: Zeroable, R: Zeroable> fmt::Debug for Owned<L, X, R> {
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
pub struct ShardOwner<L: Zeroable, X: Zeroable, R: Zeroable> {
    shard: ShardId,
    set: Arc<Set<L, X, R>>,
}

impl<L: Zeroable, X: Zeroable, R: Zeroable> ShardOwner<L, X, R> {
    /// Which shard.
    pub fn shard(&self) -> ShardId {
        self.shard
    }
}

impl<L: Zeroable, X: Zeroable, R: Zeroable> fmt::Debug for ShardOwner<L, X, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ShardOwner({})", self.shard)
    }
}

/// The arenas that belong together. Nobody borrows from it: elements are
/// reached through the owners' pointers.
struct Set<L: Zeroable, X: Zeroable, R: Zeroable> {
    entries: Arena<L>,
    exts: Arena<X>,
    records: Arena<R>,
    numbers: Arena<u32>,
    shards: ShardCount,
}

// SAFETY: sharing a Set gives no access to elements; those are sent between
// threads with their shards, hence L, X and R: Send.
unsafe impl<L: Zeroable + Send, X: Zeroable + Send, R: Zeroable + Send> Sync for Set<L, X, R> {}

#[cfg(test)]
mod tests;
