//! The session store.
//!
//! Of each session a head stands in one place for as long as it lives, which is half of its SEID;
//! the rest is a record that moves when it grows (`record`).

mod head;
mod index;
pub mod record;
pub mod span_alloc;

use crate::index::hash_index::Seeded;
use crate::index::slab::Slab;
use crate::limits::RECORD_GRANULES_PER_SESSION;
use crate::rules::{Endpoint, Rules, TunnelIpv4, UeAddresses};
use crate::session_sets::SetId;
use core::net::Ipv6Addr;
use head::{Head, NONE, SessionFlag, cp_of, halves, key_of};
use index::{CpKey, Index};
use record::RECORD_MAX;
use sluice_datapath::session::txn::Usage;
use span_alloc::{SpanAllocator, granules_for};
use std::collections::HashMap;

pub use head::{CpSession, Digits, NewSession, RequestHash, Session, SessionRef, User};

/// The sessions.
#[derive(Debug)]
pub struct Store {
    heads: Slab<Head>,
    records: SpanAllocator,
    /// By place: the IPv6 address of a CP F-SEID. Few have one.
    ipv6: HashMap<u32, Ipv6Addr, Seeded>,
    /// First session of each association, by its index.
    first: Vec<u32>,
    first_doomed: u32,
    by_cp: Index,
    /// Addresses that records leave out.
    known: TunnelIpv4,
    /// A record being written.
    scratch: Box<[u8; RECORD_MAX]>,
}

impl Store {
    /// Room for `sessions` sessions of `associations` associations.
    pub fn new(sessions: usize, associations: usize, hash: Seeded) -> Self {
        let granules = sessions.saturating_mul(RECORD_GRANULES_PER_SESSION);
        Self {
            heads: Slab::new(sessions),
            records: SpanAllocator::new(granules),
            ipv6: HashMap::with_hasher(hash),
            first: vec![NONE; associations],
            first_doomed: NONE,
            by_cp: Index::new(sessions, hash),
            known: TunnelIpv4::default(),
            scratch: Box::new([0; RECORD_MAX]),
        }
    }

    /// The session of an association that the CP function calls so.
    pub fn by_cp(&self, key: CpKey) -> Option<(SessionRef, Session)> {
        let Self {
            heads, ipv6, by_cp, ..
        } = self;
        let name = self.named(by_cp.find(key, |at| key_of(heads, ipv6, at))?)?;
        Some((name, self.get(name)?))
    }

    /// The CP function calls a session otherwise from now on.
    pub fn rename(&mut self, name: SessionRef, cp: CpSession) {
        let Some(old) = self.get(name).filter(|old| old.cp != cp) else {
            return;
        };
        self.by_cp.forget((old.association, old.cp), name.at);
        if let Some(head) = self.heads.get_mut(name.at) {
            (head.cp_seid, head.cp_ipv4) = (halves(cp.seid), cp.ipv4.map_or(0, u32::from));
            head.state.set(SessionFlag::IPV4, cp.ipv4.is_some());
            head.state.set(SessionFlag::IPV6, cp.ipv6.is_some());
        }
        self.call(name.at, (old.association, cp));
    }

    /// Whoever looks for the key finds this place.
    fn call(&mut self, at: u32, key: CpKey) {
        match key.1.ipv6 {
            Some(address) => {
                self.ipv6.insert(at, address);
            }
            // Nothing is hashed as long as there are none.
            None if self.ipv6.is_empty() => {}
            None => {
                self.ipv6.remove(&at);
            }
        }
        let Self {
            heads, ipv6, by_cp, ..
        } = self;
        by_cp.set(key, at, |at| key_of(heads, ipv6, at));
    }

    /// Sessions, counted with those that are being removed.
    pub fn len(&self) -> usize {
        self.heads.used()
    }

    /// Granules that the records of all sessions take.
    #[cfg(test)]
    pub fn record_granules(&self) -> usize {
        self.records.used()
    }

    /// Asks the caches for a session.
    pub fn prefetch(&self, name: SessionRef) {
        self.heads.prefetch_at(name.at);
    }

