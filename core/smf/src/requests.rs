//! Requests of other functions: which session they are for, and what they begin.

use sluice_n1::{SessionUplink, transaction};
use sluice_n2::{ModifyResponse, session::read_modify_failure};
use sluice_sbi::{
    CreateSmContext, Effect, Message, NotifySmPolicy, NotifySubscription, Problem, RequestId, Slot,
    SmChange, SmContextUpdated, SmPolicyNotified, UpdateSmContext,
};

use crate::Smf;
use crate::context::session::{Session, SessionId};
use crate::context::state::State;
use crate::limits;
use crate::procedure::Event;
use crate::procedure::status::About;
use crate::procedure::{establishment, modification, release, update};

impl Smf {
    /// A request of an AMF, a PCF or a UDM.
    pub(crate) fn request(&mut self, id: RequestId, message: Slot) {
        match *message {
            Message::CreateSmContext(request) => self.create(id, request),
            Message::UpdateSmContext(update) => {
                let session = SessionId::from_number(update.context.get());
                if self.answers(session, &update) {
                    let message = SmContextUpdated::NOTHING.into();
                    self.state
                        .borrow_mut()
                        .effects
                        .push(Effect::Answer { id, message });
                    return;
                }
                if update.change.is_handover() {
                    return self.hand_over(id, session, message);
                }
                let ends = self.ends_modification(session, &update);
                self.change(id, session, message);
                if ends {
                    self.tell(session, Event::Interrupted);
                }
            }
            Message::ReleaseSmContext(release) => {
                let session = SessionId::from_number(release.context.get());
                // The UE is gone: it will not say that it has released the session.
                self.forget(session);
                self.change(id, session, message);
                self.tell(session, Event::ReleaseComplete);
                self.tell(session, Event::Interrupted);
            }
            Message::NotifySmPolicy(notice) => self.policy_changed(id, &notice),
            Message::NotifySubscription(notice) => self.subscription_changed(id, &notice),
            Message::NotifyTransferFailure(notice) => {
                let state = &mut *self.state.borrow_mut();
                state.transfer_failed(&notice);
                let message = sluice_sbi::Done::ALL.into();
                state.effects.push(Effect::Answer { id, message });
            }
            Message::SubscribeSmfEvents(request) => {
                let subscribed = self.state.borrow_mut().subscribe_events(&request);
                self.answer(id, subscribed.map_or_else(Message::from, Message::from));
            }
            Message::UnsubscribeSmfEvents(request) => {
                let id_of_it = request.id.get();
                let done = self.state.borrow_mut().unsubscribe_events(id_of_it);
                let done = done.map(|()| Message::from(sluice_sbi::Done::ALL));
                self.answer(id, done.unwrap_or_else(Message::from));
            }
            _ => self.refuse(id, Problem::Protocol),
        }
    }

    /// Npcf_SMPolicyControl_UpdateNotify: the PCF wants other rules.
    fn policy_changed(&mut self, id: RequestId, notice: &NotifySmPolicy) {
        let session = SessionId::from_number(notice.context.get());
        let refused = {
            let state = &mut *self.state.borrow_mut();
            let policy = Some(notice.policy.get());
            let its = state.sessions.get(session.0);
            let is_its = its.is_some_and(|one| one.flows.policy == policy);
            is_its.then(|| state.want(session, notice.rules.get()))
        };
        let Some(refused) = refused else {
            return self.refuse(id, Problem::ContextNotFound);
        };
        let refused = refused.into();
        self.answer(id, SmPolicyNotified { refused }.into());
        self.modify(session);
    }

    /// Nudm_SDM_Notification: what the subscriber may do in its sessions is otherwise.
    fn subscription_changed(&mut self, id: RequestId, notice: &NotifySubscription) {
        let sessions: Vec<SessionId> = {
            let state = &mut *self.state.borrow_mut();
            let its = (notice.supi, 0)..=(notice.supi, u8::MAX);
            let its: Vec<SessionId> = state.by_identity.range(its).map(|(_, id)| *id).collect();
            for session in &its {
                if let Some(session) = state.sessions.get_mut(session.0) {
                    session.flows.is_stale = true;
                }
            }
            its
        };
        self.answer(id, sluice_sbi::Done::ALL.into());
        for session in sessions {
            self.modify(session);
        }
    }

    fn answer(&mut self, id: RequestId, message: Message) {
        let message = message.into();
        let effect = Effect::Answer { id, message };
        self.state.borrow_mut().effects.push(effect);
    }

    /// A session's flows are to be otherwise: now, or when its procedure ends.
    fn modify(&mut self, session: SessionId) {
        let is_due = self.state.borrow().is_to_be_modified(session);
        if is_due && self.is_free(session) {
            self.start(session, modification::by_network);
        }
    }

