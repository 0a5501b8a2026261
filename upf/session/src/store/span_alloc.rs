//! Span allocator: an arena of granules of 16 octets, given out in runs of adjacent ones, so that a record
//! is fetched at once.
//!
//! Memory is reserved at start and touched when it is first used; nothing is allocated after
//! that, except when room has run short for a long run though there is enough in short ones:
//! then neighbours are joined, which takes a while and some memory for the time being.

use sluice_mem::prefetch;
use sluice_mem::prefetch::CACHE_LINE;

/// Granules of the longest run.
pub const RUN_MAX: usize = 1023;

/// Neighbours are joined again only after this part of the arena (1/n) has come back since the
/// last time, so that requests that find no room cannot keep the N4 thread at it.
const JOIN_AFTER: usize = 16;

const NONE: u32 = u32::MAX;

/// The arena.
#[derive(Debug)]
pub struct SpanAllocator {
    granules: Granules,
    limit: usize,
    /// By length: the first of the runs that came back. Each has its successor in its first octets.
    free: Box<[u32; RUN_MAX + 1]>,
    used: usize,
    given_since_join: usize,
}

/// A run of adjacent granules.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Span {
    at: u32,
    len: u16,
}

impl Span {
    /// The run of these [parts](Self::parts).
    pub fn of(at: u32, len: u16) -> Self {
        Self { at, len }
    }

    /// Its first granule, and how many there are.
    pub fn parts(self) -> (u32, u16) {
        (self.at, self.len)
    }

    /// Granules in it.
    pub fn len(self) -> usize {
        usize::from(self.len)
    }
}

/// How many granules so many octets take.
pub fn granules_for(octets: usize) -> usize {
    octets.div_ceil(GRANULE)
}

impl SpanAllocator {
    /// An arena of `limit` granules.
    pub fn new(limit: usize) -> Self {
        let limit = limit.min(NONE as usize);
        Self {
            granules: Granules::new(limit),
            limit,
            free: Box::new([NONE; RUN_MAX + 1]),
            used: 0,
            given_since_join: 0,
        }
    }

    /// Granules given out.
    pub fn used(&self) -> usize {
        self.used
    }

    /// True if a run of `len` granules can be had.
    pub fn has_room(&mut self, len: usize) -> bool {
        if self.would_fit(len) {
            return true;
        }
        let enough = self.limit - self.used >= len && len <= RUN_MAX;
        if enough && self.given_since_join >= self.limit.div_ceil(JOIN_AFTER) {
            self.join();
        }
        self.would_fit(len)
    }

    fn would_fit(&self, len: usize) -> bool {
        len <= RUN_MAX && (self.granules.len() + len <= self.limit || self.shortest(len).is_some())
    }

    /// The shortest length not below `len` of which there is a run.
    fn shortest(&self, len: usize) -> Option<usize> {
        let heads = self.free.iter().enumerate().skip(len);
        let mut there = heads.filter(|(_, head)| **head != NONE);
        there.next().map(|(len, _)| len)
    }

    /// A run of `len` granules with anything in them, if it can be [had](Self::has_room).
    pub fn take(&mut self, len: usize) -> Option<Span> {
        let exact = *self.free.get(len)?;
        let at = if len == 0 {
            0
        } else if exact != NONE {
            self.pop(len)?
        } else if self.granules.len() + len <= self.limit {
            let at = self.granules.len();
            self.granules.resize(at + len);
            at as u32
        } else {
            let longer = self.shortest(len)?;
            let at = self.pop(longer)?;
            self.push(at + len as u32, longer - len);
            at
        };
        self.used += len;
        Some(Span {
            at,
            len: len as u16,
        })
    }

    /// Takes a run back.
    pub fn give(&mut self, run: Span) {
        self.push(run.at, run.len());
        self.used -= run.len();
        self.given_since_join += run.len();
    }

    /// What stands in a run.
    #[inline]
    pub fn octets(&self, run: Span) -> &[u8] {
        self.granules.get(run.at as usize, run.len())
    }

    /// The same, to be written.
    #[inline]
    pub fn octets_mut(&mut self, run: Span) -> &mut [u8] {
        self.granules.get_mut(run.at as usize, run.len())
    }

    /// Asks the caches for a run: the first eight lines of a long one.
    #[inline]
    pub fn prefetch(&self, run: Span) {
        let (first, each_line) = (run.at as usize, CACHE_LINE / GRANULE);
        // A run may begin or end in the midst of a line.
        let end = first + run.len();
        let lines = first / each_line..end.div_ceil(each_line);
        for line in lines.take(8) {
            self.granules.prefetch(line * each_line);
        }
    }

    fn push(&mut self, at: u32, len: usize) {
        if len == 0 {
            return;
        }
        let granule = self.granules.get_mut(at as usize, 1);
        if let (Some(head), Some(link)) = (self.free.get_mut(len), granule.first_chunk_mut::<4>()) {
            *link = core::mem::replace(head, at).to_le_bytes();
        }
    }

    fn pop(&mut self, len: usize) -> Option<u32> {
        let head = self.free.get_mut(len)?;
        let link = self.granules.get(*head as usize, 1).first_chunk::<4>()?;
        Some(core::mem::replace(head, u32::from_le_bytes(*link)))
    }

    /// Joins free runs that lie side by side.
    #[cold]
    fn join(&mut self) {
        self.given_since_join = 0;
        let mut runs = Vec::new();
        for len in 1..=RUN_MAX {
            while let Some(at) = self.pop(len) {
                runs.push((at as usize, len));
            }
        }
        runs.sort_unstable();
        let mut rest = runs.into_iter().peekable();
        while let Some((at, mut len)) = rest.next() {
            while let Some((_, more)) = rest.next_if(|(next, _)| *next == at + len) {
                len += more;
            }
            if at + len == self.granules.len() {
                self.granules.resize(at);
                return;
            }
            for first in (0..len).step_by(RUN_MAX) {
                self.push((at + first) as u32, (len - first).min(RUN_MAX));
            }
        }
    }
}

