//! Monitoring Time: usage in two reports, and what holds from then on (TS 29.244, 5.2.2.2).

use super::bench::*;
use super::reports::{read, with};
use sluice_datapath::session::txn::{Op, Usage};
use sluice_datapath::session::usage_record::{NEVER, RecordImage, Restart};
use sluice_wire::ids::{Seid, UrrId};
use sluice_wire::pfcp::group::{CreateUrr, QueryUrr, UpdateUrr};
use sluice_wire::pfcp::message::SessionModificationRequest;
use sluice_wire::pfcp::value::*;
use sluice_wire::pfcp::{Cause, IeType};

type Change = SessionModificationRequest<'static>;
type Trigger = UsageReportTrigger;

const BEF: Option<UsageInformation> = Some(UsageInformation::BEF);
const AFT: Option<UsageInformation> = Some(UsageInformation::AFT);

/// In so many seconds.
fn ahead(bench: &Bench, seconds: u32) -> Option<NtpTime> {
    Some(NtpTime(bench.wall().0.wrapping_add(seconds)))
}

fn octets(total: u64) -> Volume {
    Volume {
        total: Some(total),
        ..Volume::default()
    }
}

/// A session with this URR on both PDRs; so many octets and a packet come back with each taking operation.
fn session(bench: &mut Bench, urr: CreateUrr<'static>, bytes: u64) -> Seid {
    let mut request = default_session(UE, 77);
    for pdr in &mut request.create_pdr {
        pdr.urr_id.push(urr.urr_id);
    }
    request.create_urr.push(urr);
    let done = bench.establish(CP, &request);
    assert_eq!(done.cause, Cause::REQUEST_ACCEPTED);
    bench.traffic = Usage { bytes, packets: 1 };
    done.seid
}

type Told = (u32, Trigger, Option<UsageInformation>, u64);

/// Number, trigger, before or after, and octets of the reports in Session Report Requests.
fn told(sent: &[Vec<u8>]) -> Vec<Told> {
    let reports = sent.iter().flat_map(|sent| read(sent).1.usage_report);
    let told = reports.map(|report| {
        let octets = report.volume_measurement.and_then(|volume| volume.total);
        let part = report.usage_information;
        (
            report.ur_seqn,
            report.usage_report_trigger,
            part,
            octets.unwrap_or(0),
        )
    });
    told.collect()
}

fn periodic(bench: &Bench, monitoring_s: u32) -> CreateUrr<'static> {
    CreateUrr {
        reporting_triggers: ReportingTriggers::PERIO,
        measurement_period: Some(Seconds(10)),
        monitoring_time: ahead(bench, monitoring_s),
        ..urr(1)
    }
}

#[test]
fn usage_is_split_at_the_monitoring_time_and_told_with_the_next_report() {
    let mut bench = Bench::without_heartbeats();
    let began = bench.wall();
    let urr = periodic(&bench, 4);
    let seid = session(&mut bench, urr, 2);
    assert!(bench.passes(4).is_empty(), "it is no reason to report");
    let sent = bench.passes(6);
    let both = [(0, Trigger::MONIT, BEF, 4), (1, Trigger::PERIO, AFT, 4)];
    assert_eq!(told(&sent), both);
    let (_, request) = read(&sent[0]);
    let times = request.usage_report.iter();
    let times = times.map(|r| [r.start_time, r.end_time].map(|t| t.unwrap().0 - began.0));
    assert_eq!(times.collect::<Vec<_>>(), [[0, 4], [4, 10]]);
    bench.answer(&sent[0], &with(Cause::REQUEST_ACCEPTED));
    // It comes once.
    assert_eq!(told(&bench.passes(10)), [(2, Trigger::PERIO, None, 4)]);
    bench.delete(CP, seid);
    bench.assert_vacant();
}

#[test]
fn responses_tell_what_was_before_the_monitoring_time_too() {
    let mut bench = Bench::without_heartbeats();
    let urr = CreateUrr {
        monitoring_time: ahead(&bench, 3),
        ..urr(1)
    };
    let seid = session(&mut bench, urr, 5);
    assert!(bench.passes(7).is_empty());
    let mut change = Change::default();
    change.query_urr.push(QueryUrr { urr_id: UrrId(1) });
    let reports = bench.modify(CP, seid, &change).reports;
    let all = reports.iter().map(|r| (r.sequence, r.trigger, r.uplink));
    let both = [(0, Trigger::MONIT, 5), (1, Trigger::IMMER, 5)];
    assert_eq!(all.collect::<Vec<_>>(), both);
    let again = Change {
        update_urr: [UpdateUrr {
            urr_id: UrrId(1),
            monitoring_time: Some(Edit::Set(ahead(&bench, 1).unwrap())),
            ..UpdateUrr::default()
        }]
        .into_iter()
        .collect(),
        ..Change::default()
    };
    assert_eq!(
        bench.modify(CP, seid, &again).cause,
        Cause::REQUEST_ACCEPTED
    );
    assert!(bench.passes(2).is_empty());
    let (_, reports) = bench.delete(CP, seid);
    let all = reports.iter().map(|r| (r.sequence, r.trigger, r.uplink));
    let both = [(2, Trigger::MONIT, 5), (3, Trigger::TERMR, 5)];
    assert_eq!(all.collect::<Vec<_>>(), both);
    bench.assert_well_spoken();
    bench.assert_vacant();
}

