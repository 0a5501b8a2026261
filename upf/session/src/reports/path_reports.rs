//! GTP-U paths that failed or recovered, and what each CP function has been told of them.
//!
//! A path is a bit, and so is what a CP function was told last: the difference is what it is to be told.
//! So however often a path comes and goes while nobody answers, memory stays as it is, and a CP function
//! hears of the last state alone.

use crate::index::hash_index::Seeded;
use crate::limits::{PATH_REPORT_AGAIN_MS, PATH_REPORT_DOUBLINGS, PATHS, PATHS_PER_REPORT};
use crate::network::Side;
use arrayvec::ArrayVec;
use core::net::IpAddr;
use sluice_n4::{AssociationId, Instant};
use std::collections::HashMap;

/// A peer as a Remote GTP-U Peer tells it (TS 29.244, 8.2.70).
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct RemotePath {
    /// Its address.
    pub peer: IpAddr,
    /// On which side it is, and in which network instance, where one interface alone leads there.
    pub place: Option<(Side, Box<str>)>,
}

/// What became of a path (TS 23.527, 5.2; TS 29.244, 7.4.5.1).
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PathChange {
    /// Its peer does not answer Echo Requests.
    Failed(RemotePath),
    /// Its peer answers again.
    Recovered(RemotePath),
    /// Nobody asks a peer any more that did not answer.
    Forgotten(RemotePath),
}

/// The number of a path.
type PathNumber = u16;

/// A set of paths.
#[derive(Clone, Default)]
struct PathSet(Vec<u64>);

impl PathSet {
    fn contains(&self, path: PathNumber) -> bool {
        let word = self.0.get(usize::from(path / 64));
        word.is_some_and(|word| (word >> (path % 64)) & 1 == 1)
    }

    fn set(&mut self, path: PathNumber, is_in: bool) {
        let at = usize::from(path / 64);
        if at >= self.0.len() {
            self.0.resize(at + 1, 0);
        }
        if let Some(word) = self.0.get_mut(at) {
            let bit = 1 << (path % 64);
            *word = if is_in { *word | bit } else { *word & !bit };
        }
    }

    /// Those that are in one of two sets alone.
    fn difference<'a>(&'a self, other: &'a Self) -> impl Iterator<Item = PathNumber> + 'a {
        let word = |set: &Self, at: usize| set.0.get(at).copied().unwrap_or(0);
        let words = 0..self.0.len().max(other.0.len());
        let words = words.map(move |at| (at, word(self, at) ^ word(other, at)));
        words.flat_map(|(at, word)| {
            let bits = (0..64).filter(move |bit| (word >> bit) & 1 == 1);
            bits.map(move |bit| (at * 64 + bit) as PathNumber)
        })
    }
}

/// What one CP function knows.
#[derive(Default)]
struct Told {
    association: Option<AssociationId>,
    failed: PathSet,
    /// What the request says that waits for its response; empty: there is none.
    under_way: ArrayVec<(PathNumber, bool), { 2 * PATHS_PER_REPORT }>,
    /// No request before that.
    waits_until: Option<Instant>,
    /// Requests, one after the other, that were not answered.
    in_vain: u32,
}

/// What a Node Report Request is to say.
#[derive(Debug, Default)]
pub struct Due<'a> {
    /// Paths that failed.
    pub failed: ArrayVec<&'a RemotePath, PATHS_PER_REPORT>,
    /// Paths that recovered.
    pub recovered: ArrayVec<&'a RemotePath, PATHS_PER_REPORT>,
}

/// All of it.
#[derive(Default)]
pub struct PathReports {
    paths: Vec<Option<RemotePath>>,
    numbers: HashMap<RemotePath, PathNumber, Seeded>,
    free: Vec<PathNumber>,
    failed: PathSet,
    /// By place of the association.
    told: Vec<Told>,
    /// Somebody may have to be told.
    is_due: bool,
    /// Not later than the first [`Told::waits_until`].
    pub next_try: Option<Instant>,
}

impl PathReports {
    /// Takes in what happened.
    pub fn change(&mut self, change: &PathChange) {
        let known = |paths: &Self, path| paths.numbers.get(path).copied();
        match change {
            PathChange::Failed(path) => {
                if let Some(number) = known(self, path).or_else(|| self.add(path)) {
                    self.failed.set(number, true);
                }
            }
            PathChange::Recovered(path) => {
                if let Some(number) = known(self, path) {
                    self.failed.set(number, false);
                }
            }
            PathChange::Forgotten(path) => {
                if let Some(number) = known(self, path) {
                    self.failed.set(number, false);
                    for told in &mut self.told {
                        told.failed.set(number, false);
                        told.under_way.retain(|(path, _)| *path != number);
                    }
                    self.free_settled();
                }
            }
        }
        self.is_due = true;
    }

