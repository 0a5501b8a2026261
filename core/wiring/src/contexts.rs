//! Contexts of UEs and sessions that outlive the process: stored together before what follows from them
//! leaves, and taken up by the next core.

use std::collections::BTreeMap;

use sluice_core_host::{self as host, ContextStore, Host};
use sluice_ids::Supi;
use sluice_sbi::context_store::{Changes, ContextWriter, Reader, Stored, Writer};
use sluice_sbi::{INSTANCES, Nf, NfInstance, Now, Place};

use crate::{Apart, Core, Instances, Mobility, Sessions, StoreState};

/// Key of the start of the core.
const START: &[u8] = b"core/start";

/// Version of its form.
const VERSION: u8 = 1;

/// The start of a core, and those that it goes on from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Start {
    /// Seconds since 1970 when the first of them began: for UPFs it is the same SMF ever since.
    pub begun_unix_s: u64,
    /// How many there were, with this one.
    pub starts: u16,
}

impl Start {
    /// The start after those that are stored; the first if there is none.
    pub fn after(stored: &Stored, unix_s: u64) -> Self {
        match Self::of(stored) {
            Some(before) => Self {
                starts: before.starts.wrapping_add(1),
                ..before
            },
            None => Self {
                begun_unix_s: unix_s,
                starts: 1,
            },
        }
    }

    /// The last one that is stored.
    fn of(stored: &Stored) -> Option<Self> {
        let r = &mut Reader::new(VERSION, stored.get(START)?)?;
        let (begun_unix_s, starts) = (r.u64()?, r.u16()?);
        r.end().map(|()| Self {
            begun_unix_s,
            starts,
        })
    }

    fn octets(self) -> Vec<u8> {
        let mut w = Writer::new(VERSION);
        w.u64(self.begun_unix_s);
        w.u16(self.starts);
        w.finish()
    }
}

/// Key of the identity of a function.
fn instance_key(place: Place) -> Vec<u8> {
    format!("core/nf/{place}").into_bytes()
}

/// Identities that functions of a core before had.
fn stored_instances(stored: &Stored) -> Instances {
    let mut instances = Instances::default();
    let numbered = |nf| (0..INSTANCES).map(move |number| Place::from(nf).at(number));
    for place in Nf::ALL.into_iter().flat_map(numbered) {
        let read = |octets: &Vec<u8>| {
            let r = &mut Reader::new(VERSION, octets)?;
            let octets = r.flat::<[u8; 16]>()?;
            r.end()?;
            NfInstance::from_octets(octets)
        };
        if let Some(instance) = stored.get(&instance_key(place)).and_then(read) {
            instances.insert(place, instance);
        }
    }
    instances
}

/// Contexts that one program stores, be it the core's or another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// UEs, of the AMF.
    Mobility,
    /// Sessions, of SMF and PCF.
    Sessions,
    /// AMFs, SMFs and subscriptions of UEs, of the UDR.
    Repository,
}

impl Kind {
    /// Each of them.
    pub const ALL: [Self; 3] = [Self::Mobility, Self::Sessions, Self::Repository];

    /// Function that has them.
    pub fn function(self) -> Nf {
        match self {
            Self::Mobility => Nf::Amf,
            Self::Sessions => Nf::Smf,
            Self::Repository => Nf::Udr,
        }
    }

    /// Whether there are some.
    pub fn is_in(self, stored: &Stored) -> bool {
        stored.keys().any(|key| self.has(key))
    }

    fn has(self, key: &[u8]) -> bool {
        let forms: &[&[u8]] = match self {
            Self::Mobility => &[b"amf/"],
            Self::Sessions => &[b"smf/", b"pcf/"],
            Self::Repository => &[b"udr/"],
        };
        forms.iter().any(|form| key.starts_with(form))
    }
}

/// Contexts that move from one program's store to another's: what the other one takes, and what this one then leaves
/// out. For UPFs it is the same SMF as before, and no function gives a number that it has given before.
pub fn moved(kind: Kind, from: &Stored, to: &Stored) -> (Changes, Changes) {
    let moved = from.iter().filter(|(key, _)| kind.has(key));
    let mut taken: Changes = moved
        .map(|(key, value)| (key.clone(), Some(value.clone())))
        .collect();
    let left = taken.keys().map(|key| (key.clone(), None)).collect();
    if let (false, Some(start)) = (taken.is_empty(), Start::of(from)) {
        let other = Start::of(to);
        let starts = other.map_or(0, |other| other.starts);
        let begun_unix_s = match (kind, other) {
            (Kind::Mobility | Kind::Repository, Some(other)) => other.begun_unix_s,
            _ => start.begun_unix_s,
        };
        let start = Start {
            starts: start.starts.max(starts),
            begun_unix_s,
        };
        taken.insert(START.to_vec(), Some(start.octets()));
    }
    (taken, left)
}

