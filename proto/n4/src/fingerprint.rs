//! A 64-bit fingerprint of a datagram, to tell a retransmission from a reused sequence number.
//!
//! It is keyed by a seed that the caller passes, so that a peer which does not know the seed
//! cannot aim for collisions; there is no randomness inside. Two different messages with the
//! same source and sequence number are taken for one with a probability near 2^-64.

use std::net::SocketAddr;

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
    let mut last = [0; ROW];
    for (to, from) in last.iter_mut().zip(rest) {
        *to = *from;
    }
    add(&mut sums, &last);
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
    let mut key = [0u8; 24];
    let (address, rest) = key.split_at_mut(16);
    match peer.ip() {
        std::net::IpAddr::V4(v4) => address.copy_from_slice(&v4.to_ipv6_mapped().octets()),
        std::net::IpAddr::V6(v6) => address.copy_from_slice(&v6.octets()),
    }
    let (port, sequence_octets) = rest.split_at_mut(4);
    port.copy_from_slice(&u32::from(peer.port()).to_be_bytes());
    sequence_octets.copy_from_slice(&sequence.to_be_bytes());
    of_bytes(seed, &key)
}

fn fold(value: u64, multiplier: u64) -> u64 {
    let wide = u128::from(value) * u128::from(multiplier);
    (wide as u64) ^ ((wide >> 64) as u64)
}

fn word(octets: &[u8; 8]) -> u64 {
    u64::from_be_bytes(*octets)
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
    fn port_and_sequence_are_part_of_a_transaction() {
        let peer = |port| SocketAddr::from(([10, 0, 0, 1], port));
        let hash = of_transaction(3, peer(8805), 9);
        assert_ne!(hash, of_transaction(3, peer(8806), 9));
        assert_ne!(hash, of_transaction(3, peer(8805), 10));
    }
}
