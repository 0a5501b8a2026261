//! Admission of SDF filters and applications (TS 29.244, 8.2.5, 8.2.6).

use super::{Draft, Refused, no_rule, no_to};
use crate::applications::OfApplication;
use crate::flow_description;
use crate::rules::Filter;
use crate::sdf::SdfFilter;
use sluice_wire::pfcp::group::Pdi;
use sluice_wire::pfcp::value;
use sluice_wire::pfcp::{Cause, IeType};

impl Draft<'_, '_> {
    /// The filters of a PDI. One with an ID is kept for the other PDIs that give the ID alone.
    pub(super) fn sdf_filters(
        &mut self,
        pdr: u16,
        ies: &[value::SdfFilter<'_>],
    ) -> Result<Vec<Filter>, Refused> {
        let mut filters = Vec::new();
        for ie in ies {
            let filter = sdf_filter(pdr, ie)?;
            filters.push(match ie.sdf_filter_id {
                None if filter == SdfFilter::default() => {
                    return no_rule(IeType::SDF_FILTER, format!("PDR {pdr}: an empty filter"));
                }
                None => Filter::Own(filter),
                Some(id) => {
                    if filter != SdfFilter::default() {
                        self.rules.filters.insert(id, filter);
                    }
                    Filter::Kept(id)
                }
            });
        }
        Ok(filters)
    }
}

impl Draft<'_, '_> {
    /// The application of a PDI. What has to meet filters as well is refused.
    pub(super) fn application(
        &mut self,
        pdr: u16,
        pdi: &Pdi<'_>,
    ) -> Result<Option<OfApplication>, Refused> {
        let Some(name) = &pdi.application_id else {
            return Ok(None);
        };
        let Some(found) = self.told.find(self.config, name.0) else {
            let why = format!("PDR {pdr}: no application {name:?}");
            return no_to(Cause::UNKNOWN_APPLICATION_ID, IeType::APPLICATION_ID, why);
        };
        match pdi.sdf_filter.is_empty() {
            true => Ok(Some(found)),
            false => no_rule(
                IeType::SDF_FILTER,
                format!("PDR {pdr} has filters and an application"),
            ),
        }
    }
}

fn sdf_filter(pdr: u16, ie: &value::SdfFilter<'_>) -> Result<SdfFilter, Refused> {
    let flow = match ie.flow_description.map(flow_description::read) {
        None => None,
        Some(Ok(flow)) => Some(flow),
        Some(Err(wrong)) => {
            let why = format!("PDR {pdr}: flow description: {wrong}");
            return no_rule(IeType::SDF_FILTER, why);
        }
    };
    Ok(SdfFilter {
        flow,
        traffic_class: ie.tos_traffic_class.map(|[value, mask]| (value, mask)),
        security_parameter_index: ie.security_parameter_index,
        flow_label: ie.flow_label,
    })
}
