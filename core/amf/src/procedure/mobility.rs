//! UEs between two gNBs: which connection a message is about, and what a handover leaves when it ends.

use std::rc::Rc;

use sluice_n2::{
    Cause, Connection as Ids, DownlinkStatus, FromAmf, FromRan, HandoverCancelAcknowledge,
    HandoverFailure, HandoverFromAmf, HandoverFromRan, HandoverNotify, HandoverPreparationFailure,
    NasNonDelivery, PathSwitchRequest, RanStatus, RanUeId, UeContextReleaseCommand,
    UplinkNasTransport, UplinkStatus,
};
use sluice_sbi::tally::ABORTED;
use sluice_sbi::{AssociationId, SmChange};

use crate::Amf;
use crate::context::handover_state::{Handover, Held, HeldSm, Role, Stage};
use crate::context::state::State;
use crate::context::ue::{Connection, ConnectionId, UeId};
use crate::limits;
use crate::messages::collisions::{Decision, Input, decide};
use crate::procedure::{Event, Procedure};
use crate::procedure::{handover, path_switch};

impl State {
    /// How far the handover of a UE is, if there is one.
    pub fn stage(&self, ue: UeId) -> Option<Stage> {
        let handover = self.ues.get(ue.0)?.handover.as_ref();
        handover.map(|handover| handover.stage)
    }

    /// Role of a connection for its UE.
    pub fn role(&self, ue: UeId, id: ConnectionId) -> Role {
        let known = self.ues.get(ue.0);
        match known.and_then(|ue| ue.handover.as_ref()) {
            Some(handover) if handover.other == Some(id) => match handover.stage {
                Stage::Leaving => Role::Source,
                _ => Role::Target,
            },
            _ => Role::Current,
        }
    }

    /// Keeps a message for a UE until its handover has ended; false if it may be sent. One too many is
    /// lost, and repeated by the timer of its procedure.
    pub fn hold(&mut self, ue: UeId, message: impl FnOnce() -> Held) -> bool {
        let Some(ue) = self.ues.get_mut(ue.0) else {
            return false;
        };
        if ue.held.len() >= limits::HELD {
            self.counters.unexpected += 1;
            return true;
        }
        let message = message();
        let at = match message {
            Held::Undelivered(_) => {
                let is_before = |one: &&Held| matches!(one, Held::Undelivered(_));
                ue.held.iter().take_while(is_before).count()
            }
            _ => ue.held.len(),
        };
        ue.held.insert(at, message);
        true
    }

    /// A NAS message that a gNB has not delivered, since the UE has left or is about to: the UE hears it where it
    /// comes to.
    pub fn not_delivered(&mut self, id: UeId, nas: Vec<u8>, is_here: bool) {
        let security = self.ues.get(id.0).and_then(|ue| ue.security.as_ref());
        let plain = security.and_then(|security| security.context.take_back(&nas));
        let Some(plain) = plain else {
            // Of keys of before, or what is sent again when its timer runs out.
            self.counters.unexpected += 1;
            return;
        };
        if is_here && !self.holds_nas(id) {
            self.send_plain(id, plain);
        } else {
            self.hold(id, || Held::Undelivered(plain));
        }
    }

    /// Whether NAS messages cannot be sent to a UE now.
    pub fn holds_nas(&self, ue: UeId) -> bool {
        let stage = self.stage(ue);
        matches!(stage, Some(Stage::Switching | Stage::Commanded))
    }

    /// Decides about an input while a UE is on its way to another gNB; [`Decision::Beside`] if it is on none.
    pub fn on_its_way(&self, ue: UeId, input: Input) -> Decision {
        let handover = self.ues.get(ue.0).and_then(|ue| ue.handover.as_ref());
        handover.map_or(Decision::Beside, |one| decide(input, one.into()))
    }

    /// Whether no session of a UE can be changed at a gNB now: the target was told how they are.
    pub fn holds_sessions(&self, ue: UeId) -> bool {
        self.on_its_way(ue, Input::Downlink) == Decision::Later
    }

