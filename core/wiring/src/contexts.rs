//! Contexts of UEs and sessions that outlive the process: stored together before what follows from them
//! leaves, and taken up by the next core.

use std::collections::{BTreeMap, BTreeSet};

use sluice_core_host as host;
use sluice_ids::Supi;
use sluice_sbi::context_store::{Changes, Contexts, Reader, Stored, Writer};
use sluice_sbi::{Nf, NfInstance, Now};

use crate::{Apart, Core, Instances, Sessions, StoreState};

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
fn instance_key(nf: Nf) -> Vec<u8> {
    format!("core/nf/{nf}").into_bytes()
}

/// Identities that functions of a core before had.
fn stored_instances(stored: &Stored) -> Instances {
    let mut instances = Instances::default();
    for nf in Nf::ALL {
        let read = |octets: &Vec<u8>| {
            let r = &mut Reader::new(VERSION, octets)?;
            let octets = r.flat::<[u8; 16]>()?;
            r.end()?;
            NfInstance::from_octets(octets)
        };
        if let Some(instance) = stored.get(&instance_key(nf)).and_then(read) {
            instances.insert(nf, instance);
        }
    }
    instances
}

/// Contexts that the program with the SMF stores, be it the core's or its own.
const OF_SESSIONS: [&[u8]; 2] = [b"smf/", b"pcf/"];

