//! Session table layout: the map from TEIDs and UE addresses to entry numbers, fixed at start.
//!
//! ```text
//! 0 ........ endpoints-1 | pool 0 | pool 1 | ... | foreign
//! ```
//! Element i belongs to shard `i mod SHARDS`. A pool begins at an entry that is congruent to its
//! first address, so the shard of a UE is the low bits of its address, which a NIC can mask out;
//! the allocator picks TEID slots of the same shard.

use crate::ids::EntryId;
use crate::limits::{BLOCK_RULES, RECORD_RULES, SHARDS};
use crate::nat::pool::{NatPoolError, NatPools};
use core::fmt;
use core::net::Ipv4Addr;
use sluice_port::steer::{Field, Traffic};
use sluice_wire::ids::Teid;

/// The top bit marks TEIDs of our own making; others are looked up as foreign.
pub(crate) const UP_TEID_BIT: u32 = 1 << 31;

/// A network instance as the path knows it: an index given by configuration.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, PartialOrd, Ord)]
pub struct InstanceId(pub u8);

/// A UE address pool of one network instance.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pool {
    /// The network instance that downlink packets arrive in.
    pub instance: InstanceId,
    /// First address of the prefix.
    pub base: Ipv4Addr,
    /// Prefix length, 8 to 32.
    pub prefix_len: u8,
}

impl Pool {
    /// Addresses in the pool.
    pub fn addresses(&self) -> u32 {
        1 << (32 - u32::from(self.prefix_len))
    }

    fn mask(&self) -> u32 {
        !(self.addresses() - 1)
    }
}

/// IPv6 prefixes of UEs in a network instance that are found by their numbers, without a search.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PrefixPool {
    /// The network instance that downlink packets arrive in.
    pub instance: u8,
    /// Upper half of the first address; nothing is set behind `len`.
    pub base: u64,
    /// Prefix length, 40 to 64.
    pub len: u8,
}

impl PrefixPool {
    /// Prefixes of 64 bits in it.
    pub(crate) fn prefixes(&self) -> usize {
        1 << (64 - self.len.clamp(40, 64))
    }
}

/// A pool and its first entry.
#[derive(Clone, Copy, Debug)]
struct PlacedPool {
    instance: InstanceId,
    base: u32,
    mask: u32,
    first_entry: u32,
}

/// What cannot be laid out.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum LayoutError {
    /// Endpoints must be a power of two from `SHARDS` to 2^26.
    Endpoints(u32),
    /// Prefix length outside 8 to 32, or bits set behind the prefix.
    Pool(Pool),
    /// Two pools of one network instance share addresses.
    Overlap(Pool, Pool),
    /// More entries than 32 bits number.
    TooLarge,
    /// Translation.
    Nat(NatPoolError),
}

