//! Thread of a store of contexts that may take long, at a server or on a disk: the loop hands it changes and goes on.

use std::collections::HashSet;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError, channel};
use std::task::Poll;
use std::thread::JoinHandle;
use std::time::Duration;

use sluice_sbi::context_store::{
    Changes, ContextWriter, Contexts, Outcome, StoreFailure, Stored, fingerprint,
};

/// How often the thread does what the store has to do by time.
const TEND_EVERY: Duration = Duration::from_millis(400);
/// How often it looks whether a store is to be tried again that has failed.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// How long the end of the core waits for a put.
const END_WITHIN: Duration = Duration::from_secs(2);

/// A put that the store has answered.
struct Done {
    outcome: Outcome,
    /// Fingerprints of its keys, and whether the store may have these now.
    keys: Vec<(u64, bool)>,
}

/// The loop's end of the thread.
#[derive(Debug)]
pub struct ContextThread {
    /// None at the end.
    jobs: Option<Sender<Arc<Changes>>>,
    done: Receiver<Done>,
    troubles: Receiver<StoreFailure>,
    is_paused: Arc<AtomicBool>,
    /// Fingerprints of keys that the store may have.
    there: HashSet<u64>,
    patience_ms: Option<u64>,
    thread: Option<JoinHandle<()>>,
}

impl ContextThread {
    /// Of a store, and of what it has. `wake` is called for each put that is over; what follows from contexts waits for
    /// them at most `patience`, or as long as it takes.
    ///
    /// # Errors
    /// There is no room for a thread.
    pub fn start(
        store: Box<dyn Contexts + Send>,
        stored: &Stored,
        patience: Option<Duration>,
        wake: impl Fn() + Send + 'static,
    ) -> io::Result<Self> {
        let (jobs, queue) = channel();
        let (tell, done) = channel();
        let (complain, troubles) = channel();
        let is_paused = Arc::new(AtomicBool::new(false));
        let worker = Worker {
            store,
            is_paused: is_paused.clone(),
            done: tell,
            troubles: complain,
        };
        let thread = std::thread::Builder::new().name("contexts".to_owned());
        let thread = thread.spawn(move || worker.work(&queue, &wake))?;
        Ok(Self {
            jobs: Some(jobs),
            done,
            troubles,
            is_paused,
            there: stored.keys().map(|key| fingerprint(key)).collect(),
            patience_ms: patience.map(|time| time.as_millis().try_into().unwrap_or(u64::MAX)),
            thread: Some(thread),
        })
    }

    fn take(&mut self, done: Done) -> Outcome {
        for (key, may_have) in done.keys {
            match may_have {
                true => self.there.insert(key),
                false => self.there.remove(&key),
            };
        }
        done.outcome
    }
}

/// Outcome of a put whose thread has ended, as none does before its core.
fn ended() -> Outcome {
    let why = "the thread of the store has ended";
    Err(StoreFailure::NoLongerOurs(why.to_owned()))
}

impl ContextWriter for ContextThread {
    fn begin(&mut self, changes: &Arc<Changes>) -> Poll<Outcome> {
        let given = self.jobs.as_ref().map(|jobs| jobs.send(changes.clone()));
        match given {
            Some(Ok(())) => Poll::Pending,
            _ => Poll::Ready(ended()),
        }
    }

    fn outcome(&mut self) -> Poll<Outcome> {
        match self.done.try_recv() {
            Ok(done) => Poll::Ready(self.take(done)),
            Err(TryRecvError::Empty) => Poll::Pending,
            Err(TryRecvError::Disconnected) => Poll::Ready(ended()),
        }
    }

    fn last_outcome(&mut self) -> Poll<Outcome> {
        match self.done.recv_timeout(END_WITHIN) {
            Ok(done) => Poll::Ready(self.take(done)),
            Err(RecvTimeoutError::Timeout) => Poll::Pending,
            Err(RecvTimeoutError::Disconnected) => Poll::Ready(ended()),
        }
    }

    fn patience_ms(&self) -> Option<u64> {
        self.patience_ms
    }

    fn may_have(&self, key: &[u8]) -> bool {
        self.there.contains(&fingerprint(key))
    }

