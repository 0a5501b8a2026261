//! NIC model: two bounded receive queues, filled by both sources, and a table that says which
//! shard's packets go to which queue.
//!
//! There is no third CPU here that could send packets, so the workers' own ports make them. Each
//! makes half of them whatever the execution model, and half of what lies in a queue was made by
//! the other CPU: so no model has a cheaper source than another, and none has all its packets in
//! the cache of the one who polls.

use super::steered::Table;
use arrayvec::ArrayVec;
use sluice_datapath::limits::{BURST, SHARDS};
use sluice_mem::ring::{Consumer, Producer, spsc};
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU8, AtomicU32};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Places of one of the four rings that make a receive queue: each source's, in each direction.
const RING: usize = 1024;
/// Packets that wait in a queue before they are missed.
pub const QUEUE: u64 = 4 * RING as u64;
/// Packets for one of them that are shown together, at the most.
const MADE: usize = 64;
/// Packets that were polled of a direction when one that waited in it is out for certain: those of
/// both its rings, and a batch of the ring that is asked first.
pub const HOLDS: u64 = 2 * RING as u64 + BURST as u64;

/// Which queue the packets of a shard go to, in each direction.
#[derive(Debug)]
pub struct Steering {
    queues: [Box<[AtomicU8]>; 2],
    /// How often they were changed, and how far each source knows.
    changes: AtomicU32,
    known: [AtomicU32; 2],
}

impl Steering {
    /// All to the first.
    pub fn new() -> Self {
        Self {
            queues: [(); 2].map(|()| (0..SHARDS).map(|_| AtomicU8::new(0)).collect()),
            changes: AtomicU32::new(0),
            known: Default::default(),
        }
    }

    #[inline]
    pub fn queue(&self, shard: u32, direction: usize) -> usize {
        usize::from(self.queues[direction][(shard % SHARDS) as usize].load(Relaxed)) % 2
    }

    /// From now on as `queue` says, in both directions.
    pub fn set(&self, queue: impl Fn(u32) -> usize) {
        (0..2).for_each(|direction| self.set_one(direction, &queue));
    }

    /// As [`set`](Self::set), in one direction.
    pub fn set_one(&self, direction: usize, queue: impl Fn(u32) -> usize) {
        for (shard, place) in (0..SHARDS).zip(&self.queues[direction]) {
            place.store(queue(shard) as u8, Relaxed);
        }
        self.changes.store(self.changes.load(Relaxed) + 1, Release);
    }

    /// A source will ask for queues from now on, and not use what it was told before.
    #[inline]
    pub fn learn(&self, source: usize) {
        self.known[source].store(self.changes.load(Acquire), Release);
    }

    /// Whether both sources know of all changes.
    pub fn is_known(&self) -> bool {
        let changes = self.changes.load(Relaxed);
        self.known
            .iter()
            .all(|known| known.load(Acquire) == changes)
    }

    /// The table of one direction, as a port that can be asked to steer has it.
    pub fn table(self: &Arc<Self>, direction: usize) -> Table {
        Table::new(self.clone(), direction)
    }
}

/// One receive queue in one direction: a ring from each source.
struct RxQueue<P> {
    from: [Consumer<P>; 2],
    /// The source that is asked first the next time.
    first: usize,
}

impl<P> RxQueue<P> {
    /// Up to `max` packets from both sources in turn: none waits behind more packets than the queue
    /// holds, on which changes of steering count.
    #[inline]
    fn take(&mut self, max: usize, mut taken: impl FnMut(P)) -> usize {
        let first = self.first;
        self.first = 1 - first;
        let mut n = 0;
        for source in [first, 1 - first] {
            for packet in self.from[source].drain(max - n) {
                n += 1;
                taken(packet);
            }
        }
        n
    }
}

/// Queues that nobody polls, by queue and direction.
type Left<P> = Arc<[[Mutex<Option<RxQueue<P>>>; 2]; 2]>;

/// One worker's ends of the rings: what it makes goes to both queues, what it polls comes from the
/// queues that it has. Direction comes second.
pub struct Slots<P> {
    to: [[Producer<P>; 2]; 2],
    /// Made, and not to be seen by others yet: to show each one by itself costs more than to make it.
    made: [[ArrayVec<P, MADE>; 2]; 2],
    has: [[Option<RxQueue<P>>; 2]; 2],
    left: Left<P>,
}

/// Both workers' ends; each has the queue of its number.
pub fn slots<P: Send>() -> [Slots<P>; 2] {
    // By maker, queue and direction.
    let rings = [(); 2].map(|()| [(); 2].map(|()| [(); 2].map(|()| spsc(RING, 0))));
    let [of_near, of_far] = rings.map(|of_maker| {
        let ends = of_maker.map(|of_queue| {
            let [(up_in, up_out), (down_in, down_out)] = of_queue;
            ([up_in, down_in], [up_out, down_out])
        });
        let [(to_near, near), (to_far, far)] = ends;
        ([to_near, to_far], [near, far])
    });
    let ((to_of_near, from_near), (to_of_far, from_far)) = (of_near, of_far);
    let queues = from_near.into_iter().zip(from_far).map(|(near, far)| {
        let mut both = near.into_iter().zip(far);
        [(); 2].map(|()| {
            let (near, far) = both.next()?;
            let from = [near, far];
            Some(RxQueue { from, first: 0 })
        })
    });
    let left: Left<P> = Arc::default();
    let mut all = [to_of_near, to_of_far].map(|to| Slots {
        to,
        made: Default::default(),
        has: Default::default(),
        left: left.clone(),
    });
    for (number, queue) in queues.enumerate() {
        all[number].has[number] = queue;
    }
    all
}

