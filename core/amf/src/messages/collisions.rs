//! Collisions: for each pair of a running procedure and an input of UE, gNB or core, the decision about both (TS
//! 24.501, 5.4, 5.5.1.2.8, 5.5.2.3.5 and 5.6.1.8; TS 38.413, 8; TS 33.501, 6.9.5.1).
//!
//! An answer that the procedure waits for never comes here. A handover runs beside a procedure: an input is judged by
//! either.

use sluice_n1::{RegistrationKind, Uplink};

use crate::context::handover_state::{Handover, Stage};
use crate::procedure::Kind;

/// The procedure of a UE, or the stage of its handover.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Running {
    /// Nothing.
    Nothing,
    /// Another function is asked, or the store.
    Calling,
    /// The UE is asked for its identity.
    Identification,
    /// The UE is challenged.
    Authentication,
    /// The UE gets new keys.
    SecurityMode,
    /// The registration is accepted, and the UE has not completed it yet.
    Accepting,
    /// The gNB gets the UE's context.
    Context,
    /// The gNB is asked to release the UE.
    Releasing,
    /// The network deregisters it, and it has not answered.
    Deregistering,
    /// The UE has got a new 5G-GUTI, and has not acknowledged it.
    Renaming,
    /// The UE is paged.
    Paging,
    /// The UE has come by Xn, and its packets do not follow yet.
    Switching,
    /// The target of its handover by N2 is asked.
    Preparing,
    /// The UE is told to go.
    Commanded,
    /// The UE has come by N2, and its packets do not follow yet.
    Completing,
    /// The UE's packets have followed, and the source is not released yet.
    Leaving,
}

/// Input that may collide with a procedure.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Input {
    /// The Registration Request that the procedure began with, once more.
    SameRegistration,
    /// An initial Registration Request of the UE itself.
    InitialRegistration,
    /// Any other one.
    OtherRegistration,
    /// One that anybody may have sent: it begins with an authentication.
    StrangeRegistration,
    /// Deregistration Request of the UE itself.
    Deregistration,
    /// One that anybody may have sent.
    StrangeDeregistration,
    /// Service Request of the UE itself.
    Service,
    /// One of a UE that is not known, or not by these keys.
    StrangeService,
    /// UL NAS Transport.
    Payload,
    /// UL NAS Transport of anybody.
    StrangePayload,
    /// An answer that nobody waits for: it comes twice, or too late.
    LateAnswer,
    /// A message that no AMF takes.
    Unknown,
    /// Handover Required.
    HandoverRequired,
    /// Path Switch Request.
    PathSwitch,
    /// UE Context Release Request of its gNB.
    ReleaseRequest,
    /// The connection is lost: by the association, NG Reset, Error Indication, or an identifier that is used again.
    Lost,
    /// N1N2MessageTransfer of an SMF: data for an idle UE, or a session that changes at the gNB of a connected one.
    Downlink,
    /// An operator or UDM sends it away.
    SentAway,
    /// The UE comes on another connection, by an initial message.
    OtherConnection,
}

/// Decision about an input.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Decision {
    /// The running procedure ends where it is; the input begins another one, or is done at once.
    Begin,
    /// Both go on.
    Beside,
    /// The input is ignored.
    Ignore,
    /// The answer that was given is given again.
    Repeat,
    /// The UE is told that it fits nothing.
    NotCompatible,
    /// The input is refused; the sender may try again.
    Refuse,
    /// The input is handled when the running procedure has ended.
    Later,
}

use Decision::{Begin as B, Beside as S, Ignore as I, Later as L};
use Decision::{NotCompatible as N, Refuse as F, Repeat as R};

const COLUMNS: usize = 16;

