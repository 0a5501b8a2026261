//! Index of sessions by remote F-TEID, for Error Indications.
//!
//! As a rule it is one. A gNB that started anew gives a TEID again while sessions from before
//! still have it, and an Error Indication does not say which session's packet it is about.
//!
//! Changes are noted, and made when what they touch has come into the caches.

use crate::index::hash_index::{HashIndex, Seeded};
use crate::index::partitions::{PARTITIONS, Partition};
use crate::rules::RemoteTunnel;
use arrayvec::ArrayVec;
use core::hash::BuildHasher;
use std::collections::BTreeSet;

/// Changes that are made together.
const TOGETHER: usize = 8;

/// Sessions by tunnel, in parts by the highest bits of the tunnel's mark.
#[derive(Clone, Debug)]
pub struct RemoteFteidIndex {
    parts: Box<[TunnelPart; PARTITIONS]>,
    hash: Seeded,
}

/// One part.
#[derive(Clone, Debug)]
struct TunnelPart {
    /// The first session of a tunnel, by mark, which may be that of two tunnels: then the second is
    /// among the others.
    first: HashIndex,
    /// Those that came to a tunnel that was taken.
    others: BTreeSet<(RemoteTunnel, u32)>,
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

impl RemoteFteidIndex {
    /// Room for `tunnels` tunnels of one session each.
    pub fn new(tunnels: usize, hash: Seeded) -> Self {
        let part = |_| TunnelPart {
            first: HashIndex::new(tunnels.div_ceil(PARTITIONS)),
            others: BTreeSet::new(),
            noted: ArrayVec::new(),
        };
        Self {
            parts: Box::new(core::array::from_fn(part)),
            hash,
        }
    }

    /// A tunnel's part, and its mark there: the bits that all marks of the part share stand last.
    fn part(&mut self, tunnel: RemoteTunnel) -> (&mut TunnelPart, u32) {
        let mark = self.hash.hash_one(tunnel) as u32;
        let part = Partition::of_mark(mark);
        (
            &mut self.parts[part.index() % PARTITIONS],
            Partition::inside(mark),
        )
    }

    /// The session sends into the tunnel from now on.
    pub fn add(&mut self, tunnel: RemoteTunnel, session: u32) {
        let (part, mark) = self.part(tunnel);
        part.note(tunnel, mark, session, true);
    }

    /// The session no longer does.
    pub fn remove(&mut self, tunnel: RemoteTunnel, session: u32) {
        let (part, mark) = self.part(tunnel);
        part.note(tunnel, mark, session, false);
    }

    /// All sessions that do; the first may send into another tunnel.
    pub fn of(&mut self, tunnel: RemoteTunnel) -> impl Iterator<Item = u32> {
        let (part, mark) = self.part(tunnel);
        part.of(tunnel, mark)
    }

    /// Entries in all.
    #[cfg(test)]
    pub fn len(&self) -> usize {
        let mut settled = self.clone();
        settled.parts.iter_mut().for_each(TunnelPart::make_changes);
        settled
            .parts
            .iter()
            .map(|part| part.first.len() + part.others.len())
            .sum()
    }
}

impl TunnelPart {
    fn note(&mut self, tunnel: RemoteTunnel, mark: u32, session: u32, sends: bool) {
        if self.noted.is_full() {
            self.make_changes();
        }
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
            if change.sends {
                self.insert(change)
            } else {
                self.take_out(change)
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
        let next = if self.others.is_empty() {
            None
        } else {
            others_of(&self.others, tunnel).next()
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

    fn of(&mut self, tunnel: RemoteTunnel, mark: u32) -> impl Iterator<Item = u32> {
        self.make_changes();
        let first = self.first(mark);
        first.into_iter().chain(others_of(&self.others, tunnel))
    }
}

fn others_of(
    others: &BTreeSet<(RemoteTunnel, u32)>,
    tunnel: RemoteTunnel,
) -> impl Iterator<Item = u32> {
    let all = (tunnel, 0)..=(tunnel, u32::MAX);
    others.range(all).map(|(_, session)| *session)
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::net::Ipv4Addr;

    /// What is done with a tunnel leaves all parts but its own as they were.
    #[test]
    fn a_tunnel_touches_its_part_alone() {
        let mut all = RemoteFteidIndex::new(64, Seeded(3));
        for teid in 1..300 {
            let tunnel = RemoteTunnel {
                teid,
                address: Ipv4Addr::new(192, 0, 2, (teid % 7) as u8).into(),
            };
            let mark = all.hash.hash_one(tunnel) as u32;
            let before = all.clone();
            all.add(tunnel, teid);
            all.add(tunnel, teid + 1_000);
            all.remove(tunnel, teid + 1_000);
            assert_eq!(all.of(tunnel).collect::<Vec<_>>(), [teid]);
            let text = |part: &TunnelPart| format!("{part:?}");
            let touched =
                (0..PARTITIONS).filter(|at| text(&all.parts[*at]) != text(&before.parts[*at]));
            assert_eq!(
                touched.collect::<Vec<_>>(),
                [Partition::of_mark(mark).index()]
            );
        }
        assert_eq!(all.len(), 299);
    }
}
