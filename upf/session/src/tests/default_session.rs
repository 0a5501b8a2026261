//! The session that every UE has: established, sent idle and back, handed over, deleted.

use super::bench::*;
use core::net::Ipv4Addr;
use sluice_datapath::ids::{EntryId, PeerId};
use sluice_datapath::session::entry::SessionEntry;
use sluice_datapath::session::rule::Flags;
use sluice_datapath::session::txn::{Clock, HeldOrder, Op};
use sluice_wire::ids::{FarId, QerId, Seid, Teid, UrrId};
use sluice_wire::pfcp::group::{UpdateFar, UpdateForwardingParameters};
use sluice_wire::pfcp::message::{AssociationSetupResponse, SessionModificationRequest};
use sluice_wire::pfcp::value::*;
use sluice_wire::pfcp::{Cause, Header};

fn entries(bench: &mut Bench) -> Vec<(EntryId, SessionEntry, [Clock; 2])> {
    let ops = std::mem::take(&mut bench.ops);
    let entries = ops.iter().map(|op| match op {
        Op::Entry { at, image, clocks } => (*at, *image, *clocks),
        other => panic!("{other:?}"),
    });
    entries.collect()
}

fn update_far(id: u32, action: ApplyAction) -> SessionModificationRequest<'static> {
    let mut request = SessionModificationRequest::default();
    request.update_far.push(UpdateFar {
        far_id: FarId(id),
        apply_action: Some(action),
        ..Default::default()
    });
    request
}

fn handover(teid: u32, gnb: Ipv4Addr, end_marker: bool) -> SessionModificationRequest<'static> {
    let mut request = SessionModificationRequest::default();
    let ohc = OuterHeaderCreation::gtpu_v4(Teid::new(teid).unwrap(), gnb);
    let flags = SessionModificationRequestFlags::SNDEM;
    request.update_far.push(UpdateFar {
        far_id: FarId(2),
        update_forwarding_parameters: Some(UpdateForwardingParameters {
            outer_header_creation: Some(Edit::Set(ohc)),
            pfcpsmreq_flags: end_marker.then_some(flags),
            ..Default::default()
        }),
        ..Default::default()
    });
    request
}

/// With its user, a URR and the QERs of flow and session.
#[test]
fn a_default_session_is_kept_in_eight_granules_at_the_most() {
    let mut bench = Bench::new();
    let mut request = default_session(UE, 77);
    request
        .create_qer
        .push(qer(2, Some((50_000, 50_000)), None));
    request.create_urr.push(urr(1));
    for pdr in &mut request.create_pdr {
        pdr.qer_id.push(QerId(2));
        pdr.urr_id.push(UrrId(1));
    }
    let user = UserId {
        imsi: Some(&[0x00, 0x01, 0x01, 0x00, 0x00, 0x00, 0x00, 0xf1]),
        ..UserId::default()
    };
    request.user_id = Some(user);
    assert_eq!(bench.establish(CP, &request).cause, Cause::REQUEST_ACCEPTED);
    assert_eq!(bench.up.sessions()[0].imsi, "001010000000001");
    assert_eq!(bench.up.node.part.store.record_granules(), 8);
}

#[test]
fn a_default_session_becomes_two_entries_of_one_shard() {
    let mut bench = Bench::new();
    let done = bench.establish(CP, &default_session(UE, 77));
    assert_eq!(done.cause, Cause::REQUEST_ACCEPTED);
    assert_eq!(done.teids.len(), 1);
    let (pdr, teid) = done.teids[0];
    assert_eq!(pdr, 1);
    let slot = bench.layout.up_teid(teid).expect("a TEID of our form");
    let shard = u32::from(UE) % 4096;
    assert_eq!(slot.0 % 4096, shard);
    let entries = entries(&mut bench);
    assert_eq!(entries.len(), 2);
    let up = entries.iter().find(|l| l.0 == slot).unwrap().1;
    let down = entries.iter().find(|l| l.0 != slot).unwrap();
    assert_eq!(down.0.0 % 4096, shard);
    let down = down.1;
    assert_eq!((up.key, up.ue_ip), (teid, u32::from(UE)));
    let up_flags = [
        Flags::TUNNEL,
        Flags::UPLINK,
        Flags::FROM_UE,
        Flags::REMOVE_OUTER,
        Flags::FORWARD,
    ];
    assert_eq!(
        up.head.flags,
        up_flags.into_iter().fold(Flags::none(), Flags::with)
    );
    assert_eq!(up.body.egress(), EGRESS);
    let down_flags = [Flags::FORWARD, Flags::CREATE_OUTER, Flags::MARK_QFI];
    assert_eq!(
        down.head.flags,
        down_flags.into_iter().fold(Flags::none(), Flags::with)
    );
    assert_eq!(
        (down.key, down.head.qfi_mark(), down.head.teid),
        (u32::from(UE), 9, 0xd007)
    );
    assert!(up.body.rate0.is_limited() && !up.body.rate1.is_limited());
    assert_ne!(up.body.rate0, down.body.rate0);
    assert_eq!(bench.delete(CP, done.seid).0, Cause::REQUEST_ACCEPTED);
    bench.assert_vacant();
}

