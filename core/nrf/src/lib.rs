//! Network repository function (TS 23.501, 6.2.6; TS 29.510): which network functions are there, what they
//! serve, and who is to do what is asked for.
//!
//! A function registers its profile and tells by heart-beats that it is there. One that misses them is
//! suspended, and not discovered; it is forgotten when it does not come back. [`Registration`] is the other
//! side: what one function does to be registered.
#![forbid(unsafe_code)]

mod bootstrapping;
mod date_time;
mod discovery;
mod document;
#[cfg(test)]
mod http_tests;
mod management;
mod matching;
mod nf_type;
mod part;
mod profiles;
mod query;
mod registration;
mod serve;
mod subscribing;
mod subscriptions;
#[cfg(test)]
mod tests;
mod tokens;

use std::collections::BTreeMap;

use sluice_sbi::{
    Done, Effect, Found, Input, Instant, Message, NetworkFunction, Nf, NfInstance, NfQuery,
    NfRegistered, NfsDiscovered, NfsFound, Now, Problem, Refused,
};

pub use document::Allowed;
pub use nf_type::NfType;
pub use part::PARTS;
pub use part::Part;
pub use profiles::{DOCUMENT_OCTETS, DOCUMENTS_OCTETS, PROFILES, Profile};
pub use registration::Registration;
pub use subscriptions::{NOTIFICATIONS, Notification, SUBSCRIPTIONS};
pub use tokens::{OtherKey, Sign, Signer};

use profiles::Profiles;
use query::Query;
use subscriptions::{Event, Subscriptions};

/// Heart-beats that are missed until an instance is suspended.
pub const SUSPENDED_AFTER: u32 = 2;

/// Heart-beats that are missed until an instance is forgotten.
pub const FORGOTTEN_AFTER: u32 = 10;

/// What an operator tells an NRF.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Config {
    /// Seconds between heart-beats; 0 for none: whoever is registered stays so.
    pub heart_beat_s: u16,
    /// Seconds for which what is found may be taken to be so.
    pub validity_s: u32,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            heart_beat_s: 0,
            validity_s: 60,
        }
    }
}

/// What happened so far.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Profiles that were registered, or replaced.
    pub registrations: u64,
    /// Instances that deregistered.
    pub deregistrations: u64,
    /// Heart-beats that came.
    pub heart_beats: u64,
    /// Heart-beats and parts of profiles of instances that are not registered.
    pub unknown: u64,
    /// Profiles, or parts of them, for which there was no room.
    pub no_room: u64,
    /// Heart-beats that did not come, by type.
    pub missed: BTreeMap<Nf, u64>,
    /// Instances that were suspended.
    pub suspended: u64,
    /// Instances that were forgotten, as they did not come back.
    pub forgotten: u64,
    /// Discoveries that found somebody, by type.
    pub found: BTreeMap<Nf, u64>,
    /// Discoveries that found nobody, by type.
    pub none: BTreeMap<Nf, u64>,
    /// Discoveries that were refused (403), by type: none of the type is for the one that asked.
    pub forbidden: BTreeMap<Nf, u64>,
    /// Of types of other cores.
    pub others: OfOthers,
    /// Documents that were longer than [`DOCUMENT_OCTETS`].
    pub too_long: u64,
    /// Subscriptions that were made.
    pub subscriptions: u64,
    /// Notifications for those that subscribed.
    pub notifications: u64,
    /// Notifications that were left out, since too many waited.
    pub notifications_lost: u64,
    /// Access tokens that were given out.
    pub tokens: u64,
    /// Access tokens that were refused.
    pub tokens_refused: u64,
}

/// Counts of instances of types that are none of ours.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct OfOthers {
    /// Heart-beats that did not come.
    pub missed: u64,
    /// Discoveries that found somebody.
    pub found: u64,
    /// Discoveries that found nobody.
    pub none: u64,
    /// Discoveries that were refused.
    pub forbidden: u64,
}

