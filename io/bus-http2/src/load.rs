//! Load of a function as its answers tell it (3gpp-Sbi-Lci: TS 29.500, 5.2.3.2.13 and 6.3).

use std::time::SystemTime;

use http::{HeaderMap, HeaderValue};

const LCI: &str = "3gpp-sbi-lci";

/// Tells the load in percent of an instance.
pub(crate) fn tell(headers: &mut HeaderMap, load: u8, instance: &str, now: SystemTime) {
    let at = httpdate::fmt_http_date(now);
    let text = format!("Timestamp: \"{at}\"; Load-Metric: {load}%; NF-Instance: {instance}");
    if let Ok(value) = HeaderValue::from_str(&text) {
        headers.insert(LCI, value);
    }
}

/// Load in percent that an answer tells; 0 where it tells none.
pub(crate) fn read(headers: &HeaderMap) -> u8 {
    let text = headers.get(LCI).and_then(|value| value.to_str().ok());
    let mut fields = text.unwrap_or_default().split(';').map(str::trim);
    let metric = fields.find_map(|field| field.strip_prefix("Load-Metric:"));
    let percent = metric.and_then(|text| text.trim().strip_suffix('%'));
    let percent: Option<u8> = percent.and_then(|text| text.trim().parse().ok());
    percent.unwrap_or_default().min(100)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_is_read_as_it_is_told() {
        let mut headers = HeaderMap::new();
        assert_eq!(read(&headers), 0);
        let id = "736c7569-6365-8000-8000-00f110010101";
        tell(&mut headers, 25, id, SystemTime::UNIX_EPOCH);
        assert_eq!(
            headers[LCI],
            "Timestamp: \"Thu, 01 Jan 1970 00:00:00 GMT\"; Load-Metric: 25%; \
             NF-Instance: 736c7569-6365-8000-8000-00f110010101"
        );
        assert_eq!(read(&headers), 25);
        for (text, load) in [
            ("Load-Metric: 400%", 0),
            ("Load-Metric: 101%", 100),
            ("x", 0),
        ] {
            headers.insert(LCI, HeaderValue::from_static(text));
            assert_eq!(read(&headers), load, "{text}");
        }
    }
}
