//! Texts of refusals for operators: the reason in words, and the remedy.

use sluice_n1::{self as n1, MobileIdentity};
use sluice_sbi::{Effect, Problem, Refused};

use crate::context::state::State;
use crate::context::ue::UeId;
use crate::messages::collisions::Running;
use crate::refusal::Refusal;

/// Why, and what to do.
pub(crate) type Reason = (String, &'static str);

/// UEs are shed beyond the bound of their gNB.
pub(crate) const TOO_MANY_OF_GNB: (&str, &str) = (
    "more UEs that have not proved who they are come by one gNB than may be under way at a time",
    "none if this passes: UEs try again; else look for UEs at that gNB that never register, or set \
     overload.unauthenticated_of_gnb",
);

/// UEs are shed beyond the bound of all.
pub(crate) const TOO_MANY_IN_ALL: (&str, &str) = (
    "more UEs that have not proved who they are come than may be under way at a time",
    "none if this passes: UEs try again; else set overload.unauthenticated, or share UEs with another core",
);

/// Of a procedure that ended for this.
pub(crate) fn refusal(refusal: &Refusal) -> Reason {
    let (why, remedy) = match refusal {
        Refusal::Registration(cause) => return by_cause(*cause),
        Refusal::Problem(problem) => by_problem(*problem),
        Refusal::Authentication | Refusal::Eap(_) => (
            "the UE has not proved who it is: its SIM found the network's MAC wrong, or its answer was",
            "compare K and OPc of the subscriber with those of the SIM, and the algorithm",
        ),
        Refusal::SecurityMode(cause) => {
            let why = format!("the UE rejects the security mode: {cause}");
            return (
                why,
                "compare the UE's algorithms with what its gNB passes on: sluice ctl flow; it may try again",
            );
        }
        Refusal::Silent(why) => (*why, "look at the UE and at its gNB; it may try again"),
    };
    (why.to_owned(), remedy)
}

fn by_problem(problem: Problem) -> (&'static str, &'static str) {
    match problem {
        Problem::UserNotFound => (
            "there is no subscriber of this identity",
            "add the subscriber, or correct the IMSI in the SIM",
        ),
        Problem::IdentityUnreadable => (
            "the SUCI cannot be read: no home network key has its identifier and profile, it was concealed \
             for another key, or it is unconcealed and that is not allowed",
            "compare home_network_keys with the SIM, or set null_scheme",
        ),
        Problem::AuthenticationRejected => (
            "the home network does not take the UE's answer",
            "compare K and OPc of the subscriber with those of the SIM, and the algorithm",
        ),
        Problem::ServingNetworkNotAuthorized => (
            "the home network does not let this PLMN serve its subscribers",
            "compare the PLMN of the SIM with that of the core",
        ),
        Problem::ServiceNotAllowed => (
            "the subscriber is barred",
            "sluice ctl subscribers change IMSI --barred no, if it is to be served",
        ),
        Problem::Timeout | Problem::Overload => (
            "a network function has too much to do",
            "look at sluice ctl procedures; the UE tries again",
        ),
        Problem::NotReached => (
            "a network function is not reached: its program is not there",
            "look at sluice ctl nfs and at the log of its program; the UE tries again",
        ),
        Problem::NotAuthenticated => (
            "the home network knows of no authentication of the UE for this network",
            "the UE tries again; if it is refused again, report it with sluice ctl flow",
        ),
        Problem::ContextNotFound
        | Problem::Protocol
        | Problem::DnnNotSupported
        | Problem::DiscoveryForbidden
        | Problem::IntegrityCheckFailed
        | Problem::QosNotAuthorized
        | Problem::FiveQiNotAuthorized
        | Problem::NoResources => (
            "network functions do not agree on what they know of the UE",
            "the UE tries again; if it is refused again, report it with sluice ctl flow",
        ),
    }
}

/// Of a UE that is told this cause.
pub(crate) fn by_cause(cause: n1::Cause) -> Reason {
    let (why, remedy) = match cause {
        n1::Cause::NO_SUITABLE_CELLS => (
            "the UE's tracking area is none of this AMF",
            "add the area to tracking_areas, or correct it at the gNB",
        ),
        n1::Cause::NO_NETWORK_SLICES => (
            "no slice of the subscriber is served in the UE's area",
            "compare the slices of the subscriber, of plmns, and of the gNB; give the subscriber a default one",
        ),
        n1::Cause::SECURITY_CAPABILITIES_MISMATCH => (
            "the UE has none of the algorithms that are allowed, lacks those that each UE must have, or does not say \
             which it has",
            "compare security.ciphering, integrity and mandatory_algorithms with the UE; NIA0 is never chosen",
        ),
        n1::Cause::IDENTITY_UNKNOWN => (
            "neither its name nor its keys are known here, and it does not show its SUCI",
            "none is needed: the UE registers again",
        ),
        n1::Cause::IMPLICITLY_DEREGISTERED => (
            "it was deregistered while it was idle, by an operator or since it was not heard of",
            "none is needed: the UE registers again",
        ),
        n1::Cause::ILLEGAL_UE => (
            "the UE is no subscriber, or has not proved to be one",
            "compare the IMSI, K and OPc of the SIM with the subscriber",
        ),
        n1::Cause::PLMN_NOT_ALLOWED => (
            "this PLMN may not serve the subscriber",
            "compare the PLMN of the SIM with that of the core",
        ),
        n1::Cause::SERVICES_NOT_ALLOWED => (
            "the subscriber is barred, or was removed",
            "sluice ctl subscribers change IMSI --barred no, if it is to be served",
        ),
        n1::Cause::INVALID_MANDATORY_INFORMATION => (
            "an information element of the UE's message that must be there is missing, or cannot be read",
            "look at sluice ctl flow; the UE is at fault",
        ),
        n1::Cause::CONGESTION => ("there is too much to do", "none: the UE tries again"),
        n1::Cause::MAXIMUM_SESSIONS => (
            "the UE has as many sessions as one may have",
            "none, unless the UE loses track of its sessions",
        ),
        n1::Cause::DNN_NOT_SUPPORTED => (
            "the subscriber has no such data network in this slice",
            "add the data network to the subscriber's networks, or correct the APN of the UE",
        ),
        n1::Cause::PAYLOAD_NOT_FORWARDED => (
            "no session management can take the UE's message: the slice is not allowed, or there is no such \
             session",
            "compare the slice that the UE asks for with those of the subscriber",
        ),
        n1::Cause::INSUFFICIENT_RESOURCES_FOR_SLICE_AND_DNN => (
            "session management does not answer, or has too much to do",
            "look at sluice ctl procedures and at the UPFs; the UE tries again",
        ),
        n1::Cause::INSUFFICIENT_RESOURCES_FOR_SLICE => (
            "session management of the slice has no room for another session",
            "look at sluice ctl --core status and nfs; the UE tries again",
        ),
        n1::Cause::PROTOCOL_ERROR => (
            "the UE asks for what is not supported, such as emergency registration",
            "none: see docs/limitations.md",
        ),
        cause => {
            let why = format!("it ends for {}", cause.text());
            return (why, "look at sluice ctl flow; the UE tries again");
        }
    };
    (why.to_owned(), remedy)
}

/// A UE's identity as operators know it.
pub(crate) fn identity(identity: &MobileIdentity) -> String {
    match identity {
        MobileIdentity::Suci(suci) => suci.to_string(),
        MobileIdentity::Guti(guti) => guti.to_string(),
        _ => "a UE without identity".to_owned(),
    }
}

/// The step that a UE that registers has left undone; none once it is accepted.
fn left_at(running: Running) -> Option<&'static str> {
    match running {
        Running::Identification => Some("the UE has left instead of showing its identity"),
        Running::Authentication => Some("the UE has left instead of answering its challenge"),
        Running::SecurityMode => Some("the UE has left instead of taking its new keys"),
        _ => None,
    }
}