impl<P> Slots<P> {
    /// Packets that each queue takes still from us, by queue and direction.
    pub fn room(&mut self) -> [[usize; 2]; 2] {
        let mut room = [[0; 2]; 2];
        for (room, rings) in room.iter_mut().zip(&mut self.to) {
            for (room, ring) in room.iter_mut().zip(rings) {
                *room = ring.room();
            }
        }
        room
    }

    /// A packet for a queue that has [`room`](Self::room), where it is seen after
    /// [`flush`](Self::flush); it comes back if there is no room for long.
    #[inline]
    pub fn put(&mut self, queue: usize, direction: usize, packet: P) -> Result<(), P> {
        let made = &mut self.made[queue][direction];
        if made.is_full() {
            self.to[queue][direction].push_burst(made);
        }
        made.try_push(packet).map_err(|full| full.element())
    }

    /// Makes the stored packets visible in their queue.
    #[inline]
    pub fn flush(&mut self) {
        for (rings, made) in self.to.iter_mut().zip(&mut self.made) {
            for (ring, made) in rings.iter_mut().zip(made) {
                if !made.is_empty() {
                    ring.push_burst(made);
                }
            }
        }
    }

    /// Up to `max` packets of a queue; none if another worker has it.
    #[inline]
    pub fn take(
        &mut self,
        queue: usize,
        direction: usize,
        max: usize,
        taken: impl FnMut(P),
    ) -> usize {
        match &mut self.has[queue][direction] {
            Some(queue) => queue.take(max, taken),
            None => 0,
        }
    }

    /// The other worker may have this queue.
    pub fn leave(&mut self, queue: usize, direction: usize) {
        if let Some(was) = self.has[queue][direction].take() {
            *lock(&self.left[queue][direction]) = Some(was);
        }
    }

    /// False if the other worker has it still.
    pub fn adopt(&mut self, queue: usize, direction: usize) -> bool {
        if self.has[queue][direction].is_none() {
            self.has[queue][direction] = lock(&self.left[queue][direction]).take();
        }
        self.has[queue][direction].is_some()
    }
}

fn lock<T>(place: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing is done under the lock that could leave it half done.
    place.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(slots: &mut Slots<u32>, queue: usize, direction: usize, n: u32) -> bool {
        let has_room = slots.room()[queue][direction] > 0;
        let put = has_room && slots.put(queue, direction, n).is_ok();
        slots.flush();
        put
    }

    #[test]
    fn what_is_put_is_seen_together() {
        let [mut near, mut far] = slots::<u32>();
        let few = MADE as u32 + 1;
        (0..few).for_each(|n| assert!(near.put(1, 0, n).is_ok()));
        let mut seen = vec![];
        far.take(1, 0, 200, |n| seen.push(n));
        assert_eq!(seen.len(), MADE, "there was no place for more");
        near.flush();
        far.take(1, 0, 200, |n| seen.push(n));
        assert!(seen.into_iter().eq(0..few));
    }

    #[test]
    fn a_queue_has_packets_of_both_sources_and_no_more_than_fit() {
        let [mut near, mut far] = slots::<u32>();
        let made = |slots: &mut Slots<u32>| {
            let n = (0..4 * RING as u32).filter(|n| put(slots, 1, 0, *n));
            n.count()
        };
        assert_eq!(near.room(), [[RING; 2]; 2]);
        assert_eq!((made(&mut near), made(&mut far)), (RING, RING));
        assert_eq!(near.room(), [[RING; 2], [0, RING]]);
        let mut sum = 0;
        assert_eq!(far.take(1, 0, 100, |n| sum += n), 100);
        assert_eq!(far.take(1, 0, 2 * RING, |n| sum += n), 2 * RING - 100);
        assert_eq!(sum, (RING * (RING - 1)) as u32);
        assert_eq!(near.take(0, 0, 10, |_| ()) + far.take(1, 1, 10, |_| ()), 0);
    }

    #[test]
    fn a_queue_goes_from_worker_to_worker_with_what_lies_in_it() {
        let [mut near, mut far] = slots::<u32>();
        assert!(put(&mut near, 1, 0, 7));
        assert!(!near.adopt(1, 0), "the other worker has it");
        assert_eq!(near.take(1, 0, 8, |_| ()), 0);
        far.leave(1, 0);
        assert!(near.adopt(1, 0) && near.adopt(1, 0) && !far.adopt(1, 0));
        let mut seen = vec![];
        assert_eq!(near.take(1, 0, 8, |n| seen.push(n)), 1);
        assert_eq!(seen, [7]);
        assert!(near.adopt(0, 0) && far.adopt(1, 1), "as they were dealt");
    }

    /// Polling the other direction between changes nothing of that.
    #[test]
    fn no_packet_waits_behind_more_than_the_queue_holds() {
        for lone in [0, 1] {
            let mut both = slots::<u32>();
            (1..RING).for_each(|_| assert!(put(&mut both[lone], 0, 0, 0)));
            assert!(put(&mut both[lone], 0, 0, 1));
            let (mut polled, mut is_out) = (0, false);
            while !is_out {
                while put(&mut both[1 - lone], 0, 0, 0) {}
                polled += both[0].take(0, 0, 128, |n| is_out |= n == 1) as u64;
                both[0].take(0, 1, 128, |_| ());
                assert!(polled < HOLDS, "source {lone}");
            }
        }
    }
}
