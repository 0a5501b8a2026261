//! Handover while something else is under way, and what is lost in each of its states.

use sluice_n1::{RegistrationKind, SessionType};
use sluice_n2::{Cause, FromAmf, PduSessionReleaseCommand};
use sluice_ue::{HandoverAnswer, UeState};

use crate::harness::*;
use crate::two_gnbs::Two;
use crate::world::supi;

/// The UE is told to go, and is not at the target yet.
fn commanded() -> Two {
    let mut two = Two::new(&[5]);
    two.goes = false;
    two.ask_n2(false);
    assert_eq!(two.answers, [HandoverAnswer::Commanded]);
    two
}

/// The target has not answered yet.
fn preparing() -> Two {
    let mut two = Two::new(&[5]);
    two.other.is_silent = true;
    two.ask_n2(false);
    two
}

/// The target has nothing of the UE.
#[track_caller]
fn assert_target_is_free(two: &Two) {
    let ran = sluice_n2::RanUeId(1);
    assert_eq!(two.other.amf_id(ran), None);
}

#[test]
fn a_source_that_is_lost_before_the_command_leaves_the_phone_idle() {
    let mut two = preparing();
    let source = two.world.at;
    two.lose(source);
    assert_eq!(two.world.amf().connected(), 0);
    assert_target_is_free(&two);
    two.settle();
    assert_eq!(two.world.amf().registered(), 1);
}

#[test]
fn a_source_that_is_lost_after_the_command_leaves_the_phone_to_the_target() {
    for comes in [true, false] {
        let mut two = commanded();
        let source = two.world.at;
        two.lose(source);
        assert_eq!(two.world.amf().connected(), 2);
        if comes {
            two.arrive();
            two.assert_flows(5);
        }
        two.settle();
        let connected = two.world.amf().connected();
        assert_eq!(connected, usize::from(comes));
        assert_eq!(two.world.amf().registered(), 1);
    }
}

#[test]
fn a_target_that_is_lost_leaves_the_phone_where_it_is() {
    let mut two = preparing();
    let target = two.at;
    two.lose(target);
    let refused = HandoverAnswer::Refused(Cause::HANDOVER_FAILED);
    assert_eq!(two.answers, [refused]);
    two.assert_flows(5);
    two.settle();
    let mut two = commanded();
    let target = two.at;
    two.lose(target);
    two.assert_flows(5);
    two.settle();
    two.assert_flows(5);
    assert_eq!(two.world.amf().connected(), 1);
}

#[test]
fn a_target_that_is_lost_when_the_phone_has_come_leaves_it_idle() {
    let mut two = commanded();
    two.arrive();
    let target = two.world.at;
    two.lose(target);
    // The source has released it, too.
    assert_eq!((two.world.amf().connected(), two.away), (0, None));
    two.settle();
    assert_eq!(two.world.amf().registered(), 1);
}

#[test]
fn a_phone_that_comes_back_on_its_own_ends_its_handover() {
    for mut two in [preparing(), commanded()] {
        two.world.ues[0].at = None;
        two.world.ue_mut(0).sessions_mut().set_data(0b10_0000);
        come_back(&mut two.world, 0);
        two.run();
        assert_target_is_free(&two);
        two.assert_flows(5);
        two.settle();
        assert_eq!(two.world.amf().connected(), 1);
    }
}

#[test]
fn a_registration_that_crosses_a_handover_is_accepted_at_the_target() {
    let mut two = commanded();
    let nas = two.world.ue_mut(0).register(RegistrationKind::Mobility);
    two.world.say(0, nas);
    assert_eq!(two.world.ue(0).state(), UeState::Registering);
    two.arrive();
    two.run();
    two.world.assert_registered(0);
    two.settle();
    two.assert_flows(5);
    assert_eq!(two.world.amf().counters().unexpected, 0);
}

#[test]
fn a_service_request_that_crosses_a_handover_is_accepted_at_the_target() {
    let mut two = commanded();
    let before = two.world.ue(0).services();
    two.world.ue_mut(0).sessions_mut().set_data(0);
    let nas = two.world.ue_mut(0).request_user_planes().unwrap();
    two.world.say(0, nas);
    assert_eq!(two.world.ue(0).services(), before);
    two.arrive();
    two.run();
    assert_eq!(two.world.ue(0).services(), before + 1);
    two.assert_flows(5);
}

#[test]
fn a_session_that_is_asked_for_during_a_handover_is_set_up_where_the_phone_is_then() {
    for goes in [true, false] {
        let mut two = if goes { commanded() } else { preparing() };
        establish(&mut two.world, 0, 6, &wanted(SessionType::Ipv4));
        assert_eq!(radio(&two.world, 0, 6), None);
        match goes {
            true => two.arrive(),
            // The target never answers.
            false => two.settle(),
        }
        two.run();
        two.assert_flows(6);
        two.assert_flows(5);
    }
}

