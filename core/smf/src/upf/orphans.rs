//! Sessions that a UPF may have and that nobody wants any more: those whose deletion it has not answered,
//! and those whose establishment it answers when it was given up (TS 29.244, 6.4). They are stored until their
//! UPF has deleted them, so that a later SMF does it.

use core::net::{IpAddr, SocketAddr};

use sluice_n4::{AssociationId, Response};
use sluice_sbi::Instant;
use sluice_wire::pfcp::{Header, MessageType};

use crate::context::session::{AtUpf, SessionId};
use crate::context::state::State;
use crate::context::stored_context;
use crate::leases::lease::Lease;
use crate::limits;
use crate::upf::n4::Answer;

/// Before the UPF and its number of a session that it is to delete.
pub(crate) const ORPHAN: &str = "smf/orphan/";

/// A session that a UPF is to delete.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Orphan {
    upf: AtUpf,
    /// Lease that it has until it is deleted.
    lease: Lease,
    /// The UPF, by its address in the configuration.
    n4: Option<SocketAddr>,
    /// Whether the session is of a process before this one.
    is_resumed: bool,
    /// How often it was asked.
    tries: u8,
    /// When it is asked again; never before it answers at all, if it does not.
    at: Instant,
}

/// An establishment that nobody waits for any more.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GivenUp {
    /// The UPF that was asked.
    host: IpAddr,
    /// Until when it may answer.
    until: Instant,
    /// Whether the UPF has answered the last request, and its session was deleted.
    is_answered: bool,
}

impl State {
    /// Deletes a session that nobody waits for any more. Until then it has the lease of the session that it was for, where
    /// that is known.
    pub(crate) fn forget_at_upf(&mut self, id: Option<SessionId>, upf: AtUpf) {
        let lease = id.map(|id| self.share_lease(id));
        let orphan = Orphan {
            upf,
            lease: lease.unwrap_or_default(),
            n4: self.address_of(upf.association),
            is_resumed: false,
            tries: 0,
            at: self.now.instant,
        };
        self.store_orphan(&orphan, true);
        self.delete_orphan(orphan);
    }

    /// Stores that it is to be deleted, or that it is.
    fn store_orphan(&mut self, orphan: &Orphan, is_there: bool) {
        if let Some(n4) = orphan.n4 {
            let at = stored_context::At::of(orphan.upf);
            let value = is_there.then(|| stored_context::of_orphan(at, &orphan.lease, n4));
            let key = format!("{ORPHAN}{n4}/{:016x}", orphan.upf.seid.0);
            self.store(key.into_bytes(), value);
        }
    }

    /// The UPF has it no more, or nobody can say so.
    fn end_orphan(&mut self, orphan: &Orphan) {
        self.store_orphan(orphan, false);
        self.give_back_lease(orphan.lease);
    }

    /// Leases of sessions that are to be deleted.
    pub(crate) fn leases_of_orphans(&self) -> impl Iterator<Item = Lease> {
        let all = self.orphans.iter().chain(self.deleting.values());
        all.map(|orphan| orphan.lease)
    }

    /// One of a process before, by what is stored under a key. One whose UPF is not in the configuration any more
    /// is left to that.
    pub(crate) fn resume_orphan(
        &mut self,
        key: &[u8],
        n4: SocketAddr,
        (at, lease): (stored_context::At, Lease),
    ) {
        let index = self.config.upfs.iter().position(|upf| upf.n4 == n4);
        let association = index.and_then(|index| self.associations.get(index).copied().flatten());
        match association {
            // It is deleted, or forgotten, when the association is there.
            Some(association) => {
                let orphan = self.of_before(at.within(association), lease);
                self.keep_orphan(orphan);
            }
            None => self.store(key.to_vec(), None),
        }
    }

    /// A session of a process before that this one cannot go on with.
    pub(crate) fn orphan_of_before(&mut self, upf: AtUpf, lease: Lease) {
        let orphan = self.of_before(upf, lease);
        self.store_orphan(&orphan, true);
        self.keep_orphan(orphan);
    }

    fn of_before(&mut self, upf: AtUpf, lease: Lease) -> Orphan {
        self.hold_lease(&lease);
        Orphan {
            upf,
            lease,
            n4: self.address_of(upf.association),
            is_resumed: true,
            tries: 0,
            at: Instant::NEVER,
        }
    }

    /// Now, or when its UPF answers again. One whose association has ended has it no more.
    fn delete_orphan(&mut self, orphan: Orphan) {
        let upf = orphan.upf;
        let Some(association) = self.endpoint.association(upf.association) else {
            return self.end_orphan(&orphan);
        };
        if !association.is_established() || association.is_lost() {
            let at = Instant::NEVER;
            return self.keep_orphan(Orphan { at, ..orphan });
        }
        let kind = MessageType::SESSION_DELETION_REQUEST;
        match self.ask_upf(upf.association, upf.to, kind, upf.seid, |_| Ok(())) {
            Some(tag) => {
                self.deleting.insert(tag, orphan);
            }
            // Too much is under way.
            None => self.keep_orphan(self.later(orphan)),
        }
    }

