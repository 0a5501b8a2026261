//! Section `echo`: Echo Requests to tunnel peers (TS 29.281, 7.2.1).

use super::fields::Fields;
use super::kind::{Kind, number};
use sluice_control::paths::EchoConfig;

/// Shortest interval, in seconds (TS 29.281, 7.2.1).
const INTERVAL_MIN_S: u32 = 60;
/// Longest: a day.
const INTERVAL_MAX_S: u32 = 86_400;

/// How tunnel peers are asked whether they are alive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EchoRequests(pub EchoConfig);

impl EchoRequests {
    pub(super) fn read(fields: &mut Fields<'_, '_>) -> Self {
        let interval = fields.or("interval_s", "60", &interval());
        let t3_ms = number(100, 60_000, "milliseconds");
        let t3_ms = fields.or("t3_ms", "3000", &t3_ms).value;
        let n3 = fields.or("n3", "5", &number(1u8, 20, "requests")).value;
        let interval_ms = u64::from(interval.value) * 1000;
        let tries_ms = u64::from(t3_ms) * u64::from(n3);
        if interval_ms > 0 && tries_ms > interval_ms {
            let (key, what) = (
                fields.key("interval_s"),
                format!("{} s, but n3 x t3_ms is {tries_ms} ms", interval.value),
            );
            let expected = "at least n3 x t3_ms";
            fields.report().problem(interval.line, key, what, expected);
        }
        Self(EchoConfig {
            interval_s: interval.value,
            t3_ms,
            n3,
        })
    }
}

fn interval() -> Kind<u32> {
    let expected = format!("0, or {INTERVAL_MIN_S} to {INTERVAL_MAX_S} seconds");
    Kind::new(expected, |text| {
        let allowed = |s: &u32| *s == 0 || (INTERVAL_MIN_S..=INTERVAL_MAX_S).contains(s);
        text.parse().ok().filter(allowed)
    })
}
