//! Lists that name a PDU session twice, as a Path Switch Request with two tunnels of one session (TS 38.413, 8.4.4.4,
//! 10.4; ellanetworks/core#1393), and next hops that nobody took.

use sluice_n2::{Cause, FromRan, HandoverFromRan, session::read_setup_failure};
use sluice_ue::HandoverAnswer;

use crate::harness::*;
use crate::two_gnbs::Two;

#[test]
fn a_path_switch_that_names_a_session_twice_fails() {
    let mut two = Two::new(&[5]);
    two.world.core.take_refused();
    two.by_xn_with(|request| {
        let again = request.switched[0].clone();
        request.switched.push(again);
    });
    assert_eq!(two.answers, [HandoverAnswer::NotSwitched]);
    assert!(!two.world.call_flow.to_string().contains("Acknowledge"));
    let refusals = two.world.core.take_refused();
    assert_eq!(
        refusals[0].cause,
        "radio network: multiple PDU session ID instances"
    );
    assert!(refusals[0].why.contains("session 5 is named twice"));
    // The UE is registered, and comes back with its session.
    assert_eq!(two.world.amf().registered(), 1);
    two.world.ue_mut(0).sessions_mut().set_data(0b10_0000);
    come_back(&mut two.world, 0);
    two.assert_flows(5);
}

#[test]
fn a_handover_that_names_a_session_twice_is_not_prepared() {
    let mut two = Two::new(&[5]);
    let ran = at(&two.world, 0);
    let octets = two.world.gnb.require_handover(ran, &two.other, false);
    let Ok(FromRan::Handover(HandoverFromRan::Required(mut required))) =
        FromRan::decode(&octets.unwrap())
    else {
        panic!("another message");
    };
    let again = required.sessions[0].clone();
    required.sessions.push(again);
    let required = FromRan::Handover(HandoverFromRan::Required(required));
    two.world.tell_amf(&required.encode());
    two.run();
    assert_eq!(two.answers, [HandoverAnswer::Refused(Cause::SESSION_TWICE)]);
    two.assert_flows(5);
}

/// What the SMF reads of a session that is named twice.
#[test]
fn a_session_that_is_named_twice_failed_by_that_cause() {
    let why = sluice_n2::session::setup_failure(Cause::SESSION_TWICE);
    assert_eq!(read_setup_failure(&why), Cause::SESSION_TWICE);
}

/// TS 33.501, 6.9.2.1.1: preparations that fail do not bring the counter round to the UE's own.
#[test]
fn a_handover_after_many_that_failed_has_a_key_that_the_phone_can_derive() {
    let mut two = Two::new(&[5]);
    two.other.no_contexts = true;
    for _ in 0..9 {
        two.ask_n2(false);
        two.settle();
    }
    two.other.no_contexts = false;
    two.answers.clear();
    two.ask_n2(false);
    two.settle();
    assert_eq!(two.answers, [HandoverAnswer::Commanded]);
    let next_hop = two.world.gnb.next_hop(at(&two.world, 0)).cloned();
    assert_eq!(next_hop.as_ref().map(|next| next.ncc), Some(7));
    assert_eq!(next_hop, two.world.ue(0).next_hop(6));
    two.assert_flows(5);
}

/// TS 33.501, 6.7.3.1 (SCAS 33.512, 4.2.2.4.1): UE, gNB and both values.
#[test]
fn other_algorithms_at_a_path_switch_are_told_to_operators() {
    let mut two = Two::new(&[5]);
    two.world.core.take_refused();
    two.other.lies = true;
    two.by_xn();
    let refusals = two.world.core.take_refused();
    let [told] = &refusals[..] else {
        panic!("{refusals:?}");
    };
    assert_eq!(told.who, "gNB 001-01 000002/24 (gnb-2)");
    assert_eq!(told.supi, Some(crate::world::supi(1)));
    assert!(told.why.contains("it was told that the UE has 5G-EA"));
    assert!(told.why.contains("the UE has shown 5G-EA"), "{told}");
}
