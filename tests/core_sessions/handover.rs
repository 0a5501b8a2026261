//! Handover by N2 (TS 23.502, 4.9.1.3): preparation, execution, forwarding, and what does not come to its
//! end.

use sluice_n2::Cause;
use sluice_smf_emulator::Tunnel;
use sluice_ue::HandoverAnswer;
use sluice_wire::ids::{Qfi, Teid};

use crate::harness::*;
use crate::kit::{self, frames};
use crate::two_gnbs::Two;
use crate::world::supi;

/// With the steps of its figures: preparation, then execution.
const HANDOVER: &str = "\
1     gNB  -> AMF   Handover Required
4     AMF  -> SMF   Nsmf_PDUSession_UpdateSMContext Request
4     SMF  -> AMF   Nsmf_PDUSession_UpdateSMContext Response
9     AMF  -> gNB   Handover Request
10    gNB  -> AMF   Handover Request Acknowledge
11    AMF  -> SMF   Nsmf_PDUSession_UpdateSMContext Request
11b   SMF  -> UPF   N4 Session Modification Request
11b   UPF  -> SMF   N4 Session Modification Response
11    SMF  -> AMF   Nsmf_PDUSession_UpdateSMContext Response
1     AMF  -> gNB   Handover Command
2b    gNB  -> AMF   Uplink RAN Status Transfer
2d    AMF  -> gNB   Downlink RAN Status Transfer
5     gNB  -> AMF   Handover Notify
7     AMF  -> SMF   Nsmf_PDUSession_UpdateSMContext Request
10    SMF  -> UPF   N4 Session Modification Request
10    UPF  -> SMF   N4 Session Modification Response
7     SMF  -> AMF   Nsmf_PDUSession_UpdateSMContext Response
14a   AMF  -> gNB   UE Context Release Command
14b   gNB  -> AMF   UE Context Release Complete
15    SMF  -> UPF   N4 Session Modification Request
15    UPF  -> SMF   N4 Session Modification Response
";

/// What a gNB sends into a tunnel of the UPF, and what leaves the UPF for gNBs.
fn forwarded(two: &mut Two, into: sluice_n2::Tunnel, inner: &[u8]) -> Vec<frames::N3Frame> {
    let to = Tunnel {
        teid: Teid::new(into.teid).unwrap(),
        address: into.ipv4.unwrap().into(),
    };
    let frame = frames::from_gnb(1, to, Qfi::new(1).unwrap(), inner);
    upf(&mut two.world).upf.n3.inject(&frame);
    settle_upf(&mut two.world);
    let left = upf(&mut two.world).upf.n3.take_output();
    left.iter().map(|(_, one)| frames::read_n3(one)).collect()
}

#[test]
fn a_phone_goes_to_another_gnb_by_n2_and_its_packets_follow() {
    let mut two = Two::new(&[5]);
    two.assert_flows(5);
    let (before, ran) = (radio(&two.world, 0, 5).unwrap(), at(&two.world, 0));
    upf(&mut two.world).upf.n3.take_output();
    two.ask_n2(false);
    two.settle();
    two.world.assert_said(HANDOVER);
    assert_eq!(two.answers, [HandoverAnswer::Commanded]);
    // The source's End Marker, and its counts at the target.
    let left = upf(&mut two.world).upf.n3.take_output();
    let left: Vec<_> = left.iter().map(|(_, one)| frames::read_n3(one)).collect();
    let [frames::N3Frame::EndMarker(to)] = &left[..] else {
        panic!("{left:?}");
    };
    assert_eq!(to.teid.get(), before.downlink.teid);
    let status = two.world.gnb.status(at(&two.world, 0)).unwrap();
    assert_eq!(status.counts(), [(1, ran.0, 0x1234)]);
    two.assert_flows(5);
    // The key of the target is the UE's next one.
    let next_hop = two.world.gnb.next_hop(at(&two.world, 0)).cloned();
    assert_eq!(next_hop.as_ref().map(|next| next.ncc), Some(2));
    assert_eq!(next_hop, two.world.ue(0).next_hop(1));
    // The source has nothing of it any more.
    assert_eq!(two.away, None);
    assert_eq!(two.world.amf().connected(), 1);
    // And back, by N2 and then by Xn.
    two.ask_n2(false);
    two.settle();
    two.by_xn();
    two.settle();
    two.assert_flows(5);
    let next_hop = two.world.gnb.next_hop(at(&two.world, 0)).cloned();
    assert_eq!(next_hop, two.world.ue(0).next_hop(3));
    let counters = two.world.amf().counters();
    assert_eq!((counters.handovers, counters.path_switches), (2, 1));
    assert_eq!((counters.handover_failures, counters.unexpected), (0, 0));
}

