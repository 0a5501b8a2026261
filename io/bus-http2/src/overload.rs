//! Overload control (TS 29.500, 6.4): what a producer that has too much to do tells by 3gpp-Sbi-Oci or by 503 with
//! Retry-After, and how much less it is asked then.

use std::collections::BTreeMap;
use std::time::{Duration, Instant, SystemTime};

use http::header::RETRY_AFTER;
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use sluice_sbi::{Place, Refused};
use sluice_services::Response;
use sluice_services::problem::refuse;

const OCI: &str = "3gpp-sbi-oci";
const PRIORITY: &str = "3gpp-sbi-message-priority";

/// Priority of a request that does not tell it, of 0 (the highest) to 31 (5.2.3.2.2).
const USUAL_PRIORITY: u8 = 24;
/// Requests with a priority below it have places of their own, beyond those of all others.
const URGENT_BELOW: u8 = 16;

/// How long what a producer tells holds.
const VALID_S: u64 = 5;
/// Longest time for which a producer is asked less without telling so again.
const VALID_MOST: Duration = Duration::from_secs(120);
/// Share of the requests that may wait, in percent, from which on a producer asks for less.
const FROM_PERCENT: usize = 50;
/// When operators are told again of requests that had no place.
const TOLD_AGAIN: Duration = Duration::from_secs(60);
/// Largest reduction that a producer asks for: it hears of its own end by the rest.
const MOST_PERCENT: usize = 90;

/// Reduction in percent that a producer asks for while so many requests wait of the most that may.
pub(crate) fn reduction(waiting: usize, most: usize) -> u8 {
    let full = (100 * waiting).checked_div(most).unwrap_or(100).min(100);
    match full.checked_sub(FROM_PERCENT) {
        None => 0,
        Some(over) => (10 + over * (MOST_PERCENT - 10) / (100 - FROM_PERCENT)) as u8,
    }
}

/// Asks for a reduction in percent of what an instance is asked.
pub(crate) fn tell(headers: &mut HeaderMap, percent: u8, instance: &str, now: SystemTime) {
    let at = httpdate::fmt_http_date(now);
    let text = format!(
        "Timestamp: \"{at}\"; Period-of-Validity: {VALID_S}s; Overload-Reduction-Metric: {percent}%; \
         NF-Instance: {instance}"
    );
    if let Ok(value) = HeaderValue::from_str(&text) {
        headers.insert(OCI, value);
    }
}

/// Whether a request is served while so many wait of the most that may: urgent ones have a quarter more (6.8).
pub(crate) fn has_place(headers: &HeaderMap, waiting: usize, most: usize) -> bool {
    let told = headers.get(PRIORITY).and_then(|value| value.to_str().ok());
    let told = told.and_then(|text| text.trim().parse().ok());
    let priority: u8 = told.filter(|told| *told < 32).unwrap_or(USUAL_PRIORITY);
    let reserve = match priority < URGENT_BELOW {
        true => most / 4,
        false => 0,
    };
    waiting < most + reserve
}

/// Requests that had no place.
#[derive(Default)]
pub(crate) struct Congestion {
    requests: u64,
    told: Option<Instant>,
}

impl Congestion {
    /// Response to one more of them.
    pub fn refuse(&mut self) -> Response {
        self.requests += 1;
        let status = StatusCode::SERVICE_UNAVAILABLE;
        let mut response = refuse(status, "NF_CONGESTION", "too many requests wait");
        let soon = HeaderValue::from_static("1");
        response.headers_mut().insert(RETRY_AFTER, soon);
        response
    }

    /// Refusal that operators are to hear of, once in a while.
    pub fn take_refused(&mut self, now: Instant) -> Option<Refused> {
        let is_told = self.told.is_some_and(|told| now < told + TOLD_AGAIN);
        if self.requests == 0 || is_told {
            return None;
        }
        self.told = Some(now);
        let requests = std::mem::take(&mut self.requests);
        Some(Refused {
            who: "consumers".to_owned(),
            supi: None,
            request: "Service request",
            cause: "503 NF_CONGESTION".to_owned(),
            why: format!(
                "{requests} requests found too many others waiting for functions of this program"
            ),
            remedy: "give the function a CPU of its own, or add an instance of it (wiring.programs)",
        })
    }
}

/// Instances that ask for less.
#[derive(Default)]
pub(crate) struct Reductions(BTreeMap<Place, Reduction>);

