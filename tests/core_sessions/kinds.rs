//! Which sessions there may be: types, data networks, slices, addresses; and what is refused.

use std::net::Ipv4Addr;

use sluice_n1::{
    Cause, EstablishmentRequest, N1_SM, RequestType, SessionCause, SessionType, SessionUplink,
    Transaction, Uplink, UplinkPayload,
};
use sluice_smf::Smf;
use sluice_ue::WantedSession;

use crate::harness::*;
use crate::modification::{asks, own_flow, own_rule};
use crate::world::{self, TestNetwork, dnn, slice, supi};

#[test]
fn sessions_are_of_the_type_that_is_asked_for_and_there() {
    let mut world = world(&[1]);
    for (session, kind) in [
        (1, SessionType::Ipv4),
        (2, SessionType::Ipv6),
        (3, SessionType::Ipv4v6),
    ] {
        establish(&mut world, 0, session, &wanted(kind));
        let accept = world.ue(0).sessions().get(session);
        let accept = accept.unwrap_or_else(|| panic!("{}", world.call_flow));
        assert_eq!((accept.session_type, accept.cause), (kind, None));
        let told = (
            accept.address.ipv4.is_some(),
            accept.address.interface_identifier.is_some(),
        );
        let expected = (kind != SessionType::Ipv6, kind != SessionType::Ipv4);
        assert_eq!(told, expected);
    }
    // None is asked for: the default one. The lab has no IPv6.
    establish(&mut world, 0, 4, &WantedSession::default());
    let kind = world.ue(0).sessions().get(4).unwrap().session_type;
    assert_eq!(kind, SessionType::Ipv4v6);
    let lab = |kind| WantedSession {
        dnn: Some(dnn("lab")),
        ..wanted(kind)
    };
    establish(&mut world, 0, 5, &lab(SessionType::Ipv4v6));
    let accept = world.ue(0).sessions().get(5).unwrap();
    let cut = (accept.session_type, accept.cause);
    assert_eq!(cut, (SessionType::Ipv4, Some(SessionCause::IPV4_ONLY)));
    establish(&mut world, 0, 6, &lab(SessionType::Ipv6));
    assert_refused(&world, None, Some(SessionCause::IPV4_ONLY));
    for kind in [SessionType::Ethernet, SessionType::Unstructured] {
        establish(&mut world, 0, 6, &wanted(kind));
        assert_refused(&world, None, Some(SessionCause::UNKNOWN_SESSION_TYPE));
    }
}

#[test]
fn several_phones_have_sessions_in_several_networks_and_slices() {
    let mut world = world(&[1, 2]);
    let mut addresses = Vec::new();
    for phone in 0..2 {
        let lab = WantedSession {
            dnn: Some(dnn("lab")),
            ..wanted(SessionType::Ipv4)
        };
        let other = WantedSession {
            slice: Some(slice(2)),
            ..wanted(SessionType::Ipv4)
        };
        establish(&mut world, phone, 1, &wanted(SessionType::Ipv4));
        establish(&mut world, phone, 2, &lab);
        establish(&mut world, phone, 15, &other);
        for session in [1, 2, 15] {
            assert!(goes_up(&mut world, phone, session), "{phone} {session}");
            addresses.push(address(&world, phone, session));
        }
        assert_eq!(world.ue(phone).sessions().get(15).unwrap().slice, slice(2));
    }
    addresses.sort();
    addresses.dedup();
    assert_eq!(addresses.len(), 6);
    let nas = world.ue_mut(0).release(2);
    world.say(0, nas);
    assert_eq!(world.core.smf().unwrap().sessions(), 5);
    assert!(goes_up(&mut world, 0, 1) && goes_up(&mut world, 1, 2));
}

/// TS 24.501, 6.2.7, 6.2.8 and 5.4.5.3.2.
#[test]
fn a_ue_whose_session_finds_no_room_is_told_how_long_to_stay_away() {
    let mut world = world(&[1]);
    let told = |world: &mut TestNetwork| world.ue_mut(0).sessions_mut().back_off_s.take();
    let is_of_range = |told: Option<u32>| told.is_some_and(|told| (60..=600).contains(&told));
    upf(&mut world).next = Some((ESTABLISHMENT, 0, Fate::NoRoom));
    establish(&mut world, 0, 5, &wanted(SessionType::Ipv4));
    assert_refused(&world, None, Some(SessionCause::INSUFFICIENT_RESOURCES));
    assert!(is_of_range(told(&mut world)), "{}", world.call_flow);
    // What may be otherwise in another cell, or has nothing to do with room.
    world.gnb.no_sessions = true;
    establish(&mut world, 0, 5, &wanted(SessionType::Ipv4));
    assert_refused(&world, None, Some(SessionCause::INSUFFICIENT_RESOURCES));
    assert_eq!(told(&mut world), None);
    world.gnb.no_sessions = false;
    establish(&mut world, 0, 5, &wanted(SessionType::Ethernet));
    assert_eq!(told(&mut world), None);
    // A data network that is not subscribed: by the AMF.
    let secret = WantedSession {
        dnn: Some(dnn("secret")),
        ..wanted(SessionType::Ipv4)
    };
    establish(&mut world, 0, 5, &secret);
    assert_refused(&world, Some(Cause::DNN_NOT_SUPPORTED), None);
    assert!(is_of_range(told(&mut world)), "{}", world.call_flow);
}