    fn later(&self, orphan: Orphan) -> Orphan {
        Orphan {
            tries: orphan.tries + 1,
            at: self.now.instant.plus_ms(limits::ORPHAN_MS),
            ..orphan
        }
    }

    fn keep_orphan(&mut self, orphan: Orphan) {
        if orphan.tries < limits::ORPHAN_TRIES && self.orphans.len() < limits::SESSIONS {
            self.orphans_at = self.orphans_at.min(orphan.at);
            self.orphans.push(orphan);
        } else {
            self.end_orphan(&orphan);
        }
    }

    /// Whether this answers a deletion that nobody waits for.
    pub(crate) fn is_deleted(&mut self, tag: u64, answer: Answer) -> bool {
        let Some(orphan) = self.deleting.remove(&tag) else {
            return false;
        };
        // One that refuses has it no more.
        match answer {
            Answer::Nothing => self.keep_orphan(self.later(orphan)),
            _ => self.end_orphan(&orphan),
        }
        true
    }

    /// Deletes orphans whose time has come.
    pub(crate) fn delete_orphans(&mut self) {
        let now = self.now.instant;
        if self.orphans_at > now {
            return;
        }
        let due: Vec<Orphan> = self.orphans.extract_if(.., |one| one.at <= now).collect();
        let next = self.orphans.iter().map(|one| one.at).min();
        self.orphans_at = next.unwrap_or(Instant::NEVER);
        for orphan in due {
            self.delete_orphan(orphan);
        }
    }

    /// A UPF answers again and is to delete what was given up meanwhile, or it has lost all that it had.
    pub(crate) fn forget_orphans(&mut self, association: AssociationId, deletes: bool) {
        let is_its = |one: &Orphan| one.upf.association == association;
        let orphans: Vec<Orphan> = self.orphans.extract_if(.., |one| is_its(one)).collect();
        if deletes {
            for orphan in orphans {
                self.delete_orphan(orphan);
            }
            return;
        }
        // Its numbers may be those of other sessions by now.
        let deleting = self.deleting.extract_if(.., |_, one| is_its(one));
        let gone: Vec<Orphan> = deleting.map(|(_, one)| one).chain(orphans).collect();
        for orphan in gone {
            self.end_orphan(&orphan);
        }
    }

    /// A UPF has not retained what it had for a process before this one.
    pub(crate) fn forget_resumed_orphans(&mut self, association: AssociationId) {
        let is_its = |one: &Orphan| one.is_resumed && one.upf.association == association;
        let gone: Vec<Orphan> = self.orphans.extract_if(.., |one| is_its(one)).collect();
        for orphan in gone {
            self.end_orphan(&orphan);
        }
    }

    /// An establishment is not waited for any more: what becomes of it late is deleted. It may reach its UPF
    /// after a restart of that, in another association.
    pub(crate) fn give_up_establishment(&mut self, id: SessionId, upf: usize) {
        let now = self.now.instant;
        // Seldom, since it looks at all.
        if self.given_up.len() >= limits::PROCEDURES {
            self.given_up.retain(|_, one| one.until > now);
        }
        let host = self.config.upfs.get(upf).map(|upf| upf.n4.ip());
        if let Some(host) = host.filter(|_| self.given_up.len() < limits::PROCEDURES) {
            let given_up = GivenUp {
                host,
                until: now.plus_ms(limits::LATE_MS),
                is_answered: false,
            };
            self.given_up.insert(id.number(), given_up);
        }
    }

    /// Whether an establishment was given up, and nothing more is known of it.
    pub(crate) fn is_given_up(&self, id: SessionId) -> bool {
        let given_up = self.given_up.get(&id.number());
        given_up.is_some_and(|one| !one.is_answered)
    }

    /// A UPF has what was given up. It may have been asked more than once, and have a session of each: what it
    /// answers besides is deleted as well.
    pub(crate) fn established_late(&mut self, id: SessionId, upf: AtUpf) {
        if let Some(one) = self.given_up.get_mut(&id.number()) {
            one.is_answered = true;
        }
        self.forget_at_upf(Some(id), upf);
    }

    /// A message that the endpoint has no use for: the response to an establishment that was given up.
    pub(crate) fn answered_late(&mut self, from: SocketAddr, message: &[u8]) {
        if self.given_up.is_empty() {
            return;
        }
        let known = self.endpoint.association_at(from);
        let (Some(association), Ok((header, body))) = (known, Header::parse(message)) else {
            return;
        };
        let is_established = header.message_type == MessageType::SESSION_ESTABLISHMENT_RESPONSE;
        let Some(seid) = header.seid.filter(|_| is_established) else {
            return;
        };
        let asked = self.given_up.get(&seid.0).map(|one| one.host);
        let addresses = self.endpoint.association(association);
        let mut hosts = addresses.into_iter().flat_map(|peer| peer.addresses());
        if !hosts.any(|host| Some(host.ip()) == asked) {
            return;
        }
        let response = Response {
            association,
            tag: 0,
            header,
            body,
        };
        if let Some(Answer::Established(upf, _)) = self.read_established(&response) {
            let id = SessionId::from_number(seid.0);
            self.counters.late_establishments += u64::from(self.is_given_up(id));
            self.established_late(id, upf);
        }
    }
}
