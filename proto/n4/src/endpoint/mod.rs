//! The PFCP endpoint of one CP or UP function.

mod error;
mod heartbeat;
mod receive;
mod release;
mod sender;
mod session_requests;
mod setup;
mod takeover;
mod timers;
mod update;

use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};

use sluice_wire::pfcp::Header;

pub use error::RequestError;
pub use session_requests::Request;
pub use takeover::PROBES;
pub use update::Change;

use sender::{MessageSender, Purpose};
use takeover::PendingTakeover;

use crate::association::{Association, AssociationId};
use crate::associations::Associations;
use crate::config::{Config, PeerPort, Role};
use crate::counters::{Counter, Counters};
use crate::event::{DownReason, Event, FailReason};
use crate::rate_limit::RateLimit;
use crate::refusals::Refusals;
use crate::strangers::Strangers;
use crate::time::Instant;
use crate::transport::Outbox;

/// One end of N4: all node related procedures, and the reliable delivery of session related
/// messages for the layer above.
///
/// The endpoint has no clock and no socket: the caller hands in datagrams and the time, and takes datagrams from its
/// own [`Outbox`]. After every call that takes an `Outbox`, take the events by [`Endpoint::next_event`] until there are
/// none.
#[derive(Debug)]
pub struct Endpoint {
    role: Role,
    config: Config,
    sender: MessageSender,
    associations: Associations,
    /// Set-ups that wait for the holder of their Node ID: one for each association at most.
    takeovers: Vec<PendingTakeover>,
    events: VecDeque<Event>,
    version_answers: RateLimit,
    /// Whether association setups are refused, as the endpoint is about to stop.
    refuses_setups: bool,
    strangers: Strangers,
    /// Not later than the first timer of any association or takeover.
    next_timer: Instant,
}

impl Endpoint {
    /// Takes all memory that the limits of `config` ask for.
    pub fn new(role: Role, config: Config) -> Self {
        let limits = &config.limits;
        // One input ends at most all requests in flight and touches a few associations.
        let events = limits.in_flight as usize + limits.associations * 2 + 16;
        Self {
            role,
            sender: MessageSender::new(&config),
            associations: Associations::new(limits.associations),
            takeovers: Vec::with_capacity(limits.associations),
            events: VecDeque::with_capacity(events),
            version_answers: RateLimit::new(limits.version_answers_per_s),
            refuses_setups: false,
            strangers: Strangers::new(),
            next_timer: Instant::NEVER,
            config,
        }
    }

    /// A message of this header will be [handled](Self::handle) soon: asks the caches for what it
    /// takes.
    pub fn prefetch_message(&self, peer: SocketAddr, header: &Header) {
        self.sender
            .inbound
            .prefetch_message(peer, header.sequence.get());
    }

    /// The association of the peer at this address, if one is known.
    pub fn association_at(&self, peer: SocketAddr) -> Option<AssociationId> {
        self.associations.look_up(peer)
    }

    /// The next event in order.
    pub fn next_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// Does what is due: retransmissions, heartbeats, further tries. Then take the events.
    pub fn tick(&mut self, now: Instant, out: &mut impl Outbox) {
        self.expire_requests(now, out);
        if self.next_timer <= now {
            self.run_timers(now, out);
        }
    }

    /// When [`Endpoint::tick`] has something to do; never too late, sometimes too early.
    pub fn next_deadline(&self) -> Option<Instant> {
        let request = self
            .sender
            .outbound
            .next_deadline()
            .unwrap_or(Instant::NEVER);
        let first = request.min(self.next_timer);
        (first < Instant::NEVER).then_some(first)
    }

    /// Which end of N4 this is.
    pub fn role(&self) -> Role {
        self.role
    }

    /// Configuration of the endpoint.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// An association, unless it has ended.
    pub fn association(&self, id: AssociationId) -> Option<&Association> {
        self.associations.get(id)
    }

    /// All associations.
    pub fn associations(&self) -> impl Iterator<Item = (AssociationId, &Association)> {
        self.associations.iter()
    }