struct Reduction {
    percent: u8,
    until: Instant,
    /// When the producer has told it, in its own time.
    told: Option<SystemTime>,
    /// Hundredths of a request that were let go and are to be kept back, so that the share is exact.
    owed: u16,
}

impl Reductions {
    /// Takes what the response of an instance tells.
    pub fn hear(&mut self, place: Place, response: &Response, now: Instant) {
        let headers = response.headers();
        if let Some((percent, valid, told)) = read(headers) {
            let known = self.0.get(&place);
            let is_old = known.is_some_and(|known| told.is_some() && told < known.told);
            if !is_old {
                let owed = known.map_or(0, |known| known.owed);
                let until = now + valid.min(VALID_MOST);
                let one = Reduction {
                    percent,
                    until,
                    told,
                    owed,
                };
                self.0.insert(place, one);
            }
        }
        if response.status() == StatusCode::SERVICE_UNAVAILABLE
            && let Some(after) = retry_after(headers)
        {
            let one = Reduction {
                percent: 100,
                until: now + after.min(VALID_MOST),
                told: None,
                owed: 0,
            };
            self.0.insert(place, one);
        }
    }

    /// Whether an instance may be asked this now. What ends or changes something that is there always goes: it takes load
    /// off the producer (6.4.3.5).
    pub fn lets(&mut self, place: Place, method: &Method, path: &str, now: Instant) -> bool {
        let begins =
            method == Method::POST && !path.ends_with("/release") && !path.ends_with("/modify");
        let Some(one) = self.0.get_mut(&place) else {
            return true;
        };
        if one.until <= now || one.percent == 0 {
            self.0.remove(&place);
            return true;
        }
        if !begins {
            return true;
        }
        one.owed += u16::from(one.percent);
        let is_kept_back = one.owed >= 100;
        if is_kept_back {
            one.owed -= 100;
        }
        !is_kept_back
    }
}

/// Reduction in percent, how long it holds, and when it was told; none of a header that is not whole.
fn read(headers: &HeaderMap) -> Option<(u8, Duration, Option<SystemTime>)> {
    let text = headers.get(OCI)?.to_str().ok()?;
    let fields: Vec<&str> = text.split(';').map(str::trim).collect();
    let field = |name: &str| {
        let mut all = fields.iter();
        all.find_map(|one| {
            Some(
                one.strip_prefix(name)?
                    .trim_start()
                    .strip_prefix(':')?
                    .trim(),
            )
        })
    };
    let percent = field("Overload-Reduction-Metric")?.strip_suffix('%')?;
    let percent: u8 = percent
        .trim()
        .parse()
        .ok()
        .filter(|percent| *percent <= 100)?;
    let seconds = field("Period-of-Validity")?.trim_end_matches('s');
    let valid = Duration::from_secs(seconds.trim().parse().ok()?);
    let told = field("Timestamp").map(|text| text.trim_matches('"'));
    let told = told.and_then(|text| httpdate::parse_http_date(text).ok());
    Some((percent, valid, told))
}

