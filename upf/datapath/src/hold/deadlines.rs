//! Deadlines of queues: a binary heap in which each queue knows its place, so that one can change or go.

/// A queue's place in the heap, by queue.
#[derive(Debug, Default)]
pub(super) struct Deadlines {
    /// Time and queue, the first one in front.
    heap: Vec<(u64, u32)>,
    /// By queue: its place in the heap.
    places: Vec<u32>,
}

const NONE: u32 = u32::MAX;

impl Deadlines {
    /// For so many queues. Memory is touched as it is used.
    pub fn new(queues: usize) -> Self {
        Self {
            heap: Vec::with_capacity(queues),
            places: Vec::with_capacity(queues),
        }
    }

    /// The first one.
    pub fn first(&self) -> Option<(u64, u32)> {
        self.heap.first().copied()
    }

    /// The deadline of a queue; none if it has none any more.
    pub fn set(&mut self, queue: u32, until_ns: Option<u64>) {
        while self.places.len() <= queue as usize {
            self.places.push(NONE);
        }
        let at = self.places[queue as usize];
        match (until_ns, self.heap.get_mut(at as usize)) {
            (Some(until_ns), Some(known)) if known.0 == until_ns => {}
            (Some(until_ns), Some(known)) => {
                known.0 = until_ns;
                self.restore(at as usize);
            }
            (Some(until_ns), None) => {
                self.heap.push((until_ns, queue));
                let last = self.heap.len() - 1;
                self.places[queue as usize] = last as u32;
                self.restore(last);
            }
            (None, Some(_)) => self.remove(at as usize),
            (None, None) => {}
        }
    }

    fn remove(&mut self, at: usize) {
        let (_, queue) = self.heap.swap_remove(at);
        self.places[queue as usize] = NONE;
        if at < self.heap.len() {
            self.note(at);
            self.restore(at);
        }
    }

    fn note(&mut self, at: usize) {
        let queue = self.heap[at].1;
        self.places[queue as usize] = at as u32;
    }

    /// Puts an element where it belongs.
    fn restore(&mut self, mut at: usize) {
        while at > 0 && self.heap[at] < self.heap[(at - 1) / 2] {
            at = self.swap(at, (at - 1) / 2);
        }
        loop {
            let children = [2 * at + 1, 2 * at + 2];
            let there = children
                .into_iter()
                .filter(|child| *child < self.heap.len());
            match there.min_by_key(|child| self.heap[*child]) {
                Some(child) if self.heap[child] < self.heap[at] => at = self.swap(at, child),
                _ => return,
            }
        }
    }

    fn swap(&mut self, at: usize, with: usize) -> usize {
        self.heap.swap(at, with);
        self.note(at);
        self.note(with);
        with
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn the_first_is_the_first_whatever_changes() {
        let mut deadlines = Deadlines::new(64);
        let mut known = [None; 64];
        let mut all = BTreeSet::new();
        let mut x = 1_u64;
        for _ in 0..20_000 {
            x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let queue = (x >> 40) as u32 % 64;
            let until = (x >> 20 & 3 != 0).then_some(x >> 50);
            if let Some(before) = known[queue as usize] {
                all.remove(&(before, queue));
            }
            known[queue as usize] = until;
            all.extend(until.map(|until| (until, queue)));
            deadlines.set(queue, until);
            assert_eq!(deadlines.first(), all.first().copied());
        }
    }
}
