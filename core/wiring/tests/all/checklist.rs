//! What phones and networks stop at when they attach: refusals, resynchronisation, wrong MACs, timers.

use sluice_ids::{AmfId, Guami, Guti, Tac, Tai, Tmsi};
use sluice_n1::{Cause, Downlink, RegistrationKind, Uplink};
use sluice_security::{SecurityCapability, Sqn};
use sluice_ue::{Gnb, UeState};

use crate::world::{BEGIN_S, TestNetwork, config, core, plmn, slice, supi, tai};

#[track_caller]
fn assert_refused(world: &TestNetwork, expected: &Downlink) {
    assert_eq!(
        world.ue(0).refused(),
        Some(expected),
        "{:?}",
        world.ue(0).received()
    );
    let amf = world.amf();
    assert_eq!((amf.registered(), amf.connected()), (0, 0));
    assert_eq!(world.core.udr().expect("its own").amf_of(&supi(1)), None);
    assert!(amf.procedures().is_empty());
    assert_eq!(amf.counters().refusals, 1);
}

fn reject(cause: Cause) -> Downlink {
    Downlink::RegistrationReject(cause.into())
}

#[test]
fn an_unknown_subscriber_is_refused() {
    let mut world = TestNetwork::new(&[99]);
    world.register(0);
    assert_refused(&world, &reject(Cause::ILLEGAL_UE));
}

#[test]
fn an_identity_that_is_shown_is_refused_where_it_must_be_concealed() {
    let mut world = TestNetwork::of(core(config(), false), &[1]);
    world.set_up();
    world.register(0);
    assert_refused(&world, &reject(Cause::ILLEGAL_UE));
}

#[test]
fn an_identity_concealed_for_an_unknown_key_is_refused() {
    let mut world = TestNetwork::new(&[1]);
    let key = crate::world::home_key_a().public();
    world.ue_mut(0).sim_mut().conceal_with(9, key);
    world.register(0);
    assert_refused(&world, &reject(Cause::ILLEGAL_UE));
}

#[test]
fn a_phone_that_cannot_prove_who_it_is_is_rejected() {
    let mut world = TestNetwork::new(&[1]);
    world.ue_mut(0).behaviour.wrong_res = true;
    world.register(0);
    assert_refused(&world, &Downlink::AuthenticationReject);
}

#[test]
fn null_integrity_is_never_chosen() {
    // EA0 to EA3, and IA0 alone.
    let mut world = TestNetwork::new(&[1]);
    world.ue_mut(0).capability = SecurityCapability::from_octets(&[0xf0, 0x80]).expect("two");
    world.register(0);
    assert_refused(&world, &reject(Cause::SECURITY_CAPABILITIES_MISMATCH));
}

#[test]
fn null_ciphering_is_chosen_by_policy_alone() {
    let null_only = SecurityCapability::from_octets(&[0x80, 0x70]).expect("two");
    let mut world = TestNetwork::new(&[1]);
    world.ue_mut(0).capability = null_only;
    world.register(0);
    assert_refused(&world, &reject(Cause::SECURITY_CAPABILITIES_MISMATCH));
    let mut config = config();
    config
        .preference
        .ciphering
        .push(sluice_security::Ciphering::Nea0);
    let mut world = TestNetwork::of(core(config, true), &[1]);
    world.set_up();
    world.ue_mut(0).capability = null_only;
    world.register(0);
    world.assert_registered(0);
}

#[test]
fn a_phone_without_a_slice_that_is_there_is_refused() {
    let mut world = TestNetwork::new(&[1]);
    let mut only_elsewhere = core(config(), true);
    let subscriber = sluice_udr::Subscriber {
        credentials: sluice_security::Credentials::milenage(crate::world::k(), crate::world::opc()),
        sqn: Sqn::default(),
        ambr_bps: (1, 1),
        slices: vec![(slice(3), true)],
        networks: Vec::new(),
    };
    assert!(
        only_elsewhere
            .udr_mut()
            .expect("its own")
            .insert(supi(1), subscriber)
    );
    world.core = only_elsewhere;
    world.set_up();
    world.register(0);
    assert_refused(&world, &reject(Cause::NO_NETWORK_SLICES));
}

