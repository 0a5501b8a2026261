//! Metrics of a running daemon: scraped over HTTP, read by a parser that is not ours, and clients
//! that mean no good.

use std::collections::HashMap;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use prometheus_parse::{Sample, Scrape, Value};
use sluice_host::netns::Netns;

use super::kit::*;

/// On N4, which the SMF's namespace reaches.
const LISTEN: &str = "198.18.4.1:9469";

fn metrics_config() -> Config {
    let mut config = Config::new();
    config.more = format!("metrics: {{listen: '{LISTEN}'}}\n");
    config
}

fn connect(from: &Netns) -> TcpStream {
    let address: SocketAddr = LISTEN.parse().unwrap();
    let stream = from
        .run(|| TcpStream::connect_timeout(&address, SOON))
        .unwrap();
    let stream = stream.unwrap();
    stream.set_read_timeout(Some(SOON)).unwrap();
    stream
}

/// What is answered to these bytes, up to the end of the connection.
fn answer(from: &Netns, request: &[u8]) -> String {
    let mut stream = connect(from);
    stream.write_all(request).unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text
}

fn scrape(lab: &Lab) -> Scrape {
    let text = answer(
        &lab.smf,
        b"GET /metrics HTTP/1.1\r\nHost: upf\r\nAccept: */*\r\n\r\n",
    );
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
    assert!(
        head.contains("Content-Type: text/plain; version=0.0.4; charset=utf-8"),
        "{head}"
    );
    assert!(
        head.contains(&format!("Content-Length: {}", body.len())),
        "{head}"
    );
    let lines = body.lines().map(|line| Ok(line.to_owned()));
    Scrape::parse(lines).unwrap()
}

/// The value of the one sample with these labels.
fn value(scrape: &Scrape, name: &str, labels: &[(&str, &str)]) -> f64 {
    let fits = |s: &&Sample| {
        s.metric == name && labels.iter().all(|(key, v)| s.labels.get(key) == Some(*v))
    };
    let found: Vec<_> = scrape.samples.iter().filter(fits).collect();
    assert_eq!(found.len(), 1, "{name} {labels:?}: {found:?}");
    match found[0].value {
        Value::Counter(v) | Value::Gauge(v) => v,
        ref other => panic!("{name}: {other:?}, neither counter nor gauge"),
    }
}

/// Metrics that say what the ledger says, with the ledger's names.
const IN_LEDGER: [(&str, &str); 5] = [
    ("sluice_packets_received_total", "received"),
    ("sluice_packets_transmitted_total", "transmitted"),
    ("sluice_packets_to_control_total", "to_control"),
    ("sluice_packets_created_total", "created"),
    ("sluice_packets_held", "held"),
];

#[test]
fn a_scrape_tells_what_happened() {
    let Some(lab) = Lab::new("scrape") else {
        return;
    };
    let daemon = Daemon::start(&lab, &metrics_config());
    let (smf, gnb) = (lab.smf(), lab.gnb());
    let ues = [0, 1].map(|n| Ue::attach(&lab, &smf, gnb.handle(), n));
    ues.iter()
        .for_each(|ue| assert_eq!(ue.ping(&lab, 5, 84), 5));
    // A page is told again for a moment, and a packet of a neighbour may come between the two looks.
    let mut scrape = self::scrape(&lab);
    eventually("the page and the ledger agree", || {
        scrape = self::scrape(&lab);
        let ledger = daemon.ledger();
        IN_LEDGER
            .iter()
            .all(|(metric, key)| Some(value(&scrape, metric, &[])) == ledger[key].as_f64())
    });
    of_two_sessions(&scrape);
    // Every family has its help, and nothing else stands there.
    let helped: HashMap<_, _> = scrape.docs.iter().collect();
    for sample in &scrape.samples {
        assert!(
            helped.contains_key(&sample.metric),
            "{}: no HELP",
            sample.metric
        );
        assert!(sample.metric.starts_with("sluice_"), "{}", sample.metric);
    }
    // Counters go on.
    assert_eq!(ues[0].ping(&lab, 3, 84), 3);
    thread::sleep(Duration::from_millis(200));
    let received = |s: &Scrape| value(s, "sluice_packets_received_total", &[]);
    assert!(received(&self::scrape(&lab)) >= received(&scrape) + 6.0);
}

