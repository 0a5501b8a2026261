//! The UP function as its procedures know it: PFCP endpoint and sessions, and where effects go.

use crate::sessions::Sessions;
use sluice_datapath::session::txn::Txn;
use sluice_n4::{Endpoint, NodeId, Outbox};

/// Where the effects of the UP function go.
pub trait Effects: Outbox {
    /// Takes a transaction for the owner of its shard. Those of one shard must stay in order;
    /// each comes back by [`UpFunction::complete`](crate::UpFunction::complete).
    fn transact(&mut self, txn: Box<Txn>);
}

/// What the procedures work on.
pub struct Node {
    /// Associations and messages under way.
    pub endpoint: Endpoint,
    /// Sessions.
    pub sessions: Sessions,
    /// As it stands in the endpoint's configuration: answers are written while that is in use.
    pub node_id: NodeId,
}
