//! Which sessions send into a peer's tunnel: those that hear of its Error Indications.
//!
//! As a rule it is one. A gNB that started anew gives a TEID again while sessions from before
//! still have it, and an Error Indication does not say which session's packet it is about.

use crate::session::hash::Seeded;
use crate::session::rules::RemoteTunnel;
use std::collections::{BTreeSet, HashMap};

/// Sessions by tunnel.
#[derive(Debug)]
pub struct Remotes {
    first: HashMap<RemoteTunnel, u32, Seeded>,
    /// Those that came to a tunnel that was taken.
    others: BTreeSet<(RemoteTunnel, u32)>,
}

impl Remotes {
    /// Room for `tunnels` tunnels of one session each.
    pub fn new(tunnels: usize, hash: Seeded) -> Self {
        Self {
            first: HashMap::with_capacity_and_hasher(tunnels, hash),
            others: BTreeSet::new(),
        }
    }

    /// The session sends into the tunnel from now on.
    pub fn add(&mut self, tunnel: RemoteTunnel, session: u32) {
        if *self.first.entry(tunnel).or_insert(session) != session {
            self.others.insert((tunnel, session));
        }
    }

    /// The session no longer does.
    pub fn remove(&mut self, tunnel: RemoteTunnel, session: u32) {
        if self.first.get(&tunnel) != Some(&session) {
            self.others.remove(&(tunnel, session));
            return;
        }
        let next = self.others_of(tunnel).next();
        match next {
            Some(next) => {
                self.others.remove(&(tunnel, next));
                self.first.insert(tunnel, next);
            }
            None => {
                self.first.remove(&tunnel);
            }
        }
    }

    /// All sessions that do.
    pub fn of(&self, tunnel: RemoteTunnel) -> impl Iterator<Item = u32> {
        let first = self.first.get(&tunnel).copied();
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