#[test]
fn what_cannot_be_is_refused_by_its_cause() {
    let mut world = world(&[1]);
    let named = |name| WantedSession {
        dnn: Some(dnn(name)),
        ..wanted(SessionType::Ipv4)
    };
    // Not subscribed, and subscribed, but served by no SMF: by the AMF.
    establish(&mut world, 0, 5, &named("secret"));
    assert_refused(&world, Some(Cause::DNN_NOT_SUPPORTED), None);
    establish(&mut world, 0, 5, &named("nowhere"));
    assert_refused(&world, Some(Cause::DNN_NOT_SUPPORTED), None);
    let elsewhere = WantedSession {
        slice: Some(slice(3)),
        ..wanted(SessionType::Ipv4)
    };
    establish(&mut world, 0, 5, &elsewhere);
    assert_refused(&world, Some(Cause::PAYLOAD_NOT_FORWARDED), None);
    let moving = WantedSession {
        ssc_mode: Some(3),
        ..wanted(SessionType::Ipv4)
    };
    establish(&mut world, 0, 5, &moving);
    assert_refused(&world, None, Some(SessionCause::SSC_MODE_NOT_SUPPORTED));
    // A session that is not there.
    let nas = world.ue_mut(0).release(7);
    world.say(0, nas);
    assert_refused(&world, Some(Cause::PAYLOAD_NOT_FORWARDED), None);
    assert_no_session(&mut world);
    // As many as there may be, and one more.
    for session in 1..=9 {
        establish(&mut world, 0, session, &wanted(SessionType::Ipv4));
    }
    assert_refused(&world, Some(Cause::MAXIMUM_SESSIONS), None);
    assert_eq!(world.core.smf().unwrap().sessions(), 8);
}

/// A message of a UE for session 5.
fn send(world: &mut world::TestNetwork, request: Option<RequestType>, message: &SessionUplink) {
    let of = Transaction {
        session: 5,
        procedure: 77,
    };
    let payload = Uplink::UlNasTransport(Box::new(UplinkPayload {
        kind: N1_SM,
        session: Some(5),
        request,
        payload: message.encode(of),
        ..UplinkPayload::default()
    }));
    let nas = world.ue_mut(0).protect(&payload);
    world.say(0, nas);
}

#[test]
fn a_modification_by_the_phone_is_rejected_and_the_session_stays() {
    let mut world = world(&[1]);
    establish(&mut world, 0, 5, &wanted(SessionType::Ipv4));
    for request in [None, Some(RequestType::Modification)] {
        send(
            &mut world,
            request,
            &SessionUplink::ModificationRequest(Box::new(asks(own_rule(7_000), own_flow(1_000)))),
        );
        assert_refused(&world, None, Some(SessionCause::NOT_SUPPORTED));
    }
    assert!(goes_up(&mut world, 0, 5));
    // Of a session that is not there.
    let nas = world.ue_mut(0).release(5);
    world.say(0, nas);
    let modification = Some(RequestType::Modification);
    send(
        &mut world,
        modification,
        &SessionUplink::ModificationRequest(Box::default()),
    );
    assert_refused(&world, Some(Cause::PAYLOAD_NOT_FORWARDED), None);
}

#[test]
fn sessions_of_other_accesses_and_for_emergencies_come_back() {
    let mut world = world(&[1]);
    let wanted = SessionUplink::EstablishmentRequest(EstablishmentRequest {
        session_type: Some(SessionType::Ipv4),
        ..EstablishmentRequest::default()
    });
    for (number, request) in [
        RequestType::Existing,
        RequestType::InitialEmergency,
        RequestType::ExistingEmergency,
        RequestType::MultiAccess,
    ]
    .into_iter()
    .enumerate()
    {
        send(&mut world, Some(request), &wanted);
        assert_refused(&world, Some(Cause::PAYLOAD_NOT_FORWARDED), None);
        assert_eq!(world.ue(0).sessions().refused().len(), number + 1);
    }
    assert_no_session(&mut world);
    send(&mut world, Some(RequestType::Initial), &wanted);
    assert!(world.ue(0).sessions().get(5).is_some());
}

