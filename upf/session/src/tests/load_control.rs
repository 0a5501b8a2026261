//! Load and overload control information in session responses: to whom, when, and with which numbers.

use super::bench::*;
use core::net::Ipv4Addr;
use sluice_wire::ids::Seid;
use sluice_wire::pfcp::message::*;
use sluice_wire::pfcp::value::{self, *};
use sluice_wire::pfcp::{Cause, Header, MessageType};

/// Number, metric, and the two last IEs of overload control information, as octets.
type Told = Option<(u32, u8, Vec<u8>)>;

fn associate(bench: &mut Bench, cp: Ipv4Addr, features: CpFunctionFeatures) {
    let request = AssociationSetupRequest {
        node_id: value::NodeId::V4(cp),
        recovery_time_stamp: NtpTime(7),
        cp_function_features: Some(features),
        ..Default::default()
    };
    let kind = MessageType::ASSOCIATION_SETUP_REQUEST;
    bench.ask(cp, kind, None, |w| request.emit(w)).unwrap();
}

/// Typed from 7.5.3.3 and 7.5.3.4: Sequence Number (52), Metric (53), then the rest.
fn read(octets: &[u8]) -> (u32, u8, Vec<u8>) {
    assert_eq!(octets[..4], [0, 52, 0, 4]);
    assert_eq!(octets[8..12], [0, 53, 0, 1]);
    let number = u32::from_be_bytes(octets[4..8].try_into().unwrap());
    (number, octets[12], octets[13..].to_vec())
}

/// What the response to one more establishment says: load, overload.
fn established(bench: &mut Bench, cp: Ipv4Addr, number: u8) -> (Seid, Told, Told) {
    let request = default_session(Ipv4Addr::new(10, 45, 0, number), u64::from(number));
    let kind = MessageType::SESSION_ESTABLISHMENT_REQUEST;
    let response = bench
        .ask(cp, kind, Some(Seid(0)), |w| request.emit(w))
        .unwrap();
    let (_, body) = Header::parse(&response).unwrap();
    let response = SessionEstablishmentResponse::parse(body).unwrap();
    assert_eq!(response.cause, Cause::REQUEST_ACCEPTED);
    let load = response.load_control_information.map(read);
    let overload = response.overload_control_information.map(read);
    (response.up_f_seid.unwrap().seid, load, overload)
}

fn measure(bench: &mut Bench, percent: u8) {
    let now = bench.now();
    bench.up.measure_load(now, percent);
}

#[test]
fn load_is_told_once_for_each_value_to_those_who_want_it() {
    let mut bench = Bench::new();
    associate(&mut bench, CP2, CpFunctionFeatures::LOAD);
    assert_eq!(
        established(&mut bench, CP2, 1).1,
        None,
        "nothing was measured"
    );
    measure(&mut bench, 40);
    assert_eq!(
        established(&mut bench, CP, 2).1,
        None,
        "it does not want it"
    );
    let (_, load, overload) = established(&mut bench, CP2, 3);
    assert_eq!((load, overload), (Some((1, 40, vec![])), None));
    measure(&mut bench, 40);
    assert_eq!(established(&mut bench, CP2, 4).1, None);
    measure(&mut bench, 41);
    measure(&mut bench, 42);
    assert_eq!(established(&mut bench, CP2, 5).1, Some((3, 42, vec![])));
    // One that starts anew keeps its association, and what it was told is newer than nothing.
    measure(&mut bench, 43);
    assert_eq!(established(&mut bench, CP2, 6).1, Some((4, 43, vec![])));
}

#[test]
fn changes_and_deletions_tell_it_too() {
    let mut bench = Bench::new();
    associate(&mut bench, CP, CpFunctionFeatures::LOAD);
    let (seid, _, _) = established(&mut bench, CP, 1);
    measure(&mut bench, 10);
    let kind = MessageType::SESSION_MODIFICATION_REQUEST;
    let request = SessionModificationRequest::default();
    let response = bench
        .ask(CP, kind, Some(seid), |w| request.emit(w))
        .unwrap();
    let (_, body) = Header::parse(&response).unwrap();
    let response = SessionModificationResponse::parse(body).unwrap();
    let load = response.load_control_information.map(read);
    assert_eq!(load, Some((1, 10, vec![])));
    measure(&mut bench, 11);
    let kind = MessageType::SESSION_DELETION_REQUEST;
    let response = bench.ask(CP, kind, Some(seid), |_| Ok(())).unwrap();
    let (_, body) = Header::parse(&response).unwrap();
    let response = SessionDeletionResponse::parse(body).unwrap();
    let load = response.load_control_information.map(read);
    assert_eq!(load, Some((2, 11, vec![])));
}

#[test]
fn overload_is_told_renewed_and_taken_back() {
    let mut bench = Bench::new();
    associate(&mut bench, CP, CpFunctionFeatures::OVRL);
    measure(&mut bench, 89);
    let (_, load, overload) = established(&mut bench, CP, 1);
    assert_eq!((load, overload), (None, None));
    measure(&mut bench, 95);
    // A minute (1 of a minute each), and the node is meant (AOCI).
    let rest = [0, 55, 0, 1, 0x20 | 1, 0, 110, 0, 1, 1].to_vec();
    let minute = Timer::at_least_s(60).0;
    let rest = [&[0, 55, 0, 1, minute][..], &rest[5..]].concat();
    assert_eq!(
        established(&mut bench, CP, 2).2,
        Some((1, 55, rest.clone()))
    );
    assert_eq!(established(&mut bench, CP, 3).2, None);
    bench.now_s += 29;
    measure(&mut bench, 95);
    assert_eq!(established(&mut bench, CP, 4).2, None);
    bench.now_s += 1;
    measure(&mut bench, 95);
    assert_eq!(
        established(&mut bench, CP, 5).2,
        Some((2, 55, rest.clone()))
    );
    measure(&mut bench, 100);
    assert_eq!(established(&mut bench, CP, 6).2, Some((3, 100, rest)));
    measure(&mut bench, 20);
    let none = [0, 55, 0, 1, 0, 0, 110, 0, 1, 1].to_vec();
    assert_eq!(established(&mut bench, CP, 7).2, Some((4, 0, none)));
    measure(&mut bench, 21);
    assert_eq!(established(&mut bench, CP, 8).2, None);
    assert_eq!(bench.up.load_percent(), [21, 0]);
}

#[test]
fn full_tables_are_load() {
    let mut bench = Bench::with(|config| config.sessions = 10);
    associate(&mut bench, CP, CpFunctionFeatures::LOAD);
    for number in 1..=8 {
        established(&mut bench, CP, number);
    }
    measure(&mut bench, 3);
    assert_eq!(established(&mut bench, CP, 9).1, Some((1, 80, vec![])));
}

#[test]
fn it_can_be_switched_off() {
    let mut bench = Bench::with(|config| config.load_control.enabled = false);
    associate(&mut bench, CP, CpFunctionFeatures::LOAD);
    measure(&mut bench, 99);
    let (_, load, overload) = established(&mut bench, CP, 1);
    assert_eq!((load, overload), (None, None));
}
