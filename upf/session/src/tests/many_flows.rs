//! Sessions with several flows: shared tunnels, chains of rules, shared rates.

use super::bench::*;
use crate::trace_target::TraceTarget;
use sluice_datapath::forward::pdr::At;
use sluice_datapath::ids::EntryId;
use sluice_datapath::session::rule::Flags;
use sluice_datapath::session::txn::{Clock, Op};
use sluice_datapath::trace::Key;
use sluice_wire::ids::{PdrId, Precedence, QerId, Qfi};
use sluice_wire::pfcp::Cause;
use sluice_wire::pfcp::group::{RemovePdr, UpdatePdr, UpdateQer};
use sluice_wire::pfcp::message::{SessionEstablishmentRequest, SessionModificationRequest};
use sluice_wire::pfcp::value::*;

type Change = SessionModificationRequest<'static>;

/// Two uplink flows on one F-TEID, told apart by QFI, under a session AMBR (QER 1).
fn two_flows() -> SessionEstablishmentRequest<'static> {
    let mut request = default_session(UE, 1);
    let mut second = uplink_pdr(3, 1);
    second.precedence = Precedence(50);
    second.pdi.qfi.push(Qfi::new(5).unwrap());
    second.qer_id.extend([QerId(1), QerId(2)]);
    request.create_pdr.push(second);
    request.create_qer.push(qer(2, Some((500, 500)), Some(5)));
    for at in [0, 2] {
        request.create_pdr[at].pdi.local_f_teid = Some(FTeid::Choose {
            ipv4: true,
            ipv6: true,
            choose_id: Some(5),
        });
    }
    request
}

fn rules(bench: &Bench) -> Vec<(u8, sluice_datapath::session::rule::Rule)> {
    let ops = bench.ops.iter().filter_map(|op| match op {
        Op::Rule { at, image, .. } => Some((*at, *image)),
        _ => None,
    });
    ops.collect()
}

#[test]
fn one_choose_id_is_one_tunnel_with_a_chain_of_rules() {
    let mut bench = Bench::new();
    let done = bench.establish(CP, &two_flows());
    assert_eq!(done.cause, Cause::REQUEST_ACCEPTED);
    assert_eq!(done.teids.len(), 2);
    assert_eq!(done.teids[0].1, done.teids[1].1);
    assert_eq!((bench.up.in_use().teids, bench.up.in_use().blocks), (1, 1));
    let rules = rules(&bench);
    assert_eq!(rules.len(), 2);
    let (first, second) = (rules[0].1, rules[1].1);
    assert!(
        first.head.flags.has(Flags::MATCH_QFI),
        "the lower precedence is tried first"
    );
    assert_eq!(first.head.qfi_match, 5);
    assert!(!second.head.flags.has(Flags::MATCH_QFI));
    assert_eq!(first.buckets[0], second.buckets[0], "the AMBR is shared");
    assert_ne!(first.buckets[1], first.buckets[0]);
    let buckets = bench
        .ops
        .iter()
        .filter(|op| matches!(op, Op::Bucket { .. }));
    assert_eq!(buckets.count(), 2, "the downlink has its rate in its entry");
    bench.delete(CP, done.seid);
    bench.assert_vacant();
}

#[test]
fn who_follows_a_ue_finds_its_session_and_the_names_of_its_rules() {
    let mut bench = Bench::new();
    let done = bench.establish(CP, &two_flows());
    let mut find = |sought| {
        let mut places = 0..bench.up.places();
        places.find_map(|place| bench.up.followed(place, sought))
    };
    let found = find(TraceTarget::Ue(UE)).expect("the UE's session");
    assert_eq!(found.seid, done.seid);
    let teid = done.teids[0].1;
    let Some(Key::Teid { local, .. }) = found.keys.iter().find(|k| matches!(k, Key::Teid { .. }))
    else {
        panic!("{found:?}");
    };
    assert!(found.keys.contains(&Key::Ue(UE)));
    assert_eq!(
        find(TraceTarget::Teid {
            local: *local,
            teid
        }),
        Some(found.clone())
    );
    assert_eq!(find(TraceTarget::Ue(std::net::Ipv4Addr::LOCALHOST)), None);
    let chained = bench.ops.iter().filter_map(|op| match op {
        Op::Rule { block, at, .. } => At::new(*block, (*at).into()),
        _ => None,
    });
    let names = |entry, at| bench.up.rule_names(done.seid, entry, at);
    let [extended, plain] = [true, false].map(|extended| {
        let entry = bench.ops.iter().find_map(|op| match op {
            Op::Entry { at, image, .. } if image.block().is_some() == extended => Some(*at),
            _ => None,
        });
        entry.unwrap()
    });
    // PDR 3 is tried first.
    let pdrs: Vec<_> = chained
        .map(|at| names(extended, Some(at)).unwrap().pdr)
        .collect();
    assert_eq!(pdrs, [3, 1]);
    let downlink = names(plain, None).unwrap();
    assert_eq!((downlink.pdr, downlink.ue), (2, Some(UE)));
    assert_eq!(names(EntryId(u32::MAX), None), None);
}

