//! How a subscriber is authenticated: by 5G-AKA or EAP-AKA', with Milenage or TUAK.

use sluice_n1::{Downlink, EapRequest, RegistrationKind, Uplink};
use sluice_security::{Credentials, Method, Sqn, Topc, TuakKey};
use sluice_udr::Subscriber;
use sluice_ue::{Sim, Ue};

use crate::world::{BEGIN_S, TestNetwork, credentials, plmn, slice, supi};

fn tuak(k: &[u8]) -> Credentials {
    let k = TuakKey::new(k).expect("128 or 256 bits");
    let topc = Topc::from_top(&k, &[0x55; 32]);
    Credentials::tuak(k, topc)
}

fn by_eap() -> Credentials {
    credentials().by(Method::EapAkaPrime)
}

fn subscribe(world: &mut TestNetwork, number: u32, credentials: Credentials) {
    let subscriber = Subscriber {
        credentials,
        sqn: Sqn::default(),
        ambr_bps: (1, 1),
        slices: vec![(slice(1), true)],
        networks: Vec::new(),
    };
    assert!(
        world
            .core
            .udr_mut()
            .expect("its own")
            .insert(supi(number), subscriber)
    );
}

/// A UE and its subscriber, both with these.
fn world(credentials: &Credentials) -> TestNetwork {
    let mut world = TestNetwork::new(&[1]);
    subscribe(&mut world, 1, credentials.clone());
    let sim = Sim::with(plmn(), "0000000001", credentials);
    world.ues[0].ue = Ue::new(sim, plmn()).expect("capabilities");
    world.call_flow.0.clear();
    world
}

fn asked(world: &TestNetwork, phone: usize) -> usize {
    let received = world.ue(phone).received().iter();
    received.filter(|m| **m == "Authentication Request").count()
}

/// TS 23.502, figure 4.2.2.2.2-1, step 9, and TS 33.501, figure 6.1.3.1-1.
const LADDER: &str = "\
9a    AMF  -> AUSF  Nausf_UEAuthentication_Authenticate Request
9a    AUSF -> UDM   Nudm_UEAuthentication_Get Request
9a    UDM  -> UDR   Nudr_DM_Query and Update Request (sequence number)
9a    UDR  -> UDM   Nudr_DM Response (authentication subscription)
9a    UDM  -> AUSF  Nudm_UEAuthentication_Get Response
9a    AUSF -> AMF   Nausf_UEAuthentication_Authenticate Response
9b    AMF  -> UE    Authentication Request
9b    UE   -> AMF   Authentication Response
9c    AMF  -> AUSF  Nausf_UEAuthentication_Authenticate Request (EAP message)
9d    AUSF -> UDM   Nudm_UEAuthentication_ResultConfirmation Request
9d    UDM  -> UDR   Nudr_DM_Update Request (authentication status)
9d    UDR  -> UDM   Response
9d    UDM  -> AUSF  Response
9c    AUSF -> AMF   Nausf_UEAuthentication_Authenticate Response (EAP message)
9d    AMF  -> UE    Security Mode Command
9d    UE   -> AMF   Security Mode Complete
";

#[test]
fn a_phone_registers_by_eap_aka_prime_and_the_ladder_is_that_of_the_ts() {
    let mut world = world(&by_eap());
    world.register(0);
    world.assert_registered(0);
    let call_flow = world.call_flow.to_string();
    assert!(call_flow.contains(LADDER), "{call_flow}");
    assert_eq!(asked(&world, 0), 1);
    // Its name and keys are good for coming back.
    let nas = world.ue_mut(0).register(RegistrationKind::Mobility);
    world.connect(0, nas);
    world.assert_registered(0);
    assert_eq!(asked(&world, 0), 1);
}

#[test]
fn tuak_serves_both_methods_with_keys_of_both_lengths() {
    for k in [&[7; 16][..], &[7; 32]] {
        for method in [Method::FiveGAka, Method::EapAkaPrime] {
            let mut world = world(&tuak(k).by(method));
            world.register(0);
            world.assert_registered(0);
            let call_flow = world.call_flow.to_string();
            let is_eap = call_flow.contains("(EAP message)");
            assert_eq!(is_eap, method == Method::EapAkaPrime, "{call_flow}");
        }
    }
}

