//! Two PFCP endpoints, a CP and a UP function, that talk to each other over a bad network while
//! strangers talk to both.

use super::pfcp::is_understood;
use crate::script::{Step, steps};
use sluice_n4::{
    AssociationId, Change, Config, Counter, Endpoint, Event, Features, Input, Instant, NodeId,
    Outbox, ReplyTo, Request, Role,
};
use sluice_wire::ids::Seid;
use sluice_wire::pfcp::value::{CpFunctionFeatures, NtpTime, UpFunctionFeatures};
use sluice_wire::pfcp::{Cause, Full, Header, IeType, MessageType, Writer};
use std::collections::{BTreeSet, VecDeque};
use std::net::SocketAddr;

const CP: usize = 0;
const UP: usize = 1;
/// Datagrams that one input may make the two exchange: each step starts a few procedures, and
/// each of their messages is sent at most N1 + 1 times.
const DATAGRAMS: usize = 20_000;
/// Times that one input may make the endpoints look at their timers: heartbeats come every 10 s,
/// and an input lasts half an hour at most.
const TICKS: usize = 50_000;
const ASSOCIATIONS: usize = 4;
const IN_FLIGHT: u32 = 16;

/// Flags of a step's kind beside what happens (its low four bits).
mod flag {
    /// What is sent from now on, until the step is over, is lost.
    pub const LOSE: u8 = 0x10;
    /// It arrives twice.
    pub const TWICE: u8 = 0x20;
    /// The layer above answers only after the next step.
    pub const THINK: u8 = 0x40;
    /// The octets get the sequence number of the receiver's last request.
    pub const ANSWER: u8 = 0x80;
}

/// A script of datagrams, calls and time.
pub fn n4_endpoint(data: &[u8]) {
    let mut world = World::new();
    for step in steps(data) {
        world.pass(step.wait_ns());
        world.step(&step);
        world.settle(step.kind);
    }
    world.close();
}

/// Collects what an endpoint sends.
#[derive(Default)]
struct Sent(Vec<(SocketAddr, Vec<u8>)>);

impl Outbox for Sent {
    fn send(&mut self, to: SocketAddr, bytes: &[u8]) {
        self.0.push((to, bytes.to_vec()));
    }
}

struct Host {
    address: SocketAddr,
    endpoint: Endpoint,
    /// Tags of requests that have not ended.
    open: BTreeSet<u64>,
    replies: Vec<ReplyTo>,
    /// Sequence number of its last request.
    last_sequence: [u8; 3],
}

struct World {
    now: Instant,
    hosts: [Host; 2],
    wire: VecDeque<(SocketAddr, SocketAddr, Vec<u8>)>,
    next_tag: u64,
    datagrams: usize,
    ticks: usize,
}

fn address(n: u8) -> SocketAddr {
    SocketAddr::from(([10, 0, 0, n], 8805))
}

fn host(n: u8, role: Role, features: Features) -> Host {
    let mut config = Config::new(NodeId::v4([10, 0, 0, n].into()), NtpTime(1000));
    config.features = features;
    config.retains_sessions = role == Role::Up;
    let limits = &mut config.limits;
    limits.associations = ASSOCIATIONS;
    limits.in_flight = IN_FLIGHT;
    limits.in_flight_bytes = 16 * 1024;
    limits.message_len = 2048;
    limits.cached_requests = 64;
    limits.cached_response_bytes = 8 * 1024;
    Host {
        address: address(n),
        endpoint: Endpoint::new(role, config),
        open: BTreeSet::new(),
        replies: Vec::new(),
        last_sequence: [0; 3],
    }
}

impl World {
    fn new() -> Self {
        let cp = Features::of_cp(CpFunctionFeatures::EPFAR);
        let up = Features::of_up(UpFunctionFeatures::FTUP | UpFunctionFeatures::EPFAR);
        Self {
            now: Instant(1_000_000_000),
            hosts: [host(1, Role::Cp, cp), host(2, Role::Up, up)],
            wire: VecDeque::new(),
            next_tag: 0,
            datagrams: 0,
            ticks: 0,
        }
    }

    fn step(&mut self, step: &Step<'_>) {
        match step.kind & 0x0f {
            kind @ 0..=7 => self.datagram(step, usize::from(kind)),
            8 => self.associate(CP, step),
            9 => self.associate(UP, step),
            10 => self.request(CP, step),
            11 => self.request(UP, step),
            12 => self.change(CP, step),
            13 => self.change(UP, step),
            14 => self.release(step),
            _ => {}
        }
    }