/// Contexts of sessions that move from one program's store to another's: what the other one takes, and what this one then
/// leaves out. For UPFs it is the same SMF as before, and it gives no number that any of them has given.
pub fn move_sessions(from: &Stored, to: &Stored) -> (Changes, Changes) {
    let moves = |key: &Vec<u8>| OF_SESSIONS.iter().any(|form| key.starts_with(form));
    let moved = from.iter().filter(|(key, _)| moves(key));
    let mut taken: Changes = moved
        .map(|(key, value)| (key.clone(), Some(value.clone())))
        .collect();
    let left = taken.keys().map(|key| (key.clone(), None)).collect();
    if let (false, Some(start)) = (taken.is_empty(), Start::of(from)) {
        let starts = Start::of(to).map_or(0, |other| other.starts);
        let start = Start {
            starts: start.starts.max(starts),
            ..start
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

impl<F: host::Functions + AsMut<Apart>> Sessions<'_, F> {
    /// Has contexts stored there from now on, and goes on with sessions that are stored, and with their policies; how
    /// many. Once, before anything else. The SMF must have been told of [`Start::begun_unix_s`].
    pub fn resume(
        &mut self,
        now: Now,
        start: Start,
        stored: &Stored,
        contexts: Box<dyn Contexts>,
    ) -> usize {
        self.0.contexts.use_store(contexts);
        self.0.contexts.change(START, Some(&start.octets()));
        self.take_up(now, start.starts, stored)
    }

    fn take_up(&mut self, now: Now, starts: u16, stored: &Stored) -> usize {
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
    /// Has contexts stored there from now on, and goes on with those that are stored. Once, before
    /// anything else. The SMF must have been told of [`Start::begun_unix_s`].
    pub fn resume(
        &mut self,
        now: Now,
        start: Start,
        stored: &Stored,
        contexts: Box<dyn Contexts>,
    ) -> Resumed {
        self.host.contexts.use_store(contexts);
        self.host.contexts.change(START, Some(&start.octets()));
        let all = || stored.iter().map(|(key, value)| (&**key, &**value));
        let starts = start.starts;
        self.keep_instances(stored);
        let ues = self.host.functions.amf.resume(now, starts, all());
        self.forget_ues(stored);
        // Before sessions are given up, which SMFs tell the repository.
        let removed = self.resume_repository(stored);
        let sessions = self.sessions().take_up(now, starts, stored);
        if !self.is_apart(Nf::Smf) {
            self.reconcile(now);
        }
        for supi in removed {
            self.deregister(now, &supi, false);
        }
        Resumed { ues, sessions }
    }

    /// The repository goes on with which AMF and SMFs have the UEs that the AMF goes on with, and what these have
    /// subscribed to. Gives subscribers that were removed meanwhile.
    fn resume_repository(&mut self, stored: &Stored) -> Vec<Supi> {
        let functions = &mut self.host.functions;
        let guami = functions.amf.guami();
        let mut removed = Vec::new();
        for supi in functions.amf.subscribers() {
            functions.udr.resume_amf(&supi, guami);
            if functions.udr.amf_of(&supi).is_none() {
                removed.push(supi);
            }
        }
        let all = stored.iter().map(|(key, value)| (&**key, &**value));
        for key in functions.udr.resume_contexts(all) {
            self.host.contexts.change(&key, None);
        }
        removed
    }

    /// Gives all functions of the core identities of `random` octets. Once, before anything else.
    pub fn identify(&mut self, random: &mut dyn FnMut(&mut [u8])) {
        for nf in Nf::ALL {
            let mut octets = [0; 16];
            random(&mut octets);
            self.host.instances.insert(nf, NfInstance::random(octets));
        }
    }

    /// Functions go on with identities that are stored; those of others are stored from now on.
    fn keep_instances(&mut self, stored: &Stored) {
        for (nf, instance) in stored_instances(stored).iter() {
            self.host.instances.insert(nf, instance);
        }
        for (nf, instance) in self.host.instances.iter() {
            let mut w = Writer::new(VERSION);
            w.flat(&instance.octets());
            let value = w.finish();
            self.host.contexts.change(&instance_key(nf), Some(&value));
        }
    }

    /// Identities of all functions of the core.
    pub fn instances(&self) -> &Instances {
        &self.host.instances
    }

    /// UEs that the AMF does not go on with: nobody else would delete what is stored of them, and an AMF that has
    /// their names again some day would go on with counts of NAS that were used since.
    fn forget_ues(&mut self, stored: &Stored) {
        for key in stored.keys() {
            let mut forms = [&b"amf/ue/"[..], b"amf/radio/"].into_iter();
            let Some(digits) = forms.find_map(|form| key.strip_prefix(form)) else {
                continue;
            };
            let supi = str::from_utf8(digits).ok().and_then(Supi::from_imsi);
            if supi.is_none_or(|supi| self.host.functions.amf.ue(&supi).is_none()) {
                self.host.contexts.change(key, None);
            }
        }
    }

    /// AMF, SMF and PCF know the same sessions: what one of them does not know is over.
    fn reconcile(&mut self, now: Now) {
        let known = self.known_sessions();
        let unknown = self.sessions().reconcile(now, &known);
        self.forget_sessions(now, &unknown);
    }

    /// Sessions that the AMF knows, by the SMF's numbers, and whether a gNB has them.
    pub fn known_sessions(&self) -> BTreeMap<u64, bool> {
        let known = self.host.functions.amf.known_sessions();
        known.iter().map(|one| (one.context, one.is_up)).collect()
    }

    /// The AMF forgets sessions that the SMF does not know; their UEs learn it by the status of their sessions.
    pub fn forget_sessions(&mut self, now: Now, unknown: &[u64]) {
        let unknown: BTreeSet<u64> = unknown.iter().copied().collect();
        let known = self.host.functions.amf.known_sessions();
        let mut effects = Vec::new();
        for one in known.iter().filter(|one| unknown.contains(&one.context)) {
            self.host
                .functions
                .amf
                .forget_session(now, one, &mut effects);
        }
        self.follow(now, Nf::Amf, effects);
    }

    /// Does what the store of contexts has to do by time; at least twice a second.
    pub fn tend_contexts(&mut self) {
        self.host.contexts.tend();
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
        let (taken, left) = move_sessions(&from, &to);
        let moved = Start {
            begun_unix_s: 1_000,
            starts: 9,
        };
        let expected = Changes::from([
            (START.to_vec(), Some(moved.octets())),
            (key("smf/session/1"), Some(vec![1])),
        ]);
        assert_eq!(taken, expected);
        assert_eq!(left, Changes::from([(key("smf/session/1"), None)]));
        assert!(move_sessions(&to, &from).0.is_empty());
        // What cannot be read was never there.
        let cut = Stored::from([(START.to_vec(), first.octets()[1..].to_vec())]);
        assert_eq!(Start::after(&cut, 3_000).begun_unix_s, 3_000);
    }
}
