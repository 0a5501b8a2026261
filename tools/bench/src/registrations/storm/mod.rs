//! More registrations than can be done: several times the core's capacity, open-loop, while registered UEs come for
//! service.
//!
//! Time is virtual: what the core works is measured and moves the clock, so that the load is the same on any machine.
//! N2 is a queue for each gNB with as much room as a socket's buffer has; what finds none is held back, as SCTP does
//! it. The loop's own judgement of its load decides what gNBs are asked to keep away.

mod network;

use std::time::Duration;

use serde_json::{Value, json};
use sluice_amf::Bounds;
use sluice_host::process::resident_bytes;

use crate::Failure;
use crate::stats::{percentile, round};
use network::Storm;

const SECOND_NS: u64 = 1_000_000_000;

/// How large it is.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    /// Subscribers that register again and again, each time as strangers.
    pub strangers: u32,
    /// UEs that are registered and come for service.
    pub known: u32,
    /// Their service requests per second.
    pub services_hz: u64,
    pub gnbs: usize,
    /// How long the storm lasts, in seconds of the core's time.
    pub storm_s: u64,
    /// Arrivals of the storm, as a multiple of capacity.
    pub factor: f64,
    /// Registrations under way while capacity is measured.
    pub window: usize,
    pub bounds: Bounds,
}

