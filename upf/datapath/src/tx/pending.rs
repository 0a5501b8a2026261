//! Pending transmission: a rewritten packet that lacks only its Ethernet header.

use crate::forward::far::ForwardTo;
use crate::meta::Meta;
use crate::tx::route::Hop;
use crate::tx::transmit::UsageRef;

/// A packet that is ready for the wire but for its Ethernet header.
#[derive(Clone, Copy)]
pub(crate) struct PendingTx {
    /// Its way out.
    pub exit: ForwardTo,
    /// Its next hop.
    pub hop: Hop,
    /// Inner destination, host order.
    pub dst: u32,
    /// Whose usage it counts on.
    pub charge: UsageRef,
    /// What it came as: if it has to wait, the session is asked again before it leaves.
    pub meta: Meta,
}
