//! Requests about a UE of functions that are no part of its procedures: it is to be connected (Namf_MT: TS 29.518, 5.4), and
//! that this AMF comes or goes is to be told (Namf_Communication: 5.2.2.5).

use sluice_ids::Supi;
use sluice_sbi::{
    AmfStatusSubscribed, Done, Effect, Message, NotifyAmfStatus, Problem, ReachUe, RequestId,
    SubscribeAmfStatus, UeInfo, UeState,
};

use crate::Amf;
use crate::context::state::State;
use crate::context::ue::UeId;
use crate::limits;

impl Amf {
    /// Namf_MT_EnableUEReachability (5.4.2.2): the answer waits until an idle UE has answered its paging.
    pub(crate) fn reach(&mut self, id: RequestId, request: &ReachUe) {
        let ue = self.state.borrow().find_registered(&request.supi);
        let refused = match ue {
            None => Some(Problem::ContextNotFound.into()),
            Some(ue) => self.state.borrow_mut().refuse_to_reach(ue),
        };
        match (refused, ue) {
            (None, Some(ue)) => {
                if let Some(ue) = self.state.borrow_mut().ues.get_mut(ue.0) {
                    ue.reached_for.push(id);
                }
                self.go_on(ue);
            }
            (answer, _) => {
                let message: Message = answer.unwrap_or_else(|| Problem::ContextNotFound.into());
                let effects = &mut self.state.borrow_mut().effects;
                let message = message.into();
                effects.push(Effect::Answer { id, message });
            }
        }
    }
}

impl State {
    /// Answer to who wants a UE connected that need not be paged, or may not be.
    fn refuse_to_reach(&mut self, ue: UeId) -> Option<Message> {
        let known = self.ues.get(ue.0)?;
        // Its gNB may be about to come back with it.
        let is_full = known.reached_for.len() >= limits::REACHED_FOR || known.awaits.is_some();
        if self.state_of(ue).is_connected {
            return Some(Done::ALL.into());
        }
        if is_full {
            return Some(Problem::Overload.into());
        }
        (self.unreachable_s(ue) > 0).then(|| Problem::NotReached.into())
    }

    /// Whoever waits for a UE that is connected now hears it.
    pub fn answer_reachers(&mut self, id: UeId, state: &UeState) {
        if state.is_connected {
            self.end_reaching(id, Done::ALL.into());
        }
    }

    /// Whoever waits for a UE is answered so.
    pub fn end_reaching(&mut self, ue: UeId, answer: Message) {
        let known = self.ues.get(ue.0);
        if known.is_none_or(|ue| ue.reached_for.is_empty()) {
            return;
        }
        let known = self.ues.get_mut(ue.0);
        let waiting = known.map(|ue| std::mem::take(&mut ue.reached_for));
        for id in waiting.into_iter().flatten() {
            let message = answer.into();
            self.effects.push(Effect::Answer { id, message });
        }
    }

    /// Namf_MT_ProvideDomainSelectionInfo (5.4.2.3).
    pub fn info_of(&self, supi: &Supi) -> Result<UeInfo, Problem> {
        let ue = self.find_registered(supi);
        ue.ok_or(Problem::ContextNotFound)?;
        Ok(UeInfo {
            has_ims_voice: self.config.ims_voice,
        })
    }

    /// Namf_Communication_AMFStatusChangeSubscribe.
    pub fn subscribe_status(
        &mut self,
        request: &SubscribeAmfStatus,
    ) -> Result<AmfStatusSubscribed, Problem> {
        let known = request.id.get();
        if known != 0 {
            let is_known = self.status_subscribers.contains(&known);
            let id = is_known.then_some(request.id);
            let id = id.ok_or(Problem::ContextNotFound)?;
            return Ok(AmfStatusSubscribed { id });
        }
        if self.status_subscribers.len() >= limits::STATUS_SUBSCRIPTIONS {
            self.counters.no_room += 1;
            return Err(Problem::NoResources);
        }
        let id = self.new_name();
        self.status_subscribers.insert(id);
        Ok(AmfStatusSubscribed { id: id.into() })
    }

    /// Namf_Communication_AMFStatusChangeUnsubscribe.
    pub fn unsubscribe_status(&mut self, id: u64) -> Result<(), Problem> {
        let is_known = self.status_subscribers.remove(&id);
        is_known.then_some(()).ok_or(Problem::ContextNotFound)
    }

    /// Namf_Communication_AMFStatusChangeNotify: this AMF goes.
    pub fn tell_unavailable(&mut self) {
        let guami = self.config.guami;
        for id in std::mem::take(&mut self.status_subscribers) {
            let notice = NotifyAmfStatus {
                id: id.into(),
                guami,
                is_available: false,
            };
            self.tell_subscriber(id, notice.into());
        }
    }
}
