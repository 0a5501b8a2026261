//! Peers that want to harm: they are refused, and another peer's requests all succeed meanwhile.

use std::io::Read as _;
use std::net::Ipv4Addr;
use std::time::{Duration, Instant};

use sluice_sbi_http2::{Event, Http, Limits};

use crate::frames::{
    CANCEL, CONTINUATION, DATA, END_HEADERS, END_STREAM, ENHANCE_YOUR_CALM, GET, HEADERS, Hand,
    PING, RST_STREAM, WINDOW_UPDATE, frame, reset,
};
use crate::support::{
    Answering, PATIENCE, ask, counted, event_until, get, next, post, response, start,
};

const FOE: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 66);

/// SETTINGS_INITIAL_WINDOW_SIZE.
fn window(octets: u32) -> Vec<u8> {
    [&[0, 4][..], &octets.to_be_bytes()].concat()
}

#[test]
fn half_open_connections_of_one_peer_do_not_keep_others_away() {
    let server = Answering::echo(Limits {
        half_open: Duration::from_secs(4),
        ..Limits::default()
    });
    let mut client = start(Limits::default());
    let mut foes = Vec::new();
    for at in 0..1_000 {
        let mut foe = Hand::connect_only(FOE, server.address());
        if at % 2 == 0 {
            foe.write(b"PRI * HTT");
        }
        // Descriptors of this process have a bound, too; connections that were refused need none.
        foes.truncate(300);
        foes.push(foe);
        if at % 10 == 0 {
            let answer = ask(&mut client, &server.root, post("/", "body"));
            assert_eq!(answer.expect("a response").body(), "body");
        }
    }
    // The last was refused with a reason.
    let foe = foes.pop().expect("the last");
    assert_eq!(foe.end(), Some(ENHANCE_YOUR_CALM));
    // The first are closed when their time is over; then the peer may come again.
    let mut first = foes.swap_remove(0);
    assert_eq!(first.0.read(&mut [0; 1]).unwrap_or_default(), 0);
    drop(foes);
    let server = server.end();
    let counters = counted(&server, |counters| counters.half_open >= 1);
    assert!(counters.peer_connections_refused >= 500, "{counters:?}");
    assert_eq!(counters.requests, 100);
    assert_eq!(client.counters().connections_opened, 1);
    assert_eq!(client.counters().retries, 0);
}

#[test]
fn connections_beyond_those_of_the_server_are_refused() {
    let server = start(Limits {
        connections: 1,
        ..Limits::default()
    });
    let address = server.address().to_string();
    let first = Hand::connect(FOE, &address, &[]);
    counted(&server, |counters| counters.connections == 1);
    let second = Hand::connect(Ipv4Addr::LOCALHOST, &address, &[]);
    assert_eq!(second.end(), Some(ENHANCE_YOUR_CALM));
    assert_eq!(server.counters().connections_refused, 1);
    drop(first);
}

fn serves_others(server: &mut Http) {
    let root = format!("http://{}", server.address());
    let mut client = start(Limits::default());
    client.call(1, &root, get("/"), Instant::now() + Duration::from_secs(10));
    loop {
        let soon = Instant::now() + Duration::from_millis(5);
        if let Some(Event::Request { exchange, .. }) = event_until(server, soon) {
            server.answer(exchange, response(200, ""));
        }
        match event_until(&mut client, soon) {
            Some(Event::Response { .. }) => return,
            Some(other) => panic!("{other:?}"),
            None => {}
        }
    }
}

/// CVE-2023-44487: each request is reset as it was sent.
#[test]
fn rapid_resets_end_the_connection() {
    let mut server = start(Limits::default());
    let mut foe = Hand::connect(FOE, &server.address().to_string(), &[]);
    for at in 0..5_000 {
        let stream = 2 * at + 1;
        let mut both = frame(HEADERS, END_HEADERS | END_STREAM, stream, GET);
        both.extend(reset(stream, CANCEL));
        foe.write(&both);
    }
    assert_eq!(foe.end(), Some(ENHANCE_YOUR_CALM));
    serves_others(&mut server);
    let counters = server.counters();
    assert_eq!(counters.protocol_errors + counters.reset_floods, 1);
}