    /// Whether this is what a procedure waits for of UE or gNB.
    fn answers(&mut self, id: SessionId, update: &UpdateSmContext) -> bool {
        let event = match update.change {
            SmChange::N1 => {
                let octets = update.n1.get().unwrap_or_default();
                let about = self.state.borrow().status_is_about(id, octets);
                if let Some(about) = about {
                    return self.hears_status(id, about);
                }
                let command = self
                    .state
                    .borrow()
                    .sessions
                    .get(id.0)
                    .and_then(|s| s.flows.command);
                let is_its =
                    command.is_some() && command == transaction(octets).map(|of| of.procedure);
                match SessionUplink::decode(octets) {
                    Ok(SessionUplink::ReleaseComplete) => Event::ReleaseComplete,
                    Ok(SessionUplink::ModificationComplete) if is_its => {
                        Event::ModificationAnswer(Ok(()))
                    }
                    Ok(SessionUplink::ModificationCommandReject(cause)) if is_its => {
                        Event::ModificationAnswer(Err(cause))
                    }
                    _ => return false,
                }
            }
            SmChange::Modified => Event::AtGnb(update.n2.get().and_then(ModifyResponse::decode)),
            SmChange::ModifyFailed => {
                let why = read_modify_failure(update.n2.get().unwrap_or_default());
                match why.is_handover() {
                    true => Event::Moving,
                    false => Event::AtGnb(None),
                }
            }
            _ => return false,
        };
        self.tell(id, event)
    }

    pub(crate) fn refuse(&mut self, id: RequestId, problem: Problem) {
        let message = problem.into();
        let effect = Effect::Answer { id, message };
        self.state.borrow_mut().effects.push(effect);
    }

    fn create(&mut self, id: RequestId, request: CreateSmContext) {
        if self.state.borrow().to_end.is_some() {
            return self.refuse(id, Problem::Overload);
        }
        let name = (request.supi, request.session);
        let before = self.state.borrow().by_identity.get(&name).copied();
        let session = {
            let state = &mut *self.state.borrow_mut();
            let mut session =
                Session::new(request.supi, request.session, request.slice, request.dnn);
            session.request = Some(id);
            session.begun_unix_s = state.now.unix_s;
            session.at_udm.plmn = Some(request.area.plmn);
            // One of this identity may be registered still, which this one replaces.
            let before = before.and_then(|before| state.sessions.get(before.0));
            session.at_udm.may_have_it = before.is_some_and(|before| before.at_udm.may_have_it);
            let session = state.sessions.insert(session).map(SessionId);
            if let Some(session) = session {
                state.by_identity.insert(name, session);
            }
            session
        };
        // One of this identity is over: the UE asks for it anew.
        if let Some(before) = before {
            self.forget(before);
            match self.is_free(before) {
                true => self.start(before, release::replaced),
                // What it waits for of the UE is said of the new one.
                false => {
                    self.tell(before, Event::ReleaseComplete);
                    self.tell(before, Event::Interrupted);
                }
            }
        }
        match session {
            Some(session) => self.start(session, |p| establishment::run(p, request)),
            None => {
                self.state.borrow_mut().counters.no_room += 1;
                self.refuse(id, Problem::Overload);
            }
        }
    }

    /// The AMF has forgotten a session.
    fn forget(&mut self, id: SessionId) {
        let state = &mut *self.state.borrow_mut();
        if let Some(session) = state.sessions.get_mut(id.0) {
            session.is_forgotten = true;
        }
    }

    /// A request about a session that is there; it waits while the session has a procedure.
    fn change(&mut self, id: RequestId, session: SessionId, message: Slot) {
        if !self.state.borrow().is_there(session) {
            let is_release = matches!(*message, Message::ReleaseSmContext(_));
            if is_release {
                let message = sluice_sbi::Done::ALL.into();
                let effect = Effect::Answer { id, message };
                self.state.borrow_mut().effects.push(effect);
                return;
            }
            return self.refuse(id, Problem::ContextNotFound);
        }
        if self.is_free(session) {
            let begun = {
                let state = &mut *self.state.borrow_mut();
                let session = state.sessions.get_mut(session.0);
                session.map(|session| session.request = Some(id)).is_some()
            };
            if begun {
                self.start(session, |p| update::run(p, message));
            }
        } else if !self.state.borrow_mut().waits(session, id, message) {
            self.state.borrow_mut().counters.no_room += 1;
            self.refuse(id, Problem::Overload);
        }
    }

    /// Whether a procedure waits for what a STATUS says.
    fn hears_status(&mut self, id: SessionId, about: About) -> bool {
        match about {
            About::Session => self.tell(id, Event::ReleaseComplete),
            About::Command(cause) => {
                self.tell(id, Event::ModificationAnswer(Err(cause)))
                    || self.tell(id, Event::ReleaseComplete)
            }
            About::Nothing => false,
        }
    }

    /// Whether a change of flows is given up for this: the UE gives the session up, has it not, or is idle.
    fn ends_modification(&self, id: SessionId, update: &UpdateSmContext) -> bool {
        match update.change {
            SmChange::N1 => {
                let octets = update.n1.get().unwrap_or_default();
                let about = self.state.borrow().status_is_about(id, octets);
                let asked = SessionUplink::decode(octets);
                about == Some(About::Session)
                    || matches!(asked, Ok(SessionUplink::ReleaseRequest(_)))
            }
            SmChange::Released
            | SmChange::Deactivate
            | SmChange::NotSwitched
            | SmChange::NotAdmitted => true,
            _ => false,
        }
    }
}

impl State {
    /// Has a request wait until its session has no procedure; false if there is no room.
    fn waits(&mut self, session: SessionId, id: RequestId, message: Slot) -> bool {
        let Some(session) = self.sessions.get_mut(session.0) else {
            return true;
        };
        // What a UE says has bounds of its own, so that it keeps nothing back that the AMF says.
        let room = match &*message {
            Message::UpdateSmContext(update) if update.change == SmChange::N1 => limits::PENDING,
            _ => 2 * limits::PENDING,
        };
        let has_room = session.pending.len() < room;
        if has_room {
            session.pending.push_back((id, message));
        }
        has_room
    }
}
