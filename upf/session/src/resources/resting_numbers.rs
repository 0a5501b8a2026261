//! Numbers of a pool: free ones in the order in which they are given, and who has the others.
//!
//! What comes back queues behind what came back before, and may be taken by name from anywhere in the queue. Each
//! operation takes a constant time; a number takes twelve octets, touched when it is first used.

use core::ops::Range;

/// No number.
const NONE: u32 = u32::MAX;
/// In a number's state: somebody's for each of the reasons. Otherwise 0 for one that was never used, or the second in
/// which it came back, plus one.
const SESSION: u32 = 1 << 31;
const ENTRY: u32 = 1 << 30;
const HELD: u32 = SESSION | ENTRY;

/// Why a number is somebody's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Holder {
    /// It was given to a session, which has it to its end.
    Session,
    /// Packets find an entry by it.
    Entry,
}

impl Holder {
    fn bit(self) -> u32 {
        match self {
            Self::Session => SESSION,
            Self::Entry => ENTRY,
        }
    }
}

/// The numbers below a length.
#[derive(Debug)]
pub struct RestingNumbers {
    rest_s: u32,
    states: Vec<u32>,
    /// Neighbours in the queue of those that came back.
    next: Vec<u32>,
    previous: Vec<u32>,
    head: u32,
    tail: u32,
    /// Numbers below it were all used.
    fresh: u32,
    used: usize,
}

/// A number with its state before it was taken.
#[derive(Clone, Copy, Debug)]
pub struct TakenNumber {
    number: u32,
    state: u32,
    fresh: u32,
}

impl RestingNumbers {
    /// All free. Each rests `rest_s` seconds when it comes back.
    pub fn new(len: u32, rest_s: u32) -> Self {
        let len = len as usize;
        Self {
            rest_s,
            states: vec![0; len],
            next: vec![0; len],
            previous: vec![0; len],
            head: NONE,
            tail: NONE,
            fresh: 0,
            used: 0,
        }
    }

    /// How many are somebody's.
    pub fn used(&self) -> usize {
        self.used
    }

    fn state(&self, number: u32) -> u32 {
        self.states.get(number as usize).copied().unwrap_or(HELD)
    }

    /// Those of a range that may be given now: first those that were never used, then the longest unused. The others
    /// are not looked at, nor is anything for an empty range.
    pub fn free(&self, open: &Range<u32>, now_s: u32) -> impl Iterator<Item = u32> {
        let fresh = self.fresh.max(open.start)..open.end.min(self.states.len() as u32);
        let fresh = fresh.filter(|n| self.state(*n) == 0);
        let first = (self.head != NONE && !open.is_empty()).then_some(self.head);
        let queue = core::iter::successors(first, |at| {
            let next = self.next.get(*at as usize).copied()?;
            (next != NONE).then_some(next)
        });
        let rested = move |at: &u32| now_s.saturating_sub(self.state(*at) - 1) >= self.rest_s;
        let open = open.clone();
        fresh.chain(queue.take_while(rested).filter(move |n| open.contains(n)))
    }

    /// True if it is somebody's for this reason.
    pub fn is_held(&self, number: u32, holder: Holder) -> bool {
        self.state(number) & holder.bit() != 0
    }

    /// True if it came back and was not given again.
    pub fn rests(&self, number: u32) -> bool {
        let state = self.state(number);
        state != 0 && state & HELD == 0
    }

    /// What comes back, or has come back, rests so long.
    pub fn set_rest(&mut self, rest_s: u32) {
        self.rest_s = rest_s;
    }

    /// It is somebody's from now on.
    pub fn take(&mut self, number: u32, holder: Holder) -> TakenNumber {
        let state = self.state(number);
        let taken = TakenNumber {
            number,
            state,
            fresh: self.fresh,
        };
        if state & HELD == 0 {
            self.used += 1;
            if state != 0 {
                self.unlink(number);
            }
        }
        self.set(number, state & HELD | holder.bit());
        // Each number is passed once.
        while self
            .states
            .get(self.fresh as usize)
            .is_some_and(|s| *s != 0)
        {
            self.fresh += 1;
        }
        taken
    }

    /// It is nobody's for this reason any more; if it was for no other one, it rests from now on.
    pub fn release(&mut self, number: u32, holder: Holder, now_s: u32) {
        let state = self.state(number);
        let left = state & !holder.bit();
        if state & holder.bit() == 0 || number as usize >= self.states.len() {
            return;
        }
        if left & HELD != 0 {
            return self.set(number, left);
        }
        self.used -= 1;
        self.set(number, (now_s + 1) & !HELD);
        self.push(number);
    }

    /// As it was before it was taken; the last taken goes first.
    pub fn untake(&mut self, taken: TakenNumber) {
        let TakenNumber {
            number,
            state,
            fresh,
        } = taken;
        if state & HELD == 0 {
            self.used -= 1;
            if state != 0 {
                self.relink(number);
            }
        }
        self.set(number, state);
        self.fresh = fresh;
    }

