//! Queues of held packets, by entry, and as one value for each shard that moves.

use super::HoldLimits;
use super::deadlines::Deadlines;
use super::leaving::{LeavingShards, MovedQueue, ShardHeld};
use crate::ids::EntryId;
use crate::limits::SHARDS;
use crate::meta::Meta;
use sluice_mem::shard::ShardId;
use std::collections::VecDeque;

const NONE: u32 = u32::MAX;

/// Lists of queues: four for each shard, by the lowest bits of the entry.
const BUCKETS: u32 = 4 * SHARDS;

/// A packet that is held, as it was received.
pub(crate) struct Held<P> {
    /// Its copy.
    pub packet: P,
    /// How it came.
    pub meta: Meta,
    /// When it is given up.
    pub until_ns: u64,
}

struct Cell<P> {
    held: Option<Held<P>>,
    next: u32,
}

/// Cells in their order.
#[derive(Clone, Copy)]
struct List {
    first: u32,
    last: u32,
}

impl List {
    const NONE: Self = Self {
        first: NONE,
        last: NONE,
    };
}

struct Queue {
    entry: EntryId,
    /// Held until the entry is written.
    kept: List,
    /// Wait, while the queue drains, for meeting the rules.
    leaving: List,
    len: u32,
    is_draining: bool,
    /// It was draining when a rule began to hold again: its packets are the first of a new episode.
    rings: bool,
    /// In the bucket, or of those that are free.
    next: u32,
}

/// What a step of draining finds.
pub(crate) enum Drained<P> {
    /// The oldest packet of a queue, and whether it rings if it is held again.
    Packet(u32, Held<P>, bool),
    /// An entry's queue drains no more.
    Ended(EntryId),
}

/// All held packets of a worker's shards.
pub(crate) struct HeldPackets<P> {
    limits: HoldLimits,
    cells: Vec<Cell<P>>,
    free_cells: u32,
    len: usize,
    queues: Vec<Queue>,
    free_queues: u32,
    used_queues: usize,
    buckets: Vec<u32>,
    /// Each queue that drains, once; the next one in front.
    draining: VecDeque<u32>,
    leaving: LeavingShards,
    deadlines: Deadlines,
}

impl<P> HeldPackets<P> {
    /// None. Memory for all is reserved, and touched as it is used.
    pub fn new(limits: HoldLimits) -> Self {
        let most = limits.packets as usize;
        Self {
            limits,
            cells: Vec::with_capacity(most),
            free_cells: NONE,
            len: 0,
            queues: Vec::with_capacity(most),
            free_queues: NONE,
            used_queues: 0,
            buckets: vec![NONE; BUCKETS as usize],
            draining: VecDeque::with_capacity(most),
            leaving: LeavingShards::default(),
            deadlines: Deadlines::new(most),
        }
    }

    /// The bounds.
    pub fn limits(&self) -> &HoldLimits {
        &self.limits
    }

