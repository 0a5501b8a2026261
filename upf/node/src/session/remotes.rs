//! Which sessions send into a peer's tunnel: those that hear of its Error Indications.
//!
//! As a rule it is one. A gNB that started anew gives a TEID again while sessions from before
//! still have it, and an Error Indication does not say which session's packet it is about.
//!
//! Changes are noted and made many at a time, so that their waits for memory run side by side.

use crate::hash::Seeded;
use crate::session::rules::RemoteTunnel;
use arrayvec::ArrayVec;
use core::hash::BuildHasher;
use core::hint::black_box;
use std::collections::{BTreeSet, HashMap};

/// Changes that are made together: more waits for memory than a core has at a time.
const TOGETHER: usize = 32;

/// Sessions by tunnel.
#[derive(Clone, Debug)]
pub struct Remotes {
    /// By a hash of the tunnel, which may be that of two: then the second is among the others.
    first: HashMap<u32, u32, Seeded>,
    /// Those that came to a tunnel that was taken.
    others: BTreeSet<(RemoteTunnel, u32)>,
    hash: Seeded,
    /// Noted and not made yet, in order.
    noted: ArrayVec<Change, TOGETHER>,
}

/// A session sends into a tunnel from now on, or no longer.
#[derive(Clone, Copy, Debug)]
struct Change {
    tunnel: RemoteTunnel,
    mark: u32,
    session: u32,
    sends: bool,
}

impl Remotes {
    /// Room for `tunnels` tunnels of one session each.
    pub fn new(tunnels: usize, hash: Seeded) -> Self {
        Self {
            first: HashMap::with_capacity_and_hasher(tunnels, hash),
            others: BTreeSet::new(),
            hash,
            noted: ArrayVec::new(),
        }
    }

    fn mark(&self, tunnel: RemoteTunnel) -> u32 {
        self.hash.hash_one(tunnel) as u32
    }

    /// The session sends into the tunnel from now on.
    pub fn add(&mut self, tunnel: RemoteTunnel, session: u32) {
        self.note(tunnel, session, true);
    }

    /// The session no longer does.
    pub fn remove(&mut self, tunnel: RemoteTunnel, session: u32) {
        self.note(tunnel, session, false);
    }

    fn note(&mut self, tunnel: RemoteTunnel, session: u32, sends: bool) {
        if self.noted.is_full() {
            self.make_changes();
        }
        self.noted.push(Change {
            tunnel,
            mark: self.mark(tunnel),
            session,
            sends,
        });
    }

    fn make_changes(&mut self) {
        // None of these looks waits for another one; the changes then find what they need near.
        for change in &self.noted {
            black_box(self.first.contains_key(&change.mark));
        }
        for change in core::mem::take(&mut self.noted) {
            match change.sends {
                true => self.insert(change),
                false => self.take_out(change),
            }
        }
    }

    fn insert(&mut self, change: Change) {
        let Change {
            tunnel,
            mark,
            session,
            ..
        } = change;
        if *self.first.entry(mark).or_insert(session) != session {
            self.others.insert((tunnel, session));
        }
    }

    fn take_out(&mut self, change: Change) {
        let Change {
            tunnel,
            mark,
            session,
            ..
        } = change;
        if self.first.get(&mark) != Some(&session) {
            self.others.remove(&(tunnel, session));
            return;
        }
        let next = match self.others.is_empty() {
            true => None,
            false => self.others_of(tunnel).next(),
        };
        match next {
            Some(next) => {
                self.others.remove(&(tunnel, next));
                self.first.insert(mark, next);
            }
            None => {
                self.first.remove(&mark);
            }
        }
    }

    /// All sessions that do; the first may send into another tunnel.
    pub fn of(&mut self, tunnel: RemoteTunnel) -> impl Iterator<Item = u32> {
        self.make_changes();
        let first = self.first.get(&self.mark(tunnel)).copied();
        first.into_iter().chain(self.others_of(tunnel))
    }

    fn others_of(&self, tunnel: RemoteTunnel) -> impl Iterator<Item = u32> {
        let all = (tunnel, 0)..=(tunnel, u32::MAX);
        self.others.range(all).map(|(_, session)| *session)
    }

    /// Entries in all.
    #[cfg(test)]
    pub fn len(&self) -> usize {
        let mut settled = self.clone();
        settled.make_changes();
        settled.first.len() + settled.others.len()
    }
}
