//! Requests received: known when they come again, answered alike, bounded.

use super::*;
use crate::transport::{RecentRequests, RequestAdmission, RequestTicket};
use std::net::SocketAddr;

const WINDOW_MS: u64 = 4000;
/// Fingerprints.
const REQUEST: u64 = 0x1234;
const OTHER_REQUEST: u64 = 0x1235;

fn peer(port: u16) -> SocketAddr {
    SocketAddr::from(([10, 0, 0, 1], port))
}

fn inbound(requests: usize, response_bytes: usize) -> RecentRequests {
    RecentRequests::new(InboundLimits {
        requests,
        response_bytes,
        window_ms: WINDOW_MS,
        hash_seed: 11,
    })
}

fn new(admission: RequestAdmission<'_>) -> RequestTicket {
    match admission {
        Admission::New(ticket) => ticket,
        other => panic!("not new: {other:?}"),
    }
}

#[test]
fn a_request_that_comes_again_gets_the_very_same_response() {
    let mut inbound = inbound(8, 1000);
    let ticket = new(inbound.admit(Instant(0), peer(1), 5, REQUEST));
    assert_eq!(
        inbound.admit(Instant(1), peer(1), 5, REQUEST),
        Admission::InProgress
    );
    inbound.answered(Instant(2), ticket, b"response");
    for at in 3..6 {
        let again = inbound.admit(Instant(at), peer(1), 5, REQUEST);
        assert_eq!(again, Admission::Answered(b"response"));
    }
}

#[test]
fn another_port_number_or_content_is_another_request() {
    let mut inbound = inbound(8, 1000);
    let ticket = new(inbound.admit(Instant(0), peer(1), 5, REQUEST));
    inbound.answered(Instant(0), ticket, b"response");
    new(inbound.admit(Instant(0), peer(2), 5, REQUEST));
    new(inbound.admit(Instant(0), peer(1), 6, REQUEST));
    new(inbound.admit(Instant(0), peer(1), 5, OTHER_REQUEST));
    let first_again = inbound.admit(Instant(0), peer(1), 5, REQUEST);
    assert_eq!(first_again, Admission::Answered(b"response"));
}

#[test]
fn after_the_window_the_same_request_is_new() {
    let mut inbound = inbound(8, 1000);
    new(inbound.admit(Instant(0), peer(1), 5, REQUEST));
    let last = Instant(Instant(0).plus_ms(WINDOW_MS).0 - 1);
    assert_eq!(
        inbound.admit(last, peer(1), 5, REQUEST),
        Admission::InProgress
    );
    new(inbound.admit(Instant(0).plus_ms(WINDOW_MS), peer(1), 5, REQUEST));
}

#[test]
fn the_oldest_requests_give_way_and_are_counted() {
    let mut inbound = inbound(4, 1000);
    let first = new(inbound.admit(Instant(0), peer(1), 0, REQUEST));
    for sequence in 1..=4 {
        new(inbound.admit(Instant(1), peer(1), sequence, REQUEST));
    }
    assert_eq!(inbound.evicted_requests(), 1);
    inbound.answered(Instant(2), first, b"late");
    new(inbound.admit(Instant(2), peer(1), 0, REQUEST));
    assert_eq!(
        inbound.admit(Instant(2), peer(1), 4, REQUEST),
        Admission::InProgress
    );
}

#[test]
fn the_oldest_responses_give_way_and_their_requests_stay_known() {
    let mut inbound = inbound(8, 64);
    for sequence in 0..3 {
        let ticket = new(inbound.admit(Instant(0), peer(1), sequence, REQUEST));
        inbound.answered(Instant(0), ticket, b"a response of 20 oct");
    }
    assert_eq!(inbound.evicted_responses(), 1);
    assert_eq!(
        inbound.admit(Instant(1), peer(1), 0, REQUEST),
        Admission::ResponseGone
    );
    let kept = inbound.admit(Instant(1), peer(1), 2, REQUEST);
    assert_eq!(kept, Admission::Answered(b"a response of 20 oct"));
}

#[test]
fn what_gives_way_after_its_time_is_not_counted() {
    let mut inbound = inbound(2, 64);
    for sequence in 0..20 {
        let now = Instant(0).plus_ms(u64::from(sequence) * WINDOW_MS);
        let ticket = new(inbound.admit(now, peer(1), sequence, REQUEST));
        inbound.answered(now, ticket, b"a response of 20 oct");
    }
    assert_eq!(
        (inbound.evicted_requests(), inbound.evicted_responses()),
        (0, 0)
    );
}

#[test]
fn a_hundred_thousand_requests_a_second_are_known_for_t1_times_n1_plus_one() {
    let limits = crate::Limits::for_rate(100_000, 1000, 3);
    assert_eq!(limits.cache_window_ms, WINDOW_MS);
    let mut inbound = inbound(limits.cached_requests, limits.cached_response_bytes);
    let requests = 400_000_u32;
    let at = |n: u32| Instant(u64::from(n) * 10_000);
    let answer = |n: u32| [n.to_be_bytes(); 30].concat();
    for n in 0..requests {
        let ticket = new(inbound.admit(at(n), peer(1), n, REQUEST));
        inbound.answered(at(n), ticket, &answer(n));
    }
    for n in [0, 1, 123_456, requests - 1] {
        let again = inbound.admit(at(requests - 1), peer(1), n, REQUEST);
        assert_eq!(again, Admission::Answered(&answer(n)), "{n}");
    }
    assert_eq!(
        (inbound.evicted_requests(), inbound.evicted_responses()),
        (0, 0)
    );
    // Ten times as many: the oldest give way, and each that does is counted.
    let places = u64::from(requests.next_power_of_two());
    for n in 0..requests {
        let ticket = new(inbound.admit(at(requests), peer(2), n, REQUEST));
        inbound.answered(at(requests), ticket, &answer(n));
    }
    assert_eq!(
        inbound.evicted_requests(),
        2 * u64::from(requests) - places - 1
    );
    assert!(inbound.evicted_responses() > 0);
}

/// Buckets are full many times over: what leaves them is still found.
#[test]
fn a_request_whose_bucket_is_full_is_known_as_long_as_its_entry_is_there() {
    use proptest::test_runner::TestRunner;
    let sequences = proptest::collection::vec(0_u32..600, 1..900);
    let run = |sequences: Vec<u32>| {
        // Two buckets of seven places.
        let mut inbound = inbound(8, 1000);
        let mut wide = inbound_of_one_bucket(256);
        for (which, capacity) in [(&mut inbound, 8), (&mut wide, 256)] {
            let mut known: Vec<u32> = Vec::new();
            for (at, sequence) in (0..).zip(&sequences) {
                let recent = &known[known.len().saturating_sub(capacity)..];
                let expected = recent.contains(sequence);
                let found = which.admit(Instant(at), peer(1), *sequence, REQUEST);
                let again = matches!(found, Admission::InProgress);
                assert_eq!(again, expected, "{sequence} after {known:?}");
                if !again {
                    known.push(*sequence);
                }
            }
        }
        Ok(())
    };
    TestRunner::default().run(&sequences, run).unwrap();
}

fn inbound_of_one_bucket(requests: usize) -> RecentRequests {
    let mut all = inbound(requests, 1000);
    let [only] = &mut all.parts[..] else {
        panic!("so few requests have one partition");
    };
    only.recent = SeenRequests::new(1);
    all
}
