//! Store of contexts that outlive the process: they are stored together before what follows from them leaves.

use sluice_sbi::context_store::{Changes, Contexts, StoreFailure};

/// How it is with the store of contexts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StoreState {
    /// The store has all that there is, and is this core's.
    pub is_up: bool,
    /// How often contexts could not be stored as they should be.
    pub failures: u64,
    /// Contexts that wait for it.
    pub pending: usize,
}

/// Contexts that are stored, and changes that are to be.
#[derive(Default)]
pub struct ContextStore {
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
    /// Stores contexts there from now on.
    pub fn use_store(&mut self, store: Box<dyn Contexts>) {
        self.to = Some(store);
    }

    /// How often contexts could not be stored, and why the last time.
    pub fn failed_times(&self) -> (u64, Option<&str>) {
        (self.failures, self.last_failure.as_deref())
    }

    /// How it is with the store; none if there is none.
    pub fn state(&self) -> Option<StoreState> {
        self.is_used().then_some(StoreState {
            is_up: !self.is_behind && !self.is_over,
            failures: self.failures,
            pending: self.changes.len(),
        })
    }

    /// Whether contexts are stored for a later core.
    pub fn is_used(&self) -> bool {
        self.to.is_some()
    }

    /// A context is this from now on; none if there is none any more.
    pub fn change(&mut self, key: &[u8], value: Option<&Vec<u8>>) {
        let is_context = [
            &b"amf/"[..],
            b"smf/",
            b"pcf/",
            b"core/",
            b"udr/smf/",
            b"udr/sdm/",
        ]
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
    pub fn flush(&mut self) {
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

    /// Does what the store has to do by time; at least twice a second.
    pub fn tend(&mut self) {
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

#[cfg(test)]
mod tests {
    use std::cell::{Cell, RefCell};
    use std::rc::Rc;

    use super::*;
    use sluice_sbi::context_store::Stored;

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
}