    /// Tells a further address of a peer, that of a session's F-SEID, so that requests about its sessions may come
    /// from there. False if the peer has too many.
    pub fn add_address(&mut self, id: AssociationId, address: IpAddr) -> bool {
        self.borrow(id, SocketAddr::new(address, 0))
    }

    /// A snapshot of all counters.
    pub fn counters(&self) -> Counters {
        let mut counters = self.sender.counters.clone();
        let inbound = &self.sender.inbound;
        counters.set(Counter::CacheEvictedRequests, inbound.evicted_requests());
        counters.set(Counter::CacheEvictedResponses, inbound.evicted_responses());
        counters
    }

    /// Requests that were refused.
    pub fn refusals(&self) -> &Refusals {
        &self.sender.refusals
    }

    /// Addresses that sent something and are none of the allowed peers.
    pub fn strangers(&self) -> &Strangers {
        &self.strangers
    }

    /// Octets that requests received, and their responses, take so far, to be known when they come
    /// again; [`Limits::cache_bytes`](crate::Limits::cache_bytes) at the most.
    pub fn cache_bytes(&self) -> usize {
        self.sender.inbound.touched_bytes()
    }

    /// Own requests without response now.
    pub fn in_flight(&self) -> u32 {
        self.sender.outbound.in_flight()
    }

    fn event(&mut self, event: Event) {
        self.events.push_back(event);
    }

    fn count(&mut self, counter: Counter) {
        self.sender.counters.count(counter);
    }

    fn learn(&mut self, id: AssociationId, peer: SocketAddr) -> bool {
        let learned = self.associations.learn(id, peer);
        if !learned {
            self.count(Counter::AddressLimit);
        }
        learned
    }

    /// The same for an address that the peer tells without having associated from it: one that is
    /// another association's own stays with that.
    fn learn_told(&mut self, id: AssociationId, peer: SocketAddr) -> bool {
        if self.associations.has_address(id, peer) {
            return true;
        }
        let is_free = !self.is_held_by_another(id, peer);
        if !is_free {
            self.count(Counter::AddressOfAnother);
        }
        is_free && self.learn(id, peer)
    }

    /// The same for an address that no association message told: what comes from there does not
    /// [speak for the peer](Association::speaks_for_itself).
    fn borrow(&mut self, id: AssociationId, peer: SocketAddr) -> bool {
        let ip = peer.ip().to_canonical();
        let is_its = |a: &Association| a.addresses.iter().any(|known| known.ip() == ip);
        let was_known = self.associations.get(id).is_some_and(is_its);
        let is_known = self.learn_told(id, peer);
        if is_known && !was_known {
            // There are as many places as addresses.
            self.change(id, |association| _ = association.borrowed.try_push(ip));
        }
        is_known
    }

    /// Whether this is the address that another association was set up from; by its port too where
    /// functions share an address.
    fn is_held_by_another(&self, id: AssociationId, peer: SocketAddr) -> bool {
        let peer = match self.config.peer_port {
            PeerPort::Fixed(_) => SocketAddr::new(peer.ip(), 0),
            PeerPort::Source => peer,
        };
        self.associations.is_held_by_another(id, peer)
    }

    /// Changes an association and keeps the first timer known.
    fn change(&mut self, id: AssociationId, change: impl FnOnce(&mut Association)) {
        if let Some(association) = self.associations.get_mut(id) {
            change(association);
            self.next_timer = self.next_timer.min(association.next_timer());
        }
    }

    /// Forgets all requests to a peer, and tells the layer above about its own.
    fn cancel_requests(&mut self, id: AssociationId) {
        let events = &mut self.events;
        self.sender.outbound.cancel(
            |purpose| purpose.association() == id,
            |purpose| {
                if let Purpose::Upper { association, tag } = purpose {
                    let reason = FailReason::AssociationEnded;
                    events.push_back(Event::RequestFailed {
                        association,
                        tag,
                        reason,
                    });
                }
            },
        );
    }

    fn end_association(&mut self, id: AssociationId, reason: DownReason) {
        self.cancel_requests(id);
        if self.associations.remove(id).is_some() {
            self.event(Event::AssociationDown {
                association: id,
                reason,
            });
        }
    }
}
