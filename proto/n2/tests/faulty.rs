//! Messages that break the rules of TS 38.413, 10, and what each procedure answers.

use sluice_n2::{
    AmfUeId, Cause, Ended, ErrorIndication, FromAmf, FromRan, HandoverFromAmf, HandoverFromRan,
    HandoverPreparationFailure, PathSwitchRequest, PathSwitchRequestFailure, RanUeId, first_twice,
};

const IDS: (AmfUeId, RanUeId) = (AmfUeId(5), RanUeId(7));

/// A PDU that begins a procedure with these IEs.
fn begins(code: u8, ies: &[&[u8]]) -> Vec<u8> {
    let all = ies.concat();
    let head = [0, code, 0, all.len() as u8 + 3, 0, 0, ies.len() as u8];
    [&head[..], &all].concat()
}

const AMF: &[u8] = &[0, 10, 0, 2, 0, 5];
const RAN: &[u8] = &[0, 85, 0, 2, 0, 7];
/// Handover Type, intra5gs.
const KIND: &[u8] = &[0, 29, 0, 1, 0];

fn answer(octets: &[u8]) -> FromAmf {
    let faulty = FromRan::decode(octets).expect_err("it is broken");
    assert!(!faulty.what.is_empty());
    FromAmf::decode(&faulty.answer.expect("never in silence")).expect("a message")
}

#[test]
fn a_broken_request_ends_in_the_unsuccessful_outcome_of_its_procedure() {
    // Handover Required without its target, sessions and container.
    let told = answer(&begins(12, &[AMF, RAN, KIND]));
    let failure = HandoverFromAmf::PreparationFailure(HandoverPreparationFailure {
        ids: IDS,
        cause: Cause::ABSTRACT_SYNTAX_REJECT,
    });
    assert_eq!(told, FromAmf::Handover(failure));
    // RAN Configuration Update whose areas cannot be read.
    let told = answer(&begins(35, &[&[0, 102, 0, 1, 0xff]]));
    assert!(
        matches!(told, FromAmf::RanConfigurationUpdateFailure(_)),
        "{told:?}"
    );
    // Path Switch Request with its RAN UE NGAP ID twice.
    let request = PathSwitchRequest {
        ran: IDS.1,
        source: IDS.0,
        location: None,
        capability: [0x70, 0x70, 0, 0],
        switched: vec![(3, vec![1]), (4, vec![2])],
        failed: Vec::new(),
    };
    let whole = FromRan::Handover(HandoverFromRan::PathSwitchRequest(Box::new(request))).encode();
    let mut octets = [&whole[..7], RAN, &whole[7..]].concat();
    octets[3] += RAN.len() as u8;
    octets[6] += 1;
    let told = answer(&octets);
    let FromAmf::Handover(HandoverFromAmf::PathSwitchRequestFailure(PathSwitchRequestFailure {
        ids,
        released,
    })) = told
    else {
        panic!("{told:?}");
    };
    assert_eq!(ids, IDS);
    let released: Vec<u8> = released.iter().map(|(session, _)| *session).collect();
    assert_eq!(released, [3, 4]);
}

/// Where that lacks what the outcome needs, and of procedures that have none.
#[test]
fn a_broken_message_without_an_outcome_is_answered_by_error_indication_with_the_names_that_it_has()
{
    let nothing: &[&[u8]] = &[];
    for code in [10, 11, 12, 15, 20, 25, 27, 30, 42, 44, 46, 49] {
        let told = answer(&begins(code, nothing));
        assert!(
            matches!(told, FromAmf::ErrorIndication(_)),
            "{code}: {told:?}"
        );
    }
    for (ies, amf, ran) in [
        (&[AMF, RAN][..], Some(IDS.0), Some(IDS.1)),
        (&[AMF][..], Some(IDS.0), None),
        (&[RAN][..], None, Some(IDS.1)),
    ] {
        let FromAmf::ErrorIndication(told) = answer(&begins(46, ies)) else {
            panic!("another answer");
        };
        assert_eq!(told.cause, Some(Cause::ABSTRACT_SYNTAX_REJECT));
        assert_eq!((told.amf, told.ran), (amf, ran));
    }
}

#[test]
fn what_is_at_fault_is_told_by_name() {
    let what = |octets: &[u8]| FromRan::decode(octets).expect_err("broken");
    let faulty = what(&begins(46, &[AMF, RAN]));
    assert_eq!(faulty.procedure, "Uplink NAS Transport");
    assert!(faulty.what.contains("is missing"), "{}", faulty.what);
    let faulty = what(&begins(46, &[AMF, AMF, RAN]));
    assert!(faulty.what.contains("stands twice"), "{}", faulty.what);
    assert_eq!(faulty.cause, Cause::FALSELY_CONSTRUCTED);
}

