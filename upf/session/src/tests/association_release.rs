//! The last usage before an association is released (EPFAR).

use super::bench::*;
use crate::SessionEvent;
use core::net::Ipv4Addr;
use sluice_datapath::session::txn::Usage;
use sluice_wire::ids::{Seid, UrrId};
use sluice_wire::pfcp::message::*;
use sluice_wire::pfcp::value::*;
use sluice_wire::pfcp::{Cause, Header, MessageType, write_message};

const TRAFFIC: Usage = Usage {
    bytes: 100,
    packets: 2,
};

/// A CP function that can, with so many sessions, of which only the first is measured.
fn with_sessions(sessions: u8, features: CpFunctionFeatures) -> Bench {
    let mut bench = Bench::new();
    let request = AssociationSetupRequest {
        node_id: NodeId::V4(CP),
        recovery_time_stamp: NtpTime(7),
        cp_function_features: Some(features),
        ..Default::default()
    };
    let kind = MessageType::ASSOCIATION_SETUP_REQUEST;
    bench.ask(CP, kind, None, |w| request.emit(w)).unwrap();
    for i in 1..=sessions {
        let mut request = default_session(Ipv4Addr::new(10, 45, 0, i), u64::from(i));
        if i == 1 {
            request.create_urr.push(urr(5));
            request.create_pdr[0].urr_id.push(UrrId(5));
            request.create_pdr[1].urr_id.push(UrrId(5));
        }
        assert_eq!(bench.establish(CP, &request).cause, Cause::REQUEST_ACCEPTED);
    }
    bench.out.datagrams.clear();
    bench
}

fn announce(bench: &mut Bench) {
    let request = AssociationUpdateRequest {
        node_id: NodeId::V4(CP),
        pfcpaureq_flags: Some(AssociationUpdateRequestFlags::PARPS),
        ..Default::default()
    };
    let kind = MessageType::ASSOCIATION_UPDATE_REQUEST;
    let bytes = bench.message(kind, None, |w| request.emit(w));
    bench.put(CP, &bytes);
    bench.settle();
}

/// What was sent since it was last asked, of one type.
fn sent(bench: &mut Bench, kind: MessageType) -> Vec<(Header, Vec<u8>)> {
    let all = std::mem::take(&mut bench.out.datagrams);
    bench.spoken.extend(all.iter().cloned());
    let all = all.into_iter();
    let read = all.map(|(_, bytes)| {
        let (header, body) = Header::parse(&bytes).unwrap();
        (header, body.to_vec())
    });
    read.filter(|(header, _)| header.message_type == kind)
        .collect()
}

fn answer(bench: &mut Bench, report: &Header) {
    let response = SessionReportResponse {
        cause: Cause::REQUEST_ACCEPTED,
        ..Default::default()
    };
    let header = Header {
        message_type: MessageType::SESSION_REPORT_RESPONSE,
        ..*report
    };
    let mut bytes = vec![0; 200];
    let len = write_message(&mut bytes, &header, |w| response.emit(w)).unwrap();
    bench.put(CP, &bytes[..len]);
    bench.settle();
}

fn says_that_all_is_sent(body: &[u8]) -> bool {
    let update = AssociationUpdateRequest::parse(body).unwrap();
    let flags = update.pfcp_association_release_request;
    flags.is_some_and(|f| f.contains(AssociationReleaseRequestFlags::URSS))
}

fn release(mut bench: Bench) {
    let request = AssociationReleaseRequest {
        node_id: NodeId::V4(CP),
    };
    let kind = MessageType::ASSOCIATION_RELEASE_REQUEST;
    bench.ask(CP, kind, None, |w| request.emit(w)).unwrap();
    assert!(bench.up.is_released() && !bench.up.reports_before_release());
    bench.assert_vacant();
}

#[test]
fn an_announced_release_brings_the_last_usage_of_each_session() {
    let mut bench = with_sessions(3, CpFunctionFeatures::EPFAR);
    bench.traffic = TRAFFIC;
    announce(&mut bench);
    assert_eq!(bench.up.session_count(), 0);
    let reports = sent(&mut bench, MessageType::SESSION_REPORT_REQUEST);
    let [(header, body)] = &reports[..] else {
        panic!("one session is measured: {reports:?}");
    };
    assert_eq!(header.seid, Some(Seid(1)));
    let report = SessionReportRequest::parse(body).unwrap();
    assert_eq!(report.report_type, ReportType::USAR);
    let flags = report.pfcpsrreq_flags.unwrap();
    assert!(flags.contains(SessionReportRequestFlags::PSDBU));
    let usage = &report.usage_report[0];
    assert_eq!(usage.usage_report_trigger, UsageReportTrigger::TEBUR);
    assert_eq!(usage.volume_measurement.unwrap().total, Some(200));
    // Only when it is answered nothing more is to come.
    bench.tick();
    assert_eq!(
        sent(&mut bench, MessageType::ASSOCIATION_UPDATE_REQUEST),
        []
    );
    answer(&mut bench, header);
    let updates = sent(&mut bench, MessageType::ASSOCIATION_UPDATE_REQUEST);
    assert!(updates.len() == 1 && says_that_all_is_sent(&updates[0].1));
    assert!(bench.up.reports_before_release());
    bench.assert_well_spoken();
    release(bench);
}

