//! Network functions as the NRF knows them: for `sluice ctl nfs`, HTTP and metrics.

use crate::operators::answers;
use crate::operators::counters::NrfCounters;
use serde::{Deserialize, Serialize};
use sluice_nrf::{Allowed, Nrf, Profile};
use sluice_sbi::Nf;
use sluice_sbi::{NfStatus, Now, Served};
use std::collections::BTreeMap;

/// Knowledge of an NRF.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct NrfPart {
    /// All that are registered or suspended.
    pub nfs: answers::Nfs,
    pub counters: NrfCounters,
    /// Discoveries by the type that was looked for.
    pub found: BTreeMap<String, u64>,
    pub none: BTreeMap<String, u64>,
    pub forbidden: BTreeMap<String, u64>,
    /// Heart-beats that did not come, by type.
    pub missed: BTreeMap<String, u64>,
}

/// All that operators are told of an NRF.
pub(crate) fn part(nrf: &Nrf, now: Now) -> NrfPart {
    let counters = nrf.counters();
    let named = |by: &BTreeMap<Nf, u64>| by.iter().map(|(nf, n)| (nf.to_string(), *n)).collect();
    NrfPart {
        nfs: nfs(nrf, now),
        counters: counters.into(),
        found: named(&counters.found),
        none: named(&counters.none),
        forbidden: named(&counters.forbidden),
        missed: named(&counters.missed),
    }
}

fn nfs(nrf: &Nrf, now: Now) -> answers::Nfs {
    let row = |one: &Profile| {
        let plmns = one.plmns().iter().map(ToString::to_string);
        let heard_ms = now.instant.ms_since(one.heard.instant);
        answers::Nf {
            r#type: one.kind().to_string(),
            instance: one.instance().to_string(),
            status: one.status.name().into(),
            plmns: plmns.collect(),
            allowed: allowed(one.allowed()),
            serves: one
                .parts()
                .iter()
                .map(|part| part_of(&part.served))
                .collect(),
            priority: one.priority(),
            capacity: one.capacity(),
            load_percent: one.load(),
            heard_s_ago: heard_ms / 1_000,
            missed: one.missed.into(),
        }
    };
    let config = nrf.config();
    let mut profiles: Vec<&Profile> = nrf.profiles().collect();
    // Those of ours come first, in the order of their types.
    profiles.sort_by_key(|one| {
        (
            one.kind().nf().is_none(),
            one.kind().nf(),
            one.kind().clone(),
            one.instance(),
        )
    });
    answers::Nfs {
        heart_beat_s: config.heart_beat_s.into(),
        validity_s: config.validity_s,
        nfs: profiles.into_iter().map(row).collect(),
        // Those of programs the core adds.
        instances: Vec::new(),
    }
}

/// Instances of a program's own functions, as far as it knows them: loads in percent and answers.
pub(crate) fn instances(loads: &[(Nf, u8, u64)], number: u8) -> Vec<answers::NfInstance> {
    let row = |(nf, load, answered): &(Nf, u8, u64)| answers::NfInstance {
        r#type: nf.to_string(),
        instance: number,
        pid: None,
        reached: true,
        drains: false,
        priority: 0,
        capacity: 0,
        load_percent: Some(*load),
        answered: Some(*answered),
    };
    loads.iter().map(row).collect()
}

/// Lists without an entry stand for all there are.
fn allowed(allowed: &Allowed) -> answers::Allowed {
    let slices = allowed.slices.iter().map(ToString::to_string);
    let plmns = allowed.plmns.iter().map(ToString::to_string);
    answers::Allowed {
        types: allowed.types.iter().map(ToString::to_string).collect(),
        slices: slices.collect(),
        plmns: plmns.collect(),
    }
}

/// Lists without an entry stand for all there are.
fn part_of(served: &Served) -> answers::Served {
    let slices = served.slices().iter().map(ToString::to_string);
    let dnns = served.dnns().iter().filter(|dnn| !dnn.is_none());
    let areas = served.areas().iter().map(ToString::to_string);
    answers::Served {
        slices: slices.collect(),
        data_networks: dnns.map(ToString::to_string).collect(),
        tracking_areas: areas.collect(),
    }
}

/// How many instances of each type stand how.
pub(crate) fn by_status(nfs: &[answers::Nf]) -> BTreeMap<(&str, &str), u64> {
    let mut all = BTreeMap::new();
    for one in nfs {
        // A type has both, so that no series ends.
        for status in [NfStatus::Registered, NfStatus::Suspended] {
            let name = status.name();
            let count: &mut u64 = all.entry((one.r#type.as_str(), name)).or_default();
            *count += u64::from(one.status == name);
        }
    }
    all
}
