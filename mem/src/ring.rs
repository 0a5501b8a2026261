//! Bounded ring between one producer and one consumer.
//!
//! Each end is a value that can be moved to another thread but not cloned, so
//! "one producer, one consumer" holds by construction. The producer's and the
//! consumer's index lie on cache lines of their own, and each end keeps a copy
//! of the other's index which it renews only when the ring looks full (or
//! empty): while the ring is neither, an item costs no cache miss but its own.
//!
//! A ring may keep the last places of its capacity in reserve: [`Producer::push`]
//! leaves them free, [`Producer::push_reserved`] may use them. Ownership tokens
//! travel in reserved places, so a flood of packets cannot hold them up.
//!
//! # Soundness
//! Indices only grow and wrap at `usize`; place `i` is slot `i & mask`.
//! The producer writes slot `tail` only if `tail - head < capacity`, where
//! `head` was read with Acquire from the consumer's Release store, so the
//! consumer has finished reading the slot. The consumer reads slot `head` only
//! if `head != tail`, where `tail` was read with Acquire from the producer's
//! Release store, so the slot is initialised. A slot is therefore touched by
//! one end at a time, and each value is moved out exactly once: by the
//! consumer, or by the drop of the ring for places in `head..tail`.
//! Items must be `Send`:
//! ```compile_fail
//! sluice_mem::ring::spsc::<std::rc::Rc<()>>(8, 0);
//! ```

use core::mem::MaybeUninit;

use arrayvec::ArrayVec;

use crate::sync::{Arc, AtomicUsize, CachePadded, Ordering, UnsafeCell};

/// Largest capacity of a ring in places.
pub const MAX_CAPACITY: usize = 1 << 30;

/// Makes a ring of `capacity` places (rounded up to a power of two), of which
/// [`Producer::push`] leaves the last `reserved` free.
///
/// # Panics
/// If `capacity` is zero or above [`MAX_CAPACITY`], or not above `reserved`.
pub fn spsc<T: Send>(capacity: usize, reserved: usize) -> (Producer<T>, Consumer<T>) {
    assert!(
        (1..=MAX_CAPACITY).contains(&capacity),
        "ring capacity {capacity} out of range"
    );
    assert!(
        reserved < capacity,
        "ring reserve {reserved} must be below capacity {capacity}"
    );
    let ring = Arc::new(Ring::new(capacity.next_power_of_two()));
    let producer = Producer {
        ring: ring.clone(),
        tail: 0,
        head_seen: 0,
        reserved,
    };
    (
        producer,
        Consumer {
            ring,
            head: 0,
            tail_seen: 0,
        },
    )
}

/// The end that puts items in.
pub struct Producer<T> {
    ring: Arc<Ring<T>>,
    tail: usize,
    head_seen: usize,
    reserved: usize,
}

impl<T> Producer<T> {
    /// Puts `item` in, unless only the reserved places are left.
    ///
    /// # Errors
    /// Gives the item back if no unreserved place is free.
    #[inline]
    pub fn push(&mut self, item: T) -> Result<(), T> {
        self.push_leaving(self.reserved, item)
    }

    /// Puts `item` in, using a reserved place if need be.
    ///
    /// # Errors
    /// Gives the item back if the ring is full.
    #[inline]
    pub fn push_reserved(&mut self, item: T) -> Result<(), T> {
        self.push_leaving(0, item)
    }

    /// Moves items from the front of `items` into the unreserved places and
    /// shows them to the consumer together. Returns how many were moved; the
    /// rest stays in `items`, in order.
    pub fn push_burst<const N: usize>(&mut self, items: &mut ArrayVec<T, N>) -> usize {
        self.push_burst_leaving(self.reserved, items)
    }

    /// As [`push_burst`](Self::push_burst), using reserved places if need be.
    pub fn push_burst_reserved<const N: usize>(&mut self, items: &mut ArrayVec<T, N>) -> usize {
        self.push_burst_leaving(0, items)
    }

    fn push_burst_leaving<const N: usize>(
        &mut self,
        reserved: usize,
        items: &mut ArrayVec<T, N>,
    ) -> usize {
        let count = self.room_for(reserved, items.len());
        for item in items.drain(..count) {
            self.ring.write(self.tail, item);
            self.tail = self.tail.wrapping_add(1);
        }
        self.ring.tail.0.store(self.tail, Ordering::Release);
        count
    }

    /// Free places that [`Self::push`] may use at this moment.
    pub fn room(&mut self) -> usize {
        self.room_for(self.reserved, usize::MAX)
    }

    /// Items in the ring at this moment; the consumer may be taking some.
    pub fn len(&self) -> usize {
        self.tail
            .wrapping_sub(self.ring.head.0.load(Ordering::Acquire))
    }

    /// Whether the consumer has taken everything.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Places in the ring, the reserved ones included.
    pub fn capacity(&self) -> usize {
        self.ring.capacity()
    }

    #[inline(always)]
    fn push_leaving(&mut self, reserved: usize, item: T) -> Result<(), T> {
        if self.room_for(reserved, 1) == 0 {
            return Err(item);
        }
        self.ring.write(self.tail, item);
        self.tail = self.tail.wrapping_add(1);
        self.ring.tail.0.store(self.tail, Ordering::Release);
        Ok(())
    }

    /// How many of `wanted` items fit while `reserved` places stay free. Looks
    /// at the consumer's index only if the remembered one does not suffice.
    #[inline(always)]
    fn room_for(&mut self, reserved: usize, wanted: usize) -> usize {
        let mut room = self.seen_room(reserved);
        if room < wanted {
            self.head_seen = self.ring.head.0.load(Ordering::Acquire);
            room = self.seen_room(reserved);
        }
        room.min(wanted)
    }

