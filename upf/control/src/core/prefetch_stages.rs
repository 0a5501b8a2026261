//! Prefetch pipeline for received N4 datagrams.
//!
//! A datagram passes through stages, each of which asks for what the one before has brought in: its
//! octets, the session that it names, that session's rules, and what those lead to. Datagrams that
//! came together follow each other at a distance, so that the waits of those behind pass while those
//! in front are dealt with.

use super::MESSAGES;
use arrayvec::ArrayVec;
use core::net::SocketAddr;
use sluice_mem::prefetch;
use sluice_session::{UpFunction, Upcoming};

/// Datagrams between one stage and the next: long enough for a wait for memory.
const APART: usize = 4;

/// From the first stage to the moment when a datagram is dealt with.
pub const AHEAD: usize = 4 * APART;

/// Datagrams on their way through the stages, at most [`MESSAGES`] of them.
pub struct PrefetchStages<'a, 'b> {
    datagrams: &'a [(SocketAddr, &'b [u8])],
    /// By datagram, of those whose header was read.
    upcoming: ArrayVec<Option<Upcoming>, MESSAGES>,
}

impl<'a, 'b> PrefetchStages<'a, 'b> {
    /// Of datagrams that are dealt with in this order.
    pub fn of(datagrams: &'a [(SocketAddr, &'b [u8])]) -> Self {
        Self {
            datagrams,
            upcoming: ArrayVec::new(),
        }
    }

    /// One step: each datagram goes on by one place, and one that was [`AHEAD`] steps behind is to
    /// be dealt with.
    pub fn step(&mut self, step: usize, up: &UpFunction) {
        // Whoever brought them wrote them on another core.
        if let Some((_, bytes)) = self.datagrams.get(step) {
            prefetch::read_all_bytes(bytes);
        }
        let before = |stages: usize| step.checked_sub(stages * APART);
        if let Some((peer, bytes)) = before(1).and_then(|at| self.datagrams.get(at)) {
            // Those in front of it have not taken theirs yet.
            up.prefetch_transaction(AHEAD.min(step) - APART);
            // There is room for each of them.
            let _ = self.upcoming.try_push(up.prefetch_message(*peer, bytes));
        }
        let known = |at: Option<usize>| self.upcoming.get(at?)?.as_ref();
        if let Some(upcoming) = known(before(2)) {
            up.prefetch_session_rules(upcoming);
        }
        if let Some(upcoming) = known(before(3)) {
            up.prefetch_resources(upcoming);
        }
    }
}
