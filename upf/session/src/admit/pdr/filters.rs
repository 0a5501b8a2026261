//! Admission of a PDI's SDF filters: a run of flow filters that the PDR has from now on.

use crate::admission::Admission;
use crate::flows::sdf::{self, FlowFilterList, SdfError};
use crate::network::Network;
use crate::refusal::{Refusal, RuleId};
use crate::rules::Filter;
use sluice_wire::pfcp::IeType;
use sluice_wire::pfcp::value::SdfFilter;

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
