//! Request types that do not fit the message inside (TS 24.501, 5.4.5.2.2 and 6.4.1.2; omec-project/amf#791): what begins
//! a session is an Establishment Request, and only one ends the session of its identity.

use sluice_n1::{Cause, N1_SM, RequestType, SessionCause, Uplink, UplinkPayload};

use crate::harness::*;
use crate::world::TestNetwork;

/// A message of session management as it is, with a Request type.
pub fn say(world: &mut TestNetwork, session: u8, request: Option<RequestType>, octets: &[u8]) {
    let payload = Uplink::UlNasTransport(Box::new(UplinkPayload {
        kind: N1_SM,
        session: Some(session),
        request,
        payload: octets.to_vec(),
        ..UplinkPayload::default()
    }));
    let nas = world.ue_mut(0).protect(&payload);
    world.say(0, nas);
}

fn with_session() -> TestNetwork {
    let mut world = world(&[1]);
    establish(&mut world, 0, 5, &wanted(sluice_n1::SessionType::Ipv4));
    assert!(goes_up(&mut world, 0, 5));
    world.call_flow.0.clear();
    world
}

#[track_caller]
fn assert_untouched(world: &mut TestNetwork) {
    let call_flow = world.call_flow.to_string();
    assert!(!call_flow.contains("Resource Release"), "{call_flow}");
    assert!(!call_flow.contains("ReleaseSMContext"), "{call_flow}");
    assert!(goes_up(world, 0, 5), "{call_flow}");
}

#[test]
fn a_modification_that_is_marked_as_an_initial_request_is_a_modification() {
    // 5GSM capability alone, transaction 9.
    let request = [0x2e, 5, 9, 0xc9, 0x28, 1, 0];
    for kind in [
        RequestType::Initial,
        RequestType::Existing,
        RequestType::InitialEmergency,
        RequestType::Modification,
    ] {
        let mut world = with_session();
        say(&mut world, 5, Some(kind), &request);
        let received = world.ue(0).sessions().received();
        let command = "PDU Session Modification Command";
        assert_eq!(
            received.last().map(String::as_str),
            Some(command),
            "{kind:?}"
        );
        assert_untouched(&mut world);
    }
}

#[test]
fn no_other_message_begins_or_ends_a_session_by_its_request_type() {
    let mut world = with_session();
    for octets in [
        // 5GSM STATUS of a transaction that is none; completes and rejects of commands that nobody sent.
        &[0x2e, 5, 77, 0xd6, 0x6f][..],
        &[0x2e, 5, 77, 0xcc],
        &[0x2e, 5, 77, 0xd4],
        &[0x2e, 5, 77, 0xcd, 0x53],
        // What only a network says, what is no message, and what is none at all.
        &[0x2e, 5, 77, 0xc2],
        &[0x2e, 5, 77, 0xff],
        &[0x2e, 5, 77],
        &[0x7e, 0, 0x41],
        &[1, 2, 3],
    ] {
        say(&mut world, 5, Some(RequestType::Initial), octets);
        assert_untouched(&mut world);
        // The same of a session that is not there begins none.
        let refusals = world.ue(0).sessions().refusals();
        say(&mut world, 6, Some(RequestType::Initial), octets);
        assert_eq!(
            world.ue(0).sessions().refusals(),
            refusals + 1,
            "{octets:02x?}"
        );
        assert_refused(&world, Some(Cause::PAYLOAD_NOT_FORWARDED), None);
        assert_eq!(world.core.smf().unwrap().sessions(), 1);
    }
}

#[test]
fn a_release_that_is_marked_as_an_initial_request_is_a_release() {
    let mut world = with_session();
    say(
        &mut world,
        5,
        Some(RequestType::Initial),
        &[0x2e, 5, 9, 0xd1],
    );
    let command = format!(
        "PDU Session Release Command {}",
        SessionCause::REGULAR_DEACTIVATION
    );
    assert_eq!(world.ue(0).sessions().received().last(), Some(&command));
    assert_no_session(&mut world);
}
