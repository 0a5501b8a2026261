//! Contexts that survive the process: what is stored after each input, and how a later AMF goes on with it
//! (TS 23.527, 6.1; TS 38.413, 8.7.1).
//!
//! A UE is idle until it is heard of, and comes back by service request or paging. One whose gNB has its
//! context is waited for: its gNB may have kept it.

use std::collections::BTreeMap;

use sluice_ids::{Guami, Plmn, Supi};
use sluice_n2::Gnb;
use sluice_sbi::{AssociationId, CommitId, Effect, Instant, Key, Now, context_store::fingerprint};

use crate::Amf;
use crate::context::state::State;
use crate::context::stored_context::{self, At};
use crate::context::ue::{Connection, ConnectionId, Ue, UeId, Undo};
use crate::limits;

/// The association of connections whose gNBs have not come back.
const NOWHERE: AssociationId = AssociationId(u32::MAX);

/// A gNB by its identity, in an order.
type GnbName = (Plmn, u32, u8);

fn name(gnb: &Gnb) -> GnbName {
    (gnb.plmn, gnb.id, gnb.bits)
}

/// Before the digits of a UE's context.
const UE: &str = "amf/ue/";
/// Before the digits of what is stored of its radio.
const RADIO: &str = "amf/radio/";

/// UEs whose gNBs may have kept them.
#[derive(Default)]
pub(crate) struct Awaited {
    by_gnb: BTreeMap<GnbName, Vec<UeId>>,
    /// How many connections there are of which no gNB has said anything.
    number: usize,
    /// When they are given up.
    until: Option<Instant>,
}

/// A session of a UE, as its SMF calls it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KnownSession {
    /// SUPI of the UE.
    pub supi: Supi,
    /// PDU session identity.
    pub session: u8,
    /// The SMF's name of it.
    pub context: u64,
    /// A gNB has it.
    pub is_up: bool,
}

impl Amf {
    /// Goes on with the contexts of an AMF of before, of which this is the `starts`th: keys and values as
    /// they were committed. How many UEs there are. What cannot be read is left out, and so is a UE that
    /// another AMF has named.
    pub fn resume<'a>(
        &mut self,
        now: Now,
        starts: u16,
        contexts: impl Iterator<Item = (&'a [u8], &'a [u8])>,
    ) -> usize {
        let state = &mut *self.state.borrow_mut();
        state.now = now;
        let (mut read, mut radios) = (Vec::new(), Vec::new());
        for (key, value) in contexts {
            if key.starts_with(UE.as_bytes()) {
                read.extend(stored_context::read(value).map(|one| (one, fingerprint(value))));
            } else if let Some(imsi) = key.strip_prefix(RADIO.as_bytes()) {
                radios.extend(stored_context::read_radio(value).map(|radio| (imsi, radio)));
            }
        }
        let mut connections = Vec::new();
        for ((ue, at), stored) in read {
            state.resume_ue(ue, at, stored, &mut connections);
        }
        state.resume_connections(starts << 8, connections);
        for (imsi, (capability, for_paging)) in radios {
            let supi = str::from_utf8(imsi).ok().and_then(Supi::from_imsi);
            let ue = supi.and_then(|supi| state.find_supi(&supi));
            if let Some(ue) = ue.and_then(|ue| state.ues.get_mut(ue.0)) {
                ue.radio_capability = Some(capability);
                ue.paging_capability = for_paging;
                ue.is_radio_kept = true;
            }
        }
        state.ues.take_touched();
        state.registered()
    }

    /// Sessions of all UEs, by the SMF's names of them.
    pub fn known_sessions(&self) -> Vec<KnownSession> {
        let state = self.state.borrow();
        let of_ue = |(_, ue): (Key, &'_ Ue)| {
            let supi = ue.supi;
            let sessions = ue.sessions.iter();
            let known = sessions.filter_map(move |(session, one)| {
                Some(KnownSession {
                    supi: supi?,
                    session: *session,
                    context: one.context?,
                    is_up: one.is_up,
                })
            });
            known.collect::<Vec<_>>()
        };
        state.ues.iter().flat_map(of_ue).collect()
    }

    /// The SMF has not this session any more; the UE learns it by the status of its sessions.
    pub fn forget_session(&mut self, now: Now, known: &KnownSession, effects: &mut Vec<Effect>) {
        let state = &mut *self.state.borrow_mut();
        state.now = now;
        let ue = state.find_supi(&known.supi);
        let session = ue.and_then(|ue| state.session_mut(ue, known.session));
        if session.is_some_and(|one| one.context == Some(known.context))
            && let Some(ue) = ue.and_then(|ue| state.ues.get_mut(ue.0))
        {
            ue.sessions.remove(&known.session);
        }
        state.take_effects(effects);
    }

    /// GUAMI of this AMF.
    pub fn guami(&self) -> Guami {
        self.state.borrow().config.guami
    }

    /// Registered subscribers.
    pub fn subscribers(&self) -> Vec<Supi> {
        let state = self.state.borrow();
        let registered = state.ues.iter().filter(|(_, ue)| ue.registered.is_some());
        registered.filter_map(|(_, ue)| ue.supi).collect()
    }
}