/// Two sessions, whose packets have gone both ways.
fn of_two_sessions(scrape: &Scrape) {
    assert_eq!(value(scrape, "sluice_sessions", &[]), 2.0);
    assert_eq!(
        value(scrape, "sluice_n4_associations", &[("state", "answers")]),
        1.0
    );
    assert_eq!(value(scrape, "sluice_gtpu_peers", &[]), 1.0);
    let established = [
        ("direction", "receive"),
        ("type", "session_establishment_request"),
    ];
    assert_eq!(value(scrape, "sluice_n4_messages_total", &established), 2.0);
    let accepted = [("type", "Session Establishment Response"), ("cause", "1")];
    assert_eq!(
        value(scrape, "sluice_n4_responses_total", &accepted),
        2.0,
        "{:?}",
        scrape.docs
    );
    let worker = [("worker", "0")];
    assert!(value(scrape, "sluice_worker_busy_seconds_total", &worker) > 0.0);
    assert!(value(scrape, "sluice_worker_asleep_seconds_total", &worker) > 0.0);
    assert_eq!(value(scrape, "sluice_worker_shards", &worker), 4096.0);
    assert_eq!(
        value(
            scrape,
            "sluice_packets_dropped_total",
            &[("reason", "gate_closed")]
        ),
        0.0
    );
    let n3 = [("port", "n3"), ("direction", "receive")];
    assert!(value(scrape, "sluice_port_packets_total", &n3) >= 10.0);
    assert!(
        value(
            scrape,
            "sluice_port_queue_packets_total",
            &[&n3[..], &[("queue", "0")]].concat()
        ) >= 10.0
    );
    assert!(value(scrape, "sluice_packet_buffers", &[("state", "free")]) > 1_000.0);
}

#[test]
fn what_is_no_scrape_is_refused_and_who_is_slow_is_left() {
    let Some(lab) = Lab::new("scrapeno") else {
        return;
    };
    let daemon = Daemon::start(&lab, &metrics_config());
    let (smf, gnb) = (lab.smf(), lab.gnb());
    let ue = Ue::attach(&lab, &smf, gnb.handle(), 0);
    let status = |request: &[u8]| {
        answer(&lab.smf, request)
            .split("\r\n")
            .next()
            .unwrap()
            .to_owned()
    };
    assert_eq!(status(b"GET / HTTP/1.1\r\n\r\n"), "HTTP/1.1 404 Not Found");
    assert_eq!(
        status(b"PUT /metrics HTTP/1.0\r\n\r\n"),
        "HTTP/1.1 405 Method Not Allowed"
    );
    assert_eq!(
        status(b"\x16\x03\x01\x02\x00\r\n\r\n"),
        "HTTP/1.1 400 Bad Request"
    );
    // Ten that say nothing: eight wait, the others are sent away at once.
    let mut silent: Vec<TcpStream> = (0..10).map(|_| connect(&lab.smf)).collect();
    let began = Instant::now();
    let mut refused = 0;
    for stream in &mut silent[8..] {
        let mut text = String::new();
        match stream.read_to_string(&mut text) {
            Ok(_) => refused += usize::from(text.starts_with("HTTP/1.1 503 ")),
            Err(e) => assert_eq!(e.kind(), ErrorKind::ConnectionReset),
        }
    }
    assert_eq!(refused, 2);
    assert!(began.elapsed() < Duration::from_secs(4));
    // Meanwhile packets flow and N4 and ctl answer as ever.
    assert_eq!(ue.ping(&lab, 20, 84), 20);
    assert_eq!(daemon.ctl(&["status"]).code, Some(0));
    smf.delete(ue.cp_seid()).unwrap();
    // One that sends an octet now and then is left, too, when its time is over.
    drop(silent.split_off(7));
    eventually("there is room again", || {
        let (mut stream, mut text) = (connect(&lab.smf), String::new());
        let sent = stream.write_all(b"GET /metrics HTTP/1.1\r\n\r\n");
        let read = sent.and_then(|()| stream.read_to_string(&mut text));
        read.is_ok() && text.starts_with("HTTP/1.1 200 OK")
    });
    let mut octets = b"GET /metrics HTTP/1.1\r\nX: y".iter().cycle();
    let slow = &mut silent[0];
    while slow.write_all(&[*octets.next().unwrap()]).is_ok() {
        assert!(began.elapsed() < SOON, "a slow client is never left");
        thread::sleep(Duration::from_millis(100));
    }
    assert!(began.elapsed() < Duration::from_secs(20));
    assert!(!scrape(&lab).samples.is_empty());
}

#[test]
fn an_address_that_cannot_be_had_is_an_error_if_it_was_asked_for() {
    let Some(lab) = Lab::new("scrapead") else {
        return;
    };
    let mut config = Config::new();
    config.more = "metrics: {listen: '198.18.4.77:9469'}\n".to_owned();
    let mut daemon = Daemon::spawn(&lab, "upf", &config);
    assert_eq!(daemon.wait().0, Some(3));
    let log = daemon.log();
    assert!(
        log.contains("metrics.listen: 198.18.4.77:9469 cannot be listened on"),
        "{log}"
    );
    config.more = "metrics: {listen: none}\n".to_owned();
    let daemon = Daemon::start(&lab, &config);
    assert!(!daemon.log().contains("no metrics"), "{}", daemon.log());
}
