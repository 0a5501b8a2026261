//! Deregistration by the network: an operator wants it, or a subscriber is removed or changed.

use sluice_n1::{Cause, Downlink, RegistrationKind};
use sluice_sbi::{DataChange, Done, Nf, NotifyDeregistration, Problem, Removal};
use sluice_testbed::outside::Outside;
use sluice_ue::UeState;

use crate::world::{GNB, TestNetwork, supi};

/// A registered and connected phone.
fn connected() -> TestNetwork {
    let mut world = TestNetwork::new(&[1]);
    world.ue_mut(0).follow_on = true;
    world.register(0);
    world.call_flow.0.clear();
    world
}

fn deregister(world: &mut TestNetwork, registers_again: bool) -> bool {
    let is_known = world
        .core
        .mobility()
        .deregister(world.now, &supi(1), registers_again);
    world.run();
    is_known
}

#[track_caller]
fn assert_gone(world: &TestNetwork) {
    let amf = world.amf();
    assert_eq!((amf.registered(), amf.connected()), (0, 0));
    assert!(amf.procedures().is_empty());
    assert_eq!(world.core.udr().expect("its own").amf_of(&supi(1)), None);
    assert!(!world.core.stored().any(|key| key.starts_with(b"amf/")));
}

/// TS 23.502, 4.2.2.3.3, with the steps of its figure; a phone without sessions.
const BY_OPERATOR: &str = "\
2     AMF  -> UE    Deregistration Request
5     UE   -> AMF   Deregistration Accept
4     AMF  -> UDM   Nudm_SDM_Unsubscribe Request
4     AMF  -> UDM   Nudm_UECM_Deregistration Request
14    UDM  -> UDR   Nudr_DM_Delete Request (SDM subscription)
14a   UDM  -> UDR   Nudr_DM_Update Request (AMF registration)
14    UDR  -> UDM   Response
14a   UDR  -> UDM   Nudr_DM_Update Response (AMF registration)
4     UDM  -> AMF   Response
      AMF  -> gNB   UE Context Release Command
      gNB  -> AMF   UE Context Release Complete
";

#[test]
fn an_operator_deregisters_a_phone_and_the_ladder_is_that_of_the_ts() {
    for registers_again in [false, true] {
        let mut world = connected();
        assert!(deregister(&mut world, registers_again));
        assert_eq!(world.call_flow.to_string(), BY_OPERATOR);
        assert_eq!(world.ue(0).state(), UeState::Deregistered);
        assert_eq!(world.ue(0).sent_away(), Some((registers_again, None)));
        assert_gone(&world);
        assert!(!deregister(&mut world, false), "it is not registered");
        // It comes back as a stranger with a name.
        world.register(0);
        world.assert_registered(0);
    }
}

#[test]
fn an_idle_phone_is_forgotten_when_an_operator_deregisters_it() {
    let mut world = TestNetwork::new(&[1]);
    world.register(0);
    assert!(deregister(&mut world, true));
    assert_gone(&world);
    assert!(!world.wait_long(), "nobody watches it");
    // It learns it when it says something.
    let nas = world.ue_mut(0).request_service().expect("a name");
    world.connect(0, nas);
    assert!(matches!(
        world.ue(0).refused(),
        Some(Downlink::ServiceReject(_))
    ));
}

/// TS 23.502, 4.2.2.3.3, when UDM wants it.
const BY_UDM: &str = "      UDR  -> UDM   Nudr_DM_Notify Request
      UDM  -> UDR   Nudr_DM_Query Request (context data)
      UDR  -> UDM   Nudr_DM_Query Response (context data)
1     UDM  -> AMF   Nudm_UECM_DeregistrationNotification Request
2     AMF  -> UE    Deregistration Request #7 (5GS services not allowed)
3     AMF  -> UDM   Response
5     UE   -> AMF   Deregistration Accept
";

