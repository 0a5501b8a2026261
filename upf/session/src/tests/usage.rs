//! Usage: whose it is, when it is reported, and that none is lost or counted twice.

use super::bench::*;
use sluice_datapath::session::txn::Usage;
use sluice_wire::ids::{PdrId, Seid, UrrId};
use sluice_wire::pfcp::Cause;
use sluice_wire::pfcp::group::{QueryUrr, RemoveUrr, UpdatePdr};
use sluice_wire::pfcp::message::SessionModificationRequest;
use sluice_wire::pfcp::value::*;

type Change = SessionModificationRequest<'static>;

const TERMR: UsageReportTrigger = UsageReportTrigger::TERMR;
const IMMER: UsageReportTrigger = UsageReportTrigger::IMMER;

/// URR 1 for both directions, URR 2 for the downlink alone, with packets.
fn measured(bench: &mut Bench) -> Seid {
    let mut request = default_session(UE, 1);
    request.create_urr.push(urr(1));
    request
        .create_urr
        .push(sluice_wire::pfcp::group::CreateUrr {
            measurement_information: Some(MeasurementInformation::MNOP),
            ..urr(2)
        });
    request.create_pdr[0].urr_id.push(UrrId(1));
    request.create_pdr[1].urr_id.extend([UrrId(1), UrrId(2)]);
    let seid = bench.establish(CP, &request).seid;
    bench.traffic = Usage {
        bytes: 100,
        packets: 2,
    };
    seid
}

fn report(urr: u32, sequence: u32, trigger: UsageReportTrigger, up: u64, down: u64) -> Report {
    Report {
        urr,
        sequence,
        trigger,
        uplink: up,
        downlink: down,
        packets: None,
    }
}

#[test]
fn deletion_reports_every_urr_once() {
    let mut bench = Bench::new();
    let seid = measured(&mut bench);
    let (cause, reports) = bench.delete(CP, seid);
    assert_eq!(cause, Cause::REQUEST_ACCEPTED);
    let second = Report {
        packets: Some(2),
        ..report(2, 0, TERMR, 0, 100)
    };
    assert_eq!(reports, [report(1, 0, TERMR, 100, 100), second]);
    bench.assert_vacant();
}

#[test]
fn a_query_takes_usage_and_leaves_the_rules_alone() {
    let mut bench = Bench::new();
    let seid = measured(&mut bench);
    let mut query = Change::default();
    query.query_urr.push(QueryUrr { urr_id: UrrId(2) });
    let reports = bench.modify(CP, seid, &query).reports;
    assert_eq!(
        (reports.len(), reports[0].downlink, reports[0].trigger),
        (1, 100, IMMER)
    );
    // What URR 1 shares of the downlink was taken with it and is not lost.
    let all = Change {
        pfcpsmreq_flags: Some(SessionModificationRequestFlags::QAURR),
        ..Default::default()
    };
    let reports = bench.modify(CP, seid, &all).reports;
    assert_eq!(reports[0], report(1, 0, IMMER, 100, 200));
    assert_eq!((reports[1].sequence, reports[1].downlink), (1, 100));
    let view = bench.up.session(seid.0).unwrap();
    assert_eq!(
        (view.summary.uplink.bytes, view.summary.downlink.bytes),
        (100, 200)
    );
    bench.delete(CP, seid);
    bench.assert_vacant();
}

#[test]
fn a_urr_that_goes_or_is_left_by_its_last_pdr_reports_its_end() {
    let mut bench = Bench::new();
    let seid = measured(&mut bench);
    let mut change = Change::default();
    let mut update = UpdatePdr {
        pdr_id: PdrId(2),
        ..Default::default()
    };
    update.urr_id.push(Edit::Set(UrrId(1)));
    change.update_pdr.push(update.clone());
    let reports = bench.modify(CP, seid, &change).reports;
    assert_eq!(
        (reports.len(), reports[0].urr, reports[0].trigger),
        (1, 2, TERMR)
    );
    assert_eq!(reports[0].downlink, 100);
    let mut change = Change::default();
    update.urr_id.clear();
    update.urr_id.push(Edit::Remove);
    change.update_pdr.push(update);
    change.update_pdr.push(UpdatePdr {
        pdr_id: PdrId(1),
        urr_id: [Edit::Remove].into_iter().collect(),
        ..Default::default()
    });
    change.remove_urr.extend([
        RemoveUrr { urr_id: UrrId(1) },
        RemoveUrr { urr_id: UrrId(2) },
    ]);
    let reports = bench.modify(CP, seid, &change).reports;
    assert_eq!(reports[0], report(1, 0, TERMR, 100, 200));
    assert_eq!((reports[1].sequence, reports[1].downlink), (1, 0));
    assert!(bench.delete(CP, seid).1.is_empty());
    bench.assert_vacant();
}

#[test]
fn usage_in_flight_goes_to_the_rules_that_counted_it() {
    let mut bench = Bench::new();
    let seid = measured(&mut bench);
    let kind = sluice_wire::pfcp::MessageType::SESSION_MODIFICATION_REQUEST;
    let query = Change {
        pfcpsmreq_flags: Some(SessionModificationRequestFlags::QAURR),
        ..Default::default()
    };
    // The query is under way when the deletion comes.
    let bytes = bench.message(kind, Some(seid), |w| query.emit(w));
    bench.put(CP, &bytes);
    let (_, reports) = bench.delete(CP, seid);
    assert_eq!(reports[0], report(1, 1, TERMR, 100, 100));
    bench.assert_vacant();
}

#[test]
fn inactive_measurement_adds_nothing_and_resumes() {
    use sluice_wire::pfcp::group::UpdateUrr;
    let mut bench = Bench::new();
    let seid = measured(&mut bench);
    let switch = |information| {
        let mut change = Change::default();
        change.update_urr.push(UpdateUrr {
            urr_id: UrrId(1),
            measurement_information: Some(Edit::Set(information)),
            ..Default::default()
        });
        change
    };
    bench.modify(CP, seid, &switch(MeasurementInformation::INAM));
    bench.modify(CP, seid, &switch(MeasurementInformation::NONE));
    let (_, reports) = bench.delete(CP, seid);
    // 100 before the pause and 100 after it; what was taken at its end belongs to nobody.
    assert_eq!((reports[0].uplink, reports[0].downlink), (200, 200));
}

#[test]
fn an_operators_query_brings_the_totals() {
    let mut bench = Bench::new();
    let seid = measured(&mut bench);
    assert!(bench.up.query(seid.0, 42, &mut bench.out));
    bench.settle();
    let notices: Vec<_> = std::iter::from_fn(|| bench.up.next_event()).collect();
    assert!(notices.contains(&crate::SessionEvent::Queried(42)));
    assert_eq!(
        bench.up.session(seid.0).unwrap().summary.downlink.packets,
        2
    );
    assert!(!bench.up.query(seid.0 + 1, 43, &mut bench.out));
}
