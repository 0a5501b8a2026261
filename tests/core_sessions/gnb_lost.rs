//! What crosses the loss of a UE's gNB, or its move to another one: packets arrive all the same, and nobody keeps what
//! nobody knows of (TS 23.502, 4.2.3.3, 4.2.6 and 4.9.1).

use std::net::Ipv4Addr;

use sluice_n1::SessionType;
use sluice_n2::Cause;
use sluice_ue::HandoverAnswer;

use crate::contexts::gnb_comes_back;
use crate::harness::*;
use crate::paging::idle;
use crate::two_gnbs::Two;
use crate::world::TestNetwork;

/// Successful outcomes of NGAP, by the number of their procedure (TS 38.413, 9.4.7).
const SUCCESS: u8 = 0x20;
const INITIAL_CONTEXT_SETUP: u8 = 14;
const SESSION_SETUP: u8 = 29;
const UPLINK_NAS_TRANSPORT: [u8; 2] = [0, 46];

/// The association ends, and the gNB comes back without its UEs.
fn lose_gnb(world: &mut TestNetwork) {
    world.core.association_lost(world.now, world.at);
    world.run();
    world.lose_n2 = |_| false;
    gnb_comes_back(world);
}

/// A packet brings the session up, and the next ones go there.
#[track_caller]
fn assert_reached(world: &mut TestNetwork, ue: Ipv4Addr) {
    goes_down(world, ue);
    let tunnel = radio(world, 0, 5).map(|radio| radio.downlink.teid);
    assert!(tunnel.is_some(), "{}", world.call_flow);
    settle_upf(world);
    assert_eq!(goes_down(world, ue), tunnel, "{}", world.call_flow);
}

#[test]
fn a_session_whose_gnb_is_lost_before_it_has_answered_gets_its_packets() {
    let mut world = world(&[1]);
    world.lose_n2 = |octets| octets.starts_with(&[SUCCESS, SESSION_SETUP]);
    establish(&mut world, 0, 5, &wanted(SessionType::Ipv4));
    let ue = address(&world, 0, 5);
    lose_gnb(&mut world);
    assert_reached(&mut world, ue);
    assert!(goes_up(&mut world, 0, 5));
}

#[test]
fn a_phone_whose_gnb_is_lost_before_it_has_set_its_session_up_is_paged_again() {
    let (mut world, ue) = idle();
    world.lose_n2 = |octets| octets.starts_with(&[SUCCESS, INITIAL_CONTEXT_SETUP]);
    assert_eq!(goes_down(&mut world, ue), None);
    assert_eq!(world.pages.len(), 1);
    lose_gnb(&mut world);
    pass(&mut world, 3);
    assert_eq!(world.pages.len(), 2, "{}", world.call_flow);
    let tunnel = radio(&world, 0, 5).map(|radio| radio.downlink.teid);
    assert!(tunnel.is_some());
    assert_eq!(goes_down(&mut world, ue), tunnel);
}

#[test]
fn a_gnb_that_never_sets_a_session_up_ends_the_paging() {
    let (mut world, ue) = idle();
    world.gnb.no_sessions = true;
    assert_eq!(goes_down(&mut world, ue), None);
    pass(&mut world, 60);
    assert_eq!(world.core.smf().unwrap().counters().unreachable, 1);
    world.gnb.no_sessions = false;
    pass(&mut world, 60);
    assert_reached(&mut world, ue);
}

#[test]
fn a_name_that_a_phone_uses_is_kept_though_it_was_not_acknowledged() {
    let (mut world, ue) = idle();
    // It takes the second name; that it has done so is lost.
    world.lose_n2 = |octets| octets.starts_with(&UPLINK_NAS_TRANSPORT);
    goes_down(&mut world, ue);
    let second = world.ue(0).guti();
    lose_gnb(&mut world);
    // It answers the next page by that. The third name is lost.
    world.lose = |_| true;
    goes_down(&mut world, ue);
    assert_eq!(world.ue(0).guti(), second);
    world.lose = |_| false;
    lose_gnb(&mut world);
    world.ue_mut(0).sessions_mut().set_data(0b10_0000);
    come_back(&mut world, 0);
    assert_eq!(world.ue(0).refused(), None, "{}", world.call_flow);
    assert!(goes_up(&mut world, 0, 5));
}