/// A row for each input, a column for each procedure and each stage of a handover in the order of [`Running`].
///
/// `Nothing Calling Identification Authentication SecurityMode Accepting Context Releasing Deregistering
/// Renaming Paging`, `Switching Preparing Commanded Completing Leaving`
#[rustfmt::skip]
const TABLE: [(Input, [Decision; COLUMNS]); 19] = [
    // 5.5.1.2.8 d and e: the one that is under way goes on, and its accept is sent again. After a reject it is
    // a new one.
    (Input::SameRegistration,      [B, I, I, I, I, R, B, B, B, B, B,  S, S, S, S, S]),
    // 5.5.1.2.8 d and e: other than the one before, which ends. 5.5.2.3.5 d: it ends a deregistration.
    (Input::InitialRegistration,   [B, B, B, B, B, B, B, B, B, B, B,  S, S, S, S, S]),
    // 5.5.2.3.5 e: the UE is told to go.
    (Input::OtherRegistration,     [B, B, B, B, B, B, B, B, I, B, B,  S, S, S, S, S]),
    // Keys that change would not be those that the target was told (TS 33.501, 6.9.5.1).
    (Input::StrangeRegistration,   [B, B, B, B, B, B, B, B, B, B, B,  L, L, L, B, B]),
    // 5.5.1.2.8 h, 5.5.2.3.5 d, 5.4.4.6 c
    (Input::Deregistration,        [B, B, B, B, B, B, B, B, B, B, B,  B, B, B, B, B]),
    // Who is not known to be that UE changes nothing of it.
    (Input::StrangeDeregistration, [I, I, I, I, I, I, I, I, I, I, I,  S, S, S, S, S]),
    // 5.4.4.6: both names stay good. 5.6.1.8: the one before goes on. 5.5.2.3.5 f
    (Input::Service,               [B, I, I, I, I, I, I, I, I, B, B,  S, S, S, S, S]),
    // It is told that nobody knows it, on a connection of its own.
    (Input::StrangeService,        [B, I, I, I, I, I, I, I, I, I, I,  S, S, S, S, S]),
    // Sessions have procedures of their own. 5.5.2.3.5 g
    (Input::Payload,               [S, S, S, S, S, S, S, S, I, S, S,  S, S, S, S, S]),
    (Input::StrangePayload,        [N, N, N, N, N, N, N, N, I, N, N,  S, S, S, S, S]),
    (Input::LateAnswer,            [I, I, I, I, I, I, I, I, I, I, I,  S, S, S, S, S]),
    (Input::Unknown,               [N, N, N, N, N, N, N, N, N, N, N,  S, S, S, S, S]),
    // Keys that change, and a UE that leaves (TS 33.501, 6.9.5.1). One handover after the other.
    (Input::HandoverRequired,      [S, S, F, F, F, S, S, F, F, S, F,  F, F, F, F, B]),
    // TS 38.413, 8.4.4: the UE is there already, and what it does goes on there; a release follows it.
    (Input::PathSwitch,            [S, S, S, S, S, S, S, S, S, S, S,  B, B, B, B, B]),
    // TS 38.413, 8.3.2: the UE is idle.
    (Input::ReleaseRequest,        [B, B, B, B, B, B, B, B, B, B, B,  B, B, B, B, B]),
    // A UE that was told to go may be at the target.
    (Input::Lost,                  [B, B, B, B, B, B, B, B, B, B, S,  B, B, S, B, B]),
    // TS 23.502, 4.2.3.3: it is about to be idle, and is called then; one that is called is called for this, too.
    // 4.9.1.2 and 4.9.1.3: the target was told how its sessions are.
    (Input::Downlink,              [B, S, S, S, S, S, S, L, S, S, L,  L, L, L, S, S]),
    (Input::SentAway,              [B, B, B, B, B, B, B, B, I, B, B,  S, S, S, S, S]),
    // It has left what it did.
    (Input::OtherConnection,       [B, B, B, B, B, B, B, B, B, B, B,  B, B, B, B, B]),
];

