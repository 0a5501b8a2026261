//! Which sessions send into a peer's tunnel: those that hear of its Error Indications.
//!
//! As a rule it is one. A gNB that started anew gives a TEID again while sessions from before
//! still have it, and an Error Indication does not say which session's packet it is about.
//!
//! Changes are noted, and made when what they touch has come into the caches.

use crate::hash::Seeded;
use crate::marks::Marks;
use crate::session::rules::RemoteTunnel;
use arrayvec::ArrayVec;
use core::hash::BuildHasher;
use std::collections::BTreeSet;

/// Changes that are made together.
const TOGETHER: usize = 32;

/// Sessions by tunnel.
#[derive(Clone, Debug)]
pub struct Remotes {
    /// The first session of a tunnel, by mark, which may be that of two tunnels: then the second is
    /// among the others.
    first: Marks,
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
    /// A hash of it.
    mark: u32,
    session: u32,
    sends: bool,
}

impl Remotes {
    /// Room for `tunnels` tunnels of one session each.
    pub fn new(tunnels: usize, hash: Seeded) -> Self {
        Self {
            first: Marks::new(tunnels),
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
        let mark = self.mark(tunnel);
        self.first.prefetch(mark);
        self.noted.push(Change {
            tunnel,
            mark,
            session,
            sends,
        });
    }

    fn make_changes(&mut self) {
        for change in core::mem::take(&mut self.noted) {
            match change.sends {
                true => self.insert(change),
                false => self.take_out(change),
            }
        }
    }

    fn insert(&mut self, change: Change) {
        match self.first(change.mark) {
            None => self.first.insert(change.mark, change.session),
            Some(first) if first == change.session => {}
            Some(_) => {
                self.others.insert((change.tunnel, change.session));
            }
        }
    }

    fn take_out(&mut self, change: Change) {
        let Change {
            tunnel,
            mark,
            session,
            ..
        } = change;
        if self.first(mark) != Some(session) {
            self.others.remove(&(tunnel, session));
            return;
        }
        let next = match self.others.is_empty() {
            true => None,
            false => others_of(&self.others, tunnel).next(),
        };
        match next {
            Some(next) => {
                self.others.remove(&(tunnel, next));
                self.first.replace(mark, session, next);
            }
            None => {
                self.first.remove(mark, session);
            }
        }
    }

    fn first(&self, mark: u32) -> Option<u32> {
        self.first.find(mark, |_| true)
    }

    /// All sessions that do; the first may send into another tunnel.
    pub fn of(&mut self, tunnel: RemoteTunnel) -> impl Iterator<Item = u32> {
        self.make_changes();
        let first = self.first(self.mark(tunnel));
        first.into_iter().chain(others_of(&self.others, tunnel))
    }

    /// Entries in all.
    #[cfg(test)]
    pub fn len(&self) -> usize {
        let mut settled = self.clone();
        settled.make_changes();
        settled.first.len() + settled.others.len()
    }
}

fn others_of(
    others: &BTreeSet<(RemoteTunnel, u32)>,
    tunnel: RemoteTunnel,
) -> impl Iterator<Item = u32> {
    let all = (tunnel, 0)..=(tunnel, u32::MAX);
    others.range(all).map(|(_, session)| *session)
}
