//! Pointer publication with quiescent-state reclamation (RCU style): one writer, many readers.
//!
//! The writer swaps a pointer; a reader loads it once per burst. An old value
//! is freed when every reader has passed a quiescent point after the swap, that
//! is, has said that it holds no reference any more. A reader that goes to sleep
//! goes offline first, so that it holds nothing up.
//!
//! # Soundness
//! Each swap is followed by an increment of the epoch to `e`, and the old value
//! is retired with `e`. At a quiescent point (`&mut Reader`, so no reference
//! from [`Reader::enter`] lives) the reader loads the epoch with Acquire and
//! stores it as `seen` with Release. When the writer, with Acquire, finds
//! `seen >= e`, the reader's earlier uses of the old value happened before, and
//! its later loads of the pointer come after the swap, so they cannot return
//! the old value: freeing it is safe.
//! A reader coming online stores `seen`, then fences, then loads the pointer;
//! the writer swaps, then fences, then loads `seen`. By the order of the two
//! sequentially consistent fences either the writer sees the reader online, or
//! the reader sees the new pointer.
//! Retired values are kept as raw pointers in the part shared with the readers,
//! which frees what is left when the writer and all readers are gone.
//!
//! A value read cannot be kept across a quiescent point:
//! ```compile_fail
//! # let mut published = sluice_mem::publish::Published::new(1);
//! let mut reader = published.reader();
//! let value = reader.enter();
//! reader.quiescent();
//! assert_eq!(*value, 1);
//! ```
//! Nor can a reader be shared between threads:
//! ```compile_fail
//! # let mut published = sluice_mem::publish::Published::new(1);
//! let reader = published.reader();
//! std::thread::scope(|scope| { scope.spawn(|| reader.enter()); });
//! ```

use core::cell::Cell;
use core::ptr::NonNull;

use crate::sync::{Arc, AtomicPtr, AtomicU64, CachePadded, Mutex, Ordering, fence};

/// `seen` of a reader that holds no reference and will come online first.
const OFFLINE: u64 = u64::MAX - 1;
/// `seen` of a reader that has been dropped.
const GONE: u64 = u64::MAX;

/// The writer's end. There is one; it may be moved to another thread.
pub struct Published<T: Send + Sync> {
    shared: Arc<Shared<T>>,
    readers: Vec<Arc<Seen>>,
}

impl<T: Send + Sync> Published<T> {
    /// Publishes the first value.
    pub fn new(value: T) -> Self {
        let shared = Shared {
            current: AtomicPtr::new(Box::into_raw(Box::new(value))),
            epoch: CachePadded(AtomicU64::new(1)),
            retired: Mutex::new(Vec::new()),
        };
        Self {
            shared: Arc::new(shared),
            readers: Vec::new(),
        }
    }

    /// Makes a reader, online. Until its first quiescent point it holds up the
    /// reclamation of what is replaced meanwhile.
    pub fn reader(&mut self) -> Reader<T> {
        let now = self.shared.epoch.0.load(Ordering::Relaxed);
        let seen = Arc::new(CachePadded(AtomicU64::new(now)));
        self.readers.push(seen.clone());
        Reader {
            shared: self.shared.clone(),
            seen,
            online: Cell::new(true),
        }
    }

    /// The value that readers get now.
    pub fn current(&self) -> &T {
        let current = self.shared.current.load(Ordering::Relaxed);
        // SAFETY: the current value is only retired by `publish`, which needs
        // `&mut self` and so cannot run while this reference lives.
        unsafe { &*current }
    }

    /// Replaces the value and retires the old one; see [`Self::reclaim`].
    pub fn publish(&mut self, value: T) {
        let new = Box::into_raw(Box::new(value));
        let old = self.shared.current.swap(new, Ordering::AcqRel);
        let epoch = self.shared.epoch.0.load(Ordering::Relaxed) + 1;
        self.shared.epoch.0.store(epoch, Ordering::Release);
        if let Some(value) = NonNull::new(old) {
            self.shared.lock_retired().push(Retired { epoch, value });
        }
    }

