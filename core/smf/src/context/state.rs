//! State of an SMF: sessions, UPFs, and wanted effects.

use core::fmt;
use core::net::IpAddr;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use sluice_ids::{Dnn, Supi};
use sluice_n4::{AssociationId, Endpoint};
use sluice_sbi::{
    CallId, Calls, DeleteSmPolicy, DeregisterSmf, Effect, Followed, Instant, Line, Message, Nf,
    NfInstance, NotifySmContext, Now, Place, Problem, SdmSubscription, Slab, UnsubscribeSdm,
};

use crate::config::Config;
use crate::context::session::{Session, SessionId, Usage};
use crate::context::subscribers::{Exposure, Waiter};
use crate::leases::lease::Leases;
use crate::limits;
use crate::upf::orphans::{GivenUp, Orphan};

/// Event counters.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Sessions that were established.
    pub established: u64,
    /// Sessions that were refused.
    pub refused: u64,
    /// Sessions that were released.
    pub released: u64,
    /// Changes of flows and of session AMBRs that were carried out.
    pub modified: u64,
    /// Changes that a UPF did not carry out.
    pub modifications_failed: u64,
    /// Changes that UEs asked for and were refused.
    pub modifications_refused: u64,
    /// Flows for which there was no room at UPF, gNB or UE.
    pub rules_refused: u64,
    /// Sessions that gNBs did not protect as the user plane security policy requires.
    pub security_refused: u64,
    /// Path switches whose gNB was told another user plane security policy than the session's.
    pub security_mismatches: u64,
    /// Establishments that UPFs answered when they were given up; they were deleted.
    pub late_establishments: u64,
    /// Sessions that restarted UPFs got again.
    pub restored: u64,
    /// Usage reports of UPFs.
    pub usage_reports: u64,
    /// Reports of downlink data for idle UEs.
    pub downlink_data_reports: u64,
    /// Reports of peers of UPFs that know nothing of a tunnel.
    pub error_indications: u64,
    /// Reports of UPFs of what concerns no session: paths to gNBs.
    pub node_reports: u64,
    /// UEs that could not be reached for downlink data.
    pub unreachable: u64,
    /// NAS messages that cannot be read, or do not fit.
    pub unexpected: u64,
    /// Charging records that nobody took.
    pub records_lost: u64,
    /// Events of sessions that subscribers were told.
    pub told_events: u64,
    /// Notifications that subscribers did not take.
    pub lost_events: u64,
    /// Procedures that panicked.
    pub panics: u64,
    /// Sessions and requests that found no room.
    pub no_room: u64,
}

/// Charging identifier of a session: when it began, and its number then, which no other has as long as it is there. A
/// number comes again after 65,536 sessions at its place, which takes longer than a second.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ChargingId {
    /// When it began, seconds since 1970.
    pub begun_unix_s: u64,
    /// The session's number, which is its SEID.
    pub number: u64,
}

impl fmt::Display for ChargingId {
    /// `6748a1b2-000000000001`: hexadecimal digits.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:08x}-{:012x}", self.begun_unix_s, self.number)
    }
}

/// Usage of a session so far.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ChargingRecord {
    /// Tells the session from all that there are and were, also before a restart (TS 33.515, 4.2.2.1.4).
    pub charging_id: ChargingId,
    /// SUPI of the UE.
    pub supi: Supi,
    /// PDU session identity.
    pub session: u8,
    /// In which data network.
    pub dnn: Dnn,
    /// The key under which its usage is charged; none of all that has no key of its own.
    pub rating_group: Option<u32>,
    /// All usage under that key since the session was established.
    pub usage: Usage,
    /// Seconds since 1970.
    pub unix_s: u64,
    /// The session is over.
    pub is_last: bool,
}

/// UPF and data network of a budget.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Budget {
    /// Of a UPF, by its place in the configuration.
    Upf(usize),
    /// Of a data network, by its place in the configuration.
    Network(usize),
}

