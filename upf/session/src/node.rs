//! The UP function's node: PFCP endpoint, what its parts share, and its sessions.

use crate::part::Part;
use crate::shared::Shared;
use crate::store::CpSession;
use core::net::IpAddr;
use sluice_datapath::session::txn::Txn;
use sluice_n4::{Endpoint, Instant, NodeId, Outbox, SessionRequest};
use sluice_wire::pfcp::value::NtpTime;

/// When something happens.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    /// Monotonic.
    pub now: Instant,
    /// Of the calendar.
    pub wall: NtpTime,
}

impl Moment {
    /// Whole seconds of the monotonic time.
    pub fn seconds(self) -> u32 {
        (self.now.0 / 1_000_000_000) as u32
    }
}

/// Where the effects of the UP function go.
pub trait Effects: Outbox {
    /// Takes a transaction for the owner of its shard. Those of one shard must stay in order;
    /// each comes back by [`UpFunction::complete`](crate::UpFunction::complete).
    fn transact(&mut self, txn: Box<Txn>);
}

/// All that procedures work on. One part has all sessions. Procedures of sessions say in their signatures what they
/// touch: `&mut Part` and no more, where they can; `&Shared` beside it to read, `&mut Shared` to write.
pub struct Node {
    /// Associations and messages under way.
    pub endpoint: Endpoint,
    /// As it stands in the endpoint's configuration: answers are written while that is in use.
    pub node_id: NodeId,
    /// What all parts read.
    pub shared: Shared,
    /// The sessions.
    pub part: Part,
}

/// Whether a request may act on a session that its CP function calls so: an address that no association message told
/// has the sessions alone whose CP F-SEID says that they are there (TS 29.244, 5.6.2).
pub fn may_act(request: &SessionRequest<'_>, cp: CpSession) -> bool {
    let from = request.reply.peer().ip().to_canonical();
    let mut addresses = (cp.ipv4.map(IpAddr::V4).into_iter()).chain(cp.ipv6.map(IpAddr::V6));
    request.is_of_holder || addresses.any(|address| address == from)
}
