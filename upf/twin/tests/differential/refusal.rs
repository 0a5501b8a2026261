//! Grants and refusals of both sides, and what a refusal says.

use crate::compare::Difference;
use crate::spec::{Change, PdrSpec, Rules, TeidSpec, UeSpec};
use sluice_twin::Refused;
use sluice_wire::pfcp::value::OffendingIe;
use sluice_wire::pfcp::{Cause, IeType};

/// What a response says of a request.
#[derive(Clone, Copy, Debug)]
pub struct Said {
    pub cause: Cause,
    pub offending_ie: Option<OffendingIe>,
}

/// Both grant, or both refuse; for the same IE where the twin can tell it. If they name different ones,
/// the request may have had several faults: `without_it` is asked whether the twin refuses the request
/// also without the fault that it named.
pub fn agree(
    said: Said,
    twin: &Result<(), Refused>,
    without_it: impl FnOnce() -> bool,
) -> Result<(), Difference> {
    match (said.cause.is_acceptance(), twin) {
        (true, Ok(())) => Ok(()),
        (false, Err(Refused::Request { said: None, .. })) => Ok(()),
        (
            false,
            Err(Refused::Request {
                said: Some(told), ..
            }),
        ) => {
            let really = said.offending_ie.map(|ie| (said.cause, ie.0));
            match really == Some(*told) || without_it() {
                true => Ok(()),
                false => Err(format!("refusal: really {said:?}, the twin says {told:?}")),
            }
        }
        (true, Err(refused)) => Err(format!("the real thing grants, but {refused}")),
        (false, Ok(())) => Err(format!(
            "the real thing refuses ({said:?}), the twin grants"
        )),
        (false, Err(refused)) => Err(format!(
            "the real thing refuses ({said:?}), the twin only because {refused}"
        )),
    }
}

/// What an answer is counted under.
pub fn name(twin: &Result<(), Refused>) -> &'static str {
    let said = match twin {
        Ok(()) => return "granted",
        Err(Refused::Request { said, .. }) => *said,
        Err(Refused::Answer(_)) => None,
    };
    if said
        == Some((
            Cause::ALL_DYNAMIC_ADDRESSES_ARE_OCCUPIED,
            IeType::UE_IP_ADDRESS,
        ))
    {
        return "refused for want of an address";
    }
    match said.map(|(_, ie)| ie) {
        Some(IeType::QER_ID) if is_full(said) => "refused for too many rates",
        Some(IeType::SDF_FILTER) if is_full(said) => "refused for too many ports",
        Some(IeType::CREATE_PDR) if is_full(said) => "refused for too many PDRs of a door",
        Some(IeType::SDF_FILTER) => "refused for an SDF filter",
        Some(IeType::APPLICATION_ID) => "refused for an application",
        Some(IeType::REPORTING_TRIGGERS) => "refused for a URR of several applications",
        Some(IeType::PFD_CONTENTS) => "refused for the contents of a PFD",
        Some(IeType::ACTIVATE_PREDEFINED_RULES) => "refused for a predefined rule",
        Some(IeType::DEACTIVATE_PREDEFINED_RULES) => "refused for a predefined rule that ends",
        Some(IeType::UE_IP_ADDRESS) => "refused for a UE address",
        Some(IeType::FRAMED_ROUTE | IeType::FRAMED_IPV6_ROUTE | IeType::FRAMED_ROUTING) => {
            "refused for a framed route"
        }
        Some(IeType::PDN_TYPE) => "refused for the PDN type",
        _ => "refused",
    }
}

fn is_full(said: Option<(Cause, IeType)>) -> bool {
    said.is_some_and(|(cause, _)| cause == Cause::NO_RESOURCES_AVAILABLE)
}

/// The rules without what is known to be wrong: without the PDRs that have it, and without the addresses and
/// filters of these PDRs, whose other faults stay; without their predefined rules alone; and without any applications.
pub fn repaired_rules(rules: &Rules) -> [Rules; 4] {
    let mut rules = rules.clone();
    rules.pdn_type = None;
    let mut of_none = rules.clone();
    of_none.pdrs.iter_mut().for_each(|p| p.application = None);
    let (mut cleared, before) = (rules.clone(), rules.clone());
    rules.pdrs.retain(|p| !p.is_wrong);
    cleared
        .pdrs
        .iter_mut()
        .filter(|p| p.is_wrong)
        .for_each(clear);
    let mut inactive = before;
    let wrong = inactive.pdrs.iter_mut().filter(|p| p.is_wrong);
    wrong.for_each(|p| p.active.clear());
    [rules, cleared, inactive, of_none]
}

/// The same of a change; what it updates may name filters, too.
pub fn repaired_change(change: &Change) -> [Change; 4] {
    let mut of_none = change.clone();
    let created = &mut of_none.create.pdrs;
    created.iter_mut().for_each(|p| p.application = None);
    let edited = &mut of_none.pdrs;
    edited.iter_mut().for_each(|e| e.application = None);
    let mut inactive = change.clone();
    inactive
        .create
        .pdrs
        .iter_mut()
        .for_each(|p| p.active.clear());
    for edit in &mut inactive.pdrs {
        (edit.on, edit.off) = (vec![], vec![]);
    }
    let (mut change, mut cleared) = (change.clone(), change.clone());
    change.create.pdrs.clear();
    change.pdrs.clear();
    cleared.create.pdrs.iter_mut().for_each(clear);
    for edit in &mut cleared.pdrs {
        if let Some((_, _, filters)) = &mut edit.flow {
            filters.clear();
        }
        edit.application = None;
        (edit.on, edit.off) = (vec![], vec![]);
    }
    [change, cleared, inactive, of_none]
}

fn clear(pdr: &mut PdrSpec) {
    // Without a tunnel it would have no entry, which is a fault of its own.
    if pdr.f_teid != TeidSpec::None {
        pdr.ue = UeSpec::default();
    }
    pdr.filters.clear();
    pdr.application = None;
    pdr.active.clear();
}