    fn add(&mut self, path: &RemotePath) -> Option<PathNumber> {
        let number = match self.free.pop() {
            Some(number) => number,
            None if self.paths.len() < PATHS => {
                self.paths.push(None);
                (self.paths.len() - 1) as PathNumber
            }
            None => return None,
        };
        *self.paths.get_mut(usize::from(number))? = Some(path.clone());
        self.numbers.insert(path.clone(), number);
        Some(number)
    }

    /// A CP function that knows nothing yet: it is new, or has started anew.
    pub fn begin(&mut self, association: AssociationId) {
        *self.told_mut(association) = Told {
            association: Some(association),
            ..Told::default()
        };
        self.is_due = true;
    }

    /// Somebody who did not answer may be asked again.
    pub fn hasten(&mut self, association: AssociationId) {
        let told = self.told_mut(association);
        (told.waits_until, told.in_vain) = (None, 0);
        self.is_due = true;
    }

    /// True once after anything that may have to be told, or if it is time for another try.
    pub fn take_due(&mut self, now: Instant) -> bool {
        let is_time = self.next_try.is_some_and(|at| at <= now);
        core::mem::take(&mut self.is_due) || is_time
    }

    /// What a CP function is to be told next. A request of this content is under way from then on, until
    /// [`answered`](Self::answered) or [`failed`](Self::failed).
    pub fn next(&mut self, association: AssociationId, now: Instant) -> Option<Due<'_>> {
        if self.told_mut(association).association != Some(association) {
            self.begin(association);
        }
        let told = self.told.get_mut(association.index())?;
        if let Some(at) = told.waits_until.filter(|at| *at > now) {
            self.next_try = Some(self.next_try.map_or(at, |next| next.min(at)));
            return None;
        }
        told.waits_until = None;
        if !told.under_way.is_empty() {
            return None;
        }
        let mut due = Due::default();
        for number in self.failed.difference(&told.failed) {
            let Some(Some(path)) = self.paths.get(usize::from(number)) else {
                continue;
            };
            let has_failed = self.failed.contains(number);
            let list = if has_failed {
                &mut due.failed
            } else {
                &mut due.recovered
            };
            if list.try_push(path).is_ok() {
                told.under_way.push((number, has_failed));
            }
        }
        (!told.under_way.is_empty()).then_some(due)
    }

    /// A CP function has answered, or will never take it: it is not told again.
    pub fn answered(&mut self, association: AssociationId) {
        let told = self.told_mut(association);
        told.in_vain = 0;
        for (number, has_failed) in core::mem::take(&mut told.under_way) {
            told.failed.set(number, has_failed);
        }
        self.free_settled();
        self.is_due = true;
    }

    /// A request could not be sent, or was not answered: the same, as it is then, is told at a later time. Some
    /// CP functions know no Node Reports, so each time it takes twice as long.
    pub fn failed(&mut self, association: AssociationId, now: Instant) {
        let told = self.told_mut(association);
        told.under_way.clear();
        let again = now.plus_ms(PATH_REPORT_AGAIN_MS << told.in_vain);
        told.in_vain = (told.in_vain + 1).min(PATH_REPORT_DOUBLINGS);
        told.waits_until = Some(again);
        self.next_try = Some(self.next_try.map_or(again, |next| next.min(again)));
    }

    /// An association is no more.
    pub fn end(&mut self, association: AssociationId) {
        *self.told_mut(association) = Told::default();
        self.free_settled();
    }

    /// The number of failed paths.
    pub fn failed_count(&self) -> usize {
        let words = self.failed.0.iter();
        words.map(|word| word.count_ones() as usize).sum()
    }

    fn told_mut(&mut self, association: AssociationId) -> &mut Told {
        let at = association.index();
        if at >= self.told.len() {
            self.told.resize_with(at + 1, Told::default);
        }
        &mut self.told[at]
    }

    /// Paths that have not failed, and of which everybody knows so, need no number.
    fn free_settled(&mut self) {
        let mut needed = self.failed.clone();
        for told in &self.told {
            let words = needed.0.len().max(told.failed.0.len());
            needed.0.resize(words, 0);
            for (all, own) in needed.0.iter_mut().zip(&told.failed.0) {
                *all |= own;
            }
            for (number, _) in &told.under_way {
                needed.set(*number, true);
            }
        }
        for (number, place) in self.paths.iter_mut().enumerate() {
            let number = number as PathNumber;
            if !needed.contains(number)
                && let Some(path) = place.take()
            {
                self.numbers.remove(&path);
                self.free.push(number);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_differ_where_one_alone_has_a_path() {
        let (mut a, mut b) = (PathSet::default(), PathSet::default());
        for path in [0, 63, 64, 500] {
            a.set(path, true);
        }
        for path in [63, 500, 501, 7] {
            b.set(path, true);
        }
        b.set(500, false);
        let all: Vec<_> = a.difference(&b).collect();
        assert_eq!(all, [0, 7, 64, 500, 501]);
        assert_eq!(b.difference(&a).collect::<Vec<_>>(), all);
        assert!(a.contains(500) && !b.contains(500) && !a.contains(40_000));
    }
}
