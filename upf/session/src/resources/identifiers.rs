//! Allocation of packet identifiers: TEIDs and UE addresses, each with its session entry.

use super::claims::{Claim, Claims};
use super::endpoint::{endpoint, slot_endpoint};
use super::{Denied, Exhausted, Resources};
use crate::rules::{Endpoint, Key, Origin, UeAddresses};
use core::num::NonZeroU64;
use sluice_datapath::ids::EntryId;
use sluice_datapath::limits::SHARDS;
use sluice_datapath::lookup::exact_match::ExactKey;
use sluice_datapath::lookup::layout::InstanceId;

impl Resources {
    /// A TEID of ours in `shard`, different from the last of its slot and from every foreign one.
    pub fn new_teid(
        &mut self,
        shard: u32,
        local: u8,
        now_s: u32,
        claims: &mut Claims,
    ) -> Result<(u32, Endpoint), Exhausted> {
        let taken = self.slots.take(shard, now_s).ok_or(Exhausted)?;
        let slot = taken.place();
        let last = self.teids.get(slot).copied().unwrap_or(0);
        claims.push(Claim::Slot(taken, last))?;
        for _ in 0..16 {
            let check = self.random.next_u32();
            let Some(teid) = self.layout.teid(slot, check) else {
                break;
            };
            let teid = teid.get();
            if teid != last && !self.known.knows(ExactKey::teid(local, teid)) {
                self.set_teid(slot, teid);
                return Ok((teid, slot_endpoint(local, teid, slot)));
            }
        }
        Err(Exhausted)
    }

    /// A TEID that the CP function names: our own slot if it has that form and is free, else a
    /// CP-chosen entry.
    pub fn named_teid(
        &mut self,
        shard: u32,
        local: u8,
        teid: u32,
        now_s: u32,
        claims: &mut Claims,
    ) -> Result<Endpoint, Denied> {
        if let Some(slot) = self.layout.up_teid(teid) {
            if self.slots.is_used(slot.0) && self.teids.get(slot.0) == Some(&teid) {
                return Err(Denied::InUse);
            }
            let congruent = slot.0 % SHARDS == shard;
            let key = ExactKey::teid(local, teid);
            if congruent
                && !self.known.knows(key)
                && let Some(taken) = self.slots.take_named(slot.0)
            {
                let last = self.teids.get(slot.0).copied().unwrap_or(0);
                claims
                    .push(Claim::Slot(taken, last))
                    .map_err(Denied::from)?;
                self.set_teid(slot.0, teid);
                return Ok(slot_endpoint(local, teid, slot.0));
            }
        }
        let entry = self.foreign_entry(shard, ExactKey::teid(local, teid), now_s, claims)?;
        Ok(endpoint(
            Key::Tunnel { local, teid },
            entry,
            Origin::Foreign,
        ))
    }

    /// The entry of a session's UE addresses in a network instance.
    pub fn ue_entry(
        &mut self,
        shard: u32,
        instance: u8,
        ue: &UeAddresses,
        now_s: u32,
        claims: &mut Claims,
    ) -> Result<Endpoint, Denied> {
        let key = Key::Ue { instance };
        let endpoint = match ue.ipv4.map(u32::from) {
            None => endpoint(key, self.entry(shard, now_s, claims)?, Origin::Foreign),
            Some(address) if address % SHARDS != shard => return Err(Denied::OtherShard),
            Some(address) => match self.layout.pool_entry(InstanceId(instance), address) {
                Some(entry) => endpoint(key, self.pool_entry(entry, claims)?, Origin::Pool),
                None => {
                    let foreign = ExactKey::ue(instance, address);
                    let entry = self.foreign_entry(shard, foreign, now_s, claims)?;
                    endpoint(key, entry, Origin::Foreign)
                }
            },
        };
        if let Some(prefix) = ue.prefix {
            self.prefix_key(instance, prefix, endpoint.entry, claims)?;
        }
        Ok(endpoint)
    }

    /// The key by which packets to a UE's IPv6 prefix find an entry.
    pub fn prefix_key(
        &mut self,
        instance: u8,
        prefix: NonZeroU64,
        entry: EntryId,
        claims: &mut Claims,
    ) -> Result<(), Denied> {
        let key = ExactKey::ue_prefix(instance, prefix.get());
        if self.known.knows(key) {
            return Err(Denied::InUse);
        }
        self.key(key, entry, claims)
    }

    fn pool_entry(&mut self, entry: EntryId, claims: &mut Claims) -> Result<u32, Denied> {
        if self.pool.set(entry.0).ok_or(Denied::Exhausted)? {
            return Err(Denied::InUse);
        }
        claims.push(Claim::Pool(entry.0)).map_err(|full| {
            self.pool.clear(entry.0);
            Denied::from(full)
        })?;
        Ok(entry.0)
    }

    fn foreign_entry(
        &mut self,
        shard: u32,
        key: ExactKey,
        now_s: u32,
        claims: &mut Claims,
    ) -> Result<u32, Denied> {
        if self.known.knows(key) {
            return Err(Denied::InUse);
        }
        let entry = self.entry(shard, now_s, claims)?;
        self.key(key, EntryId(entry), claims)?;
        Ok(entry)
    }

    fn entry(&mut self, shard: u32, now_s: u32, claims: &mut Claims) -> Result<u32, Denied> {
        let taken = self.entries.take(shard, now_s).ok_or(Denied::Exhausted)?;
        claims.push(Claim::Entry(taken)).map_err(Denied::from)?;
        Ok(taken.place())
    }

    fn key(&mut self, key: ExactKey, entry: EntryId, claims: &mut Claims) -> Result<(), Denied> {
        let placed = self.foreign.insert(key, entry);
        placed.map_err(|_| Denied::Exhausted)?;
        claims.push(Claim::Key(key)).map_err(|full| {
            self.foreign.remove(key);
            Denied::from(full)
        })
    }
}
