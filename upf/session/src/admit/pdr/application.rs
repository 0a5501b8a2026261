//! Admission of a PDI's Application ID (TS 29.244, 8.2.6): the application's flows are its filters, now and whenever
//! they change.

use crate::admission::Admission;
use crate::flows::applications::is_ambiguous;
use crate::flows::sdf;
use crate::network::Network;
use crate::node::uses::tells_traffic;
use crate::refusal::{self, Refusal, RuleId};
use crate::rules::{Filter, FilterOrigin};
use sluice_wire::pfcp::value::{SdfFilter, Text};
use sluice_wire::pfcp::{Cause, IeType};

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
