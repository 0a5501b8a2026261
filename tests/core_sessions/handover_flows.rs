//! QoS flows of a UE that is handed over: none is lost on the way, and packets keep theirs.

use sluice_n1::SessionType;
use sluice_n2::Cause;
use sluice_smf_emulator::Tunnel;
use sluice_wire::ids::{Qfi, Teid};

use crate::flows::{VOICE_PORT, goes_up_marked, policy, rule, to_ue, voice};
use crate::harness::*;
use crate::kit::frames;
use crate::modification::{flows, mark_down, plain, start, stop, with};
use crate::two_gnbs::Two;

/// A UE with a session, between two gNBs.
fn two() -> Two {
    let mut two = Two::of(plain(), &[]);
    two.goes = false;
    two
}

/// The port of packets of a flow without guaranteed rate.
const OTHER_PORT: u16 = 7_000;

/// A UE with three flows, between two gNBs: the default one, 2 without and 3 with guaranteed rates.
fn two_with_several() -> Two {
    let text = format!("permit inout udp from any {OTHER_PORT} to any");
    let other = rule("other", 20, 7, &[&text]);
    let mut two = Two::of(with(vec![policy(vec![other])]), &[]);
    start(&mut two.world, voice(64_000)).unwrap();
    two.world.call_flow.0.clear();
    assert_several(&mut two);
    two
}

/// UE, gNB, UPF and PCF have the same flows, and packets of each go in it both ways.
#[track_caller]
fn assert_several(two: &mut Two) {
    let world = &mut two.world;
    assert_eq!(flows(world), (2, 2, 2), "{}", world.call_flow);
    let down = [80, OTHER_PORT, VOICE_PORT].map(|port| mark_down(world, port));
    assert_eq!(down, [Some(1), Some(2), Some(3)], "{}", world.call_flow);
    let up = [80, OTHER_PORT, VOICE_PORT].map(|port| goes_up_marked(world, (6_000, port)));
    assert_eq!(up, [(1, true), (2, true), (3, true)], "{}", world.call_flow);
    let at_gnb = radio(world, 0, 5).unwrap().request.flows;
    let told = at_gnb.iter().map(|one| {
        let guaranteed = one.rates.map(|rates| rates.guaranteed_bps);
        (one.qfi, one.five_qi, guaranteed)
    });
    let rates = Some((64_000, 64_000));
    let expected = [(1, 9, None), (2, 7, None), (3, 1, rates)];
    assert_eq!(told.collect::<Vec<_>>(), expected);
}

#[test]
fn all_flows_of_a_session_go_along_by_xn_and_by_n2() {
    let mut two = two_with_several();
    for _ in 0..2 {
        two.by_xn();
        assert_several(&mut two);
        two.ask_n2(false);
        two.settle();
        assert_several(&mut two);
        two.ask_n2(true);
        two.settle();
        assert_several(&mut two);
    }
    let counters = two.world.amf().counters();
    assert_eq!((counters.path_switches, counters.handovers), (2, 4));
    assert_eq!(two.world.core.smf().unwrap().counters().rules_refused, 0);
    // They come and go there as ever.
    stop(&mut two.world, "voice").unwrap();
    assert_eq!(flows(&two.world), (1, 1, 1));
    assert_eq!(mark_down(&mut two.world, VOICE_PORT), Some(1));
    assert_eq!(mark_down(&mut two.world, OTHER_PORT), Some(2));
}

