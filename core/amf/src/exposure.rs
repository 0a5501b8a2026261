//! Events of UEs that others subscribe to (Namf_EventExposure: TS 29.518, 5.3).
//!
//! Whatever an input changes is compared with what was shown of the UE before, once at its end: no procedure tells events.

use sluice_ids::Supi;
use sluice_sbi::{
    AmfEventSubscription, AmfEventsSubscribed, Effect, ForUe, Instant, Message, Nf,
    NotifyAmfEvents, Place, Problem, SubscribeAmfEvents, Subscriptions, UeState,
    end_of_subscription,
};

use crate::context::state::State;
use crate::context::ue::{UeId, Waiter};
use crate::limits;

/// Subscriptions to events of UEs.
pub(crate) struct Exposure {
    subscriptions: Subscriptions<AmfEventSubscription>,
    /// UEs that are not known any more, and what was shown of them.
    gone: Vec<(Supi, UeState)>,
}

impl Default for Exposure {
    fn default() -> Self {
        Self {
            subscriptions: Subscriptions::new(limits::SUBSCRIPTIONS, limits::SUBSCRIPTIONS_OF_ANY),
            gone: Vec::new(),
        }
    }
}

impl Exposure {
    pub fn len(&self) -> usize {
        self.subscriptions.len()
    }

    /// When the first subscription is over.
    pub fn next_end(&self) -> Instant {
        self.subscriptions.next_end()
    }

    /// Takes a set of reports from those that are left; those that may be told, and whether any are left after them.
    fn spend(&mut self, id: u64, events: u8) -> (u8, bool) {
        let bits = (0..u8::BITS).map(|at| 1 << at);
        let mut told = 0;
        for bit in bits.filter(|bit| events & bit != 0) {
            if self.subscriptions.spend(id) {
                told |= bit;
            }
        }
        (told, self.subscriptions.left(id) != Some(0))
    }
}

impl State {
    /// Namf_EventExposure_Subscribe, of a new subscription or one that changes (5.3.2.2).
    pub fn subscribe_events(&mut self, request: &SubscribeAmfEvents) -> Message {
        self.subscribed(request).unwrap_or_else(Message::from)
    }

    fn subscribed(&mut self, request: &SubscribeAmfEvents) -> Result<Message, Problem> {
        let (id, wanted) = (request.id.get(), request.subscription);
        let one = wanted.of.one();
        let ue = one.map(|supi| self.find_registered(&supi).ok_or(Problem::ContextNotFound));
        let ue = ue.transpose()?;
        if wanted.events == 0 {
            return Err(Problem::Protocol);
        }
        let (until, until_unix_s) = end_of_subscription(self.now, wanted.until_unix_s.get())?;
        let id = match id {
            0 => self.new_subscription(wanted.of)?,
            id if self.exposure.subscriptions.has(id) => id,
            _ => return Err(Problem::ContextNotFound),
        };
        let subscriptions = &mut self.exposure.subscriptions;
        subscriptions.insert(id, wanted.of, (wanted, wanted.most.get()), until);
        let immediate = wanted.events & wanted.immediate;
        let (told, is_active) = match ue {
            Some(_) => self.exposure.spend(id, immediate),
            None => (0, true),
        };
        if !is_active {
            self.exposure.subscriptions.remove(id);
        }
        if ue.is_none() && immediate != 0 {
            self.tell_all_states(id, immediate);
        }
        let state = ue.map(|ue| self.state_of(ue)).unwrap_or_default();
        Ok(AmfEventsSubscribed {
            id: id.into(),
            until_unix_s: until_unix_s.into(),
            immediate: told,
            state,
            unix_s: self.now.unix_s.into(),
            is_active,
        }
        .into())
    }

    /// Name of a new subscription, which nobody guesses.
    fn new_subscription(&mut self, of: ForUe) -> Result<u64, Problem> {
        if !self.exposure.subscriptions.has_room(of) {
            self.counters.no_room += 1;
            return Err(Problem::NoResources);
        }
        Ok(self.new_name())
    }

    /// A random number that is no handle of a transport, and not 0.
    pub fn new_name(&mut self) -> u64 {
        let mut octets = [0; 8];
        self.random.fill(&mut octets);
        (u64::from_be_bytes(octets) >> 1).max(1)
    }

    /// States of UEs at the beginning of a subscription of all: as many as a subscriber takes at once.
    fn tell_all_states(&mut self, id: u64, events: u8) {
        let known: Vec<UeId> = self.known(None).collect();
        let registered = known.into_iter().filter_map(|ue| {
            let known = self.ues.get(ue.0)?;
            known
                .registered
                .as_ref()
                .and(known.supi)
                .map(|supi| (ue, supi))
        });
        let told: Vec<(UeId, Supi)> = registered.take(limits::STATES_AT_ONCE).collect();
        for (ue, supi) in told {
            let state = self.state_of(ue);
            self.notify_events(id, events, supi, state, false);
        }
    }

    /// Namf_EventExposure_Unsubscribe (5.3.2.3).
    pub fn unsubscribe_events(&mut self, id: u64) -> Result<(), Problem> {
        let is_known = self.exposure.subscriptions.remove(id);
        is_known.then_some(()).ok_or(Problem::ContextNotFound)
    }

