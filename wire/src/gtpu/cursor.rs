//! Bounded write and read cursors.

/// Writes into a slice; once something did not fit, nothing does.
pub(super) struct Out<'a> {
    bytes: &'a mut [u8],
    len: usize,
}

impl<'a> Out<'a> {
    pub(super) fn new(bytes: &'a mut [u8]) -> Self {
        Self { bytes, len: 0 }
    }

    /// `None` if `octets` do not fit.
    pub(super) fn put(&mut self, octets: &[u8]) -> Option<()> {
        let end = self.len.checked_add(octets.len())?;
        self.bytes.get_mut(self.len..end)?.copy_from_slice(octets);
        self.len = end;
        Some(())
    }

    /// Octets written.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Overwrites an octet written before.
    pub(super) fn set(&mut self, at: usize, octet: u8) -> Option<()> {
        *self.bytes.get_mut(at)? = octet;
        Some(())
    }
}

/// Takes fixed-size fields from the front of a slice.
pub(super) struct In<'a>(pub &'a [u8]);

impl In<'_> {
    /// The next `N` octets, or `None` at the end.
    pub(super) fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (field, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*field)
    }
}