    fn is_paused(&self) -> bool {
        self.is_paused.load(Ordering::Relaxed)
    }

    fn tend(&mut self) -> Result<(), StoreFailure> {
        self.troubles.try_recv().map_or(Ok(()), Err)
    }
}

impl Drop for ContextThread {
    /// The store is closed when the thread has ended: the next core need not wait for a lease, or for a lock.
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The thread's own end.
struct Worker {
    store: Box<dyn Contexts + Send>,
    is_paused: Arc<AtomicBool>,
    done: Sender<Done>,
    troubles: Sender<StoreFailure>,
}

impl Worker {
    fn work(mut self, queue: &Receiver<Arc<Changes>>, wake: &dyn Fn()) {
        loop {
            let is_paused = self.is_paused.load(Ordering::Relaxed);
            let longest = if is_paused { LOOK_EVERY } else { TEND_EVERY };
            match queue.recv_timeout(longest) {
                Ok(changes) => {
                    if !self.put(&changes) {
                        return;
                    }
                    wake();
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            if let Err(why) = self.store.tend() {
                // The loop ends before this does.
                let _ = self.troubles.send(why);
            }
            self.tell_pause();
        }
    }

    /// Stores changes; whether somebody still wants to hear of it.
    fn put(&mut self, changes: &Changes) -> bool {
        let outcome = self.store.put(changes);
        let may_have = |key: &Vec<u8>| (fingerprint(key), self.store.may_have(key));
        let keys = changes.keys().map(may_have).collect();
        self.tell_pause();
        self.done.send(Done { outcome, keys }).is_ok()
    }

    fn tell_pause(&self) {
        let is_paused = self.store.is_paused();
        self.is_paused.store(is_paused, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A store that stores when the test lets it.
    struct Gate {
        is_open: Receiver<Outcome>,
        keys: Vec<Vec<u8>>,
        is_paused: bool,
    }

    impl Contexts for Gate {
        fn put(&mut self, changes: &Changes) -> Outcome {
            let outcome = self.is_open.recv().expect("the test goes on");
            self.is_paused = outcome.is_err();
            if outcome.is_ok() {
                self.keys.extend(changes.keys().cloned());
            }
            outcome
        }

        fn may_have(&self, key: &[u8]) -> bool {
            self.keys.iter().any(|one| one == key)
        }

        fn is_paused(&self) -> bool {
            self.is_paused
        }
    }

    fn change(key: &str) -> Arc<Changes> {
        Arc::new(Changes::from([(key.into(), Some(vec![1]))]))
    }

    #[test]
    fn a_store_that_waits_holds_up_nobody_and_wakes_the_loop_at_last() {
        let (open, is_open) = channel();
        let (wake, woken) = channel();
        let store = Gate {
            is_open,
            keys: Vec::new(),
            is_paused: false,
        };
        let stored = Stored::from([(b"a".to_vec(), vec![0])]);
        let wakes = move || wake.send(()).expect("the test goes on");
        let thread = ContextThread::start(Box::new(store), &stored, None, wakes);
        let mut thread = thread.expect("room for a thread");
        let woken = || woken.recv().expect("a put is over");
        assert!(thread.may_have(b"a") && !thread.may_have(b"b"));
        assert!(thread.begin(&change("b")).is_pending());
        assert!(thread.outcome().is_pending());
        open.send(Ok(())).expect("it waits");
        woken();
        assert_eq!(thread.outcome(), Poll::Ready(Ok(())));
        assert!(thread.may_have(b"b") && !thread.is_paused());
        let failure = Err(StoreFailure::NotStored("away".to_owned()));
        assert!(thread.begin(&change("c")).is_pending());
        open.send(failure.clone()).expect("it waits");
        woken();
        assert_eq!(thread.outcome(), Poll::Ready(failure));
        assert!(!thread.may_have(b"c") && thread.is_paused());
        // The last one is waited for.
        assert!(thread.begin(&change("d")).is_pending());
        open.send(Ok(())).expect("it waits");
        assert_eq!(thread.last_outcome(), Poll::Ready(Ok(())));
    }
}
