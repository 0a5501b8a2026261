//! Messages of gNBs: which connection they are for, and what they begin.

use sluice_n1::Uplink;
use sluice_n2::{
    AmfConfigurationUpdateFailure, AmfUeId, Cause, Connection as Ids, ErrorIndication, FromAmf,
    FromRan, InitialContextSetupFailure, InitialUeMessage, Location, NasNonDelivery, NgReset,
    NgResetAcknowledge, NgSetupRequest, PagingCapability, PduSessionModifyIndication,
    PduSessionNotify, RadioCapability, RanConfigurationUpdate, RanUeId,
    UeContextModificationFailure, UeContextReleaseRequest, UeRadioCapability, UplinkNasTransport,
    first_twice,
};
use sluice_sbi::{AssociationId, Effect, Line, ReferencePoint};

use crate::Amf;
use crate::context::handover_state::Role;
use crate::context::state::State;
use crate::context::ue::{Connection, ConnectionId, Ue, UeId};
use crate::limits;
use crate::messages::collisions::{self, Input as Collision, Running};
use crate::messages::ng_setup;
use crate::procedure::release;
use crate::procedure::{Event, Kind};

impl Amf {
    /// A message of a gNB.
    pub(crate) fn n2(&mut self, association: AssociationId, octets: &[u8]) {
        let before = {
            let state = &mut *self.state.borrow_mut();
            state.of_ue = None;
            state.effects.len()
        };
        self.take_n2(association, octets);
        // It is known now whose it was; what followed from it comes behind it.
        let state = &mut *self.state.borrow_mut();
        if state.of_ue.is_some() {
            let so_far = state.effects.len();
            state.see(ReferencePoint::N2, state.of_ue, true, octets);
            if state.effects.len() > so_far
                && let Some(seen) = state.effects.pop()
            {
                let at = before.min(state.effects.len());
                state.effects.insert(at, seen);
            }
        }
    }

    fn take_n2(&mut self, association: AssociationId, octets: &[u8]) {
        if self.leaves_unanswered(association, octets) {
            return;
        }
        match FromRan::decode_and_notify(octets) {
            Ok((message, None)) => self.take_message(association, message),
            Ok((message, Some(left_out))) => {
                self.take_message(association, message);
                self.faulty(association, left_out);
            }
            Err(faulty) => {
                let (ids, ends, cause) = (faulty.connection, faulty.ends, faulty.cause);
                self.faulty(association, faulty);
                if let Some(ended) = ends {
                    self.ends(association, ids, ended, cause);
                }
            }
        }
    }

    fn take_message(&mut self, association: AssociationId, message: FromRan) {
        let is_setup = matches!(message, FromRan::NgSetupRequest(_));
        if !is_setup && !self.state.borrow().gnbs.contains_key(&association) {
            // Nothing but a setup comes first (TS 38.413, 8.7.1.1).
            let cause = Cause::NOT_COMPATIBLE_WITH_STATE;
            self.indicate(association, None, cause, message.name());
            return;
        }
        match message {
            FromRan::NgSetupRequest(request) => {
                self.line(association, "NG Setup Request");
                self.set_up_ng(association, request);
            }
            FromRan::InitialUeMessage(message) => self.initial_ue_message(association, message),
            FromRan::NgReset(NgReset { connections, .. }) => self.reset(association, connections),
            // A front of N2 has told the gNB to forget UEs that this AMF does not know.
            FromRan::NgResetAcknowledge(_) => self.line(association, "NG Reset Acknowledge"),
            FromRan::ErrorIndication(ErrorIndication { amf, ran, .. }) => {
                self.state.borrow_mut().counters.unexpected += 1;
                // A UE that the gNB does not know is idle. It is never answered (8.7.5.2).
                let named = amf.zip(ran);
                if let Some((ue, id)) = named.and_then(|ids| self.find(association, ids).ok()) {
                    self.lose_connection(ue, id);
                }
            }
            FromRan::RanConfigurationUpdate(RanConfigurationUpdate { name, areas }) => {
                self.line(association, "RAN Configuration Update");
                ng_setup::ran_update(&mut self.state.borrow_mut(), association, name, areas);
            }
            FromRan::AmfConfigurationUpdateAcknowledge => {
                self.line(association, "AMF Configuration Update Acknowledge");
            }
            // It goes on with what it was told before; an operator sees it.
            FromRan::AmfConfigurationUpdateFailure(AmfConfigurationUpdateFailure { cause }) => {
                self.state.borrow_mut().counters.refused_updates += 1;
                let what = format!("AMF Configuration Update Failure ({cause})");
                self.line(association, &what);
            }
            FromRan::ConfigurationTransfer(message) => {
                let target = message.target();
                ng_setup::relay(&mut self.state.borrow_mut(), target, message.transfer);
            }
            FromRan::Handover(message) => self.handover(association, message),
            message => self.of_ue(association, message),
        }
    }