#[test]
fn a_phone_in_an_area_that_is_not_served_is_refused() {
    let mut world = TestNetwork::of(core(config(), true), &[1]);
    let elsewhere = Tai {
        tac: Tac([0, 0, 9]),
        ..tai()
    };
    // Its gNB serves both.
    let mut setup = crate::world::setup(tai(), &[slice(1)]);
    setup
        .areas
        .extend(crate::world::setup(elsewhere, &[slice(1)]).areas);
    world.gnb = Gnb::new(setup, elsewhere);
    world.set_up();
    assert!(world.gnb.response().is_some());
    world.register(0);
    assert_refused(&world, &reject(Cause::NO_SUITABLE_CELLS));
}

#[test]
fn an_emergency_registration_is_refused() {
    let mut world = TestNetwork::new(&[1]);
    let nas = world.ue_mut(0).register(RegistrationKind::Emergency);
    world.connect(0, nas);
    assert_refused(&world, &reject(Cause::PROTOCOL_ERROR));
}

#[test]
fn a_sim_that_is_ahead_is_caught_up_with() {
    let mut world = TestNetwork::new(&[1]);
    let ahead = BEGIN_S + 1_000_000;
    world.ue_mut(0).sim_mut().advance(Sqn::new(ahead << 5));
    world.register(0);
    world.assert_registered(0);
    let challenges = world
        .ue(0)
        .received()
        .iter()
        .filter(|m| **m == "Authentication Request");
    assert_eq!(challenges.count(), 2);
    assert_eq!(
        world
            .core
            .udr()
            .expect("its own")
            .sqn_of(&supi(1))
            .map(Sqn::sequence),
        Some(ahead + 1)
    );
    let call_flow = world.call_flow.to_string();
    assert!(
        call_flow.contains("Authentication Failure #21 (synch failure)"),
        "{call_flow}"
    );
}

#[test]
fn two_resynchronisations_are_the_most() {
    let mut world = TestNetwork::new(&[1]);
    world.register(0);
    // A phone that says so each time, with an answer that is genuine.
    let mut world_of_failures = TestNetwork::new(&[1]);
    let nas = world_of_failures
        .ue_mut(0)
        .register(RegistrationKind::Initial);
    world_of_failures.ue_mut(0).behaviour.silent = true;
    world_of_failures.connect(0, nas);
    let milenage_failure = |world: &mut TestNetwork| {
        let last = world.transcript.last().expect("a challenge").clone();
        let Ok(sluice_n2::FromAmf::DownlinkNasTransport(sluice_n2::DownlinkNasTransport {
            nas,
            ..
        })) = sluice_n2::FromAmf::decode(&last)
        else {
            panic!("no message for the UE");
        };
        let Ok(Downlink::AuthenticationRequest(request)) = Downlink::decode(&nas) else {
            return false;
        };
        let mut sim = sluice_security::Usim::new(&crate::world::credentials());
        sim.advance(Sqn::new(u64::MAX));
        let network = plmn().serving_network_name();
        let Err(sluice_security::UsimError::Synch(auts)) =
            sim.answer(request.rand, request.autn, &network)
        else {
            panic!("the SIM took it");
        };
        let cause = Cause::SYNCH_FAILURE;
        world.say(
            0,
            Uplink::AuthenticationFailure {
                cause,
                auts: Some(auts),
            }
            .encode(),
        );
        true
    };
    assert!(milenage_failure(&mut world_of_failures));
    assert!(milenage_failure(&mut world_of_failures));
    assert!(milenage_failure(&mut world_of_failures));
    assert_refused(&world_of_failures, &Downlink::AuthenticationReject);
}

