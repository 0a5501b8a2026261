//! Hold list: packets that wait for a moving shard or behind a full ring.

use crate::ids::WorkerId;

const END: u32 = u32::MAX;

/// The waiting packets of one shard, oldest first.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct List {
    first: u32,
    last: u32,
}

impl Default for List {
    fn default() -> Self {
        Self {
            first: END,
            last: END,
        }
    }
}

impl List {
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.first == END
    }
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct HoldSlot<H> {
    item: Option<(WorkerId, H)>,
    next: u32,
}

/// Places for all waiting packets of a worker.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Hold<H> {
    places: Vec<HoldSlot<H>>,
    /// Most recently freed first.
    free: List,
    len: usize,
}

impl<H> Hold<H> {
    pub fn new(capacity: usize) -> Self {
        let mut hold = Self {
            places: (0..capacity)
                .map(|_| HoldSlot {
                    item: None,
                    next: END,
                })
                .collect(),
            free: List::default(),
            len: 0,
        };
        for at in (0..capacity as u32).rev() {
            hold.release(at);
        }
        hold
    }

    pub fn len(&self) -> usize {
        self.len
    }

    /// At the end of `list`; the packet comes back if all places are taken.
    pub fn push(&mut self, list: &mut List, from: WorkerId, packet: H) -> Result<(), H> {
        let at = self.free.first;
        let Some(place) = self.places.get_mut(at as usize) else {
            return Err(packet);
        };
        self.free.first = place.next;
        *place = HoldSlot {
            item: Some((from, packet)),
            next: END,
        };
        match self.places.get_mut(list.last as usize) {
            Some(last) => last.next = at,
            None => list.first = at,
        }
        list.last = at;
        self.len += 1;
        Ok(())
    }

    /// The oldest of `list` whose producer is wanted.
    pub fn take(&mut self, list: &mut List, wanted: impl Fn(WorkerId) -> bool) -> Option<H> {
        let (mut before, mut at) = (END, list.first);
        loop {
            let place = self.places.get_mut(at as usize)?;
            let next = place.next;
            if place.item.as_ref().is_some_and(|(from, _)| wanted(*from)) {
                let item = place.item.take();
                self.unlink(list, before, at, next);
                return item.map(|(_, packet)| packet);
            }
            (before, at) = (at, next);
        }
    }

    /// Any one; its list is of no use afterwards.
    pub fn take_any(&mut self) -> Option<H> {
        let (_, packet) = self.places.iter_mut().find_map(|p| p.item.take())?;
        self.len -= 1;
        Some(packet)
    }

    fn unlink(&mut self, list: &mut List, before: u32, at: u32, next: u32) {
        match self.places.get_mut(before as usize) {
            Some(before) => before.next = next,
            None => list.first = next,
        }
        if list.last == at {
            list.last = before;
        }
        self.release(at);
        self.len -= 1;
    }

    fn release(&mut self, at: u32) {
        self.places[at as usize].next = self.free.first;
        self.free.first = at;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_keep_their_order_and_share_the_places() {
        let mut hold = Hold::new(4);
        let (mut a, mut b) = (List::default(), List::default());
        for (list, from, packet) in [(0, 1, 10), (1, 1, 20), (0, 2, 11), (0, 1, 12)] {
            let list = if list == 0 { &mut a } else { &mut b };
            assert_eq!(hold.push(list, WorkerId(from), packet), Ok(()));
        }
        assert_eq!(hold.push(&mut b, WorkerId(1), 21), Err(21));
        assert_eq!(hold.take(&mut a, |from| from == WorkerId(2)), Some(11));
        assert_eq!(hold.push(&mut b, WorkerId(2), 22), Ok(()));
        assert_eq!(hold.take(&mut a, |_| true), Some(10));
        assert_eq!(hold.take(&mut a, |_| true), Some(12));
        assert_eq!(hold.take(&mut a, |_| true), None);
        assert_eq!(hold.push(&mut a, WorkerId(3), 13), Ok(()));
        assert_eq!(hold.take(&mut b, |_| true), Some(20));
        assert_eq!(hold.take(&mut b, |_| true), Some(22));
        assert_eq!(hold.take(&mut a, |_| true), Some(13));
        assert_eq!(hold.len(), 0);
    }
}
