//! Rule admission: IEs to rules, one file for each kind.
//!
//! Whatever a rule asks that this path cannot do is refused by name; nothing that would change what
//! happens to packets is passed over.

mod bar;
mod far;
pub mod pdr;
mod qer;
mod sets;
pub mod unserved;
mod urr;

use crate::admission::Admission;
use crate::network::Network;
use crate::refusal::{Refusal, RuleId};
use sluice_wire::limits::{self, BARS_PER_MESSAGE as BARS};
use sluice_wire::pfcp::IeType;
use sluice_wire::pfcp::element::Element;
use sluice_wire::pfcp::ie::Body;

impl<N: Network> Admission<'_, N> {
    /// All rules that a message creates. What others refer to comes first.
    pub fn create_rules(&mut self, body: &Body<'_>) -> Result<(), Refusal> {
        let (fars, qers) = (limits::FARS_PER_MESSAGE, limits::QERS_PER_MESSAGE);
        let (urrs, pdrs) = (limits::URRS_PER_MESSAGE, limits::PDRS_PER_MESSAGE);
        each(body, IeType::CREATE_FAR, fars, |ie| self.create_far(ie))?;
        each(body, IeType::CREATE_QER, qers, |ie| self.create_qer(ie))?;
        each(body, IeType::CREATE_URR, urrs, |ie| self.create_urr(ie))?;
        each(body, IeType::CREATE_BAR, BARS, |ie| self.create_bar(ie))?;
        each(body, IeType::CREATE_PDR, pdrs, |ie| self.create_pdr(ie))
    }

    /// All rules that a message changes.
    pub fn update_rules(&mut self, body: &Body<'_>) -> Result<(), Refusal> {
        let (fars, qers) = (limits::FARS_PER_MESSAGE, limits::QERS_PER_MESSAGE);
        let (urrs, pdrs) = (limits::URRS_PER_MESSAGE, limits::PDRS_PER_MESSAGE);
        each(body, IeType::UPDATE_FAR, fars, |ie| self.update_far(ie))?;
        each(body, IeType::UPDATE_QER, qers, |ie| self.update_qer(ie))?;
        each(body, IeType::UPDATE_URR, urrs, |ie| self.update_urr(ie))?;
        let update_bar = IeType::UPDATE_BAR_IN_SESSION_MODIFICATION_REQUEST;
        each(body, update_bar, BARS, |ie| self.update_bar(ie))?;
        each(body, IeType::UPDATE_PDR, pdrs, |ie| self.update_pdr(ie))
    }

    /// All rules that a message removes.
    pub fn remove_rules(&mut self, body: &Body<'_>) -> Result<(), Refusal> {
        let (fars, qers) = (limits::FARS_PER_MESSAGE, limits::QERS_PER_MESSAGE);
        let (urrs, pdrs) = (limits::URRS_PER_MESSAGE, limits::PDRS_PER_MESSAGE);
        each(body, IeType::REMOVE_PDR, pdrs, |ie| self.remove_pdr(ie))?;
        each(body, IeType::REMOVE_FAR, fars, |ie| self.remove_far(ie))?;
        each(body, IeType::REMOVE_QER, qers, |ie| self.remove_qer(ie))?;
        each(body, IeType::REMOVE_BAR, BARS, |ie| self.remove_bar(ie))?;
        each(body, IeType::REMOVE_URR, urrs, |ie| self.remove_urr(ie))
    }
}

/// Decodes the IEs of a type one after the other, so that only one lies in memory at a time.
pub fn each<'a, T: Element<'a>>(
    body: &Body<'a>,
    ie_type: IeType,
    max: usize,
    admit: impl FnMut(&T) -> Result<(), Refusal>,
) -> Result<(), Refusal> {
    body.each_group(ie_type, max, admit)
}

/// Refuses the first IE that is there.
fn first_present(rule: RuleId, ies: &[(bool, IeType)]) -> Result<(), Refusal> {
    match ies.iter().find(|(present, _)| *present) {
        Some((_, ie)) => Err(Refusal::rule(rule, *ie)),
        None => Ok(()),
    }
}