    /// Sends what was kept.
    pub fn send_held(&mut self, ue: UeId) {
        let held = self
            .ues
            .get_mut(ue.0)
            .map(|ue| std::mem::take(&mut ue.held));
        if self.ues.get(ue.0).is_some_and(|ue| ue.deferred.is_some()) {
            self.deferred.push(ue);
        }
        for message in held.into_iter().flatten() {
            match message {
                Held::Nas(plain) | Held::Undelivered(plain) => self.send_plain(ue, plain),
                Held::Sm(held) => {
                    let HeldSm {
                        session,
                        step,
                        n1,
                        n2_kind,
                        n2,
                    } = *held;
                    self.deliver(ue, session, step, n1, n2_kind, n2);
                }
                Held::Setups(step, setups) => self.ask_for_sessions(ue, step, setups),
            }
        }
    }

    /// A connection at a gNB that has not named it yet; none if there is no room.
    pub fn prepare(&mut self, ue: UeId, target: AssociationId) -> Option<ConnectionId> {
        let location = self.connection(ue)?.1.location;
        let connection = Connection {
            association: target,
            ran: RanUeId(0),
            location,
            ue,
            is_secured: true,
            has_context: false,
            is_told: false,
        };
        let id = ConnectionId(self.connections.insert(connection)?);
        self.preparing.insert((target, id));
        Some(id)
    }

    /// The target has named its connection.
    pub fn name_connection(&mut self, id: ConnectionId, ran: RanUeId) {
        if let Some(connection) = self.connections.get_mut(id.0) {
            connection.ran = ran;
            self.preparing.remove(&(connection.association, id));
            self.by_ran.insert((connection.association, ran), id);
        }
    }

    /// Forgets a connection that is not the UE's.
    pub fn forget_connection(&mut self, id: ConnectionId) -> Option<Connection> {
        let connection = self.connections.remove(id.0)?;
        let name = (connection.association, connection.ran);
        if self.by_ran.get(&name) == Some(&id) {
            self.by_ran.remove(&name);
        }
        self.preparing.remove(&(connection.association, id));
        Some(connection)
    }

    /// Has a gNB release what is not the UE's any more, and waits for no answer.
    fn release_other(&mut self, ue: UeId, id: ConnectionId, cause: Cause) {
        let is_named = self.connections.get(id.0).is_some_and(|connection| {
            let unnamed = (connection.association, id);
            !self.preparing.contains(&unnamed)
        });
        let Some(connection) = self.forget_connection(id) else {
            return;
        };
        let command = FromAmf::UeContextReleaseCommand(UeContextReleaseCommand {
            ue: (id.to_ngap(), is_named.then_some(connection.ran)),
            cause,
        });
        self.line("AMF", "gNB", "", command.name(), ue);
        self.send_n2(connection.association, Some(ue), &command);
    }

    /// The UE is at the target: that is its connection from now on, and what it had is the other.
    pub fn arrive(&mut self, id: UeId) {
        let Some(ue) = self.ues.get_mut(id.0) else {
            return;
        };
        let (source, Some(handover)) = (ue.connection, ue.handover.as_mut()) else {
            return;
        };
        let target = std::mem::replace(&mut handover.other, source);
        handover.stage = Stage::Leaving;
        if let Some(connection) = target.and_then(|id| self.connections.get_mut(id.0)) {
            connection.has_context = true;
        }
        let is_new_context = handover.is_new_context;
        let security = ue.security.iter_mut();
        security.for_each(|one| one.arrive(is_new_context));
        self.taken.extend(is_new_context.then_some(id));
        self.give_connection(id, target);
    }

    /// Ends a handover where it is: the UE stays where it is. Its procedure ends without another step.
    pub fn end_handover(&mut self, id: UeId, cause: Cause) {
        let handover = self.ues.get_mut(id.0).and_then(|ue| ue.handover.take());
        let Some(handover) = handover else {
            return;
        };
        self.ended.extend(handover.task);
        if let Some(other) = handover.other {
            self.release_other(id, other, cause);
        }
        if matches!(handover.stage, Stage::Preparing | Stage::Commanded) {
            self.counters.handover_failures += 1;
            self.cancel_sessions(id);
        }
    }

    /// Ends a handover by N2 that cannot be: the source is told, if it waits for that.
    pub fn fail_handover(&mut self, id: UeId, cause: Cause) {
        match self.stage(id) {
            Some(Stage::Preparing) => self.refuse_handover(id, "12", cause),
            Some(Stage::Commanded) => {}
            _ => return,
        }
        let is_lost =
            |ue: &crate::context::ue::Ue| ue.handover.as_ref().is_some_and(|h| h.is_source_lost);
        let is_lost = self.ues.get(id.0).is_some_and(is_lost);
        self.end_handover(id, cause);
        // Neither gNB has it any more.
        if is_lost {
            return self.disconnect(id);
        }
        self.send_held(id);
    }