#[test]
fn the_response_waits_for_the_path() {
    let mut bench = Bench::new();
    let request = default_session(UE, 1);
    let kind = sluice_wire::pfcp::MessageType::SESSION_ESTABLISHMENT_REQUEST;
    let bytes = bench.message(kind, Some(Seid(0)), |w| request.emit(w));
    bench.out.datagrams.clear();
    bench.put(CP, &bytes);
    assert!(bench.out.datagrams.is_empty());
    assert_eq!(bench.up.under_way(), 1);
    bench.put(CP, &bytes);
    assert_eq!(bench.out.txns.len(), 1, "a retransmission starts nothing");
    bench.settle();
    assert_eq!(bench.out.datagrams.len(), 1);
    bench.put(CP, &bytes);
    assert_eq!(bench.out.datagrams[0], bench.out.datagrams[1]);
}

#[test]
fn a_session_goes_idle_and_comes_back_by_one_entry_each() {
    let mut bench = Bench::new();
    let seid = bench.establish(CP, &default_session(UE, 1)).seid;
    bench.ops.clear();
    let idle = update_far(2, ApplyAction::BUFF | ApplyAction::NOCP);
    assert_eq!(bench.modify(CP, seid, &idle).cause, Cause::REQUEST_ACCEPTED);
    let changed = entries(&mut bench);
    assert_eq!(changed.len(), 1, "the uplink entry is not touched");
    assert!(!changed[0].1.head.flags.has(Flags::FORWARD));
    assert_eq!(bench.net.holds(), 1, "the gNB stays known");
    let back = bench.modify(CP, seid, &update_far(2, ApplyAction::FORW));
    assert_eq!(back.cause, Cause::REQUEST_ACCEPTED);
    let last = bench.ops.pop();
    assert!(
        matches!(
            last,
            Some(Op::Held {
                order: HeldOrder::Again,
                ..
            })
        ),
        "{last:?}"
    );
    let changed = entries(&mut bench);
    assert_eq!((changed.len(), changed[0].1.head.teid), (1, 0xd007));
    let kept = [Clock::Entry(changed[0].0.0, 0), Clock::Full];
    assert_eq!(changed[0].2, kept, "the QER keeps its fill");
    bench.delete(CP, seid);
    bench.assert_vacant();
}

#[test]
fn a_handover_moves_the_downlink_and_marks_the_end_of_the_old_tunnel() {
    let mut bench = Bench::new();
    let seid = bench.establish(CP, &default_session(UE, 1)).seid;
    let other = Ipv4Addr::new(192, 0, 2, 60);
    let done = bench.modify(CP, seid, &handover(0xbeef, other, true));
    assert_eq!(done.cause, Cause::REQUEST_ACCEPTED);
    let old = u16::from_be_bytes([GNB.octets()[2], GNB.octets()[3]]);
    assert_eq!(bench.end_markers.len(), 1);
    assert_eq!(
        (bench.end_markers[0].peer, bench.end_markers[0].teid),
        (PeerId(old), 0xd007)
    );
    assert_eq!(bench.net.holds(), 1, "the old peer went back");
    bench.end_markers.clear();
    bench.modify(CP, seid, &handover(0xbee0, other, false));
    assert!(bench.end_markers.is_empty());
    bench.delete(CP, seid);
    bench.assert_vacant();
}

#[test]
fn the_gnb_may_be_told_later() {
    let mut bench = Bench::new();
    let mut request = default_session(UE, 1);
    request.create_far[1].forwarding_parameters = None;
    request.create_far[1].apply_action = ApplyAction::BUFF | ApplyAction::NOCP;
    let seid = bench.establish(CP, &request).seid;
    let mut tell = handover(0xbeef, GNB, false);
    tell.update_far[0].apply_action = Some(ApplyAction::FORW);
    let parameters = tell.update_far[0]
        .update_forwarding_parameters
        .as_mut()
        .unwrap();
    parameters.destination_interface = Some(DestinationInterface::ACCESS);
    assert_eq!(bench.modify(CP, seid, &tell).cause, Cause::REQUEST_ACCEPTED);
    bench.ops.clear();
    let parameters = tell.update_far[0]
        .update_forwarding_parameters
        .as_mut()
        .unwrap();
    parameters.outer_header_creation = Some(Edit::Remove);
    assert_eq!(bench.modify(CP, seid, &tell).cause, Cause::REQUEST_ACCEPTED);
    let changed = entries(&mut bench);
    assert!(
        !changed[0].1.head.flags.has(Flags::FORWARD),
        "nowhere to send to"
    );
    assert_eq!(bench.net.holds(), 0);
    bench.delete(CP, seid);
    bench.assert_vacant();
}

