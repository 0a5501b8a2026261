//! What is learned of messages, what is not, and what becomes of it at its limits.

use super::bench::*;
use crate::session::learned::session::FORMS_MAX;
use core::net::Ipv4Addr;
use sluice_wire::ids::{FarId, Seid, Teid};
use sluice_wire::pfcp::group::{UpdateFar, UpdateForwardingParameters};
use sluice_wire::pfcp::message::{SessionEstablishmentRequest, SessionModificationRequest};
use sluice_wire::pfcp::value::*;

pub fn handover(teid: u32) -> SessionModificationRequest<'static> {
    let ohc = OuterHeaderCreation::gtpu_v4(Teid::new(teid).unwrap(), GNB);
    let mut change = SessionModificationRequest::default();
    change.update_far.push(UpdateFar {
        far_id: FarId(2),
        update_forwarding_parameters: Some(UpdateForwardingParameters {
            outer_header_creation: Some(Edit::Set(ohc)),
            ..Default::default()
        }),
        ..Default::default()
    });
    change
}

/// How many messages were replayed meanwhile.
fn replayed<T>(bench: &mut Bench, act: impl FnOnce(&mut Bench) -> T) -> (u64, T) {
    let before = bench.up.learned().replayed;
    let done = act(bench);
    (bench.up.learned().replayed - before, done)
}

fn established(bench: &mut Bench, request: &SessionEstablishmentRequest<'_>) -> Seid {
    let done = bench.establish(CP, request);
    assert!(done.cause.is_acceptance(), "{done:?}");
    done.seid
}

#[test]
fn addresses_of_a_pool_and_others_are_learned_apart() {
    let mut bench = Bench::new();
    let (replayed, ()) = replayed(&mut bench, |bench| {
        for i in 1..=4 {
            for first in [45, 99] {
                let ue = Ipv4Addr::new(10, first, 0, i);
                let seid = u64::from(first) << 8 | u64::from(i);
                established(bench, &default_session(ue, seid));
            }
        }
    });
    assert_eq!(replayed, 6);
    assert_eq!(bench.up.in_use().foreign_lines, 4);
    assert_eq!(bench.up.learned().recipes, 2);
}

#[test]
fn a_message_that_has_to_go_the_long_way_each_time_teaches_once() {
    let mut bench = Bench::new();
    let seid = established(&mut bench, &default_session(UE, 7));
    let mut recipes = Vec::new();
    for name in 100..104 {
        // A new name for the session is nothing that a recipe gives.
        let mut change = handover(name);
        change.cp_f_seid = Some(FSeid::v4(Seid(name.into()), CP));
        let (replayed, done) = replayed(&mut bench, |b| b.modify(CP, seid, &change));
        assert!(done.cause.is_acceptance());
        assert_eq!((replayed, done.header_seid), (0, Seid(name.into())));
        recipes.push(bench.up.learned().recipes);
    }
    assert_eq!(recipes, [2; 4]);
}

#[test]
fn when_no_more_is_learned_what_is_known_is_still_of_use() {
    let mut bench = Bench::new();
    let seid = established(&mut bench, &default_session(UE, 7));
    assert!(bench.modify(CP, seid, &handover(1)).cause.is_acceptance());
    bench.delete(CP, seid);
    for i in 0..FORMS_MAX as u64 {
        let mut request = default_session(UE, 7);
        request.create_qer[0] = qer(1, Some((i + 50_000, 1)), Some(9));
        let seid = established(&mut bench, &request);
        bench.delete(CP, seid);
        // Lines rest before they are used again.
        bench.now_s += 61;
    }
    assert_eq!(bench.up.learned().sessions, FORMS_MAX as u64);
    // Another message that makes a session of the first form, and one of a form that nobody knows.
    let mut request = default_session(UE, 8);
    request.pdn_type = Some(PdnType::IPV4);
    let known = established(&mut bench, &request);
    let other = Ipv4Addr::new(10, 45, 0, 77);
    let mut request = default_session(other, 9);
    request.create_qer[0] = qer(1, Some((1, 1)), Some(9));
    let unknown = established(&mut bench, &request);
    for (seid, expected) in [(known, 1), (unknown, 0)] {
        let (replayed, done) = replayed(&mut bench, |b| b.modify(CP, seid, &handover(3)));
        assert!(done.cause.is_acceptance());
        assert_eq!(replayed, expected);
    }
    for seid in [known, unknown] {
        bench.delete(CP, seid);
    }
    bench.assert_vacant();
}
