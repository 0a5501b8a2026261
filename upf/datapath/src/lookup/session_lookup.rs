//! Session look-up: packet to session entry, from read-only tables.
//!
//! Every poller can do it; the owner checks it.

use crate::drop::DropReason;
use crate::ids::{EntryId, NO_WORKER, WorkerId};
use crate::limits::{SHARDS, STEERED_GROUP_BITS, WORKERS};
use crate::lookup::exact_match::{ExactKey, ExactReader};
use crate::lookup::layout::{InstanceId, Layout};
use crate::meta::{Arrival, Meta};
use crate::migration::protocol::Routes;
use sluice_mem::shard::ShardId;
use sluice_port::steer::dealt;

/// The tables that place packets.
#[derive(Clone)]
pub struct SessionLookup {
    /// Own TEIDs and pools.
    pub layout: Layout,
    /// TEIDs and addresses that others chose.
    pub foreign: ExactReader,
}

/// Fetches what [`place`] will look at, where that is a table.
#[inline]
pub fn prefetch_key(meta: &Meta, places: &SessionLookup) {
    let is_arithmetic = match meta.arrival {
        Arrival::Tunnel | Arrival::EndMarker => {
            places.layout.up_teid(meta.key).is_some() && !places.foreign.has_cp_teid_in_up_range()
        }
        Arrival::Plain => {
            let instance = InstanceId(meta.local);
            places.layout.pool_entry(instance, meta.key).is_some()
        }
        Arrival::PlainIpv6 => false,
        Arrival::Public => true,
    };
    if !is_arithmetic {
        places.foreign.prefetch(match meta.arrival {
            Arrival::Plain => ExactKey::ue(meta.local, meta.key),
            Arrival::PlainIpv6 => places.foreign.ue_prefix(meta.local, meta.prefix()),
            _ => ExactKey::teid(meta.local, meta.key),
        });
    }
}

/// Sets `meta.entry`, or says that nothing can have this identifier. Inlined wherever it stands: a call would keep
/// the meta in memory.
#[inline(always)]
pub fn place(meta: &mut Meta, places: &SessionLookup) -> Result<(), DropReason> {
    let entry = match meta.arrival {
        Arrival::Tunnel | Arrival::EndMarker => by_teid(meta, places),
        Arrival::Plain => by_ue_address(InstanceId(meta.local), meta.key, places),
        Arrival::PlainIpv6 => by_ue_prefix(meta.local, meta.prefix(), places),
        // Where it was found to be one.
        Arrival::Public => Ok(meta.entry),
    };
    meta.entry = entry?;
    Ok(())
}

#[inline(always)]
fn by_teid(meta: &Meta, places: &SessionLookup) -> Result<EntryId, DropReason> {
    if let Some(entry) = places.layout.up_teid(meta.key)
        && !places.foreign.has_cp_teid_in_up_range()
    {
        return Ok(entry);
    }
    foreign_teid(meta.local, meta.key, places)
}

/// Not by a reference to the meta, which would keep it in memory.
#[inline(never)]
fn foreign_teid(local: u8, key: u32, places: &SessionLookup) -> Result<EntryId, DropReason> {
    places
        .foreign
        .get(ExactKey::teid(local, key))
        .or_else(|| places.layout.up_teid(key))
        .ok_or(DropReason::UnknownTeid)
}

/// The entry of a UE's IPv4 address in a network instance.
#[inline(always)]
pub fn by_ue_address(
    instance: InstanceId,
    address: u32,
    places: &SessionLookup,
) -> Result<EntryId, DropReason> {
    match places.layout.pool_entry(instance, address) {
        Some(entry) => Ok(entry),
        None => foreign_ue(instance, address, places),
    }
}

#[inline(always)]
fn by_ue_prefix(instance: u8, prefix: u64, places: &SessionLookup) -> Result<EntryId, DropReason> {
    let in_pool = places.foreign.pool_prefix(instance, prefix);
    match in_pool.and_then(|key| places.foreign.get(key)) {
        Some(entry) => Ok(entry),
        None => foreign_prefix(instance, prefix, places),
    }
}

/// As [`foreign_teid`], not by a reference to the meta.
#[inline(never)]
fn foreign_prefix(
    instance: u8,
    prefix: u64,
    places: &SessionLookup,
) -> Result<EntryId, DropReason> {
    places
        .foreign
        .get(places.foreign.ue_prefix(instance, prefix))
        .or_else(|| places.foreign.route_ipv6(instance, prefix))
        .ok_or(DropReason::UnknownUe)
}

#[inline(never)]
fn foreign_ue(
    instance: InstanceId,
    address: u32,
    places: &SessionLookup,
) -> Result<EntryId, DropReason> {
    places
        .foreign
        .get(ExactKey::ue(instance.0, address))
        .or_else(|| places.foreign.route_ipv4(instance.0, address))
        .ok_or(DropReason::UnknownUe)
}

/// Of the number of a group of shards that a port can steer.
const BITS: u32 = STEERED_GROUP_BITS[0];

// It stays in the first-level cache.
const _: () = assert!(size_of::<[WorkerId; SHARDS as usize]>() == 4096);

/// This producer's copy of who owns which shard: 4 KiB.
#[derive(Clone, Debug)]
pub struct OwnerTable(Box<[WorkerId; SHARDS as usize]>);

impl OwnerTable {
    /// The shards dealt out evenly to `workers` workers (at least one, at most `WORKERS`), whole
    /// groups of those that a port can steer.
    pub fn dealt(workers: usize) -> Self {
        let workers = workers.clamp(1, WORKERS);
        let mut table = Box::new([NO_WORKER; SHARDS as usize]);
        for (shard, owner) in table.iter_mut().enumerate() {
            *owner = WorkerId::at(dealt(shard as u32 % (1 << BITS), BITS, workers));
        }
        Self(table)
    }

    /// The owner of the shard of element `index`.
    #[inline]
    pub fn of_index(&self, index: u32) -> WorkerId {
        self.0[(index % SHARDS) as usize]
    }

    /// The owner of a shard.
    #[inline]
    pub fn of(&self, shard: ShardId) -> WorkerId {
        self.of_index(u32::from(shard.0))
    }
}

impl Routes for OwnerTable {
    fn set(&mut self, shard: ShardId, to: WorkerId) {
        self.0[usize::from(shard.0) % SHARDS as usize] = to;
    }
}
