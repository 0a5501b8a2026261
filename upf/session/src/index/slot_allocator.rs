//! Slot allocator by shard: TEID slots, CP-chosen entries, extension blocks.
//!
//! Place i belongs to shard `i mod SHARDS`. What comes back queues behind what came back before
//! and rests for a while, so that a late packet does not meet the next user.

use crate::index::partitions::{PARTITIONS, Partition};
use sluice_datapath::limits::SHARDS;
use sluice_mem::prefetch;

const NONE: u32 = u32::MAX;

/// Shards of a part.
const SHARDS_EACH: u32 = SHARDS / PARTITIONS as u32;
const _: () = assert!(SHARDS.is_multiple_of(PARTITIONS as u32));

/// One kind of places, in parts by the lowest bits of their shard.
#[derive(Debug)]
pub struct SlotAllocator {
    first: u32,
    parts: Box<[PlacesPart; PARTITIONS]>,
}

/// The places of every sixteenth shard. Place i of part p is place `16 i + p` of all, and its shard by the
/// same rule.
#[derive(Debug)]
struct PlacesPart {
    rounds: u32,
    rest_s: u32,
    shards: Vec<Shard>,
    /// By place: the next one in its queue.
    next: Vec<u32>,
    /// By place: since when it rests, in seconds and one more; [`NOT_RESTING`] of one that is given out or never
    /// was, so that its memory is touched no earlier than by its return.
    rests_since: Vec<u32>,
    used: usize,
}

/// In `rests_since`: given out, or fresh.
const NOT_RESTING: u32 = 0;
/// In `rests_since`: never to be given out.
const NEVER_GIVEN: u32 = u32::MAX;

/// What `rests_since` has of a place that came back at `now_s`.
fn since(now_s: u32) -> u32 {
    now_s.saturating_add(1).min(NEVER_GIVEN - 1)
}

#[derive(Clone, PartialEq, Debug)]
struct Shard {
    /// Rounds from here on were never given out.
    fresh: u32,
    head: u32,
    tail: u32,
}

/// How a place was taken, so that it can be put back as if it had not been.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TakenSlot {
    /// From the queue of those that came back.
    Queue(u32),
    /// For the first time.
    Fresh(u32),
    /// By name, with what was noted of its rest.
    Named(u32, u32),
}

impl TakenSlot {
    /// The place.
    pub fn place(self) -> u32 {
        let (Self::Queue(at) | Self::Fresh(at) | Self::Named(at, _)) = self;
        at
    }

    /// The same of the place with another number.
    fn moved(self, number: impl FnOnce(u32) -> u32) -> Self {
        match self {
            Self::Queue(at) => Self::Queue(number(at)),
            Self::Fresh(at) => Self::Fresh(number(at)),
            Self::Named(at, since) => Self::Named(number(at), since),
        }
    }
}

impl SlotAllocator {
    /// `len` places from `first` on, both whole rounds of shards; each rests `rest_s` seconds
    /// after its return. Place 0 is never given where `first` is 0 and `skip_zero`.
    pub fn new(first: u32, len: u32, rest_s: u32, skip_zero: bool) -> Self {
        let rounds = len / SHARDS;
        let part = |at| PlacesPart::new(rounds, rest_s, skip_zero && first == 0 && at == 0);
        Self {
            first,
            parts: Box::new(core::array::from_fn(part)),
        }
    }

    /// The part of a place or shard, and its number there.
    #[inline]
    fn part(&self, number: u32) -> (&PlacesPart, u32) {
        let (part, inside) = Partition::of_number(number);
        (&self.parts[part.index() % PARTITIONS], inside)
    }

    #[inline]
    fn part_mut(&mut self, number: u32) -> (&mut PlacesPart, u32) {
        let (part, inside) = Partition::of_number(number);
        (&mut self.parts[part.index() % PARTITIONS], inside)
    }

    /// A place of a shard's part, as all know it.
    #[inline]
    fn outward(&self, shard: u32, inside: u32) -> u32 {
        Partition::of_number(shard).0.number(inside) + self.first
    }