#[test]
fn a_phone_that_moves_while_it_is_released_is_released_where_it_is() {
    let mut two = Two::new(&[5]);
    two.world.gnb.no_releases = true;
    let ran = at(&two.world, 0);
    let ask = two.world.gnb.ask_release(ran).unwrap();
    two.world.tell_amf(&ask);
    two.run();
    two.by_xn();
    assert_eq!(two.answers, [HandoverAnswer::Switched]);
    two.settle();
    assert_eq!(two.world.ues[0].at, None, "{}", two.world.call_flow);
    assert_eq!(two.world.gnb.connections(), 0);
    let ue = address(&two.world, 0, 5);
    assert_reached(&mut two.world, ue);
}

#[test]
fn a_switch_of_the_path_that_the_upf_hears_after_the_phone_is_idle_does_not_stay() {
    let mut two = Two::new(&[5]);
    let ue = address(&two.world, 0, 5);
    upf(&mut two.world).next = Some((MODIFICATION, 0, Fate::Lost));
    two.by_xn();
    let at = two.world.at;
    two.lose(at);
    // The SMF asks the UPF again, which hears that after the release.
    pass(&mut two.world, 5);
    gnb_comes_back(&mut two.world);
    assert_reached(&mut two.world, ue);
}

#[test]
fn a_upf_that_falls_silent_then_hears_where_packets_go_when_it_answers_again() {
    let mut two = Two::new(&[]);
    upf(&mut two.world).next = Some((MODIFICATION, 0, Fate::Lost));
    establish(&mut two.world, 0, 5, &wanted(SessionType::Ipv4));
    two.by_xn();
    two.assert_flows(5);
    // It hears now where packets went before the switch, and nothing of what comes after that for a while.
    upf(&mut two.world).next = Some((MODIFICATION, 1, Fate::Lost));
    pass(&mut two.world, 1);
    upf(&mut two.world).all = Some((MODIFICATION, Fate::Lost));
    pass(&mut two.world, 6);
    upf(&mut two.world).all = None;
    pass(&mut two.world, 6);
    two.assert_flows(5);
}

#[test]
fn a_session_that_does_not_follow_to_the_target_is_released_there() {
    let mut two = Two::new(&[5]);
    two.goes = false;
    two.ask_n2(true);
    upf(&mut two.world).next = Some((MODIFICATION, 0, Fate::Refused));
    two.arrive();
    two.run();
    assert_eq!(radio(&two.world, 0, 5), None, "{}", two.world.call_flow);
    let ue = address(&two.world, 0, 5);
    assert_reached(&mut two.world, ue);
}

#[test]
fn a_phone_goes_on_only_when_its_packets_have_followed_it() {
    let mut two = Two::new(&[5]);
    two.goes = false;
    two.ask_n2(true);
    upf(&mut two.world).next = Some((MODIFICATION, 0, Fate::Lost));
    two.arrive();
    two.answers.clear();
    two.ask_n2(true);
    assert_eq!(two.answers, [HandoverAnswer::Refused(Cause::INTERACTION)]);
    // The UPF is asked again, and hears it.
    pass(&mut two.world, 2);
    two.run();
    two.assert_flows(5);
    two.answers.clear();
    two.ask_n2(true);
    assert_eq!(two.answers, [HandoverAnswer::Commanded]);
}

#[test]
fn a_phone_that_moves_while_its_upf_gets_the_session_again_has_its_packets_where_it_is() {
    let mut two = Two::new(&[5]);
    upf(&mut two.world).restart();
    upf(&mut two.world).next = Some((ESTABLISHMENT, 0, Fate::Lost));
    let is_asked = |two: &Two| {
        two.world
            .call_flow
            .to_string()
            .contains("Establishment Request")
    };
    while !is_asked(&two) {
        assert!(two.world.wait());
    }
    two.by_xn();
    // The UPF is asked once more, as it was before.
    pass(&mut two.world, 3);
    two.run();
    assert_eq!(two.world.core.smf().unwrap().counters().restored, 1);
    two.assert_flows(5);
}
