//! Node of the UP function: PFCP endpoint, state that parts share, and the part with all sessions.

pub mod associations;
pub mod part;
pub mod shared;
pub mod use_counts;
pub mod uses;

use part::Part;
use shared::Shared;
use sluice_datapath::session::txn::Txn;
use sluice_n4::{Endpoint, Instant, NodeId, Outbox};
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

/// Receiver of the UP function's effects.
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
    /// State that all parts read.
    pub shared: Shared,
    /// The sessions.
    pub part: Part,
}
