//! Allocation of packet identifiers: TEIDs and UE addresses, each with its session entry.

use crate::resources::address_pools::{PoolAddress, PoolKey};
use crate::resources::release::{Claim, Claims, pool_keys};
use crate::resources::resting_numbers::Holder;
use crate::resources::{Denied, Exhausted, NoAddress, Resources};
use crate::rules::{Endpoint, Families, Key, Origin, UeAddresses};
use core::num::NonZeroU64;
use sluice_datapath::ids::EntryId;
use sluice_datapath::limits::{BLOCK_CHAIN, SHARDS};
use sluice_datapath::lookup::exact_match::{ExactKey, ExactReader};
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
    /// CP-chosen entry; of one that the session has at another address of ours as well (`has_elsewhere`) the
    /// latter, as a slot is one endpoint's.
    pub fn named_teid(
        &mut self,
        shard: u32,
        (local, teid): (u8, u32),
        has_elsewhere: bool,
        now_s: u32,
        claims: &mut Claims,
    ) -> Result<Endpoint, Denied> {
        let slot = self.layout.up_teid(teid).filter(|_| !has_elsewhere);
        if let Some(slot) = slot {
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
        self.take_entry_of(instance, ue, Families::IPV4, claims)?;
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
            self.prefix_key((instance, ue), prefix, endpoint.entry, claims)?;
        }
        if let Some(address) = ue.ipv4 {
            self.nat_block(InstanceId(instance), endpoint.entry, address.into(), claims)?;
        }
        Ok(endpoint)
    }

    /// Packets find an entry by a UE's address, unless another session was given it.
    fn take_entry_of(
        &mut self,
        instance: u8,
        ue: &UeAddresses,
        families: Families,
        claims: &mut Claims,
    ) -> Result<(), Denied> {
        if self.are_behind(instance, &ue.of(families)) {
            return Err(Denied::InUse);
        }
        for key in pool_keys(instance, ue, families) {
            let is_own = ue.given.instance == instance && ue.given.families.has_all(families);
            if !is_own && self.addresses.is_given(key) {
                return Err(Denied::InUse);
            }
            self.addresses.take(key, Holder::Entry, claims)?;
        }
        Ok(())
    }

    /// Addresses of pools that a new session may be given: an IPv4 address, a prefix, or both. Nothing is taken yet.
    /// What decides where the session lives is chosen where a TEID is left.
    pub fn choose_addresses(
        &self,
        (instance, families): (u8, Families),
        identities: &[&[u8]],
        now_s: u32,
    ) -> Result<UeAddresses, NoAddress> {
        let mut ue = UeAddresses::default();
        ue.given.families = families;
        ue.given.instance = instance;
        let has_teid = |address| {
            let low = match address {
                PoolAddress::Ipv4(address) => address,
                PoolAddress::Ipv6(prefix) => prefix as u32,
            };
            self.has_teid(low % SHARDS, now_s)
        };
        let is_own = |address| !self.is_behind(instance, address);
        let wants_ipv4 = families.has_all(Families::IPV4);
        if wants_ipv4 {
            let of = (instance, true);
            let may = (&is_own, &has_teid);
            let chosen = self.addresses.choose(of, identities, now_s, may)?;
            if let PoolAddress::Ipv4(address) = chosen {
                ue.ipv4 = Some(address.into());
            }
        }
        if families.has_all(Families::IPV6) {
            let of = (instance, false);
            let is_at_home = |address| wants_ipv4 || has_teid(address);
            let may = (&is_own, &is_at_home);
            let chosen = self.addresses.choose(of, identities, now_s, may)?;
            if let PoolAddress::Ipv6(prefix) = chosen {
                ue.prefix = NonZeroU64::new(prefix);
            }
        }
        Ok(ue)
    }

    /// Pools that came later learn that a session has these addresses in a network instance.
    pub fn learn_addresses(&mut self, instance: u8, ue: &UeAddresses) {
        for key in pool_keys(instance, ue, ue.families()) {
            self.addresses.learn(key, Holder::Entry);
        }
    }

    /// Pools that came later learn which of a session's addresses it was given.
    pub fn learn_given(&mut self, ue: &UeAddresses) {
        for key in pool_keys(ue.given.instance, ue, ue.given.families) {
            self.addresses.learn(key, Holder::Session);
        }
    }

    /// A session is given what was chosen for it.
    pub fn give_addresses(
        &mut self,
        ue: &UeAddresses,
        claims: &mut Claims,
    ) -> Result<(), Exhausted> {
        let mut keys = pool_keys(ue.given.instance, ue, ue.given.families);
        keys.try_for_each(|key: PoolKey| self.addresses.take(key, Holder::Session, claims))
    }

    /// The first block of public ports, where the network instance is translated.
    fn nat_block(
        &mut self,
        instance: InstanceId,
        entry: EntryId,
        ue: u32,
        claims: &mut Claims,
    ) -> Result<(), Denied> {
        if !self.nat.translates(instance) {
            return Ok(());
        }
        self.nat.allot(instance, entry, ue)?;
        claims.push(Claim::Nat(entry)).map_err(|full| {
            self.nat.undo(entry);
            Denied::from(full)
        })
    }

    /// The key by which packets to a UE's IPv6 prefix find an entry.
    pub fn prefix_key(
        &mut self,
        (instance, ue): (u8, &UeAddresses),
        prefix: NonZeroU64,
        entry: EntryId,
        claims: &mut Claims,
    ) -> Result<(), Denied> {
        self.take_entry_of(instance, ue, Families::IPV6, claims)?;
        let key = self.known.ue_prefix(instance, prefix.get());
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

/// A group of blocks without an entry.
pub fn spare() -> Endpoint {
    endpoint(Key::Spare, 0, Origin::None)
}

pub(super) fn endpoint(key: Key, entry: u32, origin: Origin) -> Endpoint {
    Endpoint {
        key,
        entry: EntryId(entry),
        origin,
        blocks: [0; BLOCK_CHAIN],
        link_rules: false,
    }
}

pub(super) fn slot_endpoint(local: u8, teid: u32, slot: u32) -> Endpoint {
    endpoint(Key::Tunnel { local, teid }, slot, Origin::Slot)
}

/// What the path's table of identifiers that others chose has of an endpoint: a TEID, a UE's IPv4 address, a
/// UE's IPv6 prefix.
pub(super) fn exact_keys(
    known: &ExactReader,
    endpoint: &Endpoint,
    ue: &UeAddresses,
) -> impl Iterator<Item = ExactKey> + use<> {
    let is_foreign = endpoint.origin == Origin::Foreign;
    let keys = match endpoint.key {
        Key::Tunnel { local, teid } => [is_foreign.then(|| ExactKey::teid(local, teid)), None],
        Key::Ue { instance } => {
            let ipv4 = ue.ipv4.filter(|_| is_foreign);
            [
                ipv4.map(|address| ExactKey::ue(instance, address.into())),
                ue.prefix.map(|p| known.ue_prefix(instance, p.get())),
            ]
        }
        Key::Spare => [None; 2],
    };
    keys.into_iter().flatten()
}