    /// Forgets the connection of a handover that is not the UE's.
    pub fn forget_other(&mut self, ue: UeId, id: ConnectionId) {
        let known = self.ues.get_mut(ue.0);
        if let Some(handover) = known.and_then(|ue| ue.handover.as_mut()) {
            handover.other = handover.other.filter(|other| *other != id);
        }
        self.forget_connection(id);
    }

    /// 2b and 2d: counts of radio bearers go to the target.
    fn pass_status(&mut self, ue: UeId, status: RanStatus) {
        let handover = self.ues.get(ue.0).and_then(|ue| ue.handover.as_ref());
        let target = handover.and_then(|handover| handover.other);
        let Some((id, connection)) = target.and_then(|id| Some((id, self.connections.get(id.0)?)))
        else {
            return;
        };
        let (association, ids) = (connection.association, (id.to_ngap(), connection.ran));
        let message = HandoverFromAmf::DownlinkStatus(DownlinkStatus { ids, status });
        self.send_handover(association, ue, "2d", message);
    }

    /// 4.9.1.4: SMFs undo what they prepared.
    pub fn cancel_sessions(&mut self, id: UeId) {
        let sessions = self.ues.get(id.0).map(|ue| &ue.sessions);
        let is_there = |(session, one): (&u8, &crate::context::ue::SmContext)| {
            one.context.is_some().then_some(*session)
        };
        let there: Vec<u8> = sessions
            .into_iter()
            .flatten()
            .filter_map(is_there)
            .collect();
        for session in there {
            self.update_session(id, session, "3", SmChange::HandoverCancelled, &[]);
        }
    }

    /// A handover message for a gNB about a UE.
    pub fn send_handover(
        &mut self,
        association: AssociationId,
        ue: UeId,
        step: &'static str,
        message: HandoverFromAmf,
    ) {
        self.line("AMF", "gNB", step, message.name(), ue);
        self.send_n2(association, Some(ue), &FromAmf::Handover(message));
    }

    /// Handover Preparation Failure for the gNB that the UE is at.
    pub fn refuse_handover(&mut self, ue: UeId, step: &'static str, cause: Cause) {
        let Some((id, connection)) = self.connection(ue) else {
            return;
        };
        let (association, ids) = (connection.association, (id.to_ngap(), connection.ran));
        let failure =
            HandoverFromAmf::PreparationFailure(HandoverPreparationFailure { ids, cause });
        self.send_handover(association, ue, step, failure);
    }
}

impl Amf {
    /// A message of a handover.
    pub(crate) fn handover(&mut self, association: AssociationId, message: HandoverFromRan) {
        let name = message.name();
        match message {
            HandoverFromRan::PathSwitchRequest(request) => self.switch_path(association, *request),
            HandoverFromRan::RequestAcknowledge(answer) => {
                let Some((ue, id)) = self.find_target(association, answer.ids.0) else {
                    return self.unknown(association, answer.ids, name);
                };
                // Said again it is about a UE that is on its way, or there.
                if self.state.borrow().stage(ue) != Some(Stage::Preparing) {
                    return;
                }
                // A gNB that gives a name again has forgotten whom it called so.
                self.forget_name(association, answer.ids.1);
                {
                    let state = &mut *self.state.borrow_mut();
                    state.line("gNB", "AMF", "10", name, ue);
                    state.name_connection(id, answer.ids.1);
                }
                let event = self.prepared(association, ue, answer);
                self.tell_or_count(ue, Event::Prepared(event));
            }
            // What is over is over.
            HandoverFromRan::Failure(HandoverFailure { amf, cause }) => {
                let Some((ue, id)) = self.find_target(association, amf) else {
                    return;
                };
                {
                    let state = &mut *self.state.borrow_mut();
                    state.line("gNB", "AMF", "10", name, ue);
                    // It has kept nothing.
                    state.forget_other(ue, id);
                }
                self.tell_or_count(ue, Event::Prepared(Err(cause)));
            }
            message => self.handover_of_ue(association, message),
        }
    }

    fn tell_or_count(&mut self, ue: UeId, event: Event) {
        if !self.tell(ue, event) {
            self.state.borrow_mut().counters.unexpected += 1;
        }
    }

