//! Usage Reports that sessions make by themselves: why, once each, none lost, and numbered without a gap.

use super::bench::*;
use super::reports::{read, with};
use core::net::Ipv4Addr;
use sluice_datapath::bells::{Bell, BellCause};
use sluice_datapath::session::txn::{Op, Usage};
use sluice_datapath::session::usage_record::{LostRests, NEVER, Restart, UrrState};
use sluice_wire::ids::{Seid, UrrId};
use sluice_wire::pfcp::group::{CreateUrr, QueryUrr, UpdateUrr};
use sluice_wire::pfcp::message::SessionModificationRequest;
use sluice_wire::pfcp::value::*;
use sluice_wire::pfcp::{Cause, Header, MessageType};

type Change = SessionModificationRequest<'static>;
type Trigger = UsageReportTrigger;

/// free5GC's default: every ten seconds, and after 1,000 octets of a direction.
fn free5gc_urr(id: u32) -> CreateUrr<'static> {
    CreateUrr {
        reporting_triggers: ReportingTriggers::PERIO | ReportingTriggers::VOLTH,
        measurement_period: Some(Seconds(10)),
        volume_threshold: Some(Volume {
            uplink: Some(1_000),
            downlink: Some(1_000),
            total: None,
        }),
        ..urr(id)
    }
}

/// A session with these URRs on both PDRs; two octets and a packet come back with each taking operation.
fn session(bench: &mut Bench, urrs: impl IntoIterator<Item = CreateUrr<'static>>) -> Seid {
    let mut request = default_session(UE, 77);
    for urr in urrs {
        for pdr in &mut request.create_pdr {
            pdr.urr_id.push(urr.urr_id);
        }
        request.create_urr.push(urr);
    }
    let done = bench.establish(CP, &request);
    assert_eq!(done.cause, Cause::REQUEST_ACCEPTED);
    bench.traffic = Usage {
        bytes: 2,
        packets: 1,
    };
    done.seid
}

/// A worker rings for the URRs of the session; gives the reports that are sent.
pub fn ring(bench: &mut Bench, marks: UrrState) -> Vec<Vec<u8>> {
    let (now, wall) = (bench.now(), bench.wall());
    let bell = Bell {
        entry: bench.downlink_entry(),
        cause: BellCause::Usage,
    };
    bench.marks = marks;
    let sent = bench.sent_by(|bench| {
        (bench.up).bell(now, wall, &bell, &mut bench.net, &mut bench.out);
        bench.settle();
    });
    bench.marks = UrrState::default();
    sent
}

/// URR, number, trigger, octets of both directions.
fn told(report: &[u8]) -> Vec<(u32, u32, Trigger, [u64; 2])> {
    let (to, request) = read(report);
    assert_eq!(to, Some(Seid(77)));
    assert_eq!(request.report_type, ReportType::USAR);
    let reports = request.usage_report.iter().map(super::bench::report);
    reports
        .map(|r| (r.urr, r.sequence, r.trigger, [r.uplink, r.downlink]))
        .collect()
}

fn accept(bench: &mut Bench, report: &[u8]) -> Vec<Vec<u8>> {
    bench.answer(report, &with(Cause::REQUEST_ACCEPTED))
}

#[test]
fn periods_are_reported_one_after_the_other() {
    let mut bench = Bench::new();
    let seid = session(&mut bench, [free5gc_urr(1)]);
    assert!(bench.passes(9).is_empty());
    let first = bench.passes(1);
    assert_eq!(told(&first[0]), [(1, 0, Trigger::PERIO, [2, 2])]);
    assert!(accept(&mut bench, &first[0]).is_empty());
    assert!(bench.passes(9).is_empty());
    // Two periods and a half at once are one report, and the next comes in time.
    let second = bench.passes(16);
    assert_eq!(told(&second[0]), [(1, 1, Trigger::PERIO, [2, 2])]);
    accept(&mut bench, &second[0]);
    let third = bench.passes(5);
    assert_eq!(told(&third[0]), [(1, 2, Trigger::PERIO, [2, 2])]);
    accept(&mut bench, &third[0]);
    let (_, last) = bench.delete(CP, seid);
    assert_eq!((last[0].sequence, last[0].trigger), (3, Trigger::TERMR));
    assert!(bench.passes(60).is_empty());
    bench.assert_well_spoken();
    bench.assert_vacant();
}

