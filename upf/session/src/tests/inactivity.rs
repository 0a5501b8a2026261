//! The User Plane Inactivity Timer of a session (TS 29.244, 5.11).

use super::bench::*;
use super::reports::{read, with};
use sluice_datapath::bells::{Bell, BellCause};
use sluice_datapath::session::rule::Flags;
use sluice_datapath::session::token_bucket::Rate;
use sluice_datapath::session::txn::Op;
use sluice_datapath::session::usage_record::UrrState;
use sluice_wire::ids::{Seid, UrrId};
use sluice_wire::pfcp::Cause;
use sluice_wire::pfcp::message::SessionModificationRequest;
use sluice_wire::pfcp::value::*;

type Change = SessionModificationRequest<'static>;

/// A packet leaves now; `awaited`: the worker tells.
fn packet_leaves(bench: &mut Bench, awaited: bool) {
    let (now, wall) = (bench.now(), bench.wall());
    bench.left_ns = now.0;
    if awaited {
        let cause = BellCause::Usage;
        let entry = bench.downlink_entry();
        bench.marks = UrrState::RESUMED;
        let bell = Bell { entry, cause };
        (bench.up).bell(now, wall, &bell, &mut bench.net, &mut bench.out);
        bench.settle();
        (bench.marks, bench.left_ns) = Default::default();
    }
}

/// Time passes second by second; what is reported is taken.
fn reports(bench: &mut Bench, seconds: u64) -> Vec<ReportType> {
    let mut all = Vec::new();
    for _ in 0..seconds {
        for report in bench.passes(1) {
            let (to, request) = read(&report);
            assert_eq!(to, Some(Seid(77)));
            assert!(
                request.usage_report.is_empty() || request.report_type.contains(ReportType::USAR)
            );
            all.push(request.report_type);
            bench.answer(&report, &with(Cause::REQUEST_ACCEPTED));
        }
    }
    all
}

fn timer(time_s: Option<u32>) -> Change {
    Change {
        user_plane_inactivity_timer: Some(time_s.map_or(Edit::Remove, |s| Edit::Set(Seconds(s)))),
        ..Change::default()
    }
}

#[test]
fn a_session_without_packets_is_reported_once_until_packets_come() {
    let mut bench = Bench::without_heartbeats();
    let mut request = default_session(UE, 77);
    request.user_plane_inactivity_timer = Some(Seconds(20));
    let seid = bench.establish(CP, &request).seid;
    assert_eq!(bench.up.in_use().usage_records, 1);
    let noted = bench.ops.iter().filter(|op| match op {
        Op::Entry { image, .. } => {
            image.body.rate1 == Rate::STAMP && image.head.flags.has(Flags::FORWARD)
        }
        _ => false,
    });
    assert_eq!(noted.count(), 2, "both directions note their last packet");
    assert!(reports(&mut bench, 12).is_empty());
    // It is known when usage is taken.
    packet_leaves(&mut bench, false);
    assert!(reports(&mut bench, 8).is_empty());
    bench.left_ns = 0;
    assert!(reports(&mut bench, 11).is_empty());
    assert_eq!(reports(&mut bench, 1), [ReportType::UPIR]);
    assert!(reports(&mut bench, 100).is_empty(), "once");
    packet_leaves(&mut bench, true);
    assert!(reports(&mut bench, 19).is_empty());
    assert_eq!(reports(&mut bench, 1), [ReportType::UPIR]);
    // A message begins the timer anew, whatever it says; 0 and a null IE end it.
    bench.modify(CP, seid, &timer(Some(5)));
    assert!(reports(&mut bench, 4).is_empty());
    bench.modify(CP, seid, &timer(Some(5)));
    assert!(reports(&mut bench, 4).is_empty());
    assert_eq!(reports(&mut bench, 1), [ReportType::UPIR]);
    for end in [Some(0), None] {
        bench.modify(CP, seid, &timer(Some(5)));
        assert_eq!(bench.up.in_use().inactivity_timers, 1);
        bench.modify(CP, seid, &timer(end));
        assert!(reports(&mut bench, 60).is_empty());
        let in_use = bench.up.in_use();
        assert_eq!((in_use.inactivity_timers, in_use.usage_records), (0, 0));
    }
    bench.delete(CP, seid);
    bench.assert_well_spoken();
    bench.assert_vacant();
}

#[test]
fn inactivity_is_told_with_usage_and_told_again_until_it_is_answered() {
    let mut bench = Bench::without_heartbeats();
    let mut request = default_session(UE, 77);
    request.user_plane_inactivity_timer = Some(Seconds(10));
    request
        .create_urr
        .push(sluice_wire::pfcp::group::CreateUrr {
            reporting_triggers: ReportingTriggers::PERIO,
            measurement_period: Some(Seconds(10)),
            ..urr(1)
        });
    for pdr in &mut request.create_pdr {
        pdr.urr_id.push(UrrId(1));
    }
    let seid = bench.establish(CP, &request).seid;
    let first = bench.passes(10);
    let both = ReportType::USAR.union(ReportType::UPIR);
    assert_eq!(read(&first[0]).1.report_type, both);
    let again = bench.answer(&first[0], &with(Cause::SESSION_CONTEXT_NOT_FOUND));
    assert!(again.is_empty(), "in a moment");
    let again = bench.passes(1);
    assert_eq!(read(&again[0]).1.report_type, both);
    // A packet comes: there is no reason any more.
    bench.answer(&again[0], &with(Cause::SESSION_CONTEXT_NOT_FOUND));
    packet_leaves(&mut bench, true);
    let again = bench.passes(1);
    assert_eq!(read(&again[0]).1.report_type, ReportType::USAR);
    bench.delete(CP, seid);
    bench.assert_vacant();
}
