//! Usage Reports by time: thresholds and quotas of time, quotas that are not valid or not used any more, traffic
//! that has stopped.

use super::bench::*;
use super::reports::{read, with};
use sluice_datapath::bells::{Bell, BellCause};
use sluice_datapath::session::txn::Op;
use sluice_datapath::session::usage_record::{RecordImage, UrrState};
use sluice_wire::ids::{Seid, UrrId};
use sluice_wire::pfcp::Cause;
use sluice_wire::pfcp::group::{CreateUrr, QueryUrr, UpdateUrr};
use sluice_wire::pfcp::message::SessionModificationRequest;
use sluice_wire::pfcp::value::*;

type Change = SessionModificationRequest<'static>;
type Trigger = UsageReportTrigger;

/// A session with this URR on both PDRs.
fn session(bench: &mut Bench, urr: CreateUrr<'static>) -> Seid {
    let mut request = default_session(UE, 77);
    for pdr in &mut request.create_pdr {
        pdr.urr_id.push(urr.urr_id);
    }
    request.create_urr.push(urr);
    let done = bench.establish(CP, &request);
    assert_eq!(done.cause, Cause::REQUEST_ACCEPTED);
    done.seid
}

fn timed(triggers: ReportingTriggers) -> CreateUrr<'static> {
    CreateUrr {
        measurement_method: MeasurementMethod::DURAT,
        reporting_triggers: triggers,
        ..urr(1)
    }
}

/// A packet leaves now, by which time runs again.
fn packet_leaves(bench: &mut Bench) -> Vec<Vec<u8>> {
    let (now, wall) = (bench.now(), bench.wall());
    let bell = Bell {
        entry: bench.downlink_entry(),
        cause: BellCause::Usage,
    };
    (bench.marks, bench.left_ns) = (UrrState::RESUMED, now.0);
    let sent = bench.sent_by(|bench| {
        (bench.up).bell(now, wall, &bell, &mut bench.net, &mut bench.out);
        bench.settle();
    });
    (bench.marks, bench.left_ns) = Default::default();
    sent
}

/// Number, trigger, time of use.
fn told(reports: &[Vec<u8>]) -> Vec<(u32, Trigger, Option<u32>)> {
    let requests = reports
        .iter()
        .flat_map(|report| read(report).1.usage_report);
    let told = requests.map(|report| {
        let used = report.duration_measurement.map(|used| used.0);
        (report.ur_seqn, report.usage_report_trigger, used)
    });
    told.collect()
}

/// Time passes second by second, and all reports are taken.
fn passes(bench: &mut Bench, seconds: u64) -> Vec<(u32, Trigger, Option<u32>)> {
    let mut all = Vec::new();
    for _ in 0..seconds {
        let sent = bench.passes(1);
        all.extend(told(&sent));
        for report in sent {
            bench.answer(&report, &with(Cause::REQUEST_ACCEPTED));
        }
    }
    all
}

/// What the URR's cell became last.
fn cell(bench: &Bench) -> RecordImage {
    let mut cells = bench.ops.iter().rev().filter_map(|op| match op {
        Op::Record { image, .. } => Some(*image),
        _ => None,
    });
    cells.next().expect("a cell was set")
}

fn update(bench: &mut Bench, seid: Seid, urr: UpdateUrr<'static>) {
    let mut change = Change::default();
    change.update_urr.push(urr);
    let done = bench.modify(CP, seid, &change);
    assert_eq!(done.cause, Cause::REQUEST_ACCEPTED);
}

#[test]
fn thresholds_and_quotas_of_time_are_told_and_what_is_used_up_stops() {
    let mut bench = Bench::without_heartbeats();
    let urr = CreateUrr {
        time_threshold: Some(Seconds(5)),
        time_quota: Some(Seconds(12)),
        ..timed(ReportingTriggers::TIMTH | ReportingTriggers::TIMQU)
    };
    let seid = session(&mut bench, urr);
    assert!(cell(&bench).awaits_packet.if_none);
    assert!(passes(&mut bench, 60).is_empty(), "nothing was used");
    assert!(packet_leaves(&mut bench).is_empty());
    let both = [(0, Trigger::TIMTH, Some(5)), (1, Trigger::TIMTH, Some(5))];
    assert_eq!(passes(&mut bench, 11), both);
    assert!(!cell(&bench).stops);
    assert_eq!(passes(&mut bench, 1), [(2, Trigger::TIMQU, Some(2))]);
    assert!(cell(&bench).stops);
    assert!(passes(&mut bench, 60).is_empty(), "it is told once");
    update(
        &mut bench,
        seid,
        UpdateUrr {
            urr_id: UrrId(1),
            time_quota: Some(Edit::Set(Seconds(3))),
            ..UpdateUrr::default()
        },
    );
    assert!(!cell(&bench).stops && cell(&bench).awaits_packet.if_none);
    packet_leaves(&mut bench);
    assert_eq!(passes(&mut bench, 4), [(3, Trigger::TIMQU, Some(3))]);
    bench.delete(CP, seid);
    bench.assert_vacant();
}

