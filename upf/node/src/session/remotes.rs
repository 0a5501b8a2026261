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
use hashbrown::HashTable;
use std::collections::BTreeSet;

/// Changes that are made together: more waits for memory than a core has at a time.
const TOGETHER: usize = 32;

/// Sessions by tunnel.
#[derive(Clone, Debug)]
pub struct Remotes {
    /// By mark, which may be that of two tunnels: then the second is among the others.
    first: HashTable<First>,
    /// Those that came to a tunnel that was taken.
    others: BTreeSet<(RemoteTunnel, u32)>,
    hash: Seeded,
    /// Noted and not made yet, in order.
    noted: ArrayVec<Change, TOGETHER>,
}

/// The first session of a tunnel.
#[derive(Clone, Copy, Debug)]
struct First {
    mark: u32,
    session: u32,
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

/// The table tells entries apart by the highest and the lowest bits of a hash.
fn spread(mark: u32) -> u64 {
    u64::from(mark) << 32 | u64::from(mark)
}

impl Remotes {
    /// Room for `tunnels` tunnels of one session each.
    pub fn new(tunnels: usize, hash: Seeded) -> Self {
        Self {
            first: HashTable::with_capacity(tunnels),
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
            black_box(self.first(change.mark));
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
        let same = |first: &First| first.mark == mark;
        let entry = self.first.entry(spread(mark), same, |f| spread(f.mark));
        if entry.or_insert(First { mark, session }).get().session != session {
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
        let is_it = |first: &First| first.mark == mark && first.session == session;
        let Ok(mut entry) = self.first.find_entry(spread(mark), is_it) else {
            self.others.remove(&(tunnel, session));
            return;
        };
        let next = match self.others.is_empty() {
            true => None,
            false => others_of(&self.others, tunnel).next(),
        };
        match next {
            Some(next) => {
                self.others.remove(&(tunnel, next));
                entry.get_mut().session = next;
            }
            None => {
                entry.remove();
            }
        }
    }

    fn first(&self, mark: u32) -> Option<u32> {
        let first = self.first.find(spread(mark), |first| first.mark == mark);
        first.map(|first| first.session)
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
