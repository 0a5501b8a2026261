//! Refusals: PFCP cause, offending IE and failed rule.

use core::fmt;
use sluice_n4::refusals::RuleName;
use sluice_wire::ids::{BarId, FarId, PdrId, QerId, UrrId};
use sluice_wire::pfcp::element::Element;
use sluice_wire::pfcp::value::{FailedRuleId, OffendingIe};
use sluice_wire::pfcp::{Cause, Full, IeType, Reject, Writer};

/// Cause, Offending IE and Failed Rule ID of a response (TS 29.244, 8.2.1, 8.2.22, 8.2.80).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Refusal {
    /// The cause.
    pub cause: Cause,
    /// The IE that stands in the way.
    pub offending_ie: Option<IeType>,
    /// The rule that could not be created or modified.
    pub rule: Option<FailedRuleId>,
}

/// The rule that is being looked at.
pub type RuleId = FailedRuleId;

/// A PDR as the rule to blame.
pub fn pdr(id: PdrId) -> RuleId {
    FailedRuleId::Pdr(id)
}

/// A FAR as the rule to blame.
pub fn far(id: FarId) -> RuleId {
    FailedRuleId::Far(id)
}

/// A QER as the rule to blame.
pub fn qer(id: QerId) -> RuleId {
    FailedRuleId::Qer(id)
}

/// A BAR as the rule to blame.
pub fn bar(id: BarId) -> RuleId {
    FailedRuleId::Bar(id)
}

/// A URR as the rule to blame.
pub fn urr(id: UrrId) -> RuleId {
    FailedRuleId::Urr(id)
}

impl Refusal {
    /// A cause alone.
    pub const fn of(cause: Cause) -> Self {
        Self {
            cause,
            offending_ie: None,
            rule: None,
        }
    }

    /// A rule cannot be created or modified because of an IE (73).
    pub const fn rule(rule: RuleId, ie: IeType) -> Self {
        Self {
            cause: Cause::RULE_CREATION_MODIFICATION_FAILURE,
            offending_ie: Some(ie),
            rule: Some(rule),
        }
    }

    /// A rule is unknown, or known already (73).
    pub const fn identity(rule: RuleId) -> Self {
        Self {
            cause: Cause::RULE_CREATION_MODIFICATION_FAILURE,
            offending_ie: None,
            rule: Some(rule),
        }
    }

    /// Something is used up (75).
    pub const fn full(rule: Option<RuleId>, ie: Option<IeType>) -> Self {
        Self {
            cause: Cause::NO_RESOURCES_AVAILABLE,
            offending_ie: ie,
            rule,
        }
    }

    /// Writes the IEs in the order that all responses have.
    pub fn write(&self, w: &mut Writer<'_>) -> Result<(), Full> {
        w.ie(IeType::CAUSE, |w| self.cause.encode(w))?;
        if let Some(ie) = self.offending_ie {
            w.ie(IeType::OFFENDING_IE, |w| OffendingIe(ie).encode(w))?;
        }
        match self.rule {
            Some(rule) => w.ie(IeType::FAILED_RULE_ID, |w| rule.encode(w)),
            None => Ok(()),
        }
    }

    /// The same with another cause.
    pub const fn with(self, cause: Cause) -> Self {
        Self { cause, ..self }
    }
}

impl From<Reject> for Refusal {
    fn from(reject: Reject) -> Self {
        Self {
            cause: reject.cause,
            offending_ie: reject.offending_ie,
            rule: None,
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.cause)?;
        if let Some(ie) = self.offending_ie {
            write!(f, ", offending IE {ie}")?;
        }
        match self.rule {
            Some(rule) => write!(f, ", {}", RuleName(rule)),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Refusal {}