    /// Asks the caches for where it is looked up what the CP function calls a session.
    pub fn prefetch_cp(&self, key: CpKey) {
        self.by_cp.prefetch(key);
    }

    /// Asks the caches for the rules of a session.
    pub fn prefetch_rules(&self, name: SessionRef) {
        if let Some(head) = self.heads.get(name.at) {
            self.records.prefetch(head.record());
        }
    }

    /// Asks the caches for what else a session's end touches: its neighbours in its list, and where it is
    /// looked up.
    pub fn prefetch_end(&self, name: SessionRef) {
        if let Some(head) = self.heads.get(name.at) {
            self.heads.prefetch_at(head.previous);
            self.heads.prefetch_at(head.next);
            if let Some(key) = key_of(&self.heads, &self.ipv6, name.at) {
                self.by_cp.prefetch(key);
            }
        }
    }

    /// What packets of a session are found by, with its UE's addresses.
    pub fn endpoints_of(&self, name: SessionRef) -> (UeAddresses, impl Iterator<Item = Endpoint>) {
        record::endpoints(self.record(name))
    }

    /// The session sets of a session.
    pub fn sets_of(&self, name: SessionRef) -> impl Iterator<Item = SetId> {
        record::sets(self.record(name))
    }

    /// The meters of a session's URRs.
    pub fn meters_of(&self, name: SessionRef) -> impl Iterator<Item = u32> {
        record::meters(self.record(name))
    }

    fn record(&self, name: SessionRef) -> &[u8] {
        let head = self.heads.get(name.at);
        let head = head.filter(|head| head.check.get() == name.check);
        head.map_or(&[], |head| self.records.octets(head.record()))
    }

    fn head_of(&self, name: SessionRef) -> Option<&Head> {
        let head = self.heads.get(name.at)?;
        (head.check.get() == name.check && !head.is_doomed()).then_some(head)
    }

    /// A session that can be named.
    pub fn get(&self, name: SessionRef) -> Option<Session> {
        self.head_of(name).map(|head| self.session(name.at, head))
    }

    fn session(&self, at: u32, head: &Head) -> Session {
        Session {
            association: head.association,
            cp: cp_of(&self.ipv6, at, head),
            shard: head.state.shard(),
            stands: head.state.has(SessionFlag::STANDS),
            request: head.request,
        }
    }

    /// The path has carried the establishment of a session out.
    pub fn set_stands(&mut self, name: SessionRef) {
        if self.head_of(name).is_some()
            && let Some(head) = self.heads.get_mut(name.at)
        {
            head.state.set(SessionFlag::STANDS, true);
        }
    }

    /// The session in a place, if it can be named.
    pub fn named(&self, at: u32) -> Option<SessionRef> {
        let check = self.heads.get(at)?.check.get();
        let name = SessionRef { at, check };
        self.head_of(name).map(|_| name)
    }

    /// Places of sessions that were ever used.
    pub fn places(&self) -> u32 {
        self.heads.places()
    }

    /// Copies the rules of a session, also of one that is to be removed; none if it is not there.
    /// Gives the place of its FARs, for [`put_fars`](Self::put_fars).
    pub fn load(&self, name: SessionRef, rules: &mut Rules) -> usize {
        record::read(self.record(name), rules, &self.known)
    }

    /// Who the user of a session is.
    pub fn user(&self, name: SessionRef) -> User {
        record::read_user(self.record(name))
    }

    /// Usage of all rules since the establishment, uplink and downlink, as far as it was taken.
    pub fn usage(&self, name: SessionRef) -> [Usage; 2] {
        record::usage(self.record(name))
    }

    /// True if a session's rules (or none, for a new one) may be replaced by `rules`.
    pub fn has_room(&mut self, session: Option<SessionRef>, rules: &Rules) -> bool {
        let head = session.and_then(|name| self.head_of(name).copied());
        let has_place = head.is_some() || self.heads.has_room();
        let granules = granules_for(record::len_at_most(rules));
        if has_place && self.records.has_room(granules) {
            return true;
        }
        // Little is left: then it matters how long the record really is, so that rules can still be taken away.
        let Some((name, head)) = session.zip(head) else {
            return false;
        };
        let user = self.user(name);
        let len = record::write(&mut self.scratch[..], &user, rules, &self.known);
        granules_for(len) <= head.record().len() || self.records.has_room(granules_for(len))
    }

