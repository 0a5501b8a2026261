//! Association takeover: Association Setup Requests with the Node ID of an association that was set up from
//! another address.
//!
//! A Node ID belongs to the IP address that associated it; the port does not matter. PFCP has no
//! other proof of who a function is (TS 29.244, 6.2.6), and a function that has moved is told from a
//! stranger by its old address: whoever still answers there is the function. So the holder is asked
//! by Heartbeat Requests, [`PROBES`] of them spread over one T1, the first at once. If nothing has
//! come back when T1 is over, the set-up is accepted as if it came from the holder, with the same
//! consequences for its sessions; at the first answer it is refused. The N1 retransmissions of other
//! requests are not waited for: a function that has moved would give up before.
//!
//! One set-up waits for each Node ID. While it does, the transport knows its retransmissions
//! (they get no answer yet); a new set-up of the same address takes its place, one from a third
//! address is refused. A holder that has just answered is not asked again within T1, so strangers
//! cannot make us flood it.

use std::net::{IpAddr, SocketAddr};

use sluice_wire::pfcp::{Cause, MessageType};

use super::sender::{OutRequest, Purpose};
use super::{Endpoint, RequestError};
use crate::association::AssociationId;
use crate::codec::{self, SetupRequest};
use crate::counters::Counter;
use crate::event::{Event, ReplyTo};
use crate::node_id::NodeId;
use crate::time::Instant;
use crate::transport::Outbox;

/// Heartbeat Requests to the holder of a Node ID within T1 before its silence is believed: one lost
/// datagram, or two, must not cost a function its sessions. With a loss of 1 % for each direction
/// three in vain are one in 125,000.
pub const PROBES: u32 = 3;

/// A set-up that waits for the holder of its Node ID.
#[derive(Debug)]
pub(super) struct PendingTakeover {
    association: AssociationId,
    reply: ReplyTo,
    request: SetupRequest,
    probe_at: Instant,
    ends_at: Instant,
    /// The holder was asked at least once.
    asked: bool,
}

impl PendingTakeover {
    pub(super) fn next_timer(&self) -> Instant {
        self.probe_at.min(self.ends_at)
    }
}

/// Whether two addresses are those of one host, whatever their ports.
fn is_same_host(one: SocketAddr, other: IpAddr) -> bool {
    one.ip().to_canonical() == other.to_canonical()
}

impl Endpoint {
    /// The association of this name, if a request of `peer` may end or change it as a whole; else
    /// the cause for the refusal.
    pub(super) fn held_by(
        &mut self,
        node_id: &NodeId,
        peer: SocketAddr,
    ) -> Result<AssociationId, Cause> {
        let known = self.associations.by_node_id(node_id);
        let Some(id) = known else {
            self.count(Counter::NoAssociation);
            return Err(Cause::NO_ESTABLISHED_PFCP_ASSOCIATION);
        };
        match self.holder_elsewhere(node_id, peer) {
            None => Ok(id),
            Some((_, holder)) => {
                self.count(Counter::NotTheHolder);
                self.sender.refused_for.holder = Some(holder);
                Err(Cause::NO_ESTABLISHED_PFCP_ASSOCIATION)
            }
        }
    }

    /// The association of this name and the address that holds it, if that is not `peer`'s.
    pub(super) fn holder_elsewhere(
        &self,
        node_id: &NodeId,
        peer: SocketAddr,
    ) -> Option<(AssociationId, SocketAddr)> {
        let id = self.associations.by_node_id(node_id)?;
        let holder = self.associations.get(id)?.primary;
        (!is_same_host(holder, peer.ip())).then_some((id, holder))
    }

    /// A set-up names a Node ID that another address holds.
    pub(super) fn take_over(
        &mut self,
        now: Instant,
        id: AssociationId,
        (reply, request): (&ReplyTo, SetupRequest),
        out: &mut impl Outbox,
    ) -> Result<(), RequestError> {
        if self.has_just_answered(now, id) {
            return self.refuse_takeover(now, id, reply, out);
        }
        let mut waiting = self.takeovers.iter_mut();
        if let Some(takeover) = waiting.find(|takeover| takeover.association == id) {
            if !is_same_host(takeover.reply.peer, reply.peer.ip()) {
                self.count(Counter::TakeoverContested);
                return self.refuse_setup(now, reply, Cause::NO_RESOURCES_AVAILABLE, out);
            }
            // It has given the earlier one up.
            (takeover.reply, takeover.request) = (*reply, request);
            return Ok(());
        }
        if self.takeovers.len() == self.takeovers.capacity() {
            return self.refuse_setup(now, reply, Cause::NO_RESOURCES_AVAILABLE, out);
        }
        self.takeovers.push(PendingTakeover {
            association: id,
            reply: *reply,
            request,
            probe_at: now,
            ends_at: now.plus_ms(self.config.t1_ms.into()),
            asked: false,
        });
        self.run_contests(now, out);
        Ok(())
    }