/// State of an SMF.
pub(crate) struct State {
    pub config: Config,
    pub now: Now,
    /// Identity of the function; none before it is told.
    pub instance: Option<NfInstance>,
    pub sessions: Slab<Session>,
    pub by_identity: BTreeMap<(Supi, u8), SessionId>,
    /// Addresses and TEIDs that the SMF gives in place of UPFs.
    pub leases: Leases,
    pub calls: Calls<Waiter>,
    /// Subscriptions to events of sessions.
    pub exposure: Exposure,
    pub endpoint: Endpoint,
    /// Of each UPF.
    pub associations: Vec<Option<AssociationId>>,
    /// Addresses that UPFs have told of beside those that are configured.
    pub told_hosts: Vec<(AssociationId, IpAddr)>,
    /// When it is tried to associate with those that have none; never while all have one.
    pub associate_at: Instant,
    /// Requests to UPFs whose answers procedures wait for.
    pub asked: BTreeMap<u64, SessionId>,
    pub tags: u64,
    /// Sessions for whose packets something is done, by the time until which it is.
    pub reaching: BTreeSet<(Instant, SessionId)>,
    /// Sessions whose flows are to be looked at again, by the time when.
    pub postponed: BTreeSet<(Instant, SessionId)>,
    /// Sessions whose UPFs forward packets between gNBs, by when that ends.
    pub forwarding: BTreeSet<(Instant, SessionId)>,
    /// When sessions of UPFs that do not answer are given up.
    pub given_up_at: BTreeMap<AssociationId, Instant>,
    /// UPFs that are about to stop.
    pub leaving: BTreeSet<AssociationId>,
    /// Associations with UPFs that have stopped in order, until they are there again.
    pub returning: BTreeSet<AssociationId>,
    /// UPFs that do not accept the association, of which operators were told.
    pub told_silent: BTreeSet<AssociationId>,
    /// Peers of UPFs that do not answer on the user plane: gNBs.
    pub paths_down: BTreeSet<(AssociationId, IpAddr)>,
    /// Sessions that were given up, and that their UPFs may still have.
    pub orphans: Vec<Orphan>,
    /// When the first of those is asked for again.
    pub orphans_at: Instant,
    /// Deletions that nobody waits for.
    pub deleting: BTreeMap<u64, Orphan>,
    /// Establishments that were given up, by our SEIDs.
    pub given_up: BTreeMap<u64, GivenUp>,
    /// Sessions that their restarted UPFs are to get again.
    pub to_restore: VecDeque<SessionId>,
    /// Sessions whose UPFs are to be told anew how they are.
    pub to_settle: VecDeque<SessionId>,
    /// Changes of what is stored.
    pub commits: u64,
    /// How many there were after the input before.
    pub commits_before: u64,
    /// Sessions that are stored as if a procedure were under way, which has ended.
    pub stored_unsettled: BTreeSet<SessionId>,
    /// Sessions that are still to be released, once the SMF ends.
    pub to_end: Option<VecDeque<SessionId>>,
    /// Sessions for which packets have come, and which have not been looked at.
    pub with_packets: Vec<SessionId>,
    /// Guaranteed bit rates of flows, bits per second down and up.
    pub guaranteed: BTreeMap<Budget, (u64, u64)>,
    pub records: VecDeque<ChargingRecord>,
    pub effects: Vec<Effect>,
    /// UEs whose messages are traced as octets.
    pub followed: Followed,
    pub counters: Counters,
    /// Usage of all sessions that was reported since the start.
    pub usage: Usage,
}

impl State {
    pub fn new(config: Config) -> Self {
        Self {
            endpoint: crate::upf::n4::endpoint(&config, None),
            associations: vec![None; config.upfs.len()],
            told_hosts: Vec::new(),
            leases: Leases::new(config.pools()),
            config,
            now: Now::default(),
            instance: None,
            sessions: Slab::new(limits::SESSIONS).watched(),
            by_identity: BTreeMap::new(),
            calls: Calls::new(limits::PROCEDURES),
            exposure: Exposure::default(),
            associate_at: Instant::default(),
            asked: BTreeMap::new(),
            tags: 0,
            reaching: BTreeSet::new(),
            postponed: BTreeSet::new(),
            forwarding: BTreeSet::new(),
            given_up_at: BTreeMap::new(),
            leaving: BTreeSet::new(),
            returning: BTreeSet::new(),
            told_silent: BTreeSet::new(),
            paths_down: BTreeSet::new(),
            orphans: Vec::new(),
            orphans_at: Instant::NEVER,
            deleting: BTreeMap::new(),
            given_up: BTreeMap::new(),
            to_restore: VecDeque::new(),
            to_settle: VecDeque::new(),
            commits: 0,
            commits_before: 0,
            stored_unsettled: BTreeSet::new(),
            to_end: None,
            with_packets: Vec::new(),
            guaranteed: BTreeMap::new(),
            records: VecDeque::new(),
            effects: Vec::new(),
            followed: Followed::Nobody,
            counters: Counters::default(),
            usage: Usage::default(),
        }
    }