#[test]
fn a_forged_resynchronisation_is_rejected() {
    let mut world = TestNetwork::new(&[1]);
    let nas = world.ue_mut(0).register(RegistrationKind::Initial);
    world.ue_mut(0).behaviour.silent = true;
    world.connect(0, nas);
    let before = world.core.udr().expect("its own").sqn_of(&supi(1));
    let cause = Cause::SYNCH_FAILURE;
    world.say(
        0,
        Uplink::AuthenticationFailure {
            cause,
            auts: Some([0; 14]),
        }
        .encode(),
    );
    assert_refused(&world, &Downlink::AuthenticationReject);
    assert_eq!(world.core.udr().expect("its own").sqn_of(&supi(1)), before);
}

#[test]
fn a_mac_failure_of_a_phone_that_showed_itself_is_rejected() {
    let mut world = TestNetwork::new(&[1]);
    let nas = world.ue_mut(0).register(RegistrationKind::Initial);
    world.ue_mut(0).behaviour.silent = true;
    world.connect(0, nas);
    let cause = Cause::MAC_FAILURE;
    world.say(
        0,
        Uplink::AuthenticationFailure { cause, auts: None }.encode(),
    );
    assert_refused(&world, &Downlink::AuthenticationReject);
}

#[test]
fn a_mac_failure_of_a_phone_with_anothers_name_is_cleared_up_by_its_identity() {
    let mut world = TestNetwork::new(&[1, 2]);
    let other = sluice_udr::Subscriber {
        credentials: sluice_security::Credentials::milenage(
            sluice_security::K::new([9; 16]),
            crate::world::opc(),
        ),
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
            .insert(supi(2), other)
    );
    world.ues[1].ue = {
        let key = sluice_security::K::new([9; 16]);
        let sim = sluice_ue::Sim::new(plmn(), "0000000002", &key, &crate::world::opc());
        sluice_ue::Ue::new(sim, plmn()).expect("capabilities")
    };
    world.register(0);
    let name = world.ue(0).guti().expect("a name");
    world.ue_mut(1).call_itself(name);
    world.register(1);
    world.assert_registered(1);
    assert!(world.ue(1).received().contains(&"Identity Request"));
    // The one whose name it was is as it was.
    assert_eq!(world.amf().registered(), 2);
    let nas = world.ue_mut(0).register(RegistrationKind::Mobility);
    world.connect(0, nas);
    world.assert_registered(0);
}

