//! Activate and Deactivate Predefined Rules (TS 29.244, 8.2.72, 8.2.73).

use super::{Draft, Refused, no_rule, no_to};
use crate::predefined::{Predefined, is_of_cp, say_something};
use crate::rules::Pdr;
use sluice_wire::pfcp::value::Text;
use sluice_wire::pfcp::{Cause, IeType};

impl Draft<'_, '_> {
    /// What a PDR deactivates goes, what it activates comes beside the rest.
    pub(super) fn activate(
        &mut self,
        id: u16,
        pdr: &mut Pdr,
        on: &[Text<'_>],
        off: &[Text<'_>],
    ) -> Result<(), Refused> {
        for name in off {
            let ie = IeType::DEACTIVATE_PREDEFINED_RULES;
            let number = self.predefined(id, ie, name)?.number;
            pdr.active.retain(|rule| rule.number != number);
        }
        for name in on {
            let rule = self.predefined(id, IeType::ACTIVATE_PREDEFINED_RULES, name)?;
            pdr.active.retain(|other| other.number != rule.number);
            pdr.active.push(rule);
        }
        pdr.active.sort_by_key(|rule| rule.number);
        if !pdr.active.is_empty() && pdr.application.is_some() {
            let why = format!("PDR {id} has an application and predefined rules");
            return no_rule(IeType::APPLICATION_ID, why);
        }
        if !pdr.active.is_empty() && say_something(&pdr.filters) {
            let why = format!("PDR {id} has filters and predefined rules");
            return no_rule(IeType::SDF_FILTER, why);
        }
        Ok(())
    }

    fn predefined(&mut self, id: u16, ie: IeType, name: &Text<'_>) -> Result<Predefined, Refused> {
        let Some((rule, qer)) = Predefined::find(&self.config.predefined, name.0) else {
            let why = format!("PDR {id}: no predefined rule {name:?}");
            return no_to(Cause::UNKNOWN_PREDEFINED_RULE, ie, why);
        };
        if let (Some(id), Some(qer)) = (rule.qer, qer) {
            self.rules.qers.entry(id).or_insert(qer);
        }
        Ok(rule)
    }

    pub(super) fn names_own_qers(&self, id: u16, pdr: &Pdr) -> Result<(), Refused> {
        match pdr.qers.iter().all(|qer| is_of_cp(*qer)) {
            true => Ok(()),
            false => no_rule(IeType::QER_ID, format!("PDR {id} names a QER of ours")),
        }
    }
}