#[test]
fn the_last_rule_of_a_chain_goes_back_into_the_entry() {
    let mut bench = Bench::new();
    let done = bench.establish(CP, &two_flows());
    let mut change = Change::default();
    change.remove_pdr.push(RemovePdr { pdr_id: PdrId(3) });
    assert_eq!(
        bench.modify(CP, done.seid, &change).cause,
        Cause::REQUEST_ACCEPTED
    );
    assert_eq!((bench.up.in_use().teids, bench.up.in_use().blocks), (1, 0));
    bench.delete(CP, done.seid);
    bench.assert_vacant();
}

#[test]
fn a_rate_that_changes_touches_its_bucket_alone() {
    let mut bench = Bench::new();
    let done = bench.establish(CP, &two_flows());
    bench.ops.clear();
    let mut change = Change::default();
    change.update_qer.push(UpdateQer {
        qer_id: QerId(2),
        maximum_bitrate: Some(Edit::Set(BitRate {
            uplink_kbps: 800,
            downlink_kbps: 800,
        })),
        ..Default::default()
    });
    assert_eq!(
        bench.modify(CP, done.seid, &change).cause,
        Cause::REQUEST_ACCEPTED
    );
    assert!(
        matches!(bench.ops.as_slice(), [Op::Bucket { at, clock, .. }] if *clock == Clock::Shared(*at)),
        "{:?}",
        bench.ops
    );
}

#[test]
fn several_qfis_in_a_pdi_are_several_rules() {
    let mut bench = Bench::new();
    let mut request = default_session(UE, 1);
    let qfis = (1..=9).filter_map(Qfi::new);
    request.create_pdr[0].pdi.qfi.extend(qfis);
    let done = bench.establish(CP, &request);
    assert_eq!(done.cause, Cause::REQUEST_ACCEPTED);
    assert_eq!(rules(&bench).len(), 9);
    assert_eq!(bench.up.in_use().blocks, 2);
    let mut too_many = Change::default();
    let mut pdi = request.create_pdr[0].pdi.clone();
    pdi.qfi = (0..40).filter_map(Qfi::new).collect();
    too_many.update_pdr.push(UpdatePdr {
        pdr_id: PdrId(1),
        pdi: Some(pdi),
        ..Default::default()
    });
    let before = bench.fingerprint();
    let refused = bench.modify(CP, done.seid, &too_many);
    assert_eq!(refused.cause, Cause::NO_RESOURCES_AVAILABLE);
    assert_eq!(bench.fingerprint(), before);
    bench.delete(CP, done.seid);
    bench.assert_vacant();
}

#[test]
fn an_update_without_entry_keeps_the_tunnel() {
    let mut bench = Bench::new();
    let done = bench.establish(CP, &default_session(UE, 1));
    bench.ops.clear();
    let mut pdi = sluice_wire::pfcp::group::Pdi {
        source_interface: SourceInterface::ACCESS,
        ..Default::default()
    };
    pdi.qfi.push(Qfi::new(4).unwrap());
    let mut change = Change::default();
    change.update_pdr.push(UpdatePdr {
        pdr_id: PdrId(1),
        pdi: Some(pdi),
        ..Default::default()
    });
    assert_eq!(
        bench.modify(CP, done.seid, &change).cause,
        Cause::REQUEST_ACCEPTED
    );
    let [Op::Entry { image, .. }] = bench.ops.as_slice() else {
        panic!("{:?}", bench.ops);
    };
    assert_eq!((image.key, image.head.qfi_match), (done.teids[0].1, 4));
}

#[test]
fn a_filter_for_ipv6_is_kept_and_matches_nothing() {
    let mut bench = Bench::new();
    let mut request = default_session(UE, 1);
    // What Open5GS sends besides: Router Solicitations to the SMF, over a tunnel to nowhere known.
    let mut to_cp = uplink_pdr(3, 3);
    let filter = SdfFilter::flow(b"permit out 58 from ff02::2/128 to assigned");
    to_cp.pdi.sdf_filter.push(filter);
    request.create_pdr.push(to_cp);
    let mut far = to_gnb(3, 0x99);
    let parameters = far.forwarding_parameters.as_mut().unwrap();
    parameters.destination_interface = DestinationInterface::CP_FUNCTION;
    request.create_far.push(far);
    let done = bench.establish(CP, &request);
    assert_eq!(done.cause, Cause::REQUEST_ACCEPTED);
    assert_eq!(done.teids.len(), 2, "it has its F-TEID all the same");
    assert_eq!(bench.net.holds(), 1, "nobody sends to the SMF");
    bench.delete(CP, done.seid);
    bench.assert_vacant();
}

#[test]
fn an_intermediate_upf_joins_two_tunnels() {
    let mut bench = Bench::new();
    let mut request = establishment(CP, 1);
    let mut down = uplink_pdr(2, 2);
    down.pdi.source_interface = SourceInterface::CORE;
    request.create_pdr.extend([uplink_pdr(1, 1), down]);
    let mut up_far = to_gnb(1, 0xaaa);
    let parameters = up_far.forwarding_parameters.as_mut().unwrap();
    parameters.destination_interface = DestinationInterface::CORE;
    request.create_far.extend([up_far, to_gnb(2, 0xbbb)]);
    let done = bench.establish(CP, &request);
    assert_eq!((done.cause, done.teids.len()), (Cause::REQUEST_ACCEPTED, 2));
    assert_eq!(done.teids[0].1 % 4096, done.teids[1].1 % 4096);
    bench.delete(CP, done.seid);
    bench.assert_vacant();
}
