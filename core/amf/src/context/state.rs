//! State of an AMF: gNBs, UEs, connections, and wanted effects.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Bound;

use sluice_ids::{Guti, STmsi, Supi, Tmsi};
use sluice_n1::{Downlink, Header};
use sluice_n2::{DownlinkNasTransport, FromAmf, RanUeId, SupportedArea};
use sluice_sbi::{
    AssociationId, CallId, Calls, CommitId, Effect, Followed, Instant, Line, Message, Nf,
    NfInstance, Now, Problem, Random, ReferencePoint, Slab, TaskId, TracedMessage,
};

use crate::config::Config;
use crate::context::handover_state::Held;
use crate::context::resumption::Awaited;
use crate::context::ue::{Connection, ConnectionId, Ue, UeId, Waiter};
use crate::counters::Counters;
use crate::exposure::Exposure;
use crate::limits;
use crate::nrf_cache::Discovered;
use crate::overload::Wishes;
use crate::overload::admission_limits::Unauthenticated;

/// A gNB whose NG Setup succeeded.
#[derive(Debug)]
pub(crate) struct Gnb {
    /// Global gNB ID.
    pub identity: sluice_n2::Gnb,
    /// RAN Node Name.
    pub name: Option<String>,
    /// Supported tracking areas with slices.
    pub areas: Vec<SupportedArea>,
}

/// State of an AMF.
pub(crate) struct State {
    pub config: Config,
    /// Identity of the function; none before it is told.
    pub instance: Option<NfInstance>,
    pub random: Box<dyn Random>,
    pub now: Now,
    pub gnbs: BTreeMap<AssociationId, Gnb>,
    pub ues: Slab<Ue>,
    pub connections: Slab<Connection>,
    pub calls: Calls<Waiter>,
    pub commits: BTreeMap<CommitId, UeId>,
    pub effects: Vec<Effect>,
    /// UEs whose messages are traced as octets.
    pub followed: Followed,
    /// UE of the gNB's message that is being handled, if it is known.
    pub of_ue: Option<UeId>,
    pub counters: Counters,
    /// Reasons for an overload of gNBs.
    pub wishes: Wishes,
    /// UEs that have not proved who they are.
    pub unauthenticated: Unauthenticated,
    /// Names of UEs that were deregistered without a word to them, oldest first.
    departed: VecDeque<[u8; 4]>,
    by_tmsi: BTreeMap<[u8; 4], UeId>,
    by_supi: BTreeMap<Supi, UeId>,
    pub by_ran: BTreeMap<(AssociationId, RanUeId), ConnectionId>,
    /// Connections that their gNBs have not named yet.
    pub preparing: BTreeSet<(AssociationId, ConnectionId)>,
    /// UEs that have come and said something on their way.
    pub deferred: Vec<UeId>,
    /// UEs whose gNBs have shown by a handover that they have their keys.
    pub taken: Vec<UeId>,
    /// Procedures that are over since their UE, session or handover is.
    pub ended: Vec<TaskId>,
    /// UEs that another AMF may have, by the end of the wait for it.
    pub moving: BTreeSet<(Instant, UeId)>,
    /// Idle UEs, by the time when they count as gone.
    idle: BTreeSet<(Instant, UeId)>,
    pub commits_made: u64,
    /// UEs whose gNBs may have kept them while there was no AMF.
    pub awaited: Awaited,
    /// Cached answers of the NRF.
    pub discovered: Discovered,
    /// Subscriptions to events of UEs.
    pub exposure: Exposure,
    /// Subscriptions to this AMF's status.
    pub status_subscribers: BTreeSet<u64>,
}

impl State {
    pub fn new(config: Config, random: Box<dyn Random>) -> Self {
        Self {
            config,
            instance: None,
            random,
            now: Now::default(),
            gnbs: BTreeMap::new(),
            ues: Slab::new(limits::UES).watched(),
            connections: Slab::new(limits::CONNECTIONS),
            calls: Calls::new(limits::CALLS),
            commits: BTreeMap::new(),
            effects: Vec::new(),
            followed: Followed::Nobody,
            of_ue: None,
            counters: Counters::default(),
            wishes: Wishes::default(),
            unauthenticated: Unauthenticated::default(),
            departed: VecDeque::new(),
            by_tmsi: BTreeMap::new(),
            by_supi: BTreeMap::new(),
            by_ran: BTreeMap::new(),
            preparing: BTreeSet::new(),
            deferred: Vec::new(),
            taken: Vec::new(),
            ended: Vec::new(),
            moving: BTreeSet::new(),
            idle: BTreeSet::new(),
            commits_made: 0,
            awaited: Awaited::default(),
            discovered: Discovered::default(),
            exposure: Exposure::default(),
            status_subscribers: BTreeSet::new(),
        }
    }

