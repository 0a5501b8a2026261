//! Headers of the service-based interfaces (TS 29.500, 5.2): deadlines, and headers that HTTP/2 has no place for.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use http::header::{
    CONNECTION, CONTENT_LENGTH, HOST, HeaderName, HeaderValue, TE, TRANSFER_ENCODING, UPGRADE,
};
use http::{HeaderMap, Method};

/// When the request left (TS 29.500, 5.2.3.2.2).
const SENDER_TIMESTAMP: HeaderName = HeaderName::from_static("3gpp-sbi-sender-timestamp");
/// How long its sender waits from then on, in milliseconds (TS 29.500, 5.2.3.2.3).
const MAX_RSP_TIME: HeaderName = HeaderName::from_static("3gpp-sbi-max-rsp-time");
/// Most digits of it are five.
const MAX_RSP_TIME_MS: u128 = 99_999;

const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
const MONTHS: [&str; 12] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
];

/// Takes away headers of one connection, which HTTP/2 does not have (RFC 9113, 8.2.2).
pub(crate) fn clean(headers: &mut HeaderMap) {
    let keep_alive = HeaderName::from_static("keep-alive");
    let proxy = HeaderName::from_static("proxy-connection");
    for name in [
        CONNECTION,
        HOST,
        TE,
        TRANSFER_ENCODING,
        UPGRADE,
        keep_alive,
        proxy,
    ] {
        headers.remove(name);
    }
}

/// Tells the length of a body, where a body may be.
pub(crate) fn set_length(headers: &mut HeaderMap, octets: usize) {
    headers.insert(CONTENT_LENGTH, HeaderValue::from(octets));
}

/// Whether a request of this method says how long its body is even without one.
pub(crate) fn may_have_body(method: &Method) -> bool {
    [Method::POST, Method::PUT, Method::PATCH].contains(method)
}

/// Tells when a request leaves and how long its sender waits.
pub(crate) fn set_deadline(headers: &mut HeaderMap, left: Duration) {
    if let Ok(now) = HeaderValue::from_str(&timestamp(SystemTime::now())) {
        headers.insert(SENDER_TIMESTAMP, now);
    }
    let left_ms = left.as_millis().clamp(1, MAX_RSP_TIME_MS);
    let left_ms = u64::try_from(left_ms).unwrap_or(1);
    headers.insert(MAX_RSP_TIME, HeaderValue::from(left_ms));
}

/// Until when the sender of a request waits. The time on the way counts if both clocks agree that there is some left.
pub(crate) fn deadline(headers: &HeaderMap, now: Instant, clock: SystemTime) -> Option<Instant> {
    let text = |name| headers.get(name)?.to_str().ok();
    let digits = text(MAX_RSP_TIME)?.trim();
    if digits.len() > 5 || !digits.bytes().all(|one| one.is_ascii_digit()) {
        return None;
    }
    let most = Duration::from_millis(digits.parse().ok()?);
    let sent = text(SENDER_TIMESTAMP).and_then(read_timestamp);
    let age = sent.and_then(|sent| clock.duration_since(sent).ok());
    let left = age.and_then(|age| most.checked_sub(age)).unwrap_or(most);
    now.checked_add(left)
}

/// Time as `Tue, 04 Feb 2020 08:49:37.845 GMT`.
fn timestamp(time: SystemTime) -> String {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    let (days, second) = (since.as_secs() / 86_400, since.as_secs() % 86_400);
    let (year, month, day) = date(days);
    let name = |names: &[&'static str], at: u64| {
        let at = usize::try_from(at).unwrap_or_default();
        names.get(at).copied().unwrap_or_default()
    };
    format!(
        "{}, {day:02} {} {year:04} {:02}:{:02}:{:02}.{:03} GMT",
        name(&DAYS, days % 7),
        name(&MONTHS, month - 1),
        second / 3_600,
        second / 60 % 60,
        second % 60,
        since.subsec_millis(),
    )
}

/// Year, month and day of a day after 1970-01-01; years of the calendar begin in March here, so leap days come last.
fn date(days: u64) -> (u64, u64, u64) {
    let day = days + 719_468;
    let (era, of_era) = (day / 146_097, day % 146_097);
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 {
        from_march + 3
    } else {
        from_march - 9
    };
    (era * 400 + year + u64::from(month <= 2), month, day)
}

/// Day after 1970-01-01 of a date.
fn day_of(year: u64, month: u64, day: u64) -> Option<u64> {
    let year = year.checked_sub(u64::from(month <= 2))?;
    let from_march = (month + 9) % 12;
    let of_year = (153 * from_march + 2) / 5 + day.checked_sub(1)?;
    let of_era = year % 400 * 365 + year % 400 / 4 - year % 400 / 100 + of_year;
    (year / 400 * 146_097 + of_era).checked_sub(719_468)
}

