//! Exchanges over a bad network: each is applied once and ends once.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::collections::{BTreeMap, BTreeSet};

use crate::net::{CP, Net, UP};
use proptest::prelude::*;
use sluice_n4::{Counter, Event};

/// Numbers of the requests that ended, answered or failed, each as often as it did.
fn ends(net: &Net, host: usize) -> (Vec<u64>, Vec<u64>) {
    let host = &net.hosts[host];
    let answered = host.answered.iter().map(|(tag, _)| *tag).collect();
    let failed = host.events.iter().filter_map(|event| match event {
        Event::RequestFailed { tag, .. } => Some(*tag),
        _ => None,
    });
    (answered, failed.collect())
}

fn check_exactly_once(net: &Net, sender: usize, server: usize, numbers: &BTreeSet<u64>) {
    let (answered, failed) = ends(net, sender);
    let mut all: Vec<_> = answered.iter().chain(&failed).copied().collect();
    all.sort_unstable();
    assert_eq!(
        all,
        numbers.iter().copied().collect::<Vec<_>>(),
        "each ends exactly once"
    );
    for (tag, number) in &net.hosts[sender].answered {
        assert_eq!(tag, number, "the response belongs to the request");
    }
    let applied = &net.hosts[server].applied;
    for number in numbers {
        let times = applied.get(number).copied().unwrap_or(0);
        assert!(times <= 1, "request {number} applied {times} times");
        assert!(
            times == 1 || !answered.contains(number),
            "answered but not applied"
        );
    }
}

/// All responses to one request are octet for octet the same.
fn check_responses_identical(net: &Net) {
    let mut first = BTreeMap::new();
    for (_, datagram) in &net.log {
        let header = datagram.header();
        if header.message_type.is_response() {
            let key = (
                datagram.from,
                datagram.to,
                header.message_type,
                header.sequence,
            );
            let known = first.entry(key).or_insert(&datagram.bytes);
            assert_eq!(*known, &datagram.bytes);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn every_request_is_applied_and_ended_once_over_a_bad_network(
        seed: u64,
        loss_percent in 0u64..60,
        duplicate_percent in 0u64..60,
        delay_ms in 0u64..900,
        think_ms in 0u64..1500,
    ) {
        let mut net = Net::associated();
        net.seed(seed);
        (net.loss_percent, net.duplicate_percent) = (loss_percent, duplicate_percent);
        net.delay_ms = delay_ms;
        net.hosts[UP].think_ms = think_ms;
        let (mut from_cp, mut from_up) = (BTreeSet::new(), BTreeSet::new());
        for round in 0..40 {
            net.send(CP, 100 + round);
            from_cp.insert(100 + round);
            if round % 3 == 0 {
                net.send(UP, 500 + round);
                from_up.insert(500 + round);
            }
            net.run_ms(7 * (round % 5) * 10);
        }
        net.run_ms(10_000);
        check_exactly_once(&net, CP, UP, &from_cp);
        check_exactly_once(&net, UP, CP, &from_up);
        check_responses_identical(&net);
    }

    #[test]
    fn without_loss_every_request_is_answered(seed: u64, delay_ms in 0u64..400) {
        let mut net = Net::associated();
        net.seed(seed);
        net.delay_ms = delay_ms;
        (0..60).for_each(|number| net.send(CP, number));
        net.run_ms(3000);
        prop_assert_eq!(net.hosts[CP].answered.len(), 60);
        prop_assert_eq!(net.counter(CP, Counter::Retransmitted), 0);
    }

    #[test]
    fn associations_come_up_over_a_bad_network(
        seed: u64,
        loss_percent in 0u64..50,
        delay_ms in 0u64..800,
        both: bool,
    ) {
        let mut net = Net::new();
        net.seed(seed);
        (net.loss_percent, net.delay_ms) = (loss_percent, delay_ms);
        net.associate(CP, UP);
        if both {
            net.associate(UP, CP);
        }
        net.run_ms(120_000);
        net.loss_percent = 0;
        net.run_ms(30_000);
        for host in [CP, UP] {
            let id = net.id(host);
            let association = net.hosts[host].endpoint.association(id).unwrap();
            prop_assert!(association.is_established());
            prop_assert!(!association.is_lost());
        }
    }
}

#[test]
fn a_retransmission_during_the_work_is_dropped_and_counted() {
    let mut net = Net::associated();
    net.hosts[UP].think_ms = 2500;
    net.send(CP, 7);
    net.run_ms(4000);
    assert_eq!(net.hosts[UP].applied[&7], 1);
    assert_eq!(net.counter(CP, Counter::Retransmitted), 2);
    assert_eq!(net.counter(UP, Counter::DuplicateInProgress), 2);
    assert_eq!(net.hosts[CP].answered, [(7, 7)]);
}

#[test]
fn a_lost_response_is_sent_again_from_the_cache() {
    let mut net = Net::associated();
    net.hosts[UP].think_ms = 100;
    net.send(CP, 7);
    net.run_ms(50);
    net.loss_percent = 100;
    net.run_ms(500);
    net.loss_percent = 0;
    net.run_ms(1000);
    assert_eq!(net.hosts[UP].applied[&7], 1);
    assert_eq!(net.counter(UP, Counter::DuplicateAnswered), 1);
    assert_eq!(net.hosts[CP].answered, [(7, 7)]);
    check_responses_identical(&net);
}

#[test]
fn what_exceeds_the_requests_in_flight_is_refused_and_counted() {
    let mut net = Net::associated();
    net.loss_percent = 100;
    (0..64).for_each(|number| net.send(CP, number));
    let association = net.id(CP);
    let request = sluice_n4::Request {
        association,
        to: None,
        tag: 99,
        message_type: sluice_wire::pfcp::MessageType::SESSION_DELETION_REQUEST,
        seid: Some(sluice_wire::ids::Seid(1)),
    };
    let refused = net.call(CP, |endpoint, now, out| {
        endpoint.request(now, request, out, |_| Ok(())).unwrap_err()
    });
    assert_eq!(
        refused.to_string(),
        "limit of PFCP requests in flight reached"
    );
    assert_eq!(net.counter(CP, Counter::RefusedInFlight), 1);
    net.run_ms(5000);
    assert_eq!(ends(&net, CP).1.len(), 64);
    assert_eq!(net.counter(CP, Counter::TimedOut), 64);
}
