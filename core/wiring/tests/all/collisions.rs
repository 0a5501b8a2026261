//! What comes in between: strangers, repetitions, lost connections.

use sluice_n1::{Cause, DeregistrationRequest, Downlink, MobileIdentity, RegistrationKind, Uplink};
use sluice_ue::UeState;

use crate::world::{TestNetwork, supi};

/// A stranger who knows a phone's name changes nothing of it.
#[test]
fn unprotected_messages_do_not_change_a_registered_phone() {
    let mut world = TestNetwork::new(&[1, 2]);
    world.register(0);
    let guti = world.ue(0).guti().expect("a name");
    let identity = MobileIdentity::Guti(guti);
    let request = DeregistrationRequest {
        switch_off: true,
        ngksi: 0,
        identity,
    };
    world.connect(1, Uplink::DeregistrationRequest(request).encode());
    // A registration by its name, whose challenge it cannot answer.
    world.ue_mut(1).call_itself(guti);
    world.ue_mut(1).behaviour.wrong_res = true;
    world.register(1);
    world.settle();
    assert_eq!(world.amf().registered(), 1);
    assert_eq!(world.amf().connected(), 0);
    assert!(
        world
            .core
            .udr()
            .expect("its own")
            .amf_of(&supi(1))
            .is_some()
    );
    let nas = world.ue_mut(0).register(RegistrationKind::Mobility);
    world.call_flow.0.clear();
    world.connect(0, nas);
    world.assert_registered(0);
    assert!(
        !world.call_flow.to_string().contains("Authentication"),
        "{}",
        world.call_flow
    );
}

/// A registration without protection on a phone's own connection, by another subscriber's name.
#[test]
fn a_stranger_on_a_phones_connection_is_not_that_phone() {
    let mut world = TestNetwork::new(&[1, 2]);
    world.ue_mut(0).follow_on = true;
    world.register(0);
    let nas = world.ue_mut(1).register(RegistrationKind::Initial);
    world.say(0, nas);
    world.settle();
    assert_eq!(world.amf().registered(), 1);
    assert!(
        world
            .core
            .udr()
            .expect("its own")
            .amf_of(&supi(1))
            .is_some()
    );
    assert!(
        world
            .core
            .udr()
            .expect("its own")
            .amf_of(&supi(2))
            .is_none()
    );
}

#[test]
fn messages_that_need_protection_are_not_taken_without() {
    let mut world = TestNetwork::new(&[1]);
    world.ue_mut(0).follow_on = true;
    world.register(0);
    let before = world.amf().counters();
    for message in [
        Uplink::RegistrationComplete,
        Uplink::ConfigurationUpdateComplete,
        Uplink::SecurityModeComplete {
            imeisv: None,
            container: None,
        },
        Uplink::UlNasTransport(Box::new(sluice_n1::UplinkPayload {
            kind: 1,
            session: Some(1),
            payload: vec![0x2e, 1, 1, 0xc1],
            ..sluice_n1::UplinkPayload::default()
        })),
    ] {
        world.say(0, message.encode());
    }
    assert_eq!(world.amf().counters().unprotected, before.unprotected + 4);
    world.assert_registered(0);
}

#[test]
fn a_message_that_was_seen_is_not_taken_again() {
    let mut world = TestNetwork::new(&[1]);
    world.ue_mut(0).follow_on = true;
    world.register(0);
    let nas = world.ue_mut(0).deregister(false, true).expect("keys");
    let (mut changed, at) = (nas.clone(), world.ues[0].at.expect("connected"));
    *changed.last_mut().expect("octets") ^= 1;
    world.say(0, changed);
    assert_eq!(world.amf().registered(), 1);
    assert_eq!(world.amf().counters().wrong_macs, 1);
    let octets = world.gnb.uplink(at, nas).expect("known");
    world.tell_amf(&octets);
    world.run();
    assert_eq!(world.amf().registered(), 0);
    // The connection is gone; what names it is told so.
    world.tell_amf(&octets);
    world.run();
    assert_eq!(
        world.gnb.indications(),
        [sluice_n2::Cause::UNKNOWN_LOCAL_ID]
    );
}

