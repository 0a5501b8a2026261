//! Test cases of others on N4, each by its name there: OAI's PFCP scenarios, Osmocom's UPF_Tests, TS 33.513.

use super::bench::*;
use core::net::Ipv4Addr;
use sluice_datapath::session::txn::Op;
use sluice_wire::ids::{FarId, PdrId, Precedence, QerId, Qfi, Seid, Teid};
use sluice_wire::pfcp::group::*;
use sluice_wire::pfcp::message::{SessionEstablishmentRequest, SessionModificationRequest};
use sluice_wire::pfcp::value::*;
use sluice_wire::pfcp::{Cause, MessageType};
use std::collections::BTreeSet;

type Request = SessionEstablishmentRequest<'static>;
type Change = SessionModificationRequest<'static>;

const DONE: Cause = Cause::REQUEST_ACCEPTED;

/// A second flow beside the usual one, with rules of its own: PDR 3 and 4, FAR 3 and 4, QER 2.
fn two_flows() -> Request {
    let mut request = default_session(UE, 1);
    let mut up = uplink_pdr(3, 3);
    up.precedence = Precedence(50);
    up.pdi.qfi.push(Qfi::new(5).unwrap());
    let mut down = downlink_pdr(4, 4, UE);
    down.precedence = Precedence(50);
    let filter = SdfFilter {
        flow_description: Some(b"permit out 17 from 203.0.113.80 to assigned"),
        ..SdfFilter::default()
    };
    down.pdi.sdf_filter.push(filter);
    for pdr in [&mut up, &mut down] {
        pdr.qer_id.push(QerId(2));
    }
    request.create_pdr.extend([up, down]);
    request.create_far.extend([to_core(3), to_gnb(4, 0xd100)]);
    request.create_qer.push(qer(2, Some((500, 500)), Some(5)));
    request
}

fn rate(id: u32, uplink_kbps: u64, downlink_kbps: u64) -> Change {
    let mut change = Change::default();
    change.update_qer.push(UpdateQer {
        qer_id: QerId(id),
        maximum_bitrate: Some(Edit::Set(BitRate {
            uplink_kbps,
            downlink_kbps,
        })),
        ..Default::default()
    });
    change
}

/// Numbers of PDRs, FARs and QERs.
fn rules(bench: &Bench, seid: Seid) -> [Vec<u32>; 3] {
    let view = bench.up.session(seid.0).expect("a session");
    let mut rules = [
        view.pdr.iter().map(|pdr| u32::from(pdr.id)).collect(),
        view.far.iter().map(|far| far.id).collect(),
        view.qer.iter().map(|qer| qer.id).collect(),
    ];
    rules
        .iter_mut()
        .for_each(|ids: &mut Vec<u32>| ids.sort_unstable());
    rules
}

fn rate_of(bench: &Bench, seid: Seid, id: u32) -> Option<[u64; 2]> {
    let view = bench.up.session(seid.0).expect("a session");
    view.qer.iter().find(|qer| qer.id == id)?.mbr_kbps
}

/// True for what gives the packet path a rate.
fn is_limit(op: &Op) -> bool {
    match op {
        Op::Entry { image, .. } => image.body.rate0.is_limited() || image.body.rate1.is_limited(),
        Op::Bucket { .. } => true,
        _ => false,
    }
}

fn accepted(bench: &mut Bench, seid: Seid, change: &Change) {
    let done = bench.modify(CP, seid, change);
    assert_eq!(done.cause, DONE, "{done:?}");
}

/// Scenario 01: what an F-TEID of the request says, Created PDR does not contradict.
#[test]
fn oai_01_establishment() {
    let mut bench = Bench::new();
    let mut request = default_session(UE, 1);
    request.create_pdr[0].pdi.local_f_teid = Some(FTeid::Assigned {
        teid: Teid::new(0x0a01).unwrap(),
        ipv4: Some(Ipv4Addr::new(192, 0, 2, 1)),
        ipv6: None,
    });
    let done = bench.establish(CP, &request);
    assert_eq!(done.cause, DONE);
    assert_ne!(done.seid, Seid(0));
    assert!(done.teids.iter().all(|teid| *teid == (1, 0x0a01)));
}

#[test]
fn oai_02_establishment_chosen_teid() {
    let mut bench = Bench::new();
    let done = bench.establish(CP, &default_session(UE, 1));
    assert_eq!(done.cause, DONE);
    let [(1, teid)] = done.teids[..] else {
        panic!("{done:?}");
    };
    assert_ne!(teid, 0);
}

