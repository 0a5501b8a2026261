//! What a network function does to be known at the NRF: it registers, tells by heart-beats that it is there,
//! registers anew when the NRF has forgotten it, and deregisters when it goes.

use sluice_sbi::{
    DeregisterNf, Done, HeartBeat, Instant, Message, NfInstance, NfProfile, NfRegistered, Now,
    Problem, RegisterNf, ServeMore, Served, server,
};

/// What is to be said next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Next {
    Register,
    /// The part of the profile of this number.
    Part(usize),
    HeartBeat,
    Deregister,
    Nothing,
}

/// A network function's registration.
#[derive(Debug)]
pub struct Registration {
    profile: NfProfile,
    /// Parts beyond the first, which is in the profile.
    parts: Vec<Served>,
    next: Next,
    due: Instant,
    /// Whether an answer is waited for, until it is due again.
    is_asked: bool,
    /// Milliseconds between heart-beats; 0 for none.
    heart_beat_ms: u64,
    began: Instant,
}

impl Registration {
    /// Of a profile and the parts of it that its message has no room for; it registers at once.
    pub fn new(profile: NfProfile, parts: Vec<Served>) -> Self {
        Self {
            profile,
            parts,
            next: Next::Register,
            due: Instant(0),
            is_asked: false,
            heart_beat_ms: 0,
            began: Instant(0),
        }
    }

    /// Who it is.
    pub fn instance(&self) -> NfInstance {
        self.profile.instance
    }

    /// It serves something else: the NRF is told at once (NFUpdate by a whole profile: TS 29.510, 5.2.2.3.1).
    pub fn change(&mut self, profile: NfProfile, parts: Vec<Served>) {
        if (&profile, &parts) != (&self.profile, &self.parts) {
            *self = Self::new(profile, parts);
        }
    }

    /// It goes.
    pub fn leave(&mut self) {
        (self.next, self.due, self.is_asked) = (Next::Deregister, Instant(0), false);
    }

    /// When [`Registration::say`] is due.
    pub fn due(&self) -> Instant {
        self.due
    }

    /// What is to be said now, if anything; `load` is percent of what the function can take.
    pub fn say(&mut self, now: Now, load: u8) -> Option<Message> {
        if self.due > now.instant {
            return None;
        }
        let instance = self.profile.instance;
        let message = match self.next {
            Next::Register => RegisterNf {
                profile: self.profile.with_load(load),
            }
            .into(),
            Next::Part(at) => {
                let served = *self.parts.get(at)?;
                ServeMore { instance, served }.into()
            }
            Next::HeartBeat => HeartBeat { instance, load }.into(),
            Next::Deregister => DeregisterNf { instance }.into(),
            Next::Nothing => return None,
        };
        self.is_asked = true;
        self.began = now.instant;
        // Without an answer it is said again.
        self.due = now.instant.plus_ms(server::CALL_MS);
        Some(message)
    }

    /// The NRF's answer.
    pub fn heard(&mut self, message: Message) {
        if !std::mem::take(&mut self.is_asked) {
            return;
        }
        let done = |message: Message| message.answer_to::<HeartBeat>().map(|_: Done| ());
        let taken = match self.next {
            Next::Register => match message.answer_to::<RegisterNf>() {
                Ok(NfRegistered { heart_beat_s }) => {
                    self.heart_beat_ms = u64::from(heart_beat_s.get()) * 1_000;
                    Ok(())
                }
                Err(problem) => Err(problem),
            },
            _ => done(message),
        };
        match (taken, self.next) {
            (Ok(()), Next::Register) => self.go_on(0),
            (Ok(()), Next::Part(at)) => self.go_on(at + 1),
            (Ok(()), Next::HeartBeat) => self.rest(),
            (_, Next::Deregister | Next::Nothing) => {
                (self.next, self.due) = (Next::Nothing, Instant::NEVER);
            }
            // The NRF has been restarted, or has missed it for too long.
            (Err(Problem::ContextNotFound), Next::Part(_) | Next::HeartBeat) => {
                (self.next, self.due) = (Next::Register, self.began);
            }
            // There is no room, or too much to do: once more when that was waited for.
            (Err(_), _) => {}
        }
    }

    /// The parts from this one on are to be told.
    fn go_on(&mut self, part: usize) {
        if part < self.parts.len() {
            (self.next, self.due) = (Next::Part(part), self.began);
        } else {
            self.rest();
        }
    }

    /// Nothing is to be said until the next heart-beat.
    fn rest(&mut self) {
        self.next = Next::HeartBeat;
        self.due = match self.heart_beat_ms {
            0 => Instant::NEVER,
            ms => self.began.plus_ms(ms),
        };
    }
}