    /// How many places there are.
    pub fn len(&self) -> usize {
        self.parts.iter().map(|part| part.next.len()).sum()
    }

    /// Places given out.
    pub fn used(&self) -> usize {
        self.parts.iter().map(|part| part.used).sum()
    }

    /// True if the place is given out.
    pub fn is_used(&self, place: u32) -> bool {
        let (part, at) = self.part(place.wrapping_sub(self.first));
        part.is_used(at)
    }

    /// True if `shard` has a place that could be taken now.
    pub fn has_room(&self, shard: u32, now_s: u32) -> bool {
        let (part, inside) = self.part(shard % SHARDS);
        part.has_room(inside, now_s)
    }

    /// Asks the caches for what the next place of `shard` is taken by, and tells which it is if it was
    /// given out before.
    pub fn prefetch_next(&self, shard: u32) -> Option<u32> {
        let (part, inside) = self.part(shard % SHARDS);
        Some(self.outward(shard, part.prefetch_next(inside)?))
    }

    /// Asks the caches for what a place is given back by.
    pub fn prefetch(&self, place: u32) {
        let (part, at) = self.part(place.wrapping_sub(self.first));
        part.prefetch(at);
    }

    /// Takes a place of `shard`; `None` if all are given out or still rest.
    pub fn take(&mut self, shard: u32, now_s: u32) -> Option<TakenSlot> {
        let (part, inside) = self.part_mut(shard % SHARDS);
        let taken = part.take(inside, now_s)?;
        Some(taken.moved(|at| self.outward(shard, at)))
    }

    /// Takes this very place if it is not given out, rested or not.
    pub fn take_named(&mut self, place: u32) -> Option<TakenSlot> {
        let number = place.checked_sub(self.first)?;
        let (part, at) = self.part_mut(number);
        let taken = part.take_named(at)?;
        Some(taken.moved(|at| self.outward(number, at)))
    }

    /// Gives a place back, to rest from `now_s` on.
    pub fn give(&mut self, place: u32, now_s: u32) {
        let (part, at) = self.part_mut(place.wrapping_sub(self.first));
        part.give(at, now_s);
    }

    /// Puts a place back as if it had not been taken; the last taken goes first.
    pub fn untake(&mut self, taken: TakenSlot) {
        let (part, at) = self.part_mut(taken.place().wrapping_sub(self.first));
        part.untake(taken.moved(|_| at));
    }
}

impl PlacesPart {
    fn new(rounds: u32, rest_s: u32, skip_zero: bool) -> Self {
        let len = (rounds * SHARDS_EACH) as usize;
        let shard = |shard: u32| Shard {
            fresh: u32::from(skip_zero && shard == 0),
            head: NONE,
            tail: NONE,
        };
        let mut rests_since = vec![NOT_RESTING; len];
        if let (true, Some(zero)) = (skip_zero, rests_since.first_mut()) {
            *zero = NEVER_GIVEN;
        }
        Self {
            rounds,
            rest_s,
            shards: (0..SHARDS_EACH).map(shard).collect(),
            next: vec![0; len],
            rests_since,
            used: 0,
        }
    }

    fn is_used(&self, at: u32) -> bool {
        let shard = self.shards.get((at % SHARDS_EACH) as usize);
        let was_given = shard.is_some_and(|s| at / SHARDS_EACH < s.fresh);
        was_given && self.rests_since.get(at as usize) == Some(&NOT_RESTING)
    }

    fn has_rested(&self, at: u32, now_s: u32) -> bool {
        let since = self.rests_since.get(at as usize);
        since.is_some_and(|since| now_s.saturating_sub(since.saturating_sub(1)) >= self.rest_s)
    }

    fn has_room(&self, shard: u32, now_s: u32) -> bool {
        let Some(s) = self.shards.get(shard as usize) else {
            return false;
        };
        s.fresh < self.rounds || self.has_rested(s.head, now_s)
    }

    fn prefetch_next(&self, shard: u32) -> Option<u32> {
        let head = self.shards.get(shard as usize)?.head;
        prefetch::read_index(&self.rests_since, head as usize);
        prefetch::read_index(&self.next, head as usize);
        (head != NONE).then_some(head)
    }