/// The function.
#[derive(Debug, Default)]
pub struct Nrf {
    config: Config,
    profiles: Profiles,
    subscriptions: Subscriptions,
    counters: Counters,
    /// API root by which others reach it; empty if it was not told.
    root: String,
    /// Identity of the NRF, the issuer of its tokens.
    instance: Option<NfInstance>,
    signer: Option<Signer>,
    /// Services of the NRF take requests with tokens alone.
    needs_tokens: bool,
}

impl Nrf {
    /// With what an operator tells it.
    pub fn new(config: Config) -> Self {
        Self {
            config,
            ..Self::default()
        }
    }

    /// Another configuration is in force from now on; instances hear of another interval when they register
    /// next.
    pub fn reconfigure(&mut self, config: Config) {
        self.config = config;
    }

    /// What is in force.
    pub fn config(&self) -> Config {
        self.config
    }

    /// What happened so far.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Who is registered or suspended.
    pub fn profiles(&self) -> impl Iterator<Item = &Profile> {
        self.profiles.all()
    }

    /// Tells it the API root by which others reach it, `http://127.0.0.1:7777`: URIs of its resources begin with that.
    pub fn reached_at(&mut self, root: &str) {
        root.trim_end_matches('/').clone_into(&mut self.root);
    }

    /// Notifications that are to leave, since the last call.
    pub fn take_notifications(&mut self) -> Vec<Notification> {
        self.subscriptions.take()
    }

    /// Subscribers hear of it; `before` is the profile of before.
    fn tell(&mut self, now: Now, event: Event, instance: NfInstance, before: Option<&Profile>) {
        let after = self.profiles.get(instance);
        let counters = &mut self.counters;
        let told = self
            .subscriptions
            .tell(now, &self.root, event, before, after);
        counters.notifications += told.queued;
        counters.notifications_lost += told.lost;
    }

    /// Keeps a profile in the place of the one of before, and tells so; whether there was one.
    fn register(&mut self, now: Now, profile: Profile) -> Result<bool, Problem> {
        let instance = profile.instance();
        let before = self.profiles.register(profile)?;
        let event = before
            .as_ref()
            .map_or(Event::Registered, |_| Event::ProfileChanged);
        self.tell(now, event, instance, before.as_ref());
        Ok(before.is_some())
    }

    fn deregister(&mut self, now: Now, instance: NfInstance) -> Result<(), Problem> {
        let gone = self.profiles.remove(instance);
        let gone = gone.ok_or(Problem::ContextNotFound)?;
        self.tell(now, Event::Deregistered, instance, Some(&gone));
        Ok(())
    }