#[test]
fn another_algorithm_than_that_of_the_sim_is_refused_by_the_phone() {
    let long = tuak(&[7; 32]);
    let short = tuak(&[7; 16]);
    for (sim, home) in [(&long, &short), (&long, &credentials())] {
        for method in [Method::FiveGAka, Method::EapAkaPrime] {
            let mut world = world(sim);
            subscribe(&mut world, 1, home.clone().by(method));
            world.register(0);
            let refused = world.ue(0).refused();
            let is_rejected = match method {
                Method::FiveGAka => refused == Some(&Downlink::AuthenticationReject),
                Method::EapAkaPrime => matches!(refused, Some(Downlink::EapReject(_))),
            };
            assert!(is_rejected, "{refused:?}");
            assert_eq!(world.amf().counters().refusals, 1);
        }
    }
}

#[test]
fn a_phone_that_cannot_prove_who_it_is_is_notified_and_rejected_with_eap_failure() {
    let mut world = world(&by_eap());
    world.ue_mut(0).behaviour.wrong_res = true;
    world.register(0);
    // The challenge, and a notification that it answered.
    assert_eq!(asked(&world, 0), 2);
    let Some(Downlink::EapReject(eap)) = world.ue(0).refused() else {
        panic!("{:?}", world.ue(0).refused());
    };
    assert_eq!((eap[0], eap.len()), (4, 4));
    assert_eq!(world.amf().registered(), 0);
    assert!(!world.wait());
}

#[test]
fn a_sim_that_is_ahead_is_caught_up_with_inside_of_eap() {
    for credentials in [by_eap(), tuak(&[7; 32]).by(Method::EapAkaPrime)] {
        let mut world = world(&credentials);
        let ahead = BEGIN_S + 1_000_000;
        world.ue_mut(0).sim_mut().advance(Sqn::new(ahead << 5));
        world.register(0);
        world.assert_registered(0);
        assert_eq!(asked(&world, 0), 2);
        let sqn = world
            .core
            .udr()
            .expect("its own")
            .sqn_of(&supi(1))
            .map(Sqn::sequence);
        assert_eq!(sqn, Some(ahead + 1));
    }
}

/// The last message to the UE, if it asks for EAP.
fn last_request(world: &TestNetwork) -> Option<EapRequest> {
    let last =
        world
            .transcript
            .iter()
            .rev()
            .find_map(|octets| match sluice_n2::FromAmf::decode(octets) {
                Ok(sluice_n2::FromAmf::DownlinkNasTransport(sluice_n2::DownlinkNasTransport {
                    nas,
                    ..
                })) => Some(nas),
                _ => None,
            });
    match Downlink::decode(&last?) {
        Ok(Downlink::EapRequest(request)) => Some(request),
        _ => None,
    }
}

#[test]
fn two_resynchronisations_inside_of_eap_are_the_most() {
    let mut world = world(&by_eap());
    let nas = world.ue_mut(0).register(RegistrationKind::Initial);
    world.ue_mut(0).behaviour.silent = true;
    world.connect(0, nas);
    let mut sent = 0;
    while let Some(request) = last_request(&world).filter(|_| world.ues[0].at.is_some()) {
        // A phone that says so each time, and is right.
        let mut sim = Sim::with(plmn(), "0000000001", &credentials());
        sim.advance(Sqn::new(u64::MAX));
        let mut peer = sluice_security::eap::Peer::default();
        let network = plmn().serving_network_name();
        let reply = sim.answer_eap(&mut peer, &network, &request.eap);
        let sluice_security::eap::Reply::Respond(eap) = reply else {
            panic!("{reply:?}");
        };
        world.say(0, Uplink::EapResponse(eap).encode());
        sent += 1;
    }
    assert_eq!(sent, 3);
    assert!(matches!(
        world.ue(0).refused(),
        Some(Downlink::EapReject(_))
    ));
}

#[test]
fn a_forged_resynchronisation_inside_of_eap_is_rejected() {
    let mut world = world(&by_eap());
    let nas = world.ue_mut(0).register(RegistrationKind::Initial);
    world.ue_mut(0).behaviour.silent = true;
    world.connect(0, nas);
    let before = world.core.udr().expect("its own").sqn_of(&supi(1));
    let id = last_request(&world).expect("a challenge").eap[1];
    let mut forged = vec![2, id, 0, 28, 50, 4, 0, 0, 4, 4];
    forged.extend([0; 14]);
    forged.extend([24, 1, 0, 1]);
    world.say(0, Uplink::EapResponse(forged).encode());
    assert!(matches!(
        world.ue(0).refused(),
        Some(Downlink::EapReject(_))
    ));
    assert_eq!(world.core.udr().expect("its own").sqn_of(&supi(1)), before);
}

