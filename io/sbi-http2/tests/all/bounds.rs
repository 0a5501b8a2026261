//! Bounds of one request or stream: each is refused by its name, and others go on.

use std::net::Ipv4Addr;
use std::time::Duration;

use http::HeaderValue;
use sluice_sbi_http2::{Event, Limits};

use crate::frames::{
    DATA, END_HEADERS, END_STREAM, GET, HEADERS, Hand, POST, REFUSED_STREAM, RST_STREAM, frame,
    reset,
};
use crate::support::{Answering, ask, counted, get, next, post, response, start};

const OTHER: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);

#[test]
fn a_body_that_is_too_long_is_refused_and_the_next_is_served() {
    let server = Answering::echo(Limits {
        body_octets: 1_000,
        ..Limits::default()
    });
    let mut client = start(Limits::default());
    for (octets, status) in [(1_001, 413), (1_000, 200), (900_000, 413), (10, 200)] {
        let answer = ask(&mut client, &server.root, post("/", vec![0; octets]));
        assert_eq!(answer.expect("a response").status(), status, "{octets}");
    }
    assert_eq!(client.counters().connections_opened, 1);
    assert_eq!(server.end().counters().bodies_too_long, 2);
}

#[test]
fn headers_that_are_too_long_are_refused_and_the_next_are_served() {
    let server = Answering::echo(Limits {
        header_list_octets: 2_000,
        ..Limits::default()
    });
    let mut client = start(Limits::default());
    let with = |octets| {
        let mut request = get("/");
        let long = HeaderValue::from_str(&"x".repeat(octets)).expect("a value");
        request.headers_mut().insert("x-long", long);
        request
    };
    for (octets, status) in [(100, 200), (3_000, 431), (100, 200)] {
        let answer = ask(&mut client, &server.root, with(octets)).expect("a response");
        assert_eq!(answer.status(), status, "{octets}");
    }
    assert_eq!(client.counters().connections_opened, 1);
    // Far too long ones are not even read to their end: the connection ends.
    let failed = ask(&mut client, &server.root, with(100_000)).expect_err("far too long");
    assert!(failed.to_string().contains("excessive load"), "{failed}");
    assert!(ask(&mut client, &server.root, with(100)).is_ok());
    let counters = server.end().counters();
    assert_eq!(counters.requests, 3);
    assert!(counters.protocol_errors > 0);
}

#[test]
fn a_body_that_does_not_end_is_refused() {
    let server = Answering::echo(Limits {
        half_open: Duration::from_millis(200),
        ..Limits::default()
    });
    let mut hand = Hand::connect(OTHER, server.address(), &[]);
    hand.write(&frame(HEADERS, END_HEADERS, 1, POST));
    hand.write(&frame(DATA, 0, 1, b"a beginning"));
    let head = hand.read_until(HEADERS);
    // ":status" by its index, then "408".
    assert_eq!(head.stream, 1);
    let body = hand.read_until(DATA);
    let text = String::from_utf8_lossy(&body.payload).into_owned();
    assert!(
        text.contains("408") && text.contains("did not end in time"),
        "{text}"
    );
    hand.write(&frame(HEADERS, END_HEADERS | END_STREAM, 3, GET));
    assert_eq!(hand.read_until(HEADERS).stream, 3);
    assert_eq!(server.end().counters().bodies_late, 1);
}

#[test]
fn streams_beyond_those_of_a_peer_are_refused_over_all_its_connections() {
    let mut server = start(Limits {
        streams: 3,
        streams_per_peer: 4,
        ..Limits::default()
    });
    let address = server.address().to_string();
    let mut hands: Vec<_> = (0..2)
        .map(|_| Hand::connect(OTHER, &address, &[]))
        .collect();
    for stream in [1, 3, 5] {
        hands[0].write(&frame(HEADERS, END_HEADERS | END_STREAM, stream, GET));
        assert!(matches!(next(&mut server), Event::Request { .. }));
    }
    // A connection more than it may have, then a peer more than it may have.
    hands[0].write(&frame(HEADERS, END_HEADERS | END_STREAM, 7, GET));
    let refused = hands[0].read_until(RST_STREAM);
    assert_eq!((refused.stream, refused.code()), (7, REFUSED_STREAM));
    hands[1].write(&frame(HEADERS, END_HEADERS | END_STREAM, 1, GET));
    assert!(matches!(next(&mut server), Event::Request { .. }));
    hands[1].write(&frame(HEADERS, END_HEADERS | END_STREAM, 3, GET));
    let refused = hands[1].read_until(RST_STREAM);
    assert_eq!((refused.stream, refused.code()), (3, REFUSED_STREAM));
    assert_eq!(server.counters().streams_refused, 1);
    // Another peer is served, and the first again when it has room.
    let mut other = Hand::connect(Ipv4Addr::LOCALHOST, &address, &[]);
    other.write(&frame(HEADERS, END_HEADERS | END_STREAM, 1, GET));
    assert!(matches!(next(&mut server), Event::Request { .. }));
    hands[0].write(&reset(1, 8));
    assert!(matches!(next(&mut server), Event::Abandoned { .. }));
    hands[1].write(&frame(HEADERS, END_HEADERS | END_STREAM, 5, GET));
    assert!(matches!(next(&mut server), Event::Request { .. }));
}

#[test]
fn a_peer_has_no_more_octets_of_bodies_than_it_may() {
    let mut server = start(Limits {
        octets_per_peer: 10,
        ..Limits::default()
    });
    let mut hand = Hand::connect(OTHER, &server.address().to_string(), &[]);
    for stream in [1, 3] {
        hand.write(&frame(HEADERS, END_HEADERS, stream, POST));
        hand.write(&frame(DATA, END_STREAM, stream, b"123456"));
    }
    let Event::Request { exchange, .. } = next(&mut server) else {
        panic!("no request")
    };
    let refused = hand.read_until(RST_STREAM);
    assert_eq!((refused.stream, refused.code()), (3, REFUSED_STREAM));
    server.answer(exchange, response(200, ""));
    assert_eq!(hand.read_until(HEADERS).stream, 1);
    hand.write(&frame(HEADERS, END_HEADERS, 5, POST));
    hand.write(&frame(DATA, END_STREAM, 5, b"123456"));
    assert!(matches!(next(&mut server), Event::Request { .. }));
    assert_eq!(server.counters().octets_refused, 1);
}

#[test]
fn requests_beyond_those_that_may_wait_are_told_to_come_later() {
    let mut server = start(Limits {
        exchanges: 1,
        ..Limits::default()
    });
    let root = format!("http://{}", server.address());
    let mut hand = Hand::connect(OTHER, &server.address().to_string(), &[]);
    hand.write(&frame(HEADERS, END_HEADERS | END_STREAM, 1, GET));
    counted(&server, |counters| counters.requests == 1);
    let mut client = start(Limits::default());
    let answer = ask(&mut client, &root, get("/")).expect("a response");
    assert_eq!(answer.status(), 503);
    assert_eq!(answer.headers()["retry-after"], "1");
    let Event::Request { exchange, .. } = next(&mut server) else {
        panic!("no request")
    };
    server.answer(exchange, response(200, ""));
    assert_eq!(hand.read_until(HEADERS).stream, 1);
    assert_eq!(server.counters().requests_refused, 1);
}
