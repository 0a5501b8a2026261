//! What SMFs mean by what the TS leaves open, and what is admitted though nothing comes of it.

use super::bench::*;
use crate::{MbrZero, SessionEvent, Unserved};
use sluice_datapath::session::entry::SessionEntry;
use sluice_datapath::session::rule::Flags;
use sluice_datapath::session::txn::Op;
use sluice_wire::ids::{FarId, QerId, Qfi};
use sluice_wire::pfcp::group::{CreateUrr, UpdateFar, UpdateForwardingParameters, UpdateQer};
use sluice_wire::pfcp::message::SessionEstablishmentRequest;
use sluice_wire::pfcp::message::SessionModificationRequest as Change;
use sluice_wire::pfcp::value::*;
use sluice_wire::pfcp::{Cause, IeType};

/// The entries that stand after the session was established.
fn entries(bench: &Bench) -> Vec<SessionEntry> {
    let entries = bench.ops.iter().filter_map(|op| match op {
        Op::Entry { image, .. } => Some(*image),
        _ => None,
    });
    entries.collect()
}

/// The entry of the default session's downlink.
fn downlink(bench: &Bench) -> SessionEntry {
    let entries = entries(bench);
    let entry = entries.iter().find(|entry| entry.key == u32::from(UE));
    *entry.expect("an entry for the UE's address")
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
        let [Op::Entry { image, .. }] = bench.ops.as_slice() else {
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
        let marks = head.flags.has(Flags::MARK_QFI).then_some(head.qfi_mark());
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
    let up = entries(&bench)
        .into_iter()
        .find(|l| l.head.flags.has(Flags::UPLINK));
    assert_eq!(up.unwrap().body.egress(), EGRESS);
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
    assert_eq!(downlink(&bench).head.teid, 0xbeef);
    assert_eq!(bench.end_markers.len(), 1);
    bench.ops.clear();
    change.update_far[0].update_forwarding_parameters = tunnel(0xcafe);
    bench.modify(CP, done.seid, &change);
    let teid = downlink(&bench).head.teid;
    assert_eq!(teid, 0xcafe, "if both are there, those of the TS hold");
    bench.delete(CP, done.seid);
    bench.assert_vacant();
}

/// Requests for what is not served yet, with the IE that asks for it.
fn unserved() -> Vec<(SessionEstablishmentRequest<'static>, IeType)> {
    let with = |urr: CreateUrr<'static>| {
        let mut request = default_session(UE, 1);
        request.create_urr.push(urr);
        request
    };
    let triggers = |triggers| CreateUrr {
        reporting_triggers: triggers,
        ..urr(1)
    };
    vec![
        (
            with(triggers(ReportingTriggers::UPINT)),
            IeType::REPORTING_TRIGGERS,
        ),
        (
            with(triggers(ReportingTriggers::STOPT)),
            IeType::REPORTING_TRIGGERS,
        ),
    ]
}

#[test]
fn reports_that_are_not_made_yet_are_passed_over_and_told_of_once() {
    let mut bench = Bench::new();
    let mut told = Vec::new();
    for (request, ie) in unserved() {
        let done = bench.establish(CP, &request);
        assert_eq!(done.cause, Cause::REQUEST_ACCEPTED, "{ie}");
        bench.delete(CP, done.seid);
        while let Some(notice) = bench.up.next_event() {
            told.push(notice);
        }
    }
    let count = |wanted: fn(&SessionEvent) -> bool| told.iter().filter(|n| wanted(n)).count();
    assert_eq!(count(|n| matches!(n, SessionEvent::TriggersUnserved(_))), 1);
}

#[test]
fn reports_that_are_not_made_yet_are_refused_if_so_configured() {
    for (request, ie) in unserved() {
        let mut bench = Bench::with(|config| config.unserved = Unserved::Refuse);
        let done = bench.establish(CP, &request);
        assert_ne!(done.cause, Cause::REQUEST_ACCEPTED, "{ie}");
        assert_eq!(done.offending, Some(ie));
        assert_eq!(
            bench.establish(CP, &default_session(UE, 1)).cause,
            Cause::REQUEST_ACCEPTED
        );
    }
}

#[test]
fn a_far_that_drops_ignores_where_to() {
    let mut bench = Bench::new();
    let mut request = default_session(UE, 1);
    let far = &mut request.create_far[1];
    far.apply_action = ApplyAction::DROP;
    let parameters = far.forwarding_parameters.as_mut().unwrap();
    parameters.network_instance = Some(Name(b"elsewhere"));
    let done = admitted(&mut bench, &request);
    assert_eq!(bench.net.holds(), 0, "no peer is held for what is dropped");
    // As soon as it forwards, where to must be there.
    let mut change = Change::default();
    change.update_far.push(UpdateFar {
        far_id: FarId(2),
        apply_action: Some(ApplyAction::FORW),
        ..Default::default()
    });
    let refused = bench.modify(CP, done.seid, &change);
    assert_eq!(refused.offending, Some(IeType::NETWORK_INSTANCE));
    change.update_far[0].update_forwarding_parameters = Some(UpdateForwardingParameters {
        network_instance: Some(Edit::Set(Name(b"access"))),
        ..Default::default()
    });
    let done = bench.modify(CP, done.seid, &change);
    assert_eq!(done.cause, Cause::REQUEST_ACCEPTED);
    assert_eq!(bench.net.holds(), 1);
}

#[test]
fn the_n6_lan_is_n6_as_a_source_too() {
    let mut bench = Bench::new();
    let mut request = default_session(UE, 1);
    request.create_pdr[1].pdi.source_interface = SourceInterface::SGI_LAN_N6_LAN;
    admitted(&mut bench, &request);
    downlink(&bench);
}

#[test]
fn a_choose_id_of_an_earlier_message_gives_the_same_f_teid() {
    let mut bench = Bench::new();
    let choose = |id| {
        Some(FTeid::Choose {
            ipv4: true,
            ipv6: false,
            choose_id: Some(id),
        })
    };
    let mut request = default_session(UE, 1);
    request.create_pdr[0].pdi.local_f_teid = choose(5);
    let done = admitted(&mut bench, &request);
    let first = done.teids[0].1;
    // A dedicated flow, as Open5GS adds it, and one that is to have a tunnel of its own.
    let mut change = Change::default();
    for (id, choose_id) in [(7, 5), (8, 6)] {
        let mut pdr = uplink_pdr(id, 1);
        pdr.pdi.local_f_teid = choose(choose_id);
        pdr.pdi.qfi = [Qfi::new(choose_id).unwrap()].into_iter().collect();
        change.create_pdr.push(pdr);
    }
    let done = bench.modify(CP, done.seid, &change);
    assert_eq!(done.cause, Cause::REQUEST_ACCEPTED, "{:?}", done.offending);
    let given = |pdr| done.teids.iter().find(|(id, _)| *id == pdr).unwrap().1;
    assert_eq!(given(7), first);
    assert_ne!(given(8), first);
}