#[test]
fn a_period_goes_on_while_the_urr_gets_a_quota() {
    let mut bench = Bench::new();
    let periodic = CreateUrr {
        reporting_triggers: ReportingTriggers::PERIO,
        volume_threshold: None,
        ..free5gc_urr(1)
    };
    let seid = session(&mut bench, [periodic]);
    assert!(bench.passes(4).is_empty());
    let mut change = Change::default();
    change.update_urr.push(UpdateUrr {
        urr_id: UrrId(1),
        volume_quota: Some(Edit::Set(Volume {
            total: Some(900),
            ..Volume::default()
        })),
        ..UpdateUrr::default()
    });
    bench.modify(CP, seid, &change);
    assert!(bench.passes(5).is_empty());
    let report = bench.passes(1);
    assert_eq!(told(&report[0])[0].2, Trigger::PERIO);
    bench.assert_well_spoken();
}

#[test]
fn a_urr_that_a_message_creates_and_updates_begins_its_period() {
    let mut bench = Bench::new();
    let seid = session(&mut bench, [urr(1)]);
    let mut change = Change::default();
    change.create_urr.push(free5gc_urr(2));
    change.update_urr.push(UpdateUrr {
        urr_id: UrrId(2),
        measurement_information: Some(Edit::Set(MeasurementInformation::NONE)),
        ..UpdateUrr::default()
    });
    bench.modify(CP, seid, &change);
    assert!(bench.passes(9).is_empty());
    let report = bench.passes(1);
    assert_eq!(told(&report[0]), [(2, 0, Trigger::PERIO, [0, 0])]);
    bench.assert_well_spoken();
}

#[test]
fn what_becomes_due_while_a_report_is_under_way_goes_with_the_next() {
    let mut bench = Bench::new();
    session(&mut bench, [free5gc_urr(1), free5gc_urr(2)]);
    let first = ring(&mut bench, UrrState::THRESHOLD);
    let both = [
        (1, 0, Trigger::VOLTH, [2, 2]),
        (2, 0, Trigger::VOLTH, [2, 2]),
    ];
    assert_eq!(told(&first[0]), both);
    assert!(ring(&mut bench, UrrState::THRESHOLD).is_empty());
    bench.now_s += 1;
    let second = accept(&mut bench, &first[0]);
    assert_eq!(told(&second[0])[0], (1, 1, Trigger::VOLTH, [2, 2]));
    assert!(ring(&mut bench, UrrState::default()).is_empty());
    assert!(accept(&mut bench, &second[0]).is_empty(), "nothing is due");
    let period = bench.passes(9);
    assert_eq!(told(&period[0])[1], (2, 2, Trigger::PERIO, [4, 4]));
    bench.assert_well_spoken();
}

#[test]
fn a_report_that_nobody_answers_is_made_again_with_all_that_followed() {
    let mut bench = Bench::new();
    session(&mut bench, [free5gc_urr(1)]);
    let first = bench.passes(10);
    assert_eq!(told(&first[0]), [(1, 0, Trigger::PERIO, [2, 2])]);
    let mut again = Vec::new();
    for _ in 0..120 {
        again.extend(bench.passes(1).into_iter().filter(|sent| *sent != first[0]));
    }
    // The peer is silent: it is told when it is there again.
    assert!(again.is_empty());
    bench.associate(CP2);
    let state = &bench.up.node.part;
    assert_eq!(
        (
            state.reports.counters().pending,
            state.resources.sent.used()
        ),
        (1, 0)
    );
    let meter = state.resources.meters.get(0).unwrap();
    assert_eq!(
        meter.due_report(None).1.ur_seqn,
        0,
        "its number is not used up"
    );
    let total = meter.due_report(None).1.volume_measurement.unwrap().total;
    assert_eq!(total, Some(4 * 13), "thirteen periods");
}