#[test]
fn without_a_upf_there_are_no_sessions() {
    let mut world = world(&[1]);
    world.core = world::core(world::config(), true).with_smf(Smf::new(smf_config()).unwrap());
    world.upf = None;
    world.ues[0].at = None;
    world.ues[0].ue = world::ue(1);
    world.ue_mut(0).follow_on = true;
    world.set_up();
    world.core.time(world.now);
    world.register(0);
    establish(&mut world, 0, 5, &wanted(SessionType::Ipv4));
    assert_refused(&world, None, Some(SessionCause::INSUFFICIENT_RESOURCES));
    assert_eq!(world.core.smf().unwrap().sessions(), 0);
    // It may be there in a moment: the shortest time.
    assert_eq!(world.ue(0).sessions().back_off_s, Some(60));
}

#[test]
fn a_request_for_a_session_in_use_replaces_it() {
    let mut world = world(&[1]);
    establish(&mut world, 0, 5, &wanted(SessionType::Ipv4));
    world.call_flow.0.clear();
    establish(&mut world, 0, 5, &wanted(SessionType::Ipv4));
    let call_flow = world.call_flow.to_string();
    let release = call_flow.find("Nsmf_PDUSession_ReleaseSMContext Request");
    assert!(release < call_flow.find("Nsmf_PDUSession_CreateSMContext Request"));
    assert!(release.is_some(), "{call_flow}");
    assert_eq!(world.core.smf().unwrap().sessions(), 1);
    assert_eq!(upf(&mut world).upf.core.up.session_count(), 1);
    assert!(goes_up(&mut world, 0, 5));
}

#[test]
fn a_request_that_no_smf_can_take_leaves_nothing_of_the_session_in_use() {
    let mut world = world(&[1]);
    establish(&mut world, 0, 5, &wanted(SessionType::Ipv4));
    assert_eq!(world.core.smf().unwrap().sessions(), 1);
    let too_long = Uplink::UlNasTransport(Box::new(UplinkPayload {
        kind: N1_SM,
        session: Some(5),
        request: Some(RequestType::Initial),
        // An Establishment Request, by its head.
        payload: [&[0x2e, 5, 1, 0xc1][..], &[0; 897]].concat(),
        ..UplinkPayload::default()
    }));
    let nas = world.ue_mut(0).protect(&too_long);
    world.say(0, nas);
    assert_no_session(&mut world);
}

#[test]
fn a_gnb_without_room_leaves_no_session() {
    let mut world = world(&[1]);
    world.gnb.no_sessions = true;
    establish(&mut world, 0, 5, &wanted(SessionType::Ipv4));
    assert_refused(&world, None, Some(SessionCause::INSUFFICIENT_RESOURCES));
    assert_no_session(&mut world);
    let cause = "the gNB has not set the session up";
    assert_ended(&world, ("SMF", "update"), cause, 1);
    // One that the phone has already stays, without user plane.
    world.gnb.no_sessions = false;
    establish(&mut world, 0, 5, &wanted(SessionType::Ipv4));
    go_idle(&mut world, 0);
    world.gnb.no_sessions = true;
    world.ue_mut(0).sessions_mut().set_data(1 << 5);
    come_back(&mut world, 0);
    assert_eq!(world.ue(0).sessions().status(), 1 << 5);
    assert_eq!(world.core.smf().unwrap().sessions(), 1);
}

#[test]
fn a_subscriber_may_have_an_address_of_its_own() {
    let mut world = world(&[]);
    let own = Ipv4Addr::new(10, 45, 1, 77);
    let mut networks = world::networks();
    networks[0].ipv4 = Some(own);
    let subscriber = sluice_udr::Subscriber {
        credentials: sluice_security::Credentials::milenage(world::k(), world::opc()),
        sqn: sluice_security::Sqn::default(),
        ambr_bps: (1_000_000, 1_000_000),
        slices: vec![(slice(1), true)],
        networks,
    };
    assert!(
        world
            .core
            .udr_mut()
            .expect("its own")
            .insert(supi(9), subscriber)
    );
    world.ues.push(world::TestUe {
        ue: world::ue(9),
        at: None,
    });
    world.ue_mut(0).follow_on = true;
    world.register(0);
    establish(&mut world, 0, 5, &wanted(SessionType::Ipv4));
    assert_eq!(address(&world, 0, 5), own);
    assert!(goes_up(&mut world, 0, 5));
}

#[test]
fn the_same_inputs_give_the_same_octets_with_sessions() {
    let history = || {
        let mut world = world(&[1, 2]);
        for phone in 0..2 {
            establish(&mut world, phone, 5, &wanted(SessionType::Ipv4v6));
            go_idle(&mut world, phone);
            world.ue_mut(phone).sessions_mut().set_data(1 << 5);
            come_back(&mut world, phone);
            let nas = world.ue_mut(phone).release(5);
            world.say(phone, nas);
        }
        world.transcript
    };
    let (first, second) = (history(), history());
    assert!(first.len() > 40, "{}", first.len());
    assert_eq!(first, second);
}
