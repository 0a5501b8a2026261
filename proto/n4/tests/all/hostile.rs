//! Unexpected input: strangers, other versions, wrong octets, floods.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use crate::net;
use crate::net::{CP, NUMBER, Net, UP, address, cp_config, up_config};
use proptest::prelude::*;
use sluice_n4::{Counter, Event, Fqdn, Input, Instant, NodeId};
use sluice_wire::ids::Seid;
use sluice_wire::pfcp::message::{AssociationSetupRequest, SessionEstablishmentResponse};
use sluice_wire::pfcp::value::{FSeid, Name, NtpTime};
use sluice_wire::pfcp::{
    Cause, Header, IeType, MessageType, SequenceNumber, Writer, value, write_message,
};

const SEQUENCE: SequenceNumber = SequenceNumber::wrapping(77);

fn message(
    message_type: MessageType,
    body: impl FnOnce(&mut Writer<'_>) -> Result<(), sluice_wire::pfcp::Full>,
) -> Vec<u8> {
    let header = match message_type.is_session_related() {
        true => Header::session(message_type, Seid(0), SEQUENCE),
        false => Header::node(message_type, SEQUENCE),
    };
    let mut octets = vec![0; 2048];
    let len = write_message(&mut octets, &header, body).unwrap();
    octets.truncate(len);
    octets
}

fn node_id(w: &mut Writer<'_>, octets: &[u8]) -> Result<(), sluice_wire::pfcp::Full> {
    w.ie(IeType::NODE_ID, |w| w.bytes(octets))
}

/// A session establishment of the CP function with this Node ID, F-SEID 0x55.
fn establishment(node: &[u8]) -> Vec<u8> {
    message(MessageType::SESSION_ESTABLISHMENT_REQUEST, |w| {
        node_id(w, node)?;
        w.ie(IeType::F_SEID, |w| {
            use sluice_wire::pfcp::element::Element;
            FSeid::v4(Seid(0x55), [10, 0, 0, 1].into()).encode(w)
        })?;
        w.ie(NUMBER, |w| w.u64(9))
    })
}

#[test]
fn a_session_request_without_association_is_rejected_with_cause_72_every_time() {
    let mut net = Net::new();
    let request = establishment(&[0, 10, 0, 0, 1]);
    for times in 1..=3 {
        let answers = net.inject(UP, address(1), &request);
        let (header, body) = Header::parse(&answers[0]).unwrap();
        assert_eq!(
            header.message_type,
            MessageType::SESSION_ESTABLISHMENT_RESPONSE
        );
        assert_eq!((header.seid, header.sequence), (Some(Seid(0x55)), SEQUENCE));
        let response = SessionEstablishmentResponse::parse(body).unwrap();
        assert_eq!(response.cause, Cause::NO_ESTABLISHED_PFCP_ASSOCIATION);
        assert_eq!(response.node_id, value::NodeId::V4([10, 0, 0, 2].into()));
        assert_eq!(net.counter(UP, Counter::NoAssociation), 1);
        assert_eq!(net.counter(UP, Counter::DuplicateAnswered), times - 1);
    }
    assert!(net.hosts[UP].applied.is_empty());
}

#[test]
fn a_request_that_was_rejected_for_want_of_an_association_is_not_applied_behind_the_set_up() {
    let mut net = Net::new();
    let request = establishment(&[0, 10, 0, 0, 1]);
    let answers = net.inject(UP, address(1), &request);
    net.associate(CP, UP);
    net.run_ms(10);
    assert_eq!(net.associations(UP), 1);
    assert_eq!(net.inject(UP, address(1), &request), answers, "again");
    assert!(net.hosts[UP].applied.is_empty());
    // Another request, by its number, is served.
    let mut other = request.clone();
    other[14] += 1;
    net.inject(UP, address(1), &other);
    assert_eq!(net.hosts[UP].applied[&9], 1);
}

#[test]
fn a_known_function_may_send_from_another_address_and_is_known_there_from_then_on() {
    let mut net = Net::associated();
    let deletion = message(MessageType::SESSION_DELETION_REQUEST, |_| Ok(()));
    net.inject(UP, address(7), &deletion);
    assert_eq!(net.counter(UP, Counter::NoAssociation), 1);
    net.inject(UP, address(7), &establishment(&[0, 10, 0, 0, 1]));
    assert_eq!(net.hosts[UP].applied[&9], 1);
    let mut other = deletion.clone();
    other[14] += 1;
    net.inject(UP, address(7), &other);
    assert_eq!(net.hosts[UP].applied[&0], 1);
    assert_eq!(net.counter(UP, Counter::NoAssociation), 1);
}

#[test]
fn an_unknown_name_from_a_known_address_is_served_and_counted() {
    let mut net = Net::associated();
    net.inject(UP, address(1), &establishment(&[0, 10, 9, 9, 9]));
    assert_eq!(net.hosts[UP].applied[&9], 1);
    assert_eq!(net.counter(UP, Counter::NodeIdMismatch), 1);
}

#[test]
fn strangers_are_counted_and_not_answered() {
    let mut up = up_config(1000);
    up.allowed_peers = vec!["10.0.0.0/30".parse().unwrap()];
    let mut net = Net::with(cp_config(1000), up);
    let heartbeat = [0x20, 1, 0, 12, 0, 0, 9, 0, 0, 96, 0, 4, 0, 0, 3, 0];
    assert_eq!(
        net.inject(UP, address(4), &heartbeat),
        Vec::<Vec<u8>>::new()
    );
    assert_eq!(
        net.inject(UP, address(4), &establishment(&[0, 10, 0, 0, 4]))
            .len(),
        0
    );
    assert_eq!(net.counter(UP, Counter::NotAllowed), 2);
    assert_eq!(net.inject(UP, address(3), &heartbeat).len(), 1);
}

#[test]
fn a_heartbeat_of_an_unknown_peer_is_answered() {
    let mut net = Net::new();
    let heartbeat = [0x20, 1, 0, 12, 0, 0, 9, 0, 0, 96, 0, 4, 0, 0, 3, 0];
    let answers = net.inject(UP, address(8), &heartbeat);
    assert_eq!(
        answers,
        [[0x20, 2, 0, 12, 0, 0, 9, 0, 0, 96, 0, 4, 0, 0, 3, 0xe8]]
    );
}

#[test]
fn other_versions_are_answered_with_ours_but_not_without_limit() {
    let mut net = Net::new();
    let version_2 = [0x40, 1, 0, 4, 1, 2, 3, 0];
    let answers: usize = (0..50)
        .map(|_| net.inject(UP, address(1), &version_2).len())
        .sum();
    assert_eq!(answers, 10);
    assert_eq!(net.counter(UP, Counter::MalformedVersion), 50);
    assert_eq!(net.counter(UP, Counter::VersionAnswersWithheld), 40);
    net.run_ms(1000);
    let answer = net.inject(UP, address(1), &version_2);
    assert_eq!(answer, [[0x20, 11, 0, 4, 1, 2, 3, 0]]);
}

#[test]
fn a_peer_of_another_version_ends_our_request() {
    let mut net = Net::associated();
    net.loss_percent = 100;
    net.send(CP, 4);
    let sequence = net
        .log
        .last()
        .unwrap()
        .1
        .header()
        .sequence
        .get()
        .to_be_bytes();
    let answer = [0x20, 11, 0, 4, sequence[1], sequence[2], sequence[3], 0];
    net.inject(CP, address(2), &answer);
    let (association, tag) = (net.id(CP), 4);
    let reason = sluice_n4::FailReason::VersionNotSupported;
    assert_eq!(
        net.events(CP),
        [Event::RequestFailed {
            association,
            tag,
            reason
        }]
    );
}

#[test]
fn what_is_malformed_unknown_or_unexpected_is_counted_by_reason() {
    let mut net = Net::associated();
    let report = message(MessageType::SESSION_REPORT_REQUEST, |_| Ok(()));
    let mut no_seid = message(MessageType::HEARTBEAT_REQUEST, |_| Ok(()));
    no_seid[1] = MessageType::SESSION_DELETION_REQUEST.0;
    let cases: [(&[u8], Counter); 7] = [
        (&[], Counter::MalformedShort),
        (&[0x20, 1, 0], Counter::MalformedShort),
        (&[0x20, 1, 0, 9, 0, 0, 1, 0], Counter::MalformedLength),
        (&[0x20, 99, 0, 4, 0, 0, 1, 0], Counter::UnknownType),
        (&[0x20, 2, 0, 4, 0, 0, 1, 0], Counter::UnmatchedResponse),
        (&report, Counter::UnexpectedType),
        (&no_seid, Counter::MalformedSeid),
    ];
    for (octets, counter) in cases {
        let before = net.counter(UP, counter);
        assert_eq!(net.inject(UP, address(1), octets).len(), 0, "{counter:?}");
        assert_eq!(net.counter(UP, counter), before + 1, "{counter:?}");
    }
}

#[test]
fn a_set_up_without_node_id_is_rejected_with_cause_66() {
    let mut net = Net::new();
    let request = message(MessageType::ASSOCIATION_SETUP_REQUEST, |_| Ok(()));
    let answers = net.inject(UP, address(1), &request);
    assert_eq!(
        answers[0][8..],
        [
            0, 60, 0, 5, 0, 10, 0, 0, 2, 0, 19, 0, 1, 66, 0, 96, 0, 4, 0, 0, 3, 0xe8
        ]
    );
    assert_eq!(net.counter(UP, Counter::MalformedRequest), 1);
    assert_eq!(net.associations(UP), 0);
}

#[test]
fn a_sequence_number_that_comes_again_with_other_contents_is_a_new_request() {
    let mut net = Net::associated();
    // The CP function restarts and begins at the same number as before.
    let first_sequence = net
        .log
        .iter()
        .find(|(_, d)| d.from == address(1))
        .unwrap()
        .1
        .header()
        .sequence;
    let mut config = cp_config(1001);
    config.first_sequence = first_sequence;
    net.restart(CP, config);
    net.associate(CP, UP);
    net.run_ms(10);
    let association = net.id(UP);
    let retain = sluice_n4::Retention::None;
    assert_eq!(
        net.events(UP),
        [Event::AssociationReplaced {
            association,
            retain
        }]
    );
    assert_eq!(net.counter(UP, Counter::DuplicateAnswered), 0);
}

fn setup_request(name: &str) -> Vec<u8> {
    message(MessageType::ASSOCIATION_SETUP_REQUEST, |w| {
        let node_id = value::NodeId::Fqdn(Name(name.as_bytes()));
        let recovery_time_stamp = NtpTime(5);
        AssociationSetupRequest {
            node_id,
            recovery_time_stamp,
            ..Default::default()
        }
        .emit(w)
    })
}

#[test]
fn a_flood_of_names_takes_no_more_than_the_limit() {
    let mut net = Net::associated();
    for n in 0..1000u16 {
        let from = std::net::SocketAddr::from(([10, 1, (n >> 8) as u8, n as u8], 8805));
        let answers = net.inject(UP, from, &setup_request(&format!("smf{n}.example.org")));
        let expected = if n < 3 {
            Cause::REQUEST_ACCEPTED
        } else {
            Cause::NO_RESOURCES_AVAILABLE
        };
        let cause = sluice_wire::pfcp::ie::first(&answers[0][8..], IeType::CAUSE);
        assert_eq!(cause, Some(&[expected.0][..]));
    }
    assert_eq!(net.associations(UP), 4);
    net.send(CP, 1);
    net.run_ms(10);
    assert_eq!(
        net.hosts[CP].answered,
        [(1, 1)],
        "those that were there are served"
    );
}

#[test]
fn a_flood_of_requests_evicts_the_oldest_and_is_counted() {
    let mut net = Net::associated();
    for sequence in 0..5000u32 {
        let mut request = establishment(&[0, 10, 0, 0, 1]);
        request[12..15].copy_from_slice(&sequence.to_be_bytes()[1..]);
        assert_eq!(net.inject(UP, address(1), &request).len(), 1);
    }
    let evicted = net.counter(UP, Counter::CacheEvictedRequests);
    assert_eq!(evicted, 5000 + 1 - 1024);
    assert!(net.counter(UP, Counter::CacheEvictedResponses) > 0);
}

/// Messages of every kind that two endpoints exchange.
fn valid_messages() -> Vec<Vec<u8>> {
    let mut net = Net::new();
    net.associate(CP, UP);
    net.run_ms(11_000);
    net.send(CP, 1);
    net.send(UP, 2);
    let (at_cp, at_up) = (net.id(CP), net.id(UP));
    let ask = sluice_n4::Change::ReleaseRequest {
        graceful_period_s: Some(60),
    };
    net.call(UP, |up, now, out| up.update(now, at_up, ask, out))
        .unwrap();
    let prepare = sluice_n4::Change::ReleasePreparation;
    net.call(CP, |cp, now, out| cp.update(now, at_cp, prepare, out))
        .unwrap();
    net.run_ms(10);
    net.call(CP, |cp, now, out| cp.release(now, at_cp, out))
        .unwrap();
    net.run_ms(10);
    let mut all: Vec<_> = net
        .log
        .into_iter()
        .map(|(_, datagram)| datagram.bytes)
        .collect();
    all.push(setup_request("smf.example.org"));
    all.push(establishment(&[0, 10, 0, 0, 1]));
    all
}

/// Hands octets to both roles, associated and not, and runs them on: nothing may panic, what
/// came in is counted, and the endpoints still work.
fn survive(octets: &[u8]) {
    let mut net = Net::associated();
    net.hosts.push(net::Host::new(
        address(3),
        sluice_n4::Role::Up,
        up_config(1000),
    ));
    for host in 0..3 {
        let before: u64 = net.hosts[host]
            .endpoint
            .counters()
            .iter()
            .map(|(_, n)| n)
            .sum();
        let peer = net.hosts[1 - host.min(1)].address;
        net.inject(host, peer, octets);
        let after: u64 = net.hosts[host]
            .endpoint
            .counters()
            .iter()
            .map(|(_, n)| n)
            .sum();
        assert!(after > before, "counted");
    }
    net.run_ms(30_000);
    if net.associations(CP) == 0 {
        net.associate(CP, UP);
        net.run_ms(10);
    }
    for host in [CP, UP] {
        assert!(net.associations(host) <= 2);
        assert!(net.hosts[host].endpoint.in_flight() <= 2);
    }
}

#[test]
fn every_truncation_of_every_message_is_survived() {
    for message in valid_messages() {
        for len in 0..message.len() {
            survive(&message[..len]);
            let mut fitting = message[..len].to_vec();
            if let (Some(rest), Some(place)) = (len.checked_sub(4), fitting.get_mut(2..4)) {
                place.copy_from_slice(&(rest as u16).to_be_bytes());
                survive(&fitting);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn random_octets_are_survived(octets in prop::collection::vec(any::<u8>(), 0..200)) {
        survive(&octets);
    }

    #[test]
    fn random_bodies_of_every_type_are_survived(
        message_type: u8,
        body in prop::collection::vec(any::<u8>(), 0..120),
    ) {
        survive(&message(MessageType(message_type), |w| w.bytes(&body)));
    }

    #[test]
    fn mutated_messages_are_survived(
        which: prop::sample::Index,
        places in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let mut messages = valid_messages();
        let message = messages.swap_remove(which.index(messages.len()));
        let mut mutated = message.clone();
        for (place, octet) in places {
            let place = place.index(mutated.len());
            mutated[place] = octet;
        }
        survive(&mutated);
    }
}

#[test]
fn priority_of_a_request_comes_back_in_its_response() {
    let mut net = Net::associated();
    let header = Header {
        priority: Some(3),
        ..Header::session(MessageType::SESSION_DELETION_REQUEST, Seid(1), SEQUENCE)
    };
    let mut octets = [0; 64];
    let len = write_message(&mut octets, &header, |_| Ok(())).unwrap();
    let answers = net.inject(UP, address(1), &octets[..len]);
    assert_eq!(Header::parse(&answers[0]).unwrap().0.priority, Some(3));
}

#[test]
fn names_that_are_too_long_are_rejected() {
    let mut net = Net::new();
    let long = ["a"; 130].join(".");
    let answers = net.inject(UP, address(1), &setup_request(&long));
    let cause = sluice_wire::pfcp::ie::first(&answers[0][8..], IeType::CAUSE);
    assert_eq!(cause, Some(&[Cause::MANDATORY_IE_INCORRECT.0][..]));
    assert!(Fqdn::from_text(&long).is_err());
    assert_ne!(NodeId::v4([1, 2, 3, 4].into()), NodeId::v6([0; 16].into()));
}

#[test]
fn what_happened_is_told_once() {
    let mut up = sluice_n4::Endpoint::new(sluice_n4::Role::Up, up_config(1000));
    let mut sent = net::Sent::default();
    let request = setup_request("smf.example.org");
    let input = up.handle(Instant(5), address(1), &request, &mut sent);
    assert!(matches!(input, Input::Nothing));
    assert!(matches!(up.next_event(), Some(Event::AssociationUp { .. })));
    assert_eq!(up.next_event(), None);
    assert_eq!(sent.0.len(), 1);
    let again = up.handle(Instant(6), address(1), &request, &mut sent);
    assert!(matches!(again, Input::Nothing));
    assert_eq!(up.next_event(), None);
    assert_eq!(sent.0[0], sent.0[1]);
}