    /// True if nothing is held and nothing drains.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.used_queues == 0
    }

    /// Packets held.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Entries with held packets.
    pub fn entries(&self) -> usize {
        self.used_queues
    }

    /// True if new packets of the entry go behind those that leave.
    #[inline]
    pub fn is_draining(&self, entry: EntryId) -> bool {
        !self.draining.is_empty() && self.drains(entry)
    }

    #[cold]
    fn drains(&self, entry: EntryId) -> bool {
        self.queue(entry)
            .is_some_and(|at| self.queues[at as usize].is_draining)
    }

    /// When the first packet is given up.
    pub fn next_deadline(&self) -> Option<u64> {
        self.deadlines.first().map(|(until_ns, _)| until_ns)
    }

    /// True if one more of an entry, which may have so many, finds room.
    pub fn has_room(&self, entry: EntryId, most: u32) -> bool {
        let of_entry = self
            .queue(entry)
            .map_or(0, |at| self.queues[at as usize].len);
        of_entry < most && self.len < self.limits.packets as usize
    }

    /// A packet goes to the end of its entry's queue. The caller has asked for [room](Self::has_room).
    pub fn push(&mut self, entry: EntryId, held: Held<P>) {
        let at = self.queue(entry).unwrap_or_else(|| self.open(entry));
        let is_draining = self.queues[at as usize].is_draining;
        self.append(at, held, is_draining);
    }

    /// A packet that was taken to leave is held again.
    pub fn keep(&mut self, queue: u32, held: Held<P>) {
        self.append(queue, held, false);
    }

    fn append(&mut self, queue: u32, held: Held<P>, leaves: bool) {
        let cell = self.cell(held);
        let of = &mut self.queues[queue as usize];
        of.len += 1;
        let list = if leaves {
            &mut of.leaving
        } else {
            &mut of.kept
        };
        let last = core::mem::replace(&mut list.last, cell);
        match self.cells.get_mut(last as usize) {
            Some(last) => last.next = cell,
            None => list.first = cell,
        }
        self.len += 1;
        self.set_deadline(queue);
    }

    fn cell(&mut self, held: Held<P>) -> u32 {
        let new = Cell {
            held: Some(held),
            next: NONE,
        };
        let at = self.free_cells;
        match self.cells.get_mut(at as usize) {
            Some(cell) => {
                self.free_cells = cell.next;
                *cell = new;
                at
            }
            None => {
                self.cells.push(new);
                self.cells.len() as u32 - 1
            }
        }
    }

    fn take_first(&mut self, queue: u32, of_leaving: bool) -> Option<Held<P>> {
        let of = &mut self.queues[queue as usize];
        let list = if of_leaving {
            &mut of.leaving
        } else {
            &mut of.kept
        };
        let at = list.first;
        let cell = self.cells.get_mut(at as usize)?;
        list.first = cell.next;
        if list.first == NONE {
            list.last = NONE;
        }
        (of.len, self.len) = (of.len - 1, self.len - 1);
        cell.next = core::mem::replace(&mut self.free_cells, at);
        let held = cell.held.take();
        self.set_deadline(queue);
        held
    }

    /// That of its oldest packet: those that are kept were looked at before those that leave still.
    fn set_deadline(&mut self, queue: u32) {
        let of = &self.queues[queue as usize];
        let cells = [of.kept.first, of.leaving.first].map(|at| self.cells.get(at as usize));
        let held = cells
            .into_iter()
            .flatten()
            .filter_map(|cell| cell.held.as_ref());
        let until_ns = held.map(|held| held.until_ns).min();
        self.deadlines.set(queue, until_ns);
    }

    fn queue(&self, entry: EntryId) -> Option<u32> {
        let mut at = self.buckets[(entry.0 % BUCKETS) as usize];
        while let Some(queue) = self.queues.get(at as usize) {
            if queue.entry == entry {
                return Some(at);
            }
            at = queue.next;
        }
        None
    }

    fn open(&mut self, entry: EntryId) -> u32 {
        let bucket = (entry.0 % BUCKETS) as usize;
        let new = Queue {
            entry,
            kept: List::NONE,
            leaving: List::NONE,
            len: 0,
            is_draining: false,
            rings: false,
            next: self.buckets[bucket],
        };
        let at = self.free_queues;
        let at = match self.queues.get_mut(at as usize) {
            Some(queue) => {
                self.free_queues = queue.next;
                *queue = new;
                at
            }
            None => {
                self.queues.push(new);
                self.queues.len() as u32 - 1
            }
        };
        self.buckets[bucket] = at;
        self.used_queues += 1;
        at
    }

    /// Ends a queue without packets that does not drain.
    fn close_empty(&mut self, queue: u32) {
        let of = &self.queues[queue as usize];
        if of.len > 0 || of.is_draining {
            return;
        }
        let (bucket, next) = ((of.entry.0 % BUCKETS) as usize, of.next);
        if self.buckets[bucket] == queue {
            self.buckets[bucket] = next;
        } else {
            let mut at = self.buckets[bucket];
            while let Some(before) = self.queues.get_mut(at as usize) {
                if before.next == queue {
                    before.next = next;
                    break;
                }
                at = before.next;
            }
        }
        self.queues[queue as usize].next = core::mem::replace(&mut self.free_queues, queue);
        self.used_queues -= 1;
    }

    /// The entry was written: what is held meets the rules anew. False if nothing is.
    pub fn drain(&mut self, entry: EntryId) -> bool {
        let Some(at) = self.queue(entry) else {
            return false;
        };
        let of = &mut self.queues[at as usize];
        of.rings = of.is_draining;
        // Those that were kept came before those that leave still.
        match self.cells.get_mut(of.kept.last as usize) {
            Some(last) => {
                last.next = of.leaving.first;
                of.leaving.first = of.kept.first;
                if of.leaving.last == NONE {
                    of.leaving.last = of.kept.last;
                }
            }
            None if of.leaving.first == NONE => return false,
            None => {}
        }
        of.kept = List::NONE;
        if !of.is_draining {
            of.is_draining = true;
            self.draining.push_back(at);
        }
        true
    }

    /// None of a shard's packets leave here any more: the next owner's transmit queue may be shorter.
    pub fn pause(&mut self, shard: ShardId) {
        self.leaving.set(shard, true);
    }

    /// The next queue that drains, but for those of shards that are about to leave.
    fn next_draining(&mut self) -> Option<u32> {
        if self.leaving.is_empty() {
            return self.draining.pop_front();
        }
        for _ in 0..self.draining.len() {
            let at = self.draining.pop_front()?;
            if !self.leaving.has(self.queues[at as usize].entry) {
                return Some(at);
            }
            self.draining.push_back(at);
        }
        None
    }

    /// The next packet that leaves, of queues in turn.
    pub fn next_drained(&mut self) -> Option<Drained<P>> {
        let at = self.next_draining()?;
        let (entry, rings) = {
            let of = &self.queues[at as usize];
            (of.entry, of.rings)
        };
        match self.take_first(at, true) {
            Some(held) => {
                self.draining.push_back(at);
                Some(Drained::Packet(at, held, rings))
            }
            None => {
                self.queues[at as usize].is_draining = false;
                self.close_empty(at);
                Some(Drained::Ended(entry))
            }
        }
    }

    /// A packet whose time is over.
    pub fn next_expired(&mut self, now_ns: u64) -> Option<Held<P>> {
        let (until_ns, at) = self.deadlines.first()?;
        if until_ns > now_ns {
            return None;
        }
        let of = &self.queues[at as usize];
        let first = self.cells.get(of.kept.first as usize);
        let first = first.and_then(|cell| cell.held.as_ref());
        let is_kept = first.is_some_and(|held| held.until_ns == until_ns);
        let held = self.take_first(at, !is_kept);
        self.close_empty(at);
        held
    }

    /// A packet of an entry that holds none any more.
    pub fn next_discarded(&mut self, entry: EntryId) -> Option<Held<P>> {
        let at = self.queue(entry)?;
        let held = self
            .take_first(at, false)
            .or_else(|| self.take_first(at, true));
        self.close_empty(at);
        held
    }

    /// A packet of any entry, for the end of the worker.
    pub fn next_of_any(&mut self) -> Option<Held<P>> {
        let (_, at) = self.deadlines.first()?;
        self.take_first(at, false)
            .or_else(|| self.take_first(at, true))
    }

    /// All of a shard, which goes to another worker.
    #[cold]
    pub fn take_shard(&mut self, shard: ShardId) -> Option<Box<ShardHeld<P>>> {
        self.leaving.set(shard, false);
        if self.is_empty() {
            return None;
        }
        let mut queues = Vec::new();
        for bucket in (u32::from(shard.0)..BUCKETS).step_by(SHARDS as usize) {
            while let Some(queue) = self.queues.get(self.buckets[bucket as usize] as usize) {
                let (at, entry) = (self.buckets[bucket as usize], queue.entry);
                let (is_draining, rings) = (queue.is_draining, queue.rings);
                let [kept, leaving] = [false, true]
                    .map(|leaving| core::iter::from_fn(|| self.take_first(at, leaving)).collect());
                if is_draining {
                    self.draining.retain(|queue| *queue != at);
                    self.queues[at as usize].is_draining = false;
                }
                self.close_empty(at);
                queues.push(MovedQueue {
                    entry,
                    kept,
                    leaving,
                    is_draining,
                    rings,
                });
            }
        }
        (!queues.is_empty()).then(|| Box::new(ShardHeld { queues }))
    }

    /// All of a shard that comes from another worker. There is room: each worker has for all.
    #[cold]
    pub fn put_shard(&mut self, shard: ShardHeld<P>) {
        for moved in shard.queues {
            let at = self.open(moved.entry);
            moved
                .kept
                .into_iter()
                .for_each(|held| self.append(at, held, false));
            moved
                .leaving
                .into_iter()
                .for_each(|held| self.append(at, held, true));
            let of = &mut self.queues[at as usize];
            (of.is_draining, of.rings) = (moved.is_draining, moved.rings);
            if moved.is_draining {
                self.draining.push_back(at);
            }
            self.close_empty(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(packet: u32, until_ns: u64) -> Held<u32> {
        Held {
            packet,
            meta: Meta::NONE,
            until_ns,
        }
    }

    fn queues(packets: u32) -> HeldPackets<u32> {
        HeldPackets::new(HoldLimits {
            packets,
            ..HoldLimits::default()
        })
    }

    /// What leaves, and how often a queue ended.
    fn drained(all: &mut HeldPackets<u32>) -> (Vec<u32>, usize) {
        let (mut packets, mut ended) = (Vec::new(), 0);
        while let Some(step) = all.next_drained() {
            match step {
                Drained::Packet(_, held, _) => packets.push(held.packet),
                Drained::Ended(_) => ended += 1,
            }
        }
        (packets, ended)
    }

    #[test]
    fn queues_drain_in_turn_each_in_its_order_and_new_packets_behind() {
        let mut all = queues(100);
        let entries = [1, 1 + BUCKETS, 7].map(EntryId);
        for n in 0..9 {
            let at = n as usize % 3;
            assert!(all.has_room(entries[at], 3));
            all.push(entries[at], held(n, 100));
        }
        assert!(!all.has_room(entries[0], 3) && all.has_room(entries[0], 4));
        assert!(!all.drain(EntryId(2)) && all.drain(entries[0]) && all.drain(entries[1]));
        assert!(all.is_draining(entries[0]) && !all.is_draining(entries[2]));
        all.push(entries[0], held(9, 100));
        assert_eq!(drained(&mut all), (vec![0, 1, 3, 4, 6, 7, 9], 2));
        assert_eq!((all.len(), all.entries()), (3, 1));
        assert!(!all.is_draining(entries[0]));
    }

    #[test]
    fn what_is_held_again_stays_in_front_of_what_came_later() {
        let mut all = queues(100);
        let entry = EntryId(5);
        (0..4).for_each(|n| all.push(entry, held(n, 100)));
        all.drain(entry);
        for n in 0..2 {
            let Some(Drained::Packet(queue, held, rings)) = all.next_drained() else {
                panic!("{n} leaves");
            };
            assert!(!rings);
            all.keep(queue, held);
        }
        all.push(entry, held(4, 100));
        // Written again while it drains.
        all.drain(entry);
        all.push(entry, held(5, 100));
        let first = all.next_drained();
        assert!(matches!(first, Some(Drained::Packet(_, held, true)) if held.packet == 0));
        assert_eq!(drained(&mut all), ((1..6).collect(), 1));
        assert!(all.is_empty());
    }

    #[test]
    fn nothing_of_a_shard_that_is_about_to_leave_leaves_here() {
        let mut all = queues(10);
        let entries = [3, 3 + SHARDS, 9].map(EntryId);
        for (n, entry) in (0..).zip(entries) {
            all.push(entry, held(n, 100));
            all.drain(entry);
        }
        all.pause(ShardId(3));
        assert_eq!(drained(&mut all), (vec![2], 1));
        assert!(all.is_draining(entries[0]) && !all.is_draining(entries[2]));
        let moved = all.take_shard(ShardId(3)).unwrap();
        assert_eq!(moved.packets(), 2);
        // Who gets it lets them go, also if it was here before.
        all.put_shard(*moved);
        let (mut left, ended) = drained(&mut all);
        left.sort_unstable();
        assert_eq!((left, ended), (vec![0, 1], 2));
    }

    #[test]
    fn packets_expire_in_the_order_of_their_times_and_a_full_hold_is_full() {
        let mut all = queues(4);
        for n in 0..4 {
            all.push(EntryId(n % 2), held(n, u64::from(n) * 10));
        }
        assert!(!all.has_room(EntryId(9), 10));
        assert_eq!(all.next_deadline(), Some(0));
        let expired = |all: &mut HeldPackets<u32>, now| {
            core::iter::from_fn(|| all.next_expired(now).map(|held| held.packet))
                .collect::<Vec<_>>()
        };
        assert_eq!(expired(&mut all, 20), [0, 1, 2]);
        assert_eq!((all.next_deadline(), all.entries()), (Some(30), 1));
        all.drain(EntryId(1));
        assert_eq!(expired(&mut all, 30), [3]);
        assert_eq!(drained(&mut all), (vec![], 1));
        assert!(all.is_empty() && all.next_deadline().is_none());
        all.push(EntryId(3), held(7, 1));
        let discarded = all.next_discarded(EntryId(3)).map(|held| held.packet);
        assert_eq!(discarded, Some(7));
        assert!(all.next_discarded(EntryId(3)).is_none() && all.is_empty());
    }

    #[test]
    fn a_shard_takes_its_queues_along_as_they_are() {
        let (mut here, mut there) = (queues(100), queues(100));
        let entries = [3, 3 + SHARDS, 3 + BUCKETS, 4].map(EntryId);
        for n in 0..8 {
            here.push(entries[n as usize % 4], held(n, 100));
        }
        here.drain(entries[0]);
        let Some(Drained::Packet(queue, first, _)) = here.next_drained() else {
            panic!("one leaves");
        };
        here.keep(queue, first);
        assert!(here.take_shard(ShardId(5)).is_none());
        let moved = here.take_shard(ShardId(3)).unwrap();
        assert_eq!((moved.packets(), here.len(), here.entries()), (6, 2, 1));
        assert!(here.next_drained().is_none());
        there.put_shard(*moved);
        assert_eq!(there.next_deadline(), Some(100));
        assert_eq!((there.len(), there.entries()), (6, 3));
        assert_eq!(drained(&mut there), (vec![4], 1));
        assert!(entries[..3].iter().all(|entry| there.drain(*entry)));
        assert_eq!(drained(&mut there), (vec![0, 1, 2, 5, 6], 3));
    }
}
