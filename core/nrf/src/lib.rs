//! Network repository function (TS 23.501, 6.2.6; TS 29.510): which network functions are there, what they
//! serve, and who is to do what is asked for.
//!
//! A function registers its profile and tells by heart-beats that it is there. One that misses them is
//! suspended, and not discovered; it is forgotten when it does not come back. [`Registration`] is the other
//! side: what one function does to be registered.
#![forbid(unsafe_code)]

mod matching;
mod profiles;
mod registration;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use sluice_sbi::{
    Done, Effect, Input, Instant, Message, NetworkFunction, Nf, NfRegistered, NfStatus,
    NfsDiscovered, NfsFound, Now, Problem, Refused,
};

pub use profiles::{PARTS, PROFILES, Profile};
pub use registration::Registration;

use profiles::Profiles;

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
}

/// The function.
#[derive(Debug, Default)]
pub struct Nrf {
    config: Config,
    profiles: Profiles,
    counters: Counters,
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

    fn request(&mut self, now: Now, message: &Message) -> Message {
        let done = Message::from(Done::ALL);
        match *message {
            Message::RegisterNf(request) => {
                let heart_beat_s = self.config.heart_beat_s;
                let taken = self.profiles.register(now, &request.profile, heart_beat_s);
                self.counted(taken, |counters| &mut counters.registrations)
                    .unwrap_or_else(|| {
                        let heart_beat_s = heart_beat_s.into();
                        NfRegistered { heart_beat_s }.into()
                    })
            }
            Message::ServeMore(request) => {
                let taken = self.profiles.serve_more(request.instance, request.served);
                self.counted(taken, |counters| &mut counters.registrations)
                    .unwrap_or(done)
            }
            Message::HeartBeat(beat) => {
                let taken = self.profiles.beat(now, beat.instance, beat.load);
                self.counted(taken, |counters| &mut counters.heart_beats)
                    .unwrap_or(done)
            }
            Message::DeregisterNf(request) => {
                let gone = self.profiles.remove(request.instance);
                let gone = gone.map(|_| ()).ok_or(Problem::ContextNotFound);
                self.counted(gone, |counters| &mut counters.deregistrations)
                    .unwrap_or(done)
            }
            Message::DiscoverNfs(request) => {
                let found = self.profiles.find(&request.query, self.config.validity_s);
                let results = match found.as_ref().map(NfsFound::all) {
                    Err(_) => &mut self.counters.forbidden,
                    Ok([]) => &mut self.counters.none,
                    Ok(_) => &mut self.counters.found,
                };
                *results.entry(request.query.target).or_default() += 1;
                found.map_or_else(Message::from, |found| NfsDiscovered { found }.into())
            }
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
            profile.missed += 1;
            let kind = profile.profile.kind;
            *self.counters.missed.entry(kind).or_default() += 1;
            if profile.missed >= FORGOTTEN_AFTER {
                self.counters.forgotten += 1;
                effects.push(told(&profile, "it is forgotten"));
                continue;
            }
            if profile.missed >= SUSPENDED_AFTER && profile.status == NfStatus::Registered {
                profile.status = NfStatus::Suspended;
                self.counters.suspended += 1;
                effects.push(told(&profile, "it is suspended, and not discovered"));
            }
            self.profiles.put_back(profile);
        }
    }
}

/// Operators are told of an instance that misses its heart-beats.
fn told(profile: &Profile, what: &str) -> Effect {
    let (kind, missed) = (profile.profile.kind, profile.missed);
    Effect::Refused(Box::new(Refused {
        who: format!("{kind} {}", profile.profile.instance),
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
}