#[test]
fn a_removed_subscriber_is_deregistered_at_once_and_comes_back_no_more() {
    let mut world = connected();
    assert!(world.core.udr_mut().expect("its own").remove(&supi(1)));
    world
        .core
        .repository()
        .changed(world.now, &supi(1), DataChange::Withdrawn);
    world.run();
    let call_flow = world.call_flow.to_string();
    assert!(call_flow.starts_with(BY_UDM), "{call_flow}");
    let expected = Some((false, Some(Cause::SERVICES_NOT_ALLOWED)));
    assert_eq!(world.ue(0).sent_away(), expected);
    assert_gone(&world);
    world.register(0);
    let expected = Downlink::RegistrationReject(Cause::ILLEGAL_UE.into());
    assert_eq!(world.ue(0).refused(), Some(&expected));
    // Once more is no harm.
    world
        .core
        .repository()
        .changed(world.now, &supi(1), DataChange::Withdrawn);
    world.run();
    assert!(!world.wait());
}

#[test]
fn a_changed_subscriber_registers_again_by_what_it_may_do_now() {
    let mut world = connected();
    world
        .core
        .repository()
        .changed(world.now, &supi(1), DataChange::Access);
    world.run();
    assert_eq!(world.ue(0).sent_away(), Some((true, None)));
    assert_gone(&world);
    world.register(0);
    world.assert_registered(0);
}

/// T3522: 6 s.
#[test]
fn a_deregistration_that_is_not_answered_is_sent_five_times() {
    let mut world = connected();
    world.ue_mut(0).behaviour.silent = true;
    let begin = world.now.instant;
    assert!(deregister(&mut world, false));
    assert_eq!(world.amf().procedures(), ["5"]);
    // Asked again, it is what it is.
    assert!(deregister(&mut world, true));
    world.settle();
    let sent = world.ue(0).received().iter();
    let sent = sent.filter(|one| **one == "Deregistration Request").count();
    assert_eq!(sent, 5);
    assert_eq!(world.now.instant.ms_since(begin), 5 * 6_000);
    assert_gone(&world);
    let ends = world.amf().tally().ends();
    let mut its = ends.filter(|(end, _)| end.procedure == "deregistration");
    let (end, times) = its.next().expect("it has ended");
    assert_eq!(end.cause, "the UE does not answer");
    assert_eq!((times.count, its.next().is_none()), (1, true));
}

/// TS 24.501, 5.5.2.3.5 b: a UE whose connection is lost is deregistered all the same.
#[test]
fn a_phone_that_loses_its_gnb_while_it_is_sent_away_is_deregistered() {
    let mut world = connected();
    world.ue_mut(0).behaviour.silent = true;
    assert!(deregister(&mut world, false));
    world.core.association_lost(world.now, GNB);
    world.run();
    assert_gone(&world);
}

/// TS 24.501, 5.5.2.3.5 c and d.
#[test]
fn deregistrations_from_both_sides_that_cross_end_both() {
    for switch_off in [false, true] {
        let mut world = connected();
        world.ue_mut(0).behaviour.silent = true;
        assert!(deregister(&mut world, true));
        world.ue_mut(0).behaviour.silent = false;
        let nas = world.ue_mut(0).deregister(switch_off, true).expect("keys");
        world.say(0, nas);
        let heard = world.ue(0).received().contains(&"Deregistration Accept");
        assert_eq!(heard, !switch_off);
        assert_gone(&world);
        assert!(!world.wait());
    }
}

/// TS 24.501, 5.5.2.3.5 e and f.
#[test]
fn a_phone_that_is_sent_away_can_only_begin_anew() {
    let mut world = connected();
    world.ue_mut(0).behaviour.silent = true;
    assert!(deregister(&mut world, false));
    world.ue_mut(0).behaviour.silent = false;
    let nas = world.ue_mut(0).register(RegistrationKind::Mobility);
    world.say(0, nas);
    assert_eq!(world.amf().procedures(), ["5"], "it is ignored");
    let nas = world.ue_mut(0).register(RegistrationKind::Initial);
    world.say(0, nas);
    world.settle();
    world.assert_registered(0);
    assert_eq!(world.amf().registered(), 1);
}

