//! The tables of what is served: complete, and true of every IE that they say is refused or ignored.

use super::bench::*;
use crate::conformance::{self, Row, Status, Table};
use sluice_wire::ids::{BarId, Seid, UrrId};
use sluice_wire::pfcp::element::Element;
use sluice_wire::pfcp::group::*;
use sluice_wire::pfcp::message::*;
use sluice_wire::pfcp::value::{NodeId, NtpTime, OffendingIe, UpFunctionFeatures};
use sluice_wire::pfcp::{Cause, Full, Header, IeType, Ies, MessageType, Writer, ie};
use std::collections::BTreeSet;

/// Every message and group with every IE.
#[path = "../../../../wire/tests/all/pfcp_common/mod.rs"]
mod samples;

use samples::{groups, node, rules, session};

fn octets(write: impl FnOnce(&mut Writer<'_>) -> Result<(), Full>) -> Vec<u8> {
    let mut room = vec![0; samples::BUFFER];
    let mut out = Writer::new(&mut room);
    write(&mut out).unwrap();
    out.written().to_vec()
}

fn tlv(ie: IeType, value: &[u8]) -> Vec<u8> {
    octets(|w| w.ie(ie, |w| w.bytes(value)))
}

/// The body with `value` as the only IE of its type in the group that the path leads to. A group that is not
/// there is made.
fn with(body: &[u8], path: &[IeType], ie: IeType, value: &[u8]) -> Vec<u8> {
    let mut all = Vec::new();
    let mut is_inside = false;
    for found in Ies::new(body).map(Result::unwrap) {
        match path {
            [] if found.ie_type == ie => {}
            [group, path @ ..] if found.ie_type == *group && !is_inside => {
                is_inside = true;
                all.extend(tlv(*group, &with(found.value, path, ie, value)));
            }
            _ => all.extend(tlv(found.ie_type, found.value)),
        }
    }
    match path {
        [] => all.extend(tlv(ie, value)),
        [group, path @ ..] if !is_inside => {
            all.extend(tlv(*group, &with(&[], path, ie, value)));
        }
        _ => {}
    }
    all
}

/// A table, the message that its IEs come in, the group in it, and a sample of each IE.
struct Place {
    table: &'static str,
    message: MessageType,
    path: &'static [IeType],
    sample: Vec<u8>,
}

fn places() -> Vec<Place> {
    let setup = MessageType::ASSOCIATION_SETUP_REQUEST;
    let update = MessageType::ASSOCIATION_UPDATE_REQUEST;
    let sample = || octets(|w| node::association_setup_request().emit(w));
    let mut all = vec![
        place("Association Setup Request", setup, &[], sample()),
        place("Association Update Request", update, &[], sample()),
    ];
    all.extend(places_of_an_establishment());
    all.extend(places_of_a_modification());
    all
}

fn place(
    table: &'static str,
    message: MessageType,
    path: &'static [IeType],
    sample: Vec<u8>,
) -> Place {
    Place {
        table,
        message,
        path,
        sample,
    }
}

fn places_of_an_establishment() -> Vec<Place> {
    use IeType as Ie;
    const PARAMETERS: &[Ie] = &[Ie::CREATE_FAR, Ie::FORWARDING_PARAMETERS];
    let new = MessageType::SESSION_ESTABLISHMENT_REQUEST;
    vec![
        place(
            "Session Establishment Request",
            new,
            &[],
            octets(|w| session::establishment_request().emit(w)),
        ),
        place(
            "Create PDR",
            new,
            &[Ie::CREATE_PDR],
            octets(|w| rules::create_pdr().emit(w)),
        ),
        place(
            "PDI",
            new,
            &[Ie::CREATE_PDR, Ie::PDI],
            octets(|w| rules::pdi().emit(w)),
        ),
        place(
            "Create FAR",
            new,
            &[Ie::CREATE_FAR],
            octets(|w| rules::create_far().emit(w)),
        ),
        place(
            "Forwarding Parameters",
            new,
            PARAMETERS,
            octets(|w| rules::forwarding_parameters().emit(w)),
        ),
        place(
            "Create QER",
            new,
            &[Ie::CREATE_QER],
            octets(|w| rules::create_qer().emit(w)),
        ),
        place(
            "Create URR",
            new,
            &[Ie::CREATE_URR],
            octets(|w| rules::create_urr().emit(w)),
        ),
        place(
            "Create BAR",
            new,
            &[Ie::CREATE_BAR],
            octets(|w| groups::create_bar().emit(w)),
        ),
    ]
}

fn places_of_a_modification() -> Vec<Place> {
    use IeType as Ie;
    const UPDATED: &[Ie] = &[Ie::UPDATE_FAR, Ie::UPDATE_FORWARDING_PARAMETERS];
    const UPDATE_BAR: &[Ie] = &[Ie::UPDATE_BAR_IN_SESSION_MODIFICATION_REQUEST];
    let change = MessageType::SESSION_MODIFICATION_REQUEST;
    let updated = rules::update_far().update_forwarding_parameters.unwrap();
    vec![
        place(
            "Session Modification Request",
            change,
            &[],
            octets(|w| session::modification_request().emit(w)),
        ),
        place(
            "Update PDR",
            change,
            &[Ie::UPDATE_PDR],
            octets(|w| rules::update_pdr().emit(w)),
        ),
        place(
            "Update FAR",
            change,
            &[Ie::UPDATE_FAR],
            octets(|w| rules::update_far().emit(w)),
        ),
        place(
            "Update Forwarding Parameters",
            change,
            UPDATED,
            octets(|w| updated.emit(w)),
        ),
        place(
            "Update QER",
            change,
            &[Ie::UPDATE_QER],
            octets(|w| rules::update_qer().emit(w)),
        ),
        place(
            "Update URR",
            change,
            &[Ie::UPDATE_URR],
            octets(|w| rules::update_urr().emit(w)),
        ),
        place(
            "Update BAR (7.5.4",
            change,
            UPDATE_BAR,
            octets(|w| groups::update_bar().emit(w)),
        ),
        place(
            "Remove BAR",
            change,
            &[Ie::REMOVE_BAR],
            octets(|w| groups::update_bar().emit(w)),
        ),
    ]
}

/// The default session with a URR and a BAR.
fn new_session() -> SessionEstablishmentRequest<'static> {
    let mut request = default_session(UE, 1);
    request.create_urr.push(urr(1));
    request.create_pdr[0].urr_id.push(UrrId(1));
    request.create_bar.push(CreateBar {
        bar_id: BarId(1),
        ..Default::default()
    });
    request
}