impl State {
    fn resume_ue(
        &mut self,
        ue: Ue,
        at: Option<At>,
        stored: u64,
        connections: &mut Vec<(Key, Connection)>,
    ) {
        let (Some(guti), Some(supi), old_guti) = (ue.guti, ue.supi, ue.old_guti) else {
            return;
        };
        // A UE comes by a name that has another AMF's identity in it, and would not be found.
        if guti.guami != self.config.guami || self.find_supi(&supi).is_some() {
            return;
        }
        let kept = Some(stored);
        let Some(id) = self.ues.insert(Ue { kept, ..ue }).map(UeId) else {
            return;
        };
        for guti in [Some(guti), old_guti].into_iter().flatten() {
            self.name_ue(id, guti);
        }
        self.own_supi(id, supi);
        let Some(at) = at else {
            return self.watch_idle(id);
        };
        if let Some(ue) = self.ues.get_mut(id.0) {
            ue.awaits = Some(at);
        }
        let connection = Connection {
            association: NOWHERE,
            ran: at.ran,
            location: at.location,
            ue: id,
            is_secured: true,
            has_context: true,
            is_told: false,
        };
        connections.push((at.connection.0, connection));
    }

    /// Their numbers are taken, so that no other UE gets them while a gNB may name them.
    fn resume_connections(&mut self, first: u16, connections: Vec<(Key, Connection)>) {
        let named: Vec<(UeId, ConnectionId)> = connections
            .iter()
            .map(|(key, connection)| (connection.ue, ConnectionId(*key)))
            .collect();
        self.connections.restore(first, connections);
        for (ue, id) in named {
            let is_its = self.connections.get(id.0).is_some_and(|one| one.ue == ue);
            let Some(known) = self.ues.get_mut(ue.0) else {
                continue;
            };
            known.awaits = known.awaits.filter(|_| is_its);
            match known.awaits {
                Some(at) => {
                    let of_gnb = self.awaited.by_gnb.entry(name(&at.gnb)).or_default();
                    of_gnb.push(ue);
                    self.awaited.number += 1;
                }
                None => self.watch_idle(ue),
            }
        }
        let has_any = self.awaited.number > 0;
        let until = self.now.instant.plus_ms(limits::GNB_RETURNS_MS);
        self.awaited.until = has_any.then_some(until);
    }

    /// How many connections there are of which no gNB has said anything.
    pub fn awaited(&self) -> usize {
        self.awaited.number
    }

    /// When gNBs are waited for no longer.
    pub fn awaited_until(&self) -> Instant {
        self.awaited.until.unwrap_or(Instant::NEVER)
    }

    /// gNBs that have not come back have lost their UEs.
    pub fn stop_waiting(&mut self) {
        if self.awaited_until() > self.now.instant {
            return;
        }
        self.awaited.until = None;
        let all = std::mem::take(&mut self.awaited.by_gnb);
        for ue in all.into_values().flatten() {
            self.let_go(ue);
        }
    }

    /// Whether UEs wait for a gNB, which may have kept them.
    pub fn awaits(&self, gnb: &Gnb) -> bool {
        self.awaited.by_gnb.contains_key(&name(gnb))
    }

    /// A gNB is back, with its UEs in this association, or without.
    pub fn gnb_is_back(&mut self, gnb: &Gnb, with_ues: Option<AssociationId>) {
        let its = self.awaited.by_gnb.remove(&name(gnb));
        for ue in its.into_iter().flatten() {
            match with_ues {
                Some(association) => self.retain(ue, association),
                None => self.let_go(ue),
            }
        }
    }

    /// A UE is connected as it was.
    fn retain(&mut self, id: UeId, association: AssociationId) {
        let Some(at) = self.goes_on(id) else {
            return;
        };
        if let Some(connection) = self.connections.get_mut(at.connection.0) {
            connection.association = association;
            self.by_ran.insert((association, at.ran), at.connection);
        }
    }

