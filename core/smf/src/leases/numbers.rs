//! Numbers of a range, each held by one session at a time; one that comes back rests before it is given again: packets to
//! whoever had it may be on their way.

use core::ops::Range;
use std::collections::{BTreeMap, BTreeSet};

use sluice_sbi::Instant;

/// State of a number that was given.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Use {
    /// By so many holders: more than one only of what a subscriber has of its own.
    Held(u32),
    /// Until then.
    Resting(Instant),
}

/// Numbers of a range. Memory follows what is held and rests, and not the range.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Numbers {
    range: Range<u64>,
    /// The number that is given first.
    first: u64,
    /// How many from that on were looked at.
    passed: u64,
    uses: BTreeMap<u64, Use>,
    resting: BTreeSet<(Instant, u64)>,
}

impl Numbers {
    /// All are free; `first` is given first, wherever in the range it is.
    pub fn new(range: Range<u64>, first: u64) -> Self {
        Self {
            first: first.clamp(range.start, range.end.max(range.start + 1) - 1),
            range,
            passed: 0,
            uses: BTreeMap::new(),
            resting: BTreeSet::new(),
        }
    }

    /// New ones are of this range from now on.
    pub fn set_range(&mut self, range: Range<u64>, first: u64) {
        if self.range != range {
            let Self { uses, resting, .. } = std::mem::replace(self, Self::new(range, first));
            (self.uses, self.resting) = (uses, resting);
        }
    }

    /// A number for a new holder: of those that have rested the one that has longest, else one that was never given.
    /// None if all are held, or rest.
    pub fn give(&mut self, now: Instant) -> Option<u64> {
        let number = self.rested(now).or_else(|| self.fresh())?;
        self.hold(number);
        Some(number)
    }

    fn rested(&self, now: Instant) -> Option<u64> {
        let rested = self.resting.range(..=(now, u64::MAX));
        let mut rested = rested.map(|(_, number)| *number);
        rested.find(|number| self.range.contains(number))
    }

    fn fresh(&mut self) -> Option<u64> {
        let len = self.range.end.saturating_sub(self.range.start);
        while self.passed < len {
            let offset = (self.first - self.range.start + self.passed) % len;
            self.passed += 1;
            let number = self.range.start + offset;
            if !self.uses.contains_key(&number) {
                return Some(number);
            }
        }
        None
    }

    /// Whether one may be had: for sure none if not.
    pub fn has_room(&self, now: Instant) -> bool {
        let len = self.range.end.saturating_sub(self.range.start);
        self.passed < len || self.rested(now).is_some()
    }

    /// Whether somebody has it.
    pub fn is_held(&self, number: u64) -> bool {
        matches!(self.uses.get(&number), Some(Use::Held(_)))
    }

    /// Notes a holder, or one more.
    pub fn hold(&mut self, number: u64) {
        let held = match self.uses.get(&number) {
            Some(Use::Held(holders)) => *holders,
            Some(Use::Resting(until)) => {
                self.resting.remove(&(*until, number));
                0
            }
            None => 0,
        };
        self.uses.insert(number, Use::Held(held + 1));
    }

    /// A holder has it no more; after the last one it rests until then.
    pub fn give_back(&mut self, number: u64, until: Instant) {
        match self.uses.get_mut(&number) {
            Some(Use::Held(holders)) if *holders > 1 => *holders -= 1,
            Some(Use::Held(_)) => self.rest(number, until),
            Some(Use::Resting(_)) | None => {}
        }
    }

    fn rest(&mut self, number: u64, until: Instant) {
        self.uses.insert(number, Use::Resting(until));
        self.resting.insert((until, number));
    }

    /// Numbers that rest, as another range is to know them.
    pub fn resting(&self) -> impl Iterator<Item = (Instant, u64)> {
        self.resting.iter().copied()
    }

    /// One that nobody holds rests until then.
    pub fn rest_free(&mut self, number: u64, until: Instant) {
        if !self.uses.contains_key(&number) {
            self.rest(number, until);
        }
    }