    /// Frees the retired values that no reader can hold any more, and returns
    /// how many are left. Call it from time to time; it does not wait.
    pub fn reclaim(&mut self) -> usize {
        let oldest_seen = self.oldest_seen();
        let mut free = Vec::new();
        let mut retired = self.shared.lock_retired();
        retired.retain(|old| {
            let done = old.epoch <= oldest_seen;
            if done {
                free.push(old.value);
            }
            !done
        });
        let left = retired.len();
        drop(retired);
        for value in free {
            // SAFETY: it came from Box::into_raw, left the list just now, and
            // every reader has seen an epoch not before its retirement.
            drop(unsafe { Box::from_raw(value.as_ptr()) });
        }
        left
    }

    /// The oldest epoch that a reader may still be in; forgets dropped readers.
    fn oldest_seen(&mut self) -> u64 {
        fence(Ordering::SeqCst);
        let mut oldest = OFFLINE;
        self.readers.retain(|reader| {
            let seen = reader.0.load(Ordering::Acquire);
            oldest = oldest.min(seen);
            seen != GONE
        });
        oldest
    }
}

/// A reader's end, one for each thread that reads.
pub struct Reader<T: Send + Sync> {
    shared: Arc<Shared<T>>,
    seen: Arc<Seen>,
    online: Cell<bool>,
}

impl<T: Send + Sync> Reader<T> {
    /// The value published last. The reference ends before the next quiescent
    /// point. Brings the reader online if it was offline.
    #[inline]
    pub fn enter(&self) -> &T {
        if !self.online.get() {
            self.go_online();
        }
        let current = self.shared.current.load(Ordering::Acquire);
        // SAFETY: the reader is online, and its `seen` is older than the epoch
        // in which this value may be retired, until `&mut self` says otherwise;
        // the writer frees no value before that (module doc).
        unsafe { &*current }
    }

    /// Says that this thread holds no reference: what was replaced before may
    /// be freed. Call it once per burst.
    #[inline]
    pub fn quiescent(&mut self) {
        if self.online.get() {
            let epoch = self.shared.epoch.0.load(Ordering::Acquire);
            self.seen.0.store(epoch, Ordering::Release);
        }
    }

    /// As [`Self::quiescent`], and until the reader comes back online the
    /// writer does not wait for it. For a thread about to sleep.
    pub fn offline(&mut self) {
        self.seen.0.store(OFFLINE, Ordering::Release);
        self.online.set(false);
    }

    /// Comes back online; [`Self::enter`] does so too.
    pub fn online(&mut self) {
        if !self.online.get() {
            self.go_online();
        }
    }

    #[cold]
    fn go_online(&self) {
        let epoch = self.shared.epoch.0.load(Ordering::Acquire);
        self.seen.0.store(epoch, Ordering::Release);
        fence(Ordering::SeqCst);
        self.online.set(true);
    }
}

impl<T: Send + Sync> Drop for Reader<T> {
    fn drop(&mut self) {
        self.seen.0.store(GONE, Ordering::Release);
    }
}

/// The epoch of a reader's last quiescent point, on a cache line of its own.
type Seen = CachePadded<AtomicU64>;

struct Shared<T> {
    current: AtomicPtr<T>,
    epoch: CachePadded<AtomicU64>,
    /// Touched by the writer, and by the drop of the last end.
    retired: Mutex<Vec<Retired<T>>>,
}

struct Retired<T> {
    epoch: u64,
    value: NonNull<T>,
}

// SAFETY: the raw pointers stand for boxed values of T, lent to several threads
// (T: Sync) and freed by the thread that drops the last end (T: Send).
unsafe impl<T: Send + Sync> Send for Shared<T> {}
// SAFETY: as above; everything in it is an atomic or behind a mutex.
unsafe impl<T: Send + Sync> Sync for Shared<T> {}

impl<T> Shared<T> {
    fn lock_retired(&self) -> impl core::ops::DerefMut<Target = Vec<Retired<T>>> {
        // A poisoned list is still a list: no step on it can panic half done.
        self.retired
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl<T> Drop for Shared<T> {
    fn drop(&mut self) {
        let current = NonNull::new(self.current.load(Ordering::Acquire));
        let retired: Vec<_> = self.lock_retired().drain(..).map(|old| old.value).collect();
        for value in retired.into_iter().chain(current) {
            // SAFETY: each came from Box::into_raw and stands here once; the
            // last end is being dropped, so nobody holds a reference.
            drop(unsafe { Box::from_raw(value.as_ptr()) });
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
