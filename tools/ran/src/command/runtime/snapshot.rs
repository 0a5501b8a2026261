//! Snapshot of all metrics.

use std::collections::{HashMap, HashSet};
use std::net::Ipv6Addr;

use sluice_host::link::global_ipv6_addresses;
use sluice_host::process::resident_bytes;

use super::super::metrics::{COUNT, OF_GNB, index};
use super::Runtime;
use super::ues::{State, Ue};

/// The figures of each gNB, and those of all.
#[derive(Clone, Debug)]
pub struct Figures {
    /// By gNB.
    pub gnbs: Vec<[f64; OF_GNB]>,
    /// By index of a metric; those of gNBs are 0 here.
    pub world: [f64; COUNT],
}

impl Runtime {
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
        let mut world = [0.0; COUNT];
        let mut put = |name: &str, value: f64| world[index(name)] = value;
        put("sessions", sessions.unwrap_or(0) as f64);
        put("ipv6_ready", ipv6_ready as f64);
        put(
            "without_radio",
            self.ues.iter().filter(stranded).count() as f64,
        );
        for (name, value) in [
            ("attaches", totals.attaches),
            ("detaches", totals.detaches),
            ("handovers", totals.handovers),
            ("end_markers_missing", totals.end_markers_missing),
            ("failures", totals.failures),
            ("error_reports", totals.error_reports),
            ("usage_reports", totals.usage_reports),
            ("unknown_reports", totals.unknown_reports),
            ("associations_lost", totals.associations_lost),
            ("sessions_lost", totals.sessions_lost),
            ("sessions_restored", totals.sessions_restored),
            ("echoes_answered", totals.echoes_answered),
            ("echoes_unanswered", totals.echoes_unanswered),
        ] {
            put(name, value as f64);
        }
        put("memory_mb", resident_bytes() as f64 / 1e6);
        Figures { gnbs, world }
    }

    /// Served UEs that have the IPv6 address of their session.
    fn ipv6_ready(&self) -> usize {
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