/// TS 38.413, 8.4.2.2 and 8.4.4.2: what the target does not list it has not admitted.
#[test]
fn a_flow_for_which_the_target_has_no_room_is_taken_from_ue_and_upf_and_the_others_stay() {
    for by_xn in [true, false] {
        let mut two = two_with_several();
        two.other.no_guaranteed = true;
        match by_xn {
            true => two.by_xn(),
            false => two.ask_n2(false),
        }
        two.settle();
        let world = &mut two.world;
        assert_eq!(flows(world), (1, 1, 1), "{by_xn}: {}", world.call_flow);
        let down = [80, OTHER_PORT, VOICE_PORT].map(|port| mark_down(world, port));
        assert_eq!(down, [Some(1), Some(2), Some(1)], "{}", world.call_flow);
        let up = [80, OTHER_PORT, VOICE_PORT].map(|port| goes_up_marked(world, (6_000, port)));
        assert_eq!(up, [(1, true), (2, true), (1, true)], "{}", world.call_flow);
        let refused = world.core.take_refused();
        let is_told = |one: &sluice_sbi::Refused| one.why.contains("no room");
        assert!(refused.iter().any(is_told), "{refused:?}");
        // Where there is room it can be had again.
        two.world.gnb.no_guaranteed = false;
        start(&mut two.world, voice(64_000)).unwrap();
        assert_several(&mut two);
    }
}

#[test]
fn a_handover_that_is_cancelled_leaves_all_flows_where_they_are() {
    let mut two = two_with_several();
    two.goes = false;
    two.ask_n2(false);
    assert!(two.going.is_some());
    let octets = two.world.gnb.cancel_handover(at(&two.world, 0)).unwrap();
    two.world.tell_amf(&octets);
    two.run();
    two.settle();
    assert_several(&mut two);
    (two.goes, two.going) = (true, None);
    two.ask_n2(false);
    two.settle();
    assert_several(&mut two);
}

/// Two sessions with flows each, of which the target takes one.
#[test]
fn a_session_that_stays_behind_gets_all_its_flows_again_when_there_is_a_packet() {
    for by_xn in [true, false] {
        let text = format!("permit inout udp from any {OTHER_PORT} to any");
        let others = vec![rule("other", 20, 7, &[&text]), voice(64_000)];
        let mut two = Two::of(with(vec![policy(others)]), &[6]);
        two.other.refuses.insert(5);
        match by_xn {
            true => two.by_xn(),
            false => two.ask_n2(false),
        }
        two.settle();
        assert_eq!(radio(&two.world, 0, 5), None);
        let at_gnb =
            |two: &Two, session| radio(&two.world, 0, session).map(|one| one.request.flows.len());
        assert_eq!(at_gnb(&two, 6), Some(3));
        two.assert_flows(6);
        two.world.gnb.refuses.clear();
        // Each in its flow, from the first packet on.
        let down = [VOICE_PORT, OTHER_PORT, 80].map(|port| mark_down(&mut two.world, port));
        assert!(down.iter().all(Option::is_some), "{}", two.world.call_flow);
        assert_eq!(down[2], Some(1));
        assert!(
            down[0] != down[1] && down[0] != Some(1) && down[1] != Some(1),
            "{down:?}"
        );
        assert_eq!(flows(&two.world), (2, 2, 2));
        assert_eq!(at_gnb(&two, 5), Some(3));
        assert_eq!(two.world.core.smf().unwrap().counters().rules_refused, 0);
    }
}

#[test]
fn a_flow_that_is_started_on_the_way_is_there_after_the_handover() {
    for is_commanded in [false, true] {
        let mut two = two();
        two.other.is_silent = !is_commanded;
        two.ask_n2(false);
        start(&mut two.world, voice(64_000)).unwrap();
        assert_eq!(flows(&two.world), (0, 0, 1));
        match is_commanded {
            true => two.arrive(),
            // The target never answers: the UE stays where it is.
            false => assert!(two.world.wait()),
        }
        two.run();
        assert_eq!(flows(&two.world), (1, 1, 1), "{}", two.world.call_flow);
        assert_eq!(mark_down(&mut two.world, VOICE_PORT), Some(2));
        assert_eq!(two.world.core.smf().unwrap().counters().rules_refused, 0);
    }
}

#[test]
fn a_flow_that_ends_on_the_way_is_gone_after_the_handover() {
    let mut two = two();
    start(&mut two.world, voice(64_000)).unwrap();
    two.ask_n2(false);
    stop(&mut two.world, "voice").unwrap();
    two.arrive();
    two.run();
    assert_eq!(flows(&two.world), (0, 0, 0), "{}", two.world.call_flow);
    assert_eq!(mark_down(&mut two.world, VOICE_PORT), Some(1));
}