    /// One about a connection that has both names.
    fn handover_of_ue(&mut self, association: AssociationId, message: HandoverFromRan) {
        let Some(ids) = message.ids() else {
            return;
        };
        let (ue, id) = match self.find(association, ids) {
            Ok(found) => found,
            Err(cause) => {
                let ids = Ids {
                    amf: Some(ids.0),
                    ran: Some(ids.1),
                };
                return self.indicate(association, Some(ids), cause, message.name());
            }
        };
        let (role, stage) = {
            let state = self.state.borrow();
            (state.role(ue, id), state.stage(ue))
        };
        let name = message.name();
        let step = match message {
            HandoverFromRan::Notify(_) => "5",
            HandoverFromRan::UplinkStatus(_) => "2b",
            _ => "1",
        };
        self.state.borrow_mut().line("gNB", "AMF", step, name, ue);
        match (message, role, stage) {
            (HandoverFromRan::Required(request), Role::Current, _) => {
                handover::begin(self, ue, *request);
            }
            (
                HandoverFromRan::Notify(HandoverNotify { location, .. }),
                Role::Target,
                Some(Stage::Commanded),
            ) => {
                let state = &mut *self.state.borrow_mut();
                let connection = state.connections.get_mut(id.0);
                if let (Some(connection), Some(location)) = (connection, location) {
                    connection.location = location;
                }
                state.arrive(ue);
                state.send_held(ue);
            }
            (HandoverFromRan::Cancel(_), Role::Current, _) => {
                let state = &mut *self.state.borrow_mut();
                // A UE that has gone by Xn meanwhile is not called back.
                if matches!(stage, Some(Stage::Preparing | Stage::Commanded)) {
                    state.end_handover(ue, Cause::HANDOVER_CANCELLED);
                }
                let answer = HandoverFromAmf::CancelAcknowledge(HandoverCancelAcknowledge { ids });
                state.send_handover(association, ue, "5", answer);
                state.send_held(ue);
                return;
            }
            (
                HandoverFromRan::UplinkStatus(UplinkStatus { status, .. }),
                Role::Current,
                Some(Stage::Commanded),
            ) => return self.state.borrow_mut().pass_status(ue, status),
            // It has come after the UE, by the other gNB's association.
            (HandoverFromRan::UplinkStatus(_), Role::Source, _) => return,
            _ => {
                self.state.borrow_mut().counters.unexpected += 1;
                return;
            }
        }
        // The UE has come.
        if role == Role::Target {
            self.tell(ue, Event::Arrived);
        }
    }

    /// The UE of a handover whose target this is, and its connection there.
    fn find_target(
        &self,
        association: AssociationId,
        amf: sluice_n2::AmfUeId,
    ) -> Option<(UeId, ConnectionId)> {
        let state = &mut *self.state.borrow_mut();
        let id = ConnectionId::from_ngap(amf);
        let connection = state.connections.get(id.0)?;
        let (ue, at) = (connection.ue, connection.association);
        if at != association || state.role(ue, id) != Role::Target {
            return None;
        }
        state.of_ue = Some(ue);
        Some((ue, id))
    }

    /// Names that nobody knows here.
    fn unknown(
        &mut self,
        association: AssociationId,
        ids: (sluice_n2::AmfUeId, RanUeId),
        request: &'static str,
    ) {
        let ids = Ids {
            amf: Some(ids.0),
            ran: Some(ids.1),
        };
        self.indicate(association, Some(ids), Cause::UNKNOWN_LOCAL_ID, request);
    }

    /// A connection that its gNB calls so is over.
    pub(crate) fn forget_name(&mut self, association: AssociationId, ran: RanUeId) {
        let forgotten = self.state.borrow().find_ran(association, ran);
        if let Some((ue, id)) = forgotten {
            self.lose_connection(ue, id);
        }
    }

    /// A gNB has lost a connection: the UE is idle, or goes on at the other gNB.
    pub(crate) fn lose_connection(&mut self, ue: UeId, id: ConnectionId) {
        let (role, decision) = {
            let state = self.state.borrow();
            let is_going = state.stage(ue).is_some();
            let decision = state.on_its_way(ue, Input::Lost);
            (state.role(ue, id), Some(decision).filter(|_| is_going))
        };
        match (role, decision) {
            // It was told to go, and may come to the target yet.
            (Role::Current, Some(Decision::Beside)) => {
                let state = &mut *self.state.borrow_mut();
                if let Some(connection) = state.connections.get(id.0) {
                    let name = (connection.association, connection.ran);
                    state.by_ran.remove(&name);
                }
                let known = state.ues.get_mut(ue.0);
                let handover = known.and_then(|ue| ue.handover.as_mut());
                if let Some(handover) = handover {
                    handover.is_source_lost = true;
                }
            }
            (Role::Current, _) => self.lose_ue(ue),
            (Role::Target, _) => {
                let state = &mut *self.state.borrow_mut();
                state.forget_other(ue, id);
                state.fail_handover(ue, Cause::HANDOVER_FAILED);
            }
            (Role::Source, _) => {
                self.state.borrow_mut().forget_other(ue, id);
                self.tell(ue, Event::Left);
            }
        }
    }