/// Resets that come late have cost work each, so they are counted, too.
#[test]
fn resets_of_requests_that_were_served_end_the_connection() {
    let mut server = start(Limits {
        resets_per_s: 20,
        ..Limits::default()
    });
    let mut foe = Hand::connect(FOE, &server.address().to_string(), &[]);
    for at in 0..200 {
        let stream = 2 * at + 1;
        foe.write(&frame(HEADERS, END_HEADERS | END_STREAM, stream, GET));
        let soon = Instant::now() + Duration::from_millis(500);
        let Some(Event::Request { exchange, .. }) = event_until(&mut server, soon) else {
            break;
        };
        foe.write(&reset(stream, CANCEL));
        match next(&mut server) {
            Event::Abandoned { exchange: one } => assert_eq!(one, exchange),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(foe.end(), Some(ENHANCE_YOUR_CALM));
    assert_eq!(server.counters().reset_floods, 1);
    serves_others(&mut server);
}

#[test]
fn an_answer_that_is_not_taken_is_given_up() {
    let mut server = start(Limits {
        answer_within: Duration::from_millis(300),
        ..Limits::default()
    });
    let mut foe = Hand::connect(FOE, &server.address().to_string(), &window(0));
    foe.write(&frame(HEADERS, END_HEADERS | END_STREAM, 1, GET));
    let Event::Request { exchange, .. } = next(&mut server) else {
        panic!("no request")
    };
    server.answer(exchange, response(200, vec![0; 100_000]));
    let reset = foe.read_until(RST_STREAM);
    assert_eq!((reset.stream, reset.code()), (1, CANCEL));
    assert_eq!(server.counters().answers_late, 1);
    serves_others(&mut server);
}

#[test]
fn answers_beyond_those_that_a_connection_has_to_take_are_not_sent() {
    let mut server = start(Limits {
        answer_octets: 100_000,
        ..Limits::default()
    });
    let mut foe = Hand::connect(FOE, &server.address().to_string(), &window(0));
    for at in 0..5 {
        foe.write(&frame(HEADERS, END_HEADERS | END_STREAM, 2 * at + 1, GET));
        let Event::Request { exchange, .. } = next(&mut server) else {
            panic!("no request")
        };
        server.answer(exchange, response(200, vec![0; 30_000]));
    }
    for stream in [7, 9] {
        let reset = foe.read_until(RST_STREAM);
        assert_eq!((reset.stream, reset.code()), (stream, ENHANCE_YOUR_CALM));
    }
    assert_eq!(server.counters().answers_not_read, 2);
    // One that is taken makes room.
    foe.write(&frame(WINDOW_UPDATE, 0, 1, &30_000_u32.to_be_bytes()));
    assert_eq!(foe.read_until(DATA).stream, 1);
    serves_others(&mut server);
}

/// All windows are open, and the kernel's buffers are full.
#[test]
fn a_connection_that_nobody_reads_ends() {
    let mut server = start(Limits {
        answer_within: Duration::from_millis(500),
        answer_octets: 100 << 20,
        ..Limits::default()
    });
    let most = u32::MAX >> 1;
    let mut foe = Hand::connect(FOE, &server.address().to_string(), &window(most));
    let more = most - 65_535;
    foe.write(&frame(WINDOW_UPDATE, 0, 0, &more.to_be_bytes()));
    for at in 0..20 {
        foe.write(&frame(HEADERS, END_HEADERS | END_STREAM, 2 * at + 1, GET));
        let Event::Request { exchange, .. } = next(&mut server) else {
            panic!("no request")
        };
        server.answer(exchange, response(200, vec![0; 1 << 20]));
    }
    counted(&server, |counters| counters.silent == 1);
    serves_others(&mut server);
}

/// CVE-2024-27316: a list of header fields that does not end.
#[test]
fn header_fields_without_an_end_end_the_connection() {
    let mut server = start(Limits::default());
    let mut foe = Hand::connect(FOE, &server.address().to_string(), &[]);
    foe.write(&frame(HEADERS, END_STREAM, 1, GET));
    // A literal field without indexing, "a: x...".
    let field = [&[0, 1, b'a', 100][..], &[b'x'; 100]].concat();
    for _ in 0..20_000 {
        foe.write(&frame(CONTINUATION, 0, 1, &field));
    }
    assert_eq!(foe.end(), Some(ENHANCE_YOUR_CALM));
    serves_others(&mut server);
    assert_eq!(server.counters().requests, 1);
}

/// PINGs and SETTINGS want answers; a peer that reads none is not read any more either.
#[test]
fn pings_whose_answers_nobody_reads_end_the_connection() {
    let mut server = start(Limits {
        answer_within: Duration::from_millis(500),
        ..Limits::default()
    });
    let mut foe = Hand::connect(FOE, &server.address().to_string(), &[]);
    let ping = frame(PING, 0, 0, b"pingpong");
    let many: Vec<u8> = ping.iter().copied().cycle().take(17 * 10_000).collect();
    let began = Instant::now();
    while server.counters().silent == 0 {
        assert!(began.elapsed() < PATIENCE);
        let within = Some(Duration::from_millis(50));
        foe.0.set_write_timeout(within).expect("a socket");
        foe.write(&many);
    }
    serves_others(&mut server);
}