#[test]
fn a_key_set_identifier_in_use_is_replaced() {
    let mut world = TestNetwork::new(&[1]);
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
fn an_unknown_name_is_asked_who_it_is() {
    let strangers = [
        Guti {
            guami: config().guami,
            tmsi: Tmsi([1, 2, 3, 4]),
        },
        Guti {
            guami: Guami {
                plmn: plmn(),
                amf: AmfId::new(9, 9, 9).expect("small"),
            },
            tmsi: Tmsi([1, 2, 3, 4]),
        },
    ];
    for stranger in strangers {
        let mut world = TestNetwork::new(&[1]);
        world.ue_mut(0).call_itself(stranger);
        world.register(0);
        world.assert_registered(0);
        assert_eq!(world.ue(0).received()[0], "Identity Request");
        assert_ne!(world.ue(0).guti(), Some(stranger));
    }
}

#[test]
fn a_phone_that_does_not_tell_who_it_is_is_given_up() {
    let mut world = TestNetwork::new(&[1]);
    world.ue_mut(0).call_itself(Guti {
        guami: config().guami,
        tmsi: Tmsi([1, 2, 3, 4]),
    });
    world.ue_mut(0).behaviour.silent = true;
    world.register(0);
    world.settle();
    let asked = world
        .ue(0)
        .received()
        .iter()
        .filter(|m| **m == "Identity Request")
        .count();
    assert_eq!(asked, 5);
    assert_eq!(world.amf().connected(), 0);
}

#[test]
fn a_wrong_mac_leads_to_a_new_authentication_and_the_whole_message() {
    let mut world = TestNetwork::new(&[1]);
    world.register(0);
    world.ue_mut(0).behaviour.wrong_mac = true;
    world.ue_mut(0).requested_nssai = Some(vec![slice(2)]);
    let nas = world.ue_mut(0).register(RegistrationKind::Mobility);
    world.connect(0, nas);
    world.assert_registered(0);
    assert_eq!(world.amf().counters().wrong_macs, 1);
    // What was asked for came in Security Mode Complete.
    assert_eq!(
        world.ue(0).accept().expect("accepted").allowed_nssai,
        [slice(2)]
    );
    assert_eq!(world.amf().registered(), 1, "it is still one UE");
}

#[test]
fn a_phone_that_lost_its_keys_is_authenticated_again() {
    let mut world = TestNetwork::new(&[1]);
    world.register(0);
    world.ue_mut(0).forget_keys();
    world.register(0);
    world.assert_registered(0);
    assert_eq!(world.amf().registered(), 1);
}

#[test]
fn a_challenge_that_is_not_answered_is_sent_five_times() {
    let mut world = TestNetwork::new(&[1]);
    world.ue_mut(0).behaviour.silent = true;
    world.register(0);
    let begin = world.now.instant;
    world.settle();
    let challenges = world
        .ue(0)
        .received()
        .iter()
        .filter(|m| **m == "Authentication Request");
    assert_eq!(challenges.count(), 5);
    // T3560 is 6 s.
    assert_eq!(world.now.instant.ms_since(begin), 5 * 6_000);
    assert_eq!((world.amf().connected(), world.amf().registered()), (0, 0));
}

#[test]
fn a_lost_security_mode_command_is_sent_again_with_a_count_of_its_own() {
    let mut world = TestNetwork::new(&[1]);
    // The first of it is lost: header 3, sequence number 0.
    world.lose = |nas| nas.get(1) == Some(&3) && nas.get(6) == Some(&0);
    world.register(0);
    assert_ne!(world.ue(0).state(), UeState::Registered);
    assert!(world.wait());
    world.assert_registered(0);
}

#[test]
fn a_refused_security_mode_ends_the_registration() {
    let mut world = TestNetwork::new(&[1]);
    world.ue_mut(0).behaviour.refuse_security_mode = true;
    world.register(0);
    let amf = world.amf();
    assert_eq!((amf.registered(), amf.connected()), (0, 0));
    assert_eq!(amf.counters().refusals, 1);
}

/// TS 24.501, 5.4.2.5: what was there before goes on.
#[test]
fn a_refused_security_mode_leaves_the_registration_before_it() {
    let mut world = TestNetwork::new(&[1, 1]);
    world.register(0);
    world.ue_mut(1).behaviour.refuse_security_mode = true;
    world.ue_mut(1).sim_mut().advance(Sqn::new(BEGIN_S << 5));
    world.register(1);
    assert_eq!(world.amf().registered(), 1);
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

#[test]
fn without_registration_complete_the_phone_is_registered_by_either_name() {
    let mut world = TestNetwork::new(&[1]);
    world.register(0);
    let old = world.ue(0).guti().expect("a name");
    world.ue_mut(0).behaviour.no_complete = true;
    let nas = world.ue_mut(0).register(RegistrationKind::Mobility);
    world.connect(0, nas);
    let begin = world.now.instant;
    world.settle();
    let accepts = world
        .ue(0)
        .received()
        .iter()
        .filter(|m| **m == "Registration Accept")
        .count();
    assert_eq!(accepts, 1 + 5);
    assert_eq!(world.now.instant.ms_since(begin), 5 * 6_000);
    assert_eq!(world.amf().registered(), 1);
    // It did not hear of the new name.
    world.ue_mut(0).call_itself(old);
    world.ue_mut(0).behaviour.no_complete = false;
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