#[test]
fn what_the_source_still_has_is_forwarded_by_the_upf_until_the_timer_ends_it() {
    let mut two = Two::new(&[5]);
    two.goes = false;
    two.ask_n2(false);
    let ran = two.going.unwrap();
    let into = two.world.gnb.forwards_to(ran, 5).unwrap();
    assert_eq!(into.ipv4, Some(kit::N3));
    let there = two.other.expected(&two.world.gnb, ran).unwrap();
    let takes = two.other.takes_forwarded(there, 5).unwrap();
    let ue = address(&two.world, 0, 5);
    let inner = frames::packet(kit::SERVER, ue, 100, 9);
    let left = forwarded(&mut two, into, &inner);
    let [
        frames::N3Frame::Data {
            to,
            qfi,
            inner: got,
            ..
        },
    ] = &left[..]
    else {
        panic!("{left:?}");
    };
    assert_eq!((to.teid.get(), *qfi), (takes.teid, Some(1)));
    assert_eq!(got, &inner);
    two.arrive();
    let is_data = |one: &&frames::N3Frame| matches!(one, frames::N3Frame::Data { .. });
    let left = forwarded(&mut two, into, &inner);
    assert_eq!(left.iter().filter(is_data).count(), 1, "{left:?}");
    two.settle();
    // There is no such tunnel any more.
    let left = forwarded(&mut two, into, &inner);
    let is_error = |one: &frames::N3Frame| matches!(one, frames::N3Frame::ErrorIndication(..));
    assert_eq!(left.len(), 1, "{left:?}");
    assert!(left.iter().all(is_error), "{left:?}");
    two.assert_flows(5);
}

#[test]
fn a_source_that_reaches_the_target_forwards_by_itself() {
    let mut two = Two::new(&[5]);
    two.goes = false;
    two.ask_n2(true);
    let ran = two.going.unwrap();
    let there = two.other.expected(&two.world.gnb, ran).unwrap();
    let takes = two.other.takes_forwarded(there, 5);
    assert!(takes.is_some());
    assert_eq!(two.world.gnb.forwards_to(ran, 5), takes);
    assert!(!two.world.call_flow.to_string().contains("11b"));
    two.arrive();
    two.settle();
    two.assert_flows(5);
}

#[test]
fn a_session_that_the_target_has_no_room_for_stays_without_user_plane() {
    let mut two = Two::new(&[5, 6]);
    two.other.refuses.insert(6);
    two.ask_n2(false);
    two.settle();
    two.assert_flows(5);
    assert_eq!(radio(&two.world, 0, 6), None);
    let (is_up, _) = two.world.core.smf().unwrap().session(&supi(1), 6).unwrap();
    assert!(!is_up);
    two.world.gnb.refuses.clear();
    let ue = address(&two.world, 0, 6);
    let came_by = goes_down(&mut two.world, ue);
    assert_eq!(
        came_by,
        radio(&two.world, 0, 6).map(|one| one.downlink.teid)
    );
    assert!(came_by.is_some());
}

