//! Events of PDU sessions that others subscribe to (Nsmf_EventExposure: TS 29.508, 4.2).
//!
//! A session that has been established or released is noticed once at the end of each input: no procedure tells events.

use sluice_ids::{Dnn, Snssai, Supi};
use sluice_sbi::{
    CallId, Effect, Message, Nf, NotifySmfEvent, Place, Problem, SmfEvent, SmfEventSubscription,
    SmfEventsSubscribed, SubscribeSmfEvents, end_of_subscription,
};

use crate::context::session::{Session, SessionId};
use crate::context::state::State;
use crate::context::subscribers::Waiter;
use crate::limits;

/// A session as subscribers are shown it.
#[derive(Clone, Copy, Debug)]
struct Shown {
    supi: Supi,
    session: u8,
    slice: Snssai,
    dnn: Dnn,
    ipv4: [u8; 4],
    ipv6_prefix: [u8; 8],
}

impl Shown {
    fn of(session: &Session) -> Self {
        let ipv4 = session.address.ipv4.map(|ipv4| ipv4.octets());
        let upf = session.upf.as_ref();
        Self {
            supi: session.supi,
            session: session.identity,
            slice: session.slice,
            dnn: session.dnn,
            ipv4: ipv4.unwrap_or_default(),
            ipv6_prefix: upf.and_then(|upf| upf.ipv6_prefix).unwrap_or_default(),
        }
    }

    fn is_wanted(&self, event: SmfEvent, wanted: &SmfEventSubscription) -> bool {
        let is_session = [0, self.session].contains(&wanted.session);
        let is_dnn = wanted.dnn.is_none() || wanted.dnn == self.dnn;
        let is_slice = wanted.slice().is_none_or(|slice| slice == self.slice);
        wanted.events & event.bit() != 0 && is_session && is_dnn && is_slice
    }
}

impl State {
    /// Nsmf_EventExposure_Subscribe, of a new subscription or one that changes (4.2.3).
    pub fn subscribe_events(
        &mut self,
        request: &SubscribeSmfEvents,
    ) -> Result<SmfEventsSubscribed, Problem> {
        let wanted = request.subscription;
        if wanted.events == 0 {
            return Err(Problem::Protocol);
        }
        let (until, until_unix_s) = end_of_subscription(self.now, wanted.until_unix_s.get())?;
        let exposure = &mut self.exposure;
        let id = match request.id.get() {
            0 if !exposure.subscriptions.has_room(wanted.of) => {
                self.counters.no_room += 1;
                return Err(Problem::NoResources);
            }
            0 => {
                exposure.next += 1;
                exposure.next - 1
            }
            id if exposure.subscriptions.has(id) => id,
            _ => return Err(Problem::ContextNotFound),
        };
        let most = wanted.most.get();
        exposure
            .subscriptions
            .insert(id, wanted.of, (wanted, most), until);
        if wanted.is_immediate {
            self.tell_all_sessions(id);
        }
        Ok(SmfEventsSubscribed {
            id: id.into(),
            until_unix_s: until_unix_s.into(),
        })
    }

    /// Sessions that are there at the beginning of a subscription: as many as a subscriber takes at once.
    fn tell_all_sessions(&mut self, id: u64) {
        let Some((wanted, _)) = self.exposure.subscriptions.get(id) else {
            return;
        };
        let (event, wanted) = (SmfEvent::Established, *wanted);
        let all = match wanted.of.one() {
            Some(supi) => self.by_identity.range((supi, 0)..=(supi, u8::MAX)),
            None => self.by_identity.range(..),
        };
        let there = all.filter_map(|(_, id)| self.sessions.get(id.0));
        let there = there
            .filter(|session| session.shown == Some(event))
            .map(Shown::of);
        let told = there.filter(|shown| shown.is_wanted(event, &wanted));
        let told: Vec<Shown> = told.take(limits::SESSIONS_AT_ONCE).collect();
        for shown in told {
            self.notify_event(id, event, &shown);
        }
    }

    /// Nsmf_EventExposure_Unsubscribe (4.2.4).
    pub fn unsubscribe_events(&mut self, id: u64) -> Result<(), Problem> {
        let is_known = self.exposure.subscriptions.remove(id);
        is_known.then_some(()).ok_or(Problem::ContextNotFound)
    }

    /// Ends subscriptions whose time is over.
    pub fn end_subscriptions(&mut self) {
        let now = self.now.instant;
        self.exposure.subscriptions.expire(now);
    }

    /// A call is answered: the session whose procedure waits for that. A subscriber that does not know its subscription is
    /// told no more.
    pub fn end_call(&mut self, call: CallId, message: &Message) -> Option<SessionId> {
        match self.calls.end(call)? {
            Waiter::Nobody => None,
            Waiter::Session(session) => Some(session),
            Waiter::Subscriber(id) => {
                self.counters.lost_events += u64::from(!matches!(message, Message::Done(_)));
                if *message == Problem::ContextNotFound.into() {
                    self.exposure.subscriptions.remove(id);
                }
                None
            }
        }
    }

    /// Tells of a session that has been established.
    pub fn expose(&mut self, id: SessionId) {
        let session = self.sessions.get(id.0);
        let is_new = |one: &&Session| one.is_accepted && one.upf.is_some() && one.shown.is_none();
        if session.filter(is_new).is_none() {
            return;
        }
        let Some(session) = self.sessions.get_mut(id.0) else {
            return;
        };
        session.shown = Some(SmfEvent::Established);
        let shown = Shown::of(session);
        self.tell_event(SmfEvent::Established, &shown);
    }

    /// Tells of a session that is over, once.
    pub fn expose_end(&mut self, id: SessionId) {
        let session = self.sessions.get_mut(id.0);
        let Some(session) = session.filter(|session| session.shown == Some(SmfEvent::Established))
        else {
            return;
        };
        session.shown = Some(SmfEvent::Released);
        let shown = Shown::of(session);
        self.tell_event(SmfEvent::Released, &shown);
    }

    fn tell_event(&mut self, event: SmfEvent, shown: &Shown) {
        if self.exposure.subscriptions.is_empty() {
            return;
        }
        for id in self.exposure.subscriptions.about(shown.supi) {
            let known = self.exposure.subscriptions.get(id);
            if known.is_some_and(|(wanted, _)| shown.is_wanted(event, wanted)) {
                self.notify_event(id, event, shown);
            }
        }
    }

    /// Nsmf_EventExposure_Notify (4.2.2).
    fn notify_event(&mut self, id: u64, event: SmfEvent, shown: &Shown) {
        if !self.exposure.subscriptions.spend(id) {
            return;
        }
        let is_active = self.exposure.subscriptions.left(id) != Some(0);
        if !is_active {
            self.exposure.subscriptions.remove(id);
        }
        self.counters.told_events += 1;
        let message = Message::from(NotifySmfEvent {
            id: id.into(),
            event,
            unix_s: self.now.unix_s.into(),
            supi: shown.supi,
            session: shown.session,
            slice: shown.slice,
            dnn: shown.dnn,
            ipv4: shown.ipv4,
            ipv6_prefix: shown.ipv6_prefix,
            is_active,
        });
        let deadline = self.now.instant.plus_ms(limits::CALL_MS);
        let Some(call) = self.calls.begin_until(deadline, Waiter::Subscriber(id)) else {
            self.counters.lost_events += 1;
            return;
        };
        self.effects.push(Effect::Call {
            to: Place::outside(Nf::Smf),
            call,
            deadline,
            message: message.into(),
        });
    }
}

#[cfg(test)]
mod tests;
