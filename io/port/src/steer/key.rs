//! Toeplitz keys of a single bit, which make the RSS hash select address bits.
//!
//! Toeplitz' hash of a packet is the sum (modulo 2) of a window of the key for each bit that is set
//! in the packet's addresses, and the windows of neighbouring bits are neighbours in the key. With a
//! key of a single bit, therefore, each bit of the hash is one bit of the addresses: the low bits of
//! the hash are the low bits of one address, the last first. So the entry of a network card's table
//! tells the group, and both directions of a UE come to the same worker, though no card was made
//! for that.

/// Bytes of a key; cards that want more get zeros.
pub const KEY_BYTES: usize = 40;

/// Bits of an IPv4 address; source and destination are hashed in this order.
const ADDRESS_BITS: u32 = 32;

/// The key with which the low `bits` bits of the hash are those of the destination, or of the
/// source; `bits` is at most 32.
pub fn picking_key(bits: u32, destination: bool) -> [u8; KEY_BYTES] {
    let last = if destination { 2 } else { 1 } * ADDRESS_BITS - 1;
    // The window of the field's last bit begins there, and has the key's bit at the first of the
    // low `bits` of its 32.
    let at = (last + 32 - bits.min(32)) as usize;
    let mut key = [0; KEY_BYTES];
    key[at / 8] = 0x80 >> (at % 8);
    key
}

/// The group (of `1 << group_bits`) whose packets choose `entry` of a table of `1 << table_bits`.
pub fn entry_group(entry: usize, table_bits: u32, group_bits: u32) -> u32 {
    let reversed = match table_bits {
        0 => 0,
        bits => (entry as u32).reverse_bits() >> (32 - bits),
    };
    reversed & ((1 << group_bits) - 1)
}

/// Who of `takers` takes a group (of `1 << bits`) at first. Groups that agree in their low bits go
/// together, as far as they can: whoever sees fewer bits of a shard's number finds its owner too.
pub fn dealt(group: u32, bits: u32, takers: usize) -> usize {
    let reversed = entry_group(group as usize, bits, bits) as usize;
    (reversed * takers) >> bits
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Toeplitz' hash as Microsoft defines it, bit by bit.
    fn toeplitz(key: &[u8], input: &[u8]) -> u32 {
        let bit = |of: &[u8], at: usize| u32::from(of[at / 8] >> (7 - at % 8) & 1);
        let window = |at| (0..32).fold(0, |w, i| w << 1 | bit(key, at + i));
        (0..input.len() * 8)
            .filter(|at| bit(input, *at) == 1)
            .fold(0, |hash, at| hash ^ window(at))
    }

    #[test]
    fn groups_are_dealt_evenly_and_larger_ones_whole() {
        for takers in 1..=16 {
            let mut taken = vec![0; takers];
            (0..256).for_each(|group| taken[dealt(group, 8, takers)] += 1);
            let (most, least) = (taken.iter().max(), taken.iter().min());
            assert!(most.unwrap() - least.unwrap() <= 1, "{taken:?}");
            let is_split = |group: &u32| dealt(*group, 8, takers) != dealt(group + 128, 8, takers);
            assert!((0..128).filter(is_split).count() < takers);
        }
    }

    #[test]
    fn the_low_bits_of_the_hash_are_those_of_one_address() {
        for bits in [6, 7, 8, 9, 11] {
            for destination in [false, true] {
                let key = picking_key(bits, destination);
                for address in (0..9000u32).map(|n| 0x0a2d_0000 + n * 7) {
                    let other = address.wrapping_mul(0x9e37_79b9).to_be_bytes();
                    let ports = [1, 2, 3, 4];
                    let input = match destination {
                        false => [address.to_be_bytes(), other, ports],
                        true => [other, address.to_be_bytes(), ports],
                    };
                    let hash = toeplitz(&key, input.as_flattened());
                    let entry = hash as usize % (1 << bits);
                    for group_bits in 0..=bits {
                        let group = address % (1 << group_bits);
                        assert_eq!(entry_group(entry, bits, group_bits), group);
                    }
                }
            }
        }
    }
}
