//! Admission of a PDI's SDF filters and Application ID: a run of flow filters that the PDR has from now on.

use crate::admission::Admission;
use crate::flows::applications::is_ambiguous;
use crate::flows::sdf;
use crate::flows::sdf::{FlowFilterList, SdfError};
use crate::network::Network;
use crate::node::uses::tells_traffic;
use crate::refusal;
use crate::refusal::{Refusal, RuleId};
use crate::rules::{Filter, FilterOrigin};
use sluice_wire::pfcp::value::{SdfFilter, Text};
use sluice_wire::pfcp::{Cause, IeType};

impl<N: Network> Admission<'_, N> {
    /// What the filters of a PDI let through. `is_from_access` tells the direction of its packets.
    pub(super) fn filter(
        &mut self,
        rule: RuleId,
        filters: &[SdfFilter<'_>],
        is_from_access: bool,
    ) -> Result<Filter, Refusal> {
        match filters {
            [] => Ok(Filter::ALL),
            _ => self.read_filters(rule, filters, is_from_access),
        }
    }

    #[inline(never)]
    fn read_filters(
        &mut self,
        rule: RuleId,
        filters: &[SdfFilter<'_>],
        is_from_access: bool,
    ) -> Result<Filter, Refusal> {
        let full = Refusal::full(Some(rule), Some(IeType::SDF_FILTER));
        let mut list = FlowFilterList::new();
        for sdf in filters {
            let read = sdf::read(sdf, |id, into| self.recall(id, into), &mut list);
            read.map_err(|error| match error {
                SdfError::Wrong => Refusal::rule(rule, IeType::SDF_FILTER),
                SdfError::TooMany => full,
            })?;
        }
        let (filter, needs_run) = sdf::summary(&list, is_from_access);
        if !needs_run {
            return Ok(filter);
        }
        let run = self.resources.filter_run(&list, self.claims);
        Ok(Filter {
            run: run.map_err(|_| full)?,
            ..filter
        })
    }

    /// The flow filters that some PDR of the session has under an SDF Filter ID.
    fn recall(&self, id: u32, into: &mut FlowFilterList) -> Result<(), SdfError> {
        let runs = self.draft.pdrs.iter().map(|pdr| pdr.filter.run);
        for run in runs.filter(|run| !run.is_none()) {
            let before = into.len();
            let filters = self.resources.filters.run(run);
            for filter in filters.filter(|f| f.id == Some(id)) {
                into.try_push(filter).map_err(|_| SdfError::TooMany)?;
            }
            if into.len() > before {
                return Ok(());
            }
        }
        Err(SdfError::Wrong)
    }
}

impl<N: Network> Admission<'_, N> {
    /// What the application of a PDI lets through. What meets filters as well is no list of filters.
    #[inline(never)]
    pub(super) fn application(
        &mut self,
        rule: RuleId,
        id: &Text<'_>,
        filters: &[SdfFilter<'_>],
        is_from_access: bool,
    ) -> Result<Filter, Refusal> {
        let unknown = Refusal::rule(rule, IeType::APPLICATION_ID);
        let unknown = unknown.with(Cause::UNKNOWN_APPLICATION_ID);
        let number = self.shared.applications.find(id.0).ok_or(unknown)?;
        if !filters.is_empty() {
            return Err(Refusal::rule(rule, IeType::SDF_FILTER));
        }
        self.flows_of(rule, number, is_from_access)
    }

    /// What an application lets through by now.
    fn flows_of(
        &mut self,
        rule: RuleId,
        number: u16,
        is_from_access: bool,
    ) -> Result<Filter, Refusal> {
        let flows = self.shared.applications.flows(number);
        let origin = FilterOrigin::Application(number);
        let (mut filter, needs_run) = sdf::named(flows, is_from_access, origin);
        if needs_run {
            let full = Refusal::full(Some(rule), Some(IeType::APPLICATION_ID));
            let run = self.resources.filter_run(flows, self.claims);
            filter.run = run.map_err(|_| full)?;
        }
        Ok(filter)
    }

    /// All PDRs with an application have its flows by now.
    pub fn renew_applications(&mut self) -> Result<(), Refusal> {
        for at in 0..self.draft.pdrs.len() {
            let Some(pdr) = self.draft.pdrs.get(at).copied() else {
                continue;
            };
            let FilterOrigin::Application(number) = pdr.filter.origin else {
                continue;
            };
            let rule = refusal::pdr(pdr.id);
            let filter = self.flows_of(rule, number, pdr.is_from_access())?;
            self.drop_filters(rule, pdr.filter)?;
            if let Some(place) = self.draft.pdrs.get_mut(at) {
                place.filter = filter;
            }
        }
        Ok(())
    }

    /// A URR that tells the start or stop of traffic tells whose: all its PDRs are of one application, or of none
    /// (5.2.2.2, Application Detection Information).
    pub fn check_detection(&self) -> Result<(), Refusal> {
        if self.shared.applications.is_empty() {
            return Ok(());
        }
        let mut telling = self.draft.urrs.iter();
        let unclear =
            telling.find(|urr| tells_traffic(urr.triggers) && is_ambiguous(self.draft, urr.id.0));
        match unclear {
            Some(urr) => Err(Refusal::rule(
                refusal::urr(urr.id),
                IeType::REPORTING_TRIGGERS,
            )),
            None => Ok(()),
        }
    }
}
