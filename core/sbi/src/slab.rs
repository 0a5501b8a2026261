//! Values in numbered slots, whose keys carry a generation: a key that is too old finds nothing.

/// A slot and its generation.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Key {
    /// Number of the slot.
    pub slot: u32,
    /// How often the slot was used before, modulo 65,536.
    pub generation: u16,
}

/// Values in slots; which key a value gets depends on the order of calls alone.
#[derive(Debug)]
pub struct Slab<T> {
    slots: Vec<(u16, Option<T>)>,
    free: Vec<u32>,
    most: usize,
    /// The generation with which slots begin.
    first: u16,
    /// Slots whose values may have changed; none if nobody wants to know.
    touched: Option<Vec<u32>>,
}

impl<T> Slab<T> {
    /// For `most` values.
    pub fn new(most: usize) -> Self {
        Self {
            slots: Vec::new(),
            free: Vec::new(),
            most,
            first: 0,
            touched: None,
        }
    }

    /// The same, which notes whose values may have changed, for [`Slab::take_touched`].
    #[must_use]
    pub fn watched(mut self) -> Self {
        self.touched = Some(Vec::new());
        self
    }

    /// Values with the keys that they had in a slab of before. Other slots begin with the generation
    /// `first`, so that no key of before is given again soon. A value whose slot is another's, or beyond
    /// what there is room for, is dropped.
    pub fn restore(&mut self, first: u16, values: impl IntoIterator<Item = (Key, T)>) {
        self.first = first;
        for (key, value) in values {
            let slot = key.slot as usize;
            if slot >= self.most {
                continue;
            }
            while self.slots.len() <= slot {
                self.slots.push((first, None));
            }
            if self.slots[slot].1.is_none() {
                self.slots[slot] = (key.generation, Some(value));
            }
        }
        // The lowest is given first.
        let is_free = |slot: &u32| self.slots[*slot as usize].1.is_none();
        self.free = (0..self.slots.len() as u32).rev().filter(is_free).collect();
    }

    /// Keys of values that were put in, or could be changed, since the last call; sorted, each once.
    pub fn take_touched(&mut self) -> Vec<Key> {
        let mut slots = match &mut self.touched {
            Some(touched) => std::mem::take(touched),
            None => return Vec::new(),
        };
        slots.sort_unstable();
        slots.dedup();
        let key = |slot: u32| {
            let (generation, value) = self.slots.get(slot as usize)?;
            let generation = *generation;
            value.as_ref().map(|_| Key { slot, generation })
        };
        slots.into_iter().filter_map(key).collect()
    }

    fn touch(&mut self, slot: u32) {
        if let Some(touched) = &mut self.touched
            && touched.last() != Some(&slot)
        {
            touched.push(slot);
        }
    }

    /// How many values there are.
    pub fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Keeps a value; none if the slab is full.
    pub fn insert(&mut self, value: T) -> Option<Key> {
        if let Some(slot) = self.free.pop() {
            self.touch(slot);
            let entry = &mut self.slots[slot as usize];
            entry.1 = Some(value);
            return Some(Key {
                slot,
                generation: entry.0,
            });
        }
        if self.slots.len() >= self.most {
            return None;
        }
        let slot = self.slots.len() as u32;
        self.touch(slot);
        let generation = self.first;
        self.slots.push((generation, Some(value)));
        Some(Key { slot, generation })
    }

    /// Takes a value out; its key is never good again.
    pub fn remove(&mut self, key: Key) -> Option<T> {
        let entry = self.slots.get_mut(key.slot as usize)?;
        if entry.0 != key.generation {
            return None;
        }
        let value = entry.1.take()?;
        entry.0 = entry.0.wrapping_add(1);
        self.free.push(key.slot);
        Some(value)
    }

    /// The value of a key.
    pub fn get(&self, key: Key) -> Option<&T> {
        let entry = self.slots.get(key.slot as usize)?;
        entry.1.as_ref().filter(|_| entry.0 == key.generation)
    }

