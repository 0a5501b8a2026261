//! Stamp that every packet of ours carries behind its UDP header, big endian:
//!
//! ```text
//! octet  0-1   magic, "SL"
//!        2     version (high four bits, 1), flags (low four bits)
//!        3     run: packets of an earlier run are none of this one's
//!        4-6   flow
//!        7-9   sequence within flow and lane, modulo 2^24
//!       10-12  how late it was sent: nanoseconds, or with bit 23 set units of 1024 ns
//!       13-17  when it was sent: nanoseconds of the generator's clock, modulo 2^40 (18 minutes)
//! ```
//!
//! 18 octets, so that the shortest Ethernet frame has room: 64 octets with FCS carry an IPv4 packet
//! of 46. What is behind them is zero.

use crate::Direction;

/// Octets of a stamp.
pub const STAMP_BYTES: usize = 18;
/// The shortest IPv4 packet of a UE that carries one: IPv4, UDP and the stamp.
pub const IP_BYTES_MIN: u16 = 20 + 8 + STAMP_BYTES as u16;
/// Flows that a stamp can name.
pub const FLOWS_MAX: u32 = 1 << 24;
/// Sequence numbers wrap here.
pub const SEQUENCES: u32 = 1 << 24;

const MAGIC: [u8; 2] = *b"SL";
const VERSION: u8 = 1;
const DOWNLINK: u8 = 1;
const MIRRORED: u8 = 2;
const TIME_BITS: u32 = 40;
/// Of lateness: what follows counts units of 1024 ns.
const COARSE: u32 = 1 << 23;

/// Contents of a stamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// Which way it was sent.
    pub direction: Direction,
    /// Whether the far side has sent it back.
    pub is_mirrored: bool,
    /// The run that it is part of.
    pub run: u8,
    /// Number of the flow, less than [`FLOWS_MAX`].
    pub flow: u32,
    /// Sequence number within flow and direction, modulo [`SEQUENCES`].
    pub sequence: u32,
    /// How long after its due time it was sent, in nanoseconds: exact below 2^23 (8 ms), in steps
    /// of 1024 ns above, at most 8.6 s.
    pub late_ns: u64,
    /// When it was sent, in nanoseconds modulo 2^40.
    pub sent_ns: u64,
}

impl Stamp {
    /// As it stands in the packet.
    #[inline]
    pub fn to_bytes(&self) -> [u8; STAMP_BYTES] {
        let mut flags = 0;
        if self.direction == Direction::Downlink {
            flags |= DOWNLINK;
        }
        if self.is_mirrored {
            flags |= MIRRORED;
        }
        let [_, f0, f1, f2] = self.flow.to_be_bytes();
        let [_, s0, s1, s2] = self.sequence.to_be_bytes();
        let [_, l0, l1, l2] = lateness_code(self.late_ns).to_be_bytes();
        let [_, _, _, t0, t1, t2, t3, t4] = self.sent_ns.to_be_bytes();
        let [m0, m1] = MAGIC;
        let form = VERSION << 4 | flags;
        [
            m0, m1, form, self.run, f0, f1, f2, s0, s1, s2, l0, l1, l2, t0, t1, t2, t3, t4,
        ]
    }

    /// Reads the stamp at the beginning of a UDP payload; none if there is none of this version.
    #[inline]
    pub fn read(payload: &[u8]) -> Option<Self> {
        let &[
            m0,
            m1,
            form,
            run,
            f0,
            f1,
            f2,
            s0,
            s1,
            s2,
            l0,
            l1,
            l2,
            t0,
            t1,
            t2,
            t3,
            t4,
        ] = payload.first_chunk::<STAMP_BYTES>()?;
        if [m0, m1] != MAGIC || form >> 4 != VERSION {
            return None;
        }
        let direction = match form & DOWNLINK {
            0 => Direction::Uplink,
            _ => Direction::Downlink,
        };
        Some(Self {
            direction,
            is_mirrored: form & MIRRORED != 0,
            run,
            flow: u32::from_be_bytes([0, f0, f1, f2]),
            sequence: u32::from_be_bytes([0, s0, s1, s2]),
            late_ns: lateness(u32::from_be_bytes([0, l0, l1, l2])),
            sent_ns: u64::from_be_bytes([0, 0, 0, t0, t1, t2, t3, t4]),
        })
    }

