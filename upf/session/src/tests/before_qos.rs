//! Measurement before QoS enforcement (MBQE): what gates and bit rates drop is credited to the URRs that ask.

use super::bench::*;
use super::usage_reports::ring;
use sluice_datapath::session::txn::{Op, Usage};
use sluice_datapath::session::usage_record::UrrState;
use sluice_wire::ids::{PdrId, Seid, UrrId};
use sluice_wire::pfcp::group::{CreateUrr, QueryUrr, RemoveUrr, UpdatePdr, UpdateUrr, UsageReport};
use sluice_wire::pfcp::message::*;
use sluice_wire::pfcp::value::*;
use sluice_wire::pfcp::{Cause, Header, MessageType};

/// Takes what was dropped, and says so.
fn taken(bench: &Bench) -> usize {
    let takes = |op: &&Op| matches!(op, Op::TakeDrops { .. });
    bench.ops.iter().filter(takes).count()
}

#[test]
fn what_was_dropped_is_credited_to_urrs_that_measure_before_qos_enforcement() {
    let mut bench = Bench::without_heartbeats();
    let mut request = default_session(UE, 77);
    let before = CreateUrr {
        measurement_information: Some(MeasurementInformation::MBQE),
        ..urr(1)
    };
    for urr in [before, urr(2)] {
        for pdr in &mut request.create_pdr {
            pdr.urr_id.push(urr.urr_id);
        }
        request.create_urr.push(urr);
    }
    let done = bench.establish(CP, &request);
    assert_eq!(done.cause, Cause::REQUEST_ACCEPTED);
    // So much comes back with each operation that takes usage.
    bench.traffic = Usage {
        bytes: 2,
        packets: 1,
    };
    let all = SessionModificationRequest {
        pfcpsmreq_flags: Some(SessionModificationRequestFlags::QAURR),
        ..Default::default()
    };
    bench.ops.clear();
    let reports = bench.modify(CP, done.seid, &all).reports;
    assert_eq!(taken(&bench), 2);
    let octets = reports.iter().map(|r| (r.urr, r.uplink, r.downlink));
    assert_eq!(octets.collect::<Vec<_>>(), [(1, 4, 4), (2, 2, 2)]);
    // From the next message on it counts what passes, with what was dropped until then.
    let mut change = SessionModificationRequest::default();
    change.update_urr.push(UpdateUrr {
        urr_id: UrrId(1),
        measurement_information: Some(Edit::Set(MeasurementInformation::NONE)),
        ..UpdateUrr::default()
    });
    let changed = bench.modify(CP, done.seid, &change);
    assert_eq!(changed.cause, Cause::REQUEST_ACCEPTED);
    bench.ops.clear();
    let (_, last) = bench.delete(CP, done.seid);
    assert_eq!(taken(&bench), 0);
    let octets = last.iter().map(|r| (r.urr, r.uplink, r.downlink));
    assert_eq!(octets.collect::<Vec<_>>(), [(1, 6, 6), (2, 4, 4)]);
    bench.assert_vacant();
}

/// A session as free5GC asks for it: two URRs that measure before QoS enforcement, with a threshold.
fn measured_before_qos(bench: &mut Bench) -> Seid {
    let mut request = default_session(UE, 77);
    for id in [1, 2] {
        let urr = CreateUrr {
            measurement_information: Some(MeasurementInformation::MBQE),
            reporting_triggers: ReportingTriggers::PERIO | ReportingTriggers::VOLTH,
            measurement_period: Some(Seconds(10)),
            volume_threshold: Some(Volume {
                total: None,
                uplink: Some(1_000),
                downlink: Some(1_000),
            }),
            ..urr(id)
        };
        for pdr in &mut request.create_pdr {
            pdr.urr_id.push(urr.urr_id);
        }
        request.create_urr.push(urr);
    }
    bench.establish(CP, &request).seid
}

/// What every report of the session tells of where and when it was measured.
fn informed(reports: &[UsageReport<'_>]) -> Vec<(u32, Option<UsageInformation>, Option<u32>)> {
    let all = reports.iter();
    all.map(|r| (r.urr_id.0, r.usage_information, r.query_urr_reference))
        .collect()
}

/// free5GC, live: its decoder gives up a whole message with an IE that it does not expect there.
#[test]
fn no_report_tells_apart_what_was_measured_at_one_place() {
    let mut bench = Bench::without_heartbeats();
    let seid = measured_before_qos(&mut bench);
    let sent = ring(&mut bench, UrrState::THRESHOLD);
    let (_, body) = Header::parse(&sent[0]).unwrap();
    let report = SessionReportRequest::parse(body).unwrap();
    let unasked = [(1, None, None), (2, None, None)];
    assert_eq!(informed(&report.usage_report), unasked);
    // The query has a reference; a URR that goes by the same message was not asked.
    let mut change = SessionModificationRequest {
        query_urr_reference: Some(9),
        ..SessionModificationRequest::default()
    };
    change.query_urr.push(QueryUrr { urr_id: UrrId(1) });
    change.remove_urr.push(RemoveUrr { urr_id: UrrId(2) });
    for pdr in [1, 2] {
        let mut pdr = UpdatePdr {
            pdr_id: PdrId(pdr),
            ..UpdatePdr::default()
        };
        pdr.urr_id.push(Edit::Set(UrrId(1)));
        change.update_pdr.push(pdr);
    }
    let kind = MessageType::SESSION_MODIFICATION_REQUEST;
    let answer = bench.ask(CP, kind, Some(seid), |w| change.emit(w)).unwrap();
    let (_, body) = Header::parse(&answer).unwrap();
    let response = SessionModificationResponse::parse(body).unwrap();
    let asked = [(1, None, Some(9)), (2, None, None)];
    assert_eq!(informed(&response.usage_report), asked);
    let kind = MessageType::SESSION_DELETION_REQUEST;
    let answer = bench.ask(CP, kind, Some(seid), |_| Ok(())).unwrap();
    let (_, body) = Header::parse(&answer).unwrap();
    let response = SessionDeletionResponse::parse(body).unwrap();
    assert_eq!(informed(&response.usage_report), [(1, None, None)]);
}