    /// A subscriber has heard, or has not. One that does not know its subscription is told no more.
    pub fn subscriber_answered(&mut self, id: u64, message: &Message) {
        match message {
            Message::Done(_) => {}
            Message::Failure(failure) => {
                self.counters.lost_events += 1;
                if failure.problem == Problem::ContextNotFound {
                    self.exposure.subscriptions.remove(id);
                    self.status_subscribers.remove(&id);
                }
            }
            _ => self.counters.lost_events += 1,
        }
    }

    /// Ends subscriptions whose time is over.
    pub fn end_subscriptions(&mut self) {
        let now = self.now.instant;
        self.exposure.subscriptions.expire(now);
    }

    /// The registered UE of a subscriber.
    pub fn find_registered(&self, supi: &Supi) -> Option<UeId> {
        let ue = self.find_supi(supi)?;
        self.ues.get(ue.0)?.registered.as_ref().map(|_| ue)
    }

    /// State of a UE as it is now; of one that is idle, at the place that was known last.
    pub fn state_of(&self, id: UeId) -> UeState {
        let Some(ue) = self.ues.get(id.0) else {
            return UeState::default();
        };
        let is_registered = ue.registered.is_some();
        let connection = self.connection(id).map(|(_, connection)| connection);
        let mut state = UeState::default();
        state.is_registered = is_registered;
        state.is_connected = is_registered && connection.is_some();
        state.is_reachable = is_registered && ue.unreachable_until.is_none();
        let here = connection.map(|one| (one.location.plmn, one.location.cell, one.location.tai));
        match here.or(ue.shown.place()) {
            Some(place) => state.at(place),
            None => state,
        }
    }

    /// Tells what is otherwise of a UE than it was shown.
    pub fn expose(&mut self, id: UeId) {
        let known = self.ues.get(id.0);
        let Some(supi) = known.and_then(|ue| ue.registered.as_ref().and(ue.supi)) else {
            return;
        };
        let state = self.state_of(id);
        self.answer_reachers(id, &state);
        let Some(ue) = self.ues.get_mut(id.0).filter(|ue| ue.shown != state) else {
            return;
        };
        let before = std::mem::replace(&mut ue.shown, state);
        self.tell_events(supi, &before, state, false);
    }

    fn tell_events(&mut self, supi: Supi, before: &UeState, state: UeState, is_gone: bool) {
        if self.exposure.subscriptions.is_empty() {
            return;
        }
        for id in self.exposure.subscriptions.about(supi) {
            let Some((wanted, is_of_one)) = self.exposure.subscriptions.get(id) else {
                continue;
            };
            let due = wanted.events & state.changes(before, wanted.by_cell);
            if due != 0 {
                self.notify_events(id, due, supi, state, is_gone && is_of_one);
            }
        }
    }

    /// Namf_EventExposure_Notify (5.3.2.4).
    fn notify_events(&mut self, id: u64, events: u8, supi: Supi, state: UeState, is_last: bool) {
        let (events, has_more) = self.exposure.spend(id, events);
        let is_active = has_more && !is_last;
        let left = self.exposure.subscriptions.left(id);
        if !is_active {
            self.exposure.subscriptions.remove(id);
        }
        if events == 0 {
            return;
        }
        self.counters.told_events += u64::from(events.count_ones());
        let message = NotifyAmfEvents {
            id: id.into(),
            events,
            supi,
            state,
            unix_s: self.now.unix_s.into(),
            is_active,
            left: left.unwrap_or_default().into(),
        };
        self.tell_subscriber(id, message.into());
    }

    /// Tells whoever subscribed.
    pub fn tell_subscriber(&mut self, id: u64, message: Message) {
        let deadline = self.now.instant.plus_ms(limits::CALL_MS);
        let until = self.now.instant.plus_ms(limits::ANSWER_MS);
        let Some(call) = self.calls.begin_until(until, Waiter::Subscriber(id)) else {
            self.counters.lost_events += 1;
            return;
        };
        self.effects.push(Effect::Call {
            to: Place::outside(Nf::Amf),
            call,
            deadline,
            message: message.into(),
        });
    }

    /// A UE is about to be forgotten: another context of its subscriber may follow in this turn.
    pub fn leaves(&mut self, id: UeId) {
        let known = self.ues.get(id.0).filter(|ue| ue.shown.is_registered);
        if let Some((supi, shown)) = known.and_then(|ue| Some((ue.supi?, ue.shown))) {
            self.exposure.gone.push((supi, shown));
        }
    }

    /// Tells of UEs that are gone, and ends subscriptions of theirs; a context that has followed goes on as the one before.
    pub fn expose_gone(&mut self) {
        for (supi, shown) in std::mem::take(&mut self.exposure.gone) {
            let next = self.find_supi(&supi);
            if let Some(ue) = next.and_then(|ue| self.ues.get_mut(ue.0)) {
                if !ue.shown.is_registered {
                    ue.shown = shown;
                }
                continue;
            }
            let state = match shown.place() {
                Some(place) => UeState::default().at(place),
                None => UeState::default(),
            };
            self.tell_events(supi, &shown, state, true);
            for id in self.exposure.subscriptions.of_ue(supi) {
                self.exposure.subscriptions.remove(id);
            }
        }
    }
}
