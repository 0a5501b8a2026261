//! NGAP that breaks the rules: what its gNB hears (TS 38.413, 10), and what operators read of it.

use sluice_n2::{
    AmfUeId, Cause, Connection as Ids, Ended, ErrorIndication, Faulty, FromAmf,
    HandoverRequestAcknowledge, first_twice,
};
use sluice_sbi::{AssociationId, Effect, Refused};

use crate::Amf;
use crate::context::handover_state::Role;
use crate::context::state::State;
use crate::context::ue::{ConnectionId, UeId};
use crate::procedure::Event;

/// Remedy for a gNB that violates NGAP.
const REMEDY: &str = "show the gNB's vendor the message: sluice ctl --core trace of a UE that it names has the octets";

impl Amf {
    /// A message that is not processed, or not wholly.
    pub(crate) fn faulty(&mut self, association: AssociationId, faulty: Faulty) {
        let state = &mut *self.state.borrow_mut();
        match faulty.is_served {
            true => state.counters.faulty_ngap += 1,
            false => state.counters.not_served_ngap += 1,
        }
        // What its criticality has ignored is the gNB's right to send.
        if faulty.is_served || faulty.answer.is_some() {
            let ue = state.named(association, faulty.connection);
            state.of_ue = ue.or(state.of_ue);
            let cause = match faulty.answer {
                Some(_) => faulty.cause.to_string(),
                None => format!("{}, not answered", faulty.cause),
            };
            state.gnb_refused(
                association,
                ue,
                faulty.procedure,
                cause,
                (faulty.what, REMEDY),
            );
        }
        if let Some(octets) = faulty.answer {
            state.effects.push(Effect::N2 {
                association,
                stream: 0,
                octets,
            });
        }
    }

    /// A response that cannot be used ends its procedure as one that has failed: nobody waits for its timer (10.3.5).
    pub(crate) fn ends(
        &mut self,
        association: AssociationId,
        ids: Ids,
        ended: Ended,
        cause: Cause,
    ) {
        if ended == Ended::ContextRelease {
            return self.released_by_some(association, ids);
        }
        // The AMF does not know yet how a target calls the UE.
        let ran = ids.ran.filter(|_| ended != Ended::ResourceAllocation);
        let known = {
            let state = self.state.borrow();
            let id = state.known_by(association, Ids { ran, ..ids });
            id.map(|(ue, id)| (ue, state.role(ue, id)))
        };
        let event = match (ended, known) {
            (Ended::ContextSetup | Ended::ContextModification, Some((ue, Role::Current))) => {
                (ue, Event::Context(Err(cause)))
            }
            (Ended::ResourceAllocation, Some((ue, Role::Target))) => {
                (ue, Event::Prepared(Err(cause)))
            }
            (Ended::SessionSetup, Some((ue, Role::Current))) => {
                return self.state.borrow_mut().setup_lost(ue, cause);
            }
            _ => return,
        };
        self.tell(event.0, event.1);
    }

    /// UE Context Release Complete whose names are not all there, or do not belong together: the UE that is being
    /// released, or has left, and has the AMF's name, or the gNB's where that is all (10.3.5, 10.6).
    pub(crate) fn released_by_some(&mut self, association: AssociationId, ids: Ids) {
        let ran = ids.ran.filter(|_| ids.amf.is_none());
        let known = {
            let state = self.state.borrow();
            let known = state.known_by(association, Ids { ran, ..ids });
            known.map(|(ue, id)| (ue, id, state.role(ue, id)))
        };
        match known {
            Some((ue, _, Role::Current)) => {
                self.tell(ue, Event::Released);
            }
            Some((ue, id, Role::Source)) => {
                self.state.borrow_mut().forget_other(ue, id);
                self.tell(ue, Event::Left);
            }
            _ => {}
        }
    }

    /// Prepared sessions of a target, unless one occurs twice: then its tunnel would be ambiguous (10.4).
    pub(crate) fn prepared(
        &mut self,
        association: AssociationId,
        ue: UeId,
        answer: Box<HandoverRequestAcknowledge>,
    ) -> Result<Box<HandoverRequestAcknowledge>, Cause> {
        let Some(session) = first_twice(&[&answer.admitted, &answer.failed]) else {
            return Ok(answer);
        };
        let state = &mut *self.state.borrow_mut();
        let cause = format!("{}, not answered", Cause::SEMANTIC_ERROR);
        let request = "Handover Request Acknowledge";
        state.gnb_refused(association, Some(ue), request, cause, twice(session));
        Err(Cause::HANDOVER_FAILED)
    }

