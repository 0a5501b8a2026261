//! Modifications whose Complete is lost with N2: the UE may have what nobody wants any more, or not have what is wanted.

use sluice_n1::SessionCause;

use crate::flows::{VOICE_PORT, goes_up_marked, voice};
use crate::harness::*;
use crate::modification::{flows, mark_down, plain, start, stop};
use crate::world::TestNetwork;

/// Rules of the UE, and its flow descriptions.
fn at_ue(world: &TestNetwork) -> (usize, usize) {
    let accept = world.ue(0).sessions().get(5).unwrap();
    (accept.rules.len(), accept.flows.len())
}

/// The UE carries the change out, and is idle before its answer is heard. It does not answer to pages.
fn unheard(world: &mut TestNetwork, change: impl FnOnce(&mut TestNetwork)) {
    world.answers_pages = false;
    world.ue_mut(0).sessions_mut().no_complete = true;
    change(world);
    go_idle(world, 0);
    world.ue_mut(0).sessions_mut().no_complete = false;
}

/// The UE comes by itself.
fn come(world: &mut TestNetwork) {
    world.call_flow.0.clear();
    world.ue_mut(0).sessions_mut().set_data(1 << 5);
    come_back(world, 0);
}

fn commands(world: &TestNetwork) -> usize {
    let call_flow = world.call_flow.to_string();
    call_flow
        .matches("PDU Session Modification Command")
        .count()
}

#[test]
fn a_rule_whose_complete_is_lost_and_that_is_not_wanted_is_deleted_when_the_ue_comes() {
    let mut world = plain();
    unheard(&mut world, |world| start(world, voice(64_000)).unwrap());
    stop(&mut world, "voice").unwrap();
    assert_eq!(at_ue(&world), (1, 1), "{}", world.call_flow);
    come(&mut world);
    assert_eq!(at_ue(&world), (0, 0), "{}", world.call_flow);
    assert_eq!(flows(&world), (0, 0, 0));
    assert_eq!(goes_up_marked(&mut world, (6_000, VOICE_PORT)), (1, true));
    // It is said once.
    assert_eq!(commands(&world), 1);
    go_idle(&mut world, 0);
    come(&mut world);
    assert_eq!(commands(&world), 0, "{}", world.call_flow);
}

#[test]
fn a_rule_that_the_ue_has_taken_when_its_gnb_is_lost_and_that_is_not_wanted_is_deleted() {
    let mut world = plain();
    world.answers_pages = false;
    world.gnb.no_modifications = true;
    start(&mut world, voice(64_000)).unwrap();
    assert_eq!(at_ue(&world), (1, 1), "{}", world.call_flow);
    go_idle(&mut world, 0);
    world.gnb.no_modifications = false;
    stop(&mut world, "voice").unwrap();
    come(&mut world);
    assert_eq!((at_ue(&world), commands(&world)), ((0, 0), 1));
}

#[test]
fn another_rule_takes_the_place_of_one_whose_complete_is_lost() {
    let mut world = plain();
    unheard(&mut world, |world| start(world, voice(64_000)).unwrap());
    stop(&mut world, "voice").unwrap();
    start(&mut world, voice(96_000)).unwrap();
    come(&mut world);
    assert_eq!(flows(&world), (1, 1, 1), "{}", world.call_flow);
    let accept = world.ue(0).sessions().get(5).unwrap();
    assert_eq!(accept.flows.len(), 1);
    assert_eq!(accept.flows[0].guaranteed_bps, Some((96_000, 96_000)));
    let qfi = Some(accept.flows[0].qfi);
    assert_eq!(mark_down(&mut world, VOICE_PORT), qfi);
}

#[test]
fn a_rule_whose_end_the_ue_may_have_heard_and_that_is_wanted_again_is_there() {
    let mut world = plain();
    start(&mut world, voice(64_000)).unwrap();
    unheard(&mut world, |world| stop(world, "voice").unwrap());
    assert_eq!(at_ue(&world), (0, 0), "{}", world.call_flow);
    start(&mut world, voice(64_000)).unwrap();
    come(&mut world);
    assert_eq!(flows(&world), (1, 1, 1), "{}", world.call_flow);
    assert_eq!(goes_up_marked(&mut world, (6_000, VOICE_PORT)), (2, true));
    assert_eq!(mark_down(&mut world, VOICE_PORT), Some(2));
}

#[test]
fn a_ue_that_never_got_a_rule_takes_its_end_as_done() {
    let mut world = plain();
    world.ue_mut(0).sessions_mut().loses_modifications = true;
    unheard(&mut world, |world| start(world, voice(64_000)).unwrap());
    assert_eq!(at_ue(&world), (0, 0));
    world.ue_mut(0).sessions_mut().loses_modifications = false;
    stop(&mut world, "voice").unwrap();
    come(&mut world);
    assert_eq!((at_ue(&world), commands(&world)), ((0, 0), 1));
    pass(&mut world, 60);
    assert_eq!(commands(&world), 1, "{}", world.call_flow);
}

#[test]
fn a_ue_that_refuses_to_delete_what_it_has_not_is_asked_once() {
    let mut world = plain();
    world.ue_mut(0).sessions_mut().loses_modifications = true;
    unheard(&mut world, |world| start(world, voice(64_000)).unwrap());
    world.ue_mut(0).sessions_mut().loses_modifications = false;
    stop(&mut world, "voice").unwrap();
    world.ue_mut(0).sessions_mut().refuses_modifications = Some(SessionCause::SEMANTICS_OF_QOS);
    come(&mut world);
    pass(&mut world, 60);
    assert_eq!(commands(&world), 1, "{}", world.call_flow);
    world.ue_mut(0).sessions_mut().refuses_modifications = None;
    start(&mut world, voice(64_000)).unwrap();
    assert_eq!(flows(&world), (1, 1, 1), "{}", world.call_flow);
}
