//! Exact-match table of CP-chosen F-TEIDs and of UE addresses outside of the pools: one writer,
//! many readers.
//!
//! Open addressing over pairs of atomics. A reader may see an entry a moment early or late; that
//! does no harm, because the owner of the entry checks the identity again.

use crate::ids::EntryId;
use crate::lookup::layout::PrefixPool;
use core::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use sluice_mem::arena::{Arena, ArenaError};
use sluice_mem::{prefetch, zeroable_struct};
use std::sync::Arc;

/// Entries looked at before a search gives up: with at most half of the places taken, longer runs
/// do not occur in practice; an insertion that meets one is refused.
const PROBES: usize = 64;

const EMPTY: u64 = 0;
const TOMB: u64 = u64::MAX;

/// Kind of the key of a UE's IPv6 prefix in a pool, which is its number there.
const POOL_PREFIX: u64 = 3 << 48;

/// A pool and the number of its first prefix.
#[derive(Clone, Copy, Debug)]
struct PlacedPrefixes {
    instance: u8,
    base: u64,
    mask: u64,
    first: u32,
}

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

    /// A UE's IPv6 prefix outside all pools in a network instance: by a fingerprint, since 64 bits and an instance are
    /// too many. The entry has all of it.
    #[inline]
    fn lone_prefix(instance: u8, prefix: u64) -> Self {
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

    /// A prefix behind a UE in a network instance: by a fingerprint of 62 bits. The entry's filters have all of it.
    #[inline]
    fn route(instance: u8, prefix: RoutePrefix) -> Self {
        let (bits, kind) = match prefix {
            RoutePrefix::Ipv4(address, len) => (u64::from(address) << 32, len),
            RoutePrefix::Ipv6(upper, len) => (upper, 64 + len),
        };
        let mix = |seed: u64| {
            let mixed = (seed ^ seed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
            mixed ^ mixed >> 31
        };
        let name = u64::from(instance) << 8 | u64::from(kind);
        let mixed = mix(bits.wrapping_add((name + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)));
        Self(0b10 << 62 | mixed >> 2)
    }

    /// The number of a prefix in a pool.
    #[inline(always)]
    fn pool_number(self) -> Option<u32> {
        (self.0 >> 48 == POOL_PREFIX >> 48).then_some(self.0 as u32)
    }

    fn is_in_up_range(self) -> bool {
        self.0 >> 48 == 1 && self.0 as u32 & crate::lookup::layout::UP_TEID_BIT != 0
    }
}

/// A prefix behind a UE; nothing is set behind its length.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum RoutePrefix {
    /// The address in host order, and a length of 1 to 32.
    Ipv4(u32, u8),
    /// The upper half of the address, and a length of 1 to 64.
    Ipv6(u64, u8),
}

impl RoutePrefix {
    /// So many leading bits of an IPv4 address.
    pub fn ipv4(address: u32, len: u8) -> Option<Self> {
        let mask = u32::MAX.checked_shl(32_u32.checked_sub(len.into())?)?;
        Some(Self::Ipv4(address & mask, len))
    }

