//! Calls by our services: a consumer and a producer in a program each, as far as HTTP/2 knows, driven by one loop.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use http::StatusCode;
use sluice_host::clock;
use sluice_host::poll::{Poller, Ready};
use sluice_sbi::{Done, Message, Problem};
use sluice_sbi_http2::{Config, Event, Http, Limits, TlsFiles};
use sluice_services::{Came, Consumer, Memory, OnResponse, Outgoing, Request, Response, To};

use super::echo::Exchange;
use super::{memory_of, told};
use crate::Failure;

/// How long a response may take; a machine with much to do is slow.
const PATIENCE: Duration = Duration::from_secs(20);

/// Calls of a benchmark, one after the other without end, and who answers them.
pub trait Calls {
    /// Begins the next call.
    fn begin(&mut self, consumer: &mut Memory) -> Result<Consumer, Failure>;

    /// Serves a request.
    fn serve(&mut self, request: &Request, producer: &mut Memory) -> Response;
}

/// HTTP/2 of a program, and the API root of its server.
pub fn program(agent: &str, tls: Option<TlsFiles>) -> Result<(Http, String), Failure> {
    let scheme = if tls.is_some() { "https" } else { "http" };
    let config = Config {
        listen: ([127, 0, 0, 1], 0).into(),
        agent: agent.to_owned(),
        limits: Limits::default(),
        tls,
    };
    let http = Http::start(config).map_err(told)?;
    let root = format!("{scheme}://{}", http.address());
    Ok((http, root))
}

/// Both programs.
pub struct Pair {
    client: Http,
    server: Http,
    root: String,
    consumer: Memory,
    producer: Memory,
    poller: Poller,
    waiting: BTreeMap<u64, OnResponse>,
    /// Calls that are over.
    done: usize,
    requests: u64,
    /// Requests as they came, and the responses to them, while they are noted.
    noted: Option<(Vec<Request>, Vec<Response>)>,
}

impl Pair {
    pub fn start(tls: Option<&TlsFiles>) -> Result<Self, Failure> {
        let (client, own_root) = program("AMF", tls.cloned())?;
        let (server, root) = program("SMF", tls.cloned())?;
        let poller = Poller::new().map_err(told)?;
        poller.add(&client, 0).map_err(told)?;
        poller.add(&server, 1).map_err(told)?;
        Ok(Self {
            consumer: memory_of(own_root),
            producer: memory_of(root.clone()),
            root,
            client,
            server,
            poller,
            waiting: BTreeMap::new(),
            done: 0,
            requests: 0,
            noted: None,
        })
    }

    /// Makes `count` calls, `window` of them at a time: CPU of the whole process in nanoseconds, and requests.
    pub fn run(
        &mut self,
        calls: &mut impl Calls,
        count: usize,
        window: usize,
    ) -> Result<(f64, u64), Failure> {
        self.done = 0;
        let (mut begun, requests) = (0, self.requests);
        let before = clock::process_cpu_ns();
        let mut ready = Ready::with_capacity(2);
        while self.done < count {
            while begun < count && begun - self.done < window {
                begun += 1;
                let step = calls.begin(&mut self.consumer)?;
                self.go_on(step)?;
            }
            if !self.turn(calls)? && self.client.may_sleep() && self.server.may_sleep() {
                self.poller.wait(&mut ready, Some(PATIENCE)).map_err(told)?;
            }
        }
        let cpu_ns = (clock::process_cpu_ns() - before) as f64;
        Ok((cpu_ns, self.requests - requests))
    }

    /// Exchanges of `count` calls, one after the other, as they are on their way.
    pub fn exchanges(
        &mut self,
        calls: &mut impl Calls,
        count: usize,
    ) -> Result<Vec<Exchange>, Failure> {
        self.noted = Some(Default::default());
        self.run(calls, count, 1)?;
        let (requests, responses) = self.noted.take().unwrap_or_default();
        let pairs = requests.into_iter().zip(responses);
        let exchange = |(request, response)| Exchange { request, response };
        Ok(pairs.map(exchange).collect())
    }

    /// Whether anything happened.
    fn turn(&mut self, calls: &mut impl Calls) -> Result<bool, Failure> {
        let mut happened = false;
        while let Some(event) = self.server.next() {
            happened = true;
            if let Event::Request {
                exchange, request, ..
            } = event
            {
                let response = calls.serve(&request, &mut self.producer);
                if let Some((requests, _)) = &mut self.noted {
                    requests.push(request);
                }
                self.server.answer(exchange, response);
            }
        }
        while let Some(event) = self.client.next() {
            happened = true;
            match event {
                Event::Response { id, response } => self.came(id, response)?,
                Event::Failed { why, .. } => return Err(why.to_string()),
                Event::Request { .. } | Event::Abandoned { .. } => {}
            }
        }
        Ok(happened)
    }

    fn came(&mut self, id: u64, response: Response) -> Result<(), Failure> {
        if let Some((_, responses)) = &mut self.noted {
            responses.push(response.clone());
        }
        let then = self.waiting.remove(&id).ok_or("nobody asked that")?;
        let step = then(Came { from: 0, response }, &mut self.consumer);
        self.go_on(step)
    }

    fn go_on(&mut self, step: Consumer) -> Result<(), Failure> {
        let (outgoing, then) = match step {
            Consumer::Send(outgoing, then) => (*outgoing, then),
            Consumer::Done(message) => {
                if let Message::Failure(failure) = &*message {
                    return Err(format!("a call failed: {:?}", failure.problem));
                }
                self.done += 1;
                return Ok(());
            }
            Consumer::Tell(_) => return Err("a call that nobody answers".to_owned()),
        };
        let Outgoing { to, request } = outgoing;
        let root = match &to {
            To::Function | To::Nrf => &self.root,
            To::Root(root) => root,
        };
        self.requests += 1;
        let until = Instant::now() + PATIENCE;
        self.client.call(self.requests, root, request, until);
        self.waiting.insert(self.requests, then);
        Ok(())
    }
}

/// Sends a request, and ends the call by the status of its response.
pub fn plain(request: Request) -> Consumer {
    let to = To::Function;
    let outgoing = Outgoing { to, request };
    Consumer::Send(
        outgoing.into(),
        Box::new(|came, _| {
            Consumer::Done(match came.response.status() {
                StatusCode::OK | StatusCode::CREATED | StatusCode::NO_CONTENT => Done::ALL.into(),
                _ => Problem::Protocol.into(),
            })
        }),
    )
}