#[test]
fn a_time_quota_of_0_lets_nothing_pass_and_is_told_once() {
    let mut bench = Bench::without_heartbeats();
    let urr = CreateUrr {
        time_quota: Some(Seconds(0)),
        ..timed(ReportingTriggers::TIMQU)
    };
    let seid = session(&mut bench, urr);
    let stops = |bench: &Bench| {
        let cells = bench.ops.iter().filter_map(|op| match op {
            Op::Record { image, .. } => Some(image.stops),
            _ => None,
        });
        cells.collect::<Vec<_>>()
    };
    assert!(stops(&bench)[0], "no packet passes before it is told");
    assert_eq!(passes(&mut bench, 1), [(0, Trigger::TIMQU, Some(0))]);
    assert!(cell(&bench).stops);
    assert!(passes(&mut bench, 60).is_empty());
    let quota = |seconds| UpdateUrr {
        urr_id: UrrId(1),
        time_quota: Some(Edit::Set(Seconds(seconds))),
        ..UpdateUrr::default()
    };
    update(&mut bench, seid, quota(3));
    assert!(!cell(&bench).stops);
    packet_leaves(&mut bench);
    assert!(passes(&mut bench, 2).is_empty());
    bench.ops.clear();
    update(&mut bench, seid, quota(0));
    assert!(stops(&bench).iter().all(|stops| *stops));
    assert_eq!(passes(&mut bench, 1), [(1, Trigger::TIMQU, Some(2))]);
    bench.delete(CP, seid);
    bench.assert_vacant();
}

#[test]
fn time_is_measured_between_packets_that_are_not_too_far_apart() {
    let mut bench = Bench::without_heartbeats();
    let urr = CreateUrr {
        inactivity_detection_time: Some(Seconds(4)),
        ..timed(ReportingTriggers::STOPT | ReportingTriggers::START)
    };
    let seid = session(&mut bench, urr);
    packet_leaves(&mut bench);
    assert!(passes(&mut bench, 3).is_empty());
    packet_leaves(&mut bench);
    assert!(passes(&mut bench, 3).is_empty());
    assert_eq!(passes(&mut bench, 1), [(0, Trigger::STOPT, Some(7))]);
    assert_eq!(cell(&bench).awaits_start, Some(true), "it may start again");
    assert!(cell(&bench).awaits_packet.if_none);
    assert!(passes(&mut bench, 60).is_empty());
    packet_leaves(&mut bench);
    bench.now_s += 2;
    let query = Change {
        query_urr: [QueryUrr { urr_id: UrrId(1) }].into_iter().collect(),
        ..Change::default()
    };
    let reports = bench.modify(CP, seid, &query).durations;
    assert_eq!(reports, [Some(2)]);
    bench.delete(CP, seid);
    bench.assert_vacant();
}

#[test]
fn quotas_that_are_not_valid_or_not_used_any_more_stop() {
    let mut bench = Bench::without_heartbeats();
    let urr = CreateUrr {
        measurement_method: MeasurementMethod::VOLUM,
        volume_quota: Some(Volume {
            total: Some(1_000_000),
            ..Volume::default()
        }),
        quota_validity_time: Some(Seconds(30)),
        quota_holding_time: Some(Seconds(10)),
        ..timed(ReportingTriggers::QUVTI | ReportingTriggers::QUHTI)
    };
    let seid = session(&mut bench, urr);
    let grant = |quota| UpdateUrr {
        urr_id: UrrId(1),
        volume_quota: quota,
        ..UpdateUrr::default()
    };
    passes(&mut bench, 8);
    packet_leaves(&mut bench);
    assert!(passes(&mut bench, 9).is_empty());
    assert_eq!(passes(&mut bench, 1), [(0, Trigger::QUHTI, None)]);
    assert!(cell(&bench).stops);
    let quota = Volume {
        total: Some(7),
        ..Volume::default()
    };
    update(&mut bench, seid, grant(Some(Edit::Set(quota))));
    assert!(!cell(&bench).stops);
    for _ in 0..5 {
        packet_leaves(&mut bench);
        assert!(passes(&mut bench, 5).is_empty());
    }
    packet_leaves(&mut bench);
    assert_eq!(passes(&mut bench, 5), [(1, Trigger::QUVTI, None)]);
    assert!(cell(&bench).stops);
    // Neither any more: it has no clock.
    let update_times = UpdateUrr {
        quota_validity_time: Some(Edit::Remove),
        quota_holding_time: Some(Edit::Set(Seconds(0))),
        ..grant(None)
    };
    update(&mut bench, seid, update_times);
    assert!(!cell(&bench).stops);
    assert_eq!(bench.up.in_use().clocks, 0);
    bench.delete(CP, seid);
    bench.assert_vacant();
}