    /// Writes the times of a stamp that is in a packet already.
    #[inline]
    pub(crate) fn set_times(bytes: &mut [u8; STAMP_BYTES], late_ns: u64, sent_ns: u64) {
        let [_, l0, l1, l2] = lateness_code(late_ns).to_be_bytes();
        let [_, _, _, t0, t1, t2, t3, t4] = sent_ns.to_be_bytes();
        bytes[10..].copy_from_slice(&[l0, l1, l2, t0, t1, t2, t3, t4]);
    }

    /// Marks a stamp in a packet as sent back; false if there is none.
    pub fn mirror(payload: &mut [u8]) -> bool {
        let is_one = Self::read(payload).is_some_and(|stamp| !stamp.is_mirrored);
        match payload.get_mut(2) {
            Some(form) if is_one => {
                *form |= MIRRORED;
                true
            }
            _ => false,
        }
    }

    /// How long it was on its way when it arrives at `now_ns`. Clocks of one machine do not go
    /// back; a stamp of the future counts as no time.
    #[inline]
    pub fn age_ns(&self, now_ns: u64) -> u64 {
        let mask = (1 << TIME_BITS) - 1;
        let age = now_ns.wrapping_sub(self.sent_ns) & mask;
        if age >> (TIME_BITS - 1) == 0 { age } else { 0 }
    }
}

fn lateness_code(late_ns: u64) -> u32 {
    match u32::try_from(late_ns) {
        Ok(exact) if exact < COARSE => exact,
        _ => COARSE | (late_ns >> 10).min(u64::from(COARSE - 1)) as u32,
    }
}

fn lateness(code: u32) -> u64 {
    match code & COARSE {
        0 => u64::from(code),
        _ => u64::from(code & (COARSE - 1)) << 10,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn stamp() -> Stamp {
        Stamp {
            direction: Direction::Downlink,
            is_mirrored: false,
            run: 7,
            flow: 0x0a_bcde,
            sequence: 0xff_fffe,
            late_ns: 1234,
            sent_ns: 0x12_3456_789a,
        }
    }

    #[test]
    fn the_octets_are_those_of_the_description() {
        let want = [
            b'S', b'L', 0x11, 7, 0x0a, 0xbc, 0xde, 0xff, 0xff, 0xfe, 0, 0x04, 0xd2, 0x12, 0x34,
            0x56, 0x78, 0x9a,
        ];
        assert_eq!(stamp().to_bytes(), want);
    }

    #[test]
    fn a_stamp_is_mirrored_once() {
        let mut bytes = stamp().to_bytes();
        assert!(Stamp::mirror(&mut bytes));
        assert!(Stamp::read(&bytes).is_some_and(|stamp| stamp.is_mirrored));
        assert!(!Stamp::mirror(&mut bytes));
        assert!(!Stamp::mirror(&mut [0; 40]) && !Stamp::mirror(&mut []));
    }

    #[test]
    fn ages_survive_the_wrap_of_time() {
        let mut early = stamp();
        early.sent_ns = (1 << 40) - 10;
        assert_eq!(early.age_ns((1 << 40) + 5), 15);
        assert_eq!(early.age_ns((1 << 40) - 11), 0, "of the future");
    }

    proptest! {
        #[test]
        fn what_was_written_is_read(
            flow in 0..FLOWS_MAX, sequence in 0..SEQUENCES, run: u8, late_ns in 0u64..1 << 23,
            sent_ns in 0u64..1 << 40, down: bool, is_mirrored: bool,
        ) {
            let direction = if down { Direction::Downlink } else { Direction::Uplink };
            let stamp = Stamp { direction, is_mirrored, run, flow, sequence, late_ns, sent_ns };
            prop_assert_eq!(Stamp::read(&stamp.to_bytes()), Some(stamp));
        }

        #[test]
        fn long_lateness_loses_a_microsecond_at_most(late_ns in 1u64 << 23..8_500_000_000) {
            let mut late = stamp();
            late.late_ns = late_ns;
            let read = Stamp::read(&late.to_bytes()).map_or(0, |stamp| stamp.late_ns);
            prop_assert!(read <= late_ns && late_ns - read < 1024);
        }

        #[test]
        fn any_octets_can_be_read(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
            let _ = Stamp::read(&bytes);
        }
    }
}
