//! Wake-up of a sleeping worker by whoever puts a message on its ring.

use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use std::sync::OnceLock;
use std::thread::{self, Thread};

/// One worker's bed. On cache lines of its own: others look at it for each packet that they hand
/// over, and it changes only when the worker falls asleep or awakes.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct Wake {
    asleep: AtomicBool,
    thread: OnceLock<Thread>,
}

impl Wake {
    /// The calling thread, always the same, sleeps for `at_most`, unless `is_work` says that it
    /// should not. What arrives in the very moment of falling asleep may wait that long: whoever
    /// sent it pays for no fence.
    pub fn sleep(&self, at_most: Duration, is_work: impl FnOnce() -> bool) {
        self.thread.get_or_init(thread::current);
        self.asleep.store(true, Ordering::SeqCst);
        if !is_work() {
            thread::park_timeout(at_most);
        }
        self.asleep.store(false, Ordering::Relaxed);
    }

    /// Wakes the worker if it sleeps.
    #[inline]
    pub fn wake(&self) {
        if self.asleep.load(Ordering::Relaxed) {
            self.rouse();
        }
    }

    #[cold]
    fn rouse(&self) {
        self.asleep.store(false, Ordering::Relaxed);
        if let Some(thread) = self.thread.get() {
            thread.unpark();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::time::Instant;

    #[test]
    fn a_sleeper_is_woken_before_its_time() {
        let wake = Arc::new(Wake::default());
        let sleeper = thread::spawn({
            let wake = wake.clone();
            move || {
                let began = Instant::now();
                wake.sleep(Duration::from_secs(60), || false);
                began.elapsed()
            }
        });
        while !sleeper.is_finished() {
            wake.wake();
            thread::yield_now();
        }
        assert!(sleeper.join().unwrap() < Duration::from_secs(60));
        let began = Instant::now();
        wake.sleep(Duration::from_secs(60), || true);
        assert!(began.elapsed() < Duration::from_secs(60), "there was work");
    }
}
