//! Functions for tests: one that asks, and one on a thread that answers.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::StatusCode;
use sluice_host::poll::wait_readable;
use sluice_sbi_http2::{Config, Counters, Event, Failure, Http, Limits, TlsFiles};
use sluice_services::{Request, Response};

/// Longest wait for anything; a machine with much to do is slow.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// Client and server on a port of 127.0.0.1.
pub fn start(limits: Limits) -> Http {
    start_with(limits, None)
}

pub fn start_with(limits: Limits, tls: Option<TlsFiles>) -> Http {
    let config = Config {
        listen: "127.0.0.1:0".parse().expect("an address"),
        agent: "AMF".to_owned(),
        limits,
        tls,
    };
    Http::start(config).expect("a free port")
}

pub fn get(path: &str) -> Request {
    let request = http::Request::builder().uri(path).body(Bytes::new());
    request.expect("a request")
}

pub fn post(path: &str, body: impl Into<Bytes>) -> Request {
    let request = http::Request::builder().method("POST").uri(path);
    request.body(body.into()).expect("a request")
}

/// Response with a status and a body.
pub fn response(status: u16, body: impl Into<Bytes>) -> Response {
    let mut response = Response::new(body.into());
    *response.status_mut() = StatusCode::from_u16(status).expect("a status");
    response
}

/// The next event, as a program's loop gets it.
pub fn next(http: &mut Http) -> Event {
    let until = Instant::now() + PATIENCE;
    event_until(http, until).expect("an event in time")
}

pub fn event_until(http: &mut Http, until: Instant) -> Option<Event> {
    loop {
        if let Some(event) = http.next() {
            return Some(event);
        }
        let left = until.checked_duration_since(Instant::now())?;
        if http.may_sleep() {
            wait_readable(&*http, left).expect("poll");
        }
    }
}

/// Asks and waits for the end.
pub fn ask(http: &mut Http, root: &str, request: Request) -> Result<Response, Failure> {
    ask_within(http, root, request, PATIENCE)
}

pub fn ask_within(
    http: &mut Http,
    root: &str,
    request: Request,
    within: Duration,
) -> Result<Response, Failure> {
    http.call(1, root, request, Instant::now() + within);
    match next(http) {
        Event::Response { id: 1, response } => Ok(response),
        Event::Failed { id: 1, why } => Err(why),
        other => panic!("{other:?}"),
    }
}

/// Waits until the counters are so.
pub fn counted(http: &Http, is_so: impl Fn(&Counters) -> bool) -> Counters {
    let until = Instant::now() + PATIENCE;
    loop {
        let counters = http.counters();
        if is_so(&counters) {
            return counters;
        }
        assert!(Instant::now() < until, "{counters:?}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A function on a thread that answers.
pub struct Answering {
    pub root: String,
    ends: Arc<AtomicBool>,
    thread: JoinHandle<Http>,
}

impl Answering {
    /// Answers each request as `answer` says, or never.
    pub fn start(
        mut http: Http,
        mut answer: impl FnMut(&Request) -> Option<Response> + Send + 'static,
    ) -> Self {
        let root = format!("http://{}", http.address());
        let ends = Arc::new(AtomicBool::new(false));
        let is_over = Arc::clone(&ends);
        let thread = std::thread::spawn(move || {
            while !is_over.load(Ordering::Relaxed) {
                let soon = Instant::now() + Duration::from_millis(20);
                if let Some(Event::Request {
                    exchange, request, ..
                }) = event_until(&mut http, soon)
                    && let Some(response) = answer(&request)
                {
                    http.answer(exchange, response);
                }
            }
            http
        });
        Self { root, ends, thread }
    }

    /// Answers each request with its body.
    pub fn echo(limits: Limits) -> Self {
        Self::start(start(limits), |request| {
            Some(response(200, request.body().clone()))
        })
    }

    pub fn address(&self) -> &str {
        let (_, address) = self.root.split_once("//").expect("a root");
        address
    }

    pub fn end(self) -> Http {
        self.ends.store(true, Ordering::Relaxed);
        self.thread.join().expect("the thread ends")
    }
}
