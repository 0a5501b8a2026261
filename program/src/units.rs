//! Times and quantities as people write and read them.

use std::time::Duration;

/// A time such as `10s`, `500ms`, `2m`, `1h`.
///
/// # Errors
/// Another text; the message says which are expected.
pub fn duration(text: &str) -> Result<Duration, String> {
    let unit = |suffix, by: f64| text.strip_suffix(suffix).map(|rest| (rest, by));
    let found = unit("ms", 1e-3)
        .or_else(|| unit("s", 1.0))
        .or_else(|| unit("m", 60.0))
        .or_else(|| unit("h", 3600.0));
    let seconds = found.and_then(|(rest, by)| Some(rest.parse::<f64>().ok()? * by));
    let good = seconds.filter(|s| (1e-3..=1e6).contains(s));
    good.map(Duration::from_secs_f64)
        .ok_or_else(|| "expected a time such as 500ms, 10s, 2m or 1h".to_owned())
}

/// A number with k, M or G and its unit.
pub fn si(value: f64, unit: &str) -> String {
    let (scaled, prefix) = match value {
        v if v >= 1e9 => (v / 1e9, "G"),
        v if v >= 1e6 => (v / 1e6, "M"),
        v if v >= 1e3 => (v / 1e3, "k"),
        v => (v, ""),
    };
    format!("{scaled:.3} {prefix}{unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read() {
        assert_eq!(duration("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(duration("2m"), Ok(Duration::from_secs(120)));
        for wrong in ["", "10", "0s", "-1s", "nans", "1e30s"] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn quantities_have_the_prefix_of_their_size() {
        assert_eq!(si(1.5e6, "pps"), "1.500 Mpps");
        assert_eq!(si(12.0, "bps"), "12.000 bps");
    }
}
