//! What comes in between: which message of a UE ends, begins or leaves alone a procedure
//! (TS 24.501, 5.4 and 5.5.1.2.8).

use sluice_n1::{RegistrationKind, Uplink};

/// What a UE is doing when a message comes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Running {
    /// Nothing.
    Nothing,
    /// The network deregisters it, and it has not answered.
    Deregistration,
    /// It was told a new name, and has not acknowledged it.
    Renaming,
    /// Another procedure.
    Another,
}

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

/// Decides. `is_verified` says that the message's MAC was right.
pub(crate) fn decide(message: &Uplink, is_verified: bool, running: Running) -> Decision {
    match message {
        // One that begins anew is served; all else comes too late (5.5.2.3.5 e to g).
        Uplink::RegistrationRequest(request)
            if running == Running::Deregistration
                && request.kind != RegistrationKind::Initial
                && request.kind != RegistrationKind::Emergency =>
        {
            Decision::Ignore
        }
        Uplink::UlNasTransport(_) if running == Running::Deregistration => Decision::Ignore,
        // A new request replaces the one before it; a UE repeats it only when it has given up.
        Uplink::RegistrationRequest(_) => Decision::Begin,
        // Who is not known to be that UE changes nothing of it.
        Uplink::DeregistrationRequest(_) if is_verified => Decision::Begin,
        Uplink::DeregistrationRequest(_) => Decision::Ignore,
        // Both go on (5.4.4.6): the old name and the new one stay good.
        Uplink::ServiceRequest(_) if running == Running::Renaming && is_verified => Decision::Begin,
        Uplink::ServiceRequest(_) if running != Running::Nothing => Decision::Ignore,
        Uplink::ServiceRequest(_) => Decision::Begin,
        Uplink::UlNasTransport(_) if is_verified => Decision::Begin,
        // Answers that come twice, or too late.
        Uplink::AuthenticationResponse(_)
        | Uplink::EapResponse(_)
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
    use sluice_n1::{DeregistrationRequest, MobileIdentity, RegistrationRequest, ServiceRequest};
    use sluice_security::SecurityCapability;

    #[test]
    fn only_the_ue_itself_deregisters() {
        let request = Uplink::DeregistrationRequest(DeregistrationRequest {
            switch_off: true,
            ngksi: 0,
            identity: MobileIdentity::None,
        });
        assert_eq!(decide(&request, false, Running::Nothing), Decision::Ignore);
        for running in [Running::Another, Running::Deregistration] {
            assert_eq!(decide(&request, true, running), Decision::Begin);
        }
    }

    #[test]
    fn a_ue_that_is_being_deregistered_can_only_begin_anew() {
        let capability = SecurityCapability::from_octets(&[0xf0, 0x70]).expect("two");
        let request = |kind| {
            let request = RegistrationRequest {
                kind,
                ..RegistrationRequest::initial(MobileIdentity::None, capability)
            };
            decide(
                &Uplink::RegistrationRequest(Box::new(request)),
                true,
                Running::Deregistration,
            )
        };
        assert_eq!(request(RegistrationKind::Initial), Decision::Begin);
        assert_eq!(request(RegistrationKind::Mobility), Decision::Ignore);
        assert_eq!(request(RegistrationKind::Periodic), Decision::Ignore);
        let payload = Uplink::UlNasTransport(Box::default());
        let decided = decide(&payload, true, Running::Deregistration);
        assert_eq!(decided, Decision::Ignore);
    }

    #[test]
    fn a_service_request_goes_on_with_a_new_name_and_with_nothing_else() {
        let request = Uplink::ServiceRequest(ServiceRequest {
            ngksi: 0,
            kind: 1,
            identity: MobileIdentity::None,
            session_status: None,
            uplink_data: None,
            container: None,
        });
        assert_eq!(decide(&request, true, Running::Renaming), Decision::Begin);
        assert_eq!(decide(&request, false, Running::Renaming), Decision::Ignore);
        assert_eq!(decide(&request, true, Running::Another), Decision::Ignore);
    }

    #[test]
    fn late_answers_are_left_alone_and_strangers_are_told() {
        assert_eq!(
            decide(&Uplink::RegistrationComplete, true, Running::Nothing),
            Decision::Ignore
        );
        assert_eq!(
            decide(&Uplink::Other, true, Running::Nothing),
            Decision::NotCompatible
        );
    }
}