    fn set(&mut self, number: u32, state: u32) {
        if let Some(place) = self.states.get_mut(number as usize) {
            *place = state;
        }
    }

    fn link(&mut self, before: u32, after: u32) {
        match self.next.get_mut(before as usize) {
            Some(next) => *next = after,
            None => self.head = after,
        }
        match self.previous.get_mut(after as usize) {
            Some(previous) => *previous = before,
            None => self.tail = before,
        }
    }

    fn neighbours(&self, number: u32) -> (u32, u32) {
        let at = number as usize;
        let of = |list: &[u32]| list.get(at).copied().unwrap_or(NONE);
        (of(&self.previous), of(&self.next))
    }

    /// Its own neighbours stay written, so that it can be put back between them.
    fn unlink(&mut self, number: u32) {
        let (before, after) = self.neighbours(number);
        self.link(before, after);
    }

    fn relink(&mut self, number: u32) {
        let (before, after) = self.neighbours(number);
        self.link(before, number);
        self.link(number, after);
    }

    fn push(&mut self, number: u32) {
        self.link(self.tail, number);
        self.link(number, NONE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn first(numbers: &RestingNumbers, now_s: u32) -> Option<u32> {
        numbers.free(&(0..u32::MAX), now_s).next()
    }

    #[test]
    fn what_comes_back_rests_and_queues() {
        let mut numbers = RestingNumbers::new(3, 10);
        for number in 0..3 {
            assert_eq!(first(&numbers, 0), Some(number));
            numbers.take(number, Holder::Session);
        }
        assert_eq!((first(&numbers, 99), numbers.used()), (None, 3));
        numbers.release(1, Holder::Session, 100);
        numbers.release(0, Holder::Session, 105);
        assert_eq!(first(&numbers, 109), None, "it rests");
        assert_eq!(numbers.free(&(0..3), 115).collect::<Vec<_>>(), [1, 0]);
        assert_eq!(numbers.free(&(0..3), 114).collect::<Vec<_>>(), [1]);
        assert_eq!(numbers.free(&(0..1), 115).collect::<Vec<_>>(), [0]);
        assert_eq!(numbers.free(&(0..0), 115).next(), None);
    }

    #[test]
    fn a_number_is_free_when_nobody_has_it_for_any_reason() {
        let mut numbers = RestingNumbers::new(1, 0);
        numbers.take(0, Holder::Session);
        numbers.take(0, Holder::Entry);
        numbers.release(0, Holder::Entry, 1);
        assert_eq!(first(&numbers, 1), None);
        assert!(numbers.is_held(0, Holder::Session) && !numbers.is_held(0, Holder::Entry));
        numbers.release(0, Holder::Entry, 1);
        assert_eq!(numbers.used(), 1, "it was released before");
        numbers.release(0, Holder::Session, 1);
        assert_eq!((first(&numbers, 1), numbers.used()), (Some(0), 0));
    }

    proptest! {
        /// Against a list; and what was undone leaves no trace.
        #[test]
        fn behaves_like_a_list(ops in prop::collection::vec((0..4_u8, 0..8_u32), 1..200)) {
            let mut numbers = RestingNumbers::new(8, 5);
            let (mut never, mut queue, mut held) = ((0..8).collect::<Vec<u32>>(), Vec::new(), Vec::new());
            for (now_s, (op, number)) in (0..).zip(ops) {
                let before = format!("{numbers:?}");
                match op {
                    0 | 1 if !held.contains(&number) => {
                        let by_name = op == 1;
                        let chosen = if by_name { Some(number) } else { first(&numbers, now_s) };
                        let Some(chosen) = chosen else { continue };
                        numbers.take(chosen, Holder::Entry);
                        never.retain(|n| *n != chosen);
                        queue.retain(|(n, _)| *n != chosen);
                        held.push(chosen);
                    }
                    2 => {
                        let taken: Vec<_> = (0..8)
                            .filter(|n| (n * 7 + number) % 3 == 0)
                            .map(|n| numbers.take(n, Holder::Session))
                            .collect();
                        for taken in taken.into_iter().rev() {
                            numbers.untake(taken);
                        }
                        // Neighbours of numbers that are in no queue say nothing.
                        prop_assert_eq!(before, format!("{numbers:?}"));
                    }
                    3 if held.contains(&number) => {
                        numbers.release(number, Holder::Entry, now_s);
                        held.retain(|n| *n != number);
                        queue.push((number, now_s));
                    }
                    _ => {}
                }
                let rested = queue.iter().filter(|(_, freed)| now_s - freed >= 5).map(|(n, _)| *n);
                let free: Vec<u32> = never.iter().copied().chain(rested).collect();
                prop_assert_eq!(numbers.free(&(0..8), now_s).collect::<Vec<_>>(), free);
                prop_assert_eq!(numbers.used(), held.len());
            }
        }
    }
}