impl Running {
    /// State of a procedure that waits for this kind of input.
    pub fn of(expects: Option<Kind>) -> Self {
        match expects {
            None => Self::Nothing,
            Some(Kind::Identity) => Self::Identification,
            Some(Kind::Authentication) => Self::Authentication,
            Some(Kind::SecurityMode) => Self::SecurityMode,
            Some(Kind::Accept) => Self::Accepting,
            Some(Kind::Context) => Self::Context,
            Some(Kind::Release) => Self::Releasing,
            Some(Kind::Deregistration) => Self::Deregistering,
            Some(Kind::Configuration) => Self::Renaming,
            Some(Kind::Paging) => Self::Paging,
            // Those of handovers are beside the UE's own.
            Some(
                Kind::Reply(_)
                | Kind::Commit(_)
                | Kind::Preparation
                | Kind::Arrival
                | Kind::Departure,
            ) => Self::Calling,
        }
    }
}

impl From<&Handover> for Running {
    fn from(handover: &Handover) -> Self {
        match handover.stage {
            Stage::Switching => Self::Switching,
            Stage::Preparing => Self::Preparing,
            Stage::Commanded => Self::Commanded,
            Stage::Leaving if handover.is_completed => Self::Leaving,
            Stage::Leaving => Self::Completing,
        }
    }
}

impl Input {
    /// Of a message of a UE. `is_verified` says that its MAC was right, `is_same` that it is the registration
    /// under way once more.
    pub fn of(message: &Uplink, is_verified: bool, is_same: bool) -> Self {
        match message {
            Uplink::RegistrationRequest(_) if is_same => Self::SameRegistration,
            Uplink::RegistrationRequest(request) => match request.kind {
                RegistrationKind::Initial | RegistrationKind::Emergency if is_verified => {
                    Self::InitialRegistration
                }
                RegistrationKind::Initial | RegistrationKind::Emergency => {
                    Self::StrangeRegistration
                }
                _ => Self::OtherRegistration,
            },
            Uplink::DeregistrationRequest(_) if is_verified => Self::Deregistration,
            Uplink::DeregistrationRequest(_) => Self::StrangeDeregistration,
            Uplink::ServiceRequest(_) if is_verified => Self::Service,
            Uplink::ServiceRequest(_) => Self::StrangeService,
            Uplink::UlNasTransport(_) if is_verified => Self::Payload,
            Uplink::UlNasTransport(_) => Self::StrangePayload,
            Uplink::AuthenticationResponse(_)
            | Uplink::EapResponse(_)
            | Uplink::AuthenticationFailure { .. }
            | Uplink::IdentityResponse(_)
            | Uplink::SecurityModeComplete { .. }
            | Uplink::SecurityModeReject(_)
            | Uplink::RegistrationComplete
            | Uplink::ConfigurationUpdateComplete
            | Uplink::DeregistrationAccept
            | Uplink::Status(_) => Self::LateAnswer,
            Uplink::Other => Self::Unknown,
        }
    }
}

