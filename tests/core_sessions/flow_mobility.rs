//! RAN initiated QoS flow mobility (TS 23.502, 4.14.1; TS 38.413, 8.2.5): a gNB has packets of sessions come to another end
//! of their tunnels.

use sluice_n1::SessionType;
use sluice_n2::modify_indication::read_unsuccessful;
use sluice_n2::{
    Cause, FromRan, ModifyConfirm, ModifyIndication, PduSessionModifyIndication, SessionResults,
    Transfers, Tunnel,
};
use sluice_sbi::Nf;
use sluice_testbed::apart::{self, Wiring};

use crate::flows::{VOICE_PORT, to_ue, voice};
use crate::harness::*;
use crate::kit::frames;
use crate::modification::{plain, start};
use crate::two_gnbs::Two;
use crate::world::TestNetwork;

/// With the steps of its figure.
const FLOWS_MOVE: &str = "\
1     gNB  -> AMF   PDU Session Resource Modify Indication
2     AMF  -> SMF   Nsmf_PDUSession_UpdateSMContext Request
3     SMF  -> UPF   N4 Session Modification Request
3     UPF  -> SMF   N4 Session Modification Response
5     SMF  -> AMF   Nsmf_PDUSession_UpdateSMContext Response
7     AMF  -> gNB   PDU Session Resource Modify Confirm
";

fn teid(world: &TestNetwork, session: u8) -> u32 {
    radio(world, 0, session).unwrap().downlink.teid
}

fn end(teid: u32) -> Tunnel {
    Tunnel {
        ipv4: Some([192, 0, 2, 51].into()),
        ipv6: None,
        teid,
    }
}

/// The gNB wants this; what it is answered.
pub fn indicate(world: &mut TestNetwork, sessions: Transfers) -> SessionResults {
    let ran = at(world, 0);
    let ids = (world.gnb.amf_id(ran).unwrap(), ran);
    let octets =
        FromRan::PduSessionModifyIndication(PduSessionModifyIndication { ids, sessions }).encode();
    world.tell_amf(&octets);
    world.run();
    world.gnb.take_confirms().pop().unwrap()
}

fn wants(first: (Tunnel, Vec<u8>), others: Vec<(Tunnel, Vec<u8>)>) -> Vec<u8> {
    ModifyIndication {
        first,
        others,
        security: None,
    }
    .encode()
}

/// Sessions that stay as they were, and why.
pub fn refused(results: &SessionResults) -> Vec<(u8, Cause)> {
    let failed = results.failed.iter();
    failed
        .map(|(session, transfer)| (*session, read_unsuccessful(transfer)))
        .collect()
}

/// The gNB has all flows of a session come to another tunnel; what it is answered.
pub fn moves(world: &mut TestNetwork, session: u8) -> SessionResults {
    let octets = world.gnb.move_sessions(at(world, 0), &[session]);
    let octets = octets.unwrap();
    world.tell_amf(&octets);
    world.run();
    world.gnb.take_confirms().pop().unwrap()
}

#[test]
fn packets_come_where_a_gnb_wants_them_and_where_they_came_hears_of_the_end() {
    let mut world = plain();
    start(&mut world, voice(64_000)).unwrap();
    let (before, uplink) = (teid(&world, 5), radio(&world, 0, 5).unwrap().request.uplink);
    upf(&mut world).upf.n3.take_output();
    world.call_flow.0.clear();
    let results = moves(&mut world, 5);
    world.assert_said(FLOWS_MOVE);
    assert_eq!((results.done.len(), refused(&results)), (1, Vec::new()));
    let confirm = ModifyConfirm::decode(&results.done[0].1).unwrap();
    assert_eq!((confirm.uplink, confirm.failed), (uplink, Vec::new()));
    assert_eq!(confirm.qfis, [1, 2]);
    let left = upf(&mut world).upf.n3.take_output();
    let ends = left
        .iter()
        .filter_map(|(_, frame)| match frames::read_n3(frame) {
            frames::N3Frame::EndMarker(to) => Some(to.teid.get()),
            _ => None,
        });
    assert_eq!(ends.collect::<Vec<_>>(), [before]);
    // Both flows, and what comes from the UE.
    let after = teid(&world, 5);
    assert_ne!(after, before);
    let ue = address(&world, 0, 5);
    let voice = to_ue(ue, (VOICE_PORT, 6_000), 100);
    assert_eq!(sends_down(&mut world, &voice), Some((after, Some(2))));
    assert_eq!(goes_down(&mut world, ue), Some(after));
    assert!(goes_up(&mut world, 0, 5));
    // Once more, where they come already: nobody is told of an end.
    let again = wants((radio(&world, 0, 5).unwrap().downlink, vec![1, 2]), vec![]);
    assert_eq!(indicate(&mut world, vec![(5, again)]).done.len(), 1);
    assert!(upf(&mut world).upf.n3.take_output().is_empty());
}