#[test]
fn what_is_no_answer_is_asked_for_again_and_not_for_ever() {
    let mut world = world(&by_eap());
    let nas = world.ue_mut(0).register(RegistrationKind::Initial);
    world.ue_mut(0).behaviour.silent = true;
    world.connect(0, nas);
    let mut sent = 0;
    while last_request(&world).is_some() && world.ues[0].at.is_some() {
        // A response to another request.
        let stray = vec![2, 200, 0, 8, 50, 2, 0, 0];
        world.say(0, Uplink::EapResponse(stray).encode());
        sent += 1;
        assert!(sent < 100, "for ever");
    }
    assert!(sent > 1, "asked again");
    assert_eq!(world.ue(0).refused(), Some(&Downlink::AuthenticationReject));
    assert!(!world.wait());
}

#[test]
fn a_lost_challenge_of_eap_is_sent_again() {
    let mut world = world(&by_eap());
    world.lose = |nas| matches!(Downlink::decode(nas), Ok(Downlink::EapRequest(_)));
    world.register(0);
    world.lose = |_| false;
    assert!(world.wait(), "T3560");
    world.assert_registered(0);
    assert_eq!(asked(&world, 0), 1);
}

#[test]
fn a_key_set_identifier_in_use_is_replaced_and_the_challenge_stays() {
    let mut world = world(&by_eap());
    world.ue_mut(0).behaviour.ngksi_in_use = true;
    world.register(0);
    world.assert_registered(0);
    assert!(
        world.call_flow.to_string().contains("#71"),
        "{}",
        world.call_flow
    );
}

#[test]
fn a_phone_with_anothers_name_is_asked_who_it_is_before_eap_ends_in_failure() {
    let mut world = TestNetwork::new(&[1, 2]);
    subscribe(&mut world, 1, by_eap());
    let other = tuak(&[9; 32]).by(Method::EapAkaPrime);
    subscribe(&mut world, 2, other.clone());
    let sim = Sim::with(plmn(), "0000000002", &other);
    world.ues[1].ue = Ue::new(sim, plmn()).expect("capabilities");
    world.register(0);
    let name = world.ue(0).guti().expect("a name");
    world.ue_mut(1).call_itself(name);
    world.register(1);
    world.assert_registered(1);
    assert!(world.ue(1).received().contains(&"Identity Request"));
    assert_eq!(world.amf().registered(), 2);
}

#[test]
fn a_phone_takes_new_keys_of_eap_only_with_eap_success() {
    let mut world = world(&by_eap());
    world.lose = |nas| matches!(Downlink::decode(nas), Ok(Downlink::EapRequest(_)));
    world.register(0);
    let request = last_request(&world).expect("a challenge");
    let challenge = Downlink::EapRequest(request.clone()).encode();
    let answers = world.ue_mut(0).receive(&challenge);
    let Ok(Uplink::EapResponse(_)) = Uplink::decode(&answers[0]) else {
        panic!("no response");
    };
    // EAP-Failure in a result of its own: the keys are gone, and the answer to the answer is too late.
    let failure = Downlink::AuthenticationResult(EapRequest {
        eap: vec![4, request.eap[1], 0, 4],
        ..request
    });
    assert!(world.ue_mut(0).receive(&failure.encode()).is_empty());
    world.say(0, answers[0].clone());
    assert!(world.call_flow.to_string().contains("Security Mode Reject"));
    assert_eq!(world.amf().registered(), 0);
}

#[test]
fn a_method_that_changes_is_that_of_the_next_authentication() {
    let mut world = world(&credentials());
    world.register(0);
    world.assert_registered(0);
    subscribe(&mut world, 1, by_eap());
    world.ue_mut(0).forget_keys();
    world.call_flow.0.clear();
    world.register(0);
    world.assert_registered(0);
    assert!(world.call_flow.to_string().contains("(EAP message)"));
}
