//! Echo over HTTP/2 in the clear, for judges from outside (h2spec, curl, nghttp): answers each request with its body.
//!
//! `cargo run -p sluice-sbi-http2 --example echo -- 127.0.0.1:8080`

use std::time::Duration;

use bytes::Bytes;
use sluice_host::poll::wait_readable;
use sluice_sbi_http2::{Config, Event, Http, Limits};
use sluice_services::Response;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let listen = std::env::args().nth(1);
    let config = Config {
        listen: listen.as_deref().unwrap_or("127.0.0.1:8080").parse()?,
        agent: "AMF".to_owned(),
        limits: Limits::default(),
        tls: None,
    };
    let mut http = Http::start(config)?;
    println!("listening on {}", http.address());
    loop {
        while let Some(event) = http.next() {
            if let Event::Request {
                exchange, request, ..
            } = event
            {
                let body = request.into_body();
                let greeting = Bytes::from_static(b"Sluice");
                let body = if body.is_empty() { greeting } else { body };
                http.answer(exchange, Response::new(body));
            }
        }
        if http.may_sleep() {
            wait_readable(&http, Duration::from_secs(60))?;
        }
    }
}
