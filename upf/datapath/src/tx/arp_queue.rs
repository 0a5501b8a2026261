//! ARP queue: packets that wait for a next hop's MAC address, bounded in number and time.

use crate::forward::far::ForwardTo;
use crate::forward::flow::Flow;
use crate::forward::outer_header_removal::Destination;
use crate::limits::{NEIGHBOUR_ASK_NS, NEIGHBOUR_HELD, NEIGHBOUR_WAIT_NS};
use crate::meta::Meta;
use crate::tx::route::{Hop, Resolve};
use crate::tx::transmit::UsageRef;

/// A packet that is ready for the wire but for its Ethernet header.
#[derive(Clone, Copy)]
pub(crate) struct PendingTx {
    /// Its way out.
    pub exit: ForwardTo,
    /// Its next hop.
    pub hop: Hop,
    /// Inner destination.
    pub dst: Destination,
    /// What rules ask of the inner packet, which changes on its way.
    pub flow: Flow,
    /// The UE sent it.
    pub is_from_ue: bool,
    /// Whose usage it counts on.
    pub charge: UsageRef,
    /// What it came as: if it has to wait, the session is asked again before it leaves.
    pub meta: Meta,
}

/// One waiting packet: the IP packet as it will leave, without Ethernet header.
pub struct WaitingPacket<P> {
    /// The packet, outer header included.
    pub packet: P,
    /// What is known of it; its way out is asked for again.
    pub(crate) ready: PendingTx,
    /// What it waits for.
    pub sought: Resolve,
    /// When it is given up.
    pub until_ns: u64,
    /// When what it waits for was asked for on its behalf, unless others had done so.
    pub asked_ns: Option<u64>,
}

/// All waiting packets of a worker, oldest first.
pub(crate) struct ArpQueue<P> {
    waiting: Vec<WaitingPacket<P>>,
}

impl<P> ArpQueue<P> {
    /// None yet; room for all is made now.
    pub fn new() -> Self {
        Self {
            waiting: Vec::with_capacity(NEIGHBOUR_HELD),
        }
    }

    /// Takes a packet in. `Ok(true)` if the station was not asked for within the last second, so
    /// that it has to be now: also one that gave no answer, as long as packets come for it. The
    /// packet comes back if there is no room.
    pub fn hold(&mut self, mut new: WaitingPacket<P>, now_ns: u64) -> Result<bool, P> {
        if self.waiting.len() == NEIGHBOUR_HELD {
            return Err(new.packet);
        }
        let asked = |w: &WaitingPacket<P>| {
            let of_late = w.asked_ns.is_some_and(|at| now_ns < at + NEIGHBOUR_ASK_NS);
            of_late && w.sought == new.sought
        };
        let ask = !self.waiting.iter().any(asked);
        new.asked_ns = ask.then_some(now_ns);
        new.until_ns = now_ns + NEIGHBOUR_WAIT_NS;
        self.waiting.push(new);
        Ok(ask)
    }

    /// Takes a packet in that has waited elsewhere; it comes back if there is no room.
    pub fn resume(&mut self, waiting: WaitingPacket<P>) -> Result<(), P> {
        if self.waiting.len() == NEIGHBOUR_HELD {
            return Err(waiting.packet);
        }
        self.waiting.push(waiting);
        Ok(())
    }

    /// True if nothing waits.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Packets waiting.
    pub fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Takes the oldest that `ready` accepts.
    pub fn take(
        &mut self,
        ready: impl FnMut(&WaitingPacket<P>) -> bool,
    ) -> Option<WaitingPacket<P>> {
        let at = self.waiting.iter().position(ready)?;
        Some(self.waiting.remove(at))
    }
}
