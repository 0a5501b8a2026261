//! The keys, series and curves of each runner.

use super::{Allowed, Key, Runner};
use crate::experiments::plan::How::{self, Measured, Modelled, VirtualTime};
use crate::testbed::{ETH, FCS, INNER_HEADERS};
use Allowed::{Names, Number, Numbers, Whole, Word};
use sluice_bench::elastic::packet_template::{INNER_MAX, INNER_MIN};

/// All runners.
pub const RUNNERS: &[Runner] = &[
    Runner {
        name: "zero-loss",
        keys: &[
            SESSIONS,
            HEADER,
            MODEL,
            needed("direction", Names(&["uplink", "downlink"])),
            FRAME,
            LINE_RATE,
            needed("steps", Whole(1.0, 40.0)),
            SECONDS,
            REPEATS,
        ],
        either: &[],
        series: &[
            ("mpps", "Mpps", Measured),
            ("percent", "%", Measured),
            ("ceiling_percent", "%", Modelled),
            ("of_ceiling", "%", Measured),
            ("loss_above", "%", Measured),
        ],
        curves: &[],
    },
    Runner {
        name: "models",
        keys: &[
            SESSIONS,
            HEADER,
            MODEL,
            TRAFFIC,
            PAYLOAD_OR,
            DIRECTION,
            UPLINK,
            key("latency", Word),
            SECONDS,
            REPEATS,
        ],
        either: &PACKETS,
        series: &[
            ("mpps", "Mpps", Measured),
            ("engine_mpps", "Mpps", Measured),
            ("gbps", "Gbit/s", Measured),
            ("latency_us_p50", "us", Measured),
            ("latency_us_p99", "us", Measured),
        ],
        curves: &["latency"],
    },
    Runner {
        name: "profiles",
        keys: &[
            SESSIONS,
            HEADER,
            MODEL,
            TRAFFIC,
            PAYLOAD_OR,
            DIRECTION,
            UPLINK,
            needed("load", Number(0.01, 2.0)),
            SECONDS,
            REPEATS,
        ],
        either: &PACKETS,
        series: &[
            ("mpps", "Mpps", Measured),
            ("engine_mpps", "Mpps", Measured),
            ("gbps", "Gbit/s", Measured),
            ("worker_load", "%", Measured),
            ("latency_us_p50", "us", Measured),
            ("latency_us_p99", "us", Measured),
            ("reordered", "", Measured),
        ],
        curves: &[],
    },
    Runner {
        name: "cores",
        keys: &[
            SESSIONS,
            HEADER,
            MODEL,
            TRAFFIC,
            PAYLOAD_OR,
            DIRECTION,
            UPLINK,
            needed("cores", Whole(1.0, 64.0)),
            LINE_RATE,
            SECONDS,
            REPEATS,
        ],
        either: &PACKETS,
        series: &[
            ("mpps", "Mpps", VirtualTime),
            ("gbps", "Gbit/s", VirtualTime),
            ("real_mpps", "Mpps", Measured),
        ],
        curves: &[],
    },
    Runner {
        name: "skew",
        keys: &[
            SESSIONS,
            HEADER,
            needed("model", Names(&["rtc", "pipeline", "sluice"])),
            PAYLOAD,
            needed("workers", Whole(1.0, 64.0)),
            needed("other_load", Number(0.0, 100.0)),
            needed("hot_load", Number(0.0, 100.0)),
            needed("burst_share_of_ues", Number(0.0, 1.0)),
            SECONDS,
            REPEATS,
        ],
        either: &[],
        series: &[
            ("offered_mpps", "Mpps", VirtualTime),
            ("sent_mpps", "Mpps", VirtualTime),
            ("sent_percent", "%", VirtualTime),
            ("latency_us_p99", "us", VirtualTime),
        ],
        curves: &["latency"],
    },
    Runner {
        name: "scaling",
        keys: &[
            SESSIONS,
            HEADER,
            needed("design", Names(&["steer", "soft"])),
            needed("policy", Names(&["cycles", "burst_fill", "ring_occupancy"])),
            PAYLOAD,
            needed("steps", Whole(1.0, 1000.0)),
            needed("step_seconds", Number(0.01, 3600.0)),
            needed("top_load", Number(0.01, 100.0)),
        ],
        either: &[],
        series: &[
            ("reconfiguration_us", "us", Measured),
            ("around_percent", "%", Measured),
            ("sent_percent", "%", Measured),
            ("latency_ms_around", "ms", Measured),
            ("latency_ms_before", "ms", Measured),
            ("scale_outs", "", Measured),
        ],
        curves: &["rate", "slowest"],
    },
    Runner {
        name: "pfcp",
        keys: &[
            FEW_SESSIONS,
            needed("via", Names(&["port", "socket"])),
            needed("messages", Whole(1.0, 1e8)),
            key("window", Whole(1.0, 65_535.0)),
            REPEATS,
        ],
        either: &[],
        series: &[
            ("messages_per_s", "1/s", Measured),
            ("procedures_per_s", "1/s", Measured),
            ("latency_us_p50", "us", Measured),
            ("latency_us_p99", "us", Measured),
        ],
        curves: &[],
    },
    Runner {
        name: "housekeeping",
        keys: &[
            FEW_SESSIONS,
            needed("control", Names(&["own core", "the worker's core"])),
            needed("modifications_per_s", Number(1.0, 1e7)),
            REPEATS,
        ],
        either: &[],
        series: &[
            ("mpps", "Mpps", Measured),
            ("answer_us_p50", "us", Measured),
            ("answer_us_p99", "us", Measured),
            ("lost", "", Measured),
        ],
        curves: &[],
    },
    Runner {
        name: "placement",
        keys: &[
            SESSIONS,
            HEADER,
            needed("room", Names(&["bare", "container"])),
            needed("placement", Names(&["one core shared", "one core each"])),
            key("direction", Names(&["uplink"])),
            FRAME,
            SECONDS,
            REPEATS,
        ],
        either: &[],
        series: &[
            ("mpps", "Mpps", Measured),
            ("engine_mpps", "Mpps", Measured),
        ],
        curves: &[],
    },
];