/// The source is told why, and the UE stays where it is, with its packets.
#[track_caller]
fn refused(two: &mut Two, cause: Cause) {
    assert_eq!(two.answers, [HandoverAnswer::Refused(cause)]);
    two.settle();
    two.assert_flows(5);
    assert_eq!(two.world.amf().connected(), 1);
    assert_eq!(two.world.amf().counters().handover_failures, 1);
}

#[test]
fn a_target_without_room_is_a_preparation_failure_by_its_cause() {
    let mut two = Two::new(&[5]);
    two.other.no_contexts = true;
    two.ask_n2(false);
    refused(&mut two, Cause::NO_RADIO_RESOURCES);
    let cause = Cause::NO_RADIO_RESOURCES.to_string();
    assert_ended(&two.world, ("AMF", "handover"), &cause, 1);
    assert_ended(&two.world, ("AMF", "handover"), "success", 0);
}

#[test]
fn a_target_that_does_not_answer_is_a_preparation_failure() {
    let mut two = Two::new(&[5]);
    two.other.is_silent = true;
    two.ask_n2(false);
    assert_eq!(two.answers, []);
    assert!(two.world.wait());
    two.run();
    refused(&mut two, Cause::PREPARATION_EXPIRED);
    let cause = Cause::PREPARATION_EXPIRED.to_string();
    assert_ended(&two.world, ("AMF", "handover"), &cause, 1);
}

#[test]
fn a_target_that_nobody_knows_is_refused() {
    let mut two = Two::new(&[5]);
    let ran = at(&two.world, 0);
    let nobody = sluice_n2::Gnb {
        plmn: crate::world::plmn(),
        id: 77,
        bits: 24,
    };
    let target = (nobody, crate::world::tai());
    let octets = two.world.gnb.require_handover_to(ran, target, false);
    two.world.tell_amf(&octets.unwrap());
    two.run();
    refused(&mut two, Cause::UNKNOWN_TARGET);
}

#[test]
fn a_handover_is_cancelled_before_and_after_the_command() {
    for is_commanded in [false, true] {
        let mut two = Two::new(&[5]);
        two.goes = false;
        two.other.is_silent = !is_commanded;
        two.ask_n2(false);
        let ran = at(&two.world, 0);
        let octets = two.world.gnb.cancel_handover(ran).unwrap();
        two.world.tell_amf(&octets);
        two.run();
        assert_eq!(two.answers.last(), Some(&HandoverAnswer::Cancelled));
        // The target has released what it had prepared, and the UPF forwards nothing.
        assert_eq!(two.other.expected(&two.world.gnb, ran), None);
        if let Some(into) = two.world.gnb.forwards_to(ran, 5) {
            let ue = address(&two.world, 0, 5);
            let inner = frames::packet(kit::SERVER, ue, 100, 9);
            let left = forwarded(&mut two, into, &inner);
            let is_data = |one: &frames::N3Frame| matches!(one, frames::N3Frame::Data { .. });
            assert!(!left.iter().any(is_data), "{left:?}");
        }
        two.settle();
        two.assert_flows(5);
        assert_eq!(two.world.amf().connected(), 1);
        // It goes later.
        (two.goes, two.other.is_silent) = (true, false);
        two.ask_n2(false);
        two.settle();
        two.assert_flows(5);
    }
}

#[test]
fn a_phone_that_does_not_come_in_time_stays_where_it_is() {
    let mut two = Two::new(&[5]);
    two.goes = false;
    two.ask_n2(false);
    let ran = two.going.unwrap();
    two.settle();
    assert_eq!(two.other.expected(&two.world.gnb, ran), None);
    two.assert_flows(5);
    let cause = Cause::HANDOVER_EXPIRED.to_string();
    assert_ended(&two.world, ("AMF", "handover"), &cause, 1);
    assert_ended(&two.world, ("AMF", "handover"), "success", 0);
    assert_eq!(two.world.amf().counters().handover_failures, 1);
}