    /// So many leading bits of an IPv6 address, by its upper half.
    pub fn ipv6(upper: u64, len: u8) -> Option<Self> {
        let mask = u64::MAX.checked_shl(64_u32.checked_sub(len.into())?)?;
        Some(Self::Ipv6(upper & mask, len))
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

zeroable_struct! {
    /// The entry of a prefix in a pool, and one; 0 is none.
    #[repr(C)]
    struct NumberedEntry {
        entry: AtomicU32,
    }
}

struct Table {
    /// Pools of IPv6 prefixes.
    pools: Vec<PlacedPrefixes>,
    /// By the numbers of their prefixes.
    of_pools: Arena<NumberedEntry>,
    /// On huge pages where there are any: what is looked up lies anywhere.
    entries: Arena<Entry>,
    live: AtomicUsize,
    shadows: AtomicUsize,
    /// Lengths of prefixes behind UEs that there are, bit l - 1 for a length l; of IPv4 and of IPv6.
    route_lens: [AtomicU64; 2],
}

/// The writer's end.
pub struct ExactWriter(Arc<Table>, RouteCounts);

/// How many prefixes behind UEs there are of each length.
#[derive(Debug)]
struct RouteCounts([[u32; 64]; 2]);

/// A reader's end.
#[derive(Clone)]
pub struct ExactReader(Arc<Table>);

/// The table has no place for the key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ExactTableFull;

/// A table for `capacity` keys beside the prefixes of `pools`, for which there is always room.
pub fn table(
    capacity: usize,
    pools: &[PrefixPool],
) -> Result<(ExactWriter, ExactReader), ArenaError> {
    let places = (capacity.max(32) * 2).next_power_of_two();
    let (pools, numbers) = place_pools(pools);
    let table = Arc::new(Table {
        pools,
        of_pools: Arena::new("sluice-prefixes", numbers.max(1))?,
        entries: Arena::new("sluice-foreign", places)?,
        live: AtomicUsize::new(0),
        shadows: AtomicUsize::new(0),
        route_lens: Default::default(),
    });
    let counts = RouteCounts([[0; 64]; 2]);
    Ok((ExactWriter(table.clone(), counts), ExactReader(table)))
}

/// The pools with the numbers of their first prefixes, and how many prefixes there are. Pools beyond the numbers that
/// fit are left out: their prefixes are searched for.
fn place_pools(pools: &[PrefixPool]) -> (Vec<PlacedPrefixes>, usize) {
    let mut numbers = 0_usize;
    let mut placed = Vec::with_capacity(pools.len());
    for pool in pools {
        let (first, mask) = (u32::try_from(numbers), !(pool.prefixes() as u64 - 1));
        let (Ok(first), true) = (first, pool.base & !mask == 0) else {
            continue;
        };
        placed.push(PlacedPrefixes {
            instance: pool.instance,
            base: pool.base,
            mask,
            first,
        });
        numbers += pool.prefixes();
    }
    (placed, numbers)
}

impl Table {
    #[inline(always)]
    fn numbered(&self, number: u32) -> Option<&AtomicU32> {
        let place = self.of_pools.as_slice().get(number as usize)?;
        Some(&place.entry)
    }

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
    /// True if no identifier is known that is searched for, so that the path need not ask.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.live.load(Ordering::Relaxed) == 0
    }

    /// True if some CP-chosen TEID has the form of our own, so that it must be asked for first.
    #[inline]
    pub fn has_cp_teid_in_up_range(&self) -> bool {
        self.0.shadows.load(Ordering::Relaxed) != 0
    }

    /// The key of a UE's IPv6 prefix, given by its 64 bits, in a network instance.
    #[inline(always)]
    pub fn ue_prefix(&self, instance: u8, prefix: u64) -> ExactKey {
        match self.pool_prefix(instance, prefix) {
            Some(key) => key,
            None => ExactKey::lone_prefix(instance, prefix),
        }
    }

    /// The same if it is in a pool.
    #[inline(always)]
    pub fn pool_prefix(&self, instance: u8, prefix: u64) -> Option<ExactKey> {
        let mut pools = self.0.pools.iter();
        let pool = pools.find(|p| p.instance == instance && prefix & p.mask == p.base)?;
        let number = pool.first + (prefix - pool.base) as u32;
        Some(ExactKey(POOL_PREFIX | u64::from(number)))
    }

    /// Fetches the place where a search for `key` begins.
    #[inline]
    pub fn prefetch(&self, key: ExactKey) {
        if let Some(number) = key.pool_number() {
            return self.0.numbered(number).into_iter().for_each(prefetch::read);
        }
        if let Some(entry) = self.0.entries().get(self.0.start(key.0)) {
            prefetch::read(entry);
        }
    }

    /// True if `key` is known. While none like it is, the table is not looked at, and so takes
    /// neither memory nor time.
    #[inline]
    pub fn knows(&self, key: ExactKey) -> bool {
        let is_searched = key.pool_number().is_none();
        let none = is_searched && self.is_empty()
            || key.is_in_up_range() && !self.has_cp_teid_in_up_range();
        !none && self.get(key).is_some()
    }

    /// The entry of `key`.
    #[inline]
    pub fn get(&self, key: ExactKey) -> Option<EntryId> {
        match key.pool_number() {
            Some(number) => {
                let found = self.0.numbered(number)?.load(Ordering::Acquire);
                found.checked_sub(1).map(EntryId)
            }
            None => self.search(key),
        }
    }

    #[inline]
    fn search(&self, key: ExactKey) -> Option<EntryId> {
        let entry = self.0.find(key.0)?;
        Some(EntryId(entry.entry.load(Ordering::Acquire) as u32))
    }
}

impl ExactReader {
    /// The entry of the longest prefix behind a UE that an IPv4 address lies in.
    pub fn route_ipv4(&self, instance: u8, address: u32) -> Option<EntryId> {
        let prefix = |len| RoutePrefix::ipv4(address, len);
        self.longest(0, instance, prefix)
    }

