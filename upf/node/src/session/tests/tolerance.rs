//! What SMFs mean by what the TS leaves open, and what is admitted though nothing comes of it.

use super::bench::*;
use crate::session::MbrZero;
use sluice_path::line::Line;
use sluice_path::rule::Flags;
use sluice_path::txn::Op;
use sluice_wire::ids::{FarId, QerId};
use sluice_wire::pfcp::Cause;
use sluice_wire::pfcp::group::{UpdateFar, UpdateForwardingParameters, UpdateQer};
use sluice_wire::pfcp::message::SessionEstablishmentRequest;
use sluice_wire::pfcp::message::SessionModificationRequest as Change;
use sluice_wire::pfcp::value::*;

/// The lines that stand after the session was established.
fn lines(bench: &Bench) -> Vec<Line> {
    let lines = bench.ops.iter().filter_map(|op| match op {
        Op::Line { image, .. } => Some(*image),
        _ => None,
    });
    lines.collect()
}

/// The line of the default session's downlink.
fn downlink(bench: &Bench) -> Line {
    let lines = lines(bench);
    let line = lines.iter().find(|line| line.key == u32::from(UE));
    *line.expect("a line for the UE's address")
}

fn admitted(bench: &mut Bench, request: &SessionEstablishmentRequest<'_>) -> Established {
    let done = bench.establish(CP, request);
    assert_eq!(done.cause, Cause::REQUEST_ACCEPTED);
    done
}

fn zero_uplink_rate() -> Change<'static> {
    let mut change = Change::default();
    change.update_qer.push(UpdateQer {
        qer_id: QerId(1),
        maximum_bitrate: Some(Edit::Set(BitRate {
            uplink_kbps: 0,
            downlink_kbps: 20_000,
        })),
        ..Default::default()
    });
    change
}

#[test]
fn a_rate_of_zero_is_no_limit_or_a_closed_gate_as_configured() {
    for mbr_zero in [MbrZero::Unlimited, MbrZero::Closed] {
        let mut bench = Bench::with(|config| config.mbr_zero = mbr_zero);
        let done = admitted(&mut bench, &default_session(UE, 1));
        bench.ops.clear();
        bench.modify(CP, done.seid, &zero_uplink_rate());
        let [Op::Line { image, .. }] = bench.ops.as_slice() else {
            panic!("{:?}", bench.ops);
        };
        let flags = image.head.flags;
        assert!(flags.has(Flags::UPLINK), "the downlink is not touched");
        assert_eq!(flags.has(Flags::GATE_CLOSED), mbr_zero == MbrZero::Closed);
        assert!(!image.body.rate0.is_limited());
        bench.delete(CP, done.seid);
        bench.assert_vacant();
    }
}

#[test]
fn packets_are_marked_with_the_first_qfi_that_is_not_zero() {
    for (told, mark) in [
        ([Some(0), Some(9)], Some(9)),
        ([Some(9), Some(0)], Some(9)),
        ([None, Some(5)], Some(5)),
        ([Some(5), Some(9)], Some(5)),
        ([Some(0), None], Some(0)),
        ([None, None], None),
    ] {
        let mut bench = Bench::new();
        let mut request = default_session(UE, 1);
        request.create_qer.clear();
        for (id, qfi) in (1..).zip(told) {
            request.create_qer.push(qer(id, None, qfi));
        }
        request.create_pdr[1].qer_id.push(QerId(2));
        admitted(&mut bench, &request);
        let head = downlink(&bench).head;
        let marks = head.flags.has(Flags::MARK_QFI).then_some(head.qfi_mark);
        assert_eq!(marks, mark, "{told:?}");
    }
}

#[test]
fn the_n6_lan_is_n6_where_it_is_not_configured() {
    let mut bench = Bench::new();
    let mut request = default_session(UE, 1);
    let parameters = request.create_far[0].forwarding_parameters.as_mut();
    parameters.unwrap().destination_interface = DestinationInterface::SGI_LAN_N6_LAN;
    admitted(&mut bench, &request);
    let up = lines(&bench)
        .into_iter()
        .find(|l| l.head.flags.has(Flags::UPLINK));
    assert_eq!(up.unwrap().body.egress, EGRESS);
}

#[test]
fn rules_for_packets_of_the_cp_function_are_kept_without_a_line() {
    let mut bench = Bench::new();
    let mut request = default_session(UE, 1);
    let mut from_cp = uplink_pdr(3, 2);
    from_cp.pdi.source_interface = SourceInterface::CP_FUNCTION;
    request.create_pdr.push(from_cp);
    let done = admitted(&mut bench, &request);
    let teid = done.teids.iter().find(|(pdr, _)| *pdr == 3);
    let teid = teid.expect("it has its F-TEID all the same").1;
    assert_eq!(bench.up.in_use().teids, 2);
    assert_eq!(lines(&bench).len(), 2);
    assert!(lines(&bench).iter().all(|line| line.key != teid));
    let view = bench.up.session(done.seid.0).unwrap();
    let pdr = view.pdr.iter().find(|pdr| pdr.id == 3).unwrap();
    assert_eq!((pdr.teid, pdr.source, pdr.live), (Some(teid), "cp", false));
    bench.delete(CP, done.seid);
    bench.assert_vacant();
}

#[test]
fn packets_to_the_cp_function_are_dropped_under_their_own_reason() {
    let mut bench = Bench::new();
    let mut request = default_session(UE, 1);
    let mut far = to_gnb(1, 0x99);
    let parameters = far.forwarding_parameters.as_mut();
    parameters.unwrap().destination_interface = DestinationInterface::CP_FUNCTION;
    request.create_far[0] = far;
    let done = admitted(&mut bench, &request);
    let up = lines(&bench)
        .into_iter()
        .find(|l| l.head.flags.has(Flags::UPLINK));
    let flags = up.unwrap().head.flags;
    assert!(flags.has(Flags::TO_CP) && !flags.has(Flags::FORWARD));
    assert_eq!(bench.net.holds(), 1, "of the downlink only");
    bench.delete(CP, done.seid);
    bench.assert_vacant();
}

#[test]
fn an_update_far_may_have_its_parameters_under_the_type_of_create_far() {
    let mut bench = Bench::new();
    let done = admitted(&mut bench, &default_session(UE, 1));
    bench.ops.clear();
    let tunnel = |teid| {
        let teid = sluice_wire::ids::Teid::new(teid).unwrap();
        let end = SessionModificationRequestFlags::SNDEM;
        Some(UpdateForwardingParameters {
            outer_header_creation: Some(Edit::Set(OuterHeaderCreation::gtpu_v4(teid, GNB))),
            pfcpsmreq_flags: Some(end),
            ..Default::default()
        })
    };
    let far = UpdateFar {
        far_id: FarId(2),
        forwarding_parameters: tunnel(0xbeef),
        ..Default::default()
    };
    let mut change = Change::default();
    change.update_far.push(far.clone());
    assert_eq!(
        bench.modify(CP, done.seid, &change).cause,
        Cause::REQUEST_ACCEPTED
    );
    assert_eq!(downlink(&bench).body.teid, 0xbeef);
    assert_eq!(bench.end_markers.len(), 1);
    bench.ops.clear();
    change.update_far[0].update_forwarding_parameters = tunnel(0xcafe);
    bench.modify(CP, done.seid, &change);
    let teid = downlink(&bench).body.teid;
    assert_eq!(teid, 0xcafe, "if both are there, those of the TS hold");
    bench.delete(CP, done.seid);
    bench.assert_vacant();
}