    pub fn registered(&self) -> usize {
        self.ues
            .iter()
            .filter(|(_, ue)| ue.registered.is_some())
            .count()
    }

    /// How much is kept of UEs, by what it is.
    pub fn sizes(&self) -> Vec<(&'static str, usize)> {
        vec![
            ("AMF: UEs", self.ues.len()),
            ("AMF: UEs by name", self.by_tmsi.len()),
            ("AMF: UEs by subscriber", self.by_supi.len()),
            ("AMF: idle UEs", self.idle.len()),
            ("AMF: UEs that move", self.moving.len()),
            ("AMF: connections", self.connections.len()),
            ("AMF: connections by name", self.by_ran.len()),
            ("AMF: connections in preparation", self.preparing.len()),
            ("AMF: calls", self.calls.waiting()),
            ("AMF: commits", self.commits.len()),
            ("AMF: unauthenticated UEs", self.unauthenticated.len()),
            ("AMF: subscriptions to events", self.exposure.len()),
            (
                "AMF: subscriptions to its status",
                self.status_subscribers.len(),
            ),
        ]
    }

    /// The UE that we call so.
    pub fn find(&self, guti: &Guti) -> Option<UeId> {
        (guti.guami == self.config.guami).then_some(())?;
        self.by_tmsi.get(&guti.tmsi.0).copied()
    }

    /// The registered UE of a subscriber.
    pub fn find_supi(&self, supi: &Supi) -> Option<UeId> {
        self.by_supi.get(supi).copied()
    }

    /// How many UEs of subscribers there are.
    pub fn subscribers(&self) -> usize {
        self.by_supi.len()
    }