    /// The same of an IPv6 address, by its upper half.
    pub fn route_ipv6(&self, instance: u8, upper: u64) -> Option<EntryId> {
        let prefix = |len| RoutePrefix::ipv6(upper, len);
        self.longest(1, instance, prefix)
    }

    fn longest(
        &self,
        family: usize,
        instance: u8,
        prefix: impl Fn(u8) -> Option<RoutePrefix>,
    ) -> Option<EntryId> {
        let mut lens = self.0.route_lens[family].load(Ordering::Acquire);
        while lens != 0 {
            let top = 63 - lens.leading_zeros();
            let found = self.get(ExactKey::route(instance, prefix(top as u8 + 1)?));
            if found.is_some() {
                return found;
            }
            lens &= !(1 << top);
        }
        None
    }

    /// True if packets to a prefix behind a UE find an entry, or would find that of one with its fingerprint.
    pub fn knows_route(&self, instance: u8, prefix: RoutePrefix) -> bool {
        self.get(ExactKey::route(instance, prefix)).is_some()
    }
}

impl ExactWriter {
    /// Packets to a prefix behind a UE find an entry from now on.
    pub fn insert_route(
        &mut self,
        instance: u8,
        prefix: RoutePrefix,
        to: EntryId,
    ) -> Result<(), ExactTableFull> {
        self.insert(ExactKey::route(instance, prefix), to)?;
        self.count_route(prefix, 1);
        Ok(())
    }

    /// Packets to a prefix behind a UE find nothing any more.
    pub fn remove_route(&mut self, instance: u8, prefix: RoutePrefix) {
        if self.remove(ExactKey::route(instance, prefix)) {
            self.count_route(prefix, u32::MAX);
        }
    }

    /// `u32::MAX` takes one away.
    fn count_route(&mut self, prefix: RoutePrefix, by: u32) {
        let (family, len) = match prefix {
            RoutePrefix::Ipv4(_, len) => (0, len),
            RoutePrefix::Ipv6(_, len) => (1, len),
        };
        let bit = usize::from(len).wrapping_sub(1) % 64;
        let count = &mut self.1.0[family][bit];
        *count = count.wrapping_add(by);
        let before = self.0.route_lens[family].load(Ordering::Relaxed);
        let after = match *count {
            0 => before & !(1 << bit),
            _ => before | 1 << bit,
        };
        self.0.route_lens[family].store(after, Ordering::Release);
    }
}

impl ExactWriter {
    /// A reader's end.
    pub fn reader(&self) -> ExactReader {
        ExactReader(self.0.clone())
    }

    /// Maps `key` to an entry, replacing what was there.
    pub fn insert(&mut self, key: ExactKey, to: EntryId) -> Result<(), ExactTableFull> {
        if let Some(number) = key.pool_number() {
            let place = self.0.numbered(number).ok_or(ExactTableFull)?;
            place.store(to.0.wrapping_add(1), Ordering::Release);
            return Ok(());
        }
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
        if let Some(number) = key.pool_number() {
            let place = self.0.numbered(number);
            return place.is_some_and(|entry| entry.swap(0, Ordering::AcqRel) != 0);
        }
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
mod tests;
