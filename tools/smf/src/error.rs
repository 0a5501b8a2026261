//! Errors of the emulated SMF.

use std::fmt;

use sluice_host::HostError;
use sluice_n4::{FailReason, RequestError};
use sluice_wire::ids::Seid;
use sluice_wire::pfcp::value::FailedRuleId;
use sluice_wire::pfcp::{Cause, IeType, MessageType, Reject};

/// Why the SMF did not get what it asked for.
#[derive(Debug, thiserror::Error)]
pub enum SmfError {
    #[error("the UPF rejected {request}: {rejection}")]
    Rejected {
        request: MessageType,
        rejection: Rejection,
    },
    #[error("the UPF's answer to {request} is wrong: {reject}")]
    Malformed {
        request: MessageType,
        reject: Reject,
    },
    #[error("the UPF's answer to {request} is for SEID {answered:?} instead of {ours}")]
    WrongSeid {
        request: MessageType,
        /// The SEID in the answer's header.
        answered: Option<Seid>,
        ours: Seid,
    },
    /// The UPF was asked to choose the uplink F-TEID and its answer has none.
    #[error("the UPF accepted {0} without the F-TEID that it was asked for (TS 29.244, 5.5.3)")]
    NoFTeid(MessageType),
    #[error("no answer to {request}: {reason}")]
    NoAnswer {
        request: MessageType,
        /// Why there will be none.
        reason: FailReason,
    },
    #[error("cannot send {request}: {error}")]
    NotSent {
        /// Type of the request that was not sent.
        request: MessageType,
        error: RequestError,
    },
    #[error("there is no PFCP association with the UPF")]
    NotAssociated,
    #[error("there is no session with SEID {0}")]
    NoSuchSession(Seid),
    #[error("session {0} is busy with another request")]
    Busy(Seid),
    #[error("session {0} has no URR to be queried")]
    NotMeasured(Seid),
    #[error("session {0} has no flow to be added")]
    NoFlow(Seid),
    /// The dialect has no dedicated flows, or what tells its packets is empty or too long.
    #[error("the SMF {dialect} cannot ask for a flow {description:?}")]
    FlowNotPossible {
        dialect: crate::Dialect,
        description: String,
    },
    #[error("the SMF has stopped")]
    Stopped,
    /// The host would not give a socket or a thread.
    #[error(transparent)]
    Host(#[from] HostError),
    #[error("cannot start the SMF's thread: {0}")]
    Start(#[source] std::io::Error),
}

/// The cause of a rejection and what belongs to it (TS 29.244, 7.5.3.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rejection {
    pub cause: Cause,
    /// The IE that made the request fail.
    pub offending_ie: Option<IeType>,
    /// The rule that made the request fail.
    pub failed_rule: Option<FailedRuleId>,
}

impl fmt::Display for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.cause.fmt(f)?;
        if let Some(ie) = self.offending_ie {
            write!(f, ", offending IE {ie}")?;
        }
        match self.failed_rule {
            Some(rule) => write!(f, ", failed rule {rule:?}"),
            None => Ok(()),
        }
    }
}

impl SmfError {
    /// The UPF's cause, if it rejected the request.
    pub fn cause(&self) -> Option<Cause> {
        match self {
            Self::Rejected { rejection, .. } => Some(rejection.cause),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use sluice_wire::ids::FarId;

    use super::*;

    #[test]
    fn a_rejection_names_cause_ie_and_rule() {
        let error = SmfError::Rejected {
            request: MessageType::SESSION_ESTABLISHMENT_REQUEST,
            rejection: Rejection {
                cause: Cause::RULE_CREATION_MODIFICATION_FAILURE,
                offending_ie: Some(IeType::FAR_ID),
                failed_rule: Some(FailedRuleId::Far(FarId(7))),
            },
        };
        let text = error.to_string();
        assert_eq!(
            text,
            "the UPF rejected Session Establishment Request: Rule creation/modification Failure \
             (73), offending IE FAR ID (108), failed rule Far(FarId(7))"
        );
        assert_eq!(
            error.cause(),
            Some(Cause::RULE_CREATION_MODIFICATION_FAILURE)
        );
    }
}
