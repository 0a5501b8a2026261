//! What comes in between: which message of a UE ends, begins or leaves alone a procedure
//! (TS 24.501, 5.4 and 5.5.1.2.8).

use sluice_n1::Uplink;

/// What becomes of a message that the procedure under way does not wait for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Decision {
    /// What is under way ends where it is; the message begins another procedure.
    Begin,
    /// The message is left alone.
    Ignore,
    /// The UE is told that it fits nothing.
    NotCompatible,
}

/// Decides. `is_verified` says that the message's MAC was right, `is_busy` that a procedure is under
/// way.
pub(crate) fn decide(message: &Uplink, is_verified: bool, is_busy: bool) -> Decision {
    match message {
        // A new request replaces the one before it; a UE repeats it only when it has given up.
        Uplink::RegistrationRequest(_) => Decision::Begin,
        // Who is not known to be that UE changes nothing of it.
        Uplink::DeregistrationRequest(_) if is_verified => Decision::Begin,
        Uplink::DeregistrationRequest(_) => Decision::Ignore,
        Uplink::ServiceRequest(_) if is_busy => Decision::Ignore,
        Uplink::ServiceRequest(_) => Decision::Begin,
        Uplink::UlNasTransport(_) if is_verified => Decision::Begin,
        // Answers that come twice, or too late.
        Uplink::AuthenticationResponse(_)
        | Uplink::AuthenticationFailure { .. }
        | Uplink::IdentityResponse(_)
        | Uplink::SecurityModeComplete { .. }
        | Uplink::SecurityModeReject(_)
        | Uplink::RegistrationComplete
        | Uplink::ConfigurationUpdateComplete
        | Uplink::DeregistrationAccept
        | Uplink::Status(_) => Decision::Ignore,
        Uplink::UlNasTransport(_) | Uplink::Other => Decision::NotCompatible,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sluice_n1::{DeregistrationRequest, MobileIdentity};

    #[test]
    fn only_the_ue_itself_deregisters() {
        let request = Uplink::DeregistrationRequest(DeregistrationRequest {
            switch_off: true,
            ngksi: 0,
            identity: MobileIdentity::None,
        });
        assert_eq!(decide(&request, false, false), Decision::Ignore);
        assert_eq!(decide(&request, true, true), Decision::Begin);
    }

    #[test]
    fn late_answers_are_left_alone_and_strangers_are_told() {
        assert_eq!(
            decide(&Uplink::RegistrationComplete, true, false),
            Decision::Ignore
        );
        assert_eq!(decide(&Uplink::Other, true, false), Decision::NotCompatible);
    }
}
