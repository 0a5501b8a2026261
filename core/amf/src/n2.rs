//! Messages of gNBs: which connection they are for, and what they begin.

use sluice_n2::{
    AmfUeId, Cause, Connection as Ids, FromAmf, FromRan, InitialUeMessage, Location, RanUeId,
};
use sluice_sbi::{AssociationId, Effect, Line};

use crate::limits;
use crate::ng_setup;
use crate::procedure::Event;
use crate::release;
use crate::state::State;
use crate::ue::{Connection, ConnectionId, Ue, UeId};
use crate::{Amf, collisions};

impl Amf {
    /// A message of a gNB.
    pub(crate) fn n2(&mut self, association: AssociationId, octets: &[u8]) {
        let message = match FromRan::decode(octets) {
            Ok(message) => message,
            Err(faulty) => {
                let state = &mut *self.state.borrow_mut();
                state.counters.faulty_ngap += 1;
                if let Some(octets) = faulty.answer {
                    state.effects.push(Effect::N2 {
                        association,
                        stream: 0,
                        octets,
                    });
                }
                return;
            }
        };
        let is_setup = matches!(message, FromRan::NgSetupRequest(_));
        if !is_setup && !self.state.borrow().gnbs.contains_key(&association) {
            // Nothing but a setup comes first (TS 38.413, 8.7.1.1).
            self.indicate(association, None, Cause::NOT_COMPATIBLE_WITH_STATE);
            return;
        }
        match message {
            FromRan::NgSetupRequest(request) => {
                self.line(association, "NG Setup Request");
                // A gNB that says this again has forgotten its UEs.
                self.lose(association);
                ng_setup::answer(&mut self.state.borrow_mut(), association, request);
            }
            FromRan::InitialUeMessage(message) => self.initial_ue_message(association, message),
            FromRan::NgReset { connections, .. } => self.reset(association, connections),
            FromRan::ErrorIndication { connection, .. } => {
                self.state.borrow_mut().counters.unexpected += 1;
                // A UE that the gNB does not know is idle.
                let named = connection.amf.zip(connection.ran);
                if let Some(ue) = named.and_then(|ids| self.find(association, ids).ok()) {
                    self.lose_ue(ue);
                }
            }
            message => self.of_ue(association, message),
        }
    }

    /// A gNB is gone: its UEs are idle, not deregistered.
    pub(crate) fn association_lost(&mut self, association: AssociationId) {
        self.lose(association);
        self.state.borrow_mut().gnbs.remove(&association);
    }

    /// A message about a connection.
    fn of_ue(&mut self, association: AssociationId, message: FromRan) {
        let Some(ids) = ids_of(&message) else {
            return;
        };
        let ue = match self.find(association, ids) {
            Ok(ue) => ue,
            // What is over is over; anything else names a connection that is not there.
            Err(_) if matches!(message, FromRan::UeContextReleaseComplete { .. }) => return,
            Err(cause) => {
                let ids = Ids {
                    amf: Some(ids.0),
                    ran: Some(ids.1),
                };
                return self.indicate(association, Some(ids), cause);
            }
        };
        let name = message.name();
        match message {
            FromRan::UplinkNasTransport { nas, location, .. } => {
                if let Some(location) = location {
                    self.moved(ue, location);
                }
                self.nas(ue, &nas);
            }
            FromRan::InitialContextSetupResponse { sessions, .. } => {
                self.ue_line(ue, name);
                {
                    let state = &mut *self.state.borrow_mut();
                    if let Some(connection) = state.connection_mut(ue) {
                        connection.has_context = true;
                    }
                    state.set_up(ue, sessions);
                }
                self.tell(ue, Event::Context(Ok(())));
            }
            FromRan::PduSessionSetupResponse { sessions, .. } => {
                let state = &mut *self.state.borrow_mut();
                state.line("gNB", "AMF", "14", name, ue);
                state.set_up(ue, sessions);
            }
            FromRan::PduSessionReleaseResponse { sessions, .. } => {
                let state = &mut *self.state.borrow_mut();
                state.line("gNB", "AMF", "6", name, ue);
                state.released(ue, sessions);
            }
            FromRan::InitialContextSetupFailure { cause, .. } => {
                self.ue_line(ue, name);
                self.tell(ue, Event::Context(Err(cause)));
            }
            FromRan::UeContextReleaseComplete { .. } => {
                self.ue_line(ue, name);
                if !self.tell(ue, Event::Released) {
                    self.lose_ue(ue);
                }
            }
            FromRan::UeContextReleaseRequest { cause, .. } => {
                self.ue_line(ue, name);
                self.abort(ue);
                self.start(ue, |p| release::requested(p, cause));
            }
            FromRan::UeRadioCapability { capability, .. } => {
                let state = &mut *self.state.borrow_mut();
                let ue = state.ues.get_mut(ue.0);
                if let Some(ue) = ue.filter(|_| capability.len() <= limits::RADIO_CAPABILITY) {
                    ue.radio_capability = Some(capability);
                }
            }
            // The message is sent again when its timer runs out.
            _ => self.state.borrow_mut().counters.unexpected += 1,
        }
    }