/// Scenarios 04, 08, 12: four removals in one request take the second flow and its rate, leave the first, and are one
/// transaction for the packet path.
#[test]
fn oai_04_08_12_map_pruning_in_one_rebuild() {
    let mut bench = Bench::new();
    let done = bench.establish(CP, &two_flows());
    let all = [vec![1, 2, 3, 4], vec![1, 2, 3, 4], vec![1, 2]];
    assert_eq!(rules(&bench, done.seid), all);
    let mut change = Change::default();
    for id in [3, 4] {
        change.remove_pdr.push(RemovePdr { pdr_id: PdrId(id) });
        change.remove_far.push(RemoveFar {
            far_id: FarId(u32::from(id)),
        });
    }
    change.remove_qer.push(RemoveQer { qer_id: QerId(2) });
    let kind = MessageType::SESSION_MODIFICATION_REQUEST;
    let message = bench.message(kind, Some(done.seid), |w| change.emit(w));
    bench.put(CP, &message);
    assert_eq!(bench.up.under_way(), 1);
    bench.settle();
    assert_eq!(rules(&bench, done.seid), [vec![1, 2], vec![1, 2], vec![1]]);
    assert_eq!(rate_of(&bench, done.seid, 1), Some([10_000, 20_000]));
    bench.delete(CP, done.seid);
    bench.assert_vacant();
}

/// Scenarios 05 and 09: after the deletion there is neither rule nor rate.
#[test]
fn oai_05_09_cleanup_on_delete() {
    let mut bench = Bench::new();
    let done = bench.establish(CP, &two_flows());
    assert!(bench.up.in_use().blocks > 0, "there was something");
    assert_eq!(bench.delete(CP, done.seid).0, DONE);
    assert!(bench.up.session(done.seid.0).is_none());
    bench.assert_vacant();
}

/// Scenarios 06, 07, 14, 15: the rate acts from the establishment on, and a change of it changes the path's.
#[test]
fn oai_06_07_14_15_rates_at_establishment_and_changed() {
    let mut bench = Bench::new();
    let done = bench.establish(CP, &default_session(UE, 1));
    assert_eq!(rate_of(&bench, done.seid, 1), Some([10_000, 20_000]));
    let limited = |bench: &Bench| bench.ops.iter().filter(|op| is_limit(op)).count();
    assert!(
        limited(&bench) > 0,
        "without a modification: {:?}",
        bench.ops
    );
    bench.ops.clear();
    accepted(&mut bench, done.seid, &rate(1, 20_000, 40_000));
    assert_eq!(rate_of(&bench, done.seid, 1), Some([20_000, 40_000]));
    assert!(limited(&bench) > 0, "{:?}", bench.ops);
}

#[test]
fn oai_10_static_ip_reattach() {
    let mut bench = Bench::new();
    let first = bench.establish(CP, &default_session(UE, 1));
    let taken = bench.establish(CP, &default_session(UE, 2));
    assert_eq!(taken.cause, Cause::RULE_CREATION_MODIFICATION_FAILURE);
    bench.delete(CP, first.seid);
    assert_eq!(bench.up.in_use().pool_entries, 0, "it is nobody's");
    let next = bench.establish(CP, &default_session(UE, 2));
    assert_eq!(next.cause, DONE);
    assert_eq!(
        bench.up.session(next.seid.0).unwrap().summary.ue_address,
        Some(UE)
    );
}

/// Scenario 11, and its control with a new FAR.
#[test]
fn oai_11_create_pdr_existing_far() {
    for (far, is_new) in [(1, false), (3, true)] {
        let mut bench = Bench::new();
        let done = bench.establish(CP, &default_session(UE, 1));
        let mut change = Change::default();
        let mut pdr = uplink_pdr(3, far);
        pdr.precedence = Precedence(50);
        pdr.pdi.qfi.push(Qfi::new(5).unwrap());
        pdr.qer_id.push(QerId(1));
        change.create_pdr.push(pdr);
        if is_new {
            change.create_far.push(to_core(3));
        }
        accepted(&mut bench, done.seid, &change);
        assert_eq!(rules(&bench, done.seid)[0], [1, 2, 3]);
        bench.delete(CP, done.seid);
        bench.assert_vacant();
    }
}

/// Scenarios 13 and 16: ten changes of a rate and an eleventh, each one transaction that leaves nothing behind.
#[test]
fn oai_13_16_repeated_modification_stability() {
    let mut bench = Bench::new();
    let done = bench.establish(CP, &two_flows());
    let (before, in_use) = (rules(&bench, done.seid), bench.up.in_use());
    let mut ops = BTreeSet::new();
    for step in 1..=11 {
        bench.ops.clear();
        accepted(&mut bench, done.seid, &rate(2, 1_000 * step, 2_000 * step));
        ops.insert(bench.ops.len());
    }
    assert_eq!(ops.len(), 1, "each costs the same: {ops:?}");
    assert_eq!(rate_of(&bench, done.seid, 2), Some([11_000, 22_000]));
    assert_eq!(rules(&bench, done.seid), before);
    assert_eq!(bench.up.in_use(), in_use);
}