    /// A UE whose gNB was waited for has its connection again: its gNB is back, or it has gone to another one by
    /// Xn. Where it was.
    pub fn goes_on(&mut self, id: UeId) -> Option<At> {
        let at = self.ues.get_mut(id.0)?.awaits.take()?;
        self.awaited.number -= 1;
        self.give_connection(id, Some(at.connection));
        Some(at)
    }

    /// A UE whose gNB was waited for is idle: it has come by itself, or its gNB has lost it.
    pub fn let_go(&mut self, id: UeId) {
        let known = self.ues.get_mut(id.0);
        let Some(at) = known.and_then(|ue| ue.awaits.take()) else {
            return;
        };
        self.connections.remove(at.connection.0);
        self.awaited.number -= 1;
        self.watch_idle(id);
        self.deactivate_sessions(id);
    }

    /// Moves the wanted effects out; before them the commits of what they depend on.
    pub fn take_effects(&mut self, effects: &mut Vec<Effect>) {
        let touched = self.ues.take_touched();
        for key in &touched {
            self.keep(UeId(*key));
        }
        self.expose_gone();
        for key in touched {
            self.expose(UeId(key));
        }
        self.ues.take_touched();
        effects.append(&mut self.effects);
    }

    /// Stores a UE's context if it is otherwise than what is stored. Nobody waits: whatever this input
    /// leads to leaves after it.
    fn keep(&mut self, id: UeId) {
        let at = self.at(id);
        let Some(ue) = self.ues.get_mut(id.0) else {
            return;
        };
        // One that leaves is deleted before it hears that it may.
        if ue.kept.is_none() && ue.undo.contains(&Undo::Deregistration) {
            return;
        }
        let context = stored_context::of(ue, at);
        let (before, supi) = (ue.kept, ue.supi);
        if context.as_deref().map(fingerprint) != before
            && let Some(supi) = supi
        {
            let commit = self.commit(id, &supi, context);
            self.commits.remove(&commit);
        }
        self.keep_radio(id);
    }

    fn keep_radio(&mut self, id: UeId) {
        let ue = self.ues.get_mut(id.0);
        let ue = ue.filter(|ue| ue.kept.is_some() && !ue.is_radio_kept);
        let Some((supi, radio)) = ue.and_then(|ue| {
            let radio = stored_context::of_radio(ue)?;
            ue.is_radio_kept = true;
            Some((ue.supi?, radio))
        }) else {
            return;
        };
        self.store(RADIO, &supi, Some(radio));
    }

    /// Forgets the radio capabilities, which are another radio's: the next gNB asks the UE.
    pub fn forget_radio(&mut self, id: UeId) {
        let Some(ue) = self.ues.get_mut(id.0) else {
            return;
        };
        ue.paging_capability = None;
        let was_kept = std::mem::take(&mut ue.is_radio_kept);
        if ue.radio_capability.take().is_some()
            && was_kept
            && let Some(supi) = ue.supi
        {
            self.store(RADIO, &supi, None);
        }
    }

    /// Place of a connected UE, if its gNB has its context.
    pub fn at(&self, id: UeId) -> Option<At> {
        if let Some(at) = self.ues.get(id.0).and_then(|ue| ue.awaits) {
            return Some(at);
        }
        let (connection_id, connection) = self.connection(id)?;
        let gnb = self.gnbs.get(&connection.association)?.identity;
        connection.has_context.then_some(At {
            gnb,
            connection: connection_id,
            ran: connection.ran,
            location: connection.location,
        })
    }

    /// Stores a UE's context, or deletes it with all that is stored of the UE.
    pub fn commit(&mut self, id: UeId, supi: &Supi, context: Option<Vec<u8>>) -> CommitId {
        let mut has_radio = false;
        if let Some(ue) = self.ues.get_mut(id.0) {
            ue.kept = context.as_deref().map(fingerprint);
            has_radio = context.is_none() && std::mem::take(&mut ue.is_radio_kept);
        }
        if has_radio {
            self.store(RADIO, supi, None);
        }
        let commit = self.store(UE, supi, context);
        self.commits.insert(commit, id);
        commit
    }

    fn store(&mut self, what: &str, supi: &Supi, value: Option<Vec<u8>>) -> CommitId {
        self.commits_made += 1;
        let id = CommitId(self.commits_made);
        let key = format!("{what}{}", supi.imsi()).into_bytes();
        self.effects.push(Effect::Commit { id, key, value });
        id
    }
}
