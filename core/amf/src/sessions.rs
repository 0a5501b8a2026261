//! PDU sessions as an AMF has them: it passes on what UE, gNB and SMF say of them, unread, and says
//! which user planes are up.

use std::collections::BTreeMap;

use sluice_n1::{Cause, Downlink, N1_SM, UplinkPayload};
use sluice_n2::{
    FromAmf, FromRan, PduSessionModifyRequest, PduSessionModifyResponse, PduSessionNotify,
    PduSessionReleaseCommand, PduSessionReleaseResponse, PduSessionSetupRequest,
    PduSessionSetupResponse, SessionModification, SessionResults, SessionSetup, Transfers,
    first_twice, session,
};
use sluice_sbi::{
    Container, Effect, Message, N2Sm, Nf, NotifySmContext, Problem, ReleaseSmContext, RequestId,
    SmChange, SmContextUpdated, TransferN1N2, UpdateSmContext, server,
};

use crate::context::handover_state::{Held, HeldSm};
use crate::context::state::State;
use crate::context::ue::{SmContext, UeId, Waiter};
use crate::messages::ngap_faults;
use crate::procedure::initial_context;

/// DL NAS Transport that returns a payload which is not passed on.
pub(crate) fn returned(payload: UplinkPayload, cause: Cause) -> Downlink {
    Downlink::DlNasTransport {
        kind: payload.kind,
        session: payload.session,
        cause: Some(cause),
        back_off_s: None,
        payload: payload.payload,
    }
}

/// A message of an SMF for the UE.
pub(crate) fn transport(session: u8, n1: &[u8]) -> Downlink {
    Downlink::DlNasTransport {
        kind: N1_SM,
        session: Some(session),
        cause: None,
        back_off_s: None,
        payload: n1.to_vec(),
    }
}

impl State {
    /// A session of a UE.
    pub fn session_mut(&mut self, ue: UeId, session: u8) -> Option<&mut SmContext> {
        self.ues.get_mut(ue.0)?.sessions.get_mut(&session)
    }

    /// Sessions that an SMF has, a bit for each.
    pub fn session_status(&self, ue: UeId) -> u16 {
        let sessions = self.ues.get(ue.0).map(|ue| &ue.sessions);
        let there = sessions.into_iter().flatten();
        let there = there.filter(|(_, session)| session.context.is_some());
        there.fold(0, |bits, (session, _)| bits | 1 << (session & 15))
    }

    /// Tells the SMF what changed of a session, if there is one; what follows is delivered.
    pub fn update_session(
        &mut self,
        ue: UeId,
        session: u8,
        step: &'static str,
        change: SmChange,
        octets: &[u8],
    ) {
        let context = self.session_mut(ue, session).and_then(|s| s.context);
        // Longer ones are nothing that an SMF reads.
        let (Some(context), Some(container)) = (context, Container::new(octets)) else {
            self.counters.unexpected += 1;
            return;
        };
        let (n1, n2) = match change {
            SmChange::N1 => (container, Container::NONE),
            _ => (Container::NONE, container),
        };
        let message = Message::from(UpdateSmContext {
            context: context.into(),
            change,
            n1,
            n2,
        });
        self.line("AMF", "SMF", step, message.name(), ue);
        let waiter = Waiter::Session(ue, session, context, step);
        self.call(waiter, Nf::Smf, message);
    }

    /// The session is over for the UE: the SMF forgets it.
    pub fn release_session(&mut self, ue: UeId, session: u8, step: &'static str) {
        let context = self.forget_session(ue, session);
        if let Some(context) = context.and_then(|session| session.context) {
            let message = Message::from(ReleaseSmContext {
                context: context.into(),
            });
            self.line("AMF", "SMF", step, message.name(), ue);
            self.call(Waiter::Nobody, Nf::Smf, message);
        }
    }

    /// Nothing more is done for the session.
    fn forget_session(&mut self, ue: UeId, session: u8) -> Option<SmContext> {
        let ue = self.ues.get_mut(ue.0)?;
        ue.paged_for.remove(&session);
        let session = ue.sessions.remove(&session)?;
        // What its establishment still waits for is released when it comes.
        self.ended.extend(session.task);
        Some(session)
    }

    /// Releases those sessions of a UE whose bits are not set.
    pub fn keep_sessions(&mut self, ue: UeId, kept: u16, step: &'static str) {
        let sessions = self.ues.get(ue.0).map(|ue| &ue.sessions);
        let is_over = |session: &&u8| kept & 1 << (**session & 15) == 0;
        let over: Vec<u8> = sessions
            .into_iter()
            .flat_map(|sessions| sessions.keys().filter(is_over).copied())
            .collect();
        for session in over {
            self.release_session(ue, session, step);
        }
    }

