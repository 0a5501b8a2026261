//! TCP header (RFC 9293, 3.1): the Maximum Segment Size option of a SYN.

use crate::checksum;

/// Octets of a header without options.
pub const LEN: usize = 20;
/// Data offset: words of the header, in the upper half of an octet.
const DATA_OFFSET: usize = 12;
const FLAGS: usize = 13;
const SYN: u8 = 0x02;
const CHECKSUM: usize = 16;

/// Kinds of options (RFC 9293, 3.2).
const END_OF_OPTIONS: u8 = 0;
const NO_OPERATION: u8 = 1;
const MAXIMUM_SEGMENT_SIZE: u8 = 2;
/// Octets of the Maximum Segment Size option: kind, length, the size.
const MAXIMUM_SEGMENT_SIZE_LEN: usize = 4;

/// True for a SYN, with ACK or without; also of a segment that is cut behind its flags.
#[inline]
pub fn is_syn(segment: &[u8]) -> bool {
    segment.get(FLAGS).is_some_and(|flags| flags & SYN != 0)
}

/// Lowers each Maximum Segment Size of a SYN to `most_bytes`, and sees to its checksum (RFC 1624). The segment may
/// be cut behind its header, as a first fragment is. True if a size was larger.
///
/// Left alone: a segment that is no SYN, or whose header is not whole; options behind one of an impossible length.
pub fn clamp_mss(segment: &mut [u8], most_bytes: u16) -> bool {
    if !is_syn(segment) {
        return false;
    }
    let words = segment.get(DATA_OFFSET).map_or(0, |octet| octet >> 4);
    let Some(header) = segment.get_mut(..4 * usize::from(words)) else {
        return false;
    };
    let mut at = LEN;
    let mut is_clamped = false;
    while let Some(kind) = header.get(at).copied() {
        let len = match kind {
            END_OF_OPTIONS => break,
            NO_OPERATION => 1,
            _ => header.get(at + 1).map_or(0, |len| usize::from(*len)),
        };
        if len == 0 || len == 1 && kind != NO_OPERATION || at + len > header.len() {
            break;
        }
        if kind == MAXIMUM_SEGMENT_SIZE && len == MAXIMUM_SEGMENT_SIZE_LEN {
            is_clamped |= lower(header, at + 2, most_bytes).is_some();
        }
        at += len;
    }
    is_clamped
}

