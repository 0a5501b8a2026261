//! Requests that their peer does not process: GOAWAY, REFUSED_STREAM, connections that end, peers that say nothing.

use std::io::Read as _;
use std::time::{Duration, Instant};

use sluice_sbi_http2::{Event, Failure, Limits};

use crate::frames::{
    ACK, DATA, END_HEADERS, END_STREAM, HEADERS, Hand, NO_ERROR, PING, REFUSED_STREAM, RST_STREAM,
    STATUS_200, answer, frame, go_away, moment, reset, scripted,
};
use crate::support::{PATIENCE, ask, ask_within, get, next, post, start};

/// free5GC's servers do so when no stream comes within a millisecond.
#[test]
fn a_goaway_before_the_first_stream_sends_the_request_again() {
    let (root, server) = scripted(|listener| {
        let mut first = Hand::accept(&listener);
        first.write(&go_away(0, NO_ERROR));
        first.read_until(HEADERS);
        drop(first);
        let mut second = Hand::accept(&listener);
        let stream = second.read_until(HEADERS).stream;
        assert_eq!(second.read_until(DATA).payload, b"body");
        second.write(&answer(stream));
        second.end();
    });
    let mut client = start(Limits::default());
    let response = ask(&mut client, &root, post("/", "body")).expect("a response");
    assert_eq!(response.status(), 200);
    let counters = client.counters();
    assert_eq!((counters.retries, counters.connections_opened), (1, 2));
    drop(client);
    server.join().expect("the script ends");
}

