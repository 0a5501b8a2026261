//! Hexadecimal digits of keys, read and written without a copy that stays in memory.

use zeroize::Zeroizing;

/// Octets of exactly `2 * N` digits of either case.
pub fn read<const N: usize>(text: &str) -> Option<Zeroizing<[u8; N]>> {
    let digits = text.as_bytes();
    if digits.len() != 2 * N {
        return None;
    }
    let mut octets = Zeroizing::new([0; N]);
    for (octet, pair) in octets.iter_mut().zip(digits.chunks_exact(2)) {
        let digit = |at: usize| char::from(pair[at]).to_digit(16);
        *octet = (digit(0)? << 4 | digit(1)?) as u8;
    }
    Some(octets)
}

/// Small digits.
pub fn write(octets: &[u8]) -> String {
    let digit = |value: u8| char::from_digit(u32::from(value), 16).unwrap_or_default();
    let mut text = String::with_capacity(2 * octets.len());
    for octet in octets {
        text.extend([digit(octet >> 4), digit(octet & 15)]);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_octets_and_nothing_else_is() {
        assert_eq!(read::<2>("0aFf").as_deref(), Some(&[0x0a, 0xff]));
        assert_eq!(write(&[0x0a, 0xff]), "0aff");
        for wrong in ["0af", "0afff", "0ag0", "+1+1", "é1", ""] {
            assert!(read::<2>(wrong).is_none(), "{wrong}");
        }
    }
}
