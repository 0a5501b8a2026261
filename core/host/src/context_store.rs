//! Store of contexts that outlive the process: they are stored together before what follows from them leaves.
//!
//! One put is under way at a time; what changes meanwhile goes with the next one, and the host goes on. Outputs
//! wait for the number of the put that has all changes until then, until it is done, has failed, or took too long.

use core::task::Poll;
use std::sync::Arc;

use sluice_sbi::Instant;
use sluice_sbi::context_store::{Changes, ContextWriter, Outcome, StoreFailure};

use crate::held;

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
    to: Option<Box<dyn ContextWriter>>,
    changes: Changes,
    under_way: Option<UnderWay>,
    /// Puts that have begun.
    begun: u64,
    /// The last attempt has failed: what is stored is not what there is.
    is_behind: bool,
    /// Another core has them now.
    is_over: bool,
    failures: u64,
    last_failure: Option<String>,
    now: Instant,
}

/// A put that the store has not answered.
struct UnderWay {
    changes: Arc<Changes>,
    until: Instant,
    /// Outputs have waited for it too long.
    is_late: bool,
}

impl ContextStore {
    /// Stores contexts there from now on.
    pub fn use_store(&mut self, store: Box<dyn ContextWriter>) {
        self.to = Some(store);
    }

    /// How often contexts could not be stored, and why the last time.
    pub fn failed_times(&self) -> (u64, Option<&str>) {
        (self.failures, self.last_failure.as_deref())
    }