/// Contexts that a core goes on with.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Resumed {
    /// Registered UEs.
    pub ues: usize,
    /// PDU sessions.
    pub sessions: usize,
}

/// Has contexts of a host's functions stored there from now on, and goes on with those that are stored. Once, before
/// anything else. An SMF must have been told of [`Start::begun_unix_s`].
pub fn resume<F: host::Functions + AsMut<Apart>>(
    host: &mut Host<F>,
    now: Now,
    start: Start,
    stored: &Stored,
    contexts: Box<dyn ContextWriter>,
) -> Resumed {
    store(host, start, contexts);
    let starts = start.starts;
    let ues = Mobility::from(&mut *host).take_up(now, starts, stored);
    let sessions = Sessions::from(&mut *host).take_up(now, starts, stored);
    Resumed { ues, sessions }
}

/// Contexts of a repository, which goes on with them once it is known which UEs an AMF has ([`crate::Repository::resume`]).
pub fn of_repository(stored: &Stored) -> Stored {
    let its = stored.iter().filter(|(key, _)| Kind::Repository.has(key));
    its.map(|(key, value)| (key.clone(), value.clone()))
        .collect()
}

fn store<F>(host: &mut Host<F>, start: Start, contexts: Box<dyn ContextWriter>)
where
    F: host::Functions,
{
    host.contexts.use_store(contexts);
    host.contexts.change(START, Some(&start.octets()));
}

impl<F: host::Functions + AsMut<Apart>> Sessions<'_, F> {
    pub(crate) fn take_up(&mut self, now: Now, starts: u16, stored: &Stored) -> usize {
        let all = || stored.iter().map(|(key, value)| (&**key, &**value));
        if let Some(pcf) = &mut self.0.functions.as_mut().pcf {
            pcf.resume(starts, all());
        }
        self.do_with(now, |smf, effects| {
            smf.resume(now, starts, all(), effects);
            smf.sessions()
        })
        .unwrap_or_default()
    }

    /// By what an AMF knows, contexts by their numbers and whether a gNB has them, SMF and PCF forget what it does not
    /// know. Gives numbers that this SMF does not know.
    pub fn reconcile(&mut self, now: Now, known: &BTreeMap<u64, bool>) -> Vec<u64> {
        let unknown = self.do_with(now, |smf, effects| smf.reconcile(now, known, effects));
        let unknown = unknown.unwrap_or_else(|| known.keys().copied().collect());
        let mut effects = Vec::new();
        let Apart { smf, pcf, .. } = self.0.functions.as_mut();
        if let Some(pcf) = pcf {
            let is_known = |number| smf.as_ref().is_some_and(|smf| smf.knows(number));
            pcf.reconcile(is_known, &mut effects);
        }
        self.0.follow(now, Nf::Pcf, effects);
        unknown
    }
}

impl Core {
    /// Has contexts stored there from now on, and goes on with those that are stored; with those of the repository when
    /// its AMF does, which [`Core::resume_repository`] tells of another host's. Once, before anything else. The SMF must
    /// have been told of [`Start::begun_unix_s`].
    pub fn resume(
        &mut self,
        now: Now,
        start: Start,
        stored: &Stored,
        contexts: Box<dyn ContextWriter>,
    ) -> Resumed {
        store(&mut self.host, start, contexts);
        // They register with them.
        self.keep_instances(stored);
        let ues = self.mobility().take_up(now, start.starts, stored);
        // Before sessions are given up, which SMFs tell the repository.
        self.repository = of_repository(stored);
        let mut removed = Vec::new();
        if !self.is_apart(Nf::Amf) && !self.is_apart(Nf::Udr) {
            let subscribers = self.mobility().subscribers();
            removed = self.resume_repository(&subscribers);
        }
        let sessions = self.sessions().take_up(now, start.starts, stored);
        if !self.is_apart(Nf::Smf) && !self.is_apart(Nf::Amf) {
            self.reconcile(now);
        }
        for supi in removed {
            self.mobility().deregister(now, &supi, false);
        }
        Resumed { ues, sessions }
    }

    /// The repository goes on with which AMF and SMFs have the UEs of these subscribers, which an AMF goes on with, and
    /// what these have subscribed to. Gives subscribers that were removed or barred meanwhile.
    pub fn resume_repository(&mut self, subscribers: &[Supi]) -> Vec<Supi> {
        let (guami, stored) = (self.guami, std::mem::take(&mut self.repository));
        self.repository().resume(guami, subscribers, &stored)
    }

    /// Gives all functions of the core, and these further instances of theirs, identities of `random` octets. Once, before
    /// anything else.
    pub fn identify(&mut self, further: &[Place], random: &mut dyn FnMut(&mut [u8])) {
        let all = Nf::ALL.into_iter().map(Place::from);
        for place in all.chain(further.iter().copied()) {
            let mut octets = [0; 16];
            random(&mut octets);
            let instance = NfInstance::random(octets);
            self.host.instances.insert(place, instance);
        }
    }