impl Size {
    /// As large as it is measured.
    pub fn full(storm_s: u64) -> Self {
        Self {
            strangers: 24_000,
            known: 1_000,
            services_hz: 500,
            gnbs: 4,
            storm_s,
            factor: 3.0,
            window: 256,
            bounds: Bounds::default(),
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Counts {
    /// Registrations that began, as UEs see it.
    pub arrivals: u64,
    /// Kept away by gNBs, as the AMF asked.
    pub kept_away: u64,
    pub held_back: u64,
    /// Left unanswered by the AMF.
    pub unanswered: u64,
    /// Released or refused by the AMF.
    pub released: u64,
    /// Complete within T3510.
    pub registered: u64,
    pub late: u64,
    /// Service requests that were accepted.
    pub services: u64,
    pub no_services: u64,
}

/// Result of one phase.
#[derive(Clone, Default, Debug)]
pub struct Phase {
    pub counts: Counts,
    pub cpu: Duration,
    pub lasted: Duration,
    /// How long service requests took, sorted.
    pub service_ns: Vec<u64>,
    /// The most that gNBs were asked to keep away, in percent.
    pub highest_percent: u8,
}

impl Phase {
    /// Registrations per CPU-second.
    pub fn goodput(&self) -> f64 {
        self.counts.registered as f64 / self.cpu.as_secs_f64().max(1e-9)
    }

    fn json(&self) -> Value {
        let c = &self.counts;
        json!({
            "seconds": round(self.lasted.as_secs_f64()),
            "cpu_s": round(self.cpu.as_secs_f64()),
            "arrivals": c.arrivals,
            "kept_away_by_gnbs": c.kept_away,
            "held_back_by_sctp": c.held_back,
            "unanswered": c.unanswered,
            "released": c.released,
            "registered": c.registered,
            "late": c.late,
            "services": c.services,
            "services_failed": c.no_services,
            "service_ms_p50": round(percentile(&self.service_ns, 0.5) as f64 / 1e6),
            "service_ms_p99": round(percentile(&self.service_ns, 0.99) as f64 / 1e6),
            "highest_overload_percent": self.highest_percent,
        })
    }
}

/// Result of a storm.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// As many as can be done, one behind the other.
    pub capacity: Phase,
    pub storm: Phase,
    /// Goodput per CPU-second in the storm by that at capacity.
    pub ratio: f64,
    /// Resident memory after a tenth of the storm and at its end.
    pub resident_bytes: (u64, u64),
}

impl Outcome {
    pub fn json(&self, name: &str) -> Value {
        json!({
            "name": name,
            "capacity_per_cpu_s": round(self.capacity.goodput()),
            "goodput_per_cpu_s": round(self.storm.goodput()),
            "ratio": round(self.ratio),
            "resident_bytes_begin": self.resident_bytes.0,
            "resident_bytes_end": self.resident_bytes.1,
            "storm": self.storm.json(),
        })
    }
}

/// Capacity, the storm, and the calm behind it, in which all must be as before.
pub fn measure(size: &Size, obeys: bool) -> Result<Outcome, Failure> {
    let mut storm = Storm::new(size, obeys)?;
    storm.register_known()?;
    // Each subscriber once, so that the core has all contexts that it will ever have.
    storm.closed_loop(u64::from(size.strangers), size.window, 0)?;
    let capacity = storm.closed_loop(u64::from(size.strangers), size.window, size.services_hz)?;
    let interval_ns = (SECOND_NS as f64 / (capacity.goodput() * size.factor)).max(1.0) as u64;
    let first = storm.open_loop(interval_ns, size, size.storm_s * SECOND_NS / 10)?;
    let before = resident_bytes();
    let rest = storm.open_loop(interval_ns, size, size.storm_s * SECOND_NS * 9 / 10)?;
    let after = resident_bytes();
    storm.calm()?;
    let storm = first.and(rest);
    Ok(Outcome {
        ratio: storm.goodput() / capacity.goodput(),
        capacity,
        storm,
        resident_bytes: (before, after),
    })
}

impl Phase {
    fn and(mut self, other: Self) -> Self {
        let (a, b) = (self.counts, other.counts);
        self.counts = Counts {
            arrivals: a.arrivals + b.arrivals,
            kept_away: a.kept_away + b.kept_away,
            held_back: a.held_back + b.held_back,
            unanswered: a.unanswered + b.unanswered,
            released: a.released + b.released,
            registered: a.registered + b.registered,
            late: a.late + b.late,
            services: a.services + b.services,
            no_services: a.no_services + b.no_services,
        };
        self.cpu += other.cpu;
        self.lasted += other.lasted;
        self.service_ns.extend(other.service_ns);
        self.service_ns.sort_unstable();
        self.highest_percent = self.highest_percent.max(other.highest_percent);
        self
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed step is a failed test")]
mod tests {
    use super::*;

    fn size() -> Size {
        Size {
            strangers: 1_500,
            known: 20,
            services_hz: 50,
            gnbs: 2,
            storm_s: 6,
            factor: 3.0,
            window: 64,
            bounds: Bounds {
                of_gnb: 100,
                in_all: 180,
            },
        }
    }

    fn add_up(counts: &Counts) {
        let c = counts;
        let ended = c.kept_away + c.held_back + c.unanswered + c.released + c.registered + c.late;
        // Some came before what is counted, and some are under way.
        assert!(c.arrivals.abs_diff(ended) < 1_500, "{c:?}");
        assert!(c.registered > 0 && c.services > 0, "{c:?}");
        // Known UEs are all served; those under way are at most those that there are.
        assert_eq!(c.no_services, 0, "{c:?}");
    }

    #[test]
    fn gnbs_that_do_as_they_are_asked_leave_the_core_its_capacity() {
        let outcome = measure(&size(), true).unwrap();
        let counts = &outcome.storm.counts;
        add_up(counts);
        // Whether there is ever too much to do depends on what this machine takes for what is shed.
        assert_eq!(
            counts.kept_away > 0,
            outcome.storm.highest_percent > 0,
            "{counts:?}"
        );
        assert!(
            counts.kept_away + counts.released + counts.unanswered > 0,
            "{counts:?}"
        );
        // The machine may be busy, and others use its caches: this is no measurement.
        assert!(outcome.ratio > 0.1, "{}", outcome.ratio);
    }

    #[test]
    fn gnbs_that_hear_nothing_are_shed_and_counted() {
        let outcome = measure(&size(), false).unwrap();
        let counts = outcome.storm.counts;
        add_up(&counts);
        assert_eq!(counts.kept_away, 0);
        assert!(
            counts.unanswered + counts.released + counts.held_back > 0,
            "{counts:?}"
        );
    }
}
