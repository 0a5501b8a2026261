//! What an SMF knows: sessions, UPFs, and what it wants done.

use std::collections::{BTreeMap, VecDeque};

use sluice_ids::{Dnn, Supi};
use sluice_n4::{AssociationId, Endpoint};
use sluice_sbi::{CallId, Calls, Effect, Line, Message, Nf, NotifySmContext, Now, Problem, Slab};

use crate::config::Config;
use crate::limits;
use crate::session::{Session, SessionId, Usage};

/// What happened so far.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Sessions that were established.
    pub established: u64,
    /// Sessions that were refused.
    pub refused: u64,
    /// Sessions that were released.
    pub released: u64,
    /// Usage reports of UPFs.
    pub usage_reports: u64,
    /// Reports of downlink data for idle UEs.
    pub downlink_data_reports: u64,
    /// NAS messages that cannot be read, or do not fit.
    pub unexpected: u64,
    /// Charging records that nobody took.
    pub records_lost: u64,
    /// Procedures that panicked.
    pub panics: u64,
    /// Sessions and requests that found no room.
    pub no_room: u64,
}

/// What a session has used so far.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ChargingRecord {
    /// Whose.
    pub supi: Supi,
    /// PDU session identity.
    pub session: u8,
    /// In which data network.
    pub dnn: Dnn,
    /// All usage since the session was established.
    pub usage: Usage,
    /// Seconds since 1970.
    pub unix_s: u64,
    /// The session is over.
    pub is_last: bool,
}

/// What an SMF knows.
pub(crate) struct State {
    pub config: Config,
    pub now: Now,
    pub sessions: Slab<Session>,
    pub by_identity: BTreeMap<(Supi, u8), SessionId>,
    pub calls: Calls<Option<SessionId>>,
    pub endpoint: Endpoint,
    /// Of each UPF.
    pub associations: Vec<Option<AssociationId>>,
    /// Requests to UPFs whose answers procedures wait for.
    pub asked: BTreeMap<u64, SessionId>,
    pub tags: u64,
    pub records: VecDeque<ChargingRecord>,
    pub effects: Vec<Effect>,
    pub counters: Counters,
}

impl State {
    pub fn new(config: Config) -> Self {
        Self {
            endpoint: crate::n4::endpoint(&config),
            associations: vec![None; config.upfs.len()],
            config,
            now: Now::default(),
            sessions: Slab::new(limits::SESSIONS),
            by_identity: BTreeMap::new(),
            calls: Calls::new(limits::PROCEDURES),
            asked: BTreeMap::new(),
            tags: 0,
            records: VecDeque::new(),
            effects: Vec::new(),
            counters: Counters::default(),
        }
    }

    /// What an operator sees.
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
        self.effects.push(Effect::Ladder(Line {
            from,
            to,
            what,
            step,
            supi,
        }));
    }

    /// Names a call and asks.
    pub fn call(&mut self, session: Option<SessionId>, to: Nf, message: Message) -> Option<CallId> {
        let call = self.calls.begin(session)?;
        let deadline = self.now.instant.plus_ms(limits::CALL_MS);
        self.effects.push(Effect::Call {
            to,
            call,
            deadline,
            message,
        });
        Some(call)
    }

    /// Answers the request that a session's procedure is for; once.
    pub fn answer(&mut self, session: SessionId, message: Message) {
        let waiting = self.sessions.get_mut(session.0);
        if let Some(id) = waiting.and_then(|session| session.request.take()) {
            self.effects.push(Effect::Answer { id, message });
        }
    }

    /// Forgets a session; requests that wait for it are answered.
    pub fn remove(&mut self, id: SessionId) {
        self.answer(id, Problem::ContextNotFound.into());
        let Some(session) = self.sessions.remove(id.0) else {
            return;
        };
        let name = (session.supi, session.identity);
        if self.by_identity.get(&name) == Some(&id) {
            self.by_identity.remove(&name);
        }
        let refused = session.pending.into_iter().map(|(id, message)| {
            // A release that comes too late has what it wants.
            let message = match message {
                Message::ReleaseSmContext(_) => sluice_sbi::Done::ALL.into(),
                _ => Problem::ContextNotFound.into(),
            };
            Effect::Answer { id, message }
        });
        self.effects.extend(refused);
    }

    /// Tells the AMF that a session is over.
    pub fn notify(&mut self, id: SessionId, step: &'static str) {
        let Some(session) = self.sessions.get(id.0) else {
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

    /// Makes a charging record, where the data network has any.
    pub fn record(&mut self, id: SessionId, is_last: bool) {
        let Some(session) = self.sessions.get(id.0) else {
            return;
        };
        let network = self.config.network(&session.dnn);
        if network.is_none_or(|network| network.charging_octets.is_none()) {
            return;
        }
        let record = ChargingRecord {
            supi: session.supi,
            session: session.identity,
            dnn: session.dnn,
            usage: session.usage,
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