#[test]
fn streams_below_the_last_of_a_goaway_finish_and_others_go_again() {
    let (root, server) = scripted(|listener| {
        let mut first = Hand::accept(&listener);
        assert_eq!(first.read_until(HEADERS).stream, 1);
        assert_eq!(first.read_until(HEADERS).stream, 3);
        first.write(&go_away(1, NO_ERROR));
        let mut second = Hand::accept(&listener);
        let stream = second.read_until(HEADERS).stream;
        second.write(&answer(stream));
        moment();
        first.write(&answer(1));
        // The client closes what it has no use for.
        assert_eq!(first.end(), Some(NO_ERROR));
        second.end();
    });
    let mut client = start(Limits::default());
    let until = Instant::now() + PATIENCE;
    client.call(1, &root, get("/1"), until);
    client.call(2, &root, get("/2"), until);
    for expected in [2, 1] {
        match next(&mut client) {
            Event::Response { id, response } => {
                assert_eq!((id, response.status().as_u16()), (expected, 200));
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(client.counters().retries, 1);
    drop(client);
    server.join().expect("the script ends");
}

#[test]
fn a_refused_stream_goes_again_on_a_new_connection_a_few_times() {
    let (root, server) = scripted(|listener| {
        for refusals in [1, 3] {
            for _ in 0..refusals {
                let mut hand = Hand::accept(&listener);
                let stream = hand.read_until(HEADERS).stream;
                hand.write(&reset(stream, REFUSED_STREAM));
                hand.end();
            }
            if refusals == 1 {
                let mut hand = Hand::accept(&listener);
                let stream = hand.read_until(HEADERS).stream;
                hand.write(&answer(stream));
                hand.write(&go_away(1, NO_ERROR));
                hand.end();
            }
        }
    });
    let mut client = start(Limits::default());
    let response = ask(&mut client, &root, get("/")).expect("a response");
    assert_eq!(response.status(), 200);
    let failed = ask(&mut client, &root, get("/")).expect_err("refused");
    assert!(matches!(failed, Failure::Lost { .. }), "{failed}");
    assert_eq!(client.counters().retries, 1 + 2);
    drop(client);
    server.join().expect("the script ends");
}

#[test]
fn a_connection_that_ends_before_the_answer_is_replaced_a_few_times() {
    let (root, server) = scripted(|listener| {
        for _ in 0..3 {
            Hand::accept(&listener).read_until(HEADERS);
        }
    });
    let mut client = start(Limits::default());
    let failed = ask(&mut client, &root, get("/")).expect_err("nobody answers");
    assert!(matches!(failed, Failure::Lost { .. }), "{failed}");
    assert_eq!(client.counters().connections_opened, 3);
    server.join().expect("the script ends");
}

/// The peer may have done what it was asked (RFC 9110, 9.2.2).
#[test]
fn a_request_that_changes_something_is_not_repeated_where_its_connection_ends() {
    let (root, server) = scripted(|listener| {
        Hand::accept(&listener).read_until(DATA);
        let mut second = Hand::accept(&listener);
        second.read_until(HEADERS);
        second.write(&answer(1));
        second.end();
    });
    let mut client = start(Limits::default());
    let failed = ask(&mut client, &root, post("/", "once")).expect_err("nobody answers");
    assert!(matches!(failed, Failure::Lost { .. }), "{failed}");
    assert_eq!(client.counters().retries, 0);
    assert!(ask(&mut client, &root, get("/")).is_ok());
    drop(client);
    server.join().expect("the script ends");
}

#[test]
fn a_peer_that_dies_within_its_answer_is_not_asked_again() {
    let (root, server) = scripted(|listener| {
        let mut hand = Hand::accept(&listener);
        let stream = hand.read_until(HEADERS).stream;
        hand.write(&frame(HEADERS, END_HEADERS, stream, STATUS_200));
        hand.write(&frame(DATA, 0, stream, b"half of"));
        moment();
    });
    let mut client = start(Limits::default());
    let failed = ask(&mut client, &root, post("/", "x")).expect_err("half an answer");
    assert!(matches!(failed, Failure::Lost { .. }), "{failed}");
    assert_eq!(client.counters().connections_opened, 1);
    server.join().expect("the script ends");
}

#[test]
fn a_stream_that_is_reset_otherwise_fails() {
    let (root, server) = scripted(|listener| {
        let mut hand = Hand::accept(&listener);
        let stream = hand.read_until(HEADERS).stream;
        hand.write(&reset(stream, 2));
        hand.end();
    });
    let mut client = start(Limits::default());
    let failed = ask(&mut client, &root, get("/")).expect_err("an internal error");
    assert!(failed.to_string().contains("internal error"), "{failed}");
    assert_eq!(client.counters().retries, 0);
    drop(client);
    server.join().expect("the script ends");
}

#[test]
fn nobody_there_fails_at_once_with_a_reason() {
    let address = start(Limits::default()).address();
    let mut client = start(Limits::default());
    let began = Instant::now();
    let failed = ask(&mut client, &format!("http://{address}"), get("/")).expect_err("nobody");
    assert!(began.elapsed() < Duration::from_secs(2));
    let text = failed.to_string();
    assert!(
        text.starts_with(&format!("cannot connect to {address}: ")),
        "{text}"
    );
    assert!(text.contains("refused"), "{text}");
    let tls = ask(&mut client, &format!("https://{address}"), get("/"));
    let text = tls.expect_err("no TLS").to_string();
    assert!(
        text.ends_with("no certificate is configured for TLS"),
        "{text}"
    );
}

#[test]
fn a_peer_of_another_protocol_fails_and_is_not_asked_again() {
    let (root, server) = scripted(|listener| {
        let (mut stream, _) = listener.accept().expect("a connection");
        let _ = stream.read(&mut [0; 100]).expect("octets");
        let text = b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n";
        std::io::Write::write_all(&mut stream, text).expect("a peer");
        moment();
    });
    let mut client = start(Limits::default());
    let failed = ask(&mut client, &root, get("/")).expect_err("HTTP/1.1");
    assert!(matches!(failed, Failure::Lost { .. }), "{failed}");
    assert_eq!(client.counters().connections_opened, 1);
    server.join().expect("the script ends");
}

/// Each side answers PINGs, and asks a peer of whom nothing comes.
#[test]
fn a_peer_that_answers_no_ping_is_given_up_and_one_that_does_is_not() {
    let limits = Limits {
        ping_after: Duration::from_millis(100),
        ping_within: Duration::from_millis(300),
        attempts: 1,
        ..Limits::default()
    };
    let (root, server) = scripted(|listener| {
        let mut alive = Hand::accept(&listener);
        let stream = alive.read_until(HEADERS).stream;
        alive.write(&frame(PING, 0, 0, b"pingpong"));
        let ping = alive.read_until(PING);
        assert_eq!(
            (ping.flags, ping.payload.as_slice()),
            (ACK, &b"pingpong"[..])
        );
        for _ in 0..3 {
            let ping = alive.read_until(PING);
            assert_eq!(ping.flags, 0);
            alive.write(&frame(PING, ACK, 0, &ping.payload));
        }
        alive.write(&answer(stream));
        let stream = alive.read_until(HEADERS).stream;
        assert_eq!(stream, 3);
        // Reads, and says nothing.
        alive.end();
    });
    let mut client = start(limits);
    let response = ask(&mut client, &root, get("/")).expect("a response");
    assert_eq!(response.status(), 200);
    let began = Instant::now();
    let failed = ask(&mut client, &root, get("/")).expect_err("silence");
    assert!(matches!(failed, Failure::Lost { .. }), "{failed}");
    assert!(began.elapsed() < PATIENCE / 2);
    server.join().expect("the script ends");
}

#[test]
fn requests_go_again_only_within_their_deadline() {
    let (root, server) = scripted(|listener| {
        let mut first = Hand::accept(&listener);
        first.read_until(HEADERS);
        moment();
        moment();
        drop(first);
        let mut second = Hand::accept(&listener);
        second.read_until(HEADERS);
        let reset = second.read_until(RST_STREAM);
        assert_eq!(reset.code(), crate::frames::CANCEL);
    });
    let mut client = start(Limits::default());
    let began = Instant::now();
    let within = Duration::from_millis(600);
    let failed = ask_within(&mut client, &root, get("/"), within);
    assert_eq!(failed.err(), Some(Failure::Deadline));
    assert!(began.elapsed() < within + PATIENCE / 4);
    server.join().expect("the script ends");
}

#[test]
fn an_answer_that_is_too_long_is_refused() {
    let (root, server) = scripted(|listener| {
        let mut hand = Hand::accept(&listener);
        let stream = hand.read_until(HEADERS).stream;
        hand.write(&frame(HEADERS, END_HEADERS, stream, STATUS_200));
        hand.write(&frame(DATA, END_STREAM, stream, &[0; 1_001]));
        hand.end();
    });
    let limits = Limits {
        body_octets: 1_000,
        ..Limits::default()
    };
    let mut client = start(limits);
    let failed = ask(&mut client, &root, get("/"));
    assert_eq!(failed.err(), Some(Failure::TooLong(1_000)));
    drop(client);
    server.join().expect("the script ends");
}

/// More than h2 knows of by itself, and more errors than it forgives a connection.
#[test]
fn answers_after_their_deadlines_do_no_harm_to_the_connection() {
    const REQUESTS: u32 = 1_500;
    let (root, server) = scripted(|listener| {
        let mut hand = Hand::accept(&listener);
        let mut resets = Vec::new();
        while resets.len() < REQUESTS as usize {
            resets.push(hand.read_until(RST_STREAM).stream);
        }
        for stream in resets {
            hand.write(&answer(stream));
        }
        let stream = hand.read_until(HEADERS).stream;
        hand.write(&answer(stream));
        hand.end();
    });
    let mut client = start(Limits::default());
    for _ in 0..REQUESTS / 75 {
        let until = Instant::now() + Duration::from_millis(30);
        (0..75).for_each(|id| client.call(id, &root, get("/"), until));
        for _ in 0..75 {
            match next(&mut client) {
                Event::Failed { why, .. } => assert_eq!(why, Failure::Deadline),
                other => panic!("{other:?}"),
            }
        }
    }
    assert!(ask(&mut client, &root, get("/")).is_ok());
    assert_eq!(client.counters().connections_opened, 1);
    drop(client);
    server.join().expect("the script ends");
}

#[test]
fn all_answers_together_are_bounded() {
    let (root, server) = scripted(|listener| {
        let mut hand = Hand::accept(&listener);
        for stream in [1, 3] {
            assert_eq!(hand.read_until(HEADERS).stream, stream);
            hand.write(&frame(HEADERS, END_HEADERS, stream, STATUS_200));
            hand.write(&frame(DATA, 0, stream, &[0; 600]));
        }
        assert_eq!(hand.read_until(RST_STREAM).stream, 3);
        hand.write(&frame(DATA, END_STREAM, 1, &[0; 400]));
        assert_eq!(hand.read_until(HEADERS).stream, 5);
        hand.write(&frame(HEADERS, END_HEADERS, 5, STATUS_200));
        hand.write(&frame(DATA, END_STREAM, 5, &[0; 1_000]));
        hand.end();
    });
    let mut client = start(Limits {
        response_octets: 1_000,
        ..Limits::default()
    });
    let until = Instant::now() + PATIENCE;
    client.call(1, &root, get("/1"), until);
    client.call(3, &root, get("/3"), until);
    match next(&mut client) {
        Event::Failed { id: 3, why } => assert_eq!(why, Failure::Busy),
        other => panic!("{other:?}"),
    }
    assert!(matches!(next(&mut client), Event::Response { id: 1, .. }));
    let answer = ask(&mut client, &root, get("/5")).expect("room again");
    assert_eq!(answer.body().len(), 1_000);
    drop(client);
    server.join().expect("the script ends");
}
