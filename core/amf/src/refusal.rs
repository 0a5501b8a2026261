//! Why a procedure ends without what the UE wanted, and what the UE and the gNB are told.

use sluice_n1::{self as n1, Downlink};
use sluice_n2 as n2;
use sluice_sbi::Problem;

/// Why a procedure ends.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Refusal {
    /// Registration Reject.
    Registration(n1::Cause),
    /// Another function could not do its part.
    Problem(Problem),
    /// Authentication Reject: it is not that UE.
    Authentication,
    /// Authentication Reject with EAP-Failure: the home network says that it is not that UE.
    Eap(Vec<u8>),
    /// The UE rejects the security mode for this: what it wanted ends there (TS 24.501, 5.4.2.5).
    SecurityMode(n1::Cause),
    /// The UE does not answer, or refuses itself; it is told nothing.
    Silent(&'static str),
}

impl Refusal {
    /// NAS message that refuses the UE's request.
    pub fn message(&self) -> Option<Downlink> {
        match self {
            Self::Registration(cause) => Some(Downlink::RegistrationReject((*cause).into())),
            Self::Problem(Problem::AuthenticationRejected) | Self::Authentication => {
                Some(Downlink::AuthenticationReject)
            }
            Self::Eap(eap) => Some(Downlink::EapReject(eap.clone())),
            Self::Problem(problem) => Some(Downlink::RegistrationReject(cause(*problem).into())),
            // The UE need not wait for its timer.
            Self::SecurityMode(n1::Cause::SECURITY_CAPABILITIES_MISMATCH) => {
                let cause = n1::Cause::SECURITY_CAPABILITIES_MISMATCH;
                Some(Downlink::RegistrationReject(cause.into()))
            }
            Self::SecurityMode(_) => Some(Downlink::RegistrationReject(
                n1::Cause::PROTOCOL_ERROR.into(),
            )),
            Self::Silent(_) => None,
        }
    }

    /// Cause with which the gNB releases the UE.
    pub fn release(&self) -> n2::Cause {
        match self {
            Self::Problem(Problem::AuthenticationRejected)
            | Self::Authentication
            | Self::Eap(_) => n2::Cause::AUTHENTICATION_FAILURE,
            Self::Registration(_) | Self::SecurityMode(_) | Self::Problem(_) => {
                n2::Cause::NORMAL_RELEASE
            }
            Self::Silent(_) => n2::Cause::NAS_UNSPECIFIED,
        }
    }
}

impl From<Problem> for Refusal {
    fn from(problem: Problem) -> Self {
        Self::Problem(problem)
    }
}

/// Of what another function could not do.
fn cause(problem: Problem) -> n1::Cause {
    match problem {
        Problem::UserNotFound | Problem::IdentityUnreadable | Problem::AuthenticationRejected => {
            n1::Cause::ILLEGAL_UE
        }
        Problem::ServingNetworkNotAuthorized => n1::Cause::PLMN_NOT_ALLOWED,
        Problem::ServiceNotAllowed => n1::Cause::SERVICES_NOT_ALLOWED,
        Problem::Timeout
        | Problem::NotReached
        | Problem::Overload
        | Problem::ContextNotFound
        | Problem::Protocol
        | Problem::DnnNotSupported
        | Problem::NotAuthenticated
        | Problem::DiscoveryForbidden
        | Problem::IntegrityCheckFailed
        | Problem::QosNotAuthorized
        | Problem::FiveQiNotAuthorized
        | Problem::NoResources => n1::Cause::CONGESTION,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_other_functions_cannot_do_becomes_a_cause_for_the_ue() {
        let cause = |problem| Refusal::from(problem).message();
        let reject = |cause: n1::Cause| Some(Downlink::RegistrationReject(cause.into()));
        assert_eq!(cause(Problem::UserNotFound), reject(n1::Cause::ILLEGAL_UE));
        assert_eq!(cause(Problem::Timeout), reject(n1::Cause::CONGESTION));
        let barred = reject(n1::Cause::SERVICES_NOT_ALLOWED);
        assert_eq!(cause(Problem::ServiceNotAllowed), barred);
        assert_eq!(
            cause(Problem::AuthenticationRejected),
            Some(Downlink::AuthenticationReject)
        );
        assert_eq!(Refusal::Silent("no answer").message(), None);
        // #24, and #23 which says more.
        for (rejected, told) in [(24, n1::Cause::PROTOCOL_ERROR), (23, n1::Cause(23))] {
            let message = Refusal::SecurityMode(n1::Cause(rejected)).message();
            assert_eq!(message, reject(told));
        }
    }
}