/// A series: its name, its unit, and how it comes about.
pub type Given = (&'static str, &'static str, How);

const SESSIONS: Key = needed("sessions", Whole(4096.0, 4e6));
/// Where only PFCP looks at them.
const FEW_SESSIONS: Key = needed("sessions", Whole(1.0, 4e6));
const HEADER: Key = needed("header_bytes", Numbers(&[36.0, 44.0]));
const MODEL: Key = needed("model", Names(&["rtc", "pipeline", "mixed"]));
const SECONDS: Key = needed("seconds", Number(0.001, 3600.0));
const REPEATS: Key = needed("repeats", Whole(1.0, 1000.0));
const LINE_RATE: Key = needed("line_rate_gbps", Number(0.001, 10_000.0));

const TRAFFIC: Key = key("traffic", Names(&["64 B", "IMIX", "1400 B"]));
const PAYLOAD: Key = needed("payload_bytes", PAYLOADS);
const PAYLOAD_OR: Key = key("payload_bytes", PAYLOADS);
const PAYLOADS: Allowed = Whole(
    (INNER_MIN - INNER_HEADERS) as f64,
    (INNER_MAX - INNER_HEADERS) as f64,
);
/// With all headers of the longer side; a shorter inner packet is refused when it is made.
const FRAME: Key = needed(
    "frame_bytes",
    Whole(
        (INNER_MIN + ETH + FCS) as f64,
        (INNER_MAX + ETH + FCS + 36) as f64,
    ),
);
const DIRECTION: Key = key("direction", Names(&["uplink", "downlink", "both"]));
const UPLINK: Key = key("uplink_percent", Number(0.0, 100.0));
/// One of each pair is needed.
const PACKETS: [[&str; 2]; 2] = [
    ["traffic", "payload_bytes"],
    ["direction", "uplink_percent"],
];

const fn key(name: &'static str, allowed: Allowed) -> Key {
    Key {
        name,
        allowed,
        is_needed: false,
    }
}

const fn needed(name: &'static str, allowed: Allowed) -> Key {
    Key {
        name,
        allowed,
        is_needed: true,
    }
}