    fn initial_ue_message(&mut self, association: AssociationId, message: InitialUeMessage) {
        // A gNB that gives a name again has forgotten whom it called so.
        let forgotten = self.state.borrow().find_ran(association, message.ran);
        if let Some(ue) = forgotten {
            self.lose_ue(ue);
        }
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
            return self.indicate(association, Some(ids), Cause::Misc(0));
        };
        self.initial_nas(ue, &message.nas);
        // Nothing came of it: the gNB need not keep the UE.
        self.end_if_idle(ue);
    }

    /// Releases a UE that is neither registered nor in a procedure.
    fn end_if_idle(&mut self, ue: UeId) {
        let is_idle = self.state.borrow().ues.get(ue.0).is_some_and(|ue| {
            ue.task.is_none() && ue.registered.is_none() && ue.connection.is_some()
        });
        if is_idle {
            self.start(ue, |p| release::requested(p, Cause::NAS_UNSPECIFIED));
        }
    }

    fn moved(&mut self, ue: UeId, location: Location) {
        if let Some(connection) = self.state.borrow_mut().connection_mut(ue) {
            connection.location = location;
        }
    }

    /// The UE of a connection, or what is wrong with its names.
    fn find(&self, association: AssociationId, ids: (AmfUeId, RanUeId)) -> Result<UeId, Cause> {
        let state = self.state.borrow();
        let connection = state.connections.get(ConnectionId::from_ngap(ids.0).0);
        let connection = connection.filter(|connection| connection.association == association);
        let connection = connection.ok_or(Cause::UNKNOWN_LOCAL_ID)?;
        (connection.ran == ids.1)
            .then_some(connection.ue)
            .ok_or(Cause::INCONSISTENT_REMOTE_ID)
    }

    /// NG Reset: all UEs of a gNB, or some, are idle (TS 38.413, 8.7.4.2.2).
    fn reset(&mut self, association: AssociationId, connections: Option<Vec<Ids>>) {
        self.line(association, "NG Reset");
        match &connections {
            None => self.lose(association),
            Some(list) => {
                for ids in list {
                    if let Some(ue) = self.find_by_either(association, ids) {
                        self.lose_ue(ue);
                    }
                }
            }
        }
        let answer = FromAmf::NgResetAcknowledge { connections };
        self.state.borrow_mut().send_n2(association, None, &answer);
    }

    fn find_by_either(&self, association: AssociationId, ids: &Ids) -> Option<UeId> {
        let state = self.state.borrow();
        match *ids {
            Ids { amf: Some(amf), .. } => {
                let connection = state.connections.get(ConnectionId::from_ngap(amf).0)?;
                (connection.association == association).then_some(connection.ue)
            }
            Ids { ran: Some(ran), .. } => state.find_ran(association, ran),
            _ => None,
        }
    }

    /// All UEs of a gNB are idle.
    fn lose(&mut self, association: AssociationId) {
        let ues = self.state.borrow().ues_of(association);
        for ue in ues {
            self.lose_ue(ue);
        }
    }

    /// A UE is idle, whatever it was doing.
    pub(crate) fn lose_ue(&mut self, ue: UeId) {
        self.abort(ue);
        let state = &mut *self.state.borrow_mut();
        state.disconnect(ue);
        state.forget_if_unknown(ue);
    }

    /// Error Indication.
    fn indicate(&mut self, association: AssociationId, connection: Option<Ids>, cause: Cause) {
        let state = &mut *self.state.borrow_mut();
        state.counters.unexpected += 1;
        let indication = FromAmf::ErrorIndication {
            connection,
            cause: Some(cause),
        };
        state.send_n2(association, None, &indication);
    }

    fn line(&mut self, _: AssociationId, what: &str) {
        let line = Line {
            from: "gNB",
            to: "AMF",
            what: what.to_owned(),
            step: "",
            supi: None,
        };
        self.state.borrow_mut().effects.push(Effect::Ladder(line));
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

    /// What becomes of a message that nothing waits for.
    pub(crate) fn decide(
        &self,
        ue: UeId,
        message: &sluice_n1::Uplink,
        is_verified: bool,
    ) -> collisions::Decision {
        collisions::decide(message, is_verified, self.step_of(ue).is_some())
    }
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
    };
    if state.connect(connection).is_none() {
        state.remove(ue);
        return None;
    }
    Some(ue)
}

fn ids_of(message: &FromRan) -> Option<(AmfUeId, RanUeId)> {
    match message {
        FromRan::UplinkNasTransport { ids, .. }
        | FromRan::NasNonDelivery { ids, .. }
        | FromRan::InitialContextSetupResponse { ids, .. }
        | FromRan::PduSessionSetupResponse { ids, .. }
        | FromRan::PduSessionReleaseResponse { ids, .. }
        | FromRan::InitialContextSetupFailure { ids, .. }
        | FromRan::UeContextReleaseRequest { ids, .. }
        | FromRan::UeContextReleaseComplete { ids }
        | FromRan::UeRadioCapability { ids, .. } => Some(*ids),
        FromRan::NgSetupRequest(_)
        | FromRan::InitialUeMessage(_)
        | FromRan::NgReset { .. }
        | FromRan::ErrorIndication { .. } => None,
    }
}
