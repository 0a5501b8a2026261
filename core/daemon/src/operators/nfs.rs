//! Network functions as the NRF knows them: for `sluice ctl nfs`, HTTP and metrics.

use crate::daemon::Daemon;
use crate::operators::answers;
use sluice_core_runtime::system;
use sluice_nrf::Profile;
use sluice_sbi::{Allowed, Nf, NfStatus, Served};
use std::collections::BTreeMap;

/// All that are registered or suspended.
pub(crate) fn nfs(daemon: &Daemon) -> answers::Nfs {
    let now = system::now();
    let row = |one: &Profile| {
        let profile = &one.profile;
        let plmns = profile.plmns().iter().map(ToString::to_string);
        let heard_ms = now.instant.ms_since(one.heard.instant);
        answers::Nf {
            r#type: profile.kind.to_string(),
            instance: profile.instance.to_string(),
            status: one.status.name(),
            plmns: plmns.collect(),
            allowed: allowed(&profile.allowed),
            serves: one.served.iter().map(part).collect(),
            priority: profile.priority.get(),
            capacity: profile.capacity.get(),
            load_percent: profile.load,
            heard_s_ago: heard_ms / 1_000,
            missed: one.missed.into(),
        }
    };
    let nrf = daemon.runtime.core().nrf();
    let config = nrf.config();
    let mut profiles: Vec<&Profile> = nrf.profiles().collect();
    profiles.sort_by_key(|one| (one.profile.kind, one.profile.instance));
    answers::Nfs {
        heart_beat_s: config.heart_beat_s.into(),
        validity_s: config.validity_s,
        nfs: profiles.into_iter().map(row).collect(),
    }
}

/// Lists without an entry stand for all there are.
fn allowed(allowed: &Allowed) -> answers::Allowed {
    let slices = allowed.slices().iter().map(ToString::to_string);
    let plmns = allowed.plmns().iter().map(ToString::to_string);
    answers::Allowed {
        types: allowed.types().map(|nf| nf.to_string()).collect(),
        slices: slices.collect(),
        plmns: plmns.collect(),
    }
}

/// Lists without an entry stand for all there are.
fn part(served: &Served) -> answers::Served {
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
pub(crate) fn by_status(daemon: &Daemon) -> BTreeMap<(Nf, NfStatus), u64> {
    let mut all = BTreeMap::new();
    for one in daemon.runtime.core().nrf().profiles() {
        // A type has both, so that no series ends.
        for status in [NfStatus::Registered, NfStatus::Suspended] {
            let count: &mut u64 = all.entry((one.profile.kind, status)).or_default();
            *count += u64::from(one.status == status);
        }
    }
    all
}
