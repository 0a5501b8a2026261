//! Points in time as text (DateTime: TS 29.571, 5.2.2; RFC 3339), from and to seconds since 1970.

/// Days from 1970 to a day of the Gregorian calendar.
fn days(year: i64, month: i64, day: i64) -> i64 {
    // Years begin with March, so that the day that may be missing is the last.
    let year = if month <= 2 { year - 1 } else { year };
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// `2030-01-01T00:00:00Z`
pub(crate) fn text(unix_s: u64) -> String {
    // Beyond the year 9999 there is no text.
    let seconds = unix_s.min(253_402_300_799) as i64;
    let (day, of_day) = (seconds / 86_400, seconds % 86_400);
    let shifted = day + 719_468;
    let (era, of_era) = (shifted / 146_097, shifted % 146_097);
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let (month, later) = if month < 10 {
        (month + 3, 0)
    } else {
        (month - 9, 1)
    };
    let year = year + era * 400 + later;
    let (hour, minute, second) = (of_day / 3_600, of_day / 60 % 60, of_day % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// Seconds since 1970 of a text with any offset; 0 of one before; none if it is no point in time.
pub(crate) fn unix_s(text: &str) -> Option<u64> {
    let number = |from: usize, to: usize| -> Option<i64> {
        let digits = text.get(from..to)?;
        let is_right = digits.bytes().all(|c| c.is_ascii_digit());
        digits.parse().ok().filter(|_| is_right)
    };
    let separators = [(4, b'-'), (7, b'-'), (13, b':'), (16, b':')];
    let octets = text.as_bytes();
    let has = |(at, c): (usize, u8)| octets.get(at) == Some(&c);
    let is_between = matches!(octets.get(10)?, b'T' | b't' | b' ');
    if !is_between || !separators.into_iter().all(has) {
        return None;
    }
    let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
    let (hour, minute, second) = (number(11, 13)?, number(14, 16)?, number(17, 19)?);
    let is_right = (1..=12).contains(&month)
        && (1..=31).contains(&day)
        && hour < 24
        && minute < 60
        && second <= 60;
    let rest = text.get(19..)?;
    let offset = match rest.strip_prefix('.') {
        Some(part) => part.trim_start_matches(|c: char| c.is_ascii_digit()),
        None => rest,
    };
    let at = days(year, month, day) * 86_400 + hour * 3_600 + minute * 60 + second;
    let at = at - offset_s(offset)?;
    is_right.then(|| u64::try_from(at).unwrap_or(0))
}

/// Seconds of `Z` or `+01:00`.
fn offset_s(text: &str) -> Option<i64> {
    if matches!(text, "Z" | "z") {
        return Some(0);
    }
    let sign = match text.get(..1)? {
        "+" => 1,
        "-" => -1,
        _ => return None,
    };
    let (hours, minutes) = text.get(1..)?.split_once(':')?;
    let two = |text: &str| -> Option<i64> {
        let is_right = text.len() == 2 && text.bytes().all(|c| c.is_ascii_digit());
        text.parse().ok().filter(|_| is_right)
    };
    Some(sign * (two(hours)? * 3_600 + two(minutes)? * 60))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_in_time_is_read_as_it_is_written() {
        for (unix_s_, text_) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_795_910_400, "2026-11-29T00:00:00Z"),
            (253_402_300_799, "9999-12-31T23:59:59Z"),
        ] {
            assert_eq!(text(unix_s_), text_);
            assert_eq!(unix_s(text_), Some(unix_s_));
        }
        assert_eq!(
            unix_s("2026-11-29T00:03:36.688482+00:00"),
            Some(1_795_910_616)
        );
        assert_eq!(unix_s("1970-01-01T02:00:00+01:30"), Some(1_800));
        assert_eq!(unix_s("1969-01-01T00:00:00Z"), Some(0));
    }

    #[test]
    fn what_is_no_point_in_time_is_none() {
        for wrong in [
            "",
            "2026-11-29",
            "2026-11-29T00:00:00",
            "2026-13-01T00:00:00Z",
            "2026-1é-01T00:00:00Z",
        ] {
            assert_eq!(unix_s(wrong), None, "{wrong}");
        }
    }
}
