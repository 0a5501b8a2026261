//! Requests received before, and the responses that were given (TS 29.244, 6.4): one partition of
//! [`RecentRequests`](super::RecentRequests).
//!
//! A request is the same as an earlier one if its source address and port, its sequence number
//! and its fingerprint are: a sequence number that comes again with other contents is a new
//! request, as a restarted peer may begin again anywhere.

use sluice_mem::prefetch;

use super::byte_ring::{ByteRing, Position};
use super::seen_requests::{self, SeenRequests};
use crate::time::Instant;

/// How much of the past is remembered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InboundLimits {
    /// Requests remembered.
    pub requests: usize,
    /// Memory for responses, in octets, 12 more for each than its length.
    pub response_bytes: usize,
    /// How long a request can come again, in milliseconds: T1 x (N1 + 1) of the peer.
    pub window_ms: u64,
    /// Key of the fingerprints.
    pub hash_seed: u64,
}

/// A request that is being worked on; [`Inbound::answered`] ends it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ticket(u64);

/// Admission of a received request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Admission<'a, T = Ticket> {
    /// Not seen before.
    New(T),
    /// Came again while the first one is being worked on: drop it.
    InProgress,
    /// Came again after the response: send that again.
    Answered(&'a [u8]),
    /// Came again, but the response had to give way to newer ones: drop it, for to apply it
    /// twice would be worse.
    ResponseGone,
}

/// The requests of the recent past. All memory is reserved in [`Inbound::new`].
#[derive(Debug)]
pub struct Inbound {
    limits: InboundLimits,
    /// Entry `n` lies at `(n - 1) & (capacity - 1)`; numbers begin with 1 and never repeat. It
    /// grows up to its capacity as requests come, so that memory is touched when it is needed.
    entries: Vec<Entry>,
    capacity: usize,
    next: u64,
    /// Their numbers by key. Those that left their bucket follow one another by [`Entry::older`],
    /// until one that has been overwritten.
    recent: SeenRequests,
    responses: ByteRing,
    evicted_requests: u64,
    evicted_responses: u64,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    /// Of source and sequence number.
    key: u64,
    fingerprint: u64,
    arrived: Instant,
    /// The one that left the bucket of recent numbers before this one did.
    older: u64,
    state: RequestState,
}

/// Distance in entries at which the oldest, which are evicted next, are prefetched.
const AHEAD: u64 = 16;

/// Octets that an entry and its share of the table of numbers take.
pub const REQUEST_BYTES: usize = size_of::<Entry>() + seen_requests::BYTES_EACH;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum RequestState {
    InProgress,
    Answered(Position),
    /// The response was too long to keep.
    NotKept,
}

impl Inbound {
    /// Takes all memory; `requests` is rounded up to a power of two.
    pub fn new(limits: InboundLimits) -> Self {
        let requests = limits.requests.max(1).next_power_of_two();
        Self {
            entries: Vec::with_capacity(requests),
            capacity: requests,
            next: 1,
            recent: SeenRequests::new(requests),
            responses: ByteRing::new(limits.response_bytes),
            evicted_requests: 0,
            evicted_responses: 0,
            limits,
        }
    }

    /// A request will be [admitted](Self::admit) soon: asks the caches for where it is looked up.
    pub fn prefetch_message(&self, key: u64) {
        self.recent.prefetch(key);
    }

