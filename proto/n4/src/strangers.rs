//! Strangers: addresses that sent to N4 and may not, kept for the operator in memory that never grows.

use std::collections::VecDeque;
use std::net::SocketAddr;

use sluice_wire::pfcp::{Header, MessageType};

use crate::time::Instant;

/// Strangers that are kept, and that can be told of within [`TOLD_AGAIN_S`]: forged sources fill neither memory nor log.
pub const STRANGERS: usize = 256;
/// When an address that goes on is told of again.
pub const TOLD_AGAIN_S: u64 = 60;

/// An address that is none of the allowed peers, over a minute.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stranger {
    /// Of all that were told of since the start, the first is 1.
    pub number: u64,
    /// When its first message of this minute came.
    pub at: Instant,
    /// Sender of the datagram.
    pub peer: SocketAddr,
    /// Message type, if it was PFCP.
    pub request: Option<MessageType>,
    /// Messages from its address in this minute, from any port.
    pub messages: u64,
}

/// The newest strangers in the order of their numbers.
#[derive(Debug)]
pub struct Strangers {
    newest: VecDeque<Stranger>,
    total: u64,
}

impl Strangers {
    pub(crate) fn new() -> Self {
        Self {
            newest: VecDeque::with_capacity(STRANGERS),
            total: 0,
        }
    }

    /// All that were told of since the start; also the number of the newest.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Kept entries, oldest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Stranger> {
        self.newest.iter()
    }

    /// Kept entries with a number above `number`, oldest first.
    pub fn since(&self, number: u64) -> impl Iterator<Item = &Stranger> {
        self.newest.iter().filter(move |one| one.number > number)
    }

    /// One more message of a stranger.
    #[cold]
    pub(crate) fn note(&mut self, now: Instant, peer: SocketAddr, message: &[u8]) {
        let is_recent = |one: &&mut Stranger| now.ns_since(one.at) < TOLD_AGAIN_S * 1_000_000_000;
        let mut recent = self.newest.iter_mut().rev().take_while(is_recent);
        if let Some(known) = recent.find(|one| one.peer.ip() == peer.ip()) {
            known.messages += 1;
            return;
        }
        if self.newest.len() == STRANGERS {
            let oldest = self.newest.front_mut();
            if oldest.is_some_and(|oldest| is_recent(&oldest)) {
                return;
            }
            self.newest.pop_front();
        }
        self.total += 1;
        let header = Header::parse(message).ok();
        self.newest.push_back(Stranger {
            number: self.total,
            at: now,
            peer,
            request: header.map(|(header, _)| header.message_type),
            messages: 1,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEARTBEAT: [u8; 16] = [0x20, 1, 0, 12, 0, 0, 1, 0, 0, 96, 0, 4, 0xe0, 0, 0, 1];

    fn peer(n: u32, port: u16) -> SocketAddr {
        SocketAddr::from((n.to_be_bytes(), port))
    }

    fn at(s: u64) -> Instant {
        Instant((1_000 + s) * 1_000_000_000)
    }

    #[test]
    fn an_address_is_told_of_once_in_a_minute_and_its_messages_are_counted() {
        let mut strangers = Strangers::new();
        for (s, port) in [(0, 8805), (1, 9000), (59, 8805), (60, 8805)] {
            strangers.note(at(s), peer(7, port), &HEARTBEAT);
        }
        strangers.note(at(60), peer(8, 8805), b"no PFCP");
        let told: Vec<_> = strangers
            .iter()
            .map(|one| (one.number, one.peer, one.messages))
            .collect();
        assert_eq!(
            told,
            [
                (1, peer(7, 8805), 3),
                (2, peer(7, 8805), 1),
                (3, peer(8, 8805), 1)
            ]
        );
        let names: Vec<_> = strangers.iter().map(|one| one.request).collect();
        assert_eq!(
            names,
            [
                Some(MessageType::HEARTBEAT_REQUEST),
                Some(MessageType::HEARTBEAT_REQUEST),
                None
            ]
        );
        assert_eq!(strangers.since(2).count(), 1);
    }

    #[test]
    fn forged_addresses_take_bounded_memory_and_a_bounded_number_of_lines() {
        let mut strangers = Strangers::new();
        for n in 0..10_000 {
            strangers.note(at(0), peer(n, 8805), &HEARTBEAT);
        }
        assert_eq!(
            (strangers.total(), strangers.iter().count()),
            (STRANGERS as u64, STRANGERS)
        );
        strangers.note(at(60), peer(20_000, 8805), &HEARTBEAT);
        assert_eq!(
            (strangers.total(), strangers.iter().count()),
            (STRANGERS as u64 + 1, STRANGERS)
        );
    }
}