    /// NG Setup. A gNB that says this again has forgotten its UEs, also where it says so over another association:
    /// its UEs of before are idle, and all that it is told goes the new way (8.7.1.1). Further associations of one gNB
    /// come by RAN Configuration Update (8.7.2.2).
    fn set_up_ng(&mut self, association: AssociationId, request: NgSetupRequest) {
        self.lose(association);
        let admitted = ng_setup::admit_gnb(&self.state.borrow(), association, &request);
        let before = match &admitted {
            Ok(()) => self.state.borrow().others_of(association, &request.gnb),
            Err(_) => Vec::new(),
        };
        for before in before {
            let gnb = self.state.borrow().gnb_name(before);
            let connections = self.state.borrow().connections_of(before).len();
            let what = format!(
                "{gnb} has set up NG again over another association: {connections} UEs of the one before are idle"
            );
            self.line(association, &what);
            self.lose(before);
            self.state.borrow_mut().gnbs.remove(&before);
        }
        ng_setup::answer(&mut self.state.borrow_mut(), association, request, admitted);
    }

    /// A gNB is gone: its UEs are idle, not deregistered.
    pub(crate) fn association_lost(&mut self, association: AssociationId) {
        self.lose(association);
        let state = &mut *self.state.borrow_mut();
        state.gnbs.remove(&association);
        state.unauthenticated.forget_address(association);
    }

    /// A message about a connection.
    fn of_ue(&mut self, association: AssociationId, message: FromRan) {
        let Some(ids) = message.ids() else {
            return;
        };
        let names = Ids {
            amf: Some(ids.0),
            ran: Some(ids.1),
        };
        let (ue, id) = match self.find(association, ids) {
            Ok(found) => found,
            Err(cause) => {
                // What is over is over; anything else names a connection that is not there.
                if matches!(message, FromRan::UeContextReleaseComplete(_)) {
                    return self.released_by_some(association, names);
                }
                return self.indicate(association, Some(names), cause, message.name());
            }
        };
        let role = self.state.borrow().role(ue, id);
        if role != Role::Current {
            return self.of_other(ue, id, role, message);
        }
        let name = message.name();
        match message {
            FromRan::UplinkNasTransport(UplinkNasTransport { nas, location, .. }) => {
                if let Some(location) = location {
                    self.moved(ue, location);
                }
                self.nas(ue, &nas);
            }
            FromRan::InitialContextSetupResponse(response) => {
                self.ue_line(ue, name);
                {
                    let state = &mut *self.state.borrow_mut();
                    state.takes_keys(ue);
                    state.set_up(ue, response.sessions);
                }
                self.tell(ue, Event::Context(Ok(())));
            }
            FromRan::PduSessionNotify(PduSessionNotify {
                sessions, released, ..
            }) if first_twice(&[&sessions, &released]).is_some() => {
                // What it says of a session contradicts itself (10.4).
                self.indicate(association, Some(names), Cause::SEMANTIC_ERROR, name);
            }
            message @ (FromRan::PduSessionSetupResponse(_)
            | FromRan::PduSessionModifyResponse(_)
            | FromRan::PduSessionReleaseResponse(_)
            | FromRan::PduSessionNotify(_)) => {
                self.state.borrow_mut().of_sessions(ue, message);
            }
            FromRan::PduSessionModifyIndication(PduSessionModifyIndication {
                sessions, ..
            }) => {
                self.state.borrow_mut().flows_move(ue, &sessions);
            }
            FromRan::UeContextModificationResponse(_) => {
                self.ue_line(ue, name);
                self.state.borrow_mut().takes_keys(ue);
                self.tell(ue, Event::Context(Ok(())));
            }
            FromRan::InitialContextSetupFailure(InitialContextSetupFailure { cause, .. })
            | FromRan::UeContextModificationFailure(UeContextModificationFailure {
                cause, ..
            }) => {
                self.ue_line(ue, name);
                if let Some(connection) = self.state.borrow_mut().connection_mut(ue) {
                    connection.is_told = false;
                }
                self.tell(ue, Event::Context(Err(cause)));
            }
            message => self.of_ue_itself(ue, message),
        }
    }

