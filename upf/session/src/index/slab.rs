//! Bounded slab of records, named by index.
//!
//! Memory is reserved at start and touched when it is first used, so a large limit costs nothing
//! until sessions come; nothing is allocated after that.

use sluice_mem::prefetch;

/// No record.
const NONE: u32 = u32::MAX;

/// A place. Where `T` has a bit pattern to spare it is no larger than `T`.
#[derive(Clone, Debug)]
pub enum Node<T> {
    /// Nobody's; the next one of these.
    Free(u32),
    /// Somebody's.
    Used(T),
}

/// The arena.
#[derive(Debug)]
pub struct Slab<T> {
    nodes: Vec<Node<T>>,
    limit: usize,
    free: u32,
    used: usize,
}

impl<T> Slab<T> {
    /// An arena of at most `limit` records.
    pub fn new(limit: usize) -> Self {
        Self {
            nodes: Vec::with_capacity(limit),
            limit,
            free: NONE,
            used: 0,
        }
    }

    /// Records in use.
    pub fn used(&self) -> usize {
        self.used
    }

    /// Places that were ever used.
    pub fn places(&self) -> u32 {
        self.nodes.len() as u32
    }

    /// True if there is a place for one more.
    pub fn has_room(&self) -> bool {
        self.used < self.limit
    }

    /// Asks the caches for a record.
    #[inline]
    pub fn prefetch_at(&self, at: u32) {
        if let Some(node) = self.nodes.get(at as usize) {
            prefetch::read_whole(node);
        }
    }

    /// One more record, or `None` if the arena is full.
    pub fn insert(&mut self, value: T) -> Option<u32> {
        let at = self.free;
        let node = Node::Used(value);
        if let Some(free) = self.nodes.get_mut(at as usize) {
            if let Node::Free(next) = core::mem::replace(free, node) {
                self.free = next;
            }
            self.used += 1;
            return Some(at);
        }
        if self.nodes.len() >= self.limit {
            return None;
        }
        self.nodes.push(node);
        self.used += 1;
        Some(self.nodes.len() as u32 - 1)
    }

    /// Frees a record.
    pub fn remove(&mut self, at: u32) {
        if let Some(node @ Node::Used(_)) = self.nodes.get_mut(at as usize) {
            *node = Node::Free(self.free);
            self.free = at;
            self.used -= 1;
        }
    }

    /// A record.
    pub fn get(&self, at: u32) -> Option<&T> {
        match self.nodes.get(at as usize)? {
            Node::Free(_) => None,
            Node::Used(value) => Some(value),
        }
    }

    /// A record.
    pub fn get_mut(&mut self, at: u32) -> Option<&mut T> {
        match self.nodes.get_mut(at as usize)? {
            Node::Free(_) => None,
            Node::Used(value) => Some(value),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_arena_refuses_and_places_are_used_again() {
        let mut slab = Slab::new(2);
        let places = ['x', 'y'].map(|value| slab.insert(value).unwrap());
        assert_eq!((slab.insert('z'), slab.has_room()), (None, false));
        places.into_iter().for_each(|at| slab.remove(at));
        slab.remove(places[0]);
        assert_eq!(slab.get(places[0]), None);
        assert_eq!((slab.used(), slab.has_room()), (0, true));
        assert_eq!(slab.insert('z'), Some(places[1]));
        assert_eq!(slab.get(places[1]), Some(&'z'));
        assert_eq!(slab.places(), 2);
    }
}