    fn prefetch(&self, at: u32) {
        let tail = self.shards.get((at % SHARDS_EACH) as usize).map(|s| s.tail);
        prefetch::write_index(&self.rests_since, at as usize);
        prefetch::write_index(&self.next, at as usize);
        prefetch::write_index(&self.next, tail.unwrap_or(NONE) as usize);
    }

    fn take(&mut self, shard: u32, now_s: u32) -> Option<TakenSlot> {
        let index = shard as usize;
        let s = self.shards.get(index)?;
        let taken = if self.has_rested(s.head, now_s) {
            self.pop(index)?
        } else if s.fresh < self.rounds {
            let at = s.fresh * SHARDS_EACH + index as u32;
            self.shards.get_mut(index)?.fresh += 1;
            TakenSlot::Fresh(at)
        } else {
            return None;
        };
        self.used += 1;
        Some(taken)
    }

    fn take_named(&mut self, at: u32) -> Option<TakenSlot> {
        let is_none = at >= self.rounds * SHARDS_EACH;
        if is_none || self.is_used(at) || self.rests_since.get(at as usize) == Some(&NEVER_GIVEN) {
            return None;
        }
        let index = (at % SHARDS_EACH) as usize;
        // Places of the same shard before it join the queue as if they had just been used.
        while self.shards.get(index)?.fresh <= at / SHARDS_EACH {
            let fresh = self.shards.get(index)?.fresh * SHARDS_EACH + index as u32;
            self.shards.get_mut(index)?.fresh += 1;
            self.mark(fresh, since(0));
            self.push(index, fresh);
        }
        self.unlink(index, at)?;
        let taken = TakenSlot::Named(at, *self.rests_since.get(at as usize)?);
        self.mark(at, NOT_RESTING);
        self.used += 1;
        Some(taken)
    }

    fn give(&mut self, at: u32, now_s: u32) {
        if self.is_used(at) {
            self.mark(at, since(now_s));
            self.push((at % SHARDS_EACH) as usize, at);
            self.used -= 1;
        }
    }

    fn untake(&mut self, taken: TakenSlot) {
        let at = taken.place();
        let index = (at % SHARDS_EACH) as usize;
        if !self.is_used(at) {
            return;
        }
        match taken {
            TakenSlot::Fresh(_) => {
                if let Some(shard) = self.shards.get_mut(index) {
                    shard.fresh -= 1;
                }
            }
            // It had rested long enough.
            TakenSlot::Queue(_) => self.mark(at, since(0)),
            TakenSlot::Named(_, before) => self.mark(at, before),
        }
        if !matches!(taken, TakenSlot::Fresh(_)) {
            self.push_front(index, at);
        }
        self.used -= 1;
    }

    fn mark(&mut self, at: u32, since: u32) {
        if let Some(place) = self.rests_since.get_mut(at as usize) {
            *place = since;
        }
    }

    fn pop(&mut self, index: usize) -> Option<TakenSlot> {
        let shard = self.shards.get_mut(index)?;
        let at = shard.head;
        shard.head = *self.next.get(at as usize)?;
        if shard.head == NONE {
            shard.tail = NONE;
        }
        self.mark(at, NOT_RESTING);
        Some(TakenSlot::Queue(at))
    }

    fn push(&mut self, index: usize, at: u32) {
        let Some(shard) = self.shards.get_mut(index) else {
            return;
        };
        let tail = core::mem::replace(&mut shard.tail, at);
        if tail == NONE {
            shard.head = at;
        } else if let Some(next) = self.next.get_mut(tail as usize) {
            *next = at;
        }
        if let Some(next) = self.next.get_mut(at as usize) {
            *next = NONE;
        }
    }

    fn push_front(&mut self, index: usize, at: u32) {
        let Some(shard) = self.shards.get_mut(index) else {
            return;
        };
        let head = core::mem::replace(&mut shard.head, at);
        if head == NONE {
            shard.tail = at;
        }
        if let Some(next) = self.next.get_mut(at as usize) {
            *next = head;
        }
    }