/// What the message is without the IE: updates that name a rule alone, so that they change nothing.
fn base(message: MessageType, path: &[IeType]) -> Vec<u8> {
    let request = new_session();
    match message {
        MessageType::ASSOCIATION_SETUP_REQUEST => octets(|w| {
            let request = AssociationSetupRequest {
                node_id: NodeId::V4(CP),
                recovery_time_stamp: NtpTime(7),
                ..Default::default()
            };
            request.emit(w)
        }),
        MessageType::ASSOCIATION_UPDATE_REQUEST => octets(|w| {
            let request = AssociationUpdateRequest {
                node_id: NodeId::V4(CP),
                ..Default::default()
            };
            request.emit(w)
        }),
        MessageType::SESSION_ESTABLISHMENT_REQUEST => octets(|w| request.emit(w)),
        _ => match path.first() {
            None => Vec::new(),
            Some(&group) => {
                let (id, value) = match group {
                    IeType::UPDATE_PDR => (IeType::PDR_ID, vec![0, 2]),
                    IeType::UPDATE_FAR => (IeType::FAR_ID, vec![0, 0, 0, 2]),
                    IeType::UPDATE_QER => (IeType::QER_ID, vec![0, 0, 0, 1]),
                    IeType::UPDATE_URR => (IeType::URR_ID, vec![0, 0, 0, 1]),
                    _ => (IeType::BAR_ID, vec![1]),
                };
                tlv(group, &tlv(id, &value))
            }
        },
    }
}

/// A UPF that has been asked for nothing but what a message needs, and the SEID in that message's header.
fn bench_for(message: MessageType) -> (Bench, Option<Seid>) {
    let mut bench = Bench::new();
    let seid = match message {
        MessageType::SESSION_ESTABLISHMENT_REQUEST => Some(Seid(0)),
        MessageType::SESSION_MODIFICATION_REQUEST => Some(bench.establish(CP, &new_session()).seid),
        _ => None,
    };
    (bench, seid)
}

/// Cause and Offending IE of the answer to a message, and what it did to the path.
fn answer(
    (bench, seid): &mut (Bench, Option<Seid>),
    message: MessageType,
    body: &[u8],
) -> (Cause, Option<IeType>, String) {
    bench.ops.clear();
    let answer = bench.ask(CP, message, *seid, |w| w.bytes(body)).unwrap();
    let (_, body) = Header::parse(&answer).unwrap();
    let cause = Cause::decode(ie::first(body, IeType::CAUSE).unwrap()).unwrap();
    let offending = ie::first(body, IeType::OFFENDING_IE);
    let offending = offending.map(|value| OffendingIe::decode(value).unwrap().0);
    let done = format!("{:?}{:?}", bench.ops, bench.end_markers);
    (cause, offending, done)
}

fn table(name: &str) -> &'static Table {
    let mut tables = conformance::tables();
    tables.find(|table| table.name.starts_with(name)).unwrap()
}

