//! Requests and responses: headers, deadlines, many streams of one connection, redirections.

use std::time::{Duration, Instant};

use http::header::{ACCEPT, CONTENT_LENGTH, LOCATION, RETRY_AFTER, USER_AGENT};
use sluice_sbi_http2::{Event, Failure, Limits};

use crate::support::{
    Answering, PATIENCE, ask, ask_within, counted, event_until, get, next, post, response, start,
};

#[test]
fn a_request_comes_whole_with_its_deadline_and_is_answered() {
    let (mut client, mut server) = (start(Limits::default()), start(Limits::default()));
    let root = format!("http://{}/prefix/", server.address());
    let began = Instant::now();
    let request = post("/nausf-auth/v1/ue-authentications?x=%20y", "{\"a\":1}");
    client.call(7, &root, request, began + Duration::from_secs(9));
    let Event::Request {
        exchange,
        peer,
        request,
        until,
    } = next(&mut server)
    else {
        panic!("no request")
    };
    assert_eq!(peer.address.ip(), server.address().ip());
    assert_eq!(peer.instances, None);
    let path = request.uri().path_and_query().expect("a path");
    assert_eq!(path, "/prefix/nausf-auth/v1/ue-authentications?x=%20y");
    let authority = request.uri().authority().expect("an authority");
    assert_eq!(authority.as_str(), server.address().to_string());
    assert_eq!(request.method(), "POST");
    assert_eq!(request.body(), "{\"a\":1}");
    let headers = request.headers();
    assert_eq!(headers[USER_AGENT], "AMF");
    assert_eq!(headers[CONTENT_LENGTH], "7");
    let accept = "application/json, application/problem+json";
    assert_eq!(headers[ACCEPT], accept);
    assert!(headers.contains_key("3gpp-sbi-sender-timestamp"));
    let left = until.expect("a deadline") - began;
    assert!((8..=10).contains(&left.as_secs()), "{left:?}");
    let mut answer = response(503, "{}");
    answer
        .headers_mut()
        .insert(RETRY_AFTER, "3".parse().expect("a value"));
    // Has no place in HTTP/2.
    answer
        .headers_mut()
        .insert("connection", "close".parse().expect("a value"));
    server.answer(exchange, answer);
    let Event::Response { id: 7, response } = next(&mut client) else {
        panic!("no response")
    };
    assert_eq!(response.status(), 503);
    assert_eq!(response.headers()[RETRY_AFTER], "3");
    assert_eq!(response.headers()[CONTENT_LENGTH], "2");
    assert_eq!(response.body(), "{}");
    assert!(client.next().is_none() && server.next().is_none());
}

#[test]
fn one_connection_has_many_streams_whose_answers_come_in_any_order() {
    let (mut client, mut server) = (start(Limits::default()), start(Limits::default()));
    let root = format!("http://{}", server.address());
    let until = Instant::now() + PATIENCE;
    for id in 0..100 {
        client.call(id, &root, post("/", id.to_string()), until);
    }
    let came = (0..100).map(|_| match next(&mut server) {
        Event::Request {
            exchange, request, ..
        } => (exchange, request.into_body()),
        other => panic!("{other:?}"),
    });
    for (exchange, body) in came.collect::<Vec<_>>().into_iter().rev() {
        server.answer(exchange, response(200, body));
    }
    let mut ids: Vec<u64> = (0..100)
        .map(|_| match next(&mut client) {
            Event::Response { id, response } => {
                assert_eq!(response.body(), id.to_string().as_bytes());
                id
            }
            other => panic!("{other:?}"),
        })
        .collect();
    ids.sort_unstable();
    assert_eq!(ids, (0..100).collect::<Vec<_>>());
    assert_eq!(client.counters().connections_opened, 1);
    assert_eq!(server.counters().connections, 1);
}