    /// How many are held.
    pub fn held(&self) -> usize {
        self.uses.len() - self.resting.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REST: u64 = 10;

    #[test]
    fn one_that_has_rested_is_given_before_one_that_was_never_given() {
        let mut numbers = Numbers::new(5..8, 6);
        let now = Instant(100);
        assert_eq!(numbers.give(now), Some(6));
        numbers.give_back(6, Instant(110));
        assert_eq!(numbers.give(now), Some(7));
        assert_eq!(numbers.give(Instant(110)), Some(6));
        assert_eq!(numbers.give(Instant(110)), Some(5));
        assert!(!numbers.has_room(Instant(110)));
        assert_eq!(numbers.give(Instant(110)), None);
    }

    #[test]
    fn one_that_a_subscriber_has_twice_is_free_after_both() {
        let mut numbers = Numbers::new(0..1, 0);
        numbers.hold(0);
        numbers.hold(0);
        numbers.give_back(0, Instant(0));
        assert!(numbers.is_held(0));
        assert_eq!(numbers.give(Instant(9)), None);
        numbers.give_back(0, Instant(0));
        assert_eq!(numbers.give(Instant(9)), Some(0));
    }

    #[test]
    fn another_range_keeps_what_is_held_and_gives_of_its_own_alone() {
        let mut numbers = Numbers::new(0..4, 0);
        assert_eq!(numbers.give(Instant(0)), Some(0));
        assert_eq!(numbers.give(Instant(0)), Some(1));
        numbers.give_back(0, Instant(0));
        numbers.set_range(1..3, 1);
        assert_eq!(numbers.give(Instant(5)), Some(2));
        assert_eq!(numbers.give(Instant(5)), None);
        numbers.give_back(1, Instant(5));
        assert_eq!(numbers.give(Instant(5)), Some(1));
    }

    /// A sequence that looks random.
    fn mixed(state: &mut u64) -> u64 {
        *state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        *state >> 33
    }

    /// Whatever comes and goes: none is held twice or given before it has rested, and in the end all can be had.
    #[test]
    fn none_is_given_twice_and_all_are_given_back() {
        for seed in 0..200 {
            let mut state = seed;
            let len = 1 + mixed(&mut state) % 12;
            let first = mixed(&mut state) % len;
            let mut numbers = Numbers::new(0..len, first);
            // What is held, and until when what is not must rest.
            let mut held: BTreeSet<u64> = BTreeSet::new();
            let mut rests: BTreeMap<u64, u64> = BTreeMap::new();
            let mut now = 0;
            for _ in 0..400 {
                now += mixed(&mut state) % 4;
                match mixed(&mut state) % 3 {
                    0 => {
                        let given = numbers.give(Instant(now));
                        let is_free =
                            |n: &u64| !held.contains(n) && rests.get(n).is_none_or(|at| *at <= now);
                        match given {
                            Some(number) => {
                                assert!(number < len && is_free(&number), "seed {seed}: {number}");
                                held.insert(number);
                            }
                            None => assert!(!(0..len).any(|n| is_free(&n)), "seed {seed}"),
                        }
                    }
                    1 => {
                        let number = mixed(&mut state) % len;
                        if !numbers.is_held(number) {
                            numbers.hold(number);
                            assert!(held.insert(number), "seed {seed}: {number}");
                        }
                    }
                    _ => {
                        let at = mixed(&mut state) as usize;
                        if let Some(number) = held.iter().nth(at % held.len().max(1)).copied() {
                            held.remove(&number);
                            rests.insert(number, now + REST);
                            numbers.give_back(number, Instant(now + REST));
                        }
                    }
                }
                assert_eq!(numbers.held(), held.len(), "seed {seed}");
            }
            for number in held {
                numbers.give_back(number, Instant(now));
            }
            let all: BTreeSet<u64> =
                std::iter::from_fn(|| numbers.give(Instant(now + REST))).collect();
            assert_eq!(all, (0..len).collect(), "seed {seed}");
        }
    }
}