#[test]
fn each_session_of_an_indication_is_confirmed_or_refused_by_its_cause() {
    let mut world = plain();
    for session in [6, 7] {
        establish(&mut world, 0, session, &wanted(SessionType::Ipv4));
    }
    let to = |teid| wants((end(teid), vec![1]), vec![]);
    let sessions = vec![
        (5, to(0x501)),
        (6, vec![0xff; 3]),
        (7, to(0x701)),
        (7, to(0x702)),
        (9, to(0x901)),
    ];
    let before = [teid(&world, 6), teid(&world, 7)];
    let results = indicate(&mut world, sessions);
    assert_eq!(results.done.len(), 1);
    let mut causes = refused(&results);
    causes.sort_by_key(|(session, _)| *session);
    let expected = [
        (6, Cause::SEMANTIC_ERROR),
        (7, Cause::SESSION_TWICE),
        (9, Cause::UNKNOWN_SESSION),
    ];
    assert_eq!(causes, expected);
    for (session, teid) in [(5, 0x501), (6, before[0]), (7, before[1])] {
        let ue = address(&world, 0, session);
        assert_eq!(goes_down(&mut world, ue), Some(teid), "{session}");
    }
}

/// All flows of a session have one tunnel.
#[test]
fn flows_that_are_to_part_stay_together_where_they_are() {
    let mut world = plain();
    start(&mut world, voice(64_000)).unwrap();
    let ue = address(&world, 0, 5);
    let before = teid(&world, 5);
    let (one, other) = (end(0x501), end(0x502));
    for (what, cause) in [
        (
            wants((one, vec![1]), vec![(other, vec![2])]),
            Cause::NO_USER_PLANE_RESOURCES,
        ),
        (
            wants((one, vec![2]), vec![]),
            Cause::NO_USER_PLANE_RESOURCES,
        ),
        (wants((end(0), vec![1, 2]), vec![]), Cause::SEMANTIC_ERROR),
    ] {
        let results = indicate(&mut world, vec![(5, what)]);
        assert_eq!(refused(&results), [(5, cause)]);
        assert_eq!(goes_down(&mut world, ue), Some(before));
    }
    // The same tunnel twice is one, and a flow that is not there is told of.
    let parts = wants((one, vec![1]), vec![(one, vec![2, 9])]);
    let results = indicate(&mut world, vec![(5, parts)]);
    let confirm = ModifyConfirm::decode(&results.done[0].1).unwrap();
    assert_eq!((confirm.qfis, confirm.failed), (vec![1, 2], vec![9]));
    assert_eq!(goes_down(&mut world, ue), Some(one.teid));
}

