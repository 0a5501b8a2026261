//! Exact-match table of CP-chosen F-TEIDs and of UE addresses outside of the pools: one writer,
//! many readers.
//!
//! Open addressing over pairs of atomics. A reader may see an entry a moment early or late; that
//! does no harm, because the owner of the entry checks the identity again.

use crate::ids::EntryId;
use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use sluice_mem::arena::{Arena, ArenaError};
use sluice_mem::{prefetch, zeroable_struct};
use std::sync::Arc;

/// Entries looked at before a search gives up: with at most half of the places taken, longer runs
/// do not occur in practice; an insertion that meets one is refused.
const PROBES: usize = 64;

const EMPTY: u64 = 0;
const TOMB: u64 = u64::MAX;

/// What is looked up: never 0 and never all ones by construction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ExactKey(u64);

impl ExactKey {
    /// A TEID at the local address number `local`.
    #[inline]
    pub fn teid(local: u8, teid: u32) -> Self {
        Self(1 << 48 | u64::from(local) << 32 | u64::from(teid))
    }

    /// A UE address in a network instance.
    #[inline]
    pub fn ue(instance: u8, address: u32) -> Self {
        Self(2 << 48 | u64::from(instance) << 32 | u64::from(address))
    }

    /// A UE's IPv6 prefix in a network instance: by a fingerprint, since 64 bits and an instance are too
    /// many. The entry has all of it.
    #[inline]
    pub fn ue_prefix(instance: u8, prefix: u64) -> Self {
        // The finalizer of SplitMix64, which is one to one: instances are told apart by what is added.
        let seed =
            prefix.wrapping_add((u64::from(instance) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let mixed = (seed ^ seed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        let fingerprint = (mixed ^ mixed >> 31) & ((1 << 62) - 1);
        // All ones is a mark of the table.
        Self(
            0b11 << 62
                | if fingerprint == (1 << 62) - 1 {
                    0
                } else {
                    fingerprint
                },
        )
    }

    fn is_in_up_range(self) -> bool {
        self.0 >> 48 == 1 && self.0 as u32 & crate::lookup::layout::UP_TEID_BIT != 0
    }
}

zeroable_struct! {
    /// Without key, at the start.
    #[repr(C)]
    struct Entry {
        key: AtomicU64,
        entry: AtomicU64,
    }
}

struct Table {
    /// On huge pages where there are any: what is looked up lies anywhere.
    entries: Arena<Entry>,
    live: AtomicUsize,
    shadows: AtomicUsize,
}

/// The writer's end.
pub struct ExactWriter(Arc<Table>);

/// A reader's end.
#[derive(Clone)]
pub struct ExactReader(Arc<Table>);

/// The table has no place for the key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ExactTableFull;

/// A table for `capacity` keys.
pub fn table(capacity: usize) -> Result<(ExactWriter, ExactReader), ArenaError> {
    let places = (capacity.max(32) * 2).next_power_of_two();
    let table = Arc::new(Table {
        entries: Arena::new("sluice-foreign", places)?,
        live: AtomicUsize::new(0),
        shadows: AtomicUsize::new(0),
    });
    Ok((ExactWriter(table.clone()), ExactReader(table)))
}

impl Table {
    #[inline]
    fn entries(&self) -> &[Entry] {
        self.entries.as_slice()
    }

    fn start(&self, key: u64) -> usize {
        // Fibonacci hashing: the top bits of the product are well mixed.
        let mixed = (key ^ key >> 29).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed >> 32) as usize & (self.entries().len() - 1)
    }

    fn probe(&self, key: u64) -> impl Iterator<Item = &Entry> {
        let start = self.start(key);
        (0..PROBES.min(self.entries().len()))
            .map(move |i| &self.entries()[(start + i) & (self.entries().len() - 1)])
    }

    fn place_of(&self, entry: &Entry) -> usize {
        let from_start = core::ptr::from_ref(entry).addr() - self.entries().as_ptr().addr();
        from_start / size_of::<Entry>()
    }

    fn find(&self, key: u64) -> Option<&Entry> {
        for entry in self.probe(key) {
            match entry.key.load(Ordering::Acquire) {
                EMPTY => return None,
                k if k == key => return Some(entry),
                _ => {}
            }
        }
        None
    }
}

impl ExactReader {
    /// True if no CP-chosen identifier is known, so that the path need not ask.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.live.load(Ordering::Relaxed) == 0
    }

    /// True if some CP-chosen TEID has the form of our own, so that it must be asked for first.
    #[inline]
    pub fn has_cp_teid_in_up_range(&self) -> bool {
        self.0.shadows.load(Ordering::Relaxed) != 0
    }

    /// Fetches the place where a search for `key` begins.
    #[inline]
    pub fn prefetch(&self, key: ExactKey) {
        if let Some(entry) = self.0.entries().get(self.0.start(key.0)) {
            prefetch::read(entry);
        }
    }

    /// True if `key` is known. While none like it is, the table is not looked at, and so takes
    /// neither memory nor time.
    #[inline]
    pub fn knows(&self, key: ExactKey) -> bool {
        let none = self.is_empty() || key.is_in_up_range() && !self.has_cp_teid_in_up_range();
        !none && self.get(key).is_some()
    }

    /// The entry of `key`.
    #[inline]
    pub fn get(&self, key: ExactKey) -> Option<EntryId> {
        let entry = self.0.find(key.0)?;
        Some(EntryId(entry.entry.load(Ordering::Acquire) as u32))
    }
}

impl ExactWriter {
    /// A reader's end.
    pub fn reader(&self) -> ExactReader {
        ExactReader(self.0.clone())
    }

