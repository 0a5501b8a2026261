//! Octet writer and reader of records. Little endian, as nobody but this process sees them.

/// True if a number needs no more than `N` octets.
pub fn fits<const N: usize>(value: u64) -> bool {
    value <= most::<N>()
}

/// The largest number of `N` octets, one at the least.
pub const fn most<const N: usize>() -> u64 {
    u64::MAX >> (64 - 8 * N)
}

/// Writes.
pub struct OctetWriter<'r> {
    room: &'r mut [u8],
    len: usize,
}

impl<'r> OctetWriter<'r> {
    /// Writes from the start of `room`.
    pub fn new(room: &'r mut [u8]) -> Self {
        Self { room, len: 0 }
    }

    /// The next octets. What does not fit is left out, and counted by [`len`](Self::len).
    #[inline(always)]
    pub fn put<const N: usize>(&mut self, octets: [u8; N]) {
        let place = self.room.get_mut(self.len..self.len + N);
        if let Some(place) = place {
            place.copy_from_slice(&octets);
        }
        self.len += N;
    }

    #[inline(always)]
    pub fn u8(&mut self, value: u8) {
        self.put([value]);
    }

    #[inline(always)]
    pub fn u16(&mut self, value: u16) {
        self.put(value.to_le_bytes());
    }

    #[inline(always)]
    pub fn u32(&mut self, value: u32) {
        self.put(value.to_le_bytes());
    }

    #[inline(always)]
    pub fn u64(&mut self, value: u64) {
        self.put(value.to_le_bytes());
    }

    #[inline(always)]
    pub fn u128(&mut self, value: u128) {
        self.put(value.to_le_bytes());
    }

    /// The lower `N` octets; no other may be set.
    #[inline(always)]
    pub fn low<const N: usize>(&mut self, value: u64) {
        debug_assert!(fits::<N>(value), "{value:#x} needs more than {N} octets");
        let octets = value.to_le_bytes();
        self.put(octets.first_chunk::<N>().copied().unwrap_or([0; N]));
    }

    /// Octets written.
    pub fn len(&self) -> usize {
        self.len
    }
}

/// Reads.
pub struct OctetReader<'r>(&'r [u8]);

impl<'r> OctetReader<'r> {
    /// Reads from the start.
    pub fn new(octets: &'r [u8]) -> Self {
        Self(octets)
    }

    /// The next octets; zeros behind the end, where a record that was written whole is not read.
    #[inline(always)]
    pub fn get<const N: usize>(&mut self) -> [u8; N] {
        let (head, rest) = self.0.split_first_chunk::<N>().unwrap_or((&[0; N], &[]));
        self.0 = rest;
        *head
    }

    /// Octets that are left.
    pub fn left(&self) -> usize {
        self.0.len()
    }

    #[inline(always)]
    pub fn u8(&mut self) -> u8 {
        let [octet] = self.get();
        octet
    }

    #[inline(always)]
    pub fn u16(&mut self) -> u16 {
        u16::from_le_bytes(self.get())
    }

    #[inline(always)]
    pub fn u32(&mut self) -> u32 {
        u32::from_le_bytes(self.get())
    }

    #[inline(always)]
    pub fn u64(&mut self) -> u64 {
        u64::from_le_bytes(self.get())
    }

    #[inline(always)]
    pub fn u128(&mut self) -> u128 {
        u128::from_le_bytes(self.get())
    }

    /// A number of `N` octets.
    #[inline(always)]
    pub fn low<const N: usize>(&mut self) -> u64 {
        let octets = self.get::<N>().into_iter().rev();
        octets.fold(0, |value, octet| value << 8 | u64::from(octet))
    }
}