#[test]
fn a_upf_that_does_not_follow_leaves_packets_where_they_came() {
    for fate in [Fate::Refused, Fate::Lost] {
        let mut world = plain();
        let (ue, before) = (address(&world, 0, 5), teid(&world, 5));
        upf(&mut world).all = Some((MODIFICATION, fate));
        let octets = world.gnb.move_sessions(at(&world, 0), &[5]).unwrap();
        world.tell_amf(&octets);
        world.run();
        let mut answers = world.gnb.take_confirms();
        for _ in 0..100 {
            if !answers.is_empty() {
                break;
            }
            assert!(world.wait());
            answers = world.gnb.take_confirms();
        }
        // The AMF waits less long for an SMF elsewhere than that for its UPF.
        let cause = match (fate, apart::wanted()) {
            (Fate::Lost, Some(Wiring::Http2)) => Cause::CONTROL_PROCESSING_OVERLOAD,
            _ => Cause::NO_USER_PLANE_RESOURCES,
        };
        assert_eq!(refused(&answers[0]), [(5, cause)], "{fate:?}");
        upf(&mut world).all = None;
        assert_eq!(goes_down(&mut world, ue), Some(before), "{fate:?}");
        // One that has not answered is told anew.
        for _ in 0..100 {
            if world.core.smf().unwrap().procedures().is_empty() {
                break;
            }
            assert!(world.wait());
        }
        assert!(world.core.smf().unwrap().procedures().is_empty());
        assert_eq!(goes_down(&mut world, ue), Some(before), "{fate:?}");
        // It is followed the next time.
        assert_eq!(moves(&mut world, 5).done.len(), 1);
        let after = teid(&world, 5);
        assert_eq!(goes_down(&mut world, ue), Some(after));
    }
}

/// A gNB is answered, and the next indications are served, whatever becomes of the SMF's answer.
#[test]
fn an_smf_that_does_not_answer_leaves_packets_where_they_came() {
    let mut world = plain();
    let (ue, before) = (address(&world, 0, 5), teid(&world, 5));
    world.core.cut_off(&[Nf::Smf]);
    for _ in 0..6 {
        let octets = world.gnb.move_sessions(at(&world, 0), &[5]).unwrap();
        world.tell_amf(&octets);
        world.run();
        pass(&mut world, 20);
        world.now.instant = world.now.instant.plus_ms(20_000);
        world.core.time(world.now);
        world.run();
        let results = world.gnb.take_confirms().pop().unwrap();
        assert_eq!(refused(&results), [(5, Cause::CONTROL_PROCESSING_OVERLOAD)]);
        assert_eq!(goes_down(&mut world, ue), Some(before));
    }
    world.core.cut_off(&[]);
    assert_eq!(moves(&mut world, 5).done.len(), 1);
}

/// What a UPF answers when the UE has gone meanwhile is told to nobody.
#[test]
fn an_indication_that_crosses_a_release_is_confirmed_to_nobody() {
    let mut world = plain();
    upf(&mut world).next = Some((MODIFICATION, 0, Fate::Late));
    let octets = world.gnb.move_sessions(at(&world, 0), &[5]).unwrap();
    world.tell_amf(&octets);
    world.run();
    go_idle(&mut world, 0);
    for octets in std::mem::take(&mut upf(&mut world).kept) {
        world.core.n4(world.now, crate::world::N4, &octets);
    }
    world.run();
    assert!(world.gnb.take_confirms().is_empty());
    // The UE is idle: its packets page it.
    world.call_flow.0.clear();
    let ue = address(&world, 0, 5);
    goes_down(&mut world, ue);
    assert!(
        world.call_flow.to_string().contains("Paging"),
        "{}",
        world.call_flow
    );
    assert!(goes_up(&mut world, 0, 5));
    // One without user plane has no packets that could come elsewhere.
    go_idle(&mut world, 0);
    come_back(&mut world, 0);
    let results = moves(&mut world, 5);
    assert_eq!(refused(&results), [(5, Cause::UNKNOWN_SESSION)]);
}

#[test]
fn flows_move_before_and_after_a_handover() {
    let mut two = Two::new(&[5]);
    assert_eq!(moves(&mut two.world, 5).done.len(), 1);
    two.assert_flows(5);
    two.by_xn();
    two.assert_flows(5);
    assert_eq!(moves(&mut two.world, 5).done.len(), 1);
    two.assert_flows(5);
    // While the target is asked.
    two.goes = false;
    two.ask_n2(false);
    assert_eq!(moves(&mut two.world, 5).done.len(), 1);
    two.assert_flows(5);
    two.arrive();
    two.settle();
    two.assert_flows(5);
}