impl fmt::Display for LayoutError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Endpoints(n) => write!(
                f,
                "{n} tunnel endpoints: expected a power of two from {SHARDS} to {}",
                1u32 << 26
            ),
            Self::Pool(p) => write!(
                f,
                "pool {}/{}: expected a prefix of 8 to 32 bits without host bits",
                p.base, p.prefix_len
            ),
            Self::Overlap(a, b) => write!(
                f,
                "pools {}/{} and {}/{} overlap in one network instance",
                a.base, a.prefix_len, b.base, b.prefix_len
            ),
            Self::TooLarge => f.write_str("more than 2^32 entries"),
            Self::Nat(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for LayoutError {}

/// Cells of usage records that watch all rules of one extension block.
const CELLS_PER_BLOCK: u32 = BLOCK_RULES.div_ceil(RECORD_RULES) as u32;

/// Of all blocks: as many as there may be for endpoints.
const BLOCK_CELLS_MAX: u32 = 1 << 27;

/// The map. Read by every worker; never changes.
#[derive(Clone, Debug)]
pub struct Layout {
    slot_bits: u32,
    pools: Vec<PlacedPool>,
    foreign_first: u32,
    foreign_len: u32,
    /// Cells of usage records for rules in extension blocks.
    block_cells: u32,
    nat: NatPools,
    prefixes: Vec<PrefixPool>,
}

impl Layout {
    /// The same with usage records for the rules of so many extension blocks.
    pub fn with_blocks(self, blocks: u32) -> Self {
        let block_cells = blocks.saturating_mul(CELLS_PER_BLOCK);
        let block_cells = block_cells.min(BLOCK_CELLS_MAX).next_multiple_of(SHARDS);
        Self {
            block_cells,
            ..self
        }
    }

    /// The same with translated network instances.
    pub fn with_nat(self, nat: NatPools) -> Self {
        Self { nat, ..self }
    }

    /// The same with pools of IPv6 prefixes that are found by their numbers; those outside are searched for.
    pub fn with_prefixes(self, prefixes: Vec<PrefixPool>) -> Self {
        Self { prefixes, ..self }
    }

    /// Pools of IPv6 prefixes.
    pub fn prefixes(&self) -> &[PrefixPool] {
        &self.prefixes
    }

    /// Translation, where there is any.
    #[inline]
    pub fn nat(&self) -> &NatPools {
        &self.nat
    }

    /// `endpoints` own tunnel endpoints, the pools, and `foreign` entries for TEIDs and addresses
    /// that others chose outside all pools (rounded up to whole rounds of shards).
    pub fn new(endpoints: u32, pools: &[Pool], foreign: u32) -> Result<Self, LayoutError> {
        if !endpoints.is_power_of_two() || !(SHARDS..=1 << 26).contains(&endpoints) {
            return Err(LayoutError::Endpoints(endpoints));
        }
        check_pools(pools)?;
        let mut next = u64::from(endpoints);
        let mut placed = Vec::with_capacity(pools.len());
        for p in pools {
            let base = u32::from(p.base);
            let first = next + u64::from(base & (SHARDS - 1));
            placed.push(PlacedPool {
                instance: p.instance,
                base,
                mask: p.mask(),
                first_entry: u32::try_from(first).map_err(|_| LayoutError::TooLarge)?,
            });
            next = round_up(first + u64::from(p.addresses()));
        }
        let foreign = round_up(u64::from(foreign));
        let end = next + foreign;
        if end > 1 << 32 {
            return Err(LayoutError::TooLarge);
        }
        Ok(Self {
            slot_bits: endpoints.trailing_zeros(),
            pools: placed,
            foreign_first: next as u32,
            foreign_len: foreign as u32,
            block_cells: 0,
            nat: NatPools::default(),
            prefixes: Vec::new(),
        })
    }

    /// All entries.
    pub fn entries(&self) -> usize {
        self.foreign_first as usize + self.foreign_len as usize
    }

    /// Cells of usage records: two for each session that has a tunnel endpoint of ours, and those for rules in
    /// extension blocks.
    pub fn usage_records(&self) -> u32 {
        2 * self.endpoints() + self.block_cells
    }

    /// Own tunnel endpoints.
    pub fn endpoints(&self) -> u32 {
        1 << self.slot_bits
    }

    /// First entry and number of the entries for CP-chosen identifiers.
    pub fn foreign(&self) -> (u32, u32) {
        (self.foreign_first, self.foreign_len)
    }

    /// Bits of a TEID that are drawn afresh each time a slot is given.
    pub fn check_bits(&self) -> u32 {
        31 - self.slot_bits
    }

    /// The TEID of `slot` with `check` (its low [`check_bits`](Self::check_bits) count).
    pub fn teid(&self, slot: u32, check: u32) -> Option<Teid> {
        let check = check & ((1 << self.check_bits()) - 1);
        (slot < self.endpoints())
            .then(|| Teid::new(UP_TEID_BIT | check << self.slot_bits | slot))
            .flatten()
    }

    /// The entry of a TEID, if it has the form of our own.
    #[inline]
    pub fn up_teid(&self, teid: u32) -> Option<EntryId> {
        (teid & UP_TEID_BIT != 0).then_some(EntryId(teid & ((1 << self.slot_bits) - 1)))
    }

    /// G-PDUs with TEIDs of ours, as a port may see them: the low bits are the shard's.
    pub fn tunnels(&self, vlan: Option<u16>) -> Traffic {
        Traffic {
            field: Field::Teid,
            value: UP_TEID_BIT,
            mask: UP_TEID_BIT,
            vlan,
        }
    }

    /// Packets to UEs of an instance's pools, as a port may see them: the low bits are the shard's.
    pub fn pools(&self, instance: InstanceId, vlan: Option<u16>) -> impl Iterator<Item = Traffic> {
        let pools = self.pools.iter().filter(move |p| p.instance == instance);
        pools.map(move |pool| Traffic {
            field: Field::Destination,
            value: pool.base,
            mask: pool.mask,
            vlan,
        })
    }

    /// True if addresses from `first` to `last` are in a pool of an instance.
    pub fn meets_pool(&self, instance: InstanceId, first: u32, last: u32) -> bool {
        let mut pools = self.pools.iter().filter(|p| p.instance == instance);
        pools.any(|p| first <= p.base | !p.mask && p.base <= last)
    }

    /// The entry of a UE address inside a configured pool.
    #[inline]
    pub fn pool_entry(&self, instance: InstanceId, address: u32) -> Option<EntryId> {
        self.pools
            .iter()
            .find(|p| p.instance == instance && address & p.mask == p.base)
            .map(|p| EntryId(p.first_entry + (address - p.base)))
    }
}

fn check_pools(pools: &[Pool]) -> Result<(), LayoutError> {
    for (i, p) in pools.iter().enumerate() {
        if !(8..=32).contains(&p.prefix_len) || u32::from(p.base) & !p.mask() != 0 {
            return Err(LayoutError::Pool(*p));
        }
        let meets = |q: &&Pool| {
            let mask = p.mask() & q.mask();
            q.instance == p.instance && (u32::from(p.base) ^ u32::from(q.base)) & mask == 0
        };
        if let Some(q) = pools[..i].iter().find(meets) {
            return Err(LayoutError::Overlap(*q, *p));
        }
    }
    Ok(())
}

fn round_up(entries: u64) -> u64 {
    entries.next_multiple_of(u64::from(SHARDS))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pool(base: [u8; 4], prefix_len: u8) -> Pool {
        Pool {
            instance: InstanceId(1),
            base: base.into(),
            prefix_len,
        }
    }

    #[test]
    fn the_shard_of_a_pool_entry_is_the_low_bits_of_the_address() {
        let layout = Layout::new(
            4096,
            &[pool([10, 45, 3, 0], 24), pool([10, 60, 0, 0], 16)],
            10,
        )
        .unwrap();
        for a in [[10, 45, 3, 7], [10, 60, 200, 1]] {
            let a = u32::from_be_bytes(a);
            let entry = layout.pool_entry(InstanceId(1), a).unwrap();
            assert_eq!(entry.0 % SHARDS, a % SHARDS);
            assert!(entry.index() < layout.entries());
        }
        assert_eq!(layout.pool_entry(InstanceId(0), 0x0a3c_0001), None);
        assert_eq!(layout.pool_entry(InstanceId(1), 0x0b3c_0001), None);
    }

    #[test]
    fn a_teid_of_ours_leads_back_to_its_slot() {
        let layout = Layout::new(1 << 20, &[], 0).unwrap();
        let teid = layout.teid(77, 0x5ff).unwrap().get();
        assert_eq!(layout.up_teid(teid), Some(EntryId(77)));
        assert_eq!(layout.up_teid(77), None);
        assert_eq!(layout.teid(1 << 20, 0), None);
    }

    #[test]
    fn overlapping_pools_and_host_bits_are_refused() {
        let (a, b) = (pool([10, 0, 0, 0], 8), pool([10, 45, 0, 0], 16));
        assert_eq!(
            Layout::new(4096, &[a, b], 0).err(),
            Some(LayoutError::Overlap(a, b))
        );
        let host = pool([10, 45, 0, 1], 16);
        assert_eq!(
            Layout::new(4096, &[host], 0).err(),
            Some(LayoutError::Pool(host))
        );
    }

    #[test]
    fn pools_do_not_share_entries() {
        let layout = Layout::new(
            4096,
            &[pool([10, 45, 3, 0], 24), pool([10, 45, 4, 0], 24)],
            5000,
        )
        .unwrap();
        let last = layout.pool_entry(InstanceId(1), 0x0a2d_03ff).unwrap();
        let first = layout.pool_entry(InstanceId(1), 0x0a2d_0400).unwrap();
        assert!(first > last);
        assert_eq!(layout.foreign().1, 8192);
    }
}