    /// The value of a key.
    pub fn get_mut(&mut self, key: Key) -> Option<&mut T> {
        self.touch(key.slot);
        let entry = self.slots.get_mut(key.slot as usize)?;
        let is_it = entry.0 == key.generation;
        entry.1.as_mut().filter(|_| is_it)
    }

    /// All values that are there, to be changed.
    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut T> {
        if let Some(touched) = &mut self.touched {
            *touched = (0..self.slots.len() as u32).collect();
        }
        self.slots
            .iter_mut()
            .filter_map(|(_, value)| value.as_mut())
    }

    /// All values, by slot.
    pub fn iter(&self) -> impl Iterator<Item = (Key, &T)> {
        let with_key = |(slot, entry): (usize, &'_ (u16, Option<T>))| {
            let key = Key {
                slot: slot as u32,
                generation: entry.0,
            };
            (key, slot)
        };
        let keys = self.slots.iter().enumerate().map(with_key);
        keys.filter_map(|(key, slot)| Some((key, self.slots[slot].1.as_ref()?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_key_finds_nothing() {
        let mut slab = Slab::new(2);
        let first = slab.insert('a').expect("room");
        let second = slab.insert('b').expect("room");
        assert_eq!(slab.insert('c'), None);
        assert_eq!(slab.remove(first), Some('a'));
        assert_eq!(slab.remove(first), None);
        let third = slab.insert('c').expect("room");
        assert_eq!(third.slot, first.slot);
        assert_eq!((slab.get(first), slab.get(third)), (None, Some(&'c')));
        assert_eq!(slab.get_mut(first), None);
        assert_eq!(
            slab.iter().collect::<Vec<_>>(),
            [(third, &'c'), (second, &'b')]
        );
        slab.values_mut()
            .for_each(|value| value.make_ascii_uppercase());
        assert_eq!(
            (slab.get(third), slab.get(second)),
            (Some(&'C'), Some(&'B'))
        );
        assert_eq!(slab.len(), 2);
    }

    #[test]
    fn a_restored_slab_has_its_keys_again_and_gives_no_old_one() {
        let mut slab = Slab::new(4).watched();
        let key = |slot, generation| Key { slot, generation };
        // The second value of a slot, and one beyond what there is room for, are dropped.
        let values = [
            (key(2, 5), 'a'),
            (key(0, 1), 'b'),
            (key(2, 6), 'c'),
            (key(4, 0), 'd'),
        ];
        slab.restore(0x100, values);
        assert_eq!(slab.len(), 2);
        assert_eq!(slab.get(key(2, 5)), Some(&'a'));
        assert_eq!(slab.get(key(0, 1)), Some(&'b'));
        assert_eq!(slab.insert('e'), Some(key(1, 0x100)));
        assert_eq!(slab.insert('f'), Some(key(3, 0x100)));
        assert_eq!(slab.insert('g'), None);
        assert_eq!(slab.remove(key(2, 5)), Some('a'));
        assert_eq!(slab.insert('h'), Some(key(2, 6)));
    }

    #[test]
    fn a_watched_slab_tells_whose_values_may_have_changed() {
        let mut slab = Slab::new(4).watched();
        let [a, b, c] = ['a', 'b', 'c'].map(|value| slab.insert(value).expect("room"));
        assert_eq!(slab.take_touched(), [a, b, c]);
        assert_eq!(slab.get(a), Some(&'a'));
        assert_eq!(slab.take_touched(), []);
        slab.get_mut(c);
        slab.get_mut(a);
        slab.get_mut(c);
        slab.remove(a);
        assert_eq!(slab.take_touched(), [c], "one that is gone is not told of");
        slab.values_mut().for_each(|value| *value = 'x');
        assert_eq!(slab.take_touched(), [b, c]);
    }
}
