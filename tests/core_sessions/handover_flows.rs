//! QoS flows of a UE that is handed over: none is lost on the way, and packets keep theirs.

use sluice_n1::SessionType;
use sluice_n2::Cause;
use sluice_smf::Tunnel;
use sluice_wire::ids::{Qfi, Teid};

use crate::flows::{VOICE_PORT, rule, to_ue, voice};
use crate::harness::*;
use crate::kit::frames;
use crate::modification::{flows, mark_down, plain, start, stop};
use crate::two_gnbs::Two;

/// A UE with a session, between two gNBs.
fn two() -> Two {
    let mut two = Two::of(plain(), &[]);
    two.goes = false;
    two
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
        assert_eq!(flows(&two.world), (1, 1, 1), "{}", two.world.ladder);
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
    assert_eq!(flows(&two.world), (0, 0, 0), "{}", two.world.ladder);
    assert_eq!(mark_down(&mut two.world, VOICE_PORT), Some(1));
}

#[test]
fn a_flow_that_a_gnb_refuses_since_the_ue_goes_is_tried_where_it_comes_to() {
    let mut two = two();
    two.world.gnb.refuses_changes = Some(Cause::XN_HANDOVER_TRIGGERED);
    start(&mut two.world, voice(64_000)).unwrap();
    assert_eq!(flows(&two.world), (0, 0, 1));
    two.by_xn();
    assert_eq!(flows(&two.world), (1, 1, 1), "{}", two.world.ladder);
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
    assert_eq!(flows(&two.world), (1, 1, 1), "{}", two.world.ladder);
    // For any other reason there is none.
    stop(&mut two.world, "voice").unwrap();
    two.world.gnb.refuses_changes = Some(Cause::RADIO_LOST);
    start(&mut two.world, voice(64_000)).unwrap();
    // T3591: the UE hears the command without its gNB, and then that it is void.
    pass(&mut two.world, 20);
    assert_eq!(flows(&two.world), (0, 0, 0), "{}", two.world.ladder);
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
