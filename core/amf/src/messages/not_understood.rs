//! Messages of UEs that cannot be read, or whose keys are not known: what the UE is told, and what the operator.

use sluice_n1::{Downlink, Uplink};

use crate::Amf;
use crate::context::state::{State, describe};
use crate::context::ue::UeId;
use crate::refusal_text;

impl Amf {
    /// Reads a plain message, and tells the UE of one that cannot be read. `is_certain` says that it is the UE's, or that
    /// of a UE that nobody knows yet.
    pub(crate) fn read(&mut self, ue: UeId, plain: &[u8], is_certain: bool) -> Option<Uplink> {
        self.state.borrow_mut().see_nas(ue, true, plain);
        let unreadable = match Uplink::decode(plain) {
            Ok(message) => return Some(message),
            Err(unreadable) => unreadable,
        };
        self.state.borrow_mut().counters.unreadable_nas += 1;
        let is_own = is_certain || !self.is_secured(ue);
        match unreadable.answer(plain) {
            // What is under way goes on, and so does what a stranger has said nothing of.
            Some(Downlink::RegistrationReject(_) | Downlink::ServiceReject(_))
                if !is_own || self.running(ue) != crate::messages::collisions::Running::Nothing =>
            {
                self.state.borrow_mut().tell_status(ue, unreadable);
            }
            Some(reject @ (Downlink::RegistrationReject(_) | Downlink::ServiceReject(_))) => {
                self.state.borrow_mut().reject_unreadable(ue, &reject);
                self.end_if_idle(ue);
            }
            _ => self.state.borrow_mut().tell_status(ue, unreadable),
        }
        None
    }

    fn is_secured(&self, ue: UeId) -> bool {
        let state = self.state.borrow();
        state.connection(ue).is_some_and(|(_, c)| c.is_secured)
    }
}

impl State {
    fn tell_status(&mut self, ue: UeId, unreadable: sluice_n1::Unreadable) {
        if let Some(cause) = unreadable.cause {
            self.send_nas(ue, &Downlink::Status(cause), "");
        }
    }

    /// A request that cannot be read is rejected.
    fn reject_unreadable(&mut self, ue: UeId, reject: &Downlink) {
        let (request, cause) = match reject {
            Downlink::ServiceReject(reject) => ("Service Request", reject.cause),
            Downlink::RegistrationReject(reject) => ("Registration", reject.cause),
            _ => return,
        };
        self.refused(
            ue,
            None,
            request,
            describe(reject),
            refusal_text::by_cause(cause),
        );
        self.send_nas(ue, reject, "");
    }

    /// A UE that registers answers under keys that are not known, ciphered: operators are told once.
    pub(crate) fn not_understood(&mut self, id: UeId) {
        let Some(ue) = self.ues.get_mut(id.0) else {
            return;
        };
        let Some(request) = ue.request.as_ref().filter(|_| !ue.is_not_understood) else {
            return;
        };
        let shown = refusal_text::identity(&request.identity);
        ue.is_not_understood = true;
        let reason = (
            "what the UE answers is ciphered with keys that are not known here, and is left alone"
                .to_owned(),
            "none if it registers then; else have it forget its keys: switch it off and on",
        );
        let cause = "a MAC that is wrong".to_owned();
        self.refused(id, Some(shown), "Registration", cause, reason);
    }
}