/// Bodies are longer than the windows of a stream and of a connection.
#[test]
fn long_bodies_come_whole_in_both_directions() {
    let server = Answering::echo(Limits::default());
    let mut client = start(Limits::default());
    let body: Vec<u8> = (0..1_000_000_u32).map(|at| at.to_le_bytes()[0]).collect();
    let until = Instant::now() + PATIENCE;
    for id in 0..6 {
        client.call(id, &server.root, post("/", body.clone()), until);
    }
    for _ in 0..6 {
        match next(&mut client) {
            Event::Response { response, .. } => assert!(response.body() == &body),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_request_without_an_answer_ends_at_its_deadline_and_is_abandoned() {
    let (mut client, mut server) = (start(Limits::default()), start(Limits::default()));
    let root = format!("http://{}", server.address());
    let began = Instant::now();
    client.call(1, &root, get("/"), began + Duration::from_millis(300));
    let Event::Request { exchange, .. } = next(&mut server) else {
        panic!("no request")
    };
    let Event::Failed { id: 1, why } = next(&mut client) else {
        panic!("no end")
    };
    assert_eq!(why, Failure::Deadline);
    assert!(began.elapsed() >= Duration::from_millis(300));
    match next(&mut server) {
        Event::Abandoned { exchange: one } => assert_eq!(one, exchange),
        other => panic!("{other:?}"),
    }
    // Nothing happens to an answer that nobody waits for, nor to one of another request.
    server.answer(exchange, response(200, ""));
    server.answer(999, response(200, ""));
    let answering = Answering::start(server, |_| Some(response(204, "")));
    let answer = ask(&mut client, &answering.root, get("/")).expect("a response");
    assert_eq!(answer.status(), 204);
    assert!(!answer.headers().contains_key(CONTENT_LENGTH));
    assert_eq!(answering.end().counters().abandoned, 1);
}

/// The program sees nothing of a request that it did not take before its end.
#[test]
fn a_request_that_was_not_seen_is_abandoned_silently() {
    let (mut client, mut server) = (start(Limits::default()), start(Limits::default()));
    let root = format!("http://{}", server.address());
    let failed = ask_within(&mut client, &root, get("/"), Duration::from_millis(200));
    assert_eq!(failed.err(), Some(Failure::Deadline));
    counted(&server, |counters| counters.abandoned == 1);
    let soon = Instant::now() + Duration::from_millis(50);
    assert!(event_until(&mut server, soon).is_none());
}

#[test]
fn redirections_keep_method_and_body_and_have_an_end() {
    let target = Answering::echo(Limits::default());
    let location = format!("{}/there?x=1", target.root);
    let redirecting = Answering::start(start(Limits::default()), move |request| {
        let location = match request.uri().path() {
            "/away" => location.as_str(),
            _ => "/circle",
        };
        let mut response = response(if location == "/circle" { 308 } else { 307 }, "");
        let location = location.parse().expect("a value");
        response.headers_mut().insert(LOCATION, location);
        Some(response)
    });
    let mut client = start(Limits::default());
    let answer = ask(&mut client, &redirecting.root, post("/away", "body")).expect("a response");
    assert_eq!(
        (answer.status().as_u16(), answer.body().as_ref()),
        (200, &b"body"[..])
    );
    let failed = ask(&mut client, &redirecting.root, get("/circle"));
    assert_eq!(failed.err(), Some(Failure::Redirects(3)));
    assert_eq!(client.counters().redirects, 4);
    assert_eq!(redirecting.end().counters().requests, 5);
}

#[test]
fn more_calls_than_may_wait_fail_at_once() {
    let limits = Limits {
        calls: 2,
        ..Limits::default()
    };
    let (mut client, mut server) = (start(limits), start(Limits::default()));
    let root = format!("http://{}", server.address());
    for id in 0..3 {
        client.call(id, &root, get("/"), Instant::now() + PATIENCE);
    }
    match next(&mut client) {
        Event::Failed { id: 2, why } => assert_eq!(why, Failure::Busy),
        other => panic!("{other:?}"),
    }
    for _ in 0..2 {
        let Event::Request { exchange, .. } = next(&mut server) else {
            panic!("no request")
        };
        server.answer(exchange, response(200, ""));
    }
    for _ in 0..2 {
        assert!(matches!(next(&mut client), Event::Response { .. }));
    }
    client.call(3, "nowhere", get("/"), Instant::now() + PATIENCE);
    match next(&mut client) {
        Event::Failed { id: 3, why } => assert_eq!(
            why.to_string(),
            "\"nowhere\" is no API root: http://host:port or https://host:port is wanted"
        ),
        other => panic!("{other:?}"),
    }
}

/// No answer is lost for the end of its program, and nobody waits in vain.
#[test]
fn a_function_that_ends_answers_first() {
    let (mut client, mut server) = (start(Limits::default()), start(Limits::default()));
    let root = format!("http://{}", server.address());
    let began = Instant::now();
    for id in 1..=2 {
        client.call(id, &root, post("/", id.to_string()), began + PATIENCE);
    }
    let mut exchanges = Vec::new();
    for _ in 0..2 {
        match next(&mut server) {
            Event::Request { exchange, .. } => exchanges.push(exchange),
            other => panic!("{other:?}"),
        }
    }
    server.answer(exchanges[0], response(200, vec![0; 500_000]));
    drop(server);
    let mut statuses = Vec::new();
    for _ in 0..2 {
        match next(&mut client) {
            Event::Response { response, .. } => statuses.push(response.status().as_u16()),
            other => panic!("{other:?}"),
        }
    }
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 503]);
    let failed = ask(&mut client, &root, get("/")).expect_err("nobody listens");
    assert!(matches!(failed, Failure::Connect { .. }), "{failed}");
    assert_eq!(client.counters().retries, 0);
}

#[test]
fn an_address_that_is_taken_is_named() {
    let server = start(Limits::default());
    let config = sluice_sbi_http2::Config {
        listen: server.address(),
        agent: "AMF".to_owned(),
        limits: Limits::default(),
        tls: None,
    };
    let error = sluice_sbi_http2::Http::start(config).err().expect("taken");
    let text = error.to_string();
    let address = server.address();
    assert!(
        text.starts_with(&format!("cannot listen on {address}: ")),
        "{text}"
    );
}
