//! Reconciliation of sessions: what a UPF or a gNB has not done, or has done too late: nobody keeps what it should not have.

use sluice_n1::SessionType;
use sluice_n2::Cause;

use crate::flows::{VOICE_PORT, goes_up_marked, voice};
use crate::harness::*;
use crate::modification::{flows, mark_down, plain, start, stop};
use crate::world::{TestNetwork, supi};

#[test]
fn a_flow_whose_last_step_the_upf_refuses_is_none() {
    let mut world = plain();
    // The first change is served, the second one is not.
    upf(&mut world).next = Some((MODIFICATION, 1, Fate::Refused));
    start(&mut world, voice(64_000)).unwrap();
    assert_eq!(flows(&world), (0, 0, 0), "{}", world.call_flow);
    assert_eq!(goes_up_marked(&mut world, (6_000, VOICE_PORT)), (1, true));
    let refused = world.core.take_refused();
    let is_told = refused
        .iter()
        .any(|one| one.why.contains("the UPF refused"));
    assert!(is_told, "{refused:?}");
    // Nothing is left of it: it can be had again.
    start(&mut world, voice(64_000)).unwrap();
    assert_eq!(flows(&world), (1, 1, 1), "{}", world.call_flow);
    assert_eq!(mark_down(&mut world, VOICE_PORT), Some(2));
}

#[test]
fn a_flow_whose_end_the_upf_refuses_is_taken_from_it_later() {
    let mut world = plain();
    start(&mut world, voice(64_000)).unwrap();
    upf(&mut world).next = Some((MODIFICATION, 0, Fate::Refused));
    stop(&mut world, "voice").unwrap();
    // UE and gNB have it no more.
    assert_eq!(flows(&world), (0, 0, 0));
    assert_eq!(mark_down(&mut world, VOICE_PORT), Some(2));
    pass(&mut world, 6);
    assert_eq!(
        mark_down(&mut world, VOICE_PORT),
        Some(1),
        "{}",
        world.call_flow
    );
    assert_eq!(world.ue(0).sessions().status(), 1 << 5);
}

#[test]
fn a_upf_that_never_takes_the_end_of_a_flow_loses_the_session() {
    let mut world = plain();
    start(&mut world, voice(64_000)).unwrap();
    upf(&mut world).all = Some((MODIFICATION, Fate::Refused));
    stop(&mut world, "voice").unwrap();
    pass(&mut world, 60);
    // The UE is told to ask for it anew.
    assert_eq!(world.core.smf().unwrap().session(&supi(1), 5), None);
    assert_eq!(world.ue(0).sessions().status(), 0);
    upf(&mut world).all = None;
    establish(&mut world, 0, 5, &wanted(SessionType::Ipv4));
    assert!(goes_up(&mut world, 0, 5));
}

#[test]
fn a_flow_whose_end_a_gnb_refuses_is_taken_from_it_later() {
    let mut world = plain();
    start(&mut world, voice(64_000)).unwrap();
    world.gnb.refuses_changes = Some(Cause::UNSPECIFIED);
    stop(&mut world, "voice").unwrap();
    let at_gnb = |world: &TestNetwork| radio(world, 0, 5).unwrap().request.flows.len();
    assert_eq!(at_gnb(&world), 2);
    world.gnb.refuses_changes = None;
    pass(&mut world, 20 * 16);
    assert_eq!(at_gnb(&world), 1, "{}", world.call_flow);
    assert_eq!(flows(&world), (0, 0, 0));
    assert_eq!(world.ue(0).sessions().status(), 1 << 5);
}

/// N4 timeout and late success: what was created is deleted.
#[test]
fn a_session_that_the_upf_establishes_too_late_is_deleted() {
    let mut world = world(&[1]);
    upf(&mut world).all = Some((ESTABLISHMENT, Fate::Late));
    establish(&mut world, 0, 5, &wanted(SessionType::Ipv4));
    for _ in 0..30 {
        if world.ue(0).sessions().refusals() == 1 {
            break;
        }
        assert!(world.wait());
    }
    assert_eq!(world.ue(0).sessions().refusals(), 1);
    let kept = std::mem::take(&mut upf(&mut world).kept);
    assert!(!kept.is_empty());
    assert_eq!(upf(&mut world).upf.core.up.session_count(), 1);
    upf(&mut world).all = None;
    for octets in kept {
        let now = world.now;
        world.core.n4(now, crate::world::N4, &octets);
        world.run();
    }
    assert_eq!(upf(&mut world).upf.core.up.session_count(), 0);
    assert_eq!(world.core.smf().unwrap().counters().late_establishments, 1);
    pass(&mut world, 20);
    assert_no_session(&mut world);
    establish(&mut world, 0, 5, &wanted(SessionType::Ipv4));
    assert!(goes_up(&mut world, 0, 5));
}

