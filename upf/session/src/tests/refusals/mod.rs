//! Every refusal: its cause, what it names, and that it leaves everything as it was.

mod cases;
mod more_cases;
mod packet_cases;

use super::bench::*;
use crate::conformance::Status;
use cases::{Case, Change, RULE, far, pdr};
use core::net::Ipv4Addr;
use more_cases::Wrong;
use sluice_wire::ids::{BarId, FarId, PdrId, Seid, Teid, UrrId};
use sluice_wire::pfcp::group::*;
use sluice_wire::pfcp::value::*;
use sluice_wire::pfcp::{Cause, IeType};

type Refusal = (Cause, Option<IeType>, Option<FailedRuleId>);

/// The newest refusal that the operator hears of.
fn heard(bench: &Bench) -> Refusal {
    let newest = bench.up.endpoint().refusals().iter().next_back().unwrap();
    (newest.cause, newest.offending_ie, newest.rule)
}

/// The answer to an establishment that changes nothing, sends nothing to the path, and that the operator hears of.
fn refusal(bench: &mut Bench, spoil: fn(&mut cases::Request), what: &str) -> Refusal {
    let before = bench.fingerprint();
    let mut request = default_session(UE, 1);
    spoil(&mut request);
    bench.ops.clear();
    let done = bench.establish(CP, &request);
    let said = (done.cause, done.offending, done.failed);
    assert_eq!(heard(bench), said, "{what}");
    assert_eq!(bench.fingerprint(), before, "{what}");
    assert!(bench.ops.is_empty(), "{what}");
    said
}

/// With a neighbour whose session stays.
fn with_neighbour() -> Bench {
    let mut bench = Bench::new();
    let neighbour = default_session(Ipv4Addr::new(10, 45, 0, 99), 5);
    let done = bench.establish(CP, &neighbour);
    assert_eq!(done.cause, Cause::REQUEST_ACCEPTED);
    bench
}

#[test]
fn each_line_of_a_refusal_with_a_request_is_refused_by_name() {
    let mut bench = with_neighbour();
    let rows = crate::conformance::tables().flat_map(|table| table.rows);
    let cases = rows.filter_map(|row| Some((row, row.case?)));
    for (row, case) in cases {
        let Status::Refused(cause) = row.status else {
            panic!("{row:?} is no refusal");
        };
        let expected = (cause, Some(row.ie), Some(case.failed));
        let what = format!("{}: {}", row.ie, row.note);
        assert_eq!(refusal(&mut bench, case.spoil, &what), expected, "{what}");
    }
    let done = bench.establish(CP, &default_session(UE, 1));
    assert_eq!(done.cause, Cause::REQUEST_ACCEPTED);
    bench.assert_well_spoken();
}

#[test]
fn an_establishment_that_cannot_be_served_is_refused_by_name() {
    let mut bench = with_neighbour();
    let cases = [
        cases::DETECTION,
        cases::PDI,
        packet_cases::ADDRESSES,
        packet_cases::FILTERS,
        more_cases::ACTION,
        more_cases::OTHER,
    ];
    for Case(what, spoil, cause, offending, failed) in cases.into_iter().flatten().copied() {
        let said = refusal(&mut bench, spoil, what);
        assert_eq!(said, (cause, offending, failed), "{what}");
    }
    // After all that, the good one still goes through.
    assert_eq!(
        bench.establish(CP, &default_session(UE, 1)).cause,
        Cause::REQUEST_ACCEPTED
    );
    bench.assert_well_spoken();
}

#[test]
fn a_peer_that_cannot_be_reached_is_refused_and_nothing_stays_behind() {
    use crate::network::PeerError;
    let cases = [
        (PeerError::NoInterface, RULE, IeType::NETWORK_INSTANCE),
        (
            PeerError::Full,
            Cause::NO_RESOURCES_AVAILABLE,
            IeType::OUTER_HEADER_CREATION,
        ),
    ];
    let mut bench = Bench::new();
    for (error, cause, ie) in cases {
        bench.net.refuses = Some(error);
        let done = bench.establish(CP, &default_session(UE, 1));
        assert_eq!(
            (done.cause, done.offending, done.failed),
            (cause, Some(ie), far(2))
        );
    }
    bench.assert_vacant();
}

#[test]
fn addresses_and_teids_of_another_session_are_refused() {
    let mut bench = Bench::new();
    let first = bench.establish(CP, &default_session(UE, 1));
    let twin = bench.establish(CP, &default_session(UE, 2));
    let said = (twin.cause, twin.offending, twin.failed);
    assert_eq!(said, (RULE, Some(IeType::UE_IP_ADDRESS), pdr(2)));
    let mut thief = default_session(Ipv4Addr::new(10, 45, 0, 8), 3);
    let stolen = FTeid::v4(Teid::new(first.teids[0].1).unwrap(), N3);
    thief.create_pdr[0].pdi.local_f_teid = Some(stolen);
    let done = bench.establish(CP, &thief);
    let said = (done.cause, done.offending, done.failed);
    assert_eq!(said, (RULE, Some(IeType::F_TEID), pdr(1)));
}