    /// Finds who does what is asked for, and counts that.
    fn find(&mut self, query: &Query) -> Result<matching::Matches<'_>, matching::Forbidden> {
        let found = self.profiles.find(query);
        let (counters, nf) = (&mut self.counters, query.target.nf());
        let others = &mut counters.others;
        let (results, of_others) = match &found {
            Err(_) => (&mut counters.forbidden, &mut others.forbidden),
            Ok(Err(_)) => (&mut counters.none, &mut others.none),
            Ok(Ok(_)) => (&mut counters.found, &mut others.found),
        };
        *nf.map_or(of_others, |nf| results.entry(nf).or_default()) += 1;
        found
    }

    fn discover(&mut self, query: &NfQuery) -> Message {
        let validity_s = self.config.validity_s;
        let found = match self.find(&query.into()) {
            Err(matching::Forbidden) => return Problem::DiscoveryForbidden.into(),
            Ok(Err(reason)) => NfsFound::none(reason),
            Ok(Ok(found)) => {
                let found: Vec<Found> = found.into_iter().map(flat).collect();
                NfsFound::new(validity_s, &found)
            }
        };
        NfsDiscovered { found }.into()
    }

    fn request(&mut self, now: Now, message: &Message) -> Message {
        let done = Message::from(Done::ALL);
        match *message {
            Message::RegisterNf(request) => {
                let heart_beat_s = self.config.heart_beat_s;
                let profile = Profile::of_message(now, &request.profile, heart_beat_s);
                let taken = self.register(now, profile).map(|_| ());
                self.counted(taken, |counters| &mut counters.registrations)
                    .unwrap_or_else(|| {
                        let heart_beat_s = heart_beat_s.into();
                        NfRegistered { heart_beat_s }.into()
                    })
            }
            Message::ServeMore(request) => {
                let (instance, served) = (request.instance, request.served);
                // The profile of before matters to those alone that subscribed.
                let known = self.profiles.get(instance);
                let before = known.filter(|_| !self.subscriptions.is_empty()).cloned();
                let taken = self.profiles.serve_more(instance, served);
                if taken.is_ok() && before.is_some() {
                    self.tell(now, Event::ProfileChanged, instance, before.as_ref());
                }
                self.counted(taken, |counters| &mut counters.registrations)
                    .unwrap_or(done)
            }
            Message::HeartBeat(beat) => {
                let before = self.profiles.beat(now, beat.instance, beat.load);
                let taken = before.map(|before| {
                    if before.is_some() {
                        let before = before.as_ref();
                        self.tell(now, Event::ProfileChanged, beat.instance, before);
                    }
                });
                self.counted(taken, |counters| &mut counters.heart_beats)
                    .unwrap_or(done)
            }
            Message::DeregisterNf(request) => {
                let gone = self.deregister(now, request.instance);
                self.counted(gone, |counters| &mut counters.deregistrations)
                    .unwrap_or(done)
            }
            Message::DiscoverNfs(request) => self.discover(&request.query),
            _ => Problem::Protocol.into(),
        }
    }

    /// Counts what was done; the answer if it was not.
    fn counted(
        &mut self,
        taken: Result<(), Problem>,
        counter: fn(&mut Counters) -> &mut u64,
    ) -> Option<Message> {
        match taken {
            Ok(()) => *counter(&mut self.counters) += 1,
            Err(Problem::ContextNotFound) => self.counters.unknown += 1,
            Err(_) => self.counters.no_room += 1,
        }
        taken.err().map(Message::from)
    }

    /// Heart-beats that should have come by now (TS 29.510, 5.2.2.3.2).
    fn watch(&mut self, now: Now, effects: &mut Vec<Effect>) {
        while let Some(mut profile) = self.profiles.take_overdue(now.instant) {
            let before = profile.clone();
            let is_suspended = profile.miss();
            let instance = profile.instance();
            match profile.kind().nf() {
                Some(nf) => *self.counters.missed.entry(nf).or_default() += 1,
                None => self.counters.others.missed += 1,
            }
            if profile.is_gone() {
                self.counters.forgotten += 1;
                effects.push(told(&profile, "it is forgotten"));
                self.tell(now, Event::Deregistered, instance, Some(&before));
                continue;
            }
            if is_suspended {
                self.counters.suspended += 1;
                effects.push(told(&profile, "it is suspended, and not discovered"));
            }
            self.profiles.put_back(profile);
            if is_suspended {
                self.tell(now, Event::ProfileChanged, instance, Some(&before));
            }
        }
    }
}

/// Instance as a message tells it.
fn flat(profile: &Profile) -> Found {
    Found {
        instance: profile.instance(),
        priority: profile.priority().into(),
        capacity: profile.capacity().into(),
        load: profile.load(),
    }
}

/// Operators are told of an instance that misses its heart-beats.
fn told(profile: &Profile, what: &str) -> Effect {
    let (kind, missed) = (profile.kind(), profile.missed);
    Effect::Refused(Box::new(Refused {
        who: format!("{kind} {}", profile.instance()),
        supi: None,
        request: "Registration at the NRF",
        cause: what.to_owned(),
        why: format!("{missed} of its heart-beats did not come"),
        remedy: "look at the function and at what is between it and the NRF; it is discovered again with its \
                 next heart-beat",
    }))
}

impl NetworkFunction for Nrf {
    fn handle(&mut self, now: Now, input: Input<'_>, effects: &mut Vec<Effect>) {
        match input {
            Input::Request { id, message } => {
                let message = self.request(now, &message).into();
                effects.push(Effect::Answer { id, message });
            }
            Input::Time => self.watch(now, effects),
            _ => {}
        }
    }

    fn next_deadline(&self) -> Instant {
        self.profiles.next_deadline()
    }

    fn identify(&mut self, instance: NfInstance) {
        self.instance = Some(instance);
    }
}