#[test]
fn a_session_that_the_cp_function_does_not_know_loses_no_usage_until_it_ends() {
    let mut bench = Bench::new();
    session(&mut bench, [free5gc_urr(1)]);
    let mut sent = bench.passes(10);
    for times in 0..3 {
        assert_eq!(told(&sent[0])[0].1, 0, "{times}");
        bench.answer(&sent[0], &with(Cause::SESSION_CONTEXT_NOT_FOUND));
        sent = bench.passes(1);
    }
    assert_eq!(bench.up.session_count(), 0);
    bench.assert_vacant();
}

#[test]
fn quotas_and_first_packets_are_told_of_if_the_urr_asks() {
    let mut bench = Bench::new();
    let all = ReportingTriggers::VOLQU | ReportingTriggers::START;
    let quota = |id, triggers| CreateUrr {
        reporting_triggers: triggers,
        volume_quota: Some(Volume {
            total: Some(5),
            ..Volume::default()
        }),
        ..urr(id)
    };
    let none = ReportingTriggers::NONE;
    let seid = session(&mut bench, [quota(1, all), quota(2, none)]);
    let marks = UrrState::QUOTA.with(UrrState::STARTED);
    let sent = ring(&mut bench, marks);
    let trigger = Trigger::VOLQU | Trigger::START;
    assert_eq!(told(&sent[0]), [(1, 0, trigger, [2, 2])]);
    accept(&mut bench, &sent[0]);
    // What is told by an answer besides is not told again.
    let query = Change {
        query_urr: [QueryUrr { urr_id: UrrId(1) }].into_iter().collect(),
        ..Change::default()
    };
    bench.marks = marks;
    let (reports, sent) = {
        let mut reports = Vec::new();
        let sent = bench.sent_by(|bench| reports = bench.modify(CP, seid, &query).reports);
        (reports, sent)
    };
    bench.marks = UrrState::default();
    assert_eq!(reports[0].trigger, trigger | Trigger::IMMER);
    assert!(sent.is_empty());
    bench.delete(CP, seid);
    bench.assert_vacant();
}

#[test]
fn a_cell_stands_for_each_urr_that_waits_for_octets() {
    let mut bench = Bench::new();
    let seid = session(&mut bench, [urr(1), free5gc_urr(2)]);
    assert_eq!(bench.up.in_use().usage_records, 1);
    let images = |bench: &Bench| -> Vec<_> {
        let cells = bench.ops.iter().filter_map(|op| match op {
            Op::Record { image, .. } => Some(*image),
            _ => None,
        });
        cells.collect()
    };
    let cells = images(&bench);
    assert_eq!(cells.len(), 1);
    assert_eq!(cells[0].threshold, [1_000, 1_000, NEVER]);
    assert_eq!(cells[0].quota, Some([NEVER; 3]));
    // A quota: the threshold goes on, the quota begins.
    bench.ops.clear();
    let mut change = Change::default();
    change.update_urr.push(UpdateUrr {
        urr_id: UrrId(2),
        volume_quota: Some(Edit::Set(Volume {
            total: Some(9),
            ..Volume::default()
        })),
        ..UpdateUrr::default()
    });
    bench.modify(CP, seid, &change);
    let cells = images(&bench);
    assert_eq!(cells[0].restart, Restart::IfMarked(UrrState::THRESHOLD));
    assert_eq!(cells[0].quota, Some([NEVER, NEVER, 9]));
    // Neither: the cell goes.
    change.update_urr[0] = UpdateUrr {
        urr_id: UrrId(2),
        volume_quota: Some(Edit::Remove),
        volume_threshold: Some(Edit::Remove),
        ..UpdateUrr::default()
    };
    bench.modify(CP, seid, &change);
    assert_eq!(bench.up.in_use().usage_records, 0);
    bench.delete(CP, seid);
    bench.assert_vacant();
}