    /// Gives these instances identities of `random` octets, where they have none.
    pub fn identify_further(&mut self, places: &[Place], random: &mut dyn FnMut(&mut [u8])) {
        for place in places {
            if self.host.instances.of(*place).is_none() {
                let mut octets = [0; 16];
                random(&mut octets);
                let instance = NfInstance::random(octets);
                self.host.instances.insert(*place, instance);
                self.store_instance(*place, instance);
            }
        }
    }

    /// Gives instances these identities, which certificates name, in the place of others.
    pub fn identify_as(&mut self, identities: &[(Place, NfInstance)]) {
        for (place, instance) in identities {
            self.host.instances.insert(*place, *instance);
            self.store_instance(*place, *instance);
        }
    }

    fn store_instance(&mut self, place: Place, instance: NfInstance) {
        let mut w = Writer::new(VERSION);
        w.flat(&instance.octets());
        let (key, value) = (instance_key(place), w.finish());
        self.host.contexts.change(&key, Some(&value));
    }

    /// Functions go on with identities that are stored; those of others are stored from now on.
    fn keep_instances(&mut self, stored: &Stored) {
        for (place, instance) in stored_instances(stored).iter() {
            self.host.instances.insert(place, instance);
        }
        for (place, instance) in self.host.instances.clone().iter() {
            self.store_instance(place, instance);
        }
    }

    /// Identities of all functions of the core.
    pub fn instances(&self) -> &Instances {
        &self.host.instances
    }

    /// AMF, SMF and PCF know the same sessions: what one of them does not know is over.
    fn reconcile(&mut self, now: Now) {
        let known = self.mobility().known_sessions();
        let unknown = self.sessions().reconcile(now, &known);
        self.mobility().forget_sessions(now, &unknown);
    }

    /// Whether messages for gNBs and UPFs wait, be it for contexts that are being stored.
    pub fn has_more_to_send(&self) -> bool {
        self.host.has_more_to_send()
    }

    /// Stores what has changed at the end of the core, and waits for that.
    pub fn finish_contexts(&mut self) {
        self.host.finish_contexts();
    }

    /// Does what the store of contexts has to do by time; at least twice a second.
    pub fn tend_contexts(&mut self) {
        self.host.contexts.tend();
    }

    /// The store of contexts, for what else waits for it.
    pub fn contexts(&mut self) -> &mut ContextStore {
        &mut self.host.contexts
    }

    /// How often contexts could not be stored, and why the last time.
    pub fn contexts_failed(&self) -> (u64, Option<&str>) {
        self.host.contexts.failed_times()
    }

    /// How it is with the store of contexts; none if there is none.
    pub fn contexts_state(&self) -> Option<StoreState> {
        self.host.contexts.state()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_goes_on_from_the_one_before() {
        let first = Start::after(&Stored::new(), 1_000);
        assert_eq!((first.begun_unix_s, first.starts), (1_000, 1));
        let stored = Stored::from([(START.to_vec(), first.octets())]);
        let second = Start::after(&stored, 2_000);
        assert_eq!((second.begun_unix_s, second.starts), (1_000, 2));
        // Sessions that move take the start of their SMF with them.
        let mut from = Stored::from([(START.to_vec(), second.octets())]);
        let key = |text: &str| text.as_bytes().to_vec();
        from.insert(key("smf/session/1"), vec![1]);
        from.insert(key("amf/ue/1"), vec![2]);
        let later = Start {
            begun_unix_s: 3_000,
            starts: 9,
        };
        let to = Stored::from([(START.to_vec(), later.octets())]);
        let (taken, left) = moved(Kind::Sessions, &from, &to);
        let start = Start {
            begun_unix_s: 1_000,
            starts: 9,
        };
        let expected = Changes::from([
            (START.to_vec(), Some(start.octets())),
            (key("smf/session/1"), Some(vec![1])),
        ]);
        assert_eq!(taken, expected);
        assert_eq!(left, Changes::from([(key("smf/session/1"), None)]));
        assert!(moved(Kind::Sessions, &to, &from).0.is_empty());
        // Those of UEs leave the SMF as it was.
        let (taken, left) = moved(Kind::Mobility, &from, &to);
        let expected = Changes::from([
            (START.to_vec(), Some(later.octets())),
            (key("amf/ue/1"), Some(vec![2])),
        ]);
        assert_eq!(taken, expected);
        assert_eq!(left, Changes::from([(key("amf/ue/1"), None)]));
        // What cannot be read was never there.
        let cut = Stored::from([(START.to_vec(), first.octets()[1..].to_vec())]);
        assert_eq!(Start::after(&cut, 3_000).begun_unix_s, 3_000);
    }
}