#[test]
fn a_session_request_comes_back_with_its_cause() {
    let mut world = TestNetwork::new(&[1]);
    world.ue_mut(0).follow_on = true;
    world.register(0);
    assert!(!world.ue(0).received().contains(&"DL NAS Transport"));
    // Of a core without an SMF; and of SMS.
    let wanted = sluice_ue::WantedSession::default();
    let nas = world.ue_mut(0).establish(1, &wanted);
    world.say(0, nas);
    assert!(world.ue(0).received().contains(&"DL NAS Transport"));
    let sms = sluice_n1::UplinkPayload {
        kind: 2,
        payload: vec![1, 2, 3],
        ..sluice_n1::UplinkPayload::default()
    };
    let sms = Uplink::UlNasTransport(Box::new(sms));
    let nas = world.ue_mut(0).protect(&sms);
    world.say(0, nas);
    let received = world.ue(0).received().iter();
    assert_eq!(
        received.filter(|one| **one == "DL NAS Transport").count(),
        2
    );
    let refused = world.ue(0).sessions().refused();
    assert_eq!(refused, [(1, Some(Cause::PAYLOAD_NOT_FORWARDED), None)]);
    world.assert_registered(0);
}

#[test]
fn a_service_request_of_an_unknown_phone_is_refused() {
    let mut world = TestNetwork::new(&[1]);
    let identity = MobileIdentity::STmsi(sluice_ids::STmsi {
        set_and_pointer: [0, 0x41],
        tmsi: sluice_ids::Tmsi([9; 4]),
    });
    let request = sluice_n1::ServiceRequest {
        ngksi: 0,
        kind: 0,
        identity,
        session_status: None,
        uplink_data: None,
        container: None,
    };
    world.connect(0, Uplink::ServiceRequest(request).encode());
    let expected = Downlink::ServiceReject(Cause::IDENTITY_UNKNOWN.into());
    assert_eq!(world.ue(0).refused(), Some(&expected));
    assert_eq!(world.amf().connected(), 0);
}

/// A phone that begins anew while it is being registered is served by its last request.
#[test]
fn a_second_registration_replaces_the_first() {
    let mut world = TestNetwork::new(&[1]);
    let nas = world.ue_mut(0).register(RegistrationKind::Initial);
    world.ue_mut(0).behaviour.silent = true;
    world.connect(0, nas);
    assert_eq!(world.amf().procedures(), ["9b"]);
    world.ue_mut(0).behaviour.silent = false;
    // An identical one would change nothing (5.5.1.2.8 d).
    world.ue_mut(0).follow_on = true;
    let nas = world.ue_mut(0).register(RegistrationKind::Initial);
    world.say(0, nas);
    world.assert_registered(0);
    assert!(!world.wait());
}

/// The same phone at another place: what it had before is gone.
#[test]
fn a_phone_on_a_new_connection_leaves_its_old_one() {
    let mut world = TestNetwork::new(&[1]);
    world.ue_mut(0).follow_on = true;
    world.register(0);
    let first = world.ues[0].at;
    let nas = world.ue_mut(0).register(RegistrationKind::Mobility);
    world.connect(0, nas);
    world.assert_registered(0);
    assert_ne!(world.ues[0].at, first);
    assert_eq!((world.amf().connected(), world.amf().registered()), (1, 1));
    // The same without keys, by authentication.
    world.ue_mut(0).forget_keys();
    world.register(0);
    assert_eq!((world.amf().connected(), world.amf().registered()), (1, 1));
    assert_eq!(world.ue(0).state(), UeState::Registered);
}

#[test]
fn a_registration_that_loses_its_gnb_is_undone() {
    let mut world = TestNetwork::new(&[1]);
    world.ue_mut(0).behaviour.silent = true;
    world.register(0);
    assert_eq!(world.amf().procedures().len(), 1);
    world.core.association_lost(world.now, crate::world::GNB);
    assert!(world.amf().procedures().is_empty());
    assert_eq!((world.amf().connected(), world.amf().registered()), (0, 0));
    assert_eq!(world.core.udr().expect("its own").amf_of(&supi(1)), None);
}
