//! Downlink packets for idle UEs: paging, its answers, and UEs that cannot be reached (TS 23.502, 4.2.3.3).

use std::net::Ipv4Addr;

use sluice_n1::{RegistrationKind, SessionType};
use sluice_n2::PagingCapability;
use sluice_sbi::AssociationId;
use sluice_smf_emulator::Tunnel;
use sluice_ue::Gnb;
use sluice_wire::ids::Teid;

use crate::harness::*;
use crate::kit::frames;
use crate::world::{TestNetwork, setup, slice, tai};

/// An idle UE with a session, and its address.
pub fn idle() -> (TestNetwork, Ipv4Addr) {
    let mut world = world(&[1]);
    establish(&mut world, 0, 5, &wanted(SessionType::Ipv4));
    let ue = address(&world, 0, 5);
    go_idle(&mut world, 0);
    world.call_flow.0.clear();
    (world, ue)
}

/// Whether a packet that has waited leaves for the UE now.
fn what_waited_arrives(world: &mut TestNetwork) -> bool {
    settle_upf(world);
    let Some(radio) = radio(world, 0, 5) else {
        return false;
    };
    let left = upf(world).upf.n3.take_output();
    left.iter().any(|(_, frame)| {
        matches!(
            frames::read_n3(frame),
            frames::N3Frame::Data { to, .. } if to.teid.get() == radio.downlink.teid
        )
    })
}

/// TS 23.502, 4.2.3.3, then 4.2.3.2 from step 12 on and 4.2.4.2.
const PAGING: &str = "\
2a    UPF  -> SMF   N4 Session Report Request (downlink data)
3     SMF  -> AMF   Namf_Communication_N1N2MessageTransfer Request
4b    AMF  -> gNB   Paging
3     AMF  -> SMF   Namf_Communication_N1N2MessageTransfer Response (attempting to reach the UE)
1     UE   -> AMF   Service Request
12    AMF  -> gNB   Initial Context Setup Request
12    AMF  -> UE    Service Accept
14    gNB  -> AMF   Initial Context Setup Response
15    AMF  -> SMF   Nsmf_PDUSession_UpdateSMContext Request
16    SMF  -> UPF   N4 Session Modification Request
2a    AMF  -> UE    Configuration Update Command
16    UPF  -> SMF   N4 Session Modification Response
15    SMF  -> AMF   Nsmf_PDUSession_UpdateSMContext Response
2b    UE   -> AMF   Configuration Update Complete
";

#[test]
fn an_idle_phone_is_paged_for_packets_and_gets_them() {
    let (mut world, ue) = idle();
    let name = world.ue(0).guti().unwrap();
    // The packet leaves when the UE is there.
    let tunnel = goes_down(&mut world, ue);
    world.assert_said(PAGING);
    let radio = radio(&world, 0, 5).unwrap();
    assert!(tunnel == Some(radio.downlink.teid) || what_waited_arrives(&mut world));
    assert!(goes_up(&mut world, 0, 5));
    // One page, of the name that it had, in its areas; a name that was called is used no more.
    assert_eq!(world.pages.len(), 1);
    let page = &world.pages[0];
    assert_eq!((page.s_tmsi, page.attempt), (name.s_tmsi(), (1, 3)));
    assert_eq!(page.areas, [tai()]);
    let renamed = world.ue(0).guti().unwrap();
    assert_ne!(renamed, name);
    assert!(world.amf().procedures().is_empty());
    // It is found by the new name alone.
    go_idle(&mut world, 0);
    world.ue_mut(0).call_itself(name);
    come_back(&mut world, 0);
    assert!(world.ue(0).refused().is_some());
}

#[test]
fn a_phone_is_paged_again_each_time_that_it_is_idle() {
    let (mut world, ue) = idle();
    for round in 1..=3 {
        goes_down(&mut world, ue);
        assert_eq!(world.pages.len(), round);
        assert!(radio(&world, 0, 5).is_some());
        go_idle(&mut world, 0);
    }
    assert_eq!(world.amf().counters().pagings, 3);
    assert_eq!(world.amf().counters().paged, 3);
    assert_ended(&world, ("AMF", "paging"), "success", 3);
    assert_eq!(world.core.smf().unwrap().counters().unreachable, 0);
}