    /// Raw octets to the UP function (0 to 3) or the CP function (4 to 7), from the other one or
    /// from strangers.
    fn datagram(&mut self, step: &Step<'_>, kind: usize) {
        let to = if kind < 4 { UP } else { CP };
        let from = match kind % 4 {
            0 => self.hosts[1 - to].address,
            stranger => address(2 + stranger as u8),
        };
        let mut bytes = step.bytes.to_vec();
        if step.kind & flag::ANSWER != 0 {
            let at = if bytes.first().is_some_and(|f| f & 1 != 0) {
                12
            } else {
                4
            };
            if let Some(place) = bytes.get_mut(at..at + 3) {
                place.copy_from_slice(&self.hosts[to].last_sequence);
            }
        }
        for message in sluice_n4::messages(&bytes) {
            self.deliver(to, from, message);
        }
    }

    fn associate(&mut self, host: usize, step: &Step<'_>) {
        let to = match step.octet(0) & 7 {
            0..=3 => self.hosts[1 - host].address,
            stranger => address(stranger),
        };
        let retain = step.octet(0) & 8 != 0;
        let _ = self.call(host, |e, now, out| e.associate(now, to, retain, out));
    }

    /// A request of the layer above with any type and any octets.
    fn request(&mut self, host: usize, step: &Step<'_>) {
        const TYPES: [u8; 10] = [50, 52, 54, 56, 3, 12, 14, 16, 1, 5];
        let Some(association) = self.some_association(host, step) else {
            return;
        };
        let message_type = MessageType(TYPES[usize::from(step.octet(0)) % TYPES.len()]);
        self.next_tag += 1;
        let tag = self.next_tag;
        let request = Request {
            association,
            to: (step.octet(1) & 0x80 != 0).then_some(address(9)),
            tag,
            message_type,
            seid: message_type.is_session_related().then_some(Seid(tag)),
        };
        let body = step.bytes.get(2..).unwrap_or_default();
        let sent = self.call(host, |e, now, out| {
            e.request(now, request, out, |w| w.bytes(body))
        });
        if sent.is_ok() {
            self.hosts[host].open.insert(tag);
        }
    }

    fn change(&mut self, host: usize, step: &Step<'_>) {
        let Some(id) = self.some_association(host, step) else {
            return;
        };
        let change = match step.octet(0) % 5 {
            0 => Change::Features(self.hosts[host].endpoint.config().features),
            1 => Change::ReleasePreparation,
            2 => Change::ReleaseRequest {
                graceful_period_s: (step.octet(2) > 0).then_some(step.octet(2).into()),
            },
            3 => Change::UsageReportsSent,
            _ => Change::Ies(step.bytes.get(2..).unwrap_or_default()),
        };
        let _ = self.call(host, |e, now, out| e.update(now, id, change, out));
    }

    fn release(&mut self, step: &Step<'_>) {
        let host = usize::from(step.octet(0) & 1);
        let Some(id) = self.some_association(host, step) else {
            return;
        };
        let _ = match step.octet(0) & 2 {
            0 => self.call(host, |e, now, out| e.release(now, id, out)),
            _ => self.call(host, |e, _, _| e.forget(id)),
        };
    }

    /// The association that octet 1 of a step chooses.
    fn some_association(&self, host: usize, step: &Step<'_>) -> Option<AssociationId> {
        let all: Vec<_> = self.hosts[host]
            .endpoint
            .associations()
            .map(|(id, _)| id)
            .collect();
        all.get(usize::from(step.octet(1) & 0x7f) % all.len().max(1))
            .copied()
    }

    fn call<T>(
        &mut self,
        host: usize,
        call: impl FnOnce(&mut Endpoint, Instant, &mut Sent) -> T,
    ) -> T {
        let mut sent = Sent::default();
        let result = call(&mut self.hosts[host].endpoint, self.now, &mut sent);
        self.after(host, sent);
        result
    }

    /// One message reaches a host.
    fn deliver(&mut self, host: usize, from: SocketAddr, message: &[u8]) {
        let before = counted(&self.hosts[host].endpoint);
        let mut sent = Sent::default();
        let this = &mut self.hosts[host];
        match this.endpoint.handle(self.now, from, message, &mut sent) {
            Input::Nothing => {}
            Input::Response(response) => this.ended(response.tag),
            Input::Session(request) => this.replies.push(request.reply),
        }
        assert!(counted(&this.endpoint) > before, "what comes in is counted");
        self.after(host, sent);
    }

