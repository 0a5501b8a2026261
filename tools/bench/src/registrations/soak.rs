//! Many registered UEs that come for service and go idle again, for a long time: nothing fails, and nothing grows.
//!
//! Core, gNBs and UEs are in this thread, and time is the host's: timers run as they do at work.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};
use sluice_core_runtime::system;
use sluice_host::clock;
use sluice_host::process::resident_bytes;
use sluice_n1::RegistrationKind;
use sluice_sbi::AssociationId;
use sluice_ue::{Ended, Fleet, FleetUe, Outcome, Procedure};
use sluice_wiring::Core;

use super::virtual_core::{self, Identity};
use crate::Failure;
use crate::stats::{percentile, round};

/// gNBs that the UEs are at.
const GNBS: usize = 4;
/// Registrations under way at a time.
const WINDOW: usize = 256;
/// Time that a procedure may take.
const LIMIT_NS: u64 = 10_000_000_000;
/// Resident memory at the end, by that after a tenth of the time, at the most: how long services took is kept, too.
const GROWTH: f64 = 1.05;

/// Share of an allocator and a list of latencies in that, however few UEs there are.
const PAGES_BYTES: f64 = 16e6;
const SECOND_NS: u64 = 1_000_000_000;

#[derive(Clone, Copy, Debug)]
pub struct Size {
    pub ues: u32,
    /// Cycles of service and idle that begin per second.
    pub cycles_hz: u64,
    pub time_s: u64,
}

/// Result of a soak.
#[derive(Clone, Default, Debug)]
pub struct Soaked {
    /// UEs that are registered at the end.
    pub registered: usize,
    /// Cycles that ended with the UE idle.
    pub cycles: u64,
    /// Procedures that did not do what they are for, by how they ended.
    pub failures: BTreeMap<String, u64>,
    /// How long service requests took from when they were due, sorted.
    pub service_ns: Vec<u64>,
    pub cpu: Duration,
    /// How long the cycles lasted.
    pub lasted: Duration,
    /// Resident memory after a tenth of the time and at the end.
    pub resident_bytes: (u64, u64),
    /// Differences between the AMF's state at the end and at the beginning.
    pub differences: Vec<String>,
}

impl Soaked {
    pub fn json(&self) -> Value {
        let (begin, end) = self.resident_bytes;
        json!({
            "registered": self.registered,
            "seconds": round(self.lasted.as_secs_f64()),
            "cycles": self.cycles,
            "cycles_per_s": round(self.cycles as f64 / self.lasted.as_secs_f64().max(1e-9)),
            "failures": self.failures,
            "service_ms_p50": round(percentile(&self.service_ns, 0.5) as f64 / 1e6),
            "service_ms_p99": round(percentile(&self.service_ns, 0.99) as f64 / 1e6),
            "core_cpu_us_per_cycle": round(self.cpu.as_secs_f64() * 1e6 / self.cycles.max(1) as f64),
            "resident_bytes_begin": begin,
            "resident_bytes_end": end,
            "growth_ratio": round(end as f64 / begin.max(1) as f64),
            "differences": self.differences,
        })
    }

    /// Whether nothing failed and nothing is left.
    pub fn fault(&self) -> Option<String> {
        if !self.failures.is_empty() {
            return Some(format!("not all cycles were done: {:?}", self.failures));
        }
        if let Some(what) = self.differences.first() {
            return Some(format!("the AMF is not as before: {what}"));
        }
        let (begin, end) = self.resident_bytes;
        let has_grown = end as f64 > begin as f64 * GROWTH + PAGES_BYTES;
        has_grown.then(|| format!("memory has grown from {begin} octets to {end}"))
    }
}

struct Soak {
    core: Core,
    fleet: Fleet,
    cpu_ns: u64,
    soaked: Soaked,
}

/// Registers all, and has them come and go.
pub fn measure(size: &Size) -> Result<Soaked, Failure> {
    let mut soak = Soak::new(size.ues)?;
    eprintln!("{} UEs register", size.ues);
    soak.register(size.ues)?;
    let before: BTreeMap<_, _> = soak
        .core
        .amf()
        .expect("its own AMF")
        .sizes()
        .into_iter()
        .collect();
    soak.cpu_ns = 0;
    let begun_ns = clock::monotonic_ns();
    let first_ns = begun_ns + size.time_s * SECOND_NS / 10;
    soak.cycle(size, begun_ns, first_ns)?;
    let begin_bytes = resident_bytes();
    soak.cycle(size, first_ns, begun_ns + size.time_s * SECOND_NS)?;
    soak.rest()?;
    let lasted_ns = clock::monotonic_ns() - begun_ns;
    let mut soaked = soak.soaked;
    soaked.resident_bytes = (begin_bytes, resident_bytes());
    soaked.lasted = Duration::from_nanos(lasted_ns);
    soaked.cpu = Duration::from_nanos(soak.cpu_ns);
    soaked.registered = soak.fleet.registered();
    soaked.service_ns.sort_unstable();
    let differs = |(what, size): (&'static str, usize)| {
        let before = before.get(what).copied().unwrap_or_default();
        (before != size).then(|| format!("{what}: {before} before, {size} after"))
    };
    soaked.differences = soak
        .core
        .amf()
        .expect("its own AMF")
        .sizes()
        .into_iter()
        .filter_map(differs)
        .collect();
    Ok(soaked)
}

