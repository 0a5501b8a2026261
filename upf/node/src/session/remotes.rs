//! Which sessions send into a peer's tunnel: those that hear of its Error Indications.
//!
//! As a rule it is one. A gNB that started anew gives a TEID again while sessions from before
//! still have it, and an Error Indication does not say which session's packet it is about.

use crate::session::hash::Seeded;
use crate::session::rules::RemoteTunnel;
use core::hash::BuildHasher;
use std::collections::{BTreeSet, HashMap};

/// Sessions by tunnel.
#[derive(Debug)]
pub struct Remotes {
    /// By a hash of the tunnel, which may be that of two: then the second is among the others.
    first: HashMap<u32, u32, Seeded>,
    /// Those that came to a tunnel that was taken.
    others: BTreeSet<(RemoteTunnel, u32)>,
    hash: Seeded,
}

impl Remotes {
    /// Room for `tunnels` tunnels of one session each.
    pub fn new(tunnels: usize, hash: Seeded) -> Self {
        Self {
            first: HashMap::with_capacity_and_hasher(tunnels, hash),
            others: BTreeSet::new(),
            hash,
        }
    }

    fn mark(&self, tunnel: RemoteTunnel) -> u32 {
        self.hash.hash_one(tunnel) as u32
    }

    /// The session sends into the tunnel from now on.
    pub fn add(&mut self, tunnel: RemoteTunnel, session: u32) {
        let mark = self.mark(tunnel);
        if *self.first.entry(mark).or_insert(session) != session {
            self.others.insert((tunnel, session));
        }
    }

    /// The session no longer does.
    pub fn remove(&mut self, tunnel: RemoteTunnel, session: u32) {
        let mark = self.mark(tunnel);
        if self.first.get(&mark) != Some(&session) {
            self.others.remove(&(tunnel, session));
            return;
        }
        let next = self.others_of(tunnel).next();
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
    pub fn of(&self, tunnel: RemoteTunnel) -> impl Iterator<Item = u32> {
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
        self.first.len() + self.others.len()
    }
}