/// UE Context Release Complete, whose IEs have the criticality "ignore", as UERANSIM sends it for AMF UE NGAP ID 0.
#[test]
fn a_response_without_a_name_is_told_by_what_it_lacks_and_not_answered() {
    let mut octets = begins(41, &[&[0, 85, 0x40, 2, 0, 7]]);
    octets[0] = 0x20;
    let faulty = FromRan::decode(&octets).expect_err("whose is it?");
    assert_eq!(faulty.what, "AMF-UE-NGAP-ID (IE 10) is missing");
    assert_eq!(faulty.cause, Cause::ABSTRACT_SYNTAX_NOTIFY);
    assert_eq!((faulty.connection.ran, faulty.answer), (Some(IDS.1), None));
    assert_eq!(faulty.ends, Some(Ended::ContextRelease));
}

/// Criticality "notify" (10.3.4.2): the message is processed, and its sender hears of the IE.
#[test]
fn an_ie_that_is_left_out_is_told_to_its_sender_who_wants_to_know() {
    let unknown: &[u8] = &[0xff, 0xf0, 0x80, 1, 0];
    let ignored: &[u8] = &[0xff, 0xf0, 0x40, 1, 0];
    let cause: &[u8] = &[0, 15, 0x40, 2, 0x05, 0];
    for (ie, is_told) in [(unknown, true), (ignored, false)] {
        let octets = begins(42, &[AMF, RAN, cause, ie]);
        let (message, notice) = FromRan::decode_and_notify(&octets).expect("processed");
        assert!(matches!(message, FromRan::UeContextReleaseRequest(_)));
        assert_eq!(notice.is_some(), is_told);
        if let Some(notice) = notice {
            let told = FromAmf::decode(&notice.answer.expect("an answer"));
            let Ok(FromAmf::ErrorIndication(ErrorIndication { cause, .. })) = told else {
                panic!("{told:?}");
            };
            assert_eq!(cause, Some(Cause::ABSTRACT_SYNTAX_NOTIFY));
        }
    }
}

#[test]
fn a_session_that_stands_twice_is_found_in_one_list_and_in_two() {
    let list = |sessions: &[u8]| sessions.iter().map(|one| (*one, vec![*one])).collect();
    let (one, other): (Vec<_>, Vec<_>) = (list(&[1, 2]), list(&[3, 255]));
    assert_eq!(first_twice(&[&one, &other]), None);
    assert_eq!(first_twice(&[&one, &list(&[4, 2])]), Some(2));
    assert_eq!(first_twice(&[&list(&[255, 255])]), Some(255));
}

/// In one list, and in two: a transfer that contradicts itself says nothing (10.4).
#[test]
fn a_transfer_that_names_a_flow_twice_is_none() {
    use sluice_n2::notify::Notified;
    use sluice_n2::{
        Admitted, ModifyIndication, ModifyResponse, PathSwitch, SetupResponse, Tunnel,
    };
    let downlink = Tunnel {
        ipv4: Some([192, 0, 2, 1].into()),
        ipv6: None,
        teid: 9,
    };
    for (done, more) in [(&[1, 5][..], &[6][..]), (&[1, 1], &[6]), (&[1, 5], &[5])] {
        let (qfis, failed) = (done.to_vec(), more.to_vec());
        let is_once = done != [1, 1] && more == [6];
        let setup = SetupResponse {
            downlink,
            qfis: qfis.clone(),
            failed: failed.clone(),
            security: None,
        };
        assert_eq!(SetupResponse::decode(&setup.encode()).is_some(), is_once);
        let modify = ModifyResponse {
            done: qfis.clone(),
            failed: failed.clone(),
        };
        assert_eq!(ModifyResponse::decode(&modify.encode()).is_some(), is_once);
        let notified = Notified {
            released: qfis.clone(),
            unfulfilled: Vec::new(),
            fulfilled: failed.clone(),
        };
        assert_eq!(Notified::decode(&notified.encode()).is_some(), is_once);
        let indication = ModifyIndication {
            first: (downlink, qfis.clone()),
            others: vec![(downlink, failed)],
            security: None,
        };
        let read = ModifyIndication::decode(&indication.encode());
        assert_eq!(read.is_some(), is_once);
        let is_once = done != [1, 1];
        let switch = PathSwitch {
            downlink,
            qfis: qfis.clone(),
            security: None,
        };
        assert_eq!(PathSwitch::decode(&switch.encode()).is_some(), is_once);
        let admitted = Admitted {
            downlink,
            forwarding: None,
            qfis,
            security: None,
        };
        assert_eq!(Admitted::decode(&admitted.encode()).is_some(), is_once);
    }
}
