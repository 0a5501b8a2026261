//! The values at hand: those of the session's record, then those of the message, then what was
//! taken for it.

use super::recipe::{Source, VALUES};

/// As many as a [`Source`] can name, so that none has to be asked whether it is there.
const PLACES: usize = Source::MAX as usize + 1;

/// The values.
#[derive(Debug)]
pub struct Values {
    all: [u32; PLACES],
    /// So many of them are at hand, [`VALUES`] at the most.
    len: usize,
}

impl Default for Values {
    fn default() -> Self {
        Self {
            all: [0; PLACES],
            len: 0,
        }
    }
}

impl Values {
    /// One of them.
    #[inline]
    pub fn of(&self, source: Source) -> u32 {
        self.all.get(usize::from(source)).copied().unwrap_or(0)
    }

    /// Begins with so many of a session's record, of which those that are of use are
    /// [set](Self::set).
    #[inline]
    pub fn begin(&mut self, of_session: u8) {
        self.len = of_session.into();
    }

    /// One of the session's record.
    #[inline]
    pub fn set(&mut self, source: Source, value: u32) {
        if let Some(place) = self.all.get_mut(usize::from(source)) {
            *place = value;
        }
    }

    /// One more; none if there are too many.
    #[inline]
    pub fn push(&mut self, value: u32) -> Option<()> {
        if self.len >= VALUES {
            return None;
        }
        *self.all.get_mut(self.len)? = value;
        self.len += 1;
        Some(())
    }

    /// So many more, which are to be written; none if there are too many.
    #[inline]
    pub fn add(&mut self, count: usize) -> Option<&mut [u32]> {
        let begin = self.len;
        let end = begin.checked_add(count).filter(|end| *end <= VALUES)?;
        self.len = end;
        self.all.get_mut(begin..end)
    }
}

impl FromIterator<u32> for Values {
    /// As many of them as there is room for.
    fn from_iter<I: IntoIterator<Item = u32>>(all: I) -> Self {
        let mut values = Self::default();
        for value in all.into_iter().take(VALUES) {
            values.push(value);
        }
        values
    }
}