impl State {
    /// Tells operators that a UE that is to prove who it is has left, and how.
    pub(crate) fn left(&mut self, id: UeId, running: Running, how: &str) {
        let request = self.ues.get(id.0).and_then(|ue| ue.request.as_ref());
        let (Some(request), Some(why)) = (request, left_at(running)) else {
            return;
        };
        let shown = identity(&request.identity);
        let remedy = "none if it comes again and registers; else look at its radio, and at the gNB";
        let reason = (format!("{why}: {how}"), remedy);
        let cause = "without a cause".to_owned();
        self.refused(id, Some(shown), "Registration", cause, reason);
    }

    /// Tells operators that a request of a UE was refused. `shown` is what the UE says that it is.
    pub(crate) fn refused(
        &mut self,
        ue: UeId,
        shown: Option<String>,
        request: &'static str,
        cause: String,
        (why, remedy): Reason,
    ) {
        self.counters.refusals += 1;
        let supi = self.ues.get(ue.0).and_then(|ue| ue.supi);
        let known = supi.map(|supi| supi.to_string());
        let who = known
            .or(shown)
            .unwrap_or_else(|| "an unknown UE".to_owned());
        let at = self
            .connection(ue)
            .map(|(_, connection)| connection.location.tai);
        let why = match at {
            Some(tai) => format!("{why} (it is in area {tai})"),
            None => why,
        };
        self.effects.push(Effect::Refused(Box::new(Refused {
            who,
            supi,
            request,
            cause,
            why,
            remedy,
        })));
    }
}