    /// A message about the connection itself, or one that has no answer.
    fn of_ue_itself(&mut self, ue: UeId, message: FromRan) {
        let name = message.name();
        match message {
            FromRan::UeContextReleaseComplete(_) => {
                self.ue_line(ue, name);
                if !self.tell(ue, Event::Released) {
                    self.lose_ue(ue);
                }
            }
            // The same in any state.
            FromRan::UeContextReleaseRequest(UeContextReleaseRequest { cause, .. }) => {
                self.ue_line(ue, name);
                self.left(ue, &format!("its gNB wants it released, {cause}"));
                self.abort(ue);
                self.start(ue, |p| release::requested(p, cause));
            }
            FromRan::UeRadioCapability(UeRadioCapability {
                capability,
                for_paging,
                ..
            }) => keep_capability(&mut self.state.borrow_mut(), ue, capability, for_paging),
            // The UE hears it when it has come to where it goes.
            FromRan::NasNonDelivery(NasNonDelivery { nas, cause, .. })
                if cause.is_handover() || self.state.borrow().stage(ue).is_some() =>
            {
                self.state.borrow_mut().not_delivered(ue, nas, false);
            }
            // The message is sent again when its timer runs out.
            _ => self.state.borrow_mut().counters.unexpected += 1,
        }
    }

    fn initial_ue_message(&mut self, association: AssociationId, message: InitialUeMessage) {
        // A gNB that gives a name again has forgotten whom it called so.
        self.forget_name(association, message.ran);
        let new = {
            let state = &mut *self.state.borrow_mut();
            connect(state, association, &message)
        };
        let Some(ue) = new else {
            self.state.borrow_mut().counters.no_room += 1;
            let ids = Ids {
                amf: None,
                ran: Some(message.ran),
            };
            let cause = Cause::CONTROL_PROCESSING_OVERLOAD;
            return self.indicate(association, Some(ids), cause, "Initial UE Message");
        };
        self.state.borrow_mut().of_ue = Some(ue);
        self.initial_nas(ue, &message.nas);
        // Nothing came of it: the gNB need not keep the UE.
        self.end_if_idle(ue);
    }

    /// Releases a UE that is neither registered nor in a procedure.
    pub(crate) fn end_if_idle(&mut self, ue: UeId) {
        let is_idle = self.state.borrow().ues.get(ue.0).is_some_and(|ue| {
            ue.task.is_none() && ue.registered.is_none() && ue.connection.is_some()
        });
        if is_idle && !self.sheds(ue) {
            self.start(ue, |p| release::requested(p, Cause::NAS_UNSPECIFIED));
        }
    }

    fn moved(&mut self, ue: UeId, location: Location) {
        let state = &mut *self.state.borrow_mut();
        if let Some(connection) = state.connection_mut(ue) {
            connection.location = location;
        }
        // Subscribers to its events hear of it.
        state.ues.get_mut(ue.0);
    }

    /// A connection and its UE, or what is wrong with its names.
    pub(crate) fn find(
        &self,
        association: AssociationId,
        ids: (AmfUeId, RanUeId),
    ) -> Result<(UeId, ConnectionId), Cause> {
        let state = &mut *self.state.borrow_mut();
        let id = ConnectionId::from_ngap(ids.0);
        let connection = state.connections.get(id.0);
        let connection = connection.filter(|connection| connection.association == association);
        let connection = connection.ok_or(Cause::UNKNOWN_LOCAL_ID)?;
        if connection.ran != ids.1 {
            return Err(Cause::INCONSISTENT_REMOTE_ID);
        }
        state.of_ue = Some(connection.ue);
        Ok((connection.ue, id))
    }

    /// NG Reset: all UEs of a gNB, or some, are idle (TS 38.413, 8.7.4.2.2).
    fn reset(&mut self, association: AssociationId, connections: Option<Vec<Ids>>) {
        self.line(association, "NG Reset");
        match &connections {
            None => self.lose(association),
            Some(list) => {
                for ids in list {
                    if let Some((ue, id)) = self.find_by_either(association, ids) {
                        self.lose_connection(ue, id);
                    }
                }
            }
        }
        let answer = FromAmf::NgResetAcknowledge(NgResetAcknowledge { connections });
        self.state.borrow_mut().send_n2(association, None, &answer);
    }

    fn find_by_either(
        &self,
        association: AssociationId,
        ids: &Ids,
    ) -> Option<(UeId, ConnectionId)> {
        let state = self.state.borrow();
        match *ids {
            Ids { amf: Some(amf), .. } => {
                let id = ConnectionId::from_ngap(amf);
                let connection = state.connections.get(id.0)?;
                (connection.association == association).then_some((connection.ue, id))
            }
            Ids { ran: Some(ran), .. } => state.find_ran(association, ran),
            _ => None,
        }
    }

