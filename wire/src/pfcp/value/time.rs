//! Times and durations.

use super::number::number_elements;
use crate::pfcp::element::{Element, Fault, Reader};
use crate::pfcp::writer::{Full, Writer};

/// A duration in seconds: Time Threshold (8.2.14), Time Quota (8.2.51), Measurement Period
/// (8.2.42), Quota Holding Time (8.2.48), User Plane Inactivity Timer (8.2.83) and so on.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Seconds(pub u32);

/// A duration in milliseconds: Averaging Window (8.2.115).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Milliseconds(pub u32);

/// A point in time in seconds since 1900-01-01 00:00 UTC, the first 32 bits of an NTP time stamp
/// (RFC 5905, 6): Recovery Time Stamp (8.2.65), Start Time (8.2.52), Monitoring Time (8.2.15)
/// and so on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
pub struct NtpTime(pub u32);

impl NtpTime {
    /// Seconds from the NTP epoch (1900) to the Unix epoch (1970).
    const UNIX_EPOCH_S: u32 = 2_208_988_800;

    /// From seconds since 1970; the 32 bits wrap in 2036.
    pub const fn from_unix_s(unix_s: u64) -> Self {
        Self((unix_s as u32).wrapping_add(Self::UNIX_EPOCH_S))
    }

    /// Seconds since 1970, of the moment nearest to `near_unix_s` that has these 32 bits: the
    /// stamp alone does not tell before 2036 from after.
    pub const fn to_unix_s(self, near_unix_s: u64) -> u64 {
        let ahead = self.0.wrapping_sub(Self::from_unix_s(near_unix_s).0) as i32;
        near_unix_s.saturating_add_signed(ahead as i64)
    }
}

number_elements! {
    Seconds: u32;
    Milliseconds: u32;
    NtpTime: u32;
}

/// Downlink Data Notification Delay (8.2.28): a multiple of 50 ms.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct NotificationDelay(pub u8);

impl NotificationDelay {
    /// The delay in milliseconds.
    pub const fn delay_ms(self) -> u32 {
        self.0 as u32 * 50
    }
}

number_elements! { NotificationDelay: u8; }

/// A timer as unit and count in one octet: DL Buffering Duration (8.2.29), Graceful Release
/// Period (8.2.78), Timer (8.2.35).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Timer(pub u8);

impl Timer {
    /// No end.
    pub const INFINITE: Self = Self(7 << 5);
    /// Seconds in a unit, by the value of bits 8 to 6; 5 and 6 mean minutes.
    const UNIT_S: [u32; 7] = [2, 60, 600, 3600, 36_000, 60, 60];
    const COUNT_MAX: u32 = 31;

    /// The duration in seconds; `None` without end. 0 stops the timer.
    pub fn duration_s(self) -> Option<u32> {
        let unit_s = Self::UNIT_S.get(usize::from(self.0 >> 5))?;
        Some(unit_s * u32::from(self.0 & 0x1f))
    }

    /// The shortest timer that is not shorter than `duration_s`.
    pub fn at_least_s(duration_s: u32) -> Self {
        for (unit, unit_s) in (0u8..5).zip(Self::UNIT_S) {
            let count = duration_s.div_ceil(unit_s);
            if count <= Self::COUNT_MAX {
                return Self(unit << 5 | count as u8);
            }
        }
        Self::INFINITE
    }
}

impl Element<'_> for Timer {
    fn decode(value: &[u8]) -> Result<Self, Fault> {
        Reader::new(value).u8().map(Self)
    }

    fn encode(&self, out: &mut Writer<'_>) -> Result<(), Full> {
        out.u8(self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_unix_epoch_is_2208988800_in_ntp() {
        assert_eq!(NtpTime::from_unix_s(0).0, 0x83aa_7e80);
    }

    #[test]
    fn a_stamp_is_unfolded_beyond_2036() {
        let in_2040 = 2_208_988_800;
        assert_eq!(
            NtpTime::from_unix_s(in_2040).to_unix_s(in_2040 - 500_000),
            in_2040
        );
        assert_eq!(
            NtpTime::from_unix_s(in_2040).to_unix_s(in_2040 + 500_000),
            in_2040
        );
    }

    #[test]
    fn a_timer_is_a_unit_and_a_count() {
        assert_eq!(Timer(0b001_00011).duration_s(), Some(180));
        assert_eq!(Timer(0b101_00001).duration_s(), Some(60));
        assert_eq!(Timer::INFINITE.duration_s(), None);
        assert_eq!(Timer::at_least_s(62), Timer(0b000_11111));
        assert_eq!(Timer::at_least_s(63), Timer(0b001_00010));
        assert_eq!(Timer::at_least_s(u32::MAX), Timer::INFINITE);
    }

    #[test]
    fn a_notification_delay_counts_50_ms() {
        assert_eq!(NotificationDelay(3).delay_ms(), 150);
    }
}
