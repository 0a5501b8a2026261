//! Buffering Action Rules and DROBU: how long a report waits, and what is held.

use super::bench::*;
use super::reports::{acts, idle, read, with};
use sluice_datapath::session::txn::{HeldOrder, Op};
use sluice_wire::ids::{BarId, FarId};
use sluice_wire::pfcp::group::{
    CreateBar, RemoveBar, UpdateBar, UpdateBarInSessionReportResponse, UpdateFar,
};
use sluice_wire::pfcp::message::*;
use sluice_wire::pfcp::value::*;
use sluice_wire::pfcp::{Cause, IeType};

/// A default session whose FAR 2 names BAR 1: 3 packets, and a delay in units of 50 ms.
fn with_bar(delay: u8) -> SessionEstablishmentRequest<'static> {
    let mut request = default_session(UE, 77);
    request.create_bar.push(CreateBar {
        bar_id: BarId(1),
        downlink_data_notification_delay: Some(NotificationDelay(delay)),
        suggested_buffering_packets_count: Some(3),
        ..Default::default()
    });
    request.create_far[1].bar_id = Some(BarId(1));
    request
}

/// Packets that the downlink may hold, as it was last written.
fn suggested(bench: &Bench) -> Option<u16> {
    let entry = bench.downlink_entry();
    let written = bench.ops.iter().rev().find_map(|op| match op {
        Op::Entry { at, image, .. } if *at == entry => Some(image.body.suggested()),
        _ => None,
    });
    written.expect("it was written")
}

fn discards(bench: &Bench) -> usize {
    let is_discard = |op: &&Op| {
        matches!(
            op,
            Op::Held {
                order: HeldOrder::Discard,
                ..
            }
        )
    };
    bench.ops.iter().filter(is_discard).count()
}

#[test]
fn a_bar_postpones_the_report_and_bounds_what_is_held() {
    let mut bench = Bench::new();
    // 40 times 50 ms.
    let seid = bench.establish(CP, &with_bar(40)).seid;
    bench.modify(CP, seid, &idle());
    assert_eq!(suggested(&bench), Some(3));
    let entry = bench.downlink_entry();
    assert!(bench.ring(entry, 0).is_empty(), "not yet");
    assert!(bench.passes(1).is_empty(), "not yet");
    let due = bench.up.next_deadline().expect("the report");
    assert!(due.0 <= (bench.now_s + 1) * 1_000_000_000);
    let report = bench.passes(1);
    assert_eq!(report.len(), 1);
    bench.answer(&report[0], &with(Cause::REQUEST_ACCEPTED));
    // A UE that comes back in time is not told of.
    bench.modify(CP, seid, &idle());
    bench.ring(entry, 0);
    bench.modify(CP, seid, &acts(ApplyAction::FORW));
    assert!(bench.passes(3).is_empty());
    // Other numbers, and no BAR: the configuration's, and at once.
    let mut change = idle();
    change.update_bar.push(UpdateBar {
        bar_id: BarId(1),
        suggested_buffering_packets_count: Some(0),
        ..Default::default()
    });
    assert_eq!(
        bench.modify(CP, seid, &change).cause,
        Cause::REQUEST_ACCEPTED
    );
    assert_eq!(suggested(&bench), Some(0));
    let mut change = SessionModificationRequest::default();
    change.remove_bar.push(RemoveBar { bar_id: BarId(1) });
    let refused = bench.modify(CP, seid, &change);
    assert_eq!(
        (refused.cause, refused.offending),
        (
            Cause::RULE_CREATION_MODIFICATION_FAILURE,
            Some(IeType::BAR_ID)
        ),
        "a FAR names it"
    );
    bench.delete(CP, seid);
    bench.assert_well_spoken();
    bench.assert_vacant();
}

#[test]
fn bars_that_are_not_there_are_refused_by_name() {
    let mut bench = Bench::new();
    let failure = Cause::RULE_CREATION_MODIFICATION_FAILURE;
    let mut request = with_bar(0);
    request.create_bar.clear();
    let done = bench.establish(CP, &request);
    assert_eq!(
        (done.cause, done.offending),
        (failure, Some(IeType::BAR_ID))
    );
    let seid = bench.establish(CP, &with_bar(0)).seid;
    let before = bench.fingerprint();
    let mut unknown = SessionModificationRequest::default();
    unknown.update_bar.push(UpdateBar {
        bar_id: BarId(2),
        ..Default::default()
    });
    let mut twice = SessionModificationRequest::default();
    twice.create_bar.push(CreateBar {
        bar_id: BarId(1),
        ..Default::default()
    });
    let mut names_another = SessionModificationRequest::default();
    names_another.update_far.push(UpdateFar {
        far_id: FarId(2),
        bar_id: Some(Edit::Set(BarId(2))),
        ..Default::default()
    });
    for change in [unknown, twice, names_another] {
        assert_eq!(bench.modify(CP, seid, &change).cause, failure);
        assert_eq!(bench.fingerprint(), before);
    }
    bench.delete(CP, seid);
    bench.assert_vacant();
}

#[test]
fn held_packets_are_dropped_before_the_rest_of_the_message() {
    let mut bench = Bench::new();
    let seid = bench.establish(CP, &with_bar(0)).seid;
    bench.modify(CP, seid, &idle());
    bench.ops.clear();
    let mut change = acts(ApplyAction::FORW);
    change.pfcpsmreq_flags = Some(SessionModificationRequestFlags::DROBU);
    assert_eq!(
        bench.modify(CP, seid, &change).cause,
        Cause::REQUEST_ACCEPTED
    );
    assert_eq!(discards(&bench), 1);
    assert!(matches!(bench.ops[0], Op::Held { .. }), "{:?}", bench.ops);
    bench.ops.clear();
    change.update_far.clear();
    bench.modify(CP, seid, &change);
    assert_eq!(discards(&bench), 0, "nothing is held");
    bench.delete(CP, seid);
    bench.assert_vacant();
}

#[test]
fn the_answer_to_a_report_changes_what_is_held() {
    let mut bench = Bench::new();
    let seid = bench.establish(CP, &with_bar(0)).seid;
    bench.modify(CP, seid, &idle());
    let entry = bench.downlink_entry();
    let report = bench.ring(entry, 0);
    let update = |id, packets| UpdateBarInSessionReportResponse {
        bar_id: BarId(id),
        downlink_data_notification_delay: Some(NotificationDelay(20)),
        suggested_buffering_packets_count: Some(packets),
        ..Default::default()
    };
    let mut response = with(Cause::REQUEST_ACCEPTED);
    response.update_bar.extend([update(1, 7), update(9, 5)]);
    bench.answer(&report[0], &response);
    assert_eq!(suggested(&bench), Some(7));
    assert_eq!(discards(&bench), 0);
    // The delay holds from the next report on, and DROBU drops.
    bench.modify(CP, seid, &idle());
    assert!(bench.ring(entry, 0).is_empty());
    let report = bench.passes(1);
    assert_eq!(read(&report[0]).1.report_type, ReportType::DLDR);
    let mut response = with(Cause::REQUEST_ACCEPTED);
    response.pfcpsrrsp_flags = Some(SessionReportResponseFlags::DROBU);
    bench.answer(&report[0], &response);
    assert_eq!(discards(&bench), 1);
    bench.delete(CP, seid);
    bench.assert_vacant();
}
