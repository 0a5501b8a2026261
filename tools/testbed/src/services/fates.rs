//! Fates of HTTP requests: lost, late or served twice, as a test says or by a seed.

use std::cell::RefCell;

use sluice_services::Request;

/// Longest delay of what is late: longer than any call has for its answer.
const LATE_MOST_MS: u64 = 5_000;

/// Fate of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    /// Served at once.
    Served,
    /// Lost on its way.
    RequestLost,
    /// Late by so many milliseconds.
    RequestLate(u64),
    /// Served twice: the connection ends before the first answer, and it goes again.
    Twice,
    /// Served, and its answer lost.
    AnswerLost,
    /// Served, and its answer late by so many milliseconds.
    AnswerLate(u64),
}

/// A request that a test has something happen to.
struct Next {
    /// Method and beginning of the path.
    line: &'static str,
    /// So many of them are served before.
    before: usize,
    fate: Fate,
}

/// Faults by a seed.
pub(crate) struct Chance {
    /// Of a hundred requests so many have each fate.
    percent: u64,
    state: u64,
}

thread_local! {
    static NEXT: RefCell<Vec<Next>> = const { RefCell::new(Vec::new()) };
}

/// The next request whose method and path begin so, after `before` others, has this fate.
pub fn next(line: &'static str, before: usize, fate: Fate) {
    NEXT.with_borrow_mut(|all| all.push(Next { line, before, fate }));
}

/// Whether all of these have come.
pub fn is_spent() -> bool {
    NEXT.with_borrow(Vec::is_empty)
}

impl Chance {
    pub fn new(percent: u64, seed: u64) -> Self {
        let state = seed;
        Self { percent, state }
    }

    fn below(&mut self, most: u64) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.state ^ (self.state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        (mixed >> 32) % most
    }

    /// Fate of a request.
    pub fn of(&mut self, request: &Request) -> Fate {
        if let Some(fate) = wanted(request) {
            return fate;
        }
        if self.percent == 0 {
            return Fate::Served;
        }
        let (chance, delay) = (self.below(100), 1 + self.below(LATE_MOST_MS));
        match chance / self.percent {
            0 => Fate::RequestLost,
            1 => Fate::RequestLate(delay),
            2 => Fate::Twice,
            3 => Fate::AnswerLost,
            4 => Fate::AnswerLate(delay),
            _ => Fate::Served,
        }
    }
}

/// Fate that a test wants of a request.
fn wanted(request: &Request) -> Option<Fate> {
    let line = super::program::line(request);
    NEXT.with_borrow_mut(|all| {
        let at = all.iter().position(|one| line.starts_with(one.line))?;
        match all.get_mut(at)?.before.checked_sub(1) {
            Some(left) => {
                all.get_mut(at)?.before = left;
                None
            }
            None => Some(all.remove(at).fate),
        }
    })
}
