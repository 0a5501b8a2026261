//! Endpoint configuration, and the limits that size its memory.

use sluice_wire::pfcp::value::NtpTime;
use sluice_wire::pfcp::{PORT, SequenceNumber};

use crate::association::Features;
use crate::cidr::Cidr;
use crate::node_id::NodeId;
use crate::transport::{InboundLimits, OutboundLimits, REQUEST_BYTES};

/// Which end of N4 the endpoint is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// Control plane function (SMF).
    Cp,
    /// User plane function (UPF).
    Up,
}

/// Destination port of requests to a peer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PeerPort {
    /// To this port whatever port the peer's requests come from: 8805 by TS 29.244, 4.2.2.
    Fixed(u16),
    /// To the port from which the peer set up the association: for laboratories where several
    /// functions share an address.
    Source,
}

/// How one endpoint behaves.
#[derive(Clone, Debug)]
pub struct Config {
    /// Our own name.
    pub node_id: NodeId,
    /// When this function started (TS 29.244, 8.2.65). It stays the same after a restart that
    /// found all sessions again, and must be later after a restart that did not.
    pub recovery_time_stamp: NtpTime,
    /// The first sequence number of our requests. After a restart choose one that lies away from
    /// the last ones (from the clock, say), so that a peer does not take a new request for a
    /// retransmission of an old one.
    pub first_sequence: SequenceNumber,
    /// Key of the fingerprints that tell retransmissions; a random number is best.
    pub hash_seed: u64,
    /// Our features for the peer; those that are `None` are not sent.
    pub features: Features,
    /// Further encoded IEs for our Association Setup messages, such as UE IP address Pool
    /// Information.
    pub setup_ies: Vec<u8>,
    /// Whether sessions outlive a new association set-up that asks for it: Session Retention
    /// Information (TS 29.244, 6.2.6.2.2). The upper layer must then keep them.
    pub retains_sessions: bool,
    /// Peers that may talk to us; empty: all.
    pub allowed_peers: Vec<Cidr>,
    /// Destination port of requests to peers.
    pub peer_port: PeerPort,
    /// Timer T1, in milliseconds (TS 29.244, 6.4).
    pub t1_ms: u32,
    /// Counter N1: retransmissions before a request is given up (TS 29.244, 6.4).
    pub n1: u8,
    /// From one heartbeat to the next, in milliseconds; 0: none are sent. TS 23.007, 19A wants
    /// 60 s at least, but a silent peer is then found late.
    pub heartbeat_interval_ms: u32,
    /// From a failed association set-up to the next try, in milliseconds.
    pub setup_retry_ms: u32,
    /// Bounds of the memory.
    pub limits: Limits,
}

/// Bounds of the endpoint's memory, all of it taken at start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Associations at one time.
    pub associations: usize,
    /// Own requests without response at one time.
    pub in_flight: u32,
    /// Octets for own requests without response.
    pub in_flight_bytes: usize,
    /// Octets of the longest message that we send: a UDP payload at most.
    pub message_len: usize,
    /// Received requests remembered to recognise retransmissions.
    pub cached_requests: usize,
    /// Octets for responses remembered to be sent again.
    pub cached_response_bytes: usize,
    /// How long a received request can come again, in milliseconds.
    pub cache_window_ms: u64,
    /// Version Not Supported Responses per second.
    pub version_answers_per_s: u32,
}

impl Limits {
    /// Octets that a cached response takes on average: the response to an establishment with
    /// one F-TEID has about 90, and 12 are our own.
    const RESPONSE_LEN: usize = 160;
    /// Own requests of a second that nobody answered: as many reports as a peer takes at a time.
    const IN_FLIGHT_MAX: u32 = 1 << 14;
    /// Octets that a request in flight takes on average: two blocks of 512.
    const REQUEST_LEN: usize = 1024;