    #[inline(always)]
    fn seen_room(&self, reserved: usize) -> usize {
        let used = self.tail.wrapping_sub(self.head_seen);
        (self.ring.capacity() - used).saturating_sub(reserved)
    }
}

/// The end that takes items out.
pub struct Consumer<T> {
    ring: Arc<Ring<T>>,
    head: usize,
    tail_seen: usize,
}

impl<T> Consumer<T> {
    /// Takes the oldest item.
    #[inline]
    pub fn pop(&mut self) -> Option<T> {
        let item = self.take_next()?;
        self.ring.head.0.store(self.head, Ordering::Release);
        Some(item)
    }

    /// Takes items until `out` is full or the ring empty, and frees their
    /// places together. Returns how many were taken.
    #[inline]
    pub fn pop_burst<const N: usize>(&mut self, out: &mut ArrayVec<T, N>) -> usize {
        let before = out.len();
        let room = out.remaining_capacity();
        out.extend(self.drain(room));
        out.len() - before
    }

    /// Takes at most `max` items one by one; their places become free together
    /// when the iterator is dropped.
    #[inline]
    pub fn drain(&mut self, max: usize) -> Drain<'_, T> {
        Drain {
            left: max.min(self.available(max)),
            consumer: self,
        }
    }

    /// Items in the ring at this moment; the producer may be adding some.
    pub fn len(&self) -> usize {
        self.ring
            .tail
            .0
            .load(Ordering::Acquire)
            .wrapping_sub(self.head)
    }

    /// Whether nothing was waiting at this moment.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Places in the ring, the reserved ones included.
    pub fn capacity(&self) -> usize {
        self.ring.capacity()
    }

    /// Moves the oldest item out without freeing its place.
    #[inline(always)]
    fn take_next(&mut self) -> Option<T> {
        if self.available(1) == 0 {
            return None;
        }
        let item = self.ring.read(self.head);
        self.head = self.head.wrapping_add(1);
        Some(item)
    }

    /// Items known to wait; looks at the producer's index only if the
    /// remembered one shows fewer than `wanted`.
    #[inline(always)]
    fn available(&mut self, wanted: usize) -> usize {
        let seen = self.tail_seen.wrapping_sub(self.head);
        if seen >= wanted {
            return seen;
        }
        self.tail_seen = self.ring.tail.0.load(Ordering::Acquire);
        self.tail_seen.wrapping_sub(self.head)
    }
}

impl<T> Drop for Consumer<T> {
    fn drop(&mut self) {
        // A forgotten `Drain` has taken items whose places are not yet free:
        // the ring must not drop them again.
        self.ring.head.0.store(self.head, Ordering::Release);
    }
}

/// Iterator over items taken from a ring, see [`Consumer::drain`].
pub struct Drain<'a, T> {
    consumer: &'a mut Consumer<T>,
    left: usize,
}

impl<T> Iterator for Drain<'_, T> {
    type Item = T;

    #[inline]
    fn next(&mut self) -> Option<T> {
        self.left = self.left.checked_sub(1)?;
        self.consumer.take_next()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl<T> Drop for Drain<'_, T> {
    #[inline]
    fn drop(&mut self) {
        self.consumer
            .ring
            .head
            .0
            .store(self.consumer.head, Ordering::Release);
    }
}

struct Ring<T> {
    /// Next place to be written; stored by the producer only.
    tail: CachePadded<AtomicUsize>,
    /// Next place to be read; stored by the consumer only.
    head: CachePadded<AtomicUsize>,
    slots: Box<[UnsafeCell<MaybeUninit<T>>]>,
}

// SAFETY: a ring only carries values of T from one thread to another and never
// lends them to both; the module doc argues that a slot has one user at a time.
unsafe impl<T: Send> Send for Ring<T> {}
// SAFETY: as above; the shared part is reached through atomics, and the slots
// by the end whose turn it is.
unsafe impl<T: Send> Sync for Ring<T> {}

impl<T> Ring<T> {
    fn new(capacity: usize) -> Self {
        let slots = (0..capacity)
            .map(|_| UnsafeCell::new(MaybeUninit::uninit()))
            .collect();
        let zero = || CachePadded(AtomicUsize::new(0));
        Self {
            tail: zero(),
            head: zero(),
            slots,
        }
    }

    #[inline(always)]
    fn capacity(&self) -> usize {
        self.slots.len()
    }

    #[inline(always)]
    fn slot(&self, place: usize) -> &UnsafeCell<MaybeUninit<T>> {
        let index = place & (self.slots.len() - 1);
        // SAFETY: the length is a power of two, so the masked index is below it.
        unsafe { self.slots.get_unchecked(index) }
    }

    /// Called by the producer for a free place.
    #[inline(always)]
    fn write(&self, place: usize, item: T) {
        self.slot(place).with_mut(|slot| {
            // SAFETY: the place is free (room_for), so only the producer uses
            // the slot, and it holds no value that would be overwritten.
            unsafe { (*slot).write(item) };
        });
    }

    /// Called once for each filled place, by its only user at that time.
    #[inline(always)]
    fn read(&self, place: usize) -> T {
        self.slot(place).with(|slot| {
            // SAFETY: the place lies in head..tail, so the producer has written
            // it, and the caller moves past it: it is read once.
            unsafe { (*slot).assume_init_read() }
        })
    }
}

impl<T> Drop for Ring<T> {
    fn drop(&mut self) {
        let tail = self.tail.0.load(Ordering::Acquire);
        let mut head = self.head.0.load(Ordering::Acquire);
        while head != tail {
            drop(self.read(head));
            head = head.wrapping_add(1);
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