#[test]
fn more_sessions_than_configured_are_refused() {
    let mut bench = Bench::with(|c| c.sessions = 1);
    assert_eq!(
        bench.establish(CP, &default_session(UE, 1)).cause,
        Cause::REQUEST_ACCEPTED
    );
    let before = bench.fingerprint();
    let other = default_session(Ipv4Addr::new(10, 45, 0, 8), 2);
    assert_eq!(
        bench.establish(CP, &other).cause,
        Cause::NO_RESOURCES_AVAILABLE
    );
    assert_eq!(bench.fingerprint(), before);
}

#[test]
fn pdn_type_0_says_nothing_and_is_passed_over() {
    let mut bench = Bench::new();
    let mut request = default_session(UE, 1);
    request.pdn_type = Some(PdnType(0));
    assert_eq!(bench.establish(CP, &request).cause, Cause::REQUEST_ACCEPTED);
}

#[test]
fn the_first_and_last_identifiers_are_ordinary() {
    let mut bench = Bench::new();
    let mut request = default_session(UE, u64::MAX);
    (request.create_pdr[0].pdr_id, request.create_pdr[1].pdr_id) = (PdrId(0), PdrId(65535));
    (request.create_far[0].far_id, request.create_far[1].far_id) = (FarId(0), FarId(u32::MAX));
    request.create_pdr[0].far_id = Some(FarId(0));
    request.create_pdr[1].far_id = Some(FarId(u32::MAX));
    request
        .create_urr
        .extend([urr(65535), urr(u32::MAX), urr(0)]);
    request.create_pdr[0]
        .urr_id
        .extend([UrrId(65535), UrrId(u32::MAX), UrrId(0)]);
    request.create_bar.push(CreateBar {
        bar_id: BarId(255),
        ..Default::default()
    });
    let done = bench.establish(CP, &request);
    assert_eq!(done.cause, Cause::REQUEST_ACCEPTED);
    assert_eq!(bench.delete(CP, done.seid).1.len(), 3);
    bench.assert_vacant();
}

#[test]
fn a_modification_is_refused_whole() {
    let mut bench = Bench::new();
    let seid = bench.establish(CP, &default_session(UE, 31)).seid;
    let before = bench.fingerprint();
    for Wrong(what, spoil, cause, offending, failed) in more_cases::CHANGES.iter().copied() {
        let mut change = Change::default();
        spoil(&mut change);
        bench.ops.clear();
        let done = bench.modify(CP, seid, &change);
        let said = (done.cause, done.offending, done.failed);
        assert_eq!(said, (cause, offending, failed), "{what}");
        assert_eq!(heard(&bench), said, "{what}");
        assert_eq!(done.header_seid, Seid(31), "{what}");
        assert_eq!(bench.fingerprint(), before, "{what}");
        assert!(bench.ops.is_empty(), "{what}");
    }
    assert_eq!(bench.delete(CP, seid).0, Cause::REQUEST_ACCEPTED);
    bench.assert_well_spoken();
    bench.assert_vacant();
}

#[test]
fn a_session_answers_to_its_own_association_and_seid_only() {
    let mut bench = Bench::new();
    bench.associate(CP2);
    let seid = bench.establish(CP, &default_session(UE, 1)).seid;
    let not_found = Cause::SESSION_CONTEXT_NOT_FOUND;
    for (cp, seid) in [
        (CP2, seid),
        (CP, Seid(seid.0 ^ 1 << 40)),
        (CP, Seid(seid.0 + 1)),
        (CP, Seid(0)),
    ] {
        let done = bench.modify(cp, seid, &Change::default());
        assert_eq!((done.cause, done.header_seid), (not_found, Seid(0)));
        assert_eq!(bench.delete(cp, seid).0, not_found);
    }
    assert_eq!(bench.delete(CP, seid).0, Cause::REQUEST_ACCEPTED);
    assert_eq!(bench.delete(CP, seid).0, not_found);
}

#[test]
fn requests_beyond_the_transactions_under_way_are_congestion() {
    let mut bench = Bench::with(|c| c.transactions = 1);
    let kind = sluice_wire::pfcp::MessageType::SESSION_ESTABLISHMENT_REQUEST;
    let request = default_session(UE, 1);
    let first = bench.message(kind, Some(Seid(0)), |w| request.emit(w));
    bench.put(CP, &first);
    let other = default_session(Ipv4Addr::new(10, 45, 0, 8), 2);
    let done = bench.establish(CP, &other);
    assert_eq!(done.cause, Cause::PFCP_ENTITY_IN_CONGESTION);
    assert_eq!(bench.up.session_count(), 1);
}