/// Its answer never comes.
#[test]
fn a_session_whose_establishment_is_never_answered_is_asked_for_again_and_deleted() {
    let mut world = world(&[1]);
    upf(&mut world).all = Some((ESTABLISHMENT, Fate::Late));
    establish(&mut world, 0, 5, &wanted(SessionType::Ipv4));
    pass(&mut world, 9);
    assert_eq!(world.ue(0).sessions().refusals(), 1);
    assert_eq!(upf(&mut world).upf.core.up.session_count(), 1);
    upf(&mut world).all = None;
    pass(&mut world, 30);
    assert_no_session(&mut world);
    establish(&mut world, 0, 5, &wanted(SessionType::Ipv4));
    assert!(goes_up(&mut world, 0, 5));
}

/// The UPF was asked twice: its first answer is late, and the second request is on its way longer than the
/// deletion that followed.
fn asked_twice() -> TestNetwork {
    let mut world = world(&[1]);
    upf(&mut world).all = Some((ESTABLISHMENT, Fate::Late));
    establish(&mut world, 0, 5, &wanted(SessionType::Ipv4));
    pass(&mut world, 9);
    assert_eq!(world.ue(0).sessions().refusals(), 1);
    let kept = std::mem::take(&mut upf(&mut world).kept);
    upf(&mut world).all = Some((ESTABLISHMENT, Fate::Held));
    pass(&mut world, 11);
    assert!(!upf(&mut world).held.is_empty(), "{}", world.call_flow);
    hear(&mut world, &kept[..1]);
    assert_eq!(upf(&mut world).upf.core.up.session_count(), 0);
    assert_eq!(world.core.smf().unwrap().counters().late_establishments, 1);
    world
}

/// What the UPF has said before reaches the core.
pub fn hear(world: &mut TestNetwork, messages: &[Vec<u8>]) {
    for octets in messages {
        world.core.n4(world.now, crate::world::N4, octets);
        world.run();
    }
}

/// What was on its way is there; the UPF's answers.
pub fn arrive(world: &mut TestNetwork) -> Vec<Vec<u8>> {
    let held = std::mem::take(&mut upf(world).held);
    upf(world).all = None;
    let upf = upf(world);
    held.iter()
        .flat_map(|one| crate::world::Upf::take(upf, one))
        .collect()
}

#[test]
fn what_a_upf_does_late_after_a_late_answer_is_deleted_though_nothing_is_heard_of_it() {
    let mut world = asked_twice();
    // Nobody hears what it answers.
    pass(&mut world, 3);
    arrive(&mut world);
    assert_eq!(upf(&mut world).upf.core.up.session_count(), 1);
    pass(&mut world, 40);
    assert_no_session(&mut world);
}

#[test]
fn a_second_late_answer_is_deleted_as_well() {
    let mut world = asked_twice();
    upf(&mut world).all = Some((ESTABLISHMENT, Fate::Lost));
    // It is asked six times more, and then no more.
    pass(&mut world, 100);
    assert_eq!(world.core.smf().unwrap().sessions(), 0);
    let answers = arrive(&mut world);
    assert_eq!(upf(&mut world).upf.core.up.session_count(), 1);
    hear(&mut world, &answers);
    pass(&mut world, 20);
    assert_no_session(&mut world);
    assert!(world.core.smf().unwrap().counters().late_establishments > 1);
}

#[test]
fn a_deletion_that_is_lost_is_sent_again() {
    let mut world = world(&[1]);
    establish(&mut world, 0, 5, &wanted(SessionType::Ipv4));
    upf(&mut world).all = Some((DELETION, Fate::Lost));
    let nas = world.ue_mut(0).release(5);
    world.say(0, nas);
    for _ in 0..60 {
        if world.core.smf().unwrap().sessions() == 0 {
            break;
        }
        assert!(world.wait());
    }
    assert_eq!(world.core.smf().unwrap().sessions(), 0);
    assert_eq!(upf(&mut world).upf.core.up.session_count(), 1);
    upf(&mut world).all = None;
    pass(&mut world, 60);
    assert_no_session(&mut world);
}

#[test]
fn a_session_whose_upf_does_not_hear_that_the_ue_is_idle_is_told_again() {
    let mut world = world(&[1]);
    establish(&mut world, 0, 5, &wanted(SessionType::Ipv4));
    upf(&mut world).all = Some((MODIFICATION, Fate::Lost));
    go_idle(&mut world, 0);
    pass(&mut world, 12);
    upf(&mut world).all = None;
    pass(&mut world, 10);
    // A packet that comes has the UE called.
    let ue = address(&world, 0, 5);
    let came_by = goes_down(&mut world, ue);
    assert!(came_by.is_some(), "{}", world.call_flow);
    assert_eq!(world.pages.len(), 1);
}
