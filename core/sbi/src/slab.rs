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
}

impl<T> Slab<T> {
    /// For `most` values.
    pub fn new(most: usize) -> Self {
        Self {
            slots: Vec::new(),
            free: Vec::new(),
            most,
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
        self.slots.push((0, Some(value)));
        Some(Key {
            slot,
            generation: 0,
        })
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
        let entry = self.slots.get_mut(key.slot as usize)?;
        let is_it = entry.0 == key.generation;
        entry.1.as_mut().filter(|_| is_it)
    }

    /// All values that are there, to be changed.
    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut T> {
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
}