#[test]
fn a_phone_that_is_paged_answers_at_another_gnb() {
    let (mut world, ue) = idle();
    let first = world.at;
    // Another gNB of the same area; the first is there, too.
    let mut second = setup(tai(), &[slice(1), slice(2)]);
    second.gnb.id = 2;
    world.gnb = Gnb::new(second, tai());
    world.at = AssociationId(first.0 + 1);
    world.set_up();
    goes_down(&mut world, ue);
    let elsewhere = world.elsewhere.iter();
    assert_eq!(elsewhere.filter(|one| one.association == first).count(), 1);
    assert_eq!(world.pages.len(), 1);
    assert!(radio(&world, 0, 5).is_some(), "{}", world.call_flow);
    assert!(goes_up(&mut world, 0, 5));
}

#[test]
fn what_a_gnb_told_of_the_radio_and_the_drx_go_with_the_page() {
    let mut world = world(&[1]);
    let capability = PagingCapability {
        nr: Some(vec![1, 2, 3]),
        eutra: None,
    };
    world.gnb.radio_capability = Some(vec![9; 40]);
    world.gnb.paging_capability = Some(capability.clone());
    world.register(0);
    establish(&mut world, 0, 5, &wanted(SessionType::Ipv4));
    let ue = address(&world, 0, 5);
    go_idle(&mut world, 0);
    goes_down(&mut world, ue);
    assert_eq!(world.pages[0].capability, Some(capability));
    assert_eq!(world.pages[0].drx, None, "it has asked for none");
    // With requested DRX parameters: a cycle of 128 (TS 24.501, 9.11.3.2A).
    world.ue_mut(0).wishes = vec![0x51, 1, 3];
    world.register(0);
    establish(&mut world, 0, 5, &wanted(SessionType::Ipv4));
    let ue = address(&world, 0, 5);
    go_idle(&mut world, 0);
    goes_down(&mut world, ue);
    assert_eq!(world.pages.last().unwrap().drx, Some(3));
}

#[test]
fn a_phone_that_does_not_answer_is_paged_three_times_and_its_packets_are_dropped_for_a_while() {
    let (mut world, ue) = idle();
    world.answers_pages = false;
    let begin = world.now.instant;
    assert_eq!(goes_down(&mut world, ue), None);
    // More packets change nothing.
    assert_eq!(goes_down(&mut world, ue), None);
    while world.core.smf().unwrap().counters().unreachable == 0 {
        assert!(world.wait());
    }
    // T3513: 4 s.
    assert_eq!(world.now.instant.ms_since(begin), 3 * 4_000);
    let attempts: Vec<_> = world.pages.iter().map(|page| page.attempt.0).collect();
    assert_eq!(attempts, [1, 2, 3]);
    let call_flow = world.call_flow.to_string();
    for line in [
        "5     AMF  -> SMF   Namf_Communication_N1N2TransferFailureNotification Request",
        "5     SMF  -> UPF   N4 Session Modification Request",
    ] {
        assert!(call_flow.contains(line), "{call_flow}");
    }
    // Whether UEs answer is told by UEs, not by how often each is called.
    let counters = world.amf().counters();
    assert_eq!((counters.pagings, counters.paged), (3, 1));
    assert_eq!(counters.unanswered_pagings, 1);
    assert_ended(&world, ("AMF", "paging"), "the UE does not answer", 1);
    assert_ended(&world, ("AMF", "paging"), "success", 0);
    assert_ended(&world, ("SMF", "paging"), "the UE cannot be reached", 1);
    // Nobody is called for what comes now, and nothing is held.
    let reports = world.core.smf().unwrap().counters().downlink_data_reports;
    assert_eq!(goes_down(&mut world, ue), None);
    let smf = world.core.smf().unwrap();
    assert_eq!(smf.counters().downlink_data_reports, reports);
    assert_eq!(world.pages.len(), 3);
    // After the guard time it is tried again.
    world.answers_pages = true;
    while world.now.instant.ms_since(begin) < 12_000 + 30_000 {
        assert_eq!(goes_down(&mut world, ue), None);
        assert!(world.wait());
    }
    assert_eq!(world.pages.len(), 3);
    goes_down(&mut world, ue);
    assert_eq!(world.pages.len(), 4);
    assert!(radio(&world, 0, 5).is_some());
    assert!(goes_up(&mut world, 0, 5));
}

#[test]
fn a_phone_that_comes_by_itself_ends_the_guard_time() {
    let (mut world, ue) = idle();
    world.answers_pages = false;
    goes_down(&mut world, ue);
    while world.core.smf().unwrap().counters().unreachable == 0 {
        assert!(world.wait());
    }
    world.ue_mut(0).sessions_mut().set_data(1 << 5);
    come_back(&mut world, 0);
    let tunnel = radio(&world, 0, 5).unwrap().downlink.teid;
    assert_eq!(goes_down(&mut world, ue), Some(tunnel));
    // The guard time of before changes nothing of what is up.
    for _ in 0..10 {
        world.wait();
    }
    assert_eq!(goes_down(&mut world, ue), Some(tunnel));
    // Idle again, it is paged at once.
    go_idle(&mut world, 0);
    world.answers_pages = true;
    let before = world.pages.len();
    goes_down(&mut world, ue);
    assert_eq!(world.pages.len(), before + 1);
}

