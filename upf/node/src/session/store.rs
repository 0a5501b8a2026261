//! All sessions: who they belong to, and their rules.

use crate::session::hash::Seeded;
use crate::session::limits::RULES_PER_SESSION;
use crate::session::rules::{Endpoint, Far, Pdr, Qer, Rules, Urr};
use crate::session::slab::{Chain, Slab};
use arrayvec::ArrayString;
use core::net::{Ipv4Addr, Ipv6Addr};
use sluice_n4::AssociationId;
use sluice_path::txn::Usage;
use sluice_wire::ids::Seid;
use std::collections::HashMap;

/// A session.
#[derive(Clone, Copy, Debug)]
pub struct Session {
    /// Upper half of the UP SEID; 0 in a vacant place.
    pub check: u32,
    /// Whose session it is.
    pub association: AssociationId,
    /// The session at the CP function.
    pub cp: CpSession,
    /// Where all its lines and blocks lie.
    pub shard: u16,
    /// It is to be removed; nobody can name it any more.
    pub doomed: bool,
    /// The path has carried its establishment out.
    pub stands: bool,
    /// Hash of the request that established it, so that the request is known when it comes again.
    pub request: u64,
    /// Who the user is.
    pub user: User,
    /// Usage of all rules since the establishment, uplink and downlink, as far as it was taken.
    pub usage: [Usage; 2],
    pdrs: Chain,
    fars: Chain,
    qers: Chain,
    urrs: Chain,
    endpoints: Chain,
    previous: u32,
    next: u32,
}

/// CP F-SEID.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct CpSession {
    /// Its SEID.
    pub seid: Seid,
    /// Its IPv4 address.
    pub ipv4: Option<Ipv4Addr>,
    /// Its IPv6 address.
    pub ipv6: Option<Ipv6Addr>,
}

/// User ID, as far as it is shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct User {
    /// IMSI, digits.
    pub imsi: Digits,
    /// MSISDN, digits.
    pub msisdn: Digits,
}

/// Up to 15 digits (ITU-T E.164, E.212).
pub type Digits = ArrayString<15>;

/// No session.
const NONE: u32 = u32::MAX;

/// Names a session from inside: its place and check, so that a place's next user is told apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SessionRef {
    /// The place.
    pub at: u32,
    /// The check.
    pub check: u32,
}

impl SessionRef {
    /// From a SEID of ours.
    pub fn from_seid(seid: Seid) -> Self {
        Self {
            at: seid.0 as u32,
            check: (seid.0 >> 32) as u32,
        }
    }

    /// The UP SEID.
    pub fn seid(self) -> Seid {
        Seid(u64::from(self.check) << 32 | u64::from(self.at))
    }
}

/// The sessions.
#[derive(Debug)]
pub struct Store {
    sessions: Slab<Session>,
    pdrs: Slab<Pdr>,
    fars: Slab<Far>,
    qers: Slab<Qer>,
    urrs: Slab<Urr>,
    endpoints: Slab<Endpoint>,
    /// First session of each association, by its index.
    first: Vec<u32>,
    first_doomed: u32,
    /// By association and F-SEID at the CP function: the place.
    by_cp: HashMap<(AssociationId, CpSession), u32, Seeded>,
}

impl Store {
    /// Room for `sessions` sessions of `associations` associations.
    pub fn new(sessions: usize, associations: usize, hash: Seeded) -> Self {
        let rules = sessions.saturating_mul(RULES_PER_SESSION);
        Self {
            sessions: Slab::new(sessions),
            pdrs: Slab::new(rules),
            fars: Slab::new(rules),
            qers: Slab::new(rules),
            urrs: Slab::new(rules),
            endpoints: Slab::new(rules),
            first: vec![NONE; associations],
            first_doomed: NONE,
            by_cp: HashMap::with_capacity_and_hasher(sessions, hash),
        }
    }

    /// The session of an association that the CP function calls so.
    pub fn by_cp(&self, key: (AssociationId, CpSession)) -> Option<(SessionRef, &Session)> {
        let name = self.named(*self.by_cp.get(&key)?)?;
        Some((name, self.get(name)?))
    }

    /// The CP function calls a session otherwise from now on.
    pub fn rename(&mut self, name: SessionRef, cp: CpSession) {
        let Some(old) = self.get(name).map(|s| (s.association, s.cp)) else {
            return;
        };
        if old.1 != cp {
            self.forget_cp(old, name.at);
            self.by_cp.insert((old.0, cp), name.at);
        }
        if let Some(session) = self.get_mut(name) {
            session.cp = cp;
        }
    }

    fn forget_cp(&mut self, key: (AssociationId, CpSession), at: u32) {
        if self.by_cp.get(&key) == Some(&at) {
            self.by_cp.remove(&key);
        }
    }

