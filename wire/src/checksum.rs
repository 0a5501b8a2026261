//! The Internet checksum (RFC 1071) and its incremental update (RFC 1624).
//!
//! A [`Sum`] is an unfinished sum of 16-bit words. Sums of parts can be taken once and combined
//! with the few fields that vary from packet to packet, so a header whose constant part is summed
//! beforehand costs a handful of additions.

/// An unfinished ones-complement sum of 16-bit words in network order.
///
/// Held in 64 bits in the byte order of the machine (RFC 1071, 2 (B): the sum does not depend on
/// it), so that carries need folding only at the end.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sum(u64);

impl Sum {
    /// The sum of nothing.
    pub const ZERO: Self = Self(0);

    /// The sum of `bytes`; a last odd byte counts as the high byte of a word (RFC 1071, 1 (1)).
    ///
    /// Sums combine only at even offsets: of several pieces, only the last may have an odd length.
    #[inline]
    pub fn of(bytes: &[u8]) -> Self {
        Self::ZERO.add_bytes(bytes)
    }

    /// The sum of an IPv4 header without options, by its three words.
    #[inline(always)]
    pub fn of_ipv4_header(header: &[u8; 20]) -> Self {
        let ([first, second], rest) = header.as_chunks::<8>() else {
            return Self::ZERO;
        };
        let third = rest.first_chunk().copied().unwrap_or_default();
        Self(u64::from_ne_bytes(*first))
            .combine(Self(u64::from_ne_bytes(*second)))
            .combine(Self(u32::from_ne_bytes(third).into()))
    }

    /// Adds `bytes`, as [`Sum::of`] does.
    #[inline]
    #[must_use]
    pub fn add_bytes(self, bytes: &[u8]) -> Self {
        let (words, tail) = bytes.as_chunks::<4>();
        let mut sum: u64 = 0;
        for word in words {
            sum += u64::from(u32::from_ne_bytes(*word));
        }
        for (i, byte) in tail.iter().enumerate() {
            let mut pair = [0; 2];
            pair[i & 1] = *byte;
            sum += u64::from(u16::from_ne_bytes(pair));
        }
        self.combine(Self(sum))
    }

    /// Adds one 16-bit field, given in host order.
    #[inline]
    #[must_use]
    pub const fn add_u16(self, field: u16) -> Self {
        self.combine(Self(field.to_be() as u64))
    }

    /// Adds one 32-bit field, given in host order.
    #[inline]
    #[must_use]
    pub const fn add_u32(self, field: u32) -> Self {
        self.combine(Self(field.to_be() as u64))
    }

    /// The sum of both parts.
    #[inline]
    #[must_use]
    pub const fn combine(self, other: Self) -> Self {
        let (sum, carry) = self.0.overflowing_add(other.0);
        Self(sum + carry as u64)
    }

    /// The sum as one 16-bit word in host order, carries folded in.
    ///
    /// A number to which its own halves are added the other way round has in its upper half what both
    /// halves make, and the carry of the lower half is the one that goes around the end.
    #[inline]
    pub const fn fold(self) -> u16 {
        let sum = (self.0.wrapping_add(self.0.rotate_left(32)) >> 32) as u32;
        let sum = (sum.wrapping_add(sum.rotate_left(16)) >> 16) as u16;
        u16::from_be(sum)
    }

    /// The checksum: the complement of the sum.
    #[inline]
    pub const fn finish(self) -> u16 {
        !self.fold()
    }

    /// Whether the bytes summed, their checksum field among them, are undamaged.
    #[inline]
    pub const fn verifies(self) -> bool {
        self.fold() == 0xffff
    }
}

/// The checksum of `bytes` (RFC 1071), in host order.
#[inline]
pub fn checksum(bytes: &[u8]) -> u16 {
    Sum::of(bytes).finish()
}

/// `checksum` after one 16-bit field changed from `old` to `new` (RFC 1624, equation 3).
#[inline]
pub const fn update_u16(checksum: u16, old: u16, new: u16) -> u16 {
    update(checksum, Sum::ZERO.add_u16(old), Sum::ZERO.add_u16(new))
}

