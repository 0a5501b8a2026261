//! Requests of other functions; those of UDM about a registered UE, which leaves or registers again (TS 23.502, 4.2.2.3.3
//! and 4.5.1).

use sluice_ids::Supi;
use sluice_n1::Cause;
use sluice_sbi::{
    Done, Effect, Message, NotifyAccess, NotifyDeregistration, Problem, Removal, RequestId,
};

use crate::Amf;
use crate::context::ue::UeId;
use crate::messages::collisions::{self, Decision, Input as Collision};
use crate::procedure::deregistration::Leave;
use crate::procedure::{self, Procedure};

impl Amf {
    /// A request of another function.
    pub(crate) fn request(&mut self, id: RequestId, message: &Message) {
        let done =
            |done: Result<(), Problem>| done.map_or_else(Message::from, |()| Done::ALL.into());
        let answer = match message {
            Message::NotifyDeregistration(notice) => return self.notified(id, notice),
            Message::NotifyAccess(notice) => return self.access_changed(id, notice),
            Message::TransferN1N2(request) => return self.transfer(id, request),
            Message::ReachUe(request) => return self.reach(id, request),
            Message::SubscribeAmfEvents(request) => {
                self.state.borrow_mut().subscribe_events(request)
            }
            Message::UnsubscribeAmfEvents(request) => {
                let state = &mut *self.state.borrow_mut();
                done(state.unsubscribe_events(request.id.get()))
            }
            Message::TransferUeContext(request) => {
                let context = self.state.borrow_mut().hand_out(request);
                context.map_or_else(Message::from, Message::from)
            }
            Message::UpdateRegistration(request) => {
                let updated = self.registration_updated(request);
                updated.map_or_else(Message::from, Message::from)
            }
            Message::QueryUe(request) => {
                let info = self.state.borrow().info_of(&request.supi);
                info.map_or_else(Message::from, Message::from)
            }
            Message::SubscribeAmfStatus(request) => {
                let subscribed = self.state.borrow_mut().subscribe_status(request);
                subscribed.map_or_else(Message::from, Message::from)
            }
            Message::UnsubscribeAmfStatus(request) => {
                let state = &mut *self.state.borrow_mut();
                done(state.unsubscribe_status(request.id.get()))
            }
            message => return self.state.borrow_mut().requested(id, message),
        };
        let message = answer.into();
        let effects = &mut self.state.borrow_mut().effects;
        effects.push(Effect::Answer { id, message });
    }

    /// Ends what a UE is doing and deregisters it; none if it is not registered.
    pub(crate) fn send_away(&mut self, supi: &Supi, leave: Leave) -> Option<UeId> {
        self.end_registration(supi, |p| procedure::deregistration::by_network(p, leave))
    }

    /// Ends what a UE is doing and begins the procedure that ends its registration; none if it is not registered.
    fn end_registration<F: Future<Output = ()> + 'static>(
        &mut self,
        supi: &Supi,
        procedure: impl FnOnce(Procedure) -> F,
    ) -> Option<UeId> {
        let ue = self.state.borrow().find_registered(supi)?;
        let decision = collisions::decide(Collision::SentAway, self.running(ue));
        if decision == Decision::Ignore {
            return Some(ue);
        }
        self.abort(ue);
        // A first registration that is not complete is undone by that.
        self.start(ue, procedure);
        Some(ue)
    }

    /// Nudm_UECM_DeregistrationNotification: UDM is answered at once (4.2.2.3.3, step 3).
    pub(crate) fn notified(&mut self, id: RequestId, notice: &NotifyDeregistration) {
        let leave = |registers_again, cause| Leave {
            registers_again,
            cause,
        };
        let supi = &notice.supi;
        let known = match notice.removal {
            // For another AMF, which has no callback of its own at the UDM.
            _ if notice.amf != self.state.borrow().config.guami => None,
            Removal::SubscriptionWithdrawn => {
                self.send_away(supi, leave(false, Some(Cause::SERVICES_NOT_ALLOWED)))
            }
            Removal::ReregistrationRequired => self.send_away(supi, leave(true, None)),
            // TS 24.501, 5.5.2.3.1: this network serves the UE no longer.
            Removal::DisasterConditionTerminated => {
                self.send_away(supi, leave(false, Some(Cause::PLMN_NOT_ALLOWED)))
            }
            Removal::InitialRegistration
            | Removal::AreaChange
            | Removal::MobilityToEps
            | Removal::RegistrationInEps => self.is_elsewhere(supi),
            // The SMF that had the session does what there is to do.
            Removal::SmfContextTransferred | Removal::DuplicatePduSession => {
                self.state.borrow().find_registered(supi)
            }
        };
        self.answer_udm(id, known, "3");
    }

    /// The UE is elsewhere. An AMF that has asked for its context says what becomes of its sessions (4.2.2.2.2, 14d).
    fn is_elsewhere(&mut self, supi: &Supi) -> Option<UeId> {
        let known = self.state.borrow().find_registered(supi)?;
        if self.state.borrow_mut().is_said_to_be_elsewhere(known) {
            return Some(known);
        }
        self.end_registration(supi, procedure::deregistration::elsewhere)
    }

    /// Nudm_SDM_Notification (4.5.1): the UE is to register again, by what it may do now.
    pub(crate) fn access_changed(&mut self, id: RequestId, notice: &NotifyAccess) {
        let leave = Leave {
            registers_again: true,
            cause: None,
        };
        let known = self.send_away(&notice.supi, leave);
        self.answer_udm(id, known, "1");
    }

    fn answer_udm(&mut self, id: RequestId, known: Option<UeId>, step: &'static str) {
        let state = &mut *self.state.borrow_mut();
        let message = match known {
            Some(ue) => {
                state.line("AMF", "UDM", step, "Response", ue);
                Done::ALL.into()
            }
            None => Problem::ContextNotFound.into(),
        };
        state.effects.push(Effect::Answer { id, message });
    }
}
