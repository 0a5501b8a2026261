//! Messages that SMFs of others sent, replayed as they were recorded; UP SEIDs stand in them as another UPF gave
//! them, and are replaced.

#[path = "../../../../tools/smf/tests/all/common/recorded.rs"]
pub mod recorded;

use super::bench::*;
use sluice_wire::pfcp::element::Element;
use sluice_wire::pfcp::{Cause, Header, IeType, MessageType, ie};

/// The N3 address at which the UPF that was recorded had its F-TEIDs.
const RECORDED_N3: [u8; 4] = [10, 100, 3, 1];
const SMF: core::net::Ipv4Addr = core::net::Ipv4Addr::new(10, 100, 4, 2);

fn at_our_n3(mut message: Vec<u8>) -> Vec<u8> {
    let places = message.windows(4).enumerate();
    let places = places.filter(|(_, octets)| *octets == RECORDED_N3);
    for at in places.map(|(at, _)| at).collect::<Vec<_>>() {
        message[at..at + 4].copy_from_slice(&N3.octets());
    }
    message
}

/// Sends all messages but those that are `passed` over; all must be accepted.
fn replay(file: &str, passed: impl Fn(&str) -> bool) {
    let Some(messages) = recorded::recorded(file) else {
        return;
    };
    let messages = messages.into_iter().filter(|(name, _)| !passed(name));
    let (mut bench, mut seid) = (Bench::new(), [0; 8]);
    for (name, message) in messages {
        let mut message = at_our_n3(message);
        let kind = Header::parse(&message).unwrap().0.message_type;
        let names_session = [
            MessageType::SESSION_MODIFICATION_REQUEST,
            MessageType::SESSION_DELETION_REQUEST,
        ];
        if names_session.contains(&kind) {
            message[4..12].copy_from_slice(&seid);
        }
        let answer = bench.ask_bytes(SMF, &message).unwrap();
        let (_, body) = Header::parse(&answer).unwrap();
        let cause = Cause::decode(ie::first(body, IeType::CAUSE).unwrap()).unwrap();
        assert_eq!(cause, Cause::REQUEST_ACCEPTED, "{file}: {name}");
        if kind == MessageType::SESSION_ESTABLISHMENT_REQUEST {
            let up = ie::first(body, IeType::F_SEID).unwrap();
            seid.copy_from_slice(&up[1..9]);
        }
    }
    bench.assert_well_spoken();
}

#[test]
fn open5gs_attaches_a_ue_with_ipv4() {
    replay("open5gs-ipv4.txt", |_| false);
}

#[test]
fn open5gs_attaches_ues_with_ipv6() {
    replay("open5gs-ipv4v6.txt", |_| false);
}

#[test]
fn open5gs_adds_a_dedicated_flow() {
    replay("open5gs-flow.txt", |_| false);
}

#[test]
fn open5gs_restores_its_sessions() {
    replay("open5gs-restored.txt", |_| false);
}

#[test]
fn free5gc_attaches_with_and_without_filters() {
    replay("free5gc.txt", |name| name == "release");
}

#[test]
fn free5gc_attaches_a_ue_whose_urrs_measure_before_qos_enforcement() {
    replay("free5gc-live.txt", |name| name.ends_with("of_the_UPF"));
}
