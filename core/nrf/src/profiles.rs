//! Profiles that an NRF keeps: bounded numbers of them, by instance and by when the next heart-beat is missed.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use sluice_ids::Plmn;
use sluice_sbi::{Instant, NfInstance, NfProfile, NfStatus, Now, Problem, Served};
use sluice_services::{nnrf, patch};

use crate::document::{Allowed, Facts};
use crate::nf_type::NfType;
use crate::part::{PARTS, Part};
use crate::{FORGOTTEN_AFTER, SUSPENDED_AFTER};

/// Most instances: those of a core, and as many others.
pub const PROFILES: usize = 1_024;

/// Most octets of a document.
pub const DOCUMENT_OCTETS: usize = 64 * 1_024;

/// Most octets of all documents.
pub const DOCUMENTS_OCTETS: usize = 16 * 1_024 * 1_024;

/// Form in which a profile was registered.
#[derive(Clone, Debug)]
enum Source {
    /// A message, and the parts that it had no room for.
    Message(Box<NfProfile>, Vec<Served>),
    /// A document in JSON, with members that are not known here.
    Document(String),
}

/// A profile, and how it stands.
#[derive(Clone, Debug)]
pub struct Profile {
    pub(crate) facts: Facts,
    source: Source,
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
    /// Of a message.
    pub(crate) fn of_message(now: Now, profile: &NfProfile, heart_beat_s: u16) -> Self {
        let facts = Facts {
            instance: profile.instance,
            kind: profile.kind.into(),
            is_registered: true,
            priority: profile.priority.get(),
            capacity: profile.capacity.get(),
            load: profile.load,
            plmns: profile.plmns().to_vec(),
            allowed: Allowed::from(&profile.allowed),
            parts: vec![profile.served.into()],
            services: nnrf::served(profile.kind)
                .iter()
                .map(|(name, _)| crate::document::Service::new(name))
                .collect(),
            subscribers: Vec::new(),
            amf: crate::document::AmfNames::default(),
            locality: None,
        };
        let source = Source::Message(Box::new(*profile), vec![profile.served]);
        Self::new(now, facts, source, heart_beat_s)
    }

    /// Of a document that was read.
    pub(crate) fn of_document(now: Now, facts: Facts, document: &Value, heart_beat_s: u16) -> Self {
        let source = Source::Document(document.to_string());
        Self::new(now, facts, source, heart_beat_s)
    }

    fn new(now: Now, facts: Facts, source: Source, heart_beat_s: u16) -> Self {
        Self {
            status: if facts.is_registered {
                NfStatus::Registered
            } else {
                NfStatus::Suspended
            },
            facts,
            source,
            heard: now,
            heart_beat_ms: u64::from(heart_beat_s) * 1_000,
            missed: 0,
        }
    }

    /// Identity.
    pub fn instance(&self) -> NfInstance {
        self.facts.instance
    }

    /// Type.
    pub fn kind(&self) -> &NfType {
        &self.facts.kind
    }

    /// PLMNs in which it serves; none are all.
    pub fn plmns(&self) -> &[Plmn] {
        &self.facts.plmns
    }

    /// Consumers that may discover it.
    pub fn allowed(&self) -> &Allowed {
        &self.facts.allowed
    }

    /// All that it serves, in parts.
    pub fn parts(&self) -> &[Part] {
        &self.facts.parts
    }

    /// The one with the lowest is taken first.
    pub fn priority(&self) -> u16 {
        self.facts.priority
    }

    /// Weight among those of a priority.
    pub fn capacity(&self) -> u16 {
        self.facts.capacity
    }

    /// Percent of what it can take, as its last heart-beat tells.
    pub fn load(&self) -> u8 {
        self.facts.load
    }

    /// Seconds between its heart-beats; 0 for none.
    pub(crate) fn heart_beat_s(&self) -> u64 {
        self.heart_beat_ms / 1_000
    }

    /// Document as it is now, with all members that it was registered with. One that has registered by messages is of the NRF's own
    /// program, and serves at its API root.
    pub fn document(&self, root: &str) -> Value {
        let root = Some(root).filter(|root| !root.is_empty());
        let mut document = match &self.source {
            Source::Message(profile, parts) => nnrf::document(profile, parts, root, None),
            Source::Document(text) => serde_json::from_str(text).unwrap_or_default(),
        };
        let Some(members) = document.as_object_mut() else {
            return document;
        };
        // One that has suspended itself tells so by its own word.
        if self.status == NfStatus::Suspended && self.facts.is_registered {
            members.insert("nfStatus".to_owned(), self.status.name().into());
        }
        if self.heart_beat_ms > 0 {
            members.insert("heartBeatTimer".to_owned(), self.heart_beat_s().into());
        }
        if self.facts.load > 0 || members.contains_key("load") {
            members.insert("load".to_owned(), self.facts.load.into());
        }
        document
    }