/// Time of such a text; the fraction of a second may be missing.
fn read_timestamp(text: &str) -> Option<SystemTime> {
    let mut words = text.split_ascii_whitespace();
    let _day_of_week = words.next()?;
    let day: u64 = words.next()?.parse().ok()?;
    let month_name = words.next()?;
    let month = MONTHS.iter().position(|name| *name == month_name)?;
    let year: u64 = words.next()?.parse().ok()?;
    let mut clock = words.next()?.split(':');
    let hour: u64 = clock.next()?.parse().ok()?;
    let minute: u64 = clock.next()?.parse().ok()?;
    let last = clock.next()?;
    let (second, fraction) = last.split_once('.').unwrap_or((last, "0"));
    let second: u64 = second.parse().ok()?;
    let millis: u64 = format!("{fraction:0<3}").get(..3)?.parse().ok()?;
    let is_date = (1_970..10_000).contains(&year) && (1..=31).contains(&day);
    if !is_date || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let days = day_of(year, u64::try_from(month).ok()? + 1, day)?;
    let seconds = days * 86_400 + hour * 3_600 + minute * 60 + second;
    UNIX_EPOCH.checked_add(Duration::from_millis(seconds * 1_000 + millis))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> SystemTime {
        UNIX_EPOCH + Duration::from_millis(ms)
    }

    /// The example of TS 29.500, 5.2.3.2.2, and days around leap days.
    #[test]
    fn timestamps_are_as_written_in_the_specification() {
        for (ms, text) in [
            (1_580_806_177_845, "Tue, 04 Feb 2020 08:49:37.845 GMT"),
            (0, "Thu, 01 Jan 1970 00:00:00.000 GMT"),
            (1_582_934_400_001, "Sat, 29 Feb 2020 00:00:00.001 GMT"),
            (1_583_020_799_999, "Sat, 29 Feb 2020 23:59:59.999 GMT"),
            (1_583_020_800_000, "Sun, 01 Mar 2020 00:00:00.000 GMT"),
            (4_107_542_400_000, "Mon, 01 Mar 2100 00:00:00.000 GMT"),
        ] {
            assert_eq!(timestamp(at(ms)), text);
            assert_eq!(read_timestamp(text), Some(at(ms)), "{text}");
        }
        let whole = read_timestamp("Tue, 04 Feb 2020 08:49:37 GMT");
        assert_eq!(whole, Some(at(1_580_806_177_000)));
        for text in [
            "",
            "now",
            "Tue, 04 Foo 2020 08:49:37.845 GMT",
            "Tue, 00 Feb 2020 08:49:37.845 GMT",
            "Tue, 04 Feb 99999999999999999 08:49:37.845 GMT",
            "Tue, 04 Feb 2020 08:49 GMT",
            "Tue, 04 Feb 2020 08:49:37.\u{e9} GMT",
        ] {
            assert_eq!(read_timestamp(text), None, "{text}");
        }
    }

    #[test]
    fn a_deadline_counts_from_when_the_request_left_if_clocks_agree() {
        let (now, clock) = (Instant::now(), at(1_580_806_177_845));
        let left_ms = |sent: Option<&'static str>, most: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(MAX_RSP_TIME, HeaderValue::from_static(most));
            if let Some(sent) = sent {
                headers.insert(SENDER_TIMESTAMP, HeaderValue::from_static(sent));
            }
            deadline(&headers, now, clock).map(|until| (until - now).as_millis())
        };
        assert_eq!(
            left_ms(Some("Tue, 04 Feb 2020 08:49:37.345 GMT"), "2000"),
            Some(1_500)
        );
        assert_eq!(left_ms(None, "2000"), Some(2_000));
        // A clock that is ahead, and one that is an hour behind.
        assert_eq!(
            left_ms(Some("Tue, 04 Feb 2020 08:50:00.000 GMT"), "2000"),
            Some(2_000)
        );
        assert_eq!(
            left_ms(Some("Tue, 04 Feb 2020 07:49:37.845 GMT"), "2000"),
            Some(2_000)
        );
        assert_eq!(left_ms(None, "soon"), None);
        assert_eq!(left_ms(None, "100000"), None);
        assert_eq!(deadline(&HeaderMap::new(), now, clock), None);
    }

    #[test]
    fn the_deadline_that_is_sent_is_read_as_it_was() {
        let mut headers = HeaderMap::new();
        set_deadline(&mut headers, Duration::from_millis(1_500));
        let now = Instant::now();
        let left = deadline(&headers, now, SystemTime::now()).map(|until| until - now);
        let left = left.expect("a deadline");
        assert!((1_000..=1_500).contains(&left.as_millis()), "{left:?}");
        set_deadline(&mut headers, Duration::from_secs(1_000));
        assert_eq!(headers[MAX_RSP_TIME], "99999");
    }
}