/// Seconds of Retry-After; one with a date counts as a second.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?;
    Some(Duration::from_secs(text.trim().parse().unwrap_or(1)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use sluice_sbi::Nf;

    const ID: &str = "736c7569-6365-8000-8000-00f110010101";

    fn response(status: StatusCode, headers: &[(&'static str, &str)]) -> Response {
        let mut response = Response::default();
        *response.status_mut() = status;
        for (name, value) in headers {
            let value = HeaderValue::from_str(value).expect("a value");
            response.headers_mut().insert(*name, value);
        }
        response
    }

    fn of_ten(all: &mut Reductions, place: Place, now: Instant) -> usize {
        let asked = (0..10).filter(|_| all.lets(place, &Method::POST, "/a", now));
        asked.count()
    }

    #[test]
    fn a_producer_asks_for_less_the_more_waits() {
        let at = |waiting| reduction(waiting, 1_000);
        assert_eq!(
            [0, 499, 500, 750, 1_000, 2_000].map(at),
            [0, 0, 10, 50, 90, 90]
        );
        assert_eq!(reduction(0, 0), 90);
    }

    #[test]
    fn urgent_requests_have_places_of_their_own() {
        let has = |told: Option<&str>, waiting| {
            let headers: Vec<_> = told.map(|told| (PRIORITY, told)).into_iter().collect();
            let headers = response(StatusCode::OK, &headers);
            has_place(headers.headers(), waiting, 100)
        };
        for usual in [None, Some("24"), Some("16"), Some("32"), Some("high")] {
            assert!(has(usual, 99) && !has(usual, 100), "{usual:?}");
        }
        for urgent in ["0", "15"] {
            assert!(has(Some(urgent), 124) && !has(Some(urgent), 125));
        }
    }

    #[test]
    fn operators_hear_once_in_a_while_of_requests_without_a_place() {
        let (mut congestion, now) = (Congestion::default(), Instant::now());
        assert!(congestion.take_refused(now).is_none());
        let refused = congestion.refuse();
        assert_eq!(refused.status(), StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(refused.headers()[RETRY_AFTER], "1");
        assert!(congestion.take_refused(now).is_some());
        congestion.refuse();
        assert!(congestion.take_refused(now).is_none());
        let later = now + TOLD_AGAIN;
        let told = congestion.take_refused(later).expect("one more");
        assert!(told.why.starts_with("1 requests"), "{}", told.why);
    }

    #[test]
    fn as_many_are_kept_back_as_were_asked_for_while_it_holds() {
        let (now, udm) = (Instant::now(), Place::from(Nf::Udm));
        let mut all = Reductions::default();
        let mut told = response(StatusCode::OK, &[]);
        tell(told.headers_mut(), 30, ID, SystemTime::UNIX_EPOCH);
        assert_eq!(
            told.headers()[OCI],
            "Timestamp: \"Thu, 01 Jan 1970 00:00:00 GMT\"; Period-of-Validity: 5s; \
             Overload-Reduction-Metric: 30%; NF-Instance: 736c7569-6365-8000-8000-00f110010101"
        );
        all.hear(udm, &told, now);
        assert_eq!(of_ten(&mut all, udm, now), 7);
        assert_eq!(of_ten(&mut all, udm.at(1), now), 10);
        // Ends and changes go.
        for (method, path) in [
            (Method::DELETE, "/a"),
            (Method::POST, "/nsmf-pdusession/v1/sm-contexts/1/release"),
            (Method::POST, "/nsmf-pdusession/v1/sm-contexts/1/modify"),
        ] {
            assert!((0..10).all(|_| all.lets(udm, &method, path, now)));
        }
        assert_eq!(of_ten(&mut all, udm, now + Duration::from_secs(5)), 10);
        assert_eq!(of_ten(&mut all, udm, now), 10);
    }

    #[test]
    fn the_newest_counts() {
        let (now, udm) = (Instant::now(), Place::from(Nf::Udm));
        let at = |percent, seconds| {
            let mut told = response(StatusCode::OK, &[]);
            let time = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
            tell(told.headers_mut(), percent, ID, time);
            told
        };
        let mut all = Reductions::default();
        all.hear(udm, &at(50, 20), now);
        all.hear(udm, &at(100, 10), now);
        assert_eq!(of_ten(&mut all, udm, now), 5);
        all.hear(udm, &at(0, 30), now);
        assert_eq!(of_ten(&mut all, udm, now), 10);
    }

    #[test]
    fn a_producer_that_is_not_there_is_left_alone_for_a_while() {
        let (now, udm) = (Instant::now(), Place::from(Nf::Udm));
        let mut all = Reductions::default();
        all.hear(udm, &response(StatusCode::SERVICE_UNAVAILABLE, &[]), now);
        assert_eq!(of_ten(&mut all, udm, now), 10);
        let after = response(StatusCode::SERVICE_UNAVAILABLE, &[("retry-after", "3")]);
        all.hear(udm, &after, now);
        assert_eq!(of_ten(&mut all, udm, now), 0);
        assert_eq!(of_ten(&mut all, udm, now + Duration::from_secs(3)), 10);
    }

    #[test]
    fn what_is_no_such_header_counts_for_nothing() {
        for text in [
            "",
            "Overload-Reduction-Metric: 50%",
            "Overload-Reduction-Metric: 101%; Period-of-Validity: 5s",
            "Overload-Reduction-Metric: half; Period-of-Validity: 5s",
            "Overload-Reduction-Metric: 50%; Period-of-Validity: long",
        ] {
            assert_eq!(
                read(response(StatusCode::OK, &[(OCI, text)]).headers()),
                None,
                "{text}"
            );
        }
    }
}