/// What the URR's cell became last.
fn cell(bench: &Bench) -> RecordImage {
    let mut cells = bench.ops.iter().rev().filter_map(|op| match op {
        Op::Record { image, .. } => Some(*image),
        _ => None,
    });
    cells.next().expect("a cell was set")
}

#[test]
fn thresholds_and_quotas_after_the_monitoring_time_are_the_subsequent_ones() {
    let mut bench = Bench::without_heartbeats();
    let urr = CreateUrr {
        reporting_triggers: ReportingTriggers::VOLTH
            | ReportingTriggers::VOLQU
            | ReportingTriggers::TIMTH
            | ReportingTriggers::TIMQU,
        volume_threshold: Some(octets(1_000)),
        time_quota: Some(Seconds(2)),
        monitoring_time: ahead(&bench, 5),
        subsequent_volume_threshold: Some(octets(300)),
        subsequent_volume_quota: Some(octets(7_000)),
        subsequent_time_threshold: Some(Seconds(2)),
        subsequent_time_quota: Some(Seconds(3)),
        measurement_information: Some(MeasurementInformation::ISTM),
        ..urr(1)
    };
    let seid = session(&mut bench, urr, 0);
    assert_eq!(cell(&bench).threshold, [NEVER, NEVER, 1_000]);
    // The time quota ends after two seconds, and begins anew with the Monitoring Time.
    let sent = bench.passes(2);
    assert_eq!(told(&sent), [(0, Trigger::TIMQU, None, 0)]);
    assert!(cell(&bench).stops);
    bench.answer(&sent[0], &with(Cause::REQUEST_ACCEPTED));
    assert!(bench.passes(3).is_empty());
    let after = cell(&bench);
    assert!(!after.stops);
    assert_eq!(after.threshold, [NEVER, NEVER, 300]);
    assert_eq!(after.quota, Some([NEVER, NEVER, 7_000]));
    assert_eq!(after.restart, Restart::Now);
    let sent = bench.passes(2);
    let parts = told(&sent);
    assert_eq!(parts[0], (1, Trigger::MONIT, BEF, 0));
    assert_eq!(parts[1], (2, Trigger::TIMTH, AFT, 0));
    bench.answer(&sent[0], &with(Cause::REQUEST_ACCEPTED));
    assert_eq!(told(&bench.passes(1)), [(3, Trigger::TIMQU, None, 0)]);
    assert!(cell(&bench).stops);
    bench.delete(CP, seid);
    bench.assert_vacant();
}

#[test]
fn without_subsequent_ones_thresholds_and_quotas_go_on() {
    let mut bench = Bench::without_heartbeats();
    let urr = CreateUrr {
        reporting_triggers: ReportingTriggers::VOLTH | ReportingTriggers::VOLQU,
        volume_threshold: Some(octets(1_000)),
        volume_quota: Some(octets(9_000)),
        monitoring_time: ahead(&bench, 5),
        ..urr(1)
    };
    session(&mut bench, urr, 0);
    bench.passes(5);
    let after = cell(&bench);
    assert_eq!((after.quota, after.threshold[2]), (None, 1_000));
    assert!(matches!(after.restart, Restart::IfMarked(_)));
}

#[test]
fn a_monitoring_time_that_is_past_comes_at_once_and_one_that_is_removed_never() {
    let mut bench = Bench::without_heartbeats();
    let urr = periodic(&bench, 0);
    let seid = session(&mut bench, urr, 2);
    let sent = bench.passes(10);
    assert_eq!(told(&sent)[0].1, Trigger::MONIT);
    bench.answer(&sent[0], &with(Cause::REQUEST_ACCEPTED));
    for edit in [Edit::Set(ahead(&bench, 5).unwrap()), Edit::Remove] {
        let mut change = Change::default();
        change.update_urr.push(UpdateUrr {
            urr_id: UrrId(1),
            monitoring_time: Some(edit),
            ..UpdateUrr::default()
        });
        let done = bench.modify(CP, seid, &change);
        assert_eq!(done.cause, Cause::REQUEST_ACCEPTED);
    }
    assert_eq!(told(&bench.passes(10)), [(2, Trigger::PERIO, None, 4)]);
    bench.delete(CP, seid);
    bench.assert_vacant();
}

#[test]
fn a_session_has_as_many_urrs_as_a_message_tells_of_in_two_parts() {
    let mut bench = Bench::without_heartbeats();
    let mut request = default_session(UE, 77);
    for id in 1..=crate::limits::URRS as u32 / 2 {
        request.create_urr.push(CreateUrr {
            monitoring_time: ahead(&bench, 60),
            ..urr(id)
        });
    }
    let full = request.clone();
    request.create_urr.push(urr(200));
    let done = bench.establish(CP, &request);
    assert_eq!(done.cause, Cause::NO_RESOURCES_AVAILABLE);
    assert_eq!(done.offending, Some(IeType::MONITORING_TIME));
    assert_eq!(bench.establish(CP, &full).cause, Cause::REQUEST_ACCEPTED);
    let seid = bench.establish(CP, &full).seid;
    let (_, reports) = bench.delete(CP, seid);
    assert_eq!(reports.len(), crate::limits::URRS / 2);
}