/// Octets of a granule: a quarter of what a cache fetches. Records are some hundred octets long, so that whole lines
/// would leave many octets unused.
pub const GRANULE: usize = CACHE_LINE / 4;

/// The granules. Memory is reserved at start and touched when they are first used.
#[derive(Debug)]
pub struct Granules {
    octets: Vec<u8>,
    /// Octets in front of the first one: memory begins anywhere.
    begin: usize,
}

impl Granules {
    /// Room for so many, and none yet.
    pub fn new(limit: usize) -> Self {
        let mut octets: Vec<u8> =
            Vec::with_capacity(limit.saturating_mul(GRANULE).saturating_add(CACHE_LINE - 1));
        let begin = octets.as_ptr().align_offset(CACHE_LINE).min(CACHE_LINE - 1);
        octets.resize(begin, 0);
        Self { octets, begin }
    }

    /// How many there are.
    #[inline]
    pub fn len(&self) -> usize {
        (self.octets.len() - self.begin) / GRANULE
    }

    /// So many from now on; those that come are 0.
    pub fn resize(&mut self, len: usize) {
        self.octets.resize(self.begin + len * GRANULE, 0);
    }

    /// So many adjacent ones; none if they are not all there.
    #[inline]
    pub fn get(&self, first: usize, count: usize) -> &[u8] {
        let at = self.begin + first * GRANULE;
        self.octets
            .get(at..at + count * GRANULE)
            .unwrap_or_default()
    }

    /// The same, to be written.
    #[inline]
    pub fn get_mut(&mut self, first: usize, count: usize) -> &mut [u8] {
        let at = self.begin + first * GRANULE;
        let octets = self.octets.get_mut(at..at + count * GRANULE);
        octets.unwrap_or_default()
    }

    /// Asks the caches for one.
    #[inline]
    pub fn prefetch(&self, at: usize) {
        prefetch::read_index(&self.octets, self.begin + at * GRANULE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn fill(runs: &mut SpanAllocator, run: Span, with: u8) {
        runs.octets_mut(run).fill(with);
    }

    proptest! {
        /// Runs never overlap, and `has_room` tells the truth.
        #[test]
        fn what_is_given_out_is_nobody_elses(steps in prop::collection::vec((1..12usize, any::<prop::sample::Index>(), any::<bool>()), 1..300)) {
            let mut runs = SpanAllocator::new(120);
            let mut held: Vec<(Span, u8)> = Vec::new();
            for (i, (len, which, gives)) in steps.into_iter().enumerate() {
                if gives && !held.is_empty() {
                    let (run, with) = held.swap_remove(which.index(held.len()));
                    prop_assert!(runs.octets(run).iter().all(|octet| *octet == with));
                    runs.give(run);
                    continue;
                }
                let room = runs.has_room(len);
                let taken = runs.take(len);
                prop_assert_eq!(room, taken.is_some());
                if let Some(run) = taken {
                    fill(&mut runs, run, i as u8);
                    held.push((run, i as u8));
                }
            }
            let sum: usize = held.iter().map(|(run, _)| run.len()).sum();
            prop_assert_eq!(runs.used(), sum);
            for (run, with) in held {
                prop_assert!(runs.octets(run).iter().all(|octet| *octet == with));
                runs.give(run);
            }
            prop_assert_eq!(runs.used(), 0);
        }
    }

    #[test]
    fn short_runs_that_came_back_make_room_for_long_ones() {
        let mut runs = SpanAllocator::new(64);
        let short: Vec<Span> = (0..32).map(|_| runs.take(2).unwrap()).collect();
        assert!(!runs.has_room(3));
        short.into_iter().for_each(|run| runs.give(run));
        assert!(runs.has_room(64));
        let whole = runs.take(64).unwrap();
        assert_eq!(runs.octets(whole).len(), 64 * GRANULE);
        assert!(runs.take(1).is_none());
    }

    #[test]
    fn room_that_is_not_there_is_not_searched_again_and_again() {
        let mut runs = SpanAllocator::new(64);
        let held: Vec<Span> = (0..64).map(|_| runs.take(1).unwrap()).collect();
        for run in held.iter().step_by(2) {
            runs.give(*run);
        }
        assert!(!runs.has_room(2));
        assert_eq!(runs.given_since_join, 0);
        runs.give(held[1]);
        assert!(!runs.has_room(2), "one granule is too little to look again");
        for run in held.iter().skip(3).step_by(2).take(3) {
            runs.give(*run);
        }
        assert!(runs.has_room(8));
    }
}

#[cfg(test)]
mod granules_tests {
    use super::*;

    #[test]
    fn the_first_lies_at_a_cache_line() {
        for limit in [1, 3, 1000] {
            let mut granules = Granules::new(limit);
            let room = granules.octets.capacity();
            granules.resize(limit);
            assert_eq!(granules.len(), limit);
            assert_eq!(granules.get(0, 1).as_ptr().addr() % CACHE_LINE, 0);
            assert_eq!(granules.octets.capacity(), room, "it stays where it is");
            granules.get_mut(limit - 1, 1).fill(7);
            assert_eq!(granules.get(limit - 1, 1), [7; GRANULE]);
            assert!(granules.get(limit - 1, 2).is_empty());
            granules.resize(limit - 1);
            granules.resize(limit);
            assert_eq!(granules.get(limit - 1, 1), [0; GRANULE]);
        }
    }
}
