//! Responses about sessions and handovers that cannot be used, and transfers that contradict themselves (TS 38.413,
//! 10.3.5 and 10.4): what they are about has failed, at once.

use sluice_n1::SessionType;
use sluice_n2::{Admitted, PathSwitch};
use sluice_n2::{
    Cause, FromRan, HandoverFromRan, ModifyResponse, PduSessionModifyResponse,
    PduSessionSetupResponse, SetupResponse,
};
use sluice_ue::HandoverAnswer;

use crate::flows::voice;
use crate::harness::*;
use crate::modification::{flows, plain, start};
use crate::two_gnbs::Two;
use crate::world::TestNetwork;

/// The outcome of a procedure of the AMF that names the UE, whose RAN UE NGAP ID stands twice.
fn with_name_twice(code: u8, amf: u64, ran: u32) -> Vec<u8> {
    let name = |ie: u8, value: u8| [0, ie, 0x40, 2, 0, value];
    let ies = [
        name(10, amf as u8),
        name(85, ran as u8),
        name(85, ran as u8),
    ]
    .concat();
    let head = [0x20, code, 0, ies.len() as u8 + 3, 0, 0, 3];
    [&head[..], &ies].concat()
}

/// The last message of the gNB of this kind, which was lost.
fn setup_response(world: &TestNetwork, session: u8, flows: &[u8], failed: &[u8]) -> Vec<u8> {
    let ran = at(world, 0);
    let response = SetupResponse {
        downlink: radio(world, 0, session).unwrap().downlink,
        qfis: flows.to_vec(),
        failed: failed.to_vec(),
        security: None,
    };
    let sessions = sluice_n2::SessionResults {
        done: vec![(session, response.encode())],
        failed: Vec::new(),
    };
    let ids = (world.gnb.amf_id(ran).unwrap(), ran);
    FromRan::PduSessionSetupResponse(PduSessionSetupResponse { ids, sessions }).encode()
}

#[test]
fn a_session_setup_whose_response_cannot_be_used_has_failed() {
    let mut world = world(&[1]);
    world.ue_mut(0).follow_on = true;
    world.register(0);
    let begin = world.now.instant;
    world.lose_n2 = |octets| octets.starts_with(&[0x20, 29]);
    establish(&mut world, 0, 5, &wanted(SessionType::Ipv4));
    world.lose_n2 = |_| false;
    assert!(radio(&world, 0, 5).is_some());
    let ran = at(&world, 0);
    let amf = world.gnb.amf_id(ran).unwrap();
    world.tell_amf(&with_name_twice(29, amf.0, ran.0));
    world.run();
    assert_no_session(&mut world);
    assert!(radio(&world, 0, 5).is_none(), "{}", world.call_flow);
    assert_eq!(world.now.instant, begin, "no timer");
}

#[test]
fn a_preparation_whose_acknowledge_cannot_be_used_has_failed() {
    let mut two = Two::new(&[5]);
    two.other.is_silent = true;
    two.ask_n2(false);
    assert_eq!(two.world.amf().procedures(), ["10"]);
    let asked = two.asked_as();
    let begin = two.world.now.instant;
    two.tell_other(&with_name_twice(13, asked.0, 1));
    two.run();
    let refused = HandoverAnswer::Refused(Cause::FALSELY_CONSTRUCTED);
    assert_eq!(two.answers, [refused]);
    assert!(two.world.amf().procedures().is_empty());
    assert_eq!(two.world.now.instant, begin, "no timer");
    two.assert_flows(5);
}

/// A flow twice, and one that is set up and is not.
#[test]
fn a_setup_that_names_a_flow_twice_is_none() {
    for (done, failed) in [(&[1, 1][..], &[][..]), (&[1], &[1])] {
        let mut world = world(&[1]);
        world.ue_mut(0).follow_on = true;
        world.register(0);
        world.lose_n2 = |octets| octets.starts_with(&[0x20, 29]);
        establish(&mut world, 0, 5, &wanted(SessionType::Ipv4));
        world.lose_n2 = |_| false;
        let octets = setup_response(&world, 5, done, failed);
        world.tell_amf(&octets);
        world.run();
        let call_flow = world.call_flow.to_string();
        assert!(
            call_flow.contains("PDU Session Release Command"),
            "{call_flow}"
        );
        assert_no_session(&mut world);
    }
}

#[test]
fn a_path_switch_of_a_session_that_names_a_flow_twice_fails() {
    let mut two = Two::new(&[5]);
    two.by_xn_with(|request| {
        for (_, transfer) in &mut request.switched {
            let mut told = PathSwitch::decode(transfer).unwrap();
            told.qfis = vec![1, 1];
            *transfer = told.encode();
        }
    });
    assert_eq!(two.answers, [HandoverAnswer::NotSwitched]);
    assert_eq!(two.world.amf().registered(), 1);
}

#[test]
fn a_target_that_admits_a_flow_twice_admits_nothing() {
    let mut two = Two::new(&[5]);
    two.goes = false;
    two.other.is_silent = true;
    two.ask_n2(false);
    let asked = two.asked_as();
    let admitted = Admitted {
        downlink: radio(&two.world, 0, 5).unwrap().downlink,
        forwarding: None,
        qfis: vec![1, 1],
        security: None,
    };
    let answer = sluice_n2::HandoverRequestAcknowledge {
        ids: (asked, sluice_n2::RanUeId(9)),
        admitted: vec![(5, admitted.encode())],
        failed: Vec::new(),
        container: vec![1],
    };
    let answer = FromRan::Handover(HandoverFromRan::RequestAcknowledge(Box::new(answer)));
    two.tell_other(&answer.encode());
    two.run();
    let refused = HandoverAnswer::Refused(Cause::NO_RADIO_RESOURCES);
    assert_eq!(two.answers, [refused]);
    two.assert_flows(5);
}

/// A modification that names its flow, or its session, twice: the flow is none, and the session stays.
#[test]
fn a_modification_that_names_a_flow_or_a_session_twice_is_none() {
    for is_session in [false, true] {
        let mut world = plain();
        let before = flows(&world);
        world.lose_n2 = |octets| octets.starts_with(&[0x20, 26]);
        start(&mut world, voice(64_000)).unwrap();
        world.lose_n2 = |_| false;
        let ran = at(&world, 0);
        let ids = (world.gnb.amf_id(ran).unwrap(), ran);
        let there = radio(&world, 0, 5).unwrap();
        let qfi = there.request.flows.last().unwrap().qfi;
        let done = match is_session {
            true => vec![qfi],
            false => vec![qfi, qfi],
        };
        let transfer = ModifyResponse {
            done,
            failed: Vec::new(),
        };
        let mut done = vec![(5, transfer.encode())];
        if is_session {
            done.push(done[0].clone());
        }
        let sessions = sluice_n2::SessionResults {
            done,
            failed: Vec::new(),
        };
        let response =
            FromRan::PduSessionModifyResponse(PduSessionModifyResponse { ids, sessions });
        world.tell_amf(&response.encode());
        world.run();
        assert!(world.core.smf().unwrap().procedures().is_empty());
        assert_eq!(flows(&world).2, before.2, "{}", world.call_flow);
        assert!(goes_up(&mut world, 0, 5));
    }
}