    /// How much is kept of sessions, by what it is.
    pub fn sizes(&self) -> Vec<(&'static str, usize)> {
        let guaranteed = self.guaranteed.values().filter(|sum| **sum != (0, 0));
        vec![
            ("SMF: sessions", self.sessions.len()),
            ("SMF: sessions by identity", self.by_identity.len()),
            ("SMF: calls", self.calls.waiting()),
            ("SMF: subscriptions to events", self.exposure.len()),
            ("SMF: requests to UPFs", self.asked.len()),
            ("SMF: sessions to be reached", self.reaching.len()),
            ("SMF: sessions to be looked at", self.postponed.len()),
            ("SMF: sessions that are forwarded", self.forwarding.len()),
            ("SMF: sessions to be deleted", self.orphans.len()),
            ("SMF: deletions", self.deleting.len()),
            ("SMF: sessions to be restored", self.to_restore.len()),
            ("SMF: guaranteed bit rates", guaranteed.count()),
            ("SMF: UE addresses that are given", self.leases.held().0),
            ("SMF: TEIDs that are given", self.leases.held().1),
        ]
    }

    /// Adds a line of the call flow.
    pub fn line(
        &mut self,
        from: &'static str,
        to: &'static str,
        step: &'static str,
        what: impl Into<String>,
        session: SessionId,
    ) {
        let supi = self.sessions.get(session.0).map(|session| session.supi);
        let what = what.into();
        self.effects.push(Effect::CallFlow(Line {
            from,
            to,
            what,
            step,
            supi,
            ue: None,
        }));
    }

    /// Names a call and asks.
    pub fn call(&mut self, session: Option<SessionId>, to: Nf, message: Message) -> Option<CallId> {
        let deadline = self.now.instant.plus_ms(limits::CALL_MS);
        let waiter = session.map_or(Waiter::Nobody, Waiter::Session);
        let call = self.calls.begin_until(deadline, waiter)?;
        self.effects.push(Effect::Call {
            to: Place::any(to),
            call,
            deadline,
            message: message.into(),
        });
        Some(call)
    }

    /// Answers the request that a session's procedure is for; once.
    pub fn answer(&mut self, session: SessionId, message: Message) {
        let waiting = self.sessions.get_mut(session.0);
        if let Some(id) = waiting.and_then(|session| session.request.take()) {
            let message = message.into();
            self.effects.push(Effect::Answer { id, message });
        }
    }

    /// Forgets a session; requests that wait for it are answered. What is to be undone of it stays until it is.
    pub fn remove(&mut self, id: SessionId) {
        self.expose_end(id);
        self.answer(id, Problem::ContextNotFound.into());
        self.end_mobility(id);
        self.reach(id, None);
        self.postpone(id, None);
        self.give_back(id);
        let policy = self
            .sessions
            .get(id.0)
            .and_then(|session| session.flows.policy);
        if let Some(policy) = policy {
            let policy = policy.into();
            let message = Message::from(DeleteSmPolicy { policy });
            self.line("SMF", "PCF", "12", message.name(), id);
            self.call(None, Nf::Pcf, message);
        }
        self.unsubscribe(id);
        self.deregister(id);
        let session = self.undo_later(id).or_else(|| {
            self.forget_kept(id);
            self.end_leases(id);
            self.sessions.remove(id.0)
        });
        let Some(session) = session else {
            return;
        };
        let name = (session.supi, session.identity);
        if self.by_identity.get(&name) == Some(&id) {
            self.by_identity.remove(&name);
        }
        let refused = session.pending.into_iter().map(|(id, message)| {
            // A release that comes too late has what it wants.
            let message = match *message {
                Message::ReleaseSmContext(_) => sluice_sbi::Done::ALL.into(),
                _ => Problem::ContextNotFound.into(),
            };
            Effect::Answer { id, message }
        });
        self.effects.extend(refused);
    }

