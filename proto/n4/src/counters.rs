//! Named counters for everything that the endpoint receives, sends and refuses.

use arrayvec::ArrayVec;
use sluice_wire::pfcp::{Cause, MessageType};

macro_rules! counters {
    ($($(#[$doc:meta])* $variant:ident = $name:literal;)*) => {
        /// Counters besides those of messages by type.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum Counter { $($(#[$doc])* $variant,)* }

        const COUNTER_NAMES: [&str; [$($name),*].len()] = [$($name),*];
    };
}

counters! {
    /// Datagrams from peers that the allow-list does not name; dropped.
    NotAllowed = "not_allowed";
    /// Messages shorter than their header; dropped (TS 29.244, 7.6.3).
    MalformedShort = "malformed_short";
    /// Messages whose length field does not fit; dropped (TS 29.244, 7.6.3).
    MalformedLength = "malformed_length";
    /// Messages of another PFCP version (TS 29.244, 7.6.2).
    MalformedVersion = "malformed_version";
    /// Session messages without the SEID field; dropped (TS 29.244, 7.2.2.4.1).
    MalformedSeid = "malformed_seid";
    /// Node related requests with missing or wrong IEs; rejected (TS 29.244, 7.6.6 to 7.6.8).
    MalformedRequest = "malformed_request";
    /// Node related responses with missing or wrong IEs (TS 29.244, 7.6.1).
    MalformedResponse = "malformed_response";
    /// Messages of a type without a name in the TS; dropped (TS 29.244, 7.6.4).
    UnknownType = "unknown_type";
    /// Requests that this role does not serve; dropped (TS 29.244, 7.6.5).
    UnexpectedType = "unexpected_type";
    /// Responses without a request in flight; dropped.
    UnmatchedResponse = "unmatched_response";
    /// Requests that came again after the response, which was sent again.
    DuplicateAnswered = "duplicate_answered";
    /// Requests that came again while the first one was being worked on; dropped.
    DuplicateInProgress = "duplicate_in_progress";
    /// Requests that came again after the response had left the cache; dropped.
    DuplicateResponseGone = "duplicate_response_gone";
    /// Requests forgotten before their time: the cache has too few places.
    CacheEvictedRequests = "cache_evicted_requests";
    /// Responses forgotten before their time: the cache has too few octets.
    CacheEvictedResponses = "cache_evicted_responses";
    /// Requests sent again after T1.
    Retransmitted = "retransmitted";
    /// Requests given up after N1 retransmissions.
    TimedOut = "timed_out";
    /// Requests not sent because too many were in flight.
    RefusedInFlight = "refused_in_flight";
    /// Requests not sent because the memory for requests in flight was used up.
    RefusedMemory = "refused_memory";
    /// Messages not sent because they exceed the longest message.
    TooLong = "too_long";
    /// Requests rejected with "No established PFCP Association" (72).
    NoAssociation = "no_association";
    /// Association updates and releases rejected with "No established PFCP Association" (72): they came
    /// from another address than the one that associated the Node ID.
    NotTheHolder = "not_the_holder";
    /// Association set-ups accepted from another address, as the one before was silent for T1.
    TakenOver = "taken_over";
    /// Association set-ups rejected, as the Node ID's address still answers.
    TakeoverRefused = "takeover_refused";
    /// Association set-ups rejected while one from another address waited for the same Node ID.
    TakeoverContested = "takeover_contested";
    /// Association set-ups rejected with "No resources available" (75).
    AssociationLimit = "association_limit";
    /// Association set-ups that a peer rejected.
    SetupRejected = "setup_rejected";
    /// Session establishments whose Node ID has no association though their address has one.
    NodeIdMismatch = "node_id_mismatch";
    /// Addresses of a peer that found no place in its association.
    AddressLimit = "address_limit";
    /// Addresses told by a peer that are those of another association; not believed.
    AddressOfAnother = "address_of_another";
    /// Version Not Supported Responses withheld by the rate limit.
    VersionAnswersWithheld = "version_answers_withheld";
    /// Recovery Time Stamps older than the known one; ignored (TS 23.527, 4.2).
    RecoveryTimeStampOlder = "recovery_time_stamp_older";
    /// Times a peer was found restarted.
    PeerRestarted = "peer_restarted";
    /// Times a peer stopped answering heartbeats.
    PeerLost = "peer_lost";
}

macro_rules! message_names {
    ($($number:literal = $name:literal;)*) => {
        const MESSAGE_TYPES: [u8; [$($number),*].len()] = [$($number),*];
        const RECEIVED_NAMES: [&str; MESSAGE_TYPES.len()] = [$(concat!("received_", $name)),*];
        const SENT_NAMES: [&str; MESSAGE_TYPES.len()] = [$(concat!("sent_", $name)),*];
    };
}

message_names! {
    1 = "heartbeat_request";
    2 = "heartbeat_response";
    3 = "pfd_management_request";
    4 = "pfd_management_response";
    5 = "association_setup_request";
    6 = "association_setup_response";
    7 = "association_update_request";
    8 = "association_update_response";
    9 = "association_release_request";
    10 = "association_release_response";
    11 = "version_not_supported_response";
    12 = "node_report_request";
    13 = "node_report_response";
    14 = "session_set_deletion_request";
    15 = "session_set_deletion_response";
    16 = "session_set_modification_request";
    17 = "session_set_modification_response";
    50 = "session_establishment_request";
    51 = "session_establishment_response";
    52 = "session_modification_request";
    53 = "session_modification_response";
    54 = "session_deletion_request";
    55 = "session_deletion_response";
    56 = "session_report_request";
    57 = "session_report_response";
}

/// Pairs of a response's type and cause: six responses have one, and some ten causes are given.
const CAUSES_MAX: usize = 128;

/// The counters of one endpoint; they only grow.
#[derive(Clone, Debug)]
pub struct Counters {
    counters: [u64; COUNTER_NAMES.len()],
    received: [u64; MESSAGE_TYPES.len()],
    sent: [u64; MESSAGE_TYPES.len()],
    causes: ArrayVec<(MessageType, Cause, u64), CAUSES_MAX>,
}

impl Counters {
    pub(crate) const fn new() -> Self {
        Self {
            counters: [0; COUNTER_NAMES.len()],
            received: [0; MESSAGE_TYPES.len()],
            sent: [0; MESSAGE_TYPES.len()],
            causes: ArrayVec::new_const(),
        }
    }

    /// The value of one counter.
    pub fn get(&self, counter: Counter) -> u64 {
        self.counters.get(counter as usize).copied().unwrap_or(0)
    }

    /// Messages of this type that were received, duplicates included.
    pub fn received(&self, message_type: MessageType) -> u64 {
        slot(message_type)
            .and_then(|slot| self.received.get(slot))
            .copied()
            .unwrap_or(0)
    }

    /// Messages of this type that were sent, the responses sent again included; requests sent
    /// again only count as [`Counter::Retransmitted`].
    pub fn sent(&self, message_type: MessageType) -> u64 {
        slot(message_type)
            .and_then(|slot| self.sent.get(slot))
            .copied()
            .unwrap_or(0)
    }

    /// All counters with their names, in a fixed order.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let counters = COUNTER_NAMES
            .iter()
            .copied()
            .zip(self.counters.iter().copied());
        let received = RECEIVED_NAMES
            .iter()
            .copied()
            .zip(self.received.iter().copied());
        let sent = SENT_NAMES.iter().copied().zip(self.sent.iter().copied());
        counters.chain(received).chain(sent)
    }

    /// Responses sent by type and cause, those that occurred; repetitions are left out.
    pub fn causes(&self) -> impl Iterator<Item = (MessageType, Cause, u64)> {
        self.causes.iter().copied()
    }

    /// A response with a cause was made. The commonest came first, so it is found at once.
    pub(crate) fn count_cause(&mut self, message_type: MessageType, cause: Cause) {
        let mut counted = self.causes.iter_mut();
        match counted.find(|(t, c, _)| (*t, *c) == (message_type, cause)) {
            Some((.., n)) => *n += 1,
            // There are fewer pairs than places.
            None => drop(self.causes.try_push((message_type, cause, 1))),
        }
    }

    pub(crate) fn add(&mut self, counter: Counter, n: u64) {
        if let Some(value) = self.counters.get_mut(counter as usize) {
            *value += n;
        }
    }

    pub(crate) fn count(&mut self, counter: Counter) {
        self.add(counter, 1);
    }

    pub(crate) fn set(&mut self, counter: Counter, value: u64) {
        if let Some(place) = self.counters.get_mut(counter as usize) {
            *place = value;
        }
    }

    pub(crate) fn count_received(&mut self, message_type: MessageType) {
        match slot(message_type).and_then(|slot| self.received.get_mut(slot)) {
            Some(value) => *value += 1,
            None => self.count(Counter::UnknownType),
        }
    }

    pub(crate) fn count_sent(&mut self, message_type: MessageType) {
        if let Some(value) = slot(message_type).and_then(|slot| self.sent.get_mut(slot)) {
            *value += 1;
        }
    }
}

/// Types 1 to 17 come first in the tables, then 50 to 57.
fn slot(message_type: MessageType) -> Option<usize> {
    match message_type.0 {
        node @ 1..=17 => Some(usize::from(node) - 1),
        session @ 50..=57 => Some(usize::from(session) - 50 + 17),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_named_type_has_its_own_place() {
        for (place, number) in MESSAGE_TYPES.into_iter().enumerate() {
            assert_eq!(slot(MessageType(number)), Some(place));
            assert!(MessageType(number).name().is_some());
        }
        let named = (0..=255)
            .filter(|n| MessageType(*n).name().is_some())
            .count();
        assert_eq!(named, MESSAGE_TYPES.len());
    }

    #[test]
    fn a_snapshot_names_every_counter_once() {
        let mut counters = Counters::new();
        counters.count(Counter::PeerLost);
        counters.count_received(MessageType::SESSION_REPORT_RESPONSE);
        counters.count_received(MessageType(200));
        let mut all: Vec<_> = counters.iter().collect();
        assert!(all.contains(&("peer_lost", 1)));
        assert!(all.contains(&("received_session_report_response", 1)));
        assert!(all.contains(&("unknown_type", 1)));
        assert_eq!(all.iter().map(|(_, value)| value).sum::<u64>(), 3);
        let count = all.len();
        all.sort_unstable();
        all.dedup_by_key(|(name, _)| *name);
        assert_eq!(all.len(), count);
    }
}