#[test]
fn a_deleted_teid_rests_and_comes_back_with_other_check_bits() {
    let mut bench = Bench::new();
    let mut seen = Vec::new();
    for i in 0..4 {
        let done = bench.establish(CP, &default_session(UE, i));
        seen.push(done.teids[0].1);
        bench.delete(CP, done.seid);
    }
    let slots: std::collections::HashSet<_> = seen.iter().map(|t| t & 0x3fff).collect();
    assert_eq!(
        slots.len(),
        4,
        "none of the shard's four slots was used twice"
    );
    let refused = bench.establish(CP, &default_session(UE, 9));
    assert_eq!(refused.cause, Cause::NO_RESOURCES_AVAILABLE);
    bench.now_s += 60;
    let done = bench.establish(CP, &default_session(UE, 10));
    assert_eq!(done.teids[0].1 & 0x3fff, seen[0] & 0x3fff);
    assert_ne!(done.teids[0].1, seen[0]);
}

#[test]
fn a_restored_session_gets_its_teid_back() {
    let mut bench = Bench::with(|c| c.accept_cp_fteid = false);
    let done = bench.establish(CP, &default_session(UE, 1));
    let teid = done.teids[0].1;
    bench.delete(CP, done.seid);
    let mut request = default_session(UE, 2);
    let f_teid = FTeid::v4(Teid::new(teid).unwrap(), N3);
    request.create_pdr[0].pdi.local_f_teid = Some(f_teid);
    let refused = bench.establish(CP, &request);
    assert_eq!(refused.cause, Cause::INVALID_F_TEID_ALLOCATION_OPTION);
    request.pfcpsereq_flags = Some(SessionEstablishmentRequestFlags::RESTI);
    let done = bench.establish(CP, &request);
    assert_eq!(done.cause, Cause::REQUEST_ACCEPTED);
    assert_eq!(bench.up.in_use().teids, 1);
    assert_eq!(bench.up.in_use().foreign_entries, 0);
    request.cp_f_seid = FSeid::v4(Seid(3), CP);
    let again = bench.establish(CP, &request);
    assert_eq!(again.cause, Cause::RULE_CREATION_MODIFICATION_FAILURE);
    bench.delete(CP, done.seid);
    bench.assert_vacant();
}

/// Without FTUP (TS 29.244, 5.5.3): what is announced and what is done agree.
#[test]
fn a_upf_that_chooses_no_teids_says_so_and_takes_those_of_the_smf_alone() {
    let mut bench = Bench::with(|c| c.choose_fteid = false);
    let said = bench.spoken[0].1.clone();
    let (_, body) = Header::parse(&said).unwrap();
    let setup = AssociationSetupResponse::parse(body).unwrap();
    let features = setup.up_function_features.unwrap();
    assert!(!features.contains(UpFunctionFeatures::FTUP));
    assert!(features.contains(UpFunctionFeatures::EMPU));
    let mut request = default_session(UE, 1);
    let refused = bench.establish(CP, &request);
    assert_eq!(refused.cause, Cause::INVALID_F_TEID_ALLOCATION_OPTION);
    assert_eq!(bench.up.sessions().len(), 0);
    let f_teid = FTeid::v4(Teid::new(5).unwrap(), N3);
    request.create_pdr[0].pdi.local_f_teid = Some(f_teid);
    let done = bench.establish(CP, &request);
    assert_eq!(done.cause, Cause::REQUEST_ACCEPTED);
    bench.delete(CP, done.seid);
    bench.assert_vacant();
}

#[test]
fn a_teid_and_an_address_of_others_choice_take_foreign_entries() {
    let mut bench = Bench::new();
    let mut request = default_session(Ipv4Addr::new(172, 16, 3, 4), 1);
    let f_teid = FTeid::v4(Teid::new(5).unwrap(), N3);
    request.create_pdr[0].pdi.local_f_teid = Some(f_teid);
    let done = bench.establish(CP, &request);
    assert_eq!((done.cause, done.teids.len()), (Cause::REQUEST_ACCEPTED, 0));
    assert_eq!(bench.up.in_use().foreign_entries, 2);
    let shard = (16 << 16 | 3 << 8 | 4) % 4096;
    assert!(entries(&mut bench).iter().all(|l| l.0.0 % 4096 == shard));
    let notices: Vec<_> = std::iter::from_fn(|| bench.up.next_event()).collect();
    assert!(
        notices
            .iter()
            .any(|n| matches!(n, crate::SessionEvent::ChoosesTeids(_)))
    );
    bench.delete(CP, done.seid);
    bench.assert_vacant();
}