    /// All UEs of a gNB are idle.
    fn lose(&mut self, association: AssociationId) {
        let connections = self.state.borrow().connections_of(association);
        for (ue, id) in connections {
            self.lose_connection(ue, id);
        }
    }

    /// A UE is idle, whatever it was doing.
    pub(crate) fn lose_ue(&mut self, ue: UeId) {
        self.left(ue, "its connection is lost");
        self.abort(ue);
        {
            let state = &mut *self.state.borrow_mut();
            state.disconnect(ue);
            state.forget_if_unknown(ue);
        }
        self.go_on(ue);
    }

    /// Operators hear of a UE that leaves before it has proved who it is.
    fn left(&mut self, ue: UeId, how: &str) {
        let running = self.running(ue);
        self.state.borrow_mut().left(ue, running, how);
    }

    fn line(&mut self, _: AssociationId, what: &str) {
        let line = Line {
            from: "gNB",
            to: "AMF",
            what: what.to_owned(),
            step: "",
            supi: None,
            ue: None,
        };
        self.state.borrow_mut().effects.push(Effect::CallFlow(line));
    }

    fn ue_line(&mut self, ue: UeId, what: &'static str) {
        let task = self.state.borrow().ues.get(ue.0).and_then(|ue| ue.task);
        let step = task
            .and_then(|task| self.tasks.step(task))
            .unwrap_or_default();
        self.state
            .borrow_mut()
            .line("gNB", "AMF", number(step), what, ue);
    }

    /// Whether a procedure of the UE is under way, and where it waits.
    pub(crate) fn step_of(&self, ue: UeId) -> Option<&'static str> {
        let task = self.state.borrow().ues.get(ue.0)?.task?;
        self.tasks.step(task)
    }

    /// Decision about a message that no procedure waits for.
    pub(crate) fn decide(
        &self,
        ue: UeId,
        message: &Uplink,
        is_verified: bool,
    ) -> collisions::Decision {
        let is_same = match message {
            Uplink::RegistrationRequest(request) => {
                let state = self.state.borrow();
                let known = state.ues.get(ue.0).and_then(|ue| ue.request.as_ref());
                known == Some(request)
            }
            _ => false,
        };
        let input = Collision::of(message, is_verified, is_same);
        collisions::decide(input, self.running(ue))
    }

    /// Running procedure of a UE.
    pub(crate) fn running(&self, ue: UeId) -> Running {
        Running::of(self.expects(ue))
    }

    /// Kind of message that the UE's procedure waits for; none without a procedure.
    pub(crate) fn expects(&self, ue: UeId) -> Option<Kind> {
        let task = self.state.borrow().ues.get(ue.0).and_then(|ue| ue.task);
        self.tasks.expects(task?)
    }
}

/// Keeps a UE's radio capabilities for the next gNB, unless they are too long.
fn keep_capability(
    state: &mut State,
    ue: UeId,
    capability: RadioCapability,
    for_paging: Option<PagingCapability>,
) {
    let ue = state.ues.get_mut(ue.0);
    if let Some(ue) = ue.filter(|_| capability.len() <= limits::RADIO_CAPABILITY) {
        ue.radio_capability = Some(capability);
        ue.paging_capability = for_paging.filter(is_short);
        ue.is_radio_kept = false;
    }
}

/// Whether what a gNB needs for paging is kept.
fn is_short(capability: &PagingCapability) -> bool {
    let parts = [&capability.nr, &capability.eutra];
    let octets: usize = parts.into_iter().flatten().map(Vec::len).sum();
    octets <= limits::RADIO_CAPABILITY
}

/// A step's number; waits that are not steps of the call flow have none.
pub(crate) fn number(step: &'static str) -> &'static str {
    if step.starts_with(|c: char| c.is_ascii_digit()) {
        step
    } else {
        ""
    }
}

/// A connection for a UE that nothing is known of yet.
fn connect(
    state: &mut State,
    association: AssociationId,
    message: &InitialUeMessage,
) -> Option<UeId> {
    let ue = UeId(state.ues.insert(Ue::default())?);
    let connection = Connection {
        association,
        ran: message.ran,
        location: message.location,
        ue,
        is_secured: false,
        has_context: false,
        is_told: false,
    };
    if state.connect(connection).is_none() {
        state.remove(ue);
        return None;
    }
    state.count_unauthenticated(ue, association);
    Some(ue)
}