/// Rows that this file proves: the only ones of their IE, without a test of their own.
fn own_rows(table: &'static Table) -> impl Iterator<Item = &'static Row> {
    let proved = |row: &&Row| row.proof() == Some(conformance::OWN_TEST);
    table.rows.iter().filter(proved)
}

#[test]
fn the_tables_say_what_is_refused_and_what_is_ignored() {
    let mut proved = 0;
    for place in places() {
        let base = base(place.message, place.path);
        let mut bench = bench_for(place.message);
        let unchanged = answer(&mut bench, place.message, &base);
        assert_eq!(unchanged.0, Cause::REQUEST_ACCEPTED, "{}", place.table);
        let mut was_accepted = true;
        let is_new = place.message == MessageType::SESSION_ESTABLISHMENT_REQUEST;
        for row in own_rows(table(place.table)) {
            let what = format!("{}: {}", place.table, row.ie);
            // Multi-access rules have no sample; any octet will do.
            let sample = ie::first(&place.sample, row.ie).unwrap_or(&[1]);
            let body = with(&base, place.path, row.ie, sample);
            if is_new && was_accepted {
                // The same address is free again, and the same TEIDs are given.
                bench = bench_for(place.message);
            }
            let answer = answer(&mut bench, place.message, &body);
            was_accepted = answer.0.is_acceptance();
            match row.status {
                Status::Refused(cause) => {
                    assert_eq!((answer.0, answer.1), (cause, Some(row.ie)), "{what}");
                }
                Status::Ignored => assert_eq!(answer, unchanged, "{what}"),
                status => panic!("{what}: {status:?} without a test"),
            }
            proved += 1;
        }
    }
    let all: usize = conformance::tables()
        .map(|table| own_rows(table).count())
        .sum();
    assert_eq!(proved, all, "a table with such rows is not sent");
}

#[test]
fn every_ie_that_the_codec_reads_has_a_line() {
    for table in conformance::tables() {
        let read: BTreeSet<_> = table.ies.iter().collect();
        let said: BTreeSet<_> = table.rows.iter().map(|row| &row.ie).collect();
        assert_eq!(read, said, "{}", table.name);
        for row in table.rows {
            let of_ie = table.rows.iter().filter(|other| other.ie == row.ie);
            let alone = of_ie.count() == 1;
            let is_own = row.proof() == Some(conformance::OWN_TEST);
            let what = format!("{}: {}", table.name, row.ie);
            assert!(!is_own || alone, "{what}: which of its lines is meant?");
            let needs_text = matches!(row.status, Status::Ignored);
            assert!(!needs_text || !row.note.is_empty(), "{what}: why?");
        }
    }
}

#[test]
fn every_feature_bit_has_a_line_and_every_one_that_is_announced_a_test() {
    let mut named = UpFunctionFeatures::NONE;
    for row in conformance::features() {
        named |= row.bit;
        assert_eq!(row.is_announced(), !row.test.is_empty(), "{}", row.name);
    }
    assert_eq!(named, UpFunctionFeatures::ALL);
    assert!(named.contains(crate::UP_FUNCTION_FEATURES));
}

#[test]
fn every_message_has_a_line() {
    let rows = conformance::messages().iter().map(|row| row.message);
    assert!(rows.eq(MessageType::ALL.iter().copied()));
}

#[test]
fn messages_of_features_that_are_not_advertised_are_refused() {
    let set = SessionSetDeletionRequest {
        node_id: NodeId::V4(CP),
        ..Default::default()
    };
    let message = MessageType::SESSION_SET_MODIFICATION_REQUEST;
    let body = octets(|w| set.emit(w));
    let (cause, _, done) = answer(&mut bench_for(message), message, &body);
    assert_eq!(cause, Cause::SERVICE_NOT_SUPPORTED);
    assert_eq!(done, "[][]");
}

#[test]
fn the_tables_say_what_responses_ignore() {
    let mut bench = Bench::new();
    let seid = bench.establish(CP, &default_session(UE, 77)).seid;
    let before = bench.fingerprint();
    bench.out.datagrams.clear();
    let (now, wall) = (bench.now(), bench.wall());
    bench
        .up
        .error_indication(now, wall, GNB.into(), 0xd007, &mut bench.out);
    let (_, request) = bench.out.datagrams.pop().unwrap();
    let answer = Header {
        message_type: MessageType::SESSION_REPORT_RESPONSE,
        seid: Some(seid),
        ..Header::parse(&request).unwrap().0
    };
    let response = SessionReportResponse {
        cause: Cause::REQUEST_ACCEPTED,
        ..session::report_response()
    };
    bench.ops.clear();
    let mut bytes = vec![0; 600];
    let len = sluice_wire::pfcp::write_message(&mut bytes, &answer, |w| response.emit(w)).unwrap();
    bench.put(CP, &bytes[..len]);
    bench.settle();
    assert!(bench.ops.is_empty());
    assert_eq!(bench.fingerprint(), before);
}