#[test]
fn lost_packets_are_told_of_where_a_urr_asks() {
    let mut bench = Bench::new();
    let threshold = |packets| DroppedDlTrafficThreshold {
        downlink_packets: Some(packets),
        downlink_octets: Some(9_000),
    };
    let asks = CreateUrr {
        reporting_triggers: ReportingTriggers::DROTH,
        dropped_dl_traffic_threshold: Some(threshold(7)),
        ..urr(1)
    };
    // A threshold alone is none.
    let without = CreateUrr {
        reporting_triggers: ReportingTriggers::VOLTH,
        volume_threshold: free5gc_urr(2).volume_threshold,
        ..asks.clone()
    };
    let without = CreateUrr {
        urr_id: UrrId(2),
        ..without
    };
    let seid = session(&mut bench, [asks, without]);
    // What became of the two cells last.
    let images = |bench: &Bench| -> [_; 2] {
        let cells = bench.ops.iter().rev().filter_map(|op| match op {
            Op::Record { image, .. } => Some((image.lost, image.restarts_lost)),
            _ => None,
        });
        let [second, first]: [_; 2] = cells.take(2).collect::<Vec<_>>().try_into().unwrap();
        [first, second]
    };
    let first = LostRests::new(Some(7), Some(9_000));
    assert_eq!(images(&bench), [(first, true), (LostRests::NEVER, true)]);
    let sent = ring(&mut bench, UrrState::LOST);
    assert_eq!(told(&sent[0])[0], (1, 0, Trigger::DROTH, [2, 2]));
    accept(&mut bench, &sent[0]);
    assert_eq!(images(&bench), [(first, false), (LostRests::NEVER, false)]);
    let mut change = Change::default();
    change.update_urr.push(UpdateUrr {
        urr_id: UrrId(1),
        dropped_dl_traffic_threshold: Some(Edit::Set(threshold(8))),
        ..UpdateUrr::default()
    });
    bench.modify(CP, seid, &change);
    let second = LostRests::new(Some(8), Some(9_000));
    assert_eq!(images(&bench)[0], (second, true));
    bench.delete(CP, seid);
    bench.assert_vacant();
}

/// Periods of many sessions that end together leave room for requests, and all of them are measured.
#[test]
fn measurements_of_many_sessions_leave_room_for_requests() {
    const SESSIONS: u8 = 40;
    let mut bench = Bench::with(|c| c.transactions = 16);
    for n in 0..SESSIONS {
        let mut request = default_session(Ipv4Addr::new(10, 45, 1, n), u64::from(n) + 1);
        for pdr in &mut request.create_pdr {
            pdr.urr_id.push(UrrId(1));
        }
        request.create_urr.push(CreateUrr {
            reporting_triggers: ReportingTriggers::PERIO,
            measurement_period: Some(Seconds(60)),
            ..urr(1)
        });
        assert_eq!(bench.establish(CP, &request).cause, Cause::REQUEST_ACCEPTED);
    }
    bench.now_s += 60;
    let (now, wall) = (bench.now(), bench.wall());
    bench.up.tick(now, wall, &mut bench.net, &mut bench.out);
    assert_eq!(bench.out.txns.len(), 2, "an eighth of those that may go");
    let done = bench.establish(CP, &default_session(UE, 99));
    assert_eq!(done.cause, Cause::REQUEST_ACCEPTED);
    let sent = bench.sent_by(Bench::tick);
    let reports = sent.iter().chain(bench.spoken.iter().map(|(_, b)| b));
    let reports = reports.filter(|bytes| {
        let (header, _) = Header::parse(bytes).unwrap();
        header.message_type == MessageType::SESSION_REPORT_REQUEST
    });
    assert_eq!(reports.count(), usize::from(SESSIONS));
}