    /// Limits for `requests_per_s` received requests, remembered for as long as a peer with the
    /// given T1 and N1 may send them again.
    pub fn for_rate(requests_per_s: u32, t1_ms: u32, n1: u8) -> Self {
        let cache_window_ms = u64::from(t1_ms) * (u64::from(n1) + 1);
        let cached = u64::from(requests_per_s)
            .saturating_mul(cache_window_ms)
            .div_ceil(1000);
        let cached_requests = usize::try_from(cached)
            .unwrap_or(usize::MAX)
            .clamp(1024, 1 << 24);
        let in_flight = requests_per_s.clamp(1024, Self::IN_FLIGHT_MAX);
        Self {
            associations: 256,
            in_flight,
            in_flight_bytes: in_flight as usize * Self::REQUEST_LEN,
            message_len: 65_507,
            cached_requests,
            cached_response_bytes: cached_requests * Self::RESPONSE_LEN,
            cache_window_ms,
            version_answers_per_s: 10,
        }
    }

    /// Octets that the memory of received requests and their responses takes when it is full.
    pub fn cache_bytes(&self) -> usize {
        let places = self.cached_requests.max(1).next_power_of_two();
        places * REQUEST_BYTES + self.cached_response_bytes
    }
}

impl Config {
    /// Requests per second that the default limits are made for.
    pub const DEFAULT_REQUESTS_PER_S: u32 = 100_000;

    /// Defaults for a function of this name, started at this time: T1 of 1 s, N1 of 3, a
    /// heartbeat every 10 s, 100,000 requests per second.
    pub fn new(node_id: NodeId, recovery_time_stamp: NtpTime) -> Self {
        let (t1_ms, n1) = (1000, 3);
        Self {
            node_id,
            recovery_time_stamp,
            // Seconds since 1900 shifted by 12 bits: a restart one second later begins 4096
            // numbers ahead.
            first_sequence: SequenceNumber::wrapping(recovery_time_stamp.0 << 12),
            hash_seed: 0,
            features: Features::default(),
            setup_ies: Vec::new(),
            retains_sessions: false,
            allowed_peers: Vec::new(),
            peer_port: PeerPort::Fixed(PORT),
            t1_ms,
            n1,
            heartbeat_interval_ms: 10_000,
            setup_retry_ms: 5_000,
            limits: Limits::for_rate(Self::DEFAULT_REQUESTS_PER_S, t1_ms, n1),
        }
    }

    pub(crate) fn outbound(&self) -> OutboundLimits {
        OutboundLimits {
            t1_ms: self.t1_ms,
            n1: self.n1,
            in_flight: self.limits.in_flight,
            in_flight_bytes: self.limits.in_flight_bytes,
            message_len: self.limits.message_len,
            first_sequence: self.first_sequence,
        }
    }

    pub(crate) fn inbound(&self) -> InboundLimits {
        InboundLimits {
            requests: self.limits.cached_requests,
            response_bytes: self.limits.cached_response_bytes,
            window_ms: self.limits.cache_window_ms,
            hash_seed: self.hash_seed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cache_covers_t1_times_n1_plus_one_at_the_stated_rate() {
        let limits = Limits::for_rate(10_000, 1000, 3);
        assert_eq!(limits.cache_window_ms, 4000);
        assert_eq!(limits.cached_requests, 40_000);
        assert!(Limits::for_rate(1, 1, 0).cached_requests >= 1024);
        assert!(Limits::for_rate(u32::MAX, u32::MAX, u8::MAX).cached_requests <= 1 << 24);
    }

    #[test]
    fn the_default_takes_a_hundred_megabytes_when_it_is_full() {
        let limits = Limits::for_rate(Config::DEFAULT_REQUESTS_PER_S, 1000, 3);
        assert_eq!(limits.cached_requests, 400_000);
        // 2^19 places of 64 octets, and 160 octets for each response.
        assert_eq!(limits.cache_bytes(), (1 << 19) * 64 + 400_000 * 160);
    }

    #[test]
    fn a_later_start_begins_at_another_sequence_number() {
        let start = |s| Config::new(NodeId::v4([10, 0, 0, 1].into()), NtpTime(s)).first_sequence;
        let ahead = start(1001).get().wrapping_sub(start(1000).get()) & SequenceNumber::MAX;
        assert_eq!(ahead, 4096);
    }
}