    /// 4.3.4.2, 14: changes of the subscription are of no more interest, unless another session of the UE is of the same
    /// slice and data network, which has the subscription from now on.
    fn unsubscribe(&mut self, id: SessionId) {
        let Some((subscription, was)) = self.sessions.get_mut(id.0).and_then(|session| {
            let was = session.at_udm;
            (session.at_udm.may_tell, session.at_udm.tells) = (false, false);
            let instance = self.instance.filter(|_| was.may_tell)?;
            let of = (session.slice, session.dnn);
            let subscription = SdmSubscription::session_management(session.supi, instance, of);
            Some((subscription, was))
        }) else {
            return;
        };
        if let Some(other) = self.alike(id).first() {
            if let Some(other) = self.sessions.get_mut(other.0) {
                other.at_udm.may_tell = true;
                other.at_udm.tells |= was.tells;
            }
            return;
        }
        let (supi, id_of_it) = (subscription.supi, subscription.id().into());
        let message = Message::from(UnsubscribeSdm { supi, id: id_of_it });
        self.line("SMF", "UDM", "14", message.name(), id);
        self.call(None, Nf::Udm, message);
    }

    /// Other sessions of the same UE, slice and data network.
    pub fn alike(&self, id: SessionId) -> Vec<SessionId> {
        let Some(session) = self.sessions.get(id.0) else {
            return Vec::new();
        };
        let its = self
            .by_identity
            .range((session.supi, 0)..=(session.supi, u8::MAX));
        let is_alike = |other: &SessionId| {
            let one = self.sessions.get(other.0);
            *other != id
                && one.is_some_and(|one| (one.slice, one.dnn) == (session.slice, session.dnn))
        };
        its.map(|(_, other)| *other).filter(is_alike).collect()
    }

    /// 4.3.4.2, 15: the UDM is told that the session is over. Its registration is another session's if that has its
    /// identity by now.
    fn deregister(&mut self, id: SessionId) {
        let Some(session) = self.sessions.get_mut(id.0) else {
            return;
        };
        let name @ (supi, identity) = (session.supi, session.identity);
        let may_have_it = std::mem::take(&mut session.at_udm.may_have_it);
        if !may_have_it || self.by_identity.get(&name) != Some(&id) {
            return;
        }
        let session = identity;
        let message = Message::from(DeregisterSmf { supi, session });
        self.line("SMF", "UDM", "15", message.name(), id);
        self.call(None, Nf::Udm, message);
    }

    /// Tells the AMF that a session is over.
    /// One that the AMF has forgotten is not told of.
    pub fn notify(&mut self, id: SessionId, step: &'static str) {
        let session = self.sessions.get(id.0);
        let Some(session) = session.filter(|session| !session.is_forgotten) else {
            return;
        };
        let message = Message::from(NotifySmContext {
            supi: session.supi,
            session: session.identity,
            context: id.number().into(),
        });
        self.line("SMF", "AMF", step, message.name(), id);
        self.call(None, Nf::Amf, message);
    }

    /// Makes charging records of a session that is over, where the data network has any.
    pub fn record_last(&mut self, id: SessionId) {
        let session = self.sessions.get(id.0);
        let groups = session.map(|session| session.flows.groups.clone());
        for (group, _) in groups.into_iter().flatten() {
            self.record(id, Some(group), true);
        }
        self.record(id, None, true);
    }

    /// Makes a charging record, where the data network has any.
    pub fn record(&mut self, id: SessionId, rating_group: Option<u32>, is_last: bool) {
        let Some(session) = self.sessions.get(id.0) else {
            return;
        };
        let network = self.config.network(&session.dnn);
        if network.is_none_or(|network| network.charging_octets.is_none()) {
            return;
        }
        let groups = &session.flows.groups;
        let usage = match rating_group {
            Some(group) => {
                let its = groups.iter().find(|(one, _)| *one == group);
                its.map(|(_, usage)| *usage).unwrap_or_default()
            }
            None => groups
                .iter()
                .fold(session.usage, |rest, (_, usage)| rest.without(*usage)),
        };
        let record = ChargingRecord {
            charging_id: ChargingId {
                begun_unix_s: session.begun_unix_s,
                number: id.number(),
            },
            supi: session.supi,
            session: session.identity,
            dnn: session.dnn,
            rating_group,
            usage,
            unix_s: self.now.unix_s,
            is_last,
        };
        if self.records.len() == limits::RECORDS {
            self.records.pop_front();
            self.counters.records_lost += 1;
        }
        self.records.push_back(record);
    }
}
