//! A 64-bit fingerprint of a datagram, to tell a retransmission from a reused sequence number.
//!
//! The hash is keyed by a seed that the caller passes, so that a peer which does not know the seed cannot aim for
//! collisions; there is no randomness inside. Two different messages with the same source and sequence number are taken
//! for one with a probability near 2^-64.

use std::net::{IpAddr, SocketAddr};

/// Octets of a row: a word for each of four hashes that run side by side, as one multiplication
/// would wait for the one before.
const ROW: usize = 32;

const MULTIPLIERS: [u64; 4] = [
    0x9e37_79b9_7f4a_7c15,
    0xd6e8_feb8_6659_fd93,
    0xa076_1d64_78bd_642f,
    0xe703_7ed1_a0b4_28db,
];

/// Fingerprint of `bytes` under `seed`.
pub fn of_bytes(seed: u64, bytes: &[u8]) -> u64 {
    let [a, b, c, d] = MULTIPLIERS;
    let mut sums = [
        seed ^ a,
        seed.rotate_left(16) ^ b,
        seed.rotate_left(32) ^ c,
        seed.rotate_left(48) ^ d,
    ];
    let (rows, rest) = bytes.as_chunks::<ROW>();
    for row in rows {
        add(&mut sums, row);
    }
    match bytes.last_chunk::<ROW>() {
        // What is behind the last row, once more with octets before it.
        Some(last) => add(&mut sums, last),
        None => {
            let mut last = [0; ROW];
            if let Some(place) = last.get_mut(..rest.len()) {
                place.copy_from_slice(rest);
            }
            add(&mut sums, &last);
        }
    }
    let [first, second, third, fourth] = sums;
    let one = fold(first ^ second.rotate_left(29) ^ bytes.len() as u64, a);
    let other = fold(third ^ fourth.rotate_left(31), b);
    fold(one ^ other.rotate_left(23), c)
}

fn add(sums: &mut [u64; 4], row: &[u8; ROW]) {
    let (words, _) = row.as_chunks::<8>();
    for ((sum, octets), multiplier) in sums.iter_mut().zip(words).zip(MULTIPLIERS) {
        *sum = fold(*sum ^ word(octets), multiplier);
    }
}

/// Hash of a peer's socket address and a sequence number under `seed`.
pub fn of_transaction(seed: u64, peer: SocketAddr, sequence: u32) -> u64 {
    let [a, b, c, _] = MULTIPLIERS;
    let address = match peer.ip().to_canonical() {
        IpAddr::V4(v4) => u128::from(v4.to_bits()),
        IpAddr::V6(v6) => v6.to_bits(),
    };
    let [high, low] = [(address >> 64) as u64, address as u64];
    let rest = u64::from(peer.port()) << 32 | u64::from(sequence);
    let begun = fold(fold(seed ^ a ^ low, a) ^ high, b);
    fold(begun ^ rest, c)
}

/// Fingerprint of a message under `seed`: its octets in front of the IEs, and that of its IEs.
pub fn of_message(seed: u64, head: &[u8], body: u64) -> u64 {
    let [a, b, ..] = MULTIPLIERS;
    let mut sum = seed ^ body;
    let (words, rest) = head.as_chunks::<8>();
    for word in words {
        sum = fold(sum ^ self::word(word), a);
    }
    let rest = rest
        .iter()
        .fold(head.len() as u64, |sum, octet| sum << 8 | u64::from(*octet));
    fold(sum ^ rest, b)
}

fn fold(value: u64, multiplier: u64) -> u64 {
    let wide = u128::from(value) * u128::from(multiplier);
    (wide as u64) ^ ((wide >> 64) as u64)
}

fn word(octets: &[u8; 8]) -> u64 {
    u64::from_le_bytes(*octets)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_changed_bit_changes_the_fingerprint() {
        let message: Vec<u8> = (0..77).collect();
        let original = of_bytes(1, &message);
        for bit in 0..message.len() * 8 {
            let mut other = message.clone();
            other[bit / 8] ^= 1 << (bit % 8);
            assert_ne!(of_bytes(1, &other), original, "bit {bit}");
        }
    }

    #[test]
    fn trailing_zeros_and_seed_count() {
        assert_ne!(of_bytes(1, &[0; 4]), of_bytes(1, &[0; 5]));
        assert_ne!(of_bytes(1, &[7; 40]), of_bytes(2, &[7; 40]));
    }

    #[test]
    fn head_and_body_are_part_of_a_message() {
        let head: Vec<u8> = (0..16).collect();
        let original = of_message(1, &head, 9);
        for bit in 0..head.len() * 8 {
            let mut other = head.clone();
            other[bit / 8] ^= 1 << (bit % 8);
            assert_ne!(of_message(1, &other, 9), original, "bit {bit}");
        }
        assert_ne!(of_message(1, &head, 8), original);
        assert_ne!(of_message(1, &head[..8], 9), original);
        assert_ne!(of_message(1, &[0; 12], 9), of_message(1, &[0; 13], 9));
    }

    #[test]
    fn an_address_counts_whole_and_is_one_in_either_form() {
        let hash =
            |address: &str| of_transaction(3, SocketAddr::new(address.parse().unwrap(), 8805), 9);
        assert_eq!(hash("10.0.0.1"), hash("::ffff:10.0.0.1"));
        assert_ne!(hash("10.0.0.1"), hash("10.0.0.2"));
        assert_ne!(hash("2001:db8::1"), hash("2001:db9::1"));
    }

    #[test]
    fn port_and_sequence_are_part_of_a_transaction() {
        let peer = |port| SocketAddr::from(([10, 0, 0, 1], port));
        let hash = of_transaction(3, peer(8805), 9);
        assert_ne!(hash, of_transaction(3, peer(8806), 9));
        assert_ne!(hash, of_transaction(3, peer(8805), 10));
    }
}
