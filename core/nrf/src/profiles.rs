//! Profiles that an NRF keeps: bounded numbers of them, by instance and by when the next heart-beat is missed.

use std::collections::{BTreeMap, BTreeSet};

use sluice_sbi::{Instant, NfInstance, NfProfile, NfStatus, Now, Problem, Served};

/// Most instances: those of a core, and as many others.
pub const PROFILES: usize = 1_024;

/// Most parts of all their profiles: at a kilobyte for each they take 8 MiB.
pub const PARTS: usize = 8_192;

/// A profile, and how it stands.
#[derive(Clone, Debug)]
pub struct Profile {
    /// As it was registered, with the load of the last heart-beat.
    pub profile: NfProfile,
    /// All that it serves, in parts.
    pub served: Vec<Served>,
    /// Whether it is discovered.
    pub status: NfStatus,
    /// When it was heard of last.
    pub heard: Now,
    /// Milliseconds between its heart-beats; 0 for none.
    pub heart_beat_ms: u64,
    /// Heart-beats that did not come since it was heard of last.
    pub missed: u32,
}

impl Profile {
    /// When the next heart-beat is missed: half an interval after it is due.
    fn overdue(&self) -> Instant {
        match self.heart_beat_ms {
            0 => Instant::NEVER,
            ms => {
                let intervals = u64::from(self.missed) + 1;
                self.heard.instant.plus_ms(intervals * ms + ms / 2)
            }
        }
    }
}

/// Profiles.
#[derive(Debug, Default)]
pub(crate) struct Profiles {
    by_instance: BTreeMap<NfInstance, Profile>,
    overdue: BTreeSet<(Instant, NfInstance)>,
    parts: usize,
}

impl Profiles {
    /// All of them, by instance.
    pub fn all(&self) -> impl Iterator<Item = &Profile> {
        self.by_instance.values()
    }

    /// NFRegister (TS 29.510, 5.2.2.2): a profile in the place of the one of before.
    pub fn register(
        &mut self,
        now: Now,
        profile: &NfProfile,
        heart_beat_s: u16,
    ) -> Result<(), Problem> {
        self.remove(profile.instance);
        if self.by_instance.len() >= PROFILES || self.parts >= PARTS {
            return Err(Problem::NoResources);
        }
        self.put_back(Profile {
            profile: *profile,
            served: vec![profile.served],
            status: NfStatus::Registered,
            heard: now,
            heart_beat_ms: u64::from(heart_beat_s) * 1_000,
            missed: 0,
        });
        Ok(())
    }

    /// NFUpdate: a further part of what an instance serves.
    pub fn serve_more(&mut self, instance: NfInstance, served: Served) -> Result<(), Problem> {
        let has_room = self.parts < PARTS;
        let known = self.by_instance.get_mut(&instance);
        let known = known.ok_or(Problem::ContextNotFound)?;
        if !has_room {
            return Err(Problem::NoResources);
        }
        known.served.push(served);
        self.parts += 1;
        Ok(())
    }

    /// NFUpdate: an instance is there, with so much load (TS 29.510, 5.2.2.3.2).
    pub fn beat(&mut self, now: Now, instance: NfInstance, load: u8) -> Result<(), Problem> {
        let known = self.remove(instance);
        let mut profile = known.ok_or(Problem::ContextNotFound)?;
        profile.profile.load = load.min(100);
        (profile.status, profile.heard, profile.missed) = (NfStatus::Registered, now, 0);
        self.put_back(profile);
        Ok(())
    }

    /// Keeps a profile of an instance that has none.
    pub fn put_back(&mut self, profile: Profile) {
        let instance = profile.profile.instance;
        self.overdue.insert((profile.overdue(), instance));
        self.parts += profile.served.len();
        self.by_instance.insert(instance, profile);
    }

    /// The instance is not known any more; its profile.
    pub fn remove(&mut self, instance: NfInstance) -> Option<Profile> {
        let profile = self.by_instance.remove(&instance)?;
        self.overdue.remove(&(profile.overdue(), instance));
        self.parts -= profile.served.len();
        Some(profile)
    }

    /// The profile whose next heart-beat is missed by now, taken out.
    pub fn take_overdue(&mut self, now: Instant) -> Option<Profile> {
        let (at, instance) = *self.overdue.first()?;
        (at <= now && at != Instant::NEVER).then_some(())?;
        self.remove(instance)
    }

    /// When the next heart-beat is missed.
    pub fn next_deadline(&self) -> Instant {
        let first = self.overdue.first();
        first.map_or(Instant::NEVER, |(at, _)| *at)
    }
}