    /// Takes a further part of what it serves.
    fn serve_more(&mut self, served: Served) -> Result<(), Problem> {
        let text = match &mut self.source {
            Source::Message(_, parts) => {
                parts.push(served);
                self.facts.parts.push(served.into());
                return Ok(());
            }
            Source::Document(text) => text,
        };
        let nf = self.facts.kind.nf().ok_or(Problem::Protocol)?;
        let mut document = serde_json::from_str(text).unwrap_or_default();
        let operations = nnrf::more(nf, &served).into();
        let patched = patch::apply(&mut document, &operations);
        patched.map_err(|_| Problem::Protocol)?;
        let patched = document.to_string();
        if patched.len() > DOCUMENT_OCTETS {
            return Err(Problem::NoResources);
        }
        let facts = Facts::read(&document).map_err(|_| Problem::Protocol)?;
        (*text, self.facts) = (patched, facts);
        Ok(())
    }

    /// Heard of: it is there, with so much load.
    fn beat(&mut self, now: Now, load: u8) {
        self.facts.load = load.min(100);
        (self.heard, self.missed) = (now, 0);
        if self.facts.is_registered {
            self.status = NfStatus::Registered;
        }
    }

    /// A heart-beat did not come; whether the instance is suspended by that.
    pub(crate) fn miss(&mut self) -> bool {
        self.missed += 1;
        let is_due = self.missed >= SUSPENDED_AFTER && self.status == NfStatus::Registered;
        if is_due {
            self.status = NfStatus::Suspended;
        }
        is_due
    }

    /// Whether so many did not come that it is forgotten.
    pub(crate) fn is_gone(&self) -> bool {
        self.missed >= FORGOTTEN_AFTER
    }

    fn octets(&self) -> usize {
        match &self.source {
            Source::Message(..) => 0,
            Source::Document(text) => text.len(),
        }
    }

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
    octets: usize,
}

impl Profiles {
    /// All of them, by instance.
    pub fn all(&self) -> impl Iterator<Item = &Profile> {
        self.by_instance.values()
    }

    /// That of an instance.
    pub fn get(&self, instance: NfInstance) -> Option<&Profile> {
        self.by_instance.get(&instance)
    }

    /// NFRegister (TS 29.510, 5.2.2.2): a profile in the place of the one of before, which is given back.
    pub fn register(&mut self, profile: Profile) -> Result<Option<Profile>, Problem> {
        let before = self.remove(profile.instance());
        let has_room = self.by_instance.len() < PROFILES
            && self.parts + profile.parts().len() <= PARTS
            && self.octets + profile.octets() <= DOCUMENTS_OCTETS;
        if has_room {
            self.put_back(profile);
            return Ok(before);
        }
        if let Some(before) = before {
            self.put_back(before);
        }
        Err(Problem::NoResources)
    }

    /// NFUpdate: a further part of what an instance serves.
    pub fn serve_more(&mut self, instance: NfInstance, served: Served) -> Result<(), Problem> {
        let has_room = self.parts < PARTS;
        let known = self.by_instance.get_mut(&instance);
        let known = known.ok_or(Problem::ContextNotFound)?;
        if !has_room {
            return Err(Problem::NoResources);
        }
        let (parts, octets) = (known.parts().len(), known.octets());
        let taken = known.serve_more(served);
        self.parts = self.parts - parts + known.parts().len();
        self.octets = self.octets - octets + known.octets();
        taken
    }

    /// NFUpdate: an instance is there, with so much load (TS 29.510, 5.2.2.3.2); how it stood before.
    pub fn beat(
        &mut self,
        now: Now,
        instance: NfInstance,
        load: u8,
    ) -> Result<Option<Profile>, Problem> {
        let known = self.remove(instance);
        let mut profile = known.ok_or(Problem::ContextNotFound)?;
        let before = (profile.status == NfStatus::Suspended).then(|| profile.clone());
        profile.beat(now, load);
        self.put_back(profile);
        Ok(before)
    }

    /// Keeps a profile of an instance that has none.
    pub fn put_back(&mut self, profile: Profile) {
        let instance = profile.instance();
        self.overdue.insert((profile.overdue(), instance));
        self.parts += profile.parts().len();
        self.octets += profile.octets();
        self.by_instance.insert(instance, profile);
    }

    /// The instance is not known any more; its profile.
    pub fn remove(&mut self, instance: NfInstance) -> Option<Profile> {
        let profile = self.by_instance.remove(&instance)?;
        self.overdue.remove(&(profile.overdue(), instance));
        self.parts -= profile.parts().len();
        self.octets -= profile.octets();
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