    /// The UE is idle: so are the user planes of its sessions (TS 23.502, 4.2.6, step 5).
    pub fn deactivate_sessions(&mut self, ue: UeId) {
        let sessions = self.ues.get_mut(ue.0).map(|ue| &mut ue.sessions);
        let was_up = |(session, one): (&u8, &mut SmContext)| one.leave().then_some(*session);
        let up: Vec<u8> = sessions.into_iter().flatten().filter_map(was_up).collect();
        for session in up {
            self.update_session(ue, session, "5", SmChange::Deactivate, &[]);
        }
    }

    /// Handles the gNB's results of session set-ups.
    pub fn set_up(&mut self, ue: UeId, mut results: SessionResults) {
        let name = "PDU Session Resource Setup Response";
        let twice = self.drop_twice(ue, &mut results, name, session::setup_failure);
        self.release_at_gnb(ue, "14", &twice);
        for (session, transfer) in results.done {
            if let Some(session) = self.session_mut(ue, session) {
                (session.is_up, session.is_asked) = (true, false);
            }
            self.update_session(ue, session, "15", SmChange::SetUp, &transfer);
        }
        for (session, transfer) in results.failed {
            if let Some(session) = self.session_mut(ue, session) {
                session.is_asked = false;
            }
            self.update_session(ue, session, "15", SmChange::SetupFailed, &transfer);
        }
    }

    /// The answer of a gNB to the sessions that it was asked for cannot be read: it may have them.
    pub fn setup_lost(&mut self, ue: UeId, cause: sluice_n2::Cause) {
        let sessions = self.ues.get(ue.0).map(|ue| &ue.sessions);
        let asked = sessions
            .into_iter()
            .flatten()
            .filter(|(_, one)| one.is_asked);
        let asked: Vec<u8> = asked.map(|(session, _)| *session).collect();
        self.release_at_gnb(ue, "14", &asked);
        let failed = |session: &u8| (*session, session::setup_failure(cause));
        let results = SessionResults {
            done: Transfers::new(),
            failed: asked.iter().map(failed).collect(),
        };
        self.set_up(ue, results);
    }

    /// Sessions that an answer names twice have failed, whatever the gNB has of them (TS 38.413, 10.4): which of two
    /// tunnels it means nobody knows.
    fn drop_twice(
        &mut self,
        ue: UeId,
        results: &mut SessionResults,
        answer: &'static str,
        failure: fn(sluice_n2::Cause) -> Vec<u8>,
    ) -> Vec<u8> {
        let mut dropped = Vec::new();
        while let Some(session) = first_twice(&[&results.done, &results.failed]) {
            for list in [&mut results.done, &mut results.failed] {
                list.retain(|(one, _)| *one != session);
            }
            let why = failure(sluice_n2::Cause::SESSION_TWICE);
            results.failed.push((session, why));
            dropped.push(session);
            if let Some(at) = self.connection(ue).map(|(_, one)| one.association) {
                let cause = format!("{}, not answered", sluice_n2::Cause::SEMANTIC_ERROR);
                self.gnb_refused(at, Some(ue), answer, cause, ngap_faults::twice(session));
            }
        }
        dropped
    }

    /// Handles a gNB's message about sessions.
    pub fn of_sessions(&mut self, ue: UeId, message: FromRan) {
        let name = message.name();
        match message {
            FromRan::PduSessionSetupResponse(PduSessionSetupResponse { sessions, .. }) => {
                self.line("gNB", "AMF", "14", name, ue);
                self.set_up(ue, sessions);
            }
            FromRan::PduSessionModifyResponse(PduSessionModifyResponse { sessions, .. }) => {
                self.line("gNB", "AMF", "6", name, ue);
                self.modified(ue, sessions);
            }
            FromRan::PduSessionReleaseResponse(PduSessionReleaseResponse { sessions, .. }) => {
                self.line("gNB", "AMF", "6", name, ue);
                self.released(ue, sessions);
            }
            // 4.3.3.2, 1e and 2: the gNB has taken flows or sessions away
            FromRan::PduSessionNotify(PduSessionNotify {
                sessions, released, ..
            }) => {
                self.line("gNB", "AMF", "1", name, ue);
                for (session, transfer) in sessions {
                    self.update_session(ue, session, "2", SmChange::Notified, &transfer);
                }
                self.taken_away(ue, released);
            }
            _ => self.counters.unexpected += 1,
        }
    }

