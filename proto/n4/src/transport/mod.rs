//! Reliable delivery of PFCP messages (TS 29.244, 6.4), with memory laid out at start.
//!
//! [`Outbound`] keeps requests until they are answered or given up; [`RecentRequests`] recognises
//! requests that were received before and keeps the responses that were given.

mod blocks;
mod byte_ring;
mod inbound;
mod outbound;
mod recent_requests;
mod seen_requests;

pub(crate) use inbound::REQUEST_BYTES;
pub use inbound::{Admission, InboundLimits};
pub use outbound::{Answer, Expiry, Outbound, OutboundLimits, Refusal};
pub use recent_requests::{RecentRequests, RequestAdmission, RequestTicket};

/// Output of the endpoint's datagrams; the caller owns the buffers behind it.
pub trait Outbox {
    /// Takes one datagram for `to`; the bytes are only valid during the call.
    ///
    /// A full outbox may drop it: PFCP retransmits (TS 29.244, 6.4).
    fn send(&mut self, to: std::net::SocketAddr, bytes: &[u8]);
}

impl<O: Outbox + ?Sized> Outbox for &mut O {
    fn send(&mut self, to: std::net::SocketAddr, bytes: &[u8]) {
        (**self).send(to, bytes);
    }
}