#[test]
fn osmocom_tc_session_est_tunend() {
    let mut bench = Bench::new();
    let mut request = default_session(UE, 1);
    request.create_qer.clear();
    request
        .create_pdr
        .iter_mut()
        .for_each(|pdr| pdr.qer_id.clear());
    let done = bench.establish(CP, &request);
    assert_eq!((done.cause, done.teids.len()), (DONE, 1));
    assert_eq!((bench.up.session_count(), bench.up.in_use().teids), (1, 1));
    assert_eq!(bench.delete(CP, done.seid).0, DONE);
    bench.assert_vacant();
}

/// `TC_session_est_tunmap` and `TC_session_est_mod_tunmap`: a tunnel on each side; the one to the core is there at
/// once, or comes with the modification.
#[test]
fn osmocom_tc_session_est_tunmap_and_mod_tunmap() {
    for is_late in [false, true] {
        let mut bench = Bench::new();
        let mut request = default_session(UE, 1);
        let mut from_core = uplink_pdr(2, 2);
        from_core.pdi.source_interface = SourceInterface::CORE;
        from_core.pdi.network_instance = Some(Name(b"internet"));
        request.create_pdr[0].pdi.ue_ip_address.clear();
        request.create_pdr[1] = from_core;
        request.create_qer.clear();
        request
            .create_pdr
            .iter_mut()
            .for_each(|pdr| pdr.qer_id.clear());
        let peer = OuterHeaderCreation::gtpu_v4(Teid::new(0x77).unwrap(), GNB);
        let mut far = to_core(1);
        let tunnelled = far.forwarding_parameters.as_mut().unwrap();
        tunnelled.outer_header_creation = Some(peer);
        if is_late {
            far.apply_action = ApplyAction::DROP;
            far.forwarding_parameters = None;
        }
        request.create_far[0] = far;
        let done = bench.establish(CP, &request);
        assert_eq!((done.cause, done.teids.len()), (DONE, 2), "{done:?}");
        let view = bench.up.session(done.seid.0).unwrap();
        let at: BTreeSet<_> = view
            .pdr
            .iter()
            .filter_map(|pdr| pdr.tunnel_address)
            .collect();
        assert_eq!(at.len(), 2, "the addresses of both sides: {at:?}");
        if is_late {
            let mut change = Change::default();
            change.update_far.push(UpdateFar {
                far_id: FarId(1),
                apply_action: Some(ApplyAction::FORW),
                update_forwarding_parameters: Some(UpdateForwardingParameters {
                    destination_interface: Some(DestinationInterface::CORE),
                    outer_header_creation: Some(Edit::Set(peer)),
                    ..Default::default()
                }),
                ..Default::default()
            });
            accepted(&mut bench, done.seid, &change);
        }
        let view = bench.up.session(done.seid.0).unwrap();
        let to_core = view.far.iter().find(|far| far.id == 1).unwrap();
        assert_eq!((to_core.teid, to_core.action), (Some(0x77), "forward"));
        bench.delete(CP, done.seid);
        bench.assert_vacant();
    }
}

/// TC_TEID_ID_UNIQUENESS_UPF (TS 33.513, 4.2.2.6) at the configured limit: all F-TEIDs differ, also while some go and
/// others come.
#[test]
fn scas_33_513_4_2_2_6_teid_uniqueness_at_the_limit() {
    let mut bench = Bench::new();
    let mut living: Vec<(Seid, u32)> = Vec::new();
    let mut number = 0u32;
    let mut refused = 0;
    for round in 0..3 {
        while refused == 0 {
            let ue = Ipv4Addr::from(0x0a2d_0100 + number);
            let done = bench.establish(CP, &default_session(ue, u64::from(number) + 1));
            number += 1;
            match done.cause {
                DONE => living.push((done.seid, done.teids[0].1)),
                cause => {
                    assert_eq!(cause, Cause::NO_RESOURCES_AVAILABLE);
                    refused += 1;
                }
            }
        }
        let teids: BTreeSet<u32> = living.iter().map(|(_, teid)| *teid).collect();
        assert_eq!(teids.len(), living.len(), "round {round}");
        assert_eq!(living.len(), 300, "the configured limit");
        for (seid, _) in living.split_off(living.len() / 2) {
            assert_eq!(bench.delete(CP, seid).0, DONE);
        }
        refused = 0;
    }
}
