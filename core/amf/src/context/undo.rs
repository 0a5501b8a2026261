//! End of a registration: what other functions know of the UE is taken back, whether its procedure came to its end or not.

use sluice_sbi::{DeleteAmPolicy, DeregisterAmf, Message, Nf, SdmSubscription, UnsubscribeSdm};

use crate::context::state::State;
use crate::context::ue::{AmPolicyAssociation, UeId, Undo, Waiter};

impl State {
    /// Nudm_SDM_Unsubscribe: what the subscriber may do is of no more interest. Nobody waits for the answer.
    pub fn unsubscribe(&mut self, id: UeId, step: &'static str) {
        let supi = self.ues.get(id.0).and_then(|ue| ue.supi);
        if let (Some(instance), Some(supi)) = (self.instance, supi) {
            let subscription = SdmSubscription::access_and_mobility(supi, instance);
            let id_of_it = subscription.id().into();
            let message = Message::from(UnsubscribeSdm { supi, id: id_of_it });
            self.line("AMF", "UDM", step, message.name(), id);
            self.call(Waiter::Nobody, Nf::Udm, message);
        }
    }

    /// Npcf_AMPolicyControl_Delete (4.16.3), of a UE that has an association. Nobody waits for the answer.
    pub fn end_policy(&mut self, id: UeId, step: &'static str) {
        let policy = self.ues.get_mut(id.0).and_then(|ue| ue.policy.take());
        if let Some(AmPolicyAssociation { policy, .. }) = policy {
            let policy = policy.into();
            let message = Message::from(DeleteAmPolicy { policy });
            self.line("AMF", "PCF", step, message.name(), id);
            self.call(Waiter::Nobody, Nf::Pcf, message);
        }
    }

    /// A UE is not registered any more, of which UDM is told unless it has said so; nobody waits until the others know it.
    fn forget_registration(&mut self, id: UeId, tells_udm: bool) {
        self.keep_sessions(id, 0, "");
        let supi = self.ues.get_mut(id.0).and_then(|ue| {
            ue.registered = None;
            ue.paged_for.clear();
            ue.supi
        });
        if let Some(supi) = supi {
            self.end_policy(id, "");
            self.unsubscribe(id, "");
            if tells_udm {
                let guami = self.config.guami;
                let request = DeregisterAmf { supi, guami };
                self.call(Waiter::Nobody, Nf::Udm, request.into());
            }
            let commit = self.commit(id, &supi, None);
            self.commits.remove(&commit);
        }
    }

    /// Undoes what a procedure did that does not come to its end.
    pub fn undo(&mut self, id: UeId) {
        self.counters.aborts += 1;
        self.give_back(id);
        let undo = self.ues.get_mut(id.0).map(|ue| {
            ue.new_security = None;
            std::mem::take(&mut ue.undo)
        });
        for undo in undo.into_iter().flatten() {
            match undo {
                Undo::Registration(supi) => {
                    let ue = self.ues.get_mut(id.0);
                    let is_subscribed = ue.is_some_and(|ue| {
                        ue.registered = None;
                        std::mem::take(&mut ue.is_subscribed)
                    });
                    self.end_policy(id, "");
                    if is_subscribed {
                        self.unsubscribe(id, "");
                    }
                    let request = DeregisterAmf {
                        supi,
                        guami: self.config.guami,
                    };
                    self.call(Waiter::Nobody, Nf::Udm, request.into());
                }
                Undo::Deregistration => self.forget_registration(id, true),
                Undo::Removal => self.forget_registration(id, false),
            }
        }
    }
}
