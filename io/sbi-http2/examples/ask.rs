//! Requests over HTTP/2 to a server that judges the client (Go's, nghttpd): bursts with pauses, and what became of them.
//!
//! `cargo run -p sluice-sbi-http2 --example ask -- http://127.0.0.1:8080/path 1000 3 10` (requests, each burst, pause in ms)

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use bytes::Bytes;
use sluice_host::poll::wait_readable;
use sluice_sbi_http2::{Config, Event, Http, Limits};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [root, numbers @ ..] = words.as_slice() else {
        return Err("an API root is wanted".into());
    };
    let number = |at: usize, otherwise| numbers.get(at).map_or(Ok(otherwise), |word| word.parse());
    let (requests, burst, pause_ms) = (number(0, 1_000)?, number(1, 3)?, number(2, 10)?);
    let mut http = Http::start(Config {
        listen: "127.0.0.1:0".parse()?,
        agent: "AMF".to_owned(),
        limits: Limits::default(),
        tls: None,
    })?;
    let mut outcomes = BTreeMap::new();
    let began = Instant::now();
    for first in (0..requests).step_by(usize::try_from(burst)?) {
        for id in first..first + burst {
            let request = http::Request::post("/").body(Bytes::from(id.to_string()))?;
            http.call(id, root, request, Instant::now() + Duration::from_secs(10));
        }
        for _ in 0..burst {
            let outcome = match next(&mut http)? {
                Event::Response { id, response } if *response.body() == id.to_string() => {
                    response.status().to_string()
                }
                Event::Response { .. } => "another's answer".to_owned(),
                Event::Failed { why, .. } => why.to_string(),
                Event::Request { .. } | Event::Abandoned { .. } => continue,
            };
            *outcomes.entry(outcome).or_insert(0) += 1;
        }
        std::thread::sleep(Duration::from_millis(pause_ms));
    }
    let counters = http.counters();
    println!("{:?} {outcomes:#?}", began.elapsed());
    let (opened, again) = (counters.connections_opened, counters.retries);
    println!("{opened} connections, {again} requests sent again");
    Ok(())
}

fn next(http: &mut Http) -> std::io::Result<Event> {
    loop {
        if let Some(event) = http.next() {
            return Ok(event);
        }
        if http.may_sleep() {
            wait_readable(&*http, Duration::from_secs(60))?;
        }
    }
}
