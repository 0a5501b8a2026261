//! Network names and time that a UE shows (NITZ; TS 24.008, 10.5.3.5a and 10.5.3.9).

/// A time, and how far local time is from it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NetworkTime {
    /// Seconds since 1970, of the years 2000 to 2099.
    pub unix_s: u64,
    /// Local time less universal time in quarters of an hour, at most 79 either way.
    pub offset_quarters: i8,
}

const SECONDS_PER_DAY: u64 = 86_400;

impl NetworkTime {
    /// Year, month, day, hour, minute, second and time zone, each of two digits that are swapped.
    pub(crate) fn octets(self) -> [u8; 7] {
        let (days, second) = (self.unix_s / SECONDS_PER_DAY, self.unix_s % SECONDS_PER_DAY);
        let (year, month, day) = date(days);
        let of_day = [second / 3600, second / 60 % 60, second % 60];
        let [hour, minute, second] = of_day.map(|part| swapped(part as u8));
        let zone = swapped(self.offset_quarters.unsigned_abs().min(79));
        // The sign stands in the half octet of the tens, which has three bits.
        let sign = if self.offset_quarters < 0 { 8 } else { 0 };
        [
            swapped((year % 100) as u8),
            swapped(month),
            swapped(day),
            hour,
            minute,
            second,
            zone | sign,
        ]
    }
}

/// Two digits, the tens in the low half.
fn swapped(number: u8) -> u8 {
    ((number % 10) << 4) | (number / 10)
}

/// Year, month and day of a day since 1 January 1970.
fn date(mut days: u64) -> (u64, u8, u8) {
    // From 1970 to 2099 without exception.
    let is_leap = |year: u64| year.is_multiple_of(4);
    let mut year = 1970;
    // Far in the future it is the last year that can be told.
    while year < 2099 && days >= 365 + u64::from(is_leap(year)) {
        days -= 365 + u64::from(is_leap(year));
        year += 1;
    }
    let february = 28 + u64::from(is_leap(year));
    let mut month = 1;
    for length in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30] {
        if days < length {
            break;
        }
        days -= length;
        month += 1;
    }
    (year, month, (days % 31 + 1) as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn octets(unix_s: u64, offset_quarters: i8) -> [u8; 7] {
        NetworkTime {
            unix_s,
            offset_quarters,
        }
        .octets()
    }

    #[test]
    fn a_time_is_told_in_swapped_digits() {
        // 2026-11-24 13:31:08 UTC, two hours to the east.
        assert_eq!(
            octets(1_795_527_068, 8),
            [0x62, 0x11, 0x42, 0x31, 0x13, 0x80, 0x80]
        );
        // 2024-02-29 23:59:59 UTC, three and a half hours to the west.
        assert_eq!(
            octets(1_709_251_199, -14),
            [0x42, 0x20, 0x92, 0x32, 0x95, 0x95, 0x49]
        );
        // The second after it, and the first of a year.
        assert_eq!(octets(1_709_251_200, 0)[..3], [0x42, 0x30, 0x10]);
        assert_eq!(octets(1_735_689_600, 0)[..6], [0x52, 0x10, 0x10, 0, 0, 0]);
        // What cannot be told is at least no nonsense.
        assert_eq!(octets(u64::MAX, 127)[0], 0x99);
    }
}