/// `checksum` after one 32-bit field, an IPv4 address say, changed (RFC 1624, equation 3).
#[inline]
pub const fn update_u32(checksum: u16, old: u32, new: u32) -> u16 {
    update(checksum, Sum::ZERO.add_u32(old), Sum::ZERO.add_u32(new))
}

/// `checksum` after the words summed in `old` were replaced by those summed in `new`
/// (RFC 1624, equation 3).
#[inline]
pub const fn update(checksum: u16, old: Sum, new: Sum) -> u16 {
    Sum::ZERO
        .add_u16(!checksum)
        .add_u16(!old.fold())
        .combine(new)
        .finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// RFC 1071, written as its definition: one word at a time.
    fn slow_checksum(bytes: &[u8]) -> u16 {
        let mut sum: u32 = 0;
        for pair in bytes.chunks(2) {
            sum += u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0));
            sum = (sum & 0xffff) + (sum >> 16);
        }
        !(sum as u16)
    }

    #[test]
    fn the_example_of_rfc_1071_section_3_sums_to_ddf2() {
        let bytes = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
        assert_eq!(Sum::of(&bytes).fold(), 0xddf2);
        assert_eq!(checksum(&bytes), !0xddf2);
    }

    #[test]
    fn the_example_of_rfc_1624_section_4_gives_0000_not_ffff() {
        assert_eq!(update_u16(0xdd2f, 0x5555, 0x3285), 0x0000);
    }

    #[test]
    fn the_sum_of_nothing_is_zero_and_its_checksum_ffff() {
        assert_eq!(Sum::of(&[]).fold(), 0);
        assert_eq!(checksum(&[]), 0xffff);
    }

    #[test]
    fn the_largest_sums_fold_without_losing_a_carry() {
        let full = Sum(u64::MAX);
        assert_eq!(full.fold(), 0xffff);
        assert_eq!(full.combine(full).fold(), 0xffff);
        assert_eq!(full.combine(Sum::ZERO.add_u16(1)).fold(), 1);
    }

    proptest! {
        #[test]
        fn the_fast_sum_equals_the_definition(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            prop_assert_eq!(checksum(&bytes), slow_checksum(&bytes));
        }

        #[test]
        fn a_header_sums_as_its_bytes(header in any::<[u8; 20]>()) {
            prop_assert_eq!(Sum::of_ipv4_header(&header).finish(), slow_checksum(&header));
        }

        #[test]
        fn sums_fold_to_what_their_words_make(sum in any::<u64>()) {
            prop_assert_eq!(!Sum(sum).fold(), slow_checksum(&sum.to_ne_bytes()));
        }

        #[test]
        fn parts_combine_to_the_whole(
            words in proptest::collection::vec(any::<[u8; 2]>(), 0..64),
            tail in proptest::collection::vec(any::<u8>(), 0..64),
        ) {
            let head = words.concat();
            let whole = [head.clone(), tail.clone()].concat();
            let parts = Sum::of(&head).combine(Sum::of(&tail));
            prop_assert_eq!(parts.finish(), slow_checksum(&whole));
        }

        #[test]
        fn fields_sum_as_their_bytes(a in any::<u16>(), b in any::<u32>()) {
            let bytes = [&a.to_be_bytes()[..], &b.to_be_bytes()[..]].concat();
            prop_assert_eq!(Sum::ZERO.add_u16(a).add_u32(b).fold(), Sum::of(&bytes).fold());
        }

        #[test]
        fn an_update_equals_a_new_sum(
            mut bytes in any::<[u8; 20]>(), at in 0usize..8, new in any::<u32>(),
        ) {
            // A real header is never all zero, which is the one sum with two notations.
            bytes[18] = 0x45;
            let before = checksum(&bytes);
            let old = u32::from_be_bytes(bytes[2 * at..2 * at + 4].try_into().unwrap());
            bytes[2 * at..2 * at + 4].copy_from_slice(&new.to_be_bytes());
            prop_assert_eq!(update_u32(before, old, new), checksum(&bytes));
            let halves = update_u16(
                update_u16(before, (old >> 16) as u16, (new >> 16) as u16),
                old as u16,
                new as u16,
            );
            prop_assert_eq!(halves, checksum(&bytes));
        }
    }
}
