//! Endpoints wired back to back by a simulated network with its own clock and a seed.
#![allow(dead_code, reason = "every test uses another part")]

use std::collections::BTreeMap;
use std::net::SocketAddr;

use sluice_n4::{
    Config, Endpoint, Event, Features, Input, Instant, NodeId, Outbox, ReplyTo, Request, Role,
};
use sluice_wire::ids::Seid;
use sluice_wire::pfcp::value::{CpFunctionFeatures, NtpTime, UpFunctionFeatures};
use sluice_wire::pfcp::{Header, IeType, MessageType, ie};

/// A vendor's IE that carries the number of a request and comes back in its response.
pub const NUMBER: IeType = IeType(0x8001);
/// Stands for a response without number: the endpoint itself rejected the request.
pub const NO_NUMBER: u64 = u64::MAX;
pub const CP: usize = 0;
pub const UP: usize = 1;

/// Collects what an endpoint sends.
#[derive(Default)]
pub struct Sent(pub Vec<(SocketAddr, Vec<u8>)>);

impl Outbox for Sent {
    fn send(&mut self, to: SocketAddr, bytes: &[u8]) {
        self.0.push((to, bytes.to_vec()));
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Datagram {
    pub from: SocketAddr,
    pub to: SocketAddr,
    pub bytes: Vec<u8>,
}

impl Datagram {
    pub fn header(&self) -> Header {
        Header::parse(&self.bytes)
            .expect("an endpoint sends whole headers")
            .0
    }
}

/// A function: its endpoint, and a layer above that answers every request with its number.
pub struct Host {
    pub address: SocketAddr,
    pub endpoint: Endpoint,
    pub events: Vec<Event>,
    /// How often each number was applied.
    pub applied: BTreeMap<u64, u32>,
    /// Tags of the requests answered, with the number in the response.
    pub answered: Vec<(u64, u64)>,
    /// From a request to its reply, in milliseconds.
    pub think_ms: u64,
    replies: Vec<(Instant, ReplyTo, u64)>,
}

pub struct Net {
    pub now: Instant,
    pub hosts: Vec<Host>,
    pub loss_percent: u64,
    pub duplicate_percent: u64,
    pub delay_ms: u64,
    /// Everything that was sent, lost or not.
    pub log: Vec<(Instant, Datagram)>,
    wire: BTreeMap<(Instant, u64), Datagram>,
    posted: u64,
    random: u64,
}

pub fn address(n: u8) -> SocketAddr {
    SocketAddr::from(([10, 0, 0, n], 8805))
}

pub fn cp_config(started_s: u32) -> Config {
    let mut config = config(1, started_s);
    config.features = Features::of_cp(CpFunctionFeatures::EPFAR);
    config
}

pub fn up_config(started_s: u32) -> Config {
    let mut config = config(2, started_s);
    config.features = Features::of_up(UpFunctionFeatures::FTUP | UpFunctionFeatures::EPFAR);
    config
}

fn config(n: u8, started_s: u32) -> Config {
    let mut config = Config::new(NodeId::v4([10, 0, 0, n].into()), NtpTime(started_s));
    config.limits.associations = 4;
    config.limits.in_flight = 64;
    config.limits.in_flight_bytes = 64 * 1024;
    config.limits.message_len = 4096;
    config.limits.cached_requests = 1024;
    config.limits.cached_response_bytes = 64 * 1024;
    config
}

impl Host {
    pub fn new(address: SocketAddr, role: Role, config: Config) -> Self {
        Self {
            address,
            endpoint: Endpoint::new(role, config),
            events: Vec::new(),
            applied: BTreeMap::new(),
            answered: Vec::new(),
            think_ms: 0,
            replies: Vec::new(),
        }
    }

    fn receive(&mut self, now: Instant, from: SocketAddr, bytes: &[u8], out: &mut Sent) {
        match self.endpoint.handle(now, from, bytes, out) {
            Input::Nothing => {}
            Input::Response(response) => {
                let number = number(response.body).unwrap_or(NO_NUMBER);
                self.answered.push((response.tag, number));
            }
            Input::Session(request) => {
                let number = number(request.body).unwrap_or(0);
                *self.applied.entry(number).or_default() += 1;
                self.replies
                    .push((now.plus_ms(self.think_ms), request.reply, number));
            }
        }
    }

    fn work(&mut self, now: Instant, out: &mut Sent) {
        self.endpoint.tick(now, out);
        self.replies.sort_by_key(|(at, ..)| *at);
        while self.replies.first().is_some_and(|(at, ..)| *at <= now) {
            let (_, reply, number) = self.replies.remove(0);
            let seid = reply.request_seid().map(|_| Seid(number));
            let written = self
                .endpoint
                .reply(now, reply, seid, out, |w| w.ie(NUMBER, |w| w.u64(number)));
            written.expect("the response is short");
        }
        while let Some(event) = self.endpoint.next_event() {
            self.events.push(event);
        }
    }

    fn next_work(&self) -> Option<Instant> {
        let reply = self.replies.iter().map(|(at, ..)| *at).min();
        self.endpoint.next_deadline().into_iter().chain(reply).min()
    }
}

fn number(body: &[u8]) -> Option<u64> {
    Some(u64::from_be_bytes(
        ie::first(body, NUMBER)?.try_into().ok()?,
    ))
}

impl Net {
    /// A CP function at 10.0.0.1 and a UP function at 10.0.0.2, started at 1000 s.
    pub fn new() -> Self {
        Self::with(cp_config(1000), up_config(1000))
    }

    pub fn with(cp: Config, up: Config) -> Self {
        Self {
            now: Instant(1_000_000_000),
            hosts: vec![
                Host::new(address(1), Role::Cp, cp),
                Host::new(address(2), Role::Up, up),
            ],
            loss_percent: 0,
            duplicate_percent: 0,
            delay_ms: 0,
            log: Vec::new(),
            wire: BTreeMap::new(),
            posted: 0,
            random: 0x9e37_79b9_7f4a_7c15,
        }
    }

    /// Like [`Net::new`], with the association set up by the CP function.
    pub fn associated() -> Self {
        let mut net = Self::new();
        net.associate(CP, UP);
        net.run_ms(10);
        net.hosts.iter_mut().for_each(|host| host.events.clear());
        net
    }

    pub fn seed(&mut self, seed: u64) {
        self.random ^= seed.wrapping_mul(0xd6e8_feb8_6659_fd93) | 1;
    }

    /// Calls an endpoint and posts what it sends.
    pub fn call<T>(
        &mut self,
        host: usize,
        call: impl FnOnce(&mut Endpoint, Instant, &mut Sent) -> T,
    ) -> T {
        let mut sent = Sent::default();
        let result = call(&mut self.hosts[host].endpoint, self.now, &mut sent);
        self.finish(host, sent);
        result
    }

    pub fn associate(&mut self, host: usize, peer: usize) -> sluice_n4::AssociationId {
        let to = self.hosts[peer].address;
        self.call(host, |endpoint, now, out| {
            endpoint.associate(now, to, false, out)
        })
        .unwrap()
    }

    /// Sends a session modification with a number as its tag too.
    pub fn send(&mut self, host: usize, number: u64) {
        let association = self.id(host);
        let (message_type, seid) = match self.hosts[host].endpoint.role() {
            Role::Cp => (
                MessageType::SESSION_MODIFICATION_REQUEST,
                Some(Seid(number)),
            ),
            Role::Up => (MessageType::SESSION_REPORT_REQUEST, Some(Seid(number))),
        };
        let request = Request {
            association,
            to: None,
            tag: number,
            message_type,
            seid,
        };
        let write = |w: &mut sluice_wire::pfcp::Writer<'_>| w.ie(NUMBER, |w| w.u64(number));
        self.call(host, |endpoint, now, out| {
            endpoint.request(now, request, out, write)
        })
        .unwrap();
    }

    /// The only association of a host.
    pub fn id(&self, host: usize) -> sluice_n4::AssociationId {
        let mut all = self.hosts[host].endpoint.associations();
        let (id, _) = all.next().expect("an association");
        assert!(all.next().is_none(), "only one");
        id
    }

    pub fn associations(&self, host: usize) -> usize {
        self.hosts[host].endpoint.associations().count()
    }

    /// Events of a host since they were taken last.
    pub fn events(&mut self, host: usize) -> Vec<Event> {
        std::mem::take(&mut self.hosts[host].events)
    }

    /// Puts another endpoint in a host's place, with no memory of the one before.
    pub fn restart(&mut self, host: usize, config: Config) {
        let role = self.hosts[host].endpoint.role();
        let fresh = Host::new(self.hosts[host].address, role, config);
        self.hosts[host] = Host {
            think_ms: self.hosts[host].think_ms,
            ..fresh
        };
    }

    pub fn counter(&self, host: usize, counter: sluice_n4::Counter) -> u64 {
        self.hosts[host].endpoint.counters().get(counter)
    }

    pub fn run_ms(&mut self, ms: u64) {
        self.run_until(self.now.plus_ms(ms));
    }

    pub fn run_until(&mut self, end: Instant) {
        while let Some(at) = self.next_time().filter(|at| *at <= end) {
            self.now = self.now.max(at);
            self.deliver();
            for host in 0..self.hosts.len() {
                let mut sent = Sent::default();
                self.hosts[host].work(self.now, &mut sent);
                self.post(host, sent);
            }
        }
        self.now = end;
    }

    /// Hands a datagram to a host as if the network had brought it; gives the answers.
    pub fn inject(&mut self, host: usize, from: SocketAddr, bytes: &[u8]) -> Vec<Vec<u8>> {
        let mut sent = Sent::default();
        self.hosts[host].receive(self.now, from, bytes, &mut sent);
        self.hosts[host].work(self.now, &mut sent);
        sent.0
            .into_iter()
            .filter(|(to, _)| *to == from)
            .map(|(_, bytes)| bytes)
            .collect()
    }

    fn next_time(&self) -> Option<Instant> {
        let wire = self.wire.keys().next().map(|(at, _)| *at);
        let hosts = self.hosts.iter().filter_map(Host::next_work);
        hosts.chain(wire).min()
    }

    fn deliver(&mut self) {
        while let Some(entry) = self.wire.first_entry().filter(|e| e.key().0 <= self.now) {
            let datagram = entry.remove();
            let Some(host) = self.hosts.iter().position(|h| h.address == datagram.to) else {
                continue;
            };
            let mut sent = Sent::default();
            self.hosts[host].receive(self.now, datagram.from, &datagram.bytes, &mut sent);
            self.finish(host, sent);
        }
    }

    fn finish(&mut self, host: usize, sent: Sent) {
        while let Some(event) = self.hosts[host].endpoint.next_event() {
            self.hosts[host].events.push(event);
        }
        self.post(host, sent);
    }

    fn post(&mut self, host: usize, sent: Sent) {
        let from = self.hosts[host].address;
        for (to, bytes) in sent.0 {
            let datagram = Datagram { from, to, bytes };
            self.log.push((self.now, datagram.clone()));
            let copies = 1 + u64::from(self.percent() < self.duplicate_percent);
            for _ in 0..copies {
                if self.percent() >= self.loss_percent {
                    let delay_ms = self.draw(self.delay_ms + 1);
                    self.posted += 1;
                    let key = (self.now.plus_ms(delay_ms), self.posted);
                    self.wire.insert(key, datagram.clone());
                }
            }
        }
    }

    fn percent(&mut self) -> u64 {
        self.draw(100)
    }

    /// Xorshift: a number below `bound`.
    fn draw(&mut self, bound: u64) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        (self.random >> 11) % bound
    }
}
