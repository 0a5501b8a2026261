//! Texts of refused sessions for operators: the reason in words, and the remedy.

use sluice_n1::SessionCause;
use sluice_sbi::{Effect, Refused};

use crate::context::session::SessionId;
use crate::context::state::State;

/// Why a session was refused, for operators, where more is known than its cause.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Why {
    pub why: String,
    /// Remedy.
    pub remedy: &'static str,
}

impl State {
    /// Reports to operators that the request of a session was refused with this cause, and why; `of` names its part of
    /// the session.
    pub fn report_refused(
        &mut self,
        id: SessionId,
        (request, cause): (&'static str, String),
        (why, of): (&str, &str),
        remedy: &'static str,
    ) {
        let Some(session) = self.sessions.get(id.0) else {
            return;
        };
        let (identity, dnn) = (session.identity, session.dnn);
        let refused = Refused {
            who: session.supi.to_string(),
            supi: Some(session.supi),
            request,
            cause,
            why: format!("{why} ({of}session {identity}, {dnn})"),
            remedy,
        };
        self.effects.push(Effect::Refused(Box::new(refused)));
    }
}

fn by_cause(cause: SessionCause) -> (&'static str, &'static str) {
    match cause {
        SessionCause::UNKNOWN_DNN => (
            "the core has no data network of this name",
            "add it to data_networks, or correct the APN of the UE",
        ),
        SessionCause::NOT_SUBSCRIBED => (
            "the subscriber may not use this data network in this slice",
            "add it to the subscriber's networks",
        ),
        SessionCause::INSUFFICIENT_RESOURCES => (
            "no UPF that serves this data network and slice is there, or it has no address left",
            "look at the UPFs in sluice ctl --core status, and at the pools of the UPF",
        ),
        SessionCause::NETWORK_FAILURE => (
            "the UPF refused the session, or did not answer",
            "look at sluice ctl refusals of the UPF: its network instances must be those of data_networks",
        ),
        SessionCause::IPV4_ONLY | SessionCause::IPV6_ONLY => (
            "the UE asks for addresses of a family that the data network or the subscription has not",
            "compare ipv4 and ipv6 of data_networks, and the types of the subscriber's network",
        ),
        SessionCause::UNKNOWN_SESSION_TYPE => (
            "the UE asks for a type of session that is not served, such as Ethernet",
            "set the session type IPv4, IPv6 or IPv4v6 at the UE",
        ),
        SessionCause::SSC_MODE_NOT_SUPPORTED => (
            "the UE asks for an SSC mode other than 1",
            "none: the UE may ask again with SSC mode 1",
        ),
        SessionCause::INTEGRITY_RATE_TOO_LOW => (
            "integrity protection is required, and the UE protects less than the session AMBR",
            "lower the session AMBR to 64k, or set integrity: preferred in user_plane_security, or up_integrity of the subscriber",
        ),
        SessionCause::INVALID_MANDATORY_INFORMATION => (
            "the UE's request cannot be read, or is for another session than it says",
            "look at sluice ctl flow; the UE may be at fault",
        ),
        SessionCause::NOT_COMPATIBLE_WITH_STATE => (
            "the UE's request does not fit what is under way",
            "none: the UE asks again",
        ),
        SessionCause::QOS_NOT_ACCEPTED | SessionCause::UNSUPPORTED_FIVE_QI => (
            "the UE asks for a QoS flow that no policy allows it",
            "add its 5QI to ue_requests of the policy that is for the UE",
        ),
        SessionCause::REJECTED => (
            "there is no room for what the UE's QoS flow guarantees, or the gNB refused it",
            "compare guaranteed_down and guaranteed_up of upfs and data_networks; look at sluice ctl flow",
        ),
        SessionCause::SEMANTICS_OF_QOS
        | SessionCause::SYNTAX_OF_QOS
        | SessionCause::SEMANTICS_OF_FILTERS
        | SessionCause::SYNTAX_OF_FILTERS => (
            "the QoS rules or packet filters that the UE asks for contradict each other, or cannot be read",
            "look at sluice ctl flow; the UE may be at fault",
        ),
        _ => (
            "the UE's request cannot be read, or does not fit",
            "look at sluice ctl flow; the UE may be at fault",
        ),
    }
}

impl State {
    /// Tells operators that a session was refused.
    pub(crate) fn refused(&mut self, id: SessionId, cause: SessionCause, known: Option<Why>) {
        self.counters.refused += 1;
        let Some(session) = self.sessions.get(id.0) else {
            return;
        };
        let Why { why, remedy } = known.unwrap_or_else(|| {
            let (why, remedy) = by_cause(cause);
            let why = why.to_owned();
            Why { why, remedy }
        });
        let (identity, dnn, slice) = (session.identity, session.dnn, session.slice);
        let refused = Refused {
            who: session.supi.to_string(),
            supi: Some(session.supi),
            request: "PDU Session Establishment",
            cause: format!("{cause}"),
            why: format!("{why} (session {identity}, {dnn}, slice {slice})"),
            remedy,
        };
        self.effects.push(Effect::Refused(Box::new(refused)));
    }
}
