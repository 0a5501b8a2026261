//! Sharded tables, each shard with one owner that may write.
//!
//! Two arenas belong together: the *entries*, one element per slot, and the
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
//! An entry cannot outlive the right to it:
//! ```compile_fail
//! # use sluice_mem::{arena::Arena, shard::{self, ShardCount, ShardId}};
//! # let arena = || Arena::<u64>::new("doc", 8).unwrap();
//! # let mut owned = shard::create(arena(), arena(), ShardCount::DEFAULT);
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

/// Divides the two arenas into shards, all owned by the one returned.
pub fn create<L, X>(entries: Arena<L>, exts: Arena<X>, shards: ShardCount) -> Owned<L, X>
where
    L: Zeroable + Send,
    X: Zeroable + Send,
{
    let mut owned = Owned::over(Arc::new(Set {
        entries,
        exts,
        shards,
    }));
    for shard in shards.all() {
        owned.set_bit(shard);
    }
    owned
}

/// The shards that one worker owns, and through them its entries and extension
/// blocks.
pub struct Owned<L: Zeroable, X: Zeroable> {
    entries: NonNull<L>,
    exts: NonNull<X>,
    entries_len: u32,
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

    /// The two arenas, to ask for their memory.
    pub fn memory(&self) -> [(crate::arena::Backing, usize); 2] {
        let Set { entries, exts, .. } = &*self.set;
        [
            (entries.backing(), entries.bytes()),
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
            entries: set.entries.base(),
            exts: set.exts.base(),
            entries_len: set.entries.len(),
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
    entries: Arena<L>,
    exts: Arena<X>,
    shards: ShardCount,
}

// SAFETY: sharing a Set gives no access to elements; those are sent between
// threads with their shards, hence L: Send and X: Send.
unsafe impl<L: Zeroable + Send, X: Zeroable + Send> Sync for Set<L, X> {}

#[cfg(test)]
mod tests;