    /// Sessions, those not counted that are being removed.
    pub fn len(&self) -> usize {
        self.sessions.used()
    }

    /// Asks the caches for a session.
    pub fn prefetch(&self, name: SessionRef) {
        self.sessions.prefetch_at(name.at);
    }

    /// Asks the caches for the rules of a session.
    pub fn prefetch_rules(&self, session: &Session) {
        self.pdrs.prefetch(session.pdrs);
        self.fars.prefetch(session.fars);
        self.qers.prefetch(session.qers);
        self.urrs.prefetch(session.urrs);
        self.endpoints.prefetch(session.endpoints);
    }

    /// The URRs of a session.
    pub fn urrs_of(&self, session: &Session) -> impl Iterator<Item = &Urr> {
        self.urrs.iter(session.urrs)
    }

    /// A session that can be named.
    pub fn get(&self, name: SessionRef) -> Option<&Session> {
        let session = self.sessions.get(name.at)?;
        (name.check != 0 && session.check == name.check && !session.doomed).then_some(session)
    }

    /// A session that can be named.
    pub fn get_mut(&mut self, name: SessionRef) -> Option<&mut Session> {
        let session = self.sessions.get_mut(name.at)?;
        (name.check != 0 && session.check == name.check && !session.doomed).then_some(session)
    }

    /// The session in a place, if it can be named.
    pub fn named(&self, at: u32) -> Option<SessionRef> {
        let check = self.sessions.get(at)?.check;
        let name = SessionRef { at, check };
        self.get(name).map(|_| name)
    }

    /// The FARs of a session.
    pub fn fars(&self, name: SessionRef) -> impl Iterator<Item = &Far> {
        let session = self.get(name).into_iter();
        session.flat_map(|s| self.fars.iter(s.fars))
    }

    /// The PDRs of a session.
    pub fn pdrs(&self, name: SessionRef) -> impl Iterator<Item = &Pdr> {
        let session = self.get(name).into_iter();
        session.flat_map(|s| self.pdrs.iter(s.pdrs))
    }

    /// The endpoints of a session.
    pub fn endpoints(&self, name: SessionRef) -> impl Iterator<Item = &Endpoint> {
        let session = self.get(name).into_iter();
        session.flat_map(|s| self.endpoints.iter(s.endpoints))
    }

    /// Places of sessions that were ever used.
    pub fn places(&self) -> u32 {
        self.sessions.places()
    }

    /// Changes the FARs of a session one by one.
    pub fn each_far(&mut self, name: SessionRef, change: impl FnMut(&mut Far)) {
        if let Some(fars) = self.get(name).map(|s| s.fars) {
            self.fars.each_mut(fars, change);
        }
    }

    /// Copies the rules of a session.
    pub fn load(&self, session: &Session, rules: &mut Rules) {
        rules.clear();
        // The lists lie apart: what the caches lack of them is fetched at once.
        self.prefetch_rules(session);
        rules.pdrs.extend(self.pdrs.iter(session.pdrs).copied());
        rules.fars.extend(self.fars.iter(session.fars).copied());
        rules.qers.extend(self.qers.iter(session.qers).copied());
        rules.urrs.extend(self.urrs.iter(session.urrs).copied());
        let endpoints = self.endpoints.iter(session.endpoints);
        rules.endpoints.extend(endpoints.copied());
    }

    /// True if a session's rules (or none, for a new one) may be replaced by `rules`.
    pub fn has_room(&self, session: Option<&Session>, rules: &Rules) -> bool {
        let old = |chain: fn(&Session) -> Chain| session.map_or(Chain::EMPTY, chain);
        (session.is_some() || self.sessions.has_room(Chain::EMPTY, 1))
            && self.pdrs.has_room(old(|s| s.pdrs), rules.pdrs.len())
            && self.fars.has_room(old(|s| s.fars), rules.fars.len())
            && self.qers.has_room(old(|s| s.qers), rules.qers.len())
            && self.urrs.has_room(old(|s| s.urrs), rules.urrs.len())
            && self
                .endpoints
                .has_room(old(|s| s.endpoints), rules.endpoints.len())
    }

    /// A new session without rules. `check` is not 0.
    pub fn insert(
        &mut self,
        association: AssociationId,
        cp: CpSession,
        (shard, check): (u32, u32),
        request: u64,
    ) -> Option<SessionRef> {
        let session = Session {
            check,
            association,
            cp,
            shard: shard as u16,
            doomed: false,
            stands: false,
            request,
            user: User::default(),
            usage: Default::default(),
            pdrs: Chain::EMPTY,
            fars: Chain::EMPTY,
            qers: Chain::EMPTY,
            urrs: Chain::EMPTY,
            endpoints: Chain::EMPTY,
            previous: NONE,
            next: NONE,
        };
        let at = self.sessions.insert(session)?;
        self.by_cp.insert((association, cp), at);
        self.link(at);
        Some(SessionRef { at, check })
    }