#[test]
fn where_no_gnb_is_nobody_is_paged_and_packets_are_dropped() {
    let (mut world, ue) = idle();
    world.core.association_lost(world.now, world.at);
    assert_eq!(goes_down(&mut world, ue), None);
    let call_flow = world.call_flow.to_string();
    assert!(call_flow.contains("(UE not reachable)"), "{call_flow}");
    assert!(!call_flow.contains("Paging"), "{call_flow}");
    assert_eq!(world.core.smf().unwrap().counters().unreachable, 1);
}

#[test]
fn a_phone_that_has_not_been_heard_of_for_too_long_is_not_paged() {
    let (mut world, ue) = idle();
    // T3512 and four minutes later; it is forgotten four minutes after that.
    while world.core.next_deadline().0 < (50 + 4) * 60_000_000_000 {
        assert!(world.wait_long());
    }
    world.now.instant.0 = (50 + 5) * 60_000_000_000;
    assert_eq!(goes_down(&mut world, ue), None);
    let call_flow = world.call_flow.to_string();
    assert!(call_flow.contains("(UE not reachable)"), "{call_flow}");
    assert!(world.pages.is_empty());
}

/// The AMF is about to set the UE up: the SMF tries again.
#[test]
fn packets_that_cross_a_registration_wait_for_its_end() {
    let (mut world, ue) = idle();
    let nas = world.ue_mut(0).register(RegistrationKind::Mobility);
    let s_tmsi = world.ue(0).guti().map(sluice_ids::Guti::s_tmsi);
    let (ran, octets) = world.gnb.connect(nas, s_tmsi);
    world.ues[0].at = Some(ran);
    world.tell_amf(&octets);
    // The gNB has not answered yet.
    assert_eq!(goes_down(&mut world, ue), None);
    let call_flow = world.call_flow.to_string();
    assert!(
        call_flow.contains("(temporary reject, registration ongoing)"),
        "{call_flow}"
    );
    assert!(world.pages.is_empty());
    assert!(world.wait());
    assert!(radio(&world, 0, 5).is_some(), "{}", world.call_flow);
    assert!(what_waited_arrives(&mut world) || goes_down(&mut world, ue).is_some());
}

/// AN release crosses a report: the UE is paged when it is idle.
#[test]
fn packets_that_cross_a_release_page_the_phone_when_it_is_idle() {
    let (mut world, ue) = idle();
    come_back(&mut world, 0);
    world.gnb.no_releases = true;
    let ask = world.gnb.ask_release(at(&world, 0)).unwrap();
    world.tell_amf(&ask);
    world.run();
    assert_eq!(world.amf().procedures(), ["release"]);
    assert_eq!(goes_down(&mut world, ue), None);
    assert!(world.pages.is_empty());
    world.gnb.no_releases = false;
    world.ues[0].at = None;
    assert!(world.wait());
    assert_eq!(world.pages.len(), 1, "{}", world.call_flow);
    assert!(radio(&world, 0, 5).is_some());
}

/// A service request that crosses a paging is its answer.
#[test]
fn a_service_request_that_crosses_a_paging_ends_it() {
    let (mut world, ue) = idle();
    world.answers_pages = false;
    goes_down(&mut world, ue);
    assert_eq!(world.amf().procedures(), ["6"]);
    come_back(&mut world, 0);
    assert!(radio(&world, 0, 5).is_some(), "it had no data of its own");
    assert!(what_waited_arrives(&mut world) || goes_down(&mut world, ue).is_some());
    for _ in 0..20 {
        world.wait();
    }
    assert_eq!(world.pages.len(), 1);
    assert_eq!(world.core.smf().unwrap().counters().unreachable, 0);
}

#[test]
fn a_session_that_ends_while_its_phone_is_paged_pages_nobody() {
    let (mut world, ue) = idle();
    world.answers_pages = false;
    goes_down(&mut world, ue);
    let now = world.now;
    assert!(
        world
            .core
            .sessions()
            .release(now, &crate::world::supi(1), 5)
    );
    world.run();
    assert_no_session(&mut world);
    for _ in 0..20 {
        world.wait();
    }
    assert_eq!(world.amf().registered(), 1);
    assert_no_session(&mut world);
}