#[test]
fn sessions_without_usage_end_without_a_word_and_no_new_ones_begin() {
    let mut bench = with_sessions(200, CpFunctionFeatures::EPFAR);
    announce(&mut bench);
    assert_eq!(bench.up.session_count(), 0);
    let refused = bench.message(
        MessageType::SESSION_ESTABLISHMENT_REQUEST,
        Some(Seid(0)),
        |w| default_session(UE, 201).emit(w),
    );
    let updates = sent(&mut bench, MessageType::ASSOCIATION_UPDATE_REQUEST);
    assert!(updates.len() == 1 && says_that_all_is_sent(&updates[0].1));
    let response = bench.ask_bytes(CP, &refused).unwrap();
    let (_, body) = Header::parse(&response).unwrap();
    let response = SessionEstablishmentResponse::parse(body).unwrap();
    assert_eq!(response.cause, Cause::NO_RESOURCES_AVAILABLE);
    release(bench);
}

#[test]
fn a_report_without_an_answer_is_given_up_and_told() {
    let mut bench = with_sessions(1, CpFunctionFeatures::EPFAR);
    bench.traffic = TRAFFIC;
    announce(&mut bench);
    sent(&mut bench, MessageType::SESSION_REPORT_REQUEST);
    let mut notices = Vec::new();
    for _ in 0..6 {
        bench.now_s += 1;
        bench.tick();
        notices.extend(std::iter::from_fn(|| bench.up.next_event()));
    }
    let failed = |n: &SessionEvent| matches!(n, SessionEvent::ReportFailed(_, None));
    assert_eq!(notices.iter().filter(|n| failed(n)).count(), 1);
    let updates = sent(&mut bench, MessageType::ASSOCIATION_UPDATE_REQUEST);
    assert!(says_that_all_is_sent(&updates[0].1));
    release(bench);
}

#[test]
fn at_the_end_of_our_graceful_period_we_announce_it_ourselves() {
    let mut bench = with_sessions(1, CpFunctionFeatures::EPFAR);
    bench.traffic = TRAFFIC;
    let (now, wall) = (bench.now(), bench.wall());
    bench
        .up
        .begin_release(now, wall, 2, &mut bench.net, &mut bench.out);
    bench.tick();
    assert_eq!(sent(&mut bench, MessageType::SESSION_REPORT_REQUEST), []);
    assert_eq!(bench.up.session_count(), 1);
    bench.now_s += 3;
    bench.tick();
    let all = bench.out.datagrams.clone();
    let updates = sent(&mut bench, MessageType::ASSOCIATION_UPDATE_REQUEST);
    let announced = updates.iter().any(|(_, body)| {
        let update = AssociationUpdateRequest::parse(body).unwrap();
        let flags = update.pfcpaureq_flags.unwrap_or_default();
        flags.contains(AssociationUpdateRequestFlags::PARPS)
    });
    assert!(announced);
    bench.out.datagrams = all;
    let reports = sent(&mut bench, MessageType::SESSION_REPORT_REQUEST);
    answer(&mut bench, &reports[0].0);
    let updates = sent(&mut bench, MessageType::ASSOCIATION_UPDATE_REQUEST);
    assert!(says_that_all_is_sent(&updates[0].1));
    release(bench);
}

#[test]
fn a_cp_function_that_cannot_keeps_its_sessions_until_it_releases() {
    let mut bench = with_sessions(1, CpFunctionFeatures::NONE);
    let (now, wall) = (bench.now(), bench.wall());
    bench
        .up
        .begin_release(now, wall, 2, &mut bench.net, &mut bench.out);
    bench.now_s += 3;
    bench.tick();
    assert_eq!(bench.up.session_count(), 1);
    let mut notices = std::iter::from_fn(|| bench.up.next_event());
    assert!(notices.any(|n| matches!(n, SessionEvent::NotReleased(_))));
    assert!(!bench.up.reports_before_release());
    release(bench);
}