    /// Replaces the rules of a session.
    pub fn put(&mut self, name: SessionRef, old: &Rules, new: &Rules) {
        let Some(session) = self.sessions.get_mut(name.at) else {
            return;
        };
        // Most messages change rules of one kind: what stays is not written.
        if old.pdrs != new.pdrs {
            self.pdrs.replace(&mut session.pdrs, &new.pdrs);
        }
        if old.fars != new.fars {
            self.fars.replace(&mut session.fars, &new.fars);
        }
        if old.qers != new.qers {
            self.qers.replace(&mut session.qers, &new.qers);
        }
        if old.urrs != new.urrs {
            self.urrs.replace(&mut session.urrs, &new.urrs);
        }
        if old.endpoints != new.endpoints {
            self.endpoints
                .replace(&mut session.endpoints, &new.endpoints);
        }
    }

    /// Removes a session and its rules.
    pub fn remove(&mut self, name: SessionRef) {
        if let Some(session) = self.sessions.get_mut(name.at) {
            self.pdrs.replace(&mut session.pdrs, &[]);
            self.fars.replace(&mut session.fars, &[]);
            self.qers.replace(&mut session.qers, &[]);
            self.urrs.replace(&mut session.urrs, &[]);
            self.endpoints.replace(&mut session.endpoints, &[]);
        }
        self.unlink(name.at);
        if let Some(session) = self.sessions.get(name.at) {
            self.forget_cp((session.association, session.cp), name.at);
        }
        if let Some(session) = self.sessions.get_mut(name.at) {
            session.check = 0;
            self.sessions.remove(name.at);
        }
    }

    /// Dooms the sessions of an association for which `ends` holds: nobody can name them from
    /// now on. Returns how many.
    pub fn doom(&mut self, association: AssociationId, ends: impl Fn(&Session) -> bool) -> usize {
        let mut at = self.first.get(association.index()).copied().unwrap_or(NONE);
        let mut count = 0;
        while let Some(session) = self.sessions.get(at) {
            let next = session.next;
            if session.association == association && ends(session) {
                self.doom_one(at);
                count += 1;
            }
            at = next;
        }
        count
    }

    /// Dooms one session.
    pub fn doom_one(&mut self, at: u32) {
        self.unlink(at);
        if let Some(session) = self.sessions.get(at) {
            self.forget_cp((session.association, session.cp), at);
        }
        if let Some(session) = self.sessions.get_mut(at) {
            session.doomed = true;
            self.link(at);
        }
    }

    /// A session that is to be removed.
    pub fn doomed(&self) -> Option<(SessionRef, Session)> {
        let at = self.first_doomed;
        let session = self.sessions.get(at)?;
        let check = session.check;
        Some((SessionRef { at, check }, *session))
    }

    /// Adds usage to a session's totals, if it still exists.
    pub fn add_usage(&mut self, name: SessionRef, uplink: bool, usage: Usage) {
        if let Some(session) = self.get_mut(name) {
            let sum = &mut session.usage[usize::from(!uplink)];
            sum.bytes += usage.bytes;
            sum.packets += usage.packets;
        }
    }

    /// All sessions of an association.
    pub fn of(&self, association: AssociationId) -> impl Iterator<Item = (SessionRef, &Session)> {
        let mut at = self.first.get(association.index()).copied().unwrap_or(NONE);
        let all = core::iter::from_fn(move || {
            let session = self.sessions.get(at)?;
            let check = session.check;
            let name = SessionRef { at, check };
            at = session.next;
            Some((name, session))
        });
        all.filter(move |(_, s)| s.association == association)
    }

    fn head(&mut self, at: u32) -> Option<&mut u32> {
        let session = self.sessions.get(at)?;
        match session.doomed {
            true => Some(&mut self.first_doomed),
            false => self.first.get_mut(session.association.index()),
        }
    }

    fn link(&mut self, at: u32) {
        let Some(head) = self.head(at) else {
            return;
        };
        let next = core::mem::replace(head, at);
        if let Some(next) = self.sessions.get_mut(next) {
            next.previous = at;
        }
        if let Some(session) = self.sessions.get_mut(at) {
            (session.previous, session.next) = (NONE, next);
        }
    }

    fn unlink(&mut self, at: u32) {
        let Some(Session { previous, next, .. }) = self.sessions.get(at).copied() else {
            return;
        };
        match self.sessions.get_mut(previous) {
            Some(before) => before.next = next,
            None => {
                if let Some(head) = self.head(at) {
                    *head = next;
                }
            }
        }
        if let Some(after) = self.sessions.get_mut(next) {
            after.previous = previous;
        }
    }
}