    /// Tells whether the request of this key and fingerprint is new, and remembers it if so.
    #[inline]
    pub fn admit(&mut self, now: Instant, key: u64, fingerprint: u64) -> Admission<'_> {
        match self.find(now, key, fingerprint).map(|entry| entry.state) {
            None => Admission::New(self.remember(now, key, fingerprint)),
            Some(RequestState::InProgress) => Admission::InProgress,
            Some(RequestState::NotKept) => Admission::ResponseGone,
            Some(RequestState::Answered(position)) => match self.responses.get(position) {
                Some(response) => Admission::Answered(response),
                None => Admission::ResponseGone,
            },
        }
    }

    /// Keeps the response to a request, to send it again when the request comes again.
    pub fn answered(&mut self, now: Instant, ticket: Ticket, response: &[u8]) {
        let window_ns = self.window_ns();
        if self.live(ticket.0).is_none() {
            return;
        }
        let evicted = &mut self.evicted_responses;
        let position = self.responses.push(now, response, |stored| {
            *evicted += u64::from(now.ns_since(stored) < window_ns);
        });
        let index = self.index(ticket.0);
        if let Some(entry) = self.entries.get_mut(index) {
            entry.state = position.map_or(RequestState::NotKept, RequestState::Answered);
        }
    }

    /// Requests forgotten before their time because [`InboundLimits::requests`] was too low.
    pub fn evicted_requests(&self) -> u64 {
        self.evicted_requests
    }

    /// Responses forgotten before their time because [`InboundLimits::response_bytes`] was too
    /// low.
    pub fn evicted_responses(&self) -> u64 {
        self.evicted_responses
    }

    /// Requests that were ever new.
    #[cfg(test)]
    pub fn requests_ever(&self) -> u64 {
        self.next - 1
    }

    /// Octets of memory that have been used so far.
    pub fn touched_bytes(&self) -> usize {
        size_of_val(&self.entries[..]) + self.recent.bytes() + self.responses.touched_bytes()
    }

    fn find(&self, now: Instant, key: u64, fingerprint: u64) -> Option<&Entry> {
        let in_time = |entry: &Entry| now.ns_since(entry.arrived) < self.window_ns();
        let same = |entry: &Entry| entry.key == key && entry.fingerprint == fingerprint;
        let mut recent = self.recent.of(key).filter_map(|number| self.live(number));
        if let Some(entry) = recent.find(|entry| same(entry) && in_time(entry)) {
            return Some(entry);
        }
        // Numbers fall along the chain, so the first dead one ends it.
        let mut older = self.recent.left(key);
        while let Some(entry) = self.live(older).filter(|entry| in_time(entry)) {
            if same(entry) {
                return Some(entry);
            }
            older = entry.older;
        }
        None
    }

    fn remember(&mut self, now: Instant, key: u64, fingerprint: u64) -> Ticket {
        let number = self.next;
        self.next += 1;
        let entry = Entry {
            key,
            fingerprint,
            arrived: now,
            older: 0,
            state: RequestState::InProgress,
        };
        let (index, window_ns) = (self.index(number), self.window_ns());
        match self.entries.get_mut(index) {
            Some(oldest) => {
                let early = now.ns_since(oldest.arrived) < window_ns;
                self.evicted_requests += u64::from(early);
                *oldest = entry;
            }
            None => self.entries.push(entry),
        }
        // Its place was last used long ago, and will be for each of those that come now.
        prefetch::write_index(&self.entries, self.index(number + AHEAD));
        let (next, capacity) = (self.next, self.capacity as u64);
        let is_live = |number| is_live(number, next, capacity);
        if let Some((left, older)) = self.recent.add(key, number, is_live) {
            let index = self.index(left);
            if let Some(entry) = self.entries.get_mut(index) {
                entry.older = older;
            }
        }
        Ticket(number)
    }

    fn live(&self, number: u64) -> Option<&Entry> {
        let live = is_live(number, self.next, self.capacity as u64);
        live.then(|| self.entries.get(self.index(number)))?
    }

    fn index(&self, number: u64) -> usize {
        (number as usize).wrapping_sub(1) & (self.capacity - 1)
    }

    fn window_ns(&self) -> u64 {
        self.limits.window_ms.saturating_mul(1_000_000)
    }
}

/// True if the entry of this number has not been overwritten.
fn is_live(number: u64, next: u64, capacity: u64) -> bool {
    number != 0 && number + capacity >= next
}

#[cfg(test)]
mod tests;
