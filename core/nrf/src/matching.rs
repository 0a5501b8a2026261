//! Nnrf_NFDiscovery (TS 29.510, 5.3.2.2.2): who does what is asked for, and why nobody does.

use std::cmp::Reverse;

use sluice_sbi::{Found, NfQuery, NfStatus, NfsFound, NoMatch, Problem, Served};

use crate::profiles::{Profile, Profiles};

impl Profile {
    /// Whether the instance is of the type, and serves the PLMN of the area.
    fn is_of(&self, query: &NfQuery) -> bool {
        let plmns = self.profile.plmns();
        let is_in = |plmn| plmns.is_empty() || plmns.contains(&plmn);
        self.profile.kind == query.target && query.area().is_none_or(|area| is_in(area.plmn))
    }

    /// Whether the instance lets itself be discovered by the one that asks.
    fn lets(&self, query: &NfQuery) -> bool {
        let own = self.profile.plmns();
        self.profile.allowed.lets(&query.requester, own)
    }

    fn does(&self, test: impl FnMut(&Served) -> bool) -> bool {
        self.served.iter().any(test)
    }
}

impl Profiles {
    /// Those that do it, by priority, then load, then weight; they may be taken to do so for this many seconds.
    ///
    /// # Errors
    /// Instances of the type are there, and none of them is for the one that asks: 403 Forbidden.
    pub fn find(&self, query: &NfQuery, validity_s: u32) -> Result<NfsFound, Problem> {
        let (of_type, others): (Vec<&Profile>, Vec<&Profile>) = self
            .all()
            .filter(|one| one.is_of(query))
            .partition(|one| one.lets(query));
        if of_type.is_empty() && !others.is_empty() {
            return Err(Problem::DiscoveryForbidden);
        }
        let does_all = |served: &Served| served.serves(query) && served.is_in(query);
        let (able, others): (Vec<&Profile>, Vec<&Profile>) =
            of_type.iter().partition(|one| one.does(does_all));
        let is_there = |one: &&Profile| one.status == NfStatus::Registered;
        let there = able.iter().copied().filter(is_there);
        let mut found: Vec<Found> = there.map(found).collect();
        found.sort_by_key(|one| {
            let weight = Reverse(one.capacity.get());
            (one.priority.get(), one.load, weight, one.instance)
        });
        if !found.is_empty() {
            return Ok(NfsFound::new(validity_s, &found));
        }
        Ok(NfsFound::none(if of_type.is_empty() {
            NoMatch::NotRegistered
        } else if !able.is_empty() {
            NoMatch::Suspended
        } else if others.iter().any(|one| one.does(|part| part.serves(query))) {
            NoMatch::NotInArea
        } else {
            NoMatch::NotServed
        }))
    }
}

fn found(profile: &Profile) -> Found {
    let profile = &profile.profile;
    Found {
        instance: profile.instance,
        priority: profile.priority,
        capacity: profile.capacity,
        load: profile.load,
    }
}
