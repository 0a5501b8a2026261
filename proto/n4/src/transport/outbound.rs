//! Requests in flight: numbered, kept, retransmitted, and given up (TS 29.244, 6.4).

use std::net::SocketAddr;

use sluice_wire::pfcp::{MessageType, SequenceNumber};

use super::Outbox;
use super::blocks::{Blocks, Chain};
use crate::time::Instant;

const NONE: u32 = u32::MAX;

/// How requests are retransmitted and how many may be in flight.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutboundLimits {
    /// Timer T1: how long to wait for a response before sending again, in milliseconds.
    pub t1_ms: u32,
    /// Counter N1: how often a request is sent again before it is given up.
    pub n1: u8,
    /// Requests without response at one time.
    pub in_flight: u32,
    /// Memory for the requests in flight, in octets.
    pub in_flight_bytes: usize,
    /// Length of the longest message, in octets.
    pub message_len: usize,
    /// The first sequence number; see [`crate::Config::first_sequence`].
    pub first_sequence: SequenceNumber,
}

/// Why a request was not taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// As many requests as allowed are waiting for their responses.
    TooManyInFlight,
    /// The memory for requests in flight is used up.
    NoMemory,
}

/// Request that a response belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Answer<P> {
    /// The request with this purpose is answered and forgotten.
    To(P),
    /// No request in flight has this peer, sequence number and type.
    Unmatched,
}

/// Result of a passed deadline.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Expiry<P> {
    /// Sent again.
    Retransmitted(MessageType),
    /// Sent N1 times more without response, and forgotten.
    GivenUp(MessageType, P),
}

/// Requests in flight, each with the purpose `P` that the sender gave it.
///
/// The low bits of the sequence number name the slot, so a response finds its request without
/// a search. One counter serves all peers: the TS wants numbers that are unique among the
/// outstanding requests of the local endpoint, and a peer that is forgotten and found again
/// then never sees a number twice in a row.
#[derive(Debug)]
pub struct Outbound<P> {
    limits: OutboundLimits,
    slots: Box<[Slot<P>]>,
    blocks: Blocks,
    scratch: Box<[u8]>,
    next_sequence: SequenceNumber,
    in_flight: u32,
    /// The slots in use form a list in the order of their deadlines.
    earliest: u32,
    latest: u32,
}

#[derive(Debug)]
struct Slot<P> {
    request: Option<Request<P>>,
    before: u32,
    after: u32,
}

#[derive(Debug)]
struct Request<P> {
    purpose: P,
    peer: SocketAddr,
    sequence: SequenceNumber,
    message_type: MessageType,
    deadline: Instant,
    retries_left: u8,
    message: Chain,
}

impl<P: Copy> Outbound<P> {
    /// All memory is taken here.
    pub fn new(limits: OutboundLimits) -> Self {
        let in_flight = limits.in_flight.clamp(1, 1 << 22);
        // Twice the slots, so that a free one is soon found though old requests linger.
        let slots = (in_flight * 2).next_power_of_two();
        let empty = || Slot {
            request: None,
            before: NONE,
            after: NONE,
        };
        Self {
            slots: (0..slots).map(|_| empty()).collect(),
            blocks: Blocks::new(limits.in_flight_bytes),
            scratch: vec![0; limits.message_len].into_boxed_slice(),
            next_sequence: limits.first_sequence,
            in_flight: 0,
            earliest: NONE,
            latest: NONE,
            limits: OutboundLimits {
                in_flight,
                ..limits
            },
        }
    }

    /// Requests without response now.
    pub fn in_flight(&self) -> u32 {
        self.in_flight
    }

    /// The number that the next request carries; [`Outbound::keep`] uses it up.
    pub fn reserve(&mut self) -> Result<SequenceNumber, Refusal> {
        if self.in_flight >= self.limits.in_flight {
            return Err(Refusal::TooManyInFlight);
        }
        while self
            .slot(self.next_sequence)
            .is_none_or(|slot| slot.request.is_some())
        {
            self.next_sequence = self.next_sequence.next();
        }
        Ok(self.next_sequence)
    }

    /// Keeps a request that was written with the reserved number and is now being sent.
    pub fn keep(
        &mut self,
        now: Instant,
        peer: SocketAddr,
        message_type: MessageType,
        purpose: P,
        message: &[u8],
    ) -> Result<(), Refusal> {
        self.keep_once(now, peer, message_type, purpose, message)?;
        let slot = self.slots.get_mut(self.latest as usize);
        if let Some(request) = slot.and_then(|slot| slot.request.as_mut()) {
            request.retries_left = self.limits.n1;
        }
        Ok(())
    }