    /// Maps `key` to an entry, replacing what was there.
    pub fn insert(&mut self, key: ExactKey, to: EntryId) -> Result<(), ExactTableFull> {
        if let Some(entry) = self.0.find(key.0) {
            entry.entry.store(u64::from(to.0), Ordering::Release);
            return Ok(());
        }
        let free = |e: &&Entry| matches!(e.key.load(Ordering::Relaxed), EMPTY | TOMB);
        let entry = self.0.probe(key.0).find(free).ok_or(ExactTableFull)?;
        entry.entry.store(u64::from(to.0), Ordering::Relaxed);
        entry.key.store(key.0, Ordering::Release);
        self.count(key, 1);
        Ok(())
    }

    /// Forget `key`; true if it was known.
    pub fn remove(&mut self, key: ExactKey) -> bool {
        let Some(entry) = self.0.find(key.0) else {
            return false;
        };
        // A run may lead on behind this place, so it stays marked; inserts use it again.
        entry.key.store(TOMB, Ordering::Release);
        let at = self.0.place_of(entry);
        self.count(key, usize::MAX);
        self.clear_marks(at);
        true
    }

    /// One writer, so load and store suffice; `usize::MAX` takes one away.
    fn count(&self, key: ExactKey, by: usize) {
        let add = |counter: &AtomicUsize| {
            let n = counter.load(Ordering::Relaxed).wrapping_add(by);
            counter.store(n, Ordering::Release);
        };
        add(&self.0.live);
        if key.is_in_up_range() {
            add(&self.0.shadows);
        }
    }

    /// A mark with nothing behind it leads nowhere: it can go, and so those before it. So no mark
    /// ever stands before an empty place, and none is left when the last key has gone. Each mark is
    /// cleared once, and a reader that comes by sees a search end that would end in vain.
    fn clear_marks(&mut self, last: usize) {
        let mask = self.0.entries().len() - 1;
        let key = |at: usize| &self.0.entries()[at & mask].key;
        let is = |at: usize, what: u64| key(at).load(Ordering::Relaxed) == what;
        let mut at = last;
        while is(at, TOMB) && is(at.wrapping_add(1), EMPTY) {
            key(at).store(EMPTY, Ordering::Release);
            at = at.wrapping_sub(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;

    #[test]
    fn a_foreign_teid_of_our_form_is_announced() {
        let (mut w, r) = table(8).unwrap();
        w.insert(ExactKey::teid(0, 5), EntryId(1)).unwrap();
        w.insert(ExactKey::ue(0, 0xc0a8_0001), EntryId(1)).unwrap();
        assert!(!r.has_cp_teid_in_up_range());
        w.insert(ExactKey::teid(0, 0x8000_0005), EntryId(1))
            .unwrap();
        assert!(r.has_cp_teid_in_up_range());
        w.remove(ExactKey::teid(0, 0x8000_0005));
        assert!(!r.has_cp_teid_in_up_range());
    }

    #[test]
    fn a_full_probe_run_refuses() {
        let (mut w, _) = table(8).unwrap();
        let refused = (1..200)
            .filter(|&t| w.insert(ExactKey::teid(0, t), EntryId(t)).is_err())
            .count();
        assert_eq!(refused, 199 - 64);
    }

    fn marks(w: &ExactWriter) -> usize {
        let taken = |e: &&Entry| e.key.load(Ordering::Relaxed) != EMPTY;
        w.0.entries().iter().filter(taken).count()
    }

    #[test]
    fn the_last_key_that_goes_touches_its_own_run_alone_and_leaves_no_mark() {
        let (mut w, r) = table(64).unwrap();
        for t in 1..60 {
            w.insert(ExactKey::teid(0, t), EntryId(t)).unwrap();
        }
        // Whatever the order, what is left are the live keys and marks between them.
        for t in (1..60).step_by(2).chain((2..60).step_by(2)) {
            assert!(w.remove(ExactKey::teid(0, t)));
            for left in 1..60 {
                let known = r.get(ExactKey::teid(0, left)).is_some();
                let gone = left % 2 == 1 && (t % 2 == 0 || left <= t)
                    || left % 2 == 0 && t % 2 == 0 && left <= t;
                assert_eq!(known, !gone, "{left} after {t}");
            }
        }
        assert_eq!(marks(&w), 0);
    }

    proptest! {
        #[test]
        fn behaves_like_a_map(ops in prop::collection::vec((any::<bool>(), 1u32..64, any::<u32>()), 1..400)) {
            let (mut w, r) = table(64).unwrap();
            let mut model = HashMap::new();
            for (add, teid, entry) in ops {
                let key = ExactKey::teid(3, teid);
                if add {
                    w.insert(key, EntryId(entry)).unwrap();
                    model.insert(teid, entry);
                } else {
                    prop_assert_eq!(w.remove(key), model.remove(&teid).is_some());
                }
                for t in 1..64 {
                    prop_assert_eq!(r.get(ExactKey::teid(3, t)), model.get(&t).copied().map(EntryId));
                }
                prop_assert_eq!(r.is_empty(), model.is_empty());
            }
        }
    }
}