#[test]
fn a_flow_that_a_gnb_refuses_since_the_ue_goes_is_tried_where_it_comes_to() {
    let mut two = two();
    two.world.gnb.refuses_changes = Some(Cause::XN_HANDOVER_TRIGGERED);
    start(&mut two.world, voice(64_000)).unwrap();
    assert_eq!(flows(&two.world), (0, 0, 1));
    two.by_xn();
    assert_eq!(flows(&two.world), (1, 1, 1), "{}", two.world.call_flow);
    assert_eq!(mark_down(&mut two.world, VOICE_PORT), Some(2));
}

#[test]
fn a_flow_that_a_gnb_refuses_since_the_ue_goes_is_tried_again_if_it_stays() {
    let mut two = two();
    two.world.gnb.refuses_changes = Some(Cause::N2_HANDOVER_TRIGGERED);
    start(&mut two.world, voice(64_000)).unwrap();
    two.world.gnb.refuses_changes = None;
    assert_eq!(flows(&two.world), (0, 0, 1));
    pass(&mut two.world, 6);
    assert_eq!(flows(&two.world), (1, 1, 1), "{}", two.world.call_flow);
    // For any other reason there is none.
    stop(&mut two.world, "voice").unwrap();
    two.world.gnb.refuses_changes = Some(Cause::RADIO_LOST);
    start(&mut two.world, voice(64_000)).unwrap();
    // T3591: the UE hears the command without its gNB, and then that it is void.
    pass(&mut two.world, 20);
    assert_eq!(flows(&two.world), (0, 0, 0), "{}", two.world.call_flow);
}

#[test]
fn packets_that_the_upf_forwards_keep_their_flows() {
    let mut two = two();
    let text = "permit inout udp from any 7000 to any";
    start(&mut two.world, rule("other", 20, 7, &[text])).unwrap();
    start(&mut two.world, voice(64_000)).unwrap();
    let (other, voice) = (
        mark_down(&mut two.world, 7_000),
        mark_down(&mut two.world, VOICE_PORT),
    );
    assert_eq!((other, voice), (Some(2), Some(3)));
    two.ask_n2(false);
    let ran = two.going.unwrap();
    let into = two.world.gnb.forwards_to(ran, 5).unwrap();
    let there = two.other.expected(&two.world.gnb, ran).unwrap();
    let takes = two.other.takes_forwarded(there, 5).unwrap();
    let ue = address(&two.world, 0, 5);
    let inner = to_ue(ue, (7_000, 6_000), 100);
    let forwarded = |two: &mut Two, qfi: u8| {
        let to = Tunnel {
            teid: Teid::new(into.teid).unwrap(),
            address: into.ipv4.unwrap().into(),
        };
        let frame = frames::from_gnb(1, to, Qfi::new(qfi).unwrap(), &inner);
        upf(&mut two.world).upf.n3.inject(&frame);
        settle_upf(&mut two.world);
        let left = upf(&mut two.world).upf.n3.take_output();
        let left: Vec<_> = left.iter().map(|(_, one)| frames::read_n3(one)).collect();
        match &left[..] {
            [frames::N3Frame::Data { to, qfi, .. }] => Some((to.teid.get(), *qfi)),
            _ => None,
        }
    };
    for qfi in [1, 2, 3] {
        assert_eq!(forwarded(&mut two, qfi), Some((takes.teid, Some(qfi))));
    }
    // One that the target does not know goes in the default flow.
    assert_eq!(forwarded(&mut two, 9), Some((takes.teid, Some(1))));
    two.arrive();
    two.settle();
    for qfi in [1, 2, 3] {
        assert_eq!(forwarded(&mut two, qfi), None);
    }
    // Once more, with the same rules.
    two.ask_n2(false);
    assert!(two.going.is_some());
    two.arrive();
    two.settle();
    establish(&mut two.world, 0, 6, &wanted(SessionType::Ipv4));
    assert_eq!(mark_down(&mut two.world, 7_000), Some(2));
}
