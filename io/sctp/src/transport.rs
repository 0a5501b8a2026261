//! The trait of an SCTP endpoint: what goes in and what comes out.

use std::fmt;
use std::net::IpAddr;

/// An address of a peer.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Peer {
    /// IP address of the peer.
    pub address: IpAddr,
    /// UDP port of the peer if SCTP is carried inside UDP, else 0.
    pub udp_port: u16,
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.udp_port {
            0 => write!(f, "{}", self.address),
            port => write!(f, "{} (UDP port {port})", self.address),
        }
    }
}

/// An association; a number is never given again.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Association(pub u32);

/// Why an association is gone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Loss {
    /// The peer ended it in order (SHUTDOWN), or we did.
    Ended,
    /// The peer aborted it.
    Aborted,
    /// The peer does not answer any more.
    Silent,
    /// The peer has begun anew; another association follows.
    Restarted,
    /// The association was never up: the peer refused it or did not answer.
    NotSetUp,
    /// We have aborted it for what the peer sent, or as there are too many.
    Refused,
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ended => "ended",
            Self::Aborted => "aborted by the peer",
            Self::Silent => "the peer does not answer",
            Self::Restarted => "the peer has restarted the association",
            Self::NotSetUp => "the peer refused it or did not answer",
            Self::Refused => "aborted by us",
        })
    }
}

/// Event of an endpoint.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Event {
    /// An association is up.
    Up {
        /// Which.
        association: Association,
        /// With whom.
        peer: Peer,
        /// Streams towards the peer, at least 1.
        streams: u16,
    },
    /// A whole message.
    Message {
        /// Of which association.
        association: Association,
        /// On which stream.
        stream: u16,
        /// Payload protocol identifier.
        ppid: u32,
        /// At most [`MESSAGE_BYTES`](crate::limits::MESSAGE_BYTES).
        octets: Vec<u8>,
    },
    /// An association is gone.
    Lost {
        /// Which.
        association: Association,
        /// Why.
        why: Loss,
    },
}

/// Why a message was not taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum SendError {
    /// There is no such association, or it is not up.
    #[error("there is no such association")]
    Unknown,
    /// The peer takes too little for its buffer to be emptied.
    #[error("the association's buffer is full")]
    Full,
    /// The stream is not there, or the message is empty or too long.
    #[error("no such stream, or an empty or too long message")]
    Invalid,
}

/// An SCTP endpoint without sockets and clock.
pub trait Sctp {
    /// Takes a datagram (an SCTP packet, from its common header on).
    fn input(&mut self, from: Peer, datagram: &[u8]);

    /// Takes the time: milliseconds since any fixed point, the same for all endpoints of a process.
    fn time(&mut self, now_ms: u64);

    /// After how many milliseconds [`Sctp::time`] is due at the latest.
    fn next_ms(&self) -> u64;

    /// Begins an association with a port of a peer; none when that cannot be. What becomes of it is
    /// an event.
    fn connect(&mut self, to: Peer, port: u16) -> Option<Association>;

    /// Sends a message in order on a stream.
    ///
    /// # Errors
    /// When it was not taken.
    fn send(
        &mut self,
        association: Association,
        stream: u16,
        ppid: u32,
        octets: &[u8],
    ) -> Result<(), SendError>;

    /// Ends an association in order: what was sent before arrives.
    fn shutdown(&mut self, association: Association);

    /// Aborts an association; no event follows.
    fn abort(&mut self, association: Association);

    /// Datagrams to be sent since the last call.
    fn take_datagrams(&mut self) -> Vec<(Peer, Vec<u8>)>;

    /// Events since the last call, in order.
    fn take_events(&mut self) -> Vec<Event>;
}