    /// Takes the events, looks at what was sent, and puts it on the wire.
    fn after(&mut self, host: usize, sent: Sent) {
        let this = &mut self.hosts[host];
        while let Some(event) = this.endpoint.next_event() {
            this.event(&event);
        }
        assert!(this.endpoint.in_flight() <= IN_FLIGHT);
        assert!(this.endpoint.associations().count() <= ASSOCIATIONS);
        for (to, bytes) in sent.0 {
            this.check_sent(&bytes);
            self.datagrams += 1;
            assert!(
                self.datagrams < DATAGRAMS,
                "the endpoints do not stop to talk"
            );
            self.wire.push_back((this.address, to, bytes));
        }
    }

    /// Delivers until nothing is under way, answers what waits for an answer.
    fn settle(&mut self, kind: u8) {
        loop {
            while let Some((from, to, bytes)) = self.wire.pop_front() {
                let receiver = self.hosts.iter().position(|host| host.address == to);
                if let Some(host) = receiver.filter(|_| kind & flag::LOSE == 0) {
                    self.deliver(host, from, &bytes);
                    if kind & flag::TWICE != 0 {
                        self.deliver(host, from, &bytes);
                    }
                }
            }
            if kind & flag::THINK != 0 || !self.answer() {
                return;
            }
        }
    }

    /// Answers every request that waits; false if none did.
    fn answer(&mut self) -> bool {
        let mut any = false;
        for host in [CP, UP] {
            for reply in core::mem::take(&mut self.hosts[host].replies) {
                any = true;
                let seid = reply.request_seid();
                self.call(host, |e, now, out| {
                    e.reply(now, reply, seid, out, rejection)
                })
                .expect("the response is short");
            }
        }
        any
    }

    /// Time passes; every timer runs when it is due.
    fn pass(&mut self, ns: u64) {
        let end = self.now.plus_ns(ns);
        while let Some(next) = self.next_deadline().filter(|next| *next <= end) {
            self.now = self.now.max(next);
            self.tick();
            self.settle(0);
        }
        self.now = end;
        self.tick();
    }

    fn next_deadline(&self) -> Option<Instant> {
        let deadlines = self.hosts.iter().filter_map(|h| h.endpoint.next_deadline());
        deadlines.min()
    }

    fn tick(&mut self) {
        for host in [CP, UP] {
            self.ticks += 1;
            assert!(self.ticks < TICKS, "the timers do not come to rest");
            self.call(host, |e, now, out| e.tick(now, out));
            let next = self.hosts[host].endpoint.next_deadline();
            assert!(
                next.is_none_or(|next| next > self.now),
                "what was due is done"
            );
        }
    }

    /// Without a network every request ends, once, within N1 + 1 times T1.
    fn close(mut self) {
        for _ in 0..5 {
            self.wire.clear();
            self.now = self.now.plus_ms(1000);
            self.tick();
        }
        for host in &self.hosts {
            assert!(host.open.is_empty(), "requests {:?} never ended", host.open);
        }
    }
}

impl Host {
    fn event(&mut self, event: &Event) {
        if let Event::RequestFailed { tag, .. } = event {
            self.ended(*tag);
        }
    }

    fn ended(&mut self, tag: u64) {
        assert!(
            self.open.remove(&tag),
            "request {tag} ended twice or was never sent"
        );
    }

    /// What we send is what we would read; bodies of the layer above are its own affair.
    fn check_sent(&mut self, bytes: &[u8]) {
        let (header, body) = Header::parse(bytes).expect("a message of ours");
        let is_node = matches!(header.message_type.0, 1 | 2 | 5..=11);
        if is_node && !matches!(header.message_type.0, 7) || header.message_type.is_response() {
            let understood = is_understood(header.message_type, body);
            assert_eq!(understood, Ok(()), "{:?}", header.message_type);
        }
        if header.message_type.is_request() {
            let [_, s0, s1, s2] = header.sequence.get().to_be_bytes();
            self.last_sequence = [s0, s1, s2];
        }
    }
}

/// Everything that the endpoint counts, but what it only mirrors.
fn counted(endpoint: &Endpoint) -> u64 {
    let counters = endpoint.counters();
    let all: u64 = counters.iter().map(|(_, n)| n).sum();
    all - counters.get(Counter::CacheEvictedRequests) - counters.get(Counter::CacheEvictedResponses)
}

/// Node ID and Cause 64: what every response may have.
fn rejection(w: &mut Writer<'_>) -> Result<(), Full> {
    w.ie(IeType::NODE_ID, |w| w.bytes(&[0, 10, 0, 0, 9]))?;
    w.ie(IeType::CAUSE, |w| w.u8(Cause::REQUEST_REJECTED.0))
}