    /// Takes `at` out of the middle of its queue: about endpoints / SHARDS steps.
    fn unlink(&mut self, index: usize, at: u32) -> Option<()> {
        let mut before = NONE;
        let mut here = self.shards.get(index)?.head;
        while here != at {
            before = here;
            here = *self.next.get(here as usize)?;
        }
        let after = *self.next.get(at as usize)?;
        match self.next.get_mut(before as usize) {
            Some(next) => *next = after,
            None => self.shards.get_mut(index)?.head = after,
        }
        if after == NONE {
            self.shards.get_mut(index)?.tail = before;
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_of_a_shard_are_congruent_to_it_and_come_back_after_their_rest() {
        let mut places = SlotAllocator::new(SHARDS, 2 * SHARDS, 60, false);
        let a = places.take(5, 0).unwrap().place();
        let b = places.take(5, 0).unwrap().place();
        assert_eq!((a, b), (SHARDS + 5, 2 * SHARDS + 5));
        assert_eq!(places.take(5, 0), None);
        places.give(b, 10);
        places.give(a, 20);
        assert_eq!(places.take(5, 69), None);
        assert_eq!(places.take(5, 70), Some(TakenSlot::Queue(b)));
        assert_eq!(places.take(5, 79), None);
        assert_eq!(places.take(5, 80), Some(TakenSlot::Queue(a)));
        assert_eq!(places.used(), 2);
    }

    #[test]
    fn a_place_can_be_taken_by_name_while_it_is_free() {
        let mut places = SlotAllocator::new(0, 4 * SHARDS, 60, false);
        let name = 2 * SHARDS + 9;
        assert_eq!(
            places.take_named(name),
            Some(TakenSlot::Named(name, since(0)))
        );
        assert_eq!(places.take_named(name), None);
        places.give(name, 1);
        assert_eq!(
            places.take_named(name),
            Some(TakenSlot::Named(name, since(1)))
        );
        let rest: Vec<u32> = (0..3)
            .map(|_| places.take(9, 1000).unwrap().place())
            .collect();
        assert!(!rest.contains(&name));
        assert_eq!(places.take(9, 1000), None);
    }

    #[test]
    fn what_was_taken_in_vain_stands_where_it_stood() {
        let mut places = SlotAllocator::new(0, 3 * SHARDS, 1, true);
        assert_eq!(places.take(0, 0).unwrap().place(), SHARDS);
        let fresh = places.take(1, 0).unwrap();
        places.untake(fresh);
        assert_eq!(places.take(1, 0), Some(fresh));
        places.give(1, 0);
        let queued = places.take(1, 5).unwrap();
        assert_eq!(queued, TakenSlot::Queue(1));
        places.untake(queued);
        assert_eq!(places.take(1, 5), Some(queued));
    }

    #[test]
    fn a_place_given_back_twice_is_given_out_once() {
        let mut places = SlotAllocator::new(0, SHARDS, 0, false);
        places.take(3, 0).unwrap();
        places.give(3, 0);
        places.give(3, 0);
        assert!(places.take(3, 0).is_some());
        assert_eq!(places.take(3, 0), None);
    }

    /// What is done in a shard leaves all parts but its own as they were.
    #[test]
    fn a_shard_touches_its_part_alone() {
        let mut places = SlotAllocator::new(2 * SHARDS, 3 * SHARDS, 1, false);
        let state =
            |places: &SlotAllocator| places.parts.each_ref().map(|part| format!("{part:?}"));
        for shard in [0, 1, 15, 16, 17, 4_095] {
            let before = state(&places);
            let taken = places.take(shard, 9).unwrap();
            assert_eq!(taken.place() % SHARDS, shard);
            let other = places.take(shard, 9).unwrap();
            places.give(taken.place(), 9);
            places.untake(other);
            let after = state(&places);
            let touched = (0..PARTITIONS).filter(|at| before[*at] != after[*at]);
            assert_eq!(touched.collect::<Vec<_>>(), [shard as usize % PARTITIONS]);
        }
        assert_eq!(places.used(), 0);
    }
}