/// A registration that is under way when the operator wants the phone gone.
#[test]
fn a_phone_that_is_registering_anew_is_deregistered_from_where_it_is() {
    let mut world = connected();
    world.ue_mut(0).behaviour.no_complete = true;
    let nas = world.ue_mut(0).register(RegistrationKind::Mobility);
    world.say(0, nas);
    assert_eq!(world.amf().procedures(), ["22"]);
    assert!(deregister(&mut world, false));
    assert_eq!(world.ue(0).state(), UeState::Deregistered);
    assert_gone(&world);
    assert!(!world.wait());
}

fn notify(world: &mut TestNetwork, outside: &Outside, removal: Removal) {
    let notice = NotifyDeregistration {
        supi: supi(1),
        removal,
        amf: crate::world::config().guami,
    };
    let answer = outside.ask(world, Nf::Amf, notice);
    assert_eq!(answer, Some(Done::ALL.into()), "{removal:?}");
}

/// TS 29.503, 6.2.6.3.3: for these the UE is told to go, and may be told to come back.
#[test]
fn a_notification_of_udm_sends_a_phone_away_by_its_reason() {
    for (removal, told) in [
        (
            Removal::SubscriptionWithdrawn,
            (false, Some(Cause::SERVICES_NOT_ALLOWED)),
        ),
        (Removal::ReregistrationRequired, (true, None)),
        (
            Removal::DisasterConditionTerminated,
            (false, Some(Cause::PLMN_NOT_ALLOWED)),
        ),
    ] {
        let mut world = connected();
        let outside = Outside::of(&mut world);
        notify(&mut world, &outside, removal);
        assert_eq!(world.ue(0).sent_away(), Some(told), "{removal:?}");
        assert_gone(&world);
    }
}

/// TS 23.502, 4.2.2.2.2, steps 14d and 14e: UDM hears that the subscription ends, the gNB that the UE is gone.
const ELSEWHERE: [&str; 2] = [
    "14e   AMF  -> UDM   Nudm_SDM_Unsubscribe Request",
    "AMF  -> gNB   UE Context Release Command",
];

#[test]
fn a_phone_that_another_amf_or_an_mme_serves_is_removed_without_a_word() {
    for removal in [
        Removal::InitialRegistration,
        Removal::AreaChange,
        Removal::MobilityToEps,
        Removal::RegistrationInEps,
    ] {
        let mut world = connected();
        let outside = Outside::of(&mut world);
        let heard = world.ue(0).received().len();
        notify(&mut world, &outside, removal);
        let call_flow = world.call_flow.to_string();
        for line in ELSEWHERE {
            assert!(call_flow.contains(line), "{removal:?}: {call_flow}");
        }
        assert!(!call_flow.contains("Deregistration Request"), "{call_flow}");
        assert_eq!(world.ue(0).received().len(), heard, "{removal:?}");
        let amf = world.amf();
        assert_eq!((amf.registered(), amf.connected()), (0, 0));
        assert!(!world.core.stored().any(|key| key.starts_with(b"amf/")));
        // UDM has the other one, which must not be purged.
        assert!(
            world
                .core
                .udr()
                .expect("its own")
                .amf_of(&supi(1))
                .is_some()
        );
        world.register(0);
        world.assert_registered(0);
    }
}

#[test]
fn reasons_of_an_smf_leave_a_phone_registered_and_an_unknown_one_is_not_found() {
    let mut world = connected();
    let outside = Outside::of(&mut world);
    for removal in [Removal::SmfContextTransferred, Removal::DuplicatePduSession] {
        notify(&mut world, &outside, removal);
        world.assert_registered(0);
        assert_eq!(world.ue(0).sent_away(), None);
    }
    for removal in Removal::ALL {
        let notice = NotifyDeregistration {
            supi: supi(2),
            removal,
            amf: crate::world::config().guami,
        };
        let answer = outside.ask(&mut world, Nf::Amf, notice);
        assert_eq!(answer, Some(Problem::ContextNotFound.into()), "{removal:?}");
    }
}