#[test]
fn a_session_that_is_released_during_a_handover_is_gone_at_the_target() {
    let mut two = Two::new(&[5, 6]);
    two.goes = false;
    two.ask_n2(false);
    let now = two.world.now;
    assert!(two.world.core.sessions().release(now, &supi(1), 5));
    two.run();
    two.arrive();
    two.settle();
    assert_eq!(two.world.ue(0).sessions().status(), 0b100_0000);
    assert_eq!(radio(&two.world, 0, 5), None);
    two.assert_flows(6);
    assert_eq!(two.world.core.smf().unwrap().sessions(), 1);
}

#[test]
fn a_phone_that_deregisters_during_a_handover_leaves_nothing_at_either_gnb() {
    for mut two in [preparing(), commanded()] {
        let nas = two.world.ue_mut(0).deregister(true, true).unwrap();
        two.world.say(0, nas);
        two.run();
        assert_target_is_free(&two);
        assert_eq!(two.world.amf().connected(), 0);
        assert_eq!(two.world.amf().registered(), 0);
        assert_no_session(&mut two.world);
    }
}

#[test]
fn a_phone_that_is_sent_away_during_a_handover_hears_it_at_the_target() {
    let mut two = commanded();
    let now = two.world.now;
    assert!(two.world.core.mobility().deregister(now, &supi(1), true));
    two.run();
    assert_eq!(two.world.ue(0).sent_away(), None);
    two.arrive();
    two.settle();
    assert_eq!(two.world.ue(0).sent_away(), Some((true, None)));
    assert_eq!(two.world.amf().connected(), 0);
    assert_no_session(&mut two.world);
}

#[test]
fn a_gnb_that_wants_a_release_during_a_handover_ends_both() {
    for mut two in [preparing(), commanded()] {
        let ask = two.world.gnb.ask_release(at(&two.world, 0)).unwrap();
        two.world.tell_amf(&ask);
        two.run();
        assert_target_is_free(&two);
        assert_eq!(two.world.amf().connected(), 0);
        two.settle();
        two.world.ue_mut(0).sessions_mut().set_data(0b10_0000);
        come_back(&mut two.world, 0);
        two.assert_flows(5);
    }
}

#[test]
fn a_handover_while_the_phone_is_authenticated_is_refused() {
    let mut two = Two::new(&[5]);
    two.world.ue_mut(0).forget_keys();
    two.world.ue_mut(0).behaviour.silent = true;
    let nas = two.world.ue_mut(0).register(RegistrationKind::Initial);
    two.world.say(0, nas);
    two.ask_n2(false);
    let refused = HandoverAnswer::Refused(Cause::INTERACTION);
    assert_eq!(two.answers, [refused]);
    assert_target_is_free(&two);
}

#[test]
fn a_second_handover_is_refused_while_one_is_under_way_and_served_after_it() {
    let mut two = commanded();
    two.ask_n2(false);
    let refused = HandoverAnswer::Refused(Cause::INTERACTION);
    assert_eq!(two.answers, [HandoverAnswer::Commanded, refused]);
    two.arrive();
    // The source is not released yet.
    assert!(two.away.is_some());
    two.ask_n2(false);
    assert_eq!(two.away, None);
    two.arrive();
    two.settle();
    two.assert_flows(5);
}

#[test]
fn a_phone_that_goes_by_xn_while_n2_is_prepared_is_where_it_is() {
    let mut two = preparing();
    two.by_xn();
    two.settle();
    assert_eq!(two.answers, [HandoverAnswer::Switched]);
    two.assert_flows(5);
    assert_eq!(two.world.amf().connected(), 1);
}

/// NAS Non Delivery Indication (TS 38.413, 8.6.4): what a UE did not hear since it left.
#[test]
fn a_message_that_was_not_delivered_is_heard_after_the_handover() {
    let mut two = Two::new(&[5, 6]);
    two.world.lose = |_| true;
    let now = two.world.now;
    assert!(two.world.core.sessions().release(now, &supi(1), 5));
    two.run();
    let lost = two.world.transcript.iter().rev().find_map(|octets| {
        let Ok(FromAmf::PduSessionReleaseCommand(PduSessionReleaseCommand { nas, .. })) =
            FromAmf::decode(octets)
        else {
            return None;
        };
        nas
    });
    let ran = at(&two.world, 0);
    let cause = Cause::XN_HANDOVER_TRIGGERED;
    let told = two.world.gnb.not_delivered(ran, lost.unwrap(), cause);
    two.world.tell_amf(&told.unwrap());
    two.run();
    two.world.lose = |_| false;
    assert_eq!(two.world.ue(0).sessions().status(), 0b110_0000);
    two.by_xn();
    assert_eq!(two.world.ue(0).sessions().status(), 0b100_0000);
    two.settle();
    two.assert_flows(6);
}
