//! Outputs that wait, in their order, until the contexts that they follow from are stored.

use std::collections::VecDeque;

/// Number of an output of which nobody has said yet what it waits for.
const FRESH: u64 = u64::MAX;
/// Releases all of which that was said.
pub(crate) const ALL: u64 = FRESH - 1;

/// Outputs of a kind, each with the number of the put that it waits for; numbers never fall.
#[derive(Debug)]
pub struct Held<T>(VecDeque<(u64, T)>);

impl<T> Default for Held<T> {
    fn default() -> Self {
        Self(VecDeque::new())
    }
}

impl<T> Held<T> {
    /// Another one, behind all others.
    pub fn push(&mut self, one: T) {
        self.0.push_back((FRESH, one));
    }

    /// Outputs since the last call wait for this put.
    pub fn wait_for(&mut self, put: u64) {
        let fresh = self.0.iter_mut().rev();
        let fresh = fresh.take_while(|(number, _)| *number == FRESH);
        fresh.for_each(|(number, _)| *number = put);
    }

    /// The first one, if it waits for no later put than this.
    pub fn next(&mut self, released: u64) -> Option<T> {
        let (_, one) = self.0.pop_front_if(|(number, _)| *number <= released)?;
        Some(one)
    }

    /// All that wait for no later put than this.
    pub fn take(&mut self, released: u64) -> Vec<T> {
        std::iter::from_fn(|| self.next(released)).collect()
    }

    /// All of them, whatever they wait for.
    pub fn take_all(&mut self) -> Vec<T> {
        self.0.drain(..).map(|(_, one)| one).collect()
    }

    /// One that was taken is the first again.
    pub fn put_back(&mut self, one: T) {
        self.0.push_front((0, one));
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether the first one waits for a put that is later than this.
    pub fn is_held(&self, released: u64) -> bool {
        let first = self.0.front();
        first.is_some_and(|(number, _)| released < *number && *number != FRESH)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outputs_leave_in_order_with_the_puts_that_they_wait_for() {
        let mut held = Held::default();
        held.push('a');
        assert_eq!((held.next(ALL), held.is_held(0)), (None, false));
        held.wait_for(1);
        held.push('b');
        held.push('c');
        held.wait_for(2);
        held.push('d');
        assert!(held.is_held(0));
        assert_eq!(held.take(0), []);
        assert_eq!(held.take(1), ['a']);
        assert_eq!(held.next(2), Some('b'));
        held.put_back('b');
        held.wait_for(2);
        assert_eq!(held.take(2), ['b', 'c', 'd']);
        held.push('e');
        assert_eq!((held.take_all(), held.is_empty()), (vec!['e'], true));
    }
}
