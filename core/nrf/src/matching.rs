//! Nnrf_NFDiscovery (TS 29.510, 5.3.2.2.2): who does what is asked for, and why nobody does.

use std::cmp::Reverse;

use sluice_ids::Plmn;
use sluice_sbi::{NfStatus, NoMatch};

use crate::document::{Allowed, Facts, Subscribers};
use crate::part::Part;
use crate::profiles::{Profile, Profiles};
use crate::query::{Consumer, Query};

impl Allowed {
    /// Whether it lets this one, which serves in `own`, too. One that does not tell its slices or PLMNs, as functions of
    /// other cores do, is taken for one of this core: what it would tell is its own word anyhow.
    pub(crate) fn lets(&self, consumer: &Consumer, own: &[Plmn]) -> bool {
        let is_of_type = self.types.is_empty() || self.types.contains(&consumer.kind);
        let mut slices = consumer.slices.iter();
        let is_of_slice = self.slices.is_empty()
            || consumer.slices.is_empty()
            || slices.any(|one| self.slices.contains(one));
        // PLMNs of its own need not be told (6.1.6.2.2).
        let mut plmns = consumer.plmns.iter();
        let is_of_plmn = self.plmns.is_empty()
            || consumer.plmns.is_empty()
            || plmns.any(|one| self.plmns.contains(one) || own.contains(one));
        is_of_type && is_of_slice && is_of_plmn
    }
}

impl Subscribers {
    fn has(&self, query: &Query) -> bool {
        let supi = query.supi.as_ref();
        let has_supi = supi.is_none_or(|supi| {
            self.ranges.is_empty() || self.ranges.iter().any(|range| range.has(supi))
        });
        let indicator = query.routing_indicator.as_ref();
        let has_indicator = indicator.is_none_or(|one| {
            self.routing_indicators.is_empty() || self.routing_indicators.contains(one)
        });
        let group = self.group.as_ref();
        let has_group =
            query.groups.is_empty() || group.is_some_and(|one| query.groups.contains(one));
        has_supi && has_indicator && has_group
    }
}

impl Facts {
    /// Whether the instance is of the type, and serves the PLMN.
    fn is_of(&self, query: &Query) -> bool {
        let is_in = |plmn| self.plmns.is_empty() || self.plmns.contains(plmn);
        let area = query.area.as_ref();
        self.kind == query.target
            && area.is_none_or(|area| is_in(&area.plmn))
            && (query.plmns.is_empty() || query.plmns.iter().any(is_in))
            && query.instance.is_none_or(|one| one == self.instance)
    }

    /// Whether the consumer may discover the instance.
    pub(crate) fn lets(&self, consumer: &Consumer) -> bool {
        self.allowed.lets(consumer, &self.plmns)
    }

    /// Whether a service is there and for the one that asks.
    pub(crate) fn has_service(&self, name: &str, consumer: &Consumer) -> bool {
        self.services.iter().any(|service| {
            service.name == name
                && service.is_registered
                && service.allowed.lets(consumer, &self.plmns)
        })
    }

    /// Whether it has the services, the names and the subscribers.
    fn has(&self, query: &Query) -> bool {
        let mut services = query.services.iter();
        let amf = &self.amf;
        let is_amf = query.guami.is_none_or(|one| amf.guamis.contains(&one))
            && query.amf_set.is_none_or(|one| amf.set == Some(one))
            && query.amf_region.is_none_or(|one| amf.region == Some(one));
        (query.services.is_empty() || services.any(|one| self.has_service(one, &query.consumer)))
            && is_amf
            && (self.subscribers.is_empty() && query.groups.is_empty()
                || self.subscribers.iter().any(|one| one.has(query)))
    }

    fn does(&self, test: impl FnMut(&Part) -> bool) -> bool {
        self.parts.iter().any(test)
    }

    /// Wishes that it does not meet.
    fn unmet(&self, query: &Query) -> usize {
        let preferred = &query.preferred;
        let instance = self.instance.to_string();
        let area = preferred.area.as_ref();
        let unmet = [
            !preferred.instances.is_empty() && !preferred.instances.contains(&instance),
            preferred.locality.is_some() && preferred.locality != self.locality,
            area.is_some() && !self.does(|part| part.is_in(area)),
        ];
        unmet.into_iter().filter(|one| *one).count()
    }
}

/// Instances that were found, best first.
pub(crate) type Matches<'a> = Result<Vec<&'a Profile>, NoMatch>;

/// Instances of the type are there, and none of them is for the one that asks: 403 Forbidden.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Forbidden;

impl Profiles {
    /// Instances that do it, by wishes that they meet, priority, load, and weight; or why there is none.
    pub fn find(&self, query: &Query) -> Result<Matches<'_>, Forbidden> {
        let (of_type, others): (Vec<&Profile>, Vec<&Profile>) = self
            .all()
            .filter(|one| one.facts.is_of(query))
            .partition(|one| one.facts.lets(&query.consumer));
        if of_type.is_empty() && !others.is_empty() {
            return Err(Forbidden);
        }
        let area = query.area.as_ref();
        let does_all = |part: &Part| part.serves(query) && part.is_in(area);
        let (able, others): (Vec<&Profile>, Vec<&Profile>) = of_type
            .iter()
            .partition(|one| one.facts.has(query) && one.facts.does(does_all));
        let is_there = |one: &&Profile| one.status == NfStatus::Registered;
        let mut found: Vec<&Profile> = able.iter().copied().filter(is_there).collect();
        found.sort_by_key(|one| {
            let (weight, facts) = (Reverse(one.capacity()), &one.facts);
            let best = (facts.unmet(query), one.priority(), one.load());
            (best, weight, one.instance())
        });
        found.truncate(query.limit);
        if !found.is_empty() {
            return Ok(Ok(found));
        }
        let serves = |one: &&Profile| one.facts.does(|part| part.serves(query));
        Ok(Err(if of_type.is_empty() {
            NoMatch::NotRegistered
        } else if !able.is_empty() {
            NoMatch::Suspended
        } else if others.iter().any(serves) {
            NoMatch::NotInArea
        } else {
            NoMatch::NotServed
        }))
    }
}
