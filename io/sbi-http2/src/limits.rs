//! Bounds of the service-based interfaces: what a peer and all peers together may take.

use std::time::Duration;

/// Bounds. A peer is an IP address.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Connections that the server has at a time.
    pub connections: usize,
    /// Of these, of one peer.
    pub connections_per_peer: usize,
    /// Concurrent streams of a connection that came.
    pub streams: u32,
    /// Concurrent streams of one peer.
    pub streams_per_peer: usize,
    /// Size of a list of header fields (RFC 9113, 6.5.2).
    pub header_list_octets: u32,
    /// Length of the body of a request or of a response.
    pub body_octets: usize,
    /// Bodies of a peer's requests that are being read or have no answer yet.
    pub octets_per_peer: usize,
    /// Time for TLS and HTTP/2 to open a connection, and for the body of a request.
    pub half_open: Duration,
    /// Streams that a peer resets in a second.
    pub resets_per_s: u32,
    /// Bodies of answers that a connection's peer has not taken yet.
    pub answer_octets: usize,
    /// Time for a peer to take an answer, and for a connection to take more octets.
    pub answer_within: Duration,
    /// Requests that came and have no answer yet.
    pub exchanges: usize,
    /// Requests that left and have no answer yet.
    pub calls: usize,
    /// Bodies of responses that are being read, of all together.
    pub response_octets: usize,
    /// Connections to an API root.
    pub connections_per_root: usize,
    /// Connections to all API roots.
    pub connections_out: usize,
    /// How often a request is sent that a peer surely or most likely did not process.
    pub attempts: u32,
    /// Redirections (307, 308) of a request that are followed.
    pub redirects: u32,
    /// Time for a connection to come about.
    pub connect_within: Duration,
    /// A connection that is needed gets a PING after this time without octets.
    pub ping_after: Duration,
    /// Time for the answer to a PING.
    pub ping_within: Duration,
    /// Time after which a connection without streams is closed.
    pub idle_within: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 1_024,
            connections_per_peer: 64,
            streams: 128,
            streams_per_peer: 2_048,
            header_list_octets: 16 << 10,
            body_octets: 1 << 20,
            octets_per_peer: 16 << 20,
            half_open: Duration::from_secs(5),
            resets_per_s: 100,
            answer_octets: 16 << 20,
            answer_within: Duration::from_secs(10),
            exchanges: 8_192,
            calls: 4_096,
            response_octets: 256 << 20,
            connections_per_root: 2,
            connections_out: 512,
            attempts: 3,
            redirects: 3,
            connect_within: Duration::from_secs(3),
            ping_after: Duration::from_secs(5),
            ping_within: Duration::from_secs(5),
            idle_within: Duration::from_secs(300),
        }
    }
}