/// Lowers the size that stands at `at`, if it is larger.
fn lower(header: &mut [u8], at: usize, most_bytes: u16) -> Option<()> {
    let size = header.get_mut(at..)?.first_chunk_mut()?;
    let offered = u16::from_be_bytes(*size);
    if offered <= most_bytes {
        return None;
    }
    *size = most_bytes.to_be_bytes();
    // Options stand where they come: at an odd place, the halves of the size are in two words of the checksum,
    // each in the other half (RFC 1071, 2 (B)).
    let (old, new) = match at % 2 {
        0 => (offered, most_bytes),
        _ => (offered.swap_bytes(), most_bytes.swap_bytes()),
    };
    let sum = header.get_mut(CHECKSUM..)?.first_chunk_mut()?;
    *sum = checksum::update_u16(u16::from_be_bytes(*sum), old, new).to_be_bytes();
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checksum::Sum;
    use proptest::prelude::*;

    /// A SYN with these options, padded to a word, and with a right checksum over it and a pseudo header of nothing.
    fn syn(flags: u8, options: &[u8]) -> Vec<u8> {
        let padded = options.len().next_multiple_of(4);
        let mut segment = vec![0; LEN + padded];
        segment[..4].copy_from_slice(&[0x13, 0x88, 0, 80]);
        segment[DATA_OFFSET] = ((LEN + padded) as u8 / 4) << 4;
        segment[FLAGS] = flags;
        segment[LEN..LEN + options.len()].copy_from_slice(options);
        let sum = Sum::of(&segment).finish();
        segment[CHECKSUM..CHECKSUM + 2].copy_from_slice(&sum.to_be_bytes());
        segment
    }

    fn clamped(options: &[u8], most_bytes: u16) -> (bool, Vec<u8>) {
        let mut segment = syn(SYN, options);
        let is_clamped = clamp_mss(&mut segment, most_bytes);
        assert!(Sum::of(&segment).verifies(), "{options:?}");
        (is_clamped, segment[LEN..][..options.len()].to_vec())
    }

    #[test]
    fn a_size_is_lowered_wherever_it_stands_and_never_raised() {
        let to_1360 = [2, 4, 0x05, 0x50];
        assert_eq!(clamped(&[2, 4, 0x05, 0xb4], 1360), (true, to_1360.to_vec()));
        assert_eq!(
            clamped(&[2, 4, 0x05, 0x50], 1360),
            (false, to_1360.to_vec())
        );
        assert_eq!(clamped(&[2, 4, 0x02, 0x18], 1360).1, [2, 4, 0x02, 0x18]);
        assert_eq!(
            clamped(&[1, 2, 4, 0x05, 0xb4, 4, 2], 1360),
            (true, vec![1, 2, 4, 0x05, 0x50, 4, 2])
        );
        // Whoever takes the last of two takes a lowered one.
        assert_eq!(
            clamped(&[2, 4, 0xff, 0xff, 3, 3, 7, 2, 4, 0x05, 0xb4], 1360).1,
            [2, 4, 0x05, 0x50, 3, 3, 7, 2, 4, 0x05, 0x50]
        );
        assert_eq!(clamped(&[], 1360), (false, vec![]));
    }

    #[test]
    fn what_is_no_sound_option_is_left_alone() {
        for options in [
            &[0, 2, 4, 0x05, 0xb4][..],
            &[8, 0, 2, 4, 0x05, 0xb4],
            &[8, 1, 2, 4, 0x05, 0xb4],
            &[8, 60, 2, 4, 0x05, 0xb4],
            &[2, 3, 0x05],
            &[2, 5, 0x05, 0xb4, 0],
            &[1, 1, 1, 2],
            &[1, 1, 2, 4],
        ] {
            assert_eq!(clamped(options, 1360), (false, options.to_vec()));
        }
    }

    #[test]
    fn only_syns_are_looked_at() {
        let options = [2, 4, 0x05, 0xb4];
        for (flags, is_one) in [
            (0x02, true),
            (0x12, true),
            (0xc2, true),
            (0x10, false),
            (0x14, false),
        ] {
            let mut segment = syn(flags, &options);
            assert_eq!(clamp_mss(&mut segment, 1000), is_one, "{flags:#x}");
        }
    }

    #[test]
    fn a_header_that_is_not_whole_is_left_alone() {
        let whole = syn(SYN, &[2, 4, 0x05, 0xb4]);
        for len in 0..whole.len() {
            let mut cut = whole[..len].to_vec();
            assert!(!clamp_mss(&mut cut, 1000), "{len}");
            assert_eq!(cut, whole[..len]);
        }
        let mut short = whole.clone();
        short[DATA_OFFSET] = 4 << 4;
        assert!(!clamp_mss(&mut short, 1000));
        let mut followed = [&whole[..], &[9; 7]].concat();
        assert!(clamp_mss(&mut followed, 1000));
        assert_eq!(followed[whole.len()..], [9; 7]);
    }

    proptest! {
        #[test]
        fn the_checksum_stays_right(options in prop::collection::vec(prop_oneof![0..5_u8, any::<u8>()], 0..41), most_bytes in 1..u16::MAX) {
            let (_, after) = clamped(&options, most_bytes);
            prop_assert_eq!(after.len(), options.len());
        }

        #[test]
        fn nothing_panics(mut segment in prop::collection::vec(any::<u8>(), 0..80), most_bytes in any::<u16>()) {
            clamp_mss(&mut segment, most_bytes);
        }
    }
}
