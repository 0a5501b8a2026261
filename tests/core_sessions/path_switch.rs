//! Handover by Xn (TS 23.502, 4.9.1.2.2): packets follow, sessions that do not go along, keys.

use sluice_n2::Cause;
use sluice_ue::HandoverAnswer;

use crate::harness::*;
use crate::kit::frames;
use crate::two_gnbs::Two;

/// With the steps of its figure.
const PATH_SWITCH: &str = "\
1     gNB  -> AMF   Path Switch Request
2     AMF  -> SMF   Nsmf_PDUSession_UpdateSMContext Request
3     SMF  -> UPF   N4 Session Modification Request
3     UPF  -> SMF   N4 Session Modification Response
2     SMF  -> AMF   Nsmf_PDUSession_UpdateSMContext Response
7     AMF  -> gNB   Path Switch Request Acknowledge
";

#[test]
fn a_phone_goes_to_another_gnb_by_xn_and_its_packets_follow() {
    let mut two = Two::new(&[5]);
    two.assert_flows(5);
    let before = radio(&two.world, 0, 5).unwrap().downlink.teid;
    upf(&mut two.world).upf.n3.take_output();
    two.by_xn();
    assert_eq!(two.world.call_flow.to_string(), PATH_SWITCH);
    assert_eq!(two.answers, [HandoverAnswer::Switched]);
    // The gNB before is told that nothing more comes.
    let left = upf(&mut two.world).upf.n3.take_output();
    let ends: Vec<_> = left
        .iter()
        .filter_map(|(_, frame)| match frames::read_n3(frame) {
            frames::N3Frame::EndMarker(to) => Some(to.teid.get()),
            _ => None,
        })
        .collect();
    assert_eq!(ends, [before]);
    two.assert_flows(5);
    // The next key, as the UE has it.
    let next_hop = two.world.gnb.next_hop(at(&two.world, 0)).cloned();
    assert_eq!(next_hop.as_ref().map(|next| next.ncc), Some(2));
    assert_eq!(next_hop, two.world.ue(0).next_hop(1));
    // And back.
    two.by_xn();
    two.assert_flows(5);
    let next_hop = two.world.gnb.next_hop(at(&two.world, 0)).cloned();
    assert_eq!(next_hop, two.world.ue(0).next_hop(2));
    assert_eq!(two.world.amf().counters().path_switches, 2);
    // It is told what it is told there.
    let now = two.world.now;
    assert!(
        two.world
            .core
            .sessions()
            .release(now, &crate::world::supi(1), 5)
    );
    two.run();
    assert_eq!(two.world.ue(0).sessions().status(), 0);
}

#[test]
fn a_session_that_the_next_gnb_has_no_room_for_stays_without_user_plane() {
    let mut two = Two::new(&[5, 6]);
    two.other.refuses.insert(6);
    two.by_xn();
    two.assert_flows(5);
    assert_eq!(radio(&two.world, 0, 6), None);
    let supi = crate::world::supi(1);
    let is_up = |two: &Two| two.world.core.smf().unwrap().session(&supi, 6).unwrap().0;
    assert!(!is_up(&two));
    // It is brought up again by its first packet, where there is room by then.
    two.world.gnb.refuses.clear();
    let ue = address(&two.world, 0, 6);
    let came_by = goes_down(&mut two.world, ue);
    assert_eq!(
        came_by,
        radio(&two.world, 0, 6).map(|one| one.downlink.teid)
    );
    assert!(is_up(&two));
    two.assert_flows(6);
}

#[test]
fn a_path_switch_without_sessions_that_are_there_is_refused() {
    let mut two = Two::new(&[5]);
    let ran = at(&two.world, 0);
    let mut leaving = two.world.gnb.hand_out(ran).unwrap();
    // The gNB has one that nobody knows.
    leaving.rename_session(5, 9);
    let (there, octets) = two.other.take_in(leaving);
    two.away = Some(there);
    two.world.ues[0].at = None;
    two.turn();
    two.world.tell_amf(&octets);
    two.run();
    assert_eq!(two.answers, [HandoverAnswer::NotSwitched]);
    let of = ("AMF", "handover");
    assert_ended(&two.world, of, "Path Switch Request Failure", 1);
    assert_ended(&two.world, of, "success", 0);
    // It has released the UE, which is registered still, and comes back with its session.
    assert_eq!(two.world.ues[0].at, None);
    assert_eq!(two.world.amf().registered(), 1);
    two.world.ue_mut(0).sessions_mut().set_data(0b10_0000);
    come_back(&mut two.world, 0);
    two.assert_flows(5);
}

#[test]
fn a_gnb_that_was_told_other_algorithms_is_told_the_right_ones() {
    let mut two = Two::new(&[5]);
    let ran = at(&two.world, 0);
    let before = two.world.gnb.context(ran).unwrap().capability;
    two.other.lies = true;
    two.by_xn();
    assert_eq!(two.answers, [HandoverAnswer::Switched]);
    let after = two.world.gnb.context(at(&two.world, 0)).unwrap().capability;
    let four = |one: sluice_security::SecurityCapability| [one.ea(), one.ia()].map(|o| o & 0x7f);
    assert_eq!(four(after), four(before));
    assert_eq!(two.world.amf().counters().unexpected, 1);
}

#[test]
fn a_path_switch_of_nobody_is_answered_by_error_indication() {
    let mut two = Two::new(&[5]);
    let ran = at(&two.world, 0);
    let leaving = two.world.gnb.hand_out(ran).unwrap();
    let (_, octets) = two.other.take_in(leaving);
    let now = two.world.now;
    assert!(
        two.world
            .core
            .mobility()
            .deregister(now, &crate::world::supi(1), false)
    );
    two.world.core.association_lost(now, two.world.at);
    two.run();
    two.tell_other(&octets);
    two.run();
    assert_eq!(two.other.indications(), [Cause::UNKNOWN_LOCAL_ID]);
    assert_eq!(two.world.amf().connected(), 0);
}
