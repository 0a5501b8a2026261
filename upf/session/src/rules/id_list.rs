//! Short lists of QER and URR identifiers.

/// A short list of identifiers that can be copied.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct IdList<const N: usize> {
    len: u8,
    ids: [u32; N],
}

impl<const N: usize> Default for IdList<N> {
    fn default() -> Self {
        Self {
            len: 0,
            ids: [0; N],
        }
    }
}

impl<const N: usize> IdList<N> {
    /// The identifiers.
    pub fn as_slice(&self) -> &[u32] {
        self.ids.get(..usize::from(self.len)).unwrap_or_default()
    }

    /// So many identifiers of which no two are the same.
    pub fn of_distinct(len: usize, mut next: impl FnMut() -> u32) -> Self {
        let mut list = Self::default();
        for id in list.ids.iter_mut().take(len) {
            *id = next();
            list.len += 1;
        }
        list
    }

    /// One more, unless it is there already; false if the list is full.
    pub fn push(&mut self, id: u32) -> bool {
        if self.as_slice().contains(&id) {
            return true;
        }
        let Some(place) = self.ids.get_mut(usize::from(self.len)) else {
            return false;
        };
        *place = id;
        self.len += 1;
        true
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        usize::from(self.len)
    }

    /// True if `id` is there.
    pub fn contains(&self, id: u32) -> bool {
        self.as_slice().contains(&id)
    }
}

impl<const N: usize> FromIterator<u32> for IdList<N> {
    /// What does not fit is left out.
    fn from_iter<I: IntoIterator<Item = u32>>(iter: I) -> Self {
        let mut list = Self::default();
        for id in iter {
            list.push(id);
        }
        list
    }
}
