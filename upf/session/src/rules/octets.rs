//! Octets of a session's record: writer and reader, the kinds of parts that follow, identifiers. Little endian, as
//! nobody but this process sees them.
//!
//! Each rule begins with a word of bits, or has one behind its identifier, that tells which fields follow. The bits
//! stand in the rule's file, with its writer and its reader.

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

/// The parts, one bit each.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Kinds(u16);

impl Kinds {
    /// Identifiers and precedences take four octets; otherwise all of them fit into two.
    pub const WIDE: Self = Self(1);
    /// The user's IMSI is known.
    pub const IMSI: Self = Self(1 << 1);
    /// The user's MSISDN is known.
    pub const MSISDN: Self = Self(1 << 2);
    /// The UE's IPv4 address is known.
    pub const UE_IPV4: Self = Self(1 << 3);
    /// The UE's IPv6 prefix is known.
    pub const UE_PREFIX: Self = Self(1 << 4);
    /// We gave one of them.
    pub const GIVEN: Self = Self(1 << 5);
    /// The usage record has cells beside those of URRs.
    pub const CELLS: Self = Self(1 << 6);
    /// Prefixes lie behind the UE.
    pub const ROUTES: Self = Self(1 << 7);
    /// It has BARs.
    pub const BARS: Self = Self(1 << 8);
    /// It belongs to session sets.
    pub const SETS: Self = Self(1 << 9);
    /// Some F-TEID of ours has an IPv6 address.
    pub const IPV6_TUNNELS: Self = Self(1 << 10);
    /// Identifiers, numbers of network instances and ways out, and Apply Action take one octet, as most SMFs count from 1,
    /// and Measurement Method and Information one for both. Precedences take two: 65,535 is a common one.
    pub const NARROW: Self = Self(1 << 11);
    /// There are less than 16 of each kind of rule: their numbers take half an octet each.
    pub const FEW: Self = Self(1 << 12);
    /// The IPv4 addresses of all F-TEIDs are those known by the numbers of their endpoints.
    pub const KNOWN_TUNNELS: Self = Self(1 << 13);

    pub(crate) fn with_if(self, other: Self, on: bool) -> Self {
        Self(if on { self.0 | other.0 } else { self.0 })
    }

    /// True if it has this part.
    #[inline]
    pub fn has(self, part: Self) -> bool {
        self.0 & part.0 != 0
    }

    /// As they are written.
    pub fn bits(self) -> u16 {
        self.0
    }

    /// As they were written.
    pub fn from_bits(bits: u16) -> Self {
        Self(bits)
    }

    /// An identifier.
    #[inline(always)]
    pub fn put_id(self, pen: &mut OctetWriter<'_>, id: u32) {
        if self.has(Self::WIDE) {
            pen.u32(id)
        } else {
            self.put_short(pen, id as u16)
        }
    }

    #[inline(always)]
    pub fn id(self, eye: &mut OctetReader<'_>) -> u32 {
        if self.has(Self::WIDE) {
            eye.u32()
        } else {
            self.short(eye).into()
        }
    }

    /// A field of two octets, or of one where all of them fit.
    #[inline(always)]
    pub fn put_short(self, pen: &mut OctetWriter<'_>, field: u16) {
        if self.has(Self::NARROW) {
            pen.u8(field as u8)
        } else {
            pen.u16(field)
        }
    }

    #[inline(always)]
    pub fn short(self, eye: &mut OctetReader<'_>) -> u16 {
        if self.has(Self::NARROW) {
            eye.u8().into()
        } else {
            eye.u16()
        }
    }
}

/// A bit of a word, if it is on.
pub fn bit(bit: u16, on: bool) -> u16 {
    if on { bit } else { 0 }
}

/// A bit of an octet, if it is on.
pub fn bit8(bit: u8, on: bool) -> u8 {
    if on { bit } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_part_has_a_bit_of_its_own() {
        let parts = [
            Kinds::WIDE,
            Kinds::IMSI,
            Kinds::MSISDN,
            Kinds::UE_IPV4,
            Kinds::UE_PREFIX,
            Kinds::GIVEN,
            Kinds::CELLS,
            Kinds::ROUTES,
            Kinds::BARS,
            Kinds::SETS,
            Kinds::IPV6_TUNNELS,
            Kinds::NARROW,
            Kinds::FEW,
            Kinds::KNOWN_TUNNELS,
        ];
        assert!(parts.iter().all(|part| part.0.is_power_of_two()));
        let all = parts.iter().fold(0, |bits, part| bits | part.0);
        assert_eq!(all.count_ones() as usize, parts.len());
    }
}