    /// The same for a request that is not sent again: it is given up after T1.
    pub fn keep_once(
        &mut self,
        now: Instant,
        peer: SocketAddr,
        message_type: MessageType,
        purpose: P,
        message: &[u8],
    ) -> Result<(), Refusal> {
        let sequence = self.reserve()?;
        if message.len() > self.scratch.len() {
            return Err(Refusal::NoMemory);
        }
        let message = self.blocks.store(message).ok_or(Refusal::NoMemory)?;
        let deadline = now.plus_ms(self.limits.t1_ms.into());
        let index = self.index(sequence);
        if let Some(slot) = self.slots.get_mut(index as usize) {
            slot.request = Some(Request {
                purpose,
                peer,
                sequence,
                message_type,
                deadline,
                retries_left: 0,
                message,
            });
        }
        self.link_latest(index);
        self.in_flight += 1;
        self.next_sequence = sequence.next();
        Ok(())
    }

    /// Matches a response by peer, sequence number and type, and forgets its request.
    ///
    /// A Version Not Supported Response answers a request of any type (TS 29.244, 7.6.2).
    pub fn answer(
        &mut self,
        peer: SocketAddr,
        sequence: SequenceNumber,
        response: MessageType,
    ) -> Answer<P> {
        let any = response == MessageType::VERSION_NOT_SUPPORTED_RESPONSE;
        let request = self.slot(sequence).and_then(|slot| slot.request.as_ref());
        let matches = request.is_some_and(|request| {
            request.sequence == sequence
                && request.peer == peer
                && (any || request.message_type.response() == Some(response))
        });
        match matches.then(|| self.forget(self.index(sequence))).flatten() {
            Some((_, purpose)) => Answer::To(purpose),
            None => Answer::Unmatched,
        }
    }

    /// Deals with one passed deadline; call until `None`.
    pub fn expire(&mut self, now: Instant, out: &mut impl Outbox) -> Option<Expiry<P>> {
        let index = self.earliest;
        let slot = self.slots.get_mut(index as usize)?;
        let request = slot
            .request
            .as_mut()
            .filter(|request| request.deadline <= now)?;
        if request.retries_left == 0 {
            return self
                .forget(index)
                .map(|(what, purpose)| Expiry::GivenUp(what, purpose));
        }
        request.retries_left -= 1;
        request.deadline = now.plus_ms(self.limits.t1_ms.into());
        if let Some(message) = self.blocks.load(&request.message, &mut self.scratch) {
            out.send(request.peer, message);
        }
        let message_type = request.message_type;
        self.unlink(index);
        self.link_latest(index);
        Some(Expiry::Retransmitted(message_type))
    }

    /// Forgets all requests whose purpose `which` picks and tells each to `forgotten`.
    ///
    /// Walks all slots: for rare events such as the end of an association.
    pub fn cancel(&mut self, which: impl Fn(&P) -> bool, mut forgotten: impl FnMut(P)) {
        for index in 0..self.slots.len() as u32 {
            let slot = self.slots.get(index as usize);
            let request = slot.and_then(|slot| slot.request.as_ref());
            if request.is_some_and(|request| which(&request.purpose))
                && let Some((_, purpose)) = self.forget(index)
            {
                forgotten(purpose);
            }
        }
    }

    /// When [`Outbound::expire`] has something to do.
    pub fn next_deadline(&self) -> Option<Instant> {
        let slot = self.slots.get(self.earliest as usize)?;
        Some(slot.request.as_ref()?.deadline)
    }

    fn forget(&mut self, index: u32) -> Option<(MessageType, P)> {
        let request = self.slots.get_mut(index as usize)?.request.take()?;
        self.unlink(index);
        self.blocks.free(request.message);
        self.in_flight -= 1;
        Some((request.message_type, request.purpose))
    }

    fn index(&self, sequence: SequenceNumber) -> u32 {
        sequence.get() & (self.slots.len() as u32 - 1)
    }

    fn slot(&self, sequence: SequenceNumber) -> Option<&Slot<P>> {
        self.slots.get(self.index(sequence) as usize)
    }

    fn link_latest(&mut self, index: u32) {
        let before = self.latest;
        if let Some(slot) = self.slots.get_mut(index as usize) {
            (slot.before, slot.after) = (before, NONE);
        }
        match self.slots.get_mut(before as usize) {
            Some(slot) => slot.after = index,
            None => self.earliest = index,
        }
        self.latest = index;
    }

    fn unlink(&mut self, index: u32) {
        let Some(slot) = self.slots.get(index as usize) else {
            return;
        };
        let (before, after) = (slot.before, slot.after);
        match self.slots.get_mut(before as usize) {
            Some(slot) => slot.after = after,
            None => self.earliest = after,
        }
        match self.slots.get_mut(after as usize) {
            Some(slot) => slot.before = before,
            None => self.latest = before,
        }
    }
}

#[cfg(test)]
mod tests;
