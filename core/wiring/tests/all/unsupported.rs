//! What is not offered, and how it is answered.

use sluice_n1::{Cause, Downlink, MobileIdentity, ServiceRequest, Uplink, UplinkPayload};
use sluice_n2::{FromAmf, FromRan};
use sluice_security::Ciphering;

use crate::world::{TestNetwork, config, core};

/// Payload container types of TS 24.501, 9.11.3.40: SMS, LPP, SOR, UE policy, UE parameters.
#[test]
fn payloads_of_services_that_are_not_offered_come_back() {
    let mut world = TestNetwork::new(&[1]);
    world.ue_mut(0).follow_on = true;
    world.register(0);
    for (number, kind) in [2, 3, 4, 5, 6].into_iter().enumerate() {
        let payload = Uplink::UlNasTransport(Box::new(UplinkPayload {
            kind,
            payload: vec![1, 2, 3],
            ..UplinkPayload::default()
        }));
        let nas = world.ue_mut(0).protect(&payload);
        world.say(0, nas);
        let received = world.ue(0).received().iter();
        let back = received.filter(|one| **one == "DL NAS Transport").count();
        assert_eq!(back, number + 1, "kind {kind}");
    }
    world.assert_registered(0);
}

/// TS 24.501, 7.4: 5GMM STATUS #97, whoever says it.
#[test]
fn a_control_plane_service_request_is_no_message_here() {
    let mut world = TestNetwork::new(&[1]);
    let request = vec![0x7e, 0, 0x4f, 0];
    world.connect(0, request.clone());
    assert_eq!(world.ue(0).received(), ["5GMM Status"]);
    assert_eq!(world.amf().connected(), 0, "nothing came of it");
    // Of a phone that is registered and connected.
    world.ue_mut(0).follow_on = true;
    world.register(0);
    world.say(0, request);
    assert_eq!(world.ue(0).received().last(), Some(&"5GMM Status"));
    world.assert_registered(0);
    let status = "5GMM Status #97 (message type non-existent or not implemented)";
    let call_flow = world.call_flow.to_string();
    assert_eq!(call_flow.matches(status).count(), 2, "{call_flow}");
}

/// What UEs say (TS 24.501, 9.7): registration request and complete, both sides of deregistration, service
/// request, configuration update complete, authentication response and failure, identity response, security
/// mode complete and reject, 5GMM status, UL NAS transport.
const SERVED: [u8; 13] = [
    0x41, 0x43, 0x45, 0x48, 0x4c, 0x55, 0x57, 0x59, 0x5c, 0x5e, 0x5f, 0x64, 0x67,
];

/// All others are told #97: what a network says itself, notification, slice-specific authentication, keys of
/// relays, and what has no number yet.
#[test]
fn each_message_type_is_taken_or_answered_by_status() {
    let mut world = TestNetwork::new(&[1]);
    world.ue_mut(0).follow_on = true;
    world.register(0);
    for kind in 0..=u8::MAX {
        world.call_flow.0.clear();
        let before = world.amf().counters().unprotected;
        world.say(0, vec![0x7e, 0, kind]);
        let call_flow = world.call_flow.to_string();
        // What a network says is known: with nothing in it #96, and what needs protection is dropped.
        let is_told = ["5GMM Status #96", "5GMM Status #97"].map(|told| call_flow.contains(told));
        let is_dropped = world.amf().counters().unprotected > before;
        let is_left = is_told[0] || is_told[1] || is_dropped;
        match SERVED.contains(&kind) {
            true => assert!(!is_told[1], "{kind:#x}: {call_flow}"),
            false => assert!(is_left, "{kind:#x}: {call_flow}"),
        }
        world.assert_registered(0);
    }
}

/// A phone that wants MICO, extended DRX, an active time, LADN and SMS is registered without them: the
/// accept has nothing but what is known here.
#[test]
fn what_is_not_offered_is_not_granted_at_registration() {
    let mut config = config();
    config.preference.ciphering = vec![Ciphering::Nea0];
    let mut world = TestNetwork::of(core(config, true), &[1]);
    world.set_up();
    world.ue_mut(0).follow_on = true;
    world.ue_mut(0).wishes = [
        &[0xb0][..],
        &[0x74, 0, 0],
        &[0x53, 1, 1],
        &[0x6e, 1, 0x25],
        &[0x6a, 1, 0x21],
    ]
    .concat();
    world.register(0);
    world.assert_registered(0);
    let accepts = world.transcript.iter().filter_map(|octets| {
        let FromAmf::InitialContextSetupRequest(context) = FromAmf::decode(octets).ok()? else {
            return None;
        };
        // Behind the security header, with the null cipher.
        Some(context.nas?.get(7..)?.to_vec())
    });
    let accepts: Vec<Vec<u8>> = accepts.collect();
    assert_eq!(accepts.len(), 1);
    let accept = Downlink::decode(&accepts[0]).expect("an accept");
    assert_eq!(accept.encode(), accepts[0]);
    // 5GS registration result: 3GPP access, and no SMS over NAS.
    assert_eq!(accepts[0][3..5], [1, 1]);
}

/// Osmocom C5G TC_normal_reg_emergency_services_fallback: there is no other system that the phone could call by.
#[test]
fn an_emergency_fallback_is_refused() {
    let mut world = TestNetwork::new(&[1]);
    world.ue_mut(0).follow_on = true;
    world.register(0);
    let name = world.ue(0).guti().expect("a name").s_tmsi();
    let request = Uplink::ServiceRequest(ServiceRequest {
        ngksi: 0,
        kind: 4,
        identity: MobileIdentity::STmsi(name),
        session_status: None,
        uplink_data: None,
        container: None,
    });
    let nas = world.ue_mut(0).protect(&request);
    world.say(0, nas);
    let reject = Downlink::ServiceReject(Cause::PROTOCOL_ERROR.into());
    assert_eq!(world.ue(0).refused(), Some(&reject), "{}", world.call_flow);
    let refused = world.core.take_refused();
    assert_eq!(refused.len(), 1);
    assert_eq!(refused[0].request, "Service Request");
    assert_eq!(world.amf().registered(), 1, "it stays registered");
}

/// UE Context Request is not looked at; and no gNB is told what it needs for RRC inactive (Core Network Assistance
/// Information; Osmocom C5G TC_connection_inactive).
#[test]
fn a_context_is_set_up_whether_a_gnb_asks_for_one_or_not() {
    for context_requested in [true, false] {
        let mut world = TestNetwork::new(&[1]);
        let nas = world
            .ue_mut(0)
            .register(sluice_n1::RegistrationKind::Initial);
        let (ran, octets) = world.gnb.connect(nas, None);
        world.ues[0].at = Some(ran);
        let Ok(FromRan::InitialUeMessage(message)) = FromRan::decode(&octets) else {
            panic!("no message");
        };
        let message = sluice_n2::InitialUeMessage {
            context_requested,
            ..message
        };
        world.tell_amf(&FromRan::InitialUeMessage(message).encode());
        world.run();
        world.assert_registered(0);
        let is_setup = |octets: &&Vec<u8>| {
            let message = FromAmf::decode(octets);
            matches!(message, Ok(FromAmf::InitialContextSetupRequest(_)))
        };
        let setups: Vec<_> = world.transcript.iter().filter(is_setup).collect();
        assert_eq!(setups.len(), 1, "{context_requested}");
        // id-CoreNetworkAssistanceInformationForInactive is 18, ignore.
        let has_assistance = setups[0].windows(3).any(|at| at == [0, 18, 0x40]);
        assert!(!has_assistance, "{:02x?}", setups[0]);
    }
}