    /// UEs of subscribers from `from` on, in the order of their identities.
    pub fn known(&self, from: Option<Supi>) -> impl Iterator<Item = UeId> + '_ {
        let from = from.map_or(Bound::Unbounded, Bound::Included);
        let known = self.by_supi.range((from, Bound::Unbounded));
        known.map(|(_, ue)| *ue)
    }

    /// A name that no UE has. All-ones and zero are left out, since some UEs take them for none.
    pub fn new_guti(&mut self) -> Guti {
        loop {
            let mut tmsi = [0; 4];
            self.random.fill(&mut tmsi);
            let is_free = !self.by_tmsi.contains_key(&tmsi);
            if is_free && tmsi != [0; 4] && tmsi != [0xff; 4] {
                return Guti {
                    guami: self.config.guami,
                    tmsi: Tmsi(tmsi),
                };
            }
        }
    }

    /// From now on the UE is found by this name.
    pub fn name_ue(&mut self, ue: UeId, guti: Guti) {
        self.by_tmsi.insert(guti.tmsi.0, ue);
    }

    /// From now on no UE is found by this name.
    pub fn forget_name(&mut self, guti: Guti) {
        self.by_tmsi.remove(&guti.tmsi.0);
    }

    /// Gives a UE a new name. It keeps two at the most: the last that it has acknowledged, and this one.
    pub fn rename(&mut self, id: UeId, guti: Guti) {
        let mut forgotten = None;
        if let Some(ue) = self.ues.get_mut(id.0) {
            forgotten = if ue.old_guti.is_some() {
                ue.guti.take()
            } else {
                None
            };
            ue.old_guti = ue.old_guti.or(ue.guti);
            ue.guti = Some(guti);
        }
        if let Some(forgotten) = forgotten {
            self.forget_name(forgotten);
        }
        self.name_ue(id, guti);
    }

    /// The UE has acknowledged its new name.
    pub fn forget_old_name(&mut self, id: UeId) {
        let old = self.ues.get_mut(id.0).and_then(|ue| ue.old_guti.take());
        if let Some(old) = old {
            self.forget_name(old);
        }
    }

    /// The UE is deregistered and was not told so: it is when it comes back.
    pub fn remember_departed(&mut self, id: UeId) {
        let names = self.ues.get(id.0).map(|ue| [ue.guti, ue.old_guti]);
        for guti in names.into_iter().flatten().flatten() {
            if self.departed.len() == limits::DEPARTED {
                self.departed.pop_front();
            }
            self.departed.push_back(guti.tmsi.0);
        }
    }

    /// Whether a UE was called so when it was deregistered without a word.
    pub fn has_departed(&self, s_tmsi: STmsi) -> bool {
        let (guami, tmsi) = (self.config.guami, s_tmsi.tmsi);
        let is_ours = Guti { guami, tmsi }.s_tmsi() == s_tmsi;
        is_ours && self.departed.contains(&tmsi.0)
    }

    /// From now on this is the subscriber's UE.
    pub fn own_supi(&mut self, ue: UeId, supi: Supi) {
        self.by_supi.insert(supi, ue);
    }

    /// Forgets a UE whole.
    pub fn remove(&mut self, id: UeId) {
        self.end_handover(id, sluice_n2::Cause::FROM_5GC);
        self.stays(id);
        self.let_go(id);
        self.keep_sessions(id, 0, "");
        self.forget_kept(id);
        self.not_unauthenticated(id);
        self.leaves(id);
        self.end_reaching(id, Problem::ContextNotFound.into());
        let Some(ue) = self.ues.remove(id.0) else {
            return;
        };
        self.ended.extend(ue.task);
        if let Some(gone_at) = ue.gone_at {
            self.idle.remove(&(gone_at, id));
        }
        for guti in [ue.guti, ue.old_guti].into_iter().flatten() {
            if self.by_tmsi.get(&guti.tmsi.0) == Some(&id) {
                self.by_tmsi.remove(&guti.tmsi.0);
            }
        }
        if let Some(supi) = ue.supi.filter(|supi| self.by_supi.get(supi) == Some(&id)) {
            self.by_supi.remove(&supi);
        }
    }

    /// Deletes the stored context of a UE; no procedure waits for it.
    fn forget_kept(&mut self, id: UeId) {
        let known = self.ues.get(id.0).filter(|ue| ue.kept.is_some());
        if let Some(supi) = known.and_then(|ue| ue.supi) {
            let commit = self.commit(id, &supi, None);
            self.commits.remove(&commit);
        }
    }

    /// Forgets a UE that is neither registered nor connected.
    pub fn forget_if_unknown(&mut self, id: UeId) {
        let is_unknown = |ue: &Ue| ue.registered.is_none() && ue.connection.is_none();
        if self.ues.get(id.0).is_some_and(is_unknown) {
            self.remove(id);
        }
    }

    /// The UE's connection.
    pub fn connection(&self, ue: UeId) -> Option<(ConnectionId, &Connection)> {
        let id = self.ues.get(ue.0)?.connection?;
        Some((id, self.connections.get(id.0)?))
    }

    /// The UE's connection.
    pub fn connection_mut(&mut self, ue: UeId) -> Option<&mut Connection> {
        let id = self.ues.get(ue.0)?.connection?;
        self.connections.get_mut(id.0)
    }

    /// A connection of a UE; none if there is no room.
    pub fn connect(&mut self, connection: Connection) -> Option<ConnectionId> {
        let (ue, name) = (connection.ue, (connection.association, connection.ran));
        let id = ConnectionId(self.connections.insert(connection)?);
        self.by_ran.insert(name, id);
        self.give_connection(ue, Some(id));
        Some(id)
    }

    /// The UE's gNB has its keys.
    pub fn takes_keys(&mut self, id: UeId) {
        if let Some(connection) = self.connection_mut(id) {
            (connection.has_context, connection.is_told) = (true, false);
        }
        if let Some(security) = self.ues.get_mut(id.0).and_then(|ue| ue.security.as_mut()) {
            security.is_renewing = false;
        }
    }

    /// From now on this is the UE's connection.
    pub fn give_connection(&mut self, id: UeId, connection: Option<ConnectionId>) {
        if let Some(ue) = self.ues.get_mut(id.0) {
            ue.connection = connection;
            ue.unreachable_until = None;
            if let Some(gone_at) = ue.gone_at.take() {
                self.idle.remove(&(gone_at, id));
            }
        }
    }

    /// A registered UE without connection counts as gone after a while (TS 24.501, 5.3.7).
    pub fn watch_idle(&mut self, id: UeId) {
        let after_ms = u64::from(sluice_n1::told_t3512_s(self.config.t3512_s)) * 1000
            + limits::REACHABLE_MS
            + limits::IMPLICIT_DEREGISTRATION_MS;
        let gone_at = self.now.instant.plus_ms(after_ms);
        let ue = self.ues.get_mut(id.0);
        if let Some(ue) = ue.filter(|ue| ue.registered.is_some() && ue.connection.is_none()) {
            if let Some(before) = ue.gone_at.replace(gone_at) {
                self.idle.remove(&(before, id));
            }
            self.idle.insert((gone_at, id));
        }
    }

    /// A UE that counts as gone now.
    pub fn gone(&mut self) -> Option<UeId> {
        let (gone_at, id) = *self.idle.first()?;
        if gone_at > self.now.instant {
            return None;
        }
        self.idle.remove(&(gone_at, id));
        if let Some(ue) = self.ues.get_mut(id.0) {
            ue.gone_at = None;
        }
        Some(id)
    }

    /// When the next UE counts as gone.
    pub fn next_gone(&self) -> Instant {
        self.idle
            .first()
            .map_or(Instant::NEVER, |(gone_at, _)| *gone_at)
    }

    /// The UE is idle from now on.
    pub fn disconnect(&mut self, ue: UeId) {
        self.end_handover(ue, sluice_n2::Cause::FROM_5GC);
        if let Some(ue) = self.ues.get_mut(ue.0) {
            ue.held.clear();
            ue.deferred = None;
        }
        let id = self.ues.get_mut(ue.0).and_then(|ue| ue.connection.take());
        let connection = id.and_then(|id| self.connections.remove(id.0));
        if let Some(connection) = connection {
            let name = (connection.association, connection.ran);
            if self.by_ran.get(&name).copied() == id {
                self.by_ran.remove(&name);
            }
        }
        self.watch_idle(ue);
        self.deactivate_sessions(ue);
    }

    /// Other associations over which this gNB has set up NG.
    pub fn others_of(
        &self,
        association: AssociationId,
        gnb: &sluice_n2::Gnb,
    ) -> Vec<AssociationId> {
        let all = self.gnbs.iter();
        let its = all.filter(|(at, one)| **at != association && one.identity == *gnb);
        its.map(|(at, _)| *at).collect()
    }

    /// The UE of a connection by the gNB's name, and the connection.
    pub fn find_ran(
        &self,
        association: AssociationId,
        ran: RanUeId,
    ) -> Option<(UeId, ConnectionId)> {
        let id = self.by_ran.get(&(association, ran))?;
        Some((self.connections.get(id.0)?.ue, *id))
    }

    /// Connections over a gNB, by its names, with their UEs; and those that it has not named yet.
    pub fn connections_of(&self, association: AssociationId) -> Vec<(UeId, ConnectionId)> {
        let names = (association, RanUeId(0))..=(association, RanUeId(u32::MAX));
        let named = self.by_ran.range(names).map(|(_, id)| *id);
        let preparing = self.preparing.iter();
        let unnamed = preparing.filter(|(at, _)| *at == association);
        let all = named.chain(unnamed.map(|(_, id)| *id));
        all.filter_map(|id| Some((self.connections.get(id.0)?.ue, id)))
            .collect()
    }

    /// Sends to a gNB, on a stream of a UE or on that of the gNB itself (TS 38.412, 7).
    pub fn send_n2(&mut self, association: AssociationId, ue: Option<UeId>, message: &FromAmf) {
        let stream = ue.map_or(0, |ue| 1 + (ue.0.slot % 15) as u16);
        let octets = message.encode();
        if ue.is_some() {
            self.see(ReferencePoint::N2, ue, false, &octets);
        }
        self.effects.push(Effect::N2 {
            association,
            stream,
            octets,
        });
    }

    /// Sends a NAS message as it is.
    pub fn send_octets(&mut self, ue: UeId, nas: Vec<u8>) {
        let Some((id, connection)) = self.connection(ue) else {
            return;
        };
        let (association, ids) = (connection.association, (id.to_ngap(), connection.ran));
        self.send_n2(
            association,
            Some(ue),
            &FromAmf::DownlinkNasTransport(DownlinkNasTransport { ids, nas }),
        );
    }

    /// A NAS message with the protection that the connection has; none if its key is used up.
    pub fn protect(&mut self, ue: UeId, message: &Downlink) -> Option<Vec<u8>> {
        self.protect_plain(ue, message.encode())
    }

    fn protect_plain(&mut self, ue: UeId, plain: Vec<u8>) -> Option<Vec<u8>> {
        let is_secured = self.connection(ue)?.1.is_secured;
        self.see_nas(ue, false, &plain);
        if !is_secured {
            return Some(plain);
        }
        let security = self.ues.get_mut(ue.0)?.security.as_mut()?;
        security.context.protect(Header::Ciphered, &plain)
    }

    /// Sends a NAS message with the protection that the connection has.
    pub fn send_nas(&mut self, ue: UeId, message: &Downlink, step: &'static str) {
        self.line("AMF", "UE", step, describe(message), ue);
        let plain = message.encode();
        if self.holds_nas(ue) {
            self.hold(ue, || Held::Nas(plain));
        } else {
            self.send_plain(ue, plain);
        }
    }

    /// Protects a NAS message and sends it; not so if its key is used up.
    pub fn send_plain(&mut self, ue: UeId, plain: Vec<u8>) {
        if let Some(nas) = self.protect_plain(ue, plain) {
            self.send_octets(ue, nas);
        }
    }

    /// A NAS message without protection, for whoever follows the UE.
    pub fn see_nas(&mut self, ue: UeId, is_received: bool, plain: &[u8]) {
        self.see(ReferencePoint::N1, Some(ue), is_received, plain);
    }

    /// A message as octets, for whoever follows the UE.
    pub fn see(&mut self, at: ReferencePoint, ue: Option<UeId>, is_received: bool, octets: &[u8]) {
        let known = ue.and_then(|ue| self.ues.get(ue.0));
        let is_anothers = |ue: &Ue| ue.supi.is_some_and(|supi| !self.followed.is(supi));
        if self.followed == Followed::Nobody || known.is_some_and(is_anothers) {
            return;
        }
        self.effects
            .push(Effect::TracedMessage(Box::new(TracedMessage {
                at,
                is_received,
                supi: known.and_then(|ue| ue.supi),
                ue: ue.map(|ue| ue.number()),
                octets: octets.to_vec(),
            })));
    }

    /// The message that was seen last is the cleartext part of this one, which has come in its container
    /// (TS 24.501, 4.4.6).
    pub fn see_whole(&mut self, ue: UeId, plain: &[u8]) {
        let is_it =
            |seen: &TracedMessage| seen.at == ReferencePoint::N1 && seen.ue == Some(ue.number());
        let last = self
            .effects
            .iter_mut()
            .rev()
            .find_map(|effect| match effect {
                Effect::TracedMessage(seen) if is_it(seen) => Some(seen),
                _ => None,
            });
        if let Some(seen) = last {
            seen.octets = plain.to_vec();
        }
    }

    /// Messages of a new UE were those of one that is known.
    pub fn see_as(&mut self, new: UeId, known: UeId) {
        self.of_ue = Some(known);
        let supi = self.ues.get(known.0).and_then(|ue| ue.supi);
        for effect in &mut self.effects {
            if let Effect::TracedMessage(seen) = effect
                && seen.ue == Some(new.number())
            {
                (seen.ue, seen.supi) = (Some(known.number()), supi);
            }
        }
    }

    /// Adds a line of the call flow.
    pub fn line(
        &mut self,
        from: &'static str,
        to: &'static str,
        step: &'static str,
        what: impl Into<String>,
        ue: UeId,
    ) {
        let supi = self.ues.get(ue.0).and_then(|ue| ue.supi);
        let what = what.into();
        self.effects.push(Effect::CallFlow(Line {
            from,
            to,
            what,
            step,
            supi,
            ue: Some(ue.number()),
        }));
    }

    /// Names a call and asks.
    pub fn call(&mut self, waiter: Waiter, to: Nf, message: Message) -> Option<CallId> {
        let deadline = self.now.instant.plus_ms(limits::CALL_MS);
        let until = self.now.instant.plus_ms(limits::ANSWER_MS);
        let call = self.calls.begin_until(until, waiter)?;
        self.effects.push(Effect::Call {
            to: message.receiver(to),
            call,
            deadline,
            message: message.into(),
        });
        Some(call)
    }
}

/// A message and the cause in it.
pub(crate) fn describe(message: &Downlink) -> String {
    match message {
        Downlink::RegistrationReject(reject) | Downlink::ServiceReject(reject) => {
            format!("{} {reject}", message.name())
        }
        Downlink::DeregistrationRequest {
            cause: Some(cause), ..
        }
        | Downlink::Status(cause) => format!("{} {cause}", message.name()),
        message => message.name().to_owned(),
    }
}
