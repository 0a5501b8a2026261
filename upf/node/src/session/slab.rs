//! Records in a bounded arena, linked by index: the rules of all sessions.
//!
//! Memory is reserved at start and touched when it is first used, so a large limit costs nothing
//! until sessions come; nothing is allocated after that.

use sluice_mem::prefetch;

/// No record.
const NONE: u32 = u32::MAX;

#[derive(Clone, Debug)]
struct Node<T> {
    next: u32,
    value: T,
}

/// The arena.
#[derive(Debug)]
pub struct Slab<T> {
    nodes: Vec<Node<T>>,
    limit: usize,
    free: u32,
    used: usize,
}

/// A list of records in a [`Slab`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Chain {
    head: u32,
    len: u32,
}

impl Chain {
    /// A list of nothing.
    pub const EMPTY: Self = Self { head: NONE, len: 0 };

    /// Records in it.
    pub fn len(self) -> usize {
        self.len as usize
    }
}

impl<T: Copy> Slab<T> {
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

    /// True if `old` may be replaced by `new` records.
    pub fn has_room(&self, old: Chain, new: usize) -> bool {
        self.used - old.len() + new <= self.limit
    }

    /// The records of a list in order.
    pub fn iter(&self, chain: Chain) -> impl Iterator<Item = &T> {
        let mut at = chain.head;
        core::iter::from_fn(move || {
            let node = self.nodes.get(at as usize)?;
            at = node.next;
            Some(&node.value)
        })
    }

    /// Asks the caches for the head of a list, and for the record behind it: lists that were made
    /// at once lie so.
    #[inline]
    pub fn prefetch(&self, chain: Chain) {
        let head = chain.head as usize;
        for at in [head, head.wrapping_add(1)] {
            if let Some(node) = self.nodes.get(at) {
                prefetch::read_whole(node);
            }
        }
    }

    /// Asks the caches for a single record.
    #[inline]
    pub fn prefetch_at(&self, at: u32) {
        if let Some(node) = self.nodes.get(at as usize) {
            prefetch::read_whole(node);
        }
    }

    /// Changes the records of a list one by one.
    pub fn each_mut(&mut self, chain: Chain, mut change: impl FnMut(&mut T)) {
        let mut at = chain.head;
        while let Some(node) = self.nodes.get_mut(at as usize) {
            at = node.next;
            change(&mut node.value);
        }
    }

    /// Replaces a list. The caller asked [`has_room`](Self::has_room) before; what does not fit
    /// is left out.
    pub fn replace(&mut self, chain: &mut Chain, values: &[T]) {
        let mut old = chain.head;
        let mut head = NONE;
        let mut len = 0;
        for value in values.iter().rev() {
            let reused = old;
            if let Some(node) = self.nodes.get_mut(reused as usize) {
                old = node.next;
                *node = Node {
                    next: head,
                    value: *value,
                };
                head = reused;
            } else {
                let Some(at) = self.take(*value, head) else {
                    break;
                };
                head = at;
            }
            len += 1;
        }
        self.give(old);
        *chain = Chain { head, len };
    }

    /// One more record, or `None` if the arena is full.
    fn take(&mut self, value: T, next: u32) -> Option<u32> {
        let node = Node { next, value };
        let at = self.free;
        if let Some(free) = self.nodes.get_mut(at as usize) {
            self.free = free.next;
            *free = node;
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

    /// Frees the list that begins at `head`.
    fn give(&mut self, head: u32) {
        let mut at = head;
        while let Some(node) = self.nodes.get_mut(at as usize) {
            let next = node.next;
            node.next = self.free;
            self.free = at;
            self.used -= 1;
            at = next;
        }
    }

    /// A single record, named by its index, or `None` if the arena is full.
    pub fn insert(&mut self, value: T) -> Option<u32> {
        self.take(value, NONE)
    }

    /// Frees a single record.
    pub fn remove(&mut self, at: u32) {
        if let Some(node) = self.nodes.get_mut(at as usize) {
            node.next = NONE;
            self.give(at);
        }
    }

    /// A single record.
    pub fn get(&self, at: u32) -> Option<&T> {
        Some(&self.nodes.get(at as usize)?.value)
    }

    /// A single record.
    pub fn get_mut(&mut self, at: u32) -> Option<&mut T> {
        Some(&mut self.nodes.get_mut(at as usize)?.value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_grow_shrink_and_give_everything_back() {
        let mut slab = Slab::new(5);
        let (mut a, mut b) = (Chain::EMPTY, Chain::EMPTY);
        slab.replace(&mut a, &[1, 2, 3]);
        slab.replace(&mut b, &[7, 8]);
        assert!(!slab.has_room(a, 4) && slab.has_room(a, 3));
        slab.replace(&mut a, &[4]);
        slab.replace(&mut b, &[9, 8, 7, 6]);
        assert_eq!(slab.iter(a).copied().collect::<Vec<_>>(), [4]);
        assert_eq!(slab.iter(b).copied().collect::<Vec<_>>(), [9, 8, 7, 6]);
        slab.replace(&mut a, &[]);
        slab.replace(&mut b, &[]);
        assert_eq!((slab.used(), a, b), (0, Chain::EMPTY, Chain::EMPTY));
        assert_eq!(slab.nodes.len(), 5);
    }

    #[test]
    fn a_full_arena_refuses_single_records() {
        let mut slab = Slab::new(1);
        let at = slab.insert('x').unwrap();
        assert_eq!(slab.insert('y'), None);
        slab.remove(at);
        assert_eq!(slab.insert('z'), Some(at));
    }
}
