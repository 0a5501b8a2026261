//! Session index by association and CP F-SEID, and lists of the sessions of an association: places alone, since their
//! keys stand in the sessions.

use crate::index::hash_index::Seeded;
use crate::index::partitions::PartitionedMarks;
use crate::store::head::{Head, NONE, SessionFlag};
use crate::store::{CpSession, Session, SessionRef, Store};
use core::hash::BuildHasher;
use sluice_n4::AssociationId;

/// What a session is found by.
pub type CpKey = (AssociationId, CpSession);

/// The places.
#[derive(Debug)]
pub struct Index {
    /// In parts by the highest bits of the key's mark.
    places: PartitionedMarks,
    hash: Seeded,
}

impl Index {
    /// Room for so many sessions.
    pub fn new(sessions: usize, hash: Seeded) -> Self {
        Self {
            places: PartitionedMarks::new(sessions),
            hash,
        }
    }

    /// True if no key means any place.
    #[cfg(test)]
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    fn mark(&self, key: CpKey) -> u32 {
        self.hash.hash_one(key) as u32
    }

    /// Asks the caches for where a key stands.
    pub fn prefetch(&self, key: CpKey) {
        self.places.prefetch(self.mark(key));
    }

    /// The place of a key; `key_of` tells that of a place.
    pub fn find(&self, key: CpKey, key_of: impl Fn(u32) -> Option<CpKey>) -> Option<u32> {
        let same = |at| key_of(at) == Some(key);
        self.places.find(self.mark(key), same)
    }

    /// The key means this place from now on, whatever it meant before.
    pub fn set(&mut self, key: CpKey, at: u32, key_of: impl Fn(u32) -> Option<CpKey>) {
        let mark = self.mark(key);
        match self.places.find(mark, |at| key_of(at) == Some(key)) {
            Some(before) => self.places.replace(mark, before, at),
            None => self.places.insert(mark, at),
        }
    }

    /// The key means this place no longer, if it did.
    pub fn forget(&mut self, key: CpKey, at: u32) {
        self.places.remove(self.mark(key), at);
    }
}

impl Store {
    /// Dooms the sessions of an association for which `ends` holds: nobody can name them from
    /// now on. Returns how many.
    pub fn doom(&mut self, association: AssociationId, ends: impl Fn(&Session) -> bool) -> usize {
        let mut at = self.first.get(association.index()).copied().unwrap_or(NONE);
        let mut count = 0;
        while let Some(head) = self.heads.get(at) {
            let next = head.next;
            if head.association == association && ends(&self.session(at, head)) {
                self.doom_one(at);
                count += 1;
            }
            at = next;
        }
        count
    }

    /// Dooms one session.
    pub fn doom_one(&mut self, at: u32) {
        self.unlink(at);
        self.forget(at);
        if let Some(head) = self.heads.get_mut(at) {
            head.state.set(SessionFlag::DOOMED, true);
            self.link(at);
        }
    }

    /// Whether sessions are to be removed.
    pub fn has_doomed(&self) -> bool {
        self.first_doomed != NONE
    }

    /// A session that is to be removed.
    pub fn doomed(&self) -> Option<(SessionRef, Session)> {
        let at = self.first_doomed;
        let head = self.heads.get(at)?;
        let check = head.check.get();
        Some((SessionRef { at, check }, self.session(at, head)))
    }

    /// All sessions of an association.
    pub fn of(&self, association: AssociationId) -> impl Iterator<Item = (SessionRef, Session)> {
        let mut at = self.first.get(association.index()).copied().unwrap_or(NONE);
        let all = core::iter::from_fn(move || {
            let head = self.heads.get(at)?;
            let check = head.check.get();
            let name = SessionRef { at, check };
            let session = self.session(at, head);
            at = head.next;
            Some((name, session))
        });
        all.filter(move |(_, s)| s.association == association)
    }

    fn head(&mut self, at: u32) -> Option<&mut u32> {
        let head = self.heads.get(at)?;
        if head.is_doomed() {
            Some(&mut self.first_doomed)
        } else {
            self.first.get_mut(head.association.index())
        }
    }

    pub(super) fn link(&mut self, at: u32) {
        let Some(head) = self.head(at) else {
            return;
        };
        let next = core::mem::replace(head, at);
        if let Some(next) = self.heads.get_mut(next) {
            next.previous = at;
        }
        if let Some(session) = self.heads.get_mut(at) {
            (session.previous, session.next) = (NONE, next);
        }
    }

    pub(super) fn unlink(&mut self, at: u32) {
        let Some(Head { previous, next, .. }) = self.heads.get(at).copied() else {
            return;
        };
        match self.heads.get_mut(previous) {
            Some(before) => before.next = next,
            None => {
                if let Some(head) = self.head(at) {
                    *head = next;
                }
            }
        }
        if let Some(after) = self.heads.get_mut(next) {
            after.previous = previous;
        }
    }
}
