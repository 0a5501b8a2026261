//! Contexts of UEs and sessions that outlive the process: stored together before what follows from them
//! leaves, and taken up by the next core.

use std::collections::BTreeSet;

use sluice_ids::Supi;
use sluice_sbi::Now;
use sluice_sbi::context_store::{Changes, Contexts, Reader, StoreFailure, Stored, Writer};

use crate::Core;

/// Where the start of the core is stored.
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
        let before = stored.get(START).and_then(|octets| {
            let r = &mut Reader::new(VERSION, octets)?;
            let before = (r.u64()?, r.u16()?);
            r.end().map(|()| before)
        });
        match before {
            Some((begun_unix_s, starts)) => Self {
                begun_unix_s,
                starts: starts.wrapping_add(1),
            },
            None => Self {
                begun_unix_s: unix_s,
                starts: 1,
            },
        }
    }

    fn octets(self) -> Vec<u8> {
        let mut w = Writer::new(VERSION);
        w.u64(self.begun_unix_s);
        w.u16(self.starts);
        w.finish()
    }
}

/// What a core goes on with.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Resumed {
    /// Registered UEs.
    pub ues: usize,
    /// PDU sessions.
    pub sessions: usize,
}

/// How it is with the store of contexts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StoreState {
    /// It has all that there is, and is this core's.
    pub is_up: bool,
    /// How often contexts could not be stored as they should be.
    pub failures: u64,
    /// Contexts that wait for it.
    pub pending: usize,
}

/// What is stored, and what is to be.
#[derive(Default)]
pub(crate) struct ContextStore {
    to: Option<Box<dyn Contexts>>,
    changes: Changes,
    /// The last attempt has failed: what is stored is not what there is.
    is_behind: bool,
    /// Another core has them now.
    is_over: bool,
    failures: u64,
    last_failure: Option<String>,
}

impl ContextStore {
    /// Whether contexts are stored for a later core.
    pub(crate) fn is_used(&self) -> bool {
        self.to.is_some()
    }

    pub(crate) fn change(&mut self, key: &[u8], value: Option<&Vec<u8>>) {
        let is_context = [&b"amf/"[..], b"smf/", b"pcf/", b"core/"]
            .iter()
            .any(|of| key.starts_with(of));
        let Some(to) = self.to.as_ref().filter(|_| is_context && !self.is_over) else {
            return;
        };
        // What came and went while the store was away was never there.
        if value.is_none() && !to.may_have(key) {
            self.changes.remove(key);
        } else {
            self.changes.insert(key.to_vec(), value.cloned());
        }
    }

    /// Stores what has changed. What cannot be stored is tried again, after a pause; also if all of that came and
    /// went, so that the store learns that it has all again.
    pub(crate) fn flush(&mut self) {
        let is_due = !self.is_over && (self.is_behind || !self.changes.is_empty());
        let Some(to) = self.to.as_mut().filter(|to| is_due && !to.is_paused()) else {
            return;
        };
        match to.put(&self.changes) {
            Ok(()) => {
                self.is_behind = false;
                self.changes.clear();
            }
            Err(why) => {
                // Those that are not stored go with the next ones.
                if !matches!(why, StoreFailure::NotStored(_)) {
                    self.is_behind = false;
                    self.changes.clear();
                }
                self.failed(&why);
            }
        }
    }

    fn tend(&mut self) {
        let Some(to) = self.to.as_mut().filter(|_| !self.is_over) else {
            return;
        };
        if let Err(why) = to.tend() {
            self.failed(&why);
        }
    }

