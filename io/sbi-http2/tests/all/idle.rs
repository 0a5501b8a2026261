//! Connections over time: shared while there is room, closed when nobody needs them or their peer is gone.

use std::net::Ipv4Addr;
use std::time::{Duration, Instant};

use sluice_sbi_http2::{Event, Limits};

use crate::frames::{
    ACK, END_HEADERS, END_STREAM, GET, HEADERS, Hand, NO_ERROR, PING, frame, moment,
};
use crate::support::{Answering, PATIENCE, ask, counted, get, next, response, start};

#[test]
fn a_client_closes_a_connection_that_it_does_not_need() {
    let server = Answering::echo(Limits::default());
    let mut client = start(Limits {
        idle_within: Duration::from_millis(100),
        ..Limits::default()
    });
    for opened in 1..=2 {
        assert!(ask(&mut client, &server.root, get("/")).is_ok());
        assert_eq!(client.counters().connections_opened, opened);
        std::thread::sleep(Duration::from_millis(400));
    }
    assert_eq!(client.counters().retries, 0);
}

/// Requests that are short are not seen when a connection is looked at.
#[test]
fn a_connection_that_is_used_now_and_then_stays() {
    let limits = Limits {
        idle_within: Duration::from_millis(400),
        ..Limits::default()
    };
    let server = Answering::echo(limits.clone());
    let mut client = start(limits);
    for _ in 0..30 {
        assert!(ask(&mut client, &server.root, get("/")).is_ok());
        std::thread::sleep(Duration::from_millis(40));
    }
    assert_eq!(client.counters().connections_opened, 1);
}

/// A request that meets the end of an idle connection is served, or goes again.
#[test]
fn a_server_closes_idle_connections_and_no_request_is_lost() {
    let server = Answering::echo(Limits {
        idle_within: Duration::from_millis(50),
        ..Limits::default()
    });
    let mut client = start(Limits::default());
    for pause_ms in [0, 20, 40, 60, 80, 100, 50, 50, 50, 50] {
        std::thread::sleep(Duration::from_millis(pause_ms));
        assert!(ask(&mut client, &server.root, get("/")).is_ok());
    }
    let hand = Hand::connect(Ipv4Addr::LOCALHOST, server.address(), &[]);
    assert_eq!(hand.end(), Some(NO_ERROR));
}

#[test]
fn a_second_connection_comes_when_the_first_is_full_and_no_third() {
    let mut server = start(Limits {
        streams: 2,
        ..Limits::default()
    });
    let root = format!("http://{}", server.address());
    let mut client = start(Limits::default());
    // SETTINGS come with the first answer.
    let until = Instant::now() + PATIENCE;
    client.call(0, &root, get("/"), until);
    answer_one(&mut server);
    assert!(matches!(next(&mut client), Event::Response { id: 0, .. }));
    let mut waiting = Vec::new();
    for id in 1..=4 {
        client.call(id, &root, get("/"), until);
        waiting.push(next(&mut server));
        // Each connection learns how many streams it may have.
        moment();
    }
    for id in 5..=7 {
        client.call(id, &root, get("/"), until);
    }
    // Others wait for room.
    let soon = Instant::now() + Duration::from_millis(100);
    assert!(crate::support::event_until(&mut server, soon).is_none());
    assert_eq!(client.counters().connections_opened, 2);
    for event in waiting {
        let Event::Request { exchange, .. } = event else {
            panic!("{event:?}")
        };
        server.answer(exchange, response(200, ""));
    }
    for _ in 0..3 {
        answer_one(&mut server);
    }
    for _ in 0..7 {
        assert!(matches!(next(&mut client), Event::Response { .. }));
    }
    assert_eq!(server.counters().streams_refused, 0);
}

fn answer_one(server: &mut sluice_sbi_http2::Http) {
    let Event::Request { exchange, .. } = next(server) else {
        panic!("no request")
    };
    server.answer(exchange, response(200, ""));
}

/// A function that is killed takes its requests along, and begins anew: that is no flood of resets.
#[test]
fn a_peer_that_dies_with_many_requests_may_come_again() {
    let mut server = start(Limits {
        resets_per_s: 3,
        ..Limits::default()
    });
    let address = server.address().to_string();
    let mut hand = Hand::connect(Ipv4Addr::LOCALHOST, &address, &[]);
    for at in 0..20 {
        hand.write(&frame(HEADERS, END_HEADERS | END_STREAM, 2 * at + 1, GET));
        assert!(matches!(next(&mut server), Event::Request { .. }));
    }
    drop(hand);
    for _ in 0..20 {
        assert!(matches!(next(&mut server), Event::Abandoned { .. }));
    }
    let mut hand = Hand::connect(Ipv4Addr::LOCALHOST, &address, &[]);
    hand.write(&frame(HEADERS, END_HEADERS | END_STREAM, 1, GET));
    answer_one(&mut server);
    assert_eq!(hand.read_until(HEADERS).stream, 1);
    let counters = server.counters();
    assert_eq!((counters.resets, counters.reset_floods), (0, 0));
}

#[test]
fn a_server_gives_up_a_peer_that_answers_no_ping() {
    let server = start(Limits {
        ping_after: Duration::from_millis(100),
        ping_within: Duration::from_millis(300),
        ..Limits::default()
    });
    let address = server.address().to_string();
    let mut alive = Hand::connect(Ipv4Addr::LOCALHOST, &address, &[]);
    let dead = Hand::connect(Ipv4Addr::LOCALHOST, &address, &[]);
    for _ in 0..3 {
        let ping = alive.read_until(PING);
        assert_eq!(ping.flags, 0);
        alive.write(&frame(PING, ACK, 0, &ping.payload));
    }
    assert_eq!(dead.end(), None);
    counted(&server, |counters| counters.silent == 1);
    let ping = alive.read_until(PING);
    alive.write(&frame(PING, ACK, 0, &ping.payload));
}