    /// Error Indication; `request` is what it is about.
    pub(crate) fn indicate(
        &mut self,
        association: AssociationId,
        connection: Option<Ids>,
        cause: Cause,
        request: &'static str,
    ) {
        let state = &mut *self.state.borrow_mut();
        state.counters.unexpected += 1;
        let nobody = Ids {
            amf: None,
            ran: None,
        };
        let ids = connection.unwrap_or(nobody);
        let ue = state.named(association, ids);
        let reason = reason(cause, ids);
        state.gnb_refused(association, ue, request, cause.to_string(), reason);
        let indication =
            FromAmf::ErrorIndication(ErrorIndication::new(connection.unwrap_or_default(), cause));
        state.send_n2(association, None, &indication);
    }
}

/// Why a message that can be read is answered by Error Indication.
fn reason(cause: Cause, ids: Ids) -> (String, &'static str) {
    let amf = ids.amf.map(|AmfUeId(id)| format!("AMF UE NGAP ID {id}"));
    let ran = ids.ran.map(|id| format!("RAN UE NGAP ID {}", id.0));
    let named: Vec<String> = amf.into_iter().chain(ran).collect();
    let named = named.join(", ");
    match cause {
        Cause::UNKNOWN_LOCAL_ID => (
            format!("{named} is no UE of this gNB here"),
            "none if the UE was released meanwhile, or the core was started; else look for a gNB that names UEs of before",
        ),
        Cause::INCONSISTENT_REMOTE_ID => (
            format!("{named} do not belong together"),
            "look for a gNB that mixes up its UEs",
        ),
        Cause::NOT_COMPATIBLE_WITH_STATE => (
            "no NG Setup has come before, or the gNB has set up NG again over another association"
                .to_owned(),
            "none if NG Setup follows; else look for two gNBs of one identity",
        ),
        Cause::CONTROL_PROCESSING_OVERLOAD => (
            "there is no room for another UE".to_owned(),
            "share UEs with another core",
        ),
        cause => (format!("{named}: {cause}"), REMEDY),
    }
}

/// A session that a list names twice.
pub(crate) fn twice(session: u8) -> (String, &'static str) {
    (format!("session {session} is named twice"), REMEDY)
}

impl State {
    /// Name of a gNB, for operators.
    pub(crate) fn gnb_name(&self, association: AssociationId) -> String {
        match self.gnbs.get(&association) {
            None => format!("a gNB before NG Setup (association {})", association.0),
            Some(gnb) => {
                let name = gnb.name.as_ref().map(|name| format!(" ({name})"));
                format!("gNB {}{}", gnb.identity, name.unwrap_or_default())
            }
        }
    }

    /// The UE whose connection over this gNB has these names, as far as they are told.
    fn named(&self, association: AssociationId, ids: Ids) -> Option<UeId> {
        self.known_by(association, ids).map(|(ue, _)| ue)
    }

    /// The same, and the connection.
    fn known_by(&self, association: AssociationId, ids: Ids) -> Option<(UeId, ConnectionId)> {
        let by_amf = |amf| {
            let id = ConnectionId::from_ngap(amf);
            let one = self.connections.get(id.0)?;
            let is_its = ids.ran.is_none_or(|ran| ran == one.ran);
            (one.association == association && is_its).then_some((one.ue, id))
        };
        match (ids.amf, ids.ran) {
            (Some(amf), _) => by_amf(amf),
            (None, Some(ran)) => self.find_ran(association, ran),
            (None, None) => None,
        }
    }

    /// Tells operators what of a gNB was refused, and of which UE it was.
    pub(crate) fn gnb_refused(
        &mut self,
        association: AssociationId,
        ue: Option<UeId>,
        request: &'static str,
        cause: String,
        (why, remedy): (String, &'static str),
    ) {
        self.counters.refusals += 1;
        let supi = ue.and_then(|ue| self.ues.get(ue.0)?.supi);
        if let Some(ue) = ue {
            let what = format!("{request} refused, {cause}: {why}");
            self.line("AMF", "gNB", "", what, ue);
        }
        let why = match supi {
            Some(supi) => format!("{why} (of {supi})"),
            None => why,
        };
        self.effects.push(Effect::Refused(Box::new(Refused {
            who: self.gnb_name(association),
            supi,
            request,
            cause,
            why,
            remedy,
        })));
    }
}