    /// Sessions that a gNB has released by itself: they stay, without user plane, and have one again when there is a
    /// packet (TS 23.502, 4.3.4.2, step 1d leaves that to the SMF).
    fn taken_away(&mut self, ue: UeId, sessions: Transfers) {
        for (session, transfer) in sessions {
            let why = sluice_n2::notify::read_notify_released(&transfer);
            let what = format!("the gNB has released session {session}: {why}");
            self.line("gNB", "AMF", "1", what, ue);
            let known = self.session_mut(ue, session);
            if known.is_some_and(SmContext::leave) {
                self.update_session(ue, session, "2", SmChange::Deactivate, &[]);
            }
        }
    }

    /// Handles the gNB's results of flow changes.
    fn modified(&mut self, ue: UeId, mut results: SessionResults) {
        let name = "PDU Session Resource Modify Response";
        self.drop_twice(ue, &mut results, name, session::modify_failure);
        for (session, transfer) in results.done {
            self.update_session(ue, session, "7", SmChange::Modified, &transfer);
        }
        for (session, transfer) in results.failed {
            self.update_session(ue, session, "7", SmChange::ModifyFailed, &transfer);
        }
    }

    /// Sessions that the gNB has released.
    fn released(&mut self, ue: UeId, sessions: Transfers) {
        // One that is named twice is released once.
        let sessions: BTreeMap<u8, Vec<u8>> = sessions.into_iter().collect();
        for (session, transfer) in sessions {
            let known = self.session_mut(ue, session);
            let is_known = known.map(SmContext::leave).is_some();
            if is_known {
                self.update_session(ue, session, "7", SmChange::Released, &transfer);
            }
        }
    }

    /// The SMF's answer to what changed.
    pub fn updated(
        &mut self,
        ue: UeId,
        (session, context): (u8, u64),
        step: &'static str,
        message: Message,
    ) {
        let smf = server::name(Nf::Smf);
        self.line(smf, "AMF", step, message.to_string(), ue);
        let known = self.session_mut(ue, session);
        if known.is_none_or(|one| one.context != Some(context)) {
            // It is about one that is over, whose number may be another's by now.
            self.counters.unexpected += 1;
            return;
        }
        match message.answer_to::<UpdateSmContext>() {
            Ok(SmContextUpdated { n1, n2_kind, n2 }) => {
                self.deliver(ue, session, "4", n1, n2_kind, n2);
            }
            // The SMF has forgotten it.
            Err(Problem::ContextNotFound) => {
                self.forget_session(ue, session);
            }
            Err(_) => self.counters.unexpected += 1,
        }
    }

    /// Passes messages of an SMF on to the UE and its gNB; false if the UE is not connected.
    pub fn deliver(
        &mut self,
        ue: UeId,
        session: u8,
        step: &'static str,
        n1: Container,
        n2_kind: N2Sm,
        n2: Container,
    ) -> bool {
        if n2_kind != N2Sm::None && self.holds_sessions(ue) {
            if let Some(one) = self.session_mut(ue, session) {
                // What is held may get lost with the UE.
                one.is_asked |= n2_kind == N2Sm::Setup;
            }
            return self.hold(ue, || {
                Held::Sm(Box::new(HeldSm {
                    session,
                    step,
                    n1,
                    n2_kind,
                    n2,
                }))
            });
        }
        let Some((id, connection)) = self.connection(ue) else {
            return false;
        };
        let (association, has_context) = (connection.association, connection.has_context);
        let ids = (id.to_ngap(), connection.ran);
        let message = n1.get().map(|octets| transport(session, octets));
        let transfer = n2.get().unwrap_or_default().to_vec();
        if n2_kind == N2Sm::None {
            if let Some(message) = message {
                self.send_nas(ue, &message, step);
            }
            return true;
        }
        let nas = message.and_then(|message| self.protect(ue, &message));
        let request = match n2_kind {
            N2Sm::Release => FromAmf::PduSessionReleaseCommand(PduSessionReleaseCommand {
                ids,
                nas,
                sessions: vec![(session, transfer)],
            }),
            N2Sm::Modify => FromAmf::PduSessionModifyRequest(PduSessionModifyRequest {
                ids,
                sessions: vec![SessionModification {
                    session,
                    nas,
                    transfer,
                }],
            }),
            _ => {
                let slice = self.session_mut(ue, session).map(|session| session.slice);
                let Some(slice) = slice else {
                    return false;
                };
                let sessions = vec![SessionSetup {
                    session,
                    nas,
                    slice,
                    transfer,
                }];
                if !has_context {
                    // A gNB without context of the UE takes no session alone.
                    return initial_context::request(self, ue, step, None, sessions).is_ok();
                }
                self.ask_for_sessions(ue, step, sessions);
                return true;
            }
        };
        self.line("AMF", "gNB", step, request.name(), ue);
        self.send_n2(association, Some(ue), &request);
        true
    }

