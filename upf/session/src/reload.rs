//! Change of what the configuration says of predefined rules, applications and pools, while sessions stay.

use crate::config::AllocationPool;
use crate::conformance;
use crate::flows::applications::ConfiguredApplications;
use crate::flows::predefined::{PredefinedChange, PredefinedRules};
use crate::function::UpFunction;
use crate::node::{Effects, Node};
use core::fmt;
use core::net::Ipv4Addr;
use sluice_datapath::lookup::layout::InstanceId;
use sluice_n4::{AssociationId, Change, Features, Instant};

/// What of a configuration may change.
#[derive(Clone, Debug, Default)]
pub struct Changeable {
    /// Rules that PDRs activate by name.
    pub predefined: PredefinedRules,
    /// Applications that PDIs name.
    pub applications: ConfiguredApplications,
    /// UE addresses that are given.
    pub allocation: Vec<AllocationPool>,
    /// IPv4 pools that went, whose entries the path has: instance, first address, how many there are.
    pub gone: Vec<(InstanceId, Ipv4Addr, u64)>,
}

/// Why a change is not taken. Nothing has changed then.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ReloadError {
    /// Predefined rules.
    Predefined(PredefinedChange),
    /// There would be too many applications with those that are told or in use.
    Applications,
    /// So many UEs have addresses of a pool that would go, or not have them all.
    PoolInUse(String, usize),
    /// A prefix behind a UE meets this pool.
    PoolMeetsRoute(String),
}

impl fmt::Display for ReloadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Predefined(why) => write!(f, "predefined: {why}"),
            Self::Applications => write!(
                f,
                "applications: too many beside those that are told by SMFs or in use"
            ),
            Self::PoolInUse(pool, n) => {
                write!(f, "pools: {n} UEs have addresses of {pool}")
            }
            Self::PoolMeetsRoute(pool) => {
                write!(f, "pools: a framed route or delegated prefix meets {pool}")
            }
        }
    }
}

impl std::error::Error for ReloadError {}

impl UpFunction {
    /// True if a changed configuration can be taken as sessions are now.
    ///
    /// # Errors
    /// If sessions stand in the way; see [`ReloadError`].
    pub fn may_reload(&self, new: &Changeable) -> Result<(), ReloadError> {
        let Node { shared, part, .. } = &self.node;
        let predefined = shared
            .config
            .predefined
            .replaced(&new.predefined, &part.uses.predefined);
        predefined.map_err(ReloadError::Predefined)?;
        if !shared
            .applications
            .has_room_for(&new.applications, &part.uses.applications)
        {
            return Err(ReloadError::Applications);
        }
        let resources = &part.resources;
        if let Some((pool, used)) = resources.addresses.in_use_without(&new.allocation) {
            return Err(ReloadError::PoolInUse(pool, used));
        }
        for (instance, first, len) in &new.gone {
            let used = resources.used_of_pool(*instance, *first, *len);
            if used > 0 {
                let pool = format!("the pool at {first}");
                return Err(ReloadError::PoolInUse(pool, used));
            }
        }
        let is_new = |pool: &&AllocationPool| !shared.config.allocation.contains(pool);
        let mut fresh = new.allocation.iter().filter(is_new);
        match fresh.find(|pool| resources.meets_route(pool)) {
            Some(pool) => Err(ReloadError::PoolMeetsRoute(pool.addresses.to_string())),
            None => Ok(()),
        }
    }

    /// Takes a changed configuration, all of it or nothing. Sessions that have other rules by it, or addresses of
    /// new pools, are looked for some at a time; until then such pools give none of what is new.
    ///
    /// # Errors
    /// If sessions stand in the way; see [`ReloadError`].
    pub fn reload<E: Effects>(
        &mut self,
        now: Instant,
        new: &Changeable,
        out: &mut E,
    ) -> Result<(), ReloadError> {
        self.may_reload(new)?;
        let Node { shared, part, .. } = &mut self.node;
        let predefined = shared
            .config
            .predefined
            .replaced(&new.predefined, &part.uses.predefined);
        let (predefined, is_any_used) = predefined.map_err(ReloadError::Predefined)?;
        let now_s = (now.0 / 1_000_000_000) as u32;
        let has_new_flows = shared
            .applications
            .configure(&new.applications, &part.uses.applications)
            | is_any_used;
        shared.config.predefined = predefined;
        shared.config.allocation.clone_from(&new.allocation);
        let learns = part.resources.addresses.replace(&new.allocation, now_s);
        let places = part.store.places();
        if has_new_flows {
            part.flow_walk.begin(places);
        }
        if learns {
            part.flow_walk.begin_learning(places);
        }
        if learns && !part.flow_walk.learns() {
            part.resources.addresses.learnt();
        }
        tell_features(&mut self.node, now, out);
        Ok(())
    }
}

/// CP functions are told of features that came or went with the configuration.
fn tell_features<E: Effects>(node: &mut Node, now: Instant, out: &mut E) {
    let up = conformance::up_function_features(&node.shared.config);
    if node.shared.features == up {
        return;
    }
    node.shared.features = up;
    let ids: Vec<AssociationId> = node.endpoint.associations().map(|(id, _)| id).collect();
    let features = Features {
        up: Some(up),
        ..Features::default()
    };
    node.endpoint.set_features(features);
    for id in ids {
        // One that is not up is told when it is set up.
        let _ = node
            .endpoint
            .update(now, id, Change::Features(features), out);
    }
}
