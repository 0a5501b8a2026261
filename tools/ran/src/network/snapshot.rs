//! Snapshot of all metrics.

use std::collections::{HashMap, HashSet};
use std::net::Ipv6Addr;

use serde_json::Value;
use sluice_host::link::global_ipv6_addresses;
use sluice_host::process::resident_bytes;

use super::ues::{State, Ue};
use super::{Network, Signalling};
use crate::metrics::{COUNT, OF_GNB, index};

/// Procedures, as the fleet names them.
const REGISTRATION: &str = "registration";
const ESTABLISHMENT: &str = "session establishment";
const SERVICE: &str = "service request";
const PAGING: &str = "paging";

/// The figures of each gNB, and those of all.
#[derive(Clone, Debug)]
pub struct Figures {
    pub gnbs: Vec<[f64; OF_GNB]>,
    /// By index of a metric; those of gNBs are 0 here.
    pub all: [f64; COUNT],
}

impl Network {
    /// The figures of now, but those of pings, which the script has.
    pub fn figures(&mut self) -> Figures {
        self.take_reports();
        self.settle_echoes();
        let gnbs = self.stations.iter().map(|station| station.figures());
        let gnbs = gnbs.collect();
        let sessions = self.core.as_ref();
        let sessions = sessions.and_then(|core| core.smf().session_count().ok());
        let ipv6_ready = self.ipv6_ready();
        let stranded = |ue: &&Ue| matches!(ue.state, State::Stranded(_));
        let totals = &self.totals;
        let mut all = [0.0; COUNT];
        let mut put = |name: &str, value: f64| all[index(name)] = value;
        let of_sims = self.n2.as_ref().map_or(0, Signalling::sessions);
        put("sessions", (sessions.unwrap_or(0) + of_sims) as f64);
        for (name, value) in self.signalling() {
            put(name, value);
        }
        put("ipv6_ready", ipv6_ready as f64);
        put(
            "without_radio",
            self.ues.iter().filter(stranded).count() as f64,
        );
        // Each total has its metric's name.
        if let Ok(Value::Object(totals)) = serde_json::to_value(totals) {
            for (name, value) in &totals {
                put(name, value.as_f64().unwrap_or_default());
            }
        }
        put("memory_mb", resident_bytes() as f64 / 1e6);
        Figures { gnbs, all }
    }

    /// Figures of N1 and N2.
    fn signalling(&self) -> Vec<(&'static str, f64)> {
        let n2 = self.n2.as_ref();
        let tally = n2.map_or(&self.tally, |n2| &n2.tally);
        let done = |name: &str| tally.kind(name).map_or(0, |kind| kind.done);
        let ms = |name: &str, quantile: f64| {
            let kind = tally.kind(name);
            kind.map_or(0.0, |kind| kind.quantile_ms(quantile))
        };
        let registrations = done(REGISTRATION) + done("registration update");
        let mut figures: Vec<(&'static str, f64)> = [
            ("registrations", registrations),
            ("establishments", done(ESTABLISHMENT)),
            ("releases", done("session release")),
            ("services", done(SERVICE)),
            ("paged", done(PAGING)),
            ("idles", done("AN release")),
            ("path_switches", done("path switch")),
            ("n2_handovers", done("handover")),
            ("deregistrations", done("deregistration")),
            ("refusals", tally.sum(|kind| kind.refused)),
            ("timeouts", tally.sum(|kind| kind.timed_out)),
            ("cut_off", tally.sum(|kind| kind.lost)),
        ]
        .map(|(name, value)| (name, value as f64))
        .into();
        figures.extend([
            ("registration_p50_ms", ms(REGISTRATION, 0.5)),
            ("registration_p99_ms", ms(REGISTRATION, 0.99)),
            ("establishment_p50_ms", ms(ESTABLISHMENT, 0.5)),
            ("establishment_p99_ms", ms(ESTABLISHMENT, 0.99)),
            ("service_p50_ms", ms(SERVICE, 0.5)),
            ("service_p99_ms", ms(SERVICE, 0.99)),
            ("paging_p50_ms", ms(PAGING, 0.5)),
            ("paging_p99_ms", ms(PAGING, 0.99)),
        ]);
        if let Some(n2) = n2 {
            figures.extend([
                ("gnbs_up", n2.gnbs_up().0 as f64),
                ("registered", n2.fleet().registered() as f64),
                ("connected", n2.fleet().connected() as f64),
                ("busy", self.busy() as f64),
                ("pagings", n2.fleet().pagings() as f64),
                ("n2_lost", n2.lost as f64),
                ("n2_errors", n2.errors() as f64),
            ]);
        }
        figures
    }

    /// Served UEs that have the IPv6 address of their session.
    pub fn ipv6_ready(&self) -> usize {
        let mut known: HashMap<Option<&str>, HashSet<Ipv6Addr>> = HashMap::new();
        let wanted = self.ues.iter().filter(|ue| ue.served().is_some());
        let ready = wanted.filter(|ue| {
            let Some(address) = ue.addresses.ipv6() else {
                return false;
            };
            let there = known.entry(ue.ns.name()).or_insert_with(|| {
                let found = global_ipv6_addresses(&ue.ns).unwrap_or_default();
                found.into_iter().map(|(_, address)| address).collect()
            });
            there.contains(&address)
        });
        ready.count()
    }

    /// Octets by which URRs and gNBs disagree: of sessions that have ended so far, and of those
    /// that are there, whose usage is asked for.
    pub fn usage_difference(&mut self) -> (u64, u64) {
        self.ask_usage();
        let alive = (0..self.ues.len()).filter(|ue| self.is_measured(*ue));
        let differences = alive.filter_map(|ue| {
            let session = self.ues.get(ue)?.session()?;
            Some(session.difference(self.counted(ue)))
        });
        (self.totals.usage_difference, differences.sum())
    }
}