    /// Asks a gNB that has the UE's context to set sessions up.
    pub fn ask_for_sessions(&mut self, ue: UeId, step: &'static str, sessions: Vec<SessionSetup>) {
        let Some((id, connection)) = self.connection(ue) else {
            return;
        };
        if sessions.is_empty() {
            return;
        }
        if self.holds_sessions(ue) {
            self.are_asked_for(ue, &sessions);
            self.hold(ue, || Held::Setups(step, sessions));
            return;
        }
        let (association, ids) = (connection.association, (id.to_ngap(), connection.ran));
        // A gNB would not set up a second time what it has; what is wanted anew it has lost the tunnel of.
        let is_up = |one: &&SessionSetup| {
            let known = self
                .ues
                .get(ue.0)
                .and_then(|ue| ue.sessions.get(&one.session));
            known.is_some_and(|known| known.is_up)
        };
        let up: Vec<u8> = sessions
            .iter()
            .filter(is_up)
            .map(|one| one.session)
            .collect();
        self.release_at_gnb(ue, step, &up);
        self.are_asked_for(ue, &sessions);
        let registered = self.ues.get(ue.0).and_then(|ue| ue.registered.as_ref());
        let request = FromAmf::PduSessionSetupRequest(PduSessionSetupRequest {
            ids,
            ambr_bps: registered.map(|registered| registered.ambr_bps),
            sessions,
        });
        self.line("AMF", "gNB", step, request.name(), ue);
        self.send_n2(association, Some(ue), &request);
    }

    /// The gNB that the UE is at has sessions that have no user plane any more, of which the UE is not told.
    pub fn release_at_gnb(&mut self, ue: UeId, step: &'static str, sessions: &[u8]) {
        let Some((id, connection)) = self.connection(ue).filter(|_| !sessions.is_empty()) else {
            return;
        };
        let (association, ids) = (connection.association, (id.to_ngap(), connection.ran));
        let transfer = session::release_command(sluice_n2::Cause::NORMAL_RELEASE);
        let sessions = sessions.iter().map(|one| (*one, transfer.clone()));
        let request = FromAmf::PduSessionReleaseCommand(PduSessionReleaseCommand {
            ids,
            nas: None,
            sessions: sessions.collect(),
        });
        self.line("AMF", "gNB", step, request.name(), ue);
        self.send_n2(association, Some(ue), &request);
    }

    /// A gNB is asked to set sessions up, or is to be asked when the UE is there.
    pub fn are_asked_for(&mut self, ue: UeId, sessions: &[SessionSetup]) {
        for setup in sessions {
            if let Some(one) = self.session_mut(ue, setup.session) {
                one.is_asked = true;
            }
        }
    }

    /// A request of an SMF.
    pub fn requested(&mut self, id: RequestId, message: &Message) {
        let message = match message {
            Message::NotifySmContext(notice) => self.notified(notice).into(),
            _ => Problem::Protocol.into(),
        };
        self.effects.push(Effect::Answer { id, message });
    }

    /// Messages of an SMF for a UE that is connected; false if it is not.
    pub fn transferred(&mut self, ue: UeId, request: &TransferN1N2) -> bool {
        let step = match request.n2_kind {
            N2Sm::Setup => "12",
            _ => "4",
        };
        let TransferN1N2 {
            session,
            n1,
            n2_kind,
            n2,
            ..
        } = *request;
        self.deliver(ue, session, step, n1, n2_kind, n2)
    }

    /// Nsmf_PDUSession_SMContextStatusNotify: the session is over. A gNB has it still where the SMF did not hear that the
    /// set-up had reached it.
    fn notified(&mut self, notice: &NotifySmContext) -> Message {
        let context = Some(notice.context.get());
        if let Some(ue) = self.find_supi(&notice.supi) {
            let known = self.session_mut(ue, notice.session);
            if let Some(known) = known.filter(|one| one.context == context) {
                if known.leave() {
                    self.release_at_gnb(ue, "4", &[notice.session]);
                }
                self.forget_session(ue, notice.session);
            }
        }
        sluice_sbi::Done::ALL.into()
    }
}