/// T3555: 6 s, five sends; both names are good then.
#[test]
fn a_phone_that_does_not_acknowledge_its_new_name_is_known_by_either() {
    let (mut world, ue) = idle();
    let old = world.ue(0).guti().unwrap();
    world.ue_mut(0).behaviour.no_complete = true;
    let begin = world.now.instant;
    goes_down(&mut world, ue);
    while world.amf().procedures() == ["2b"] {
        assert!(world.wait());
    }
    assert_eq!(world.now.instant.ms_since(begin), 5 * 6_000);
    let sent = world.ue(0).received().iter();
    let sent = sent.filter(|one| **one == "Configuration Update Command");
    assert_eq!(sent.count(), 5);
    let new = world.ue(0).guti().unwrap();
    assert_ne!(new, old);
    world.ue_mut(0).behaviour.no_complete = false;
    go_idle(&mut world, 0);
    // It is called by both.
    world.ue_mut(0).call_itself(old);
    goes_down(&mut world, ue);
    assert_eq!(world.pages.len(), 3);
    assert!(radio(&world, 0, 5).is_some());
    assert!(goes_up(&mut world, 0, 5));
}

#[test]
fn a_phone_that_has_not_acknowledged_its_new_name_is_served_and_has_either() {
    let (mut world, ue) = idle();
    let name = world.ue(0).guti().unwrap();
    world.ue_mut(0).behaviour.no_complete = true;
    goes_down(&mut world, ue);
    let renamed = world.ue(0).guti().unwrap();
    assert_ne!(renamed, name);
    assert_eq!(world.amf().procedures(), ["2b"]);
    world.call_flow.0.clear();
    let nas = world.ue_mut(0).request_user_planes().unwrap();
    world.say(0, nas);
    let call_flow = world.call_flow.to_string();
    assert!(call_flow.contains("Service Accept"), "{call_flow}");
    assert!(world.amf().procedures().is_empty());
    for name in [name, renamed] {
        go_idle(&mut world, 0);
        world.ue_mut(0).call_itself(name);
        world.ue_mut(0).sessions_mut().set_data(1 << 5);
        come_back(&mut world, 0);
        assert_eq!(world.ue(0).refused(), None);
        assert!(goes_up(&mut world, 0, 5));
    }
}

#[test]
fn a_phone_that_leaves_is_not_paged_for_what_came_before_when_it_is_back() {
    let (mut world, ue) = idle();
    come_back(&mut world, 0);
    world.gnb.no_releases = true;
    let ask = world.gnb.ask_release(at(&world, 0)).unwrap();
    world.tell_amf(&ask);
    world.run();
    // It is to be paged when it is idle, and leaves before that.
    goes_down(&mut world, ue);
    let nas = world.ue_mut(0).deregister(false, true).unwrap();
    world.say(0, nas);
    assert_no_session(&mut world);
    // It comes by its name, so that it is the same one.
    world.register(0);
    assert_eq!(world.amf().registered(), 1, "{}", world.call_flow);
    world.gnb.no_releases = false;
    go_idle(&mut world, 0);
    assert!(world.pages.is_empty(), "{}", world.call_flow);
    assert!(world.amf().procedures().is_empty());
}

/// TS 23.527, 5.3.3; TS 29.281, 7.3.1.
#[test]
fn a_tunnel_that_its_gnb_has_forgotten_is_set_up_anew_for_the_next_packet() {
    let mut world = world(&[1]);
    establish(&mut world, 0, 5, &wanted(SessionType::Ipv4));
    let ue = address(&world, 0, 5);
    let before = radio(&world, 0, 5).unwrap().downlink;
    assert_eq!(goes_down(&mut world, ue), Some(before.teid));
    let end = Tunnel::v4(Teid::new(before.teid).unwrap(), before.ipv4.unwrap());
    let indication = frames::error_indication(1, end);
    upf(&mut world).upf.n3.inject(&indication);
    settle_upf(&mut world);
    let counters = world.core.smf().unwrap().counters();
    assert_eq!(counters.error_indications, 1);
    // Nothing goes there any more. The next packet has the gNB set the session up again, and waits for that.
    let tunnel = goes_down(&mut world, ue);
    let after = radio(&world, 0, 5).unwrap().downlink;
    assert_ne!(after.teid, before.teid);
    assert!(tunnel == Some(after.teid) || what_waited_arrives(&mut world));
    assert!(goes_up(&mut world, 0, 5));
    assert_eq!(world.pages.len(), 0, "the UE was connected all the while");
    // One about the tunnel of before is about nobody's.
    upf(&mut world).upf.n3.inject(&indication);
    settle_upf(&mut world);
    assert_eq!(goes_down(&mut world, ue), Some(after.teid));
}
