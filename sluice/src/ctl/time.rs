//! Time of day in texts for people: UTC with microseconds. Files and JSON have numbers.

use std::time::Duration;

/// Title of a column of times.
pub const HEAD: &str = "UTC";

/// The time of day, since 1970-01-01 00:00 UTC: `13:04:05.000250`.
pub fn of_day(since_1970: Duration) -> String {
    let s = since_1970.as_secs() % 86_400;
    format!(
        "{:02}:{:02}:{:02}.{:06}",
        s / 3_600,
        s / 60 % 60,
        s % 60,
        since_1970.subsec_micros()
    )
}

/// Seconds and nanoseconds since 1970 as a UPF tells them: `1790000000.000000250`.
pub fn seconds(text: &str) -> Duration {
    let (seconds, fraction) = text.split_once('.').unwrap_or((text, ""));
    let ns = format!("{fraction:0<9.9}").parse().unwrap_or(0);
    Duration::new(seconds.parse().unwrap_or(0), ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_of_day_has_microseconds() {
        assert_eq!(of_day(Duration::from_millis(3_723_004)), "01:02:03.004000");
        assert_eq!(of_day(seconds("86399.999999999")), "23:59:59.999999");
        assert_eq!(of_day(seconds("86400.000001000")), "00:00:00.000001");
    }

    #[test]
    fn a_fraction_is_read_by_its_digits() {
        assert_eq!(seconds("12.5"), Duration::from_millis(12_500));
        assert_eq!(seconds("12.000000001"), Duration::new(12, 1));
        assert_eq!(seconds("12"), Duration::from_secs(12));
        assert_eq!(seconds("x"), Duration::ZERO);
    }
}