    /// Asks holders, and ends the takeovers whose time is over.
    pub(super) fn run_contests(&mut self, now: Instant, out: &mut impl Outbox) {
        let mut place = 0;
        while let Some(takeover) = self.takeovers.get(place) {
            if takeover.ends_at <= now {
                let takeover = self.takeovers.swap_remove(place);
                self.silent(now, takeover, out);
                continue;
            }
            if takeover.probe_at <= now {
                self.probe(now, place, out);
            }
            place += 1;
        }
        let first = self.takeovers.iter().map(PendingTakeover::next_timer).min();
        self.next_timer = self.next_timer.min(first.unwrap_or(Instant::NEVER));
    }

    fn probe(&mut self, now: Instant, place: usize, out: &mut impl Outbox) {
        let step_ms = u64::from(self.config.t1_ms.div_ceil(PROBES)).max(1);
        let Some(takeover) = self.takeovers.get_mut(place) else {
            return;
        };
        takeover.probe_at = now.plus_ms(step_ms);
        let id = takeover.association;
        let Some(association) = self.associations.get(id) else {
            return;
        };
        let request = OutRequest {
            to: association.primary,
            message_type: MessageType::HEARTBEAT_REQUEST,
            seid: None,
            purpose: Purpose::Probe(id),
        };
        let own = self.config.recovery_time_stamp;
        let sent = self.sender.request(now, request, out, |w| {
            codec::write_heartbeat_request(w, own)
        });
        if let Some(takeover) = self.takeovers.get_mut(place) {
            takeover.asked |= sent.is_ok();
        }
    }

    /// The holder has answered a heartbeat: it keeps its name.
    pub(super) fn holder_answered(
        &mut self,
        now: Instant,
        id: AssociationId,
        out: &mut impl Outbox,
    ) {
        let mut waiting = self.takeovers.iter();
        let Some(place) = waiting.position(|takeover| takeover.association == id) else {
            return;
        };
        self.change(id, |association| association.answered_at = Some(now));
        let takeover = self.takeovers.swap_remove(place);
        // A response of our own that is too long for the limits is counted there.
        let _ = self.refuse_takeover(now, id, &takeover.reply, out);
    }

    /// T1 is over without an answer of the holder.
    fn silent(&mut self, now: Instant, takeover: PendingTakeover, out: &mut impl Outbox) {
        let PendingTakeover {
            association: id,
            reply,
            request,
            asked,
            ..
        } = takeover;
        let holder = self.associations.get(id).map(|held| held.primary);
        // A holder that could not be asked is not silent.
        if holder.is_some() && !asked {
            let _ = self.refuse_setup(now, &reply, Cause::NO_RESOURCES_AVAILABLE, out);
            return;
        }
        if let Some(holder) = holder {
            self.count(Counter::TakenOver);
            self.event(Event::TakenOver {
                association: id,
                holder,
                peer: reply.peer,
            });
        }
        let (cause, retained) = self.accept_setup(now, reply.peer, request);
        let _ = self.answer_setup(now, &reply, (cause, retained), out);
    }

    fn has_just_answered(&self, now: Instant, id: AssociationId) -> bool {
        let t1_ns = u64::from(self.config.t1_ms) * 1_000_000;
        let answered_at = self.associations.get(id).and_then(|held| held.answered_at);
        answered_at.is_some_and(|at| now.ns_since(at) < t1_ns)
    }

    fn refuse_takeover(
        &mut self,
        now: Instant,
        id: AssociationId,
        reply: &ReplyTo,
        out: &mut impl Outbox,
    ) -> Result<(), RequestError> {
        self.count(Counter::TakeoverRefused);
        if let Some(holder) = self.associations.get(id).map(|held| held.primary) {
            self.sender.refused_for.holder = Some(holder);
            self.event(Event::TakeoverRefused {
                association: id,
                holder,
                peer: reply.peer,
            });
        }
        self.refuse_setup(now, reply, Cause::REQUEST_REJECTED, out)
    }

    fn refuse_setup(
        &mut self,
        now: Instant,
        reply: &ReplyTo,
        cause: Cause,
        out: &mut impl Outbox,
    ) -> Result<(), RequestError> {
        self.answer_setup(now, reply, (cause, false), out)
    }
}
