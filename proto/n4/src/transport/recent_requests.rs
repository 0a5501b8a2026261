//! Recent requests of all peers, in partitions by their key.
//!
//! The key is a hash of the peer's address and port and the sequence number. Some of its bits tell the
//! partition, which has entries, table and memory for responses of its own: what is done with one request
//! reads and writes one partition alone, so that several threads may have one each. Keys are spread evenly,
//! so the partitions fill alike and together remember as much as one table of their size.

use std::net::SocketAddr;

use super::inbound::{Admission, Inbound, InboundLimits, Ticket};
use crate::fingerprint;
use crate::time::Instant;

/// Partitions.
const PARTITIONS: usize = 16;
/// A partition for fewer requests than that would be full while others have room; then there is one.
const REQUESTS_MIN: usize = 256;
/// The same for octets of responses.
const RESPONSE_BYTES_MIN: usize = 64 * 1024;
/// Position of the partition's bits in the key: below those that a bucket keeps, above those that select the bucket.
const KEY_SHIFT: u32 = 40;

/// All of them. Memory is reserved in [`RecentRequests::new`].
#[derive(Debug)]
pub struct RecentRequests {
    /// A power of two.
    pub(super) parts: Box<[Inbound]>,
    hash_seed: u64,
}

/// A request that is being worked on: its partition, and its ticket there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RequestTicket {
    part: u8,
    ticket: Ticket,
}

/// Admission of a received request.
pub type RequestAdmission<'a> = Admission<'a, RequestTicket>;

impl RecentRequests {
    /// Takes all memory; `requests` is rounded up to a power of two.
    pub fn new(limits: InboundLimits) -> Self {
        let requests = limits.requests.max(1).next_power_of_two();
        let is_large = requests >= PARTITIONS * REQUESTS_MIN
            && limits.response_bytes >= PARTITIONS * RESPONSE_BYTES_MIN;
        let count = if is_large { PARTITIONS } else { 1 };
        let hash_seed = limits.hash_seed;
        let each = InboundLimits {
            requests: requests / count,
            response_bytes: limits.response_bytes.div_ceil(count),
            ..limits
        };
        Self {
            parts: (0..count).map(|_| Inbound::new(each.clone())).collect(),
            hash_seed,
        }
    }

    /// Key of the fingerprints.
    pub fn hash_seed(&self) -> u64 {
        self.hash_seed
    }

    fn key(&self, peer: SocketAddr, sequence: u32) -> u64 {
        fingerprint::of_transaction(self.hash_seed, peer, sequence)
    }

    fn part_of(&self, key: u64) -> usize {
        (key >> KEY_SHIFT) as usize & (self.parts.len() - 1)
    }

    /// A request will be [admitted](Self::admit) soon: asks the caches for where it is looked up.
    pub fn prefetch_message(&self, peer: SocketAddr, sequence: u32) {
        let key = self.key(peer, sequence);
        if let Some(part) = self.parts.get(self.part_of(key)) {
            part.prefetch_message(key);
        }
    }

    /// Tells whether the request of this fingerprint from `peer` is new, and remembers it if so.
    pub fn admit(
        &mut self,
        now: Instant,
        peer: SocketAddr,
        sequence: u32,
        fingerprint: u64,
    ) -> RequestAdmission<'_> {
        let key = self.key(peer, sequence);
        let at = self.part_of(key);
        let Some(part) = self.parts.get_mut(at) else {
            // There is one for each of the key's bits.
            return Admission::ResponseGone;
        };
        match part.admit(now, key, fingerprint) {
            Admission::New(ticket) => Admission::New(RequestTicket {
                part: at as u8,
                ticket,
            }),
            Admission::InProgress => Admission::InProgress,
            Admission::Answered(response) => Admission::Answered(response),
            Admission::ResponseGone => Admission::ResponseGone,
        }
    }

    /// Keeps the response to a request, to send it again when the request comes again.
    pub fn answered(&mut self, now: Instant, ticket: RequestTicket, response: &[u8]) {
        if let Some(part) = self.parts.get_mut(usize::from(ticket.part)) {
            part.answered(now, ticket.ticket, response);
        }
    }

    /// Requests forgotten before their time because [`InboundLimits::requests`] was too low.
    pub fn evicted_requests(&self) -> u64 {
        self.parts.iter().map(Inbound::evicted_requests).sum()
    }

    /// Responses forgotten before their time because [`InboundLimits::response_bytes`] was too low.
    pub fn evicted_responses(&self) -> u64 {
        self.parts.iter().map(Inbound::evicted_responses).sum()
    }

    /// Octets of memory that have been used so far.
    pub fn touched_bytes(&self) -> usize {
        self.parts.iter().map(Inbound::touched_bytes).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Handling a request changes no other partition.
    #[test]
    fn a_request_touches_its_partition_alone() {
        let mut all = RecentRequests::new(InboundLimits {
            requests: PARTITIONS * REQUESTS_MIN,
            response_bytes: PARTITIONS * RESPONSE_BYTES_MIN,
            window_ms: 1_000,
            hash_seed: 5,
        });
        assert_eq!(all.parts.len(), PARTITIONS);
        let peer = SocketAddr::from(([10, 0, 0, 1], 8805));
        let numbers = |all: &RecentRequests| -> Vec<u64> {
            all.parts.iter().map(Inbound::requests_ever).collect()
        };
        for sequence in 0..1_000 {
            let mut expected = numbers(&all);
            let at = all.part_of(all.key(peer, sequence));
            let Admission::New(ticket) = all.admit(Instant(1), peer, sequence, 7) else {
                panic!("{sequence} was never there");
            };
            all.answered(Instant(2), ticket, &sequence.to_be_bytes());
            expected[at] += 1;
            assert_eq!(numbers(&all), expected);
            let again = all.admit(Instant(3), peer, sequence, 7);
            assert_eq!(again, Admission::Answered(&sequence.to_be_bytes()));
        }
        let least = numbers(&all).into_iter().min();
        assert!(least > Some(30), "{:?}", numbers(&all));
    }
}