    /// A new session, if there [is room](Self::has_room).
    pub fn insert(&mut self, new: &NewSession, rules: &Rules) -> Option<SessionRef> {
        let NewSession {
            association,
            cp,
            check,
            ..
        } = *new;
        let at = self.heads.insert(Head::of(new)?)?;
        let name = SessionRef { at, check };
        record::set_usage(&mut self.scratch[..], Default::default());
        self.write(name, &new.user, rules);
        self.call(at, (association, cp));
        self.link(at);
        Some(name)
    }

    /// Replaces the rules of a session.
    pub fn put(&mut self, name: SessionRef, rules: &Rules) {
        let (user, usage) = (self.user(name), self.usage(name));
        record::set_usage(&mut self.scratch[..], usage);
        self.write(name, &user, rules);
    }

    fn write_fars(&mut self, name: SessionRef, rules: &Rules) -> Option<usize> {
        let run = self.head_of(name).map(Head::record);
        let Self {
            scratch, records, ..
        } = self;
        let record = run.map_or(&[][..], |run| records.octets(run));
        record::write_fars(&mut scratch[..], record, rules)
    }

    /// Replaces the FARs of a session; `rules` has no other change. `fars_at` is their place.
    pub fn put_fars(&mut self, name: SessionRef, rules: &Rules, fars_at: usize) {
        let len = self.write_fars(name, rules);
        let Some(run) = self.head_of(name).map(Head::record) else {
            return;
        };
        let Some(len) = len.filter(|len| run.len() == granules_for(fars_at + len)) else {
            return self.put(name, rules);
        };
        let record = self.records.octets_mut(run);
        let place = record.get_mut(fars_at..fars_at + len);
        if let (Some(place), Some(ways)) = (place, self.scratch.get(..len)) {
            place.copy_from_slice(ways);
        }
    }

    /// Writes a record behind the usage that stands in the scratch.
    fn write(&mut self, name: SessionRef, user: &User, rules: &Rules) {
        let Self {
            scratch,
            records,
            heads,
            known,
            ..
        } = self;
        known.learn(rules);
        let len = record::write(&mut scratch[..], user, rules, known);
        let Some(head) = heads.get_mut(name.at) else {
            return;
        };
        // Where there is no room for a shorter one the old one serves as well.
        if head.record().len() != granules_for(len)
            && let Some(run) = records.take(granules_for(len))
        {
            records.give(head.replace_record(run));
        }
        let record = records.octets_mut(head.record()).get_mut(..len);
        debug_assert!(record.is_some(), "the caller made sure of room");
        if let (Some(record), Some(written)) = (record, scratch.get(..len)) {
            record.copy_from_slice(written);
        }
    }

    /// Removes a session and its rules.
    pub fn remove(&mut self, name: SessionRef) {
        self.unlink(name.at);
        self.forget(name.at);
        if let Some(head) = self.heads.get(name.at) {
            self.records.give(head.record());
            self.heads.remove(name.at);
        }
    }

    /// Nobody finds the session by its F-SEID any more.
    fn forget(&mut self, at: u32) {
        if let Some(head) = self.heads.get(at) {
            let cp = cp_of(&self.ipv6, at, head);
            self.by_cp.forget((head.association, cp), at);
            if cp.ipv6.is_some() {
                self.ipv6.remove(&at);
            }
        }
    }

    /// Adds usage to a session's totals, if it still exists.
    pub fn add_usage(&mut self, name: SessionRef, uplink: bool, usage: Usage) {
        let Some(run) = self.head_of(name).map(Head::record) else {
            return;
        };
        let record = self.records.octets_mut(run);
        let mut both = record::usage(record);
        let sum = &mut both[usize::from(!uplink)];
        sum.bytes += usage.bytes;
        sum.packets += usage.packets;
        record::set_usage(record, both);
    }
}

#[cfg(test)]
mod tests;