/// Decision about an input during a procedure.
pub(crate) fn decide(input: Input, running: Running) -> Decision {
    TABLE[input as usize].1[running as usize]
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUNNING: [Running; COLUMNS] = [
        Running::Nothing,
        Running::Calling,
        Running::Identification,
        Running::Authentication,
        Running::SecurityMode,
        Running::Accepting,
        Running::Context,
        Running::Releasing,
        Running::Deregistering,
        Running::Renaming,
        Running::Paging,
        Running::Switching,
        Running::Preparing,
        Running::Commanded,
        Running::Completing,
        Running::Leaving,
    ];

    /// Whether a column is that of a handover.
    fn is_stage(running: Running) -> bool {
        running as usize > Running::Paging as usize
    }

    /// Pairs of all inputs and all procedures.
    fn pairs() -> impl Iterator<Item = (Input, Running, Decision)> {
        let inputs = TABLE.iter().map(|(input, _)| *input);
        inputs.flat_map(|input| {
            let each = RUNNING.into_iter();
            each.map(move |running| (input, running, decide(input, running)))
        })
    }

    #[test]
    fn every_pair_has_its_place() {
        for (at, (input, _)) in TABLE.iter().enumerate() {
            assert_eq!(*input as usize, at, "{input:?}");
        }
        for (at, running) in RUNNING.into_iter().enumerate() {
            assert_eq!(running as usize, at, "{running:?}");
        }
        // The last ones of both.
        assert_eq!(Input::OtherConnection as usize + 1, TABLE.len());
        assert_eq!(Running::Leaving as usize + 1, COLUMNS);
        assert_eq!(pairs().count(), 304);
    }

    /// Invariants that hold whatever the table says.
    #[test]
    fn no_pair_breaks_a_rule() {
        for (input, running, decision) in pairs().filter(|(_, running, _)| !is_stage(*running)) {
            let pair = format!("{input:?} while {running:?}: {decision:?}");
            let ends_it = running != Running::Nothing && decision == Decision::Begin;
            match input {
                // Strangers end nothing.
                Input::StrangeDeregistration
                | Input::StrangeService
                | Input::StrangePayload
                | Input::LateAnswer
                | Input::Unknown => assert!(!ends_it, "{pair}"),
                // What cannot be refused is done.
                Input::InitialRegistration
                | Input::StrangeRegistration
                | Input::Deregistration
                | Input::ReleaseRequest
                | Input::OtherConnection => assert_eq!(decision, Decision::Begin, "{pair}"),
                // The UE is at another gNB, whatever it does.
                Input::PathSwitch => assert_eq!(decision, Decision::Beside, "{pair}"),
                // Keys do not change on the way to another gNB.
                Input::HandoverRequired => {
                    let changes_keys = matches!(
                        running,
                        Running::Identification | Running::Authentication | Running::SecurityMode
                    );
                    assert!(!changes_keys || decision == Decision::Refuse, "{pair}");
                    assert!(!ends_it, "{pair}");
                }
                // An SMF's data ends nothing.
                Input::Downlink => assert!(!ends_it, "{pair}"),
                _ => {}
            }
            // Who is being sent away begins anew or leaves by itself, and nothing else.
            if running == Running::Deregistering && ends_it {
                let may_be = matches!(
                    input,
                    Input::SameRegistration
                        | Input::InitialRegistration
                        | Input::StrangeRegistration
                        | Input::Deregistration
                        | Input::ReleaseRequest
                        | Input::Lost
                        | Input::OtherConnection
                );
                assert!(may_be, "{pair}");
            }
            // Only what was accepted can be repeated.
            let repeats = decision == Decision::Repeat;
            assert!(!repeats || running == Running::Accepting, "{pair}");
        }
    }

    /// The same of handovers: what comes at each of their stages.
    #[test]
    fn no_stage_of_a_handover_breaks_a_rule() {
        for (input, stage, decision) in pairs().filter(|(_, running, _)| is_stage(*running)) {
            let pair = format!("{input:?} while {stage:?}: {decision:?}");
            // What the target was told of keys and sessions holds until the UE is there.
            let is_told = !matches!(stage, Running::Completing | Running::Leaving);
            let expected = match input {
                Input::StrangeRegistration if is_told => Decision::Later,
                Input::Downlink if is_told => Decision::Later,
                Input::Downlink => Decision::Beside,
                // Where the UE is, and that it leaves, cannot be refused.
                Input::StrangeRegistration
                | Input::PathSwitch
                | Input::Deregistration
                | Input::ReleaseRequest
                | Input::OtherConnection => Decision::Begin,
                Input::HandoverRequired if stage == Running::Leaving => Decision::Begin,
                Input::HandoverRequired => Decision::Refuse,
                Input::Lost if stage == Running::Commanded => Decision::Beside,
                Input::Lost => Decision::Begin,
                // A procedure of the UE is its own, and goes on where it comes to.
                _ => Decision::Beside,
            };
            assert_eq!(decision, expected, "{pair}");
        }
    }

    #[test]
    fn late_answers_are_left_alone_and_strangers_are_told() {
        let of = |message: &Uplink| decide(Input::of(message, true, false), Running::Nothing);
        assert_eq!(of(&Uplink::RegistrationComplete), Decision::Ignore);
        assert_eq!(of(&Uplink::Other), Decision::NotCompatible);
    }
}