    /// Handles a message of a gNB that is not the UE's present one: the target or the source of a handover.
    pub(crate) fn of_other(&mut self, ue: UeId, id: ConnectionId, role: Role, message: FromRan) {
        match (message, role) {
            (message @ FromRan::UeContextReleaseComplete(_), Role::Source) => {
                {
                    let state = &mut *self.state.borrow_mut();
                    state.line("gNB", "AMF", "14b", message.name(), ue);
                    state.forget_other(ue, id);
                }
                self.tell(ue, Event::Left);
            }
            // It has gone before it heard this.
            (FromRan::NasNonDelivery(NasNonDelivery { nas, .. }), Role::Source) => {
                self.state.borrow_mut().not_delivered(ue, nas, true);
            }
            // What it said before it went.
            (FromRan::UplinkNasTransport(UplinkNasTransport { nas, .. }), Role::Source) => {
                self.nas(ue, &nas)
            }
            // The target has no room any more.
            (FromRan::UeContextReleaseRequest(_), Role::Target) => {
                let state = &mut *self.state.borrow_mut();
                state.fail_handover(ue, Cause::HANDOVER_FAILED);
            }
            _ => self.state.borrow_mut().counters.unexpected += 1,
        }
    }

    /// Begins the procedure of a handover.
    pub(crate) fn start_handover<F: Future<Output = ()> + 'static>(
        &mut self,
        ue: UeId,
        handover: Handover,
        procedure: impl FnOnce(Procedure) -> F,
    ) -> bool {
        let state = Rc::clone(&self.state);
        let spawned = self
            .tasks
            .spawn(|handle| procedure(Procedure::new(state, handle, ue)));
        let Some(task) = spawned else {
            self.state.borrow_mut().counters.no_room += 1;
            return false;
        };
        if let Some(ue) = self.state.borrow_mut().ues.get_mut(ue.0) {
            ue.handover = Some(Handover {
                task: Some(task),
                ..handover
            });
        }
        self.owners.insert(task, (ue, None));
        self.began(task, ue, "handover");
        let polled = self.tasks.begin(task);
        self.after(task, polled);
        true
    }

    /// Handles messages that UEs sent during a handover.
    pub(crate) fn hear_deferred(&mut self) {
        loop {
            let Some(ue) = self.state.borrow_mut().deferred.pop() else {
                return;
            };
            let nas = {
                let state = &mut *self.state.borrow_mut();
                let known = state.ues.get_mut(ue.0);
                known.and_then(|ue| ue.deferred.take())
            };
            if let Some(nas) = nas {
                self.nas(ue, &nas);
            }
        }
    }

    /// Procedures of handovers that ended without them.
    pub(crate) fn drop_ended(&mut self) {
        let ended = std::mem::take(&mut self.state.borrow_mut().ended);
        for task in ended {
            self.tasks.abort(task);
            if let Some((ue, _)) = self.owners.remove(&task) {
                self.ended(task, ue, Some(ABORTED));
            }
        }
    }

    /// Path Switch Request: the UE has come to a gNB by Xn (TS 38.413, 8.4.4).
    fn switch_path(&mut self, association: AssociationId, request: PathSwitchRequest) {
        let source = ConnectionId::from_ngap(request.source);
        let known = {
            let state = self.state.borrow();
            let connection = state.connections.get(source.0);
            let known = connection.map(|connection| (connection.ue, connection.association));
            known.filter(|(ue, _)| state.role(*ue, source) == Role::Current)
        };
        let Some((ue, _)) = known else {
            let ids = (request.source, request.ran);
            return self.unknown(association, ids, "Path Switch Request");
        };
        {
            let state = &mut *self.state.borrow_mut();
            state.of_ue = Some(ue);
            state.line("gNB", "AMF", "1", "Path Switch Request", ue);
        }
        path_switch::begin(self, association, ue, source, request);
    }
}