impl Soak {
    fn new(ues: u32) -> Result<Self, Failure> {
        let gnbs = (1..=GNBS as u32).map(virtual_core::gnb);
        let all = (1..=ues).map(|number| {
            let ue = virtual_core::ue(number, Identity::Null);
            FleetUe::new(ue, number as usize % GNBS)
        });
        let mut soak = Self {
            core: virtual_core::core(ues),
            fleet: Fleet::new(gnbs.collect(), all.collect()),
            cpu_ns: 0,
            soaked: Soaked::default(),
        };
        (0..GNBS).for_each(|gnb| soak.fleet.set_up(gnb));
        soak.pump();
        let is_up = soak.fleet.gnbs().iter().all(|gnb| gnb.response().is_some());
        is_up
            .then_some(soak)
            .ok_or_else(|| "the AMF has refused NG Setup".to_owned())
    }

    fn register(&mut self, ues: u32) -> Result<(), Failure> {
        let mut next = 0;
        let end_ns = clock::monotonic_ns() + 3_600 * SECOND_NS;
        while self.fleet.registered() < ues as usize || self.fleet.connected() > 0 {
            while next < ues as usize && self.fleet.busy() < WINDOW {
                let now_ns = clock::monotonic_ns();
                let kind = Procedure::Register(RegistrationKind::Initial);
                self.fleet.begin(next, kind, now_ns, now_ns + LIMIT_NS);
                next += 1;
            }
            self.pump();
            if let Some(failed) = self.fleet.take_ended().into_iter().find(is_failed) {
                return Err(format!("a registration: {:?}", failed.outcome));
            }
            if clock::monotonic_ns() > end_ns {
                return Err("registrations do not end".to_owned());
            }
        }
        Ok(())
    }

    /// UEs come one after the other, evenly.
    fn cycle(&mut self, size: &Size, from_ns: u64, until_ns: u64) -> Result<(), Failure> {
        let interval_ns = SECOND_NS / size.cycles_hz.max(1);
        let mut due_ns = from_ns;
        while due_ns < until_ns {
            let now_ns = clock::monotonic_ns();
            if now_ns < due_ns {
                std::thread::sleep(Duration::from_nanos((due_ns - now_ns).min(1_000_000)));
            }
            while due_ns <= clock::monotonic_ns() && due_ns < until_ns {
                let ue = (due_ns / interval_ns) as usize % size.ues as usize;
                if !self
                    .fleet
                    .begin(ue, Procedure::Service, due_ns, due_ns + LIMIT_NS)
                {
                    return Err("a UE is not idle when its turn comes again".to_owned());
                }
                due_ns += interval_ns;
            }
            self.turn();
        }
        Ok(())
    }

    /// Until all are idle.
    fn rest(&mut self) -> Result<(), Failure> {
        let end_ns = clock::monotonic_ns() + 3 * LIMIT_NS;
        while self.fleet.busy() > 0 || self.fleet.connected() > 0 {
            self.turn();
            if clock::monotonic_ns() > end_ns {
                return Err(format!("{} UEs do not become idle", self.fleet.connected()));
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        self.turn();
        Ok(())
    }

    fn turn(&mut self) {
        self.pump();
        for ended in self.fleet.take_ended() {
            let now_ns = clock::monotonic_ns();
            match (&ended.outcome, ended.procedure) {
                (Outcome::Done, Procedure::Service) => {
                    self.soaked.service_ns.push(ended.took_ns);
                    self.fleet
                        .begin(ended.ue, Procedure::Idle, now_ns, now_ns + LIMIT_NS);
                }
                (Outcome::Done, _) => self.soaked.cycles += 1,
                (outcome, procedure) => {
                    let how = format!("{}: {outcome:?}", procedure.name());
                    *self.soaked.failures.entry(how).or_default() += 1;
                }
            }
        }
        self.pump();
    }

    /// Messages go back and forth until there are none.
    fn pump(&mut self) {
        loop {
            let up = self.fleet.take_to_amf();
            let before = clock::thread_cpu_ns();
            let is_due = self.core.next_deadline() <= system::now().instant;
            for message in &up {
                let gnb = AssociationId(message.gnb as u32);
                self.core.n2(
                    system::now(),
                    gnb,
                    u16::from(message.ran.is_some()),
                    &message.octets,
                );
            }
            if is_due {
                self.core.time(system::now());
            }
            let down = self.core.take_to_ran();
            self.core.take_call_flow();
            self.core.take_refused();
            self.cpu_ns += clock::thread_cpu_ns() - before;
            let is_done = up.is_empty() && down.is_empty();
            for message in down {
                let now_ns = clock::monotonic_ns();
                self.fleet
                    .receive(now_ns, message.association.0 as usize, &message.octets);
            }
            self.fleet.take_touched();
            if is_done {
                break;
            }
        }
        self.fleet.time(clock::monotonic_ns());
    }
}

fn is_failed(ended: &Ended) -> bool {
    ended.outcome != Outcome::Done
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed step is a failed test")]
mod tests {
    use super::*;

    #[test]
    fn registered_ues_come_and_go_and_nothing_is_left() {
        let size = Size {
            ues: 2_000,
            cycles_hz: 100,
            time_s: 3,
        };
        let soaked = measure(&size).unwrap();
        assert_eq!(soaked.fault(), None, "{soaked:?}");
        assert_eq!((soaked.registered, soaked.cycles), (2_000, 300));
        assert_eq!(soaked.json()["failures"], json!({}));
    }
}