    /// How it is with the store; none if there is none.
    pub fn state(&self) -> Option<StoreState> {
        let under_way = self.under_way.as_ref().map_or(0, |one| one.changes.len());
        self.is_used().then_some(StoreState {
            is_up: !self.is_behind && !self.is_over,
            failures: self.failures,
            pending: self.changes.len() + under_way,
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
        if !self.is_used() || !is_context || self.is_over {
            return;
        }
        // What came and went while the store was away was never there.
        if value.is_none() && !self.may_have(key) {
            self.changes.remove(key);
        } else {
            self.changes.insert(key.to_vec(), value.cloned());
        }
    }

    /// Whether a key is stored, or may be by what is under way.
    fn may_have(&self, key: &[u8]) -> bool {
        let is_under_way = |one: &UnderWay| one.changes.contains_key(key);
        self.under_way.as_ref().is_some_and(is_under_way)
            || self.to.as_ref().is_some_and(|to| to.may_have(key))
    }

    /// Tells the time.
    pub(crate) fn set_now(&mut self, now: Instant) {
        self.now = now;
    }

    /// When outputs have waited for too long.
    pub(crate) fn next_deadline(&self) -> Instant {
        let waited_for = self.under_way.as_ref().filter(|one| !one.is_late);
        waited_for.map_or(Instant::NEVER, |one| one.until)
    }

    /// Takes what has become of the put under way, and begins to store what has changed. What cannot be stored is
    /// tried again, after a pause; also if all of that came and went, so that the store learns that it has all again.
    pub(crate) fn advance(&mut self) {
        loop {
            let outcome = match self.under_way {
                Some(_) => self.poll(),
                None if self.is_due() => self.begin(),
                None => return,
            };
            let Poll::Ready(outcome) = outcome else {
                return;
            };
            let is_stored = !matches!(outcome, Err(StoreFailure::NotStored(_)));
            self.done(outcome);
            if !is_stored {
                return;
            }
        }
    }

    /// The outcome of the put under way, or that it takes too long.
    fn poll(&mut self) -> Poll<Outcome> {
        let (Some(to), Some(under_way)) = (&mut self.to, &mut self.under_way) else {
            return Poll::Pending;
        };
        let outcome = to.outcome();
        if outcome.is_pending() && !under_way.is_late && under_way.until <= self.now {
            under_way.is_late = true;
            let waited_ms = to.patience_ms().unwrap_or_default();
            self.is_behind = true;
            self.failed(format!("the store has not answered within {waited_ms} ms"));
        }
        outcome
    }

    fn is_due(&self) -> bool {
        let wants = !self.is_over && (self.is_behind || !self.changes.is_empty());
        wants && self.to.as_ref().is_some_and(|to| !to.is_paused())
    }

    fn begin(&mut self) -> Poll<Outcome> {
        let Some(to) = &mut self.to else {
            return Poll::Pending;
        };
        let changes = Arc::new(std::mem::take(&mut self.changes));
        let outcome = to.begin(&changes);
        let patience = to.patience_ms();
        self.begun += 1;
        self.under_way = Some(UnderWay {
            changes,
            until: patience.map_or(Instant::NEVER, |ms| self.now.plus_ms(ms)),
            is_late: false,
        });
        outcome
    }

    /// The put that was under way is over.
    fn done(&mut self, outcome: Outcome) {
        let Some(under_way) = self.under_way.take() else {
            return;
        };
        match outcome {
            // What has left meanwhile may follow from changes that are not stored yet.
            Ok(()) => self.is_behind = under_way.is_late && !self.changes.is_empty(),
            Err(StoreFailure::NotStored(why)) => {
                self.is_behind = true;
                self.again(Arc::unwrap_or_clone(under_way.changes));
                self.failed(why);
            }
            Err(StoreFailure::StoredWeakly(why)) => {
                self.is_behind = false;
                self.failed(why);
            }
            Err(StoreFailure::NoLongerOurs(why)) => self.lost(why),
        }
    }

    /// Changes that are not stored go with later ones.
    fn again(&mut self, changes: Changes) {
        let later = std::mem::replace(&mut self.changes, changes);
        for (key, value) in later {
            self.change(&key, value.as_ref());
        }
    }

    /// Number of the put that has all that has changed until now.
    pub fn put_of_now(&mut self) -> u64 {
        self.advance();
        let is_with_next = self.is_waited_for() && !self.changes.is_empty();
        self.begun + u64::from(is_with_next)
    }

    /// Outputs leave that wait for no later put than this.
    pub fn released(&self) -> u64 {
        match self.is_waited_for() {
            true => self.begun - 1,
            false => held::ALL,
        }
    }

    /// Whether outputs wait for a put.
    pub(crate) fn is_waited_for(&self) -> bool {
        self.under_way.as_ref().is_some_and(|one| !one.is_late)
    }

    /// Stores what has changed at the end of the host, and waits for that.
    pub fn finish(&mut self) {
        for _ in 0..2 {
            if self.is_waited_for()
                && let Some(to) = &mut self.to
                && let Poll::Ready(outcome) = to.last_outcome()
            {
                self.done(outcome);
            }
            self.advance();
        }
    }

    /// Does what the store has to do by time; at least twice a second.
    pub fn tend(&mut self) {
        let Some(to) = self.to.as_mut().filter(|_| !self.is_over) else {
            return;
        };
        match to.tend() {
            Ok(()) => {}
            Err(StoreFailure::StoredWeakly(why)) => self.failed(why),
            Err(StoreFailure::NotStored(why)) => {
                self.is_behind = true;
                self.failed(why);
            }
            Err(StoreFailure::NoLongerOurs(why)) => self.lost(why),
        }
    }

    fn lost(&mut self, why: String) {
        self.is_over = true;
        self.is_behind = false;
        self.changes.clear();
        self.failed(why);
    }

    fn failed(&mut self, why: String) {
        self.failures += 1;
        self.last_failure = Some(why);
    }
}

#[cfg(test)]
mod tests {
    use std::cell::{Cell, RefCell};
    use std::rc::Rc;

    use super::*;
    use sluice_sbi::context_store::{Contexts, Stored};

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
        store.advance();
        away.is_away.set(true);
        // Sessions come and go for long, each with a number of its own, and two stay.
        for number in 10..10_000 {
            store.change(&key(number), Some(&value));
            store.advance();
            if number > 11 {
                store.change(&key(number), None);
                store.advance();
            }
            assert!(store.changes.len() <= 3, "{}", store.changes.len());
        }
        // What was stored is deleted, however long that takes.
        store.change(&key(3), None);
        store.advance();
        assert_eq!(store.changes.len(), 3);
        away.is_away.set(false);
        store.advance();
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
        store.advance();
        store.advance();
        assert_eq!((store.is_behind, store.failures), (true, 2));
        // It is not tried while it pauses.
        away.is_paused.set(true);
        store.advance();
        assert_eq!((store.is_behind, store.failures), (true, 2));
        away.is_paused.set(false);
        // Nothing waits any more, and the store still has to hear so.
        store.change(b"smf/1", None);
        assert!(store.changes.is_empty());
        store.advance();
        assert_eq!((store.is_behind, store.failures), (true, 3));
        away.is_away.set(false);
        store.advance();
        assert!(!store.is_behind);
    }
}