    fn failed(&mut self, why: &StoreFailure) {
        self.failures += 1;
        self.last_failure = Some(why.why().to_owned());
        self.is_behind |= matches!(why, StoreFailure::NotStored(_));
        self.is_over |= matches!(why, StoreFailure::NoLongerOurs(_));
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
        self.contexts.to = Some(contexts);
        self.contexts.change(START, Some(&start.octets()));
        let all = || stored.iter().map(|(key, value)| (&**key, &**value));
        let starts = start.starts;
        if let Some(pcf) = &mut self.pcf {
            pcf.resume(starts, all());
        }
        let ues = self.amf.resume(now, starts, all());
        self.forget_ues(stored);
        let mut effects = Vec::new();
        if let Some(smf) = &mut self.smf {
            smf.resume(now, starts, all(), &mut effects);
        }
        self.follow(now, sluice_sbi::Nf::Smf, effects);
        self.reconcile(now);
        let guami = self.amf.guami();
        for supi in self.amf.subscribers() {
            self.udr.resume_amf(&supi, guami);
            // One that was removed meanwhile.
            if self.udr.amf_of(&supi).is_none() {
                self.deregister(now, &supi, false);
            }
        }
        let sessions = self.smf.as_ref().map_or(0, sluice_smf::Smf::sessions);
        Resumed { ues, sessions }
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
            if supi.is_none_or(|supi| self.amf.ue(&supi).is_none()) {
                self.contexts.change(key, None);
            }
        }
    }

    /// AMF, SMF and PCF know the same sessions: what one of them does not know is over.
    fn reconcile(&mut self, now: Now) {
        let known = self.amf.known_sessions();
        let by_context = known.iter().map(|one| (one.context, one.is_up)).collect();
        let mut effects = Vec::new();
        let unknown: BTreeSet<u64> = match &mut self.smf {
            Some(smf) => smf
                .reconcile(now, &by_context, &mut effects)
                .into_iter()
                .collect(),
            None => by_context.into_keys().collect(),
        };
        self.follow(now, sluice_sbi::Nf::Smf, effects);
        let mut effects = Vec::new();
        for one in known.iter().filter(|one| unknown.contains(&one.context)) {
            self.amf.forget_session(now, one, &mut effects);
        }
        self.follow(now, sluice_sbi::Nf::Amf, effects);
        let mut effects = Vec::new();
        let smf = self.smf.as_ref();
        if let Some(pcf) = &mut self.pcf {
            let is_known = |number| smf.is_some_and(|smf| smf.knows(number));
            pcf.reconcile(is_known, &mut effects);
        }
        self.follow(now, sluice_sbi::Nf::Pcf, effects);
    }

    /// Does what the store of contexts has to do by time; at least twice a second.
    pub fn tend_contexts(&mut self) {
        self.contexts.tend();
    }

    /// How often contexts could not be stored, and why the last time.
    pub fn contexts_failed(&self) -> (u64, Option<&str>) {
        let store = &self.contexts;
        (store.failures, store.last_failure.as_deref())
    }

    /// How it is with the store of contexts; none if there is none.
    pub fn contexts_state(&self) -> Option<StoreState> {
        let store = &self.contexts;
        store.is_used().then_some(StoreState {
            is_up: !store.is_behind && !store.is_over,
            failures: store.failures,
            pending: store.changes.len(),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::cell::{Cell, RefCell};
    use std::rc::Rc;

    use super::*;

    /// A store that can be away.
    #[derive(Clone, Default)]
    struct Away {
        is_away: Rc<Cell<bool>>,
        is_paused: Rc<Cell<bool>>,
        stored: Rc<RefCell<Stored>>,
    }

    impl Contexts for Away {
        fn put(&mut self, changes: &Changes) -> Result<(), StoreFailure> {
            if self.is_away.get() {
                return Err(StoreFailure::NotStored("away".to_owned()));
            }
            for (key, value) in changes.clone() {
                match value {
                    Some(value) => drop(self.stored.borrow_mut().insert(key, value)),
                    None => drop(self.stored.borrow_mut().remove(&key)),
                }
            }
            Ok(())
        }

        fn may_have(&self, key: &[u8]) -> bool {
            self.stored.borrow().contains_key(key)
        }

        fn is_paused(&self) -> bool {
            self.is_paused.get()
        }
    }

    #[test]
    fn what_waits_for_a_store_that_is_away_is_bounded() {
        let away = Away::default();
        let mut store = ContextStore {
            to: Some(Box::new(away.clone())),
            ..ContextStore::default()
        };
        let key = |number: u32| format!("smf/session/{number:08x}").into_bytes();
        let value = vec![7; 100];
        for number in 0..10 {
            store.change(&key(number), Some(&value));
        }
        store.flush();
        away.is_away.set(true);
        // Sessions come and go for long, each with a number of its own, and two stay.
        for number in 10..10_000 {
            store.change(&key(number), Some(&value));
            store.flush();
            if number > 11 {
                store.change(&key(number), None);
                store.flush();
            }
            assert!(store.changes.len() <= 3, "{}", store.changes.len());
        }
        // What was stored is deleted, however long that takes.
        store.change(&key(3), None);
        store.flush();
        assert_eq!(store.changes.len(), 3);
        away.is_away.set(false);
        store.flush();
        assert!(store.changes.is_empty());
        let left: Vec<Vec<u8>> = away.stored.borrow().keys().cloned().collect();
        let expected: Vec<Vec<u8>> = (0..12).filter(|one| *one != 3).map(key).collect();
        assert_eq!(left, expected);
    }

    #[test]
    fn a_store_is_up_again_when_it_has_all() {
        let away = Away::default();
        let mut store = ContextStore {
            to: Some(Box::new(away.clone())),
            ..ContextStore::default()
        };
        away.is_away.set(true);
        store.change(b"smf/1", Some(&vec![1]));
        store.flush();
        store.flush();
        assert_eq!((store.is_behind, store.failures), (true, 2));
        // It is not tried while it pauses.
        away.is_paused.set(true);
        store.flush();
        assert_eq!((store.is_behind, store.failures), (true, 2));
        away.is_paused.set(false);
        // Nothing waits any more, and the store still has to hear so.
        store.change(b"smf/1", None);
        assert!(store.changes.is_empty());
        store.flush();
        assert_eq!((store.is_behind, store.failures), (true, 3));
        away.is_away.set(false);
        store.flush();
        assert!(!store.is_behind);
    }

    #[test]
    fn a_start_goes_on_from_the_one_before() {
        let first = Start::after(&Stored::new(), 1_000);
        assert_eq!((first.begun_unix_s, first.starts), (1_000, 1));
        let stored = Stored::from([(START.to_vec(), first.octets())]);
        let second = Start::after(&stored, 2_000);
        assert_eq!((second.begun_unix_s, second.starts), (1_000, 2));
        // What cannot be read was never there.
        let cut = Stored::from([(START.to_vec(), first.octets()[1..].to_vec())]);
        assert_eq!(Start::after(&cut, 3_000).begun_unix_s, 3_000);
    }
}
