//! Who holds a Node ID, and what becomes of an Association Setup Request that names one from
//! elsewhere.
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
use crate::limits::PROBES;
use crate::node_id::NodeId;
use crate::time::Instant;
use crate::transport::Outbox;

/// A set-up that waits for the holder of its Node ID.
#[derive(Debug)]
pub(super) struct Contest {
    association: AssociationId,
    reply: ReplyTo,
    request: SetupRequest,
    probe_at: Instant,
    ends_at: Instant,
    /// The holder was asked at least once.
    asked: bool,
}

impl Contest {
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
                self.courier.blame.holder = Some(holder);
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
    pub(super) fn contest(
        &mut self,
        now: Instant,
        id: AssociationId,
        (reply, request): (&ReplyTo, SetupRequest),
        out: &mut impl Outbox,
    ) -> Result<(), RequestError> {
        if self.has_just_answered(now, id) {
            return self.refuse_takeover(now, id, reply, out);
        }
        let mut waiting = self.contests.iter_mut();
        if let Some(contest) = waiting.find(|contest| contest.association == id) {
            if !is_same_host(contest.reply.peer, reply.peer.ip()) {
                self.count(Counter::TakeoverContested);
                return self.refuse_setup(now, reply, Cause::NO_RESOURCES_AVAILABLE, out);
            }
            // It has given the earlier one up.
            (contest.reply, contest.request) = (*reply, request);
            return Ok(());
        }
        if self.contests.len() == self.contests.capacity() {
            return self.refuse_setup(now, reply, Cause::NO_RESOURCES_AVAILABLE, out);
        }
        self.contests.push(Contest {
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

    /// Asks holders, and ends the contests whose time is over.
    pub(super) fn run_contests(&mut self, now: Instant, out: &mut impl Outbox) {
        let mut place = 0;
        while let Some(contest) = self.contests.get(place) {
            if contest.ends_at <= now {
                let contest = self.contests.swap_remove(place);
                self.silent(now, contest, out);
                continue;
            }
            if contest.probe_at <= now {
                self.probe(now, place, out);
            }
            place += 1;
        }
        let first = self.contests.iter().map(Contest::next_timer).min();
        self.next_timer = self.next_timer.min(first.unwrap_or(Instant::NEVER));
    }

    fn probe(&mut self, now: Instant, place: usize, out: &mut impl Outbox) {
        let step_ms = u64::from(self.config.t1_ms.div_ceil(PROBES)).max(1);
        let Some(contest) = self.contests.get_mut(place) else {
            return;
        };
        contest.probe_at = now.plus_ms(step_ms);
        let id = contest.association;
        let Some(association) = self.associations.get(id) else {
            return;
        };
        let parcel = OutRequest {
            to: association.primary,
            message_type: MessageType::HEARTBEAT_REQUEST,
            seid: None,
            purpose: Purpose::Probe(id),
        };
        let own = self.config.recovery_time_stamp;
        let sent = self
            .courier
            .request(now, parcel, out, |w| codec::write_heartbeat_request(w, own));
        if let Some(contest) = self.contests.get_mut(place) {
            contest.asked |= sent.is_ok();
        }
    }

    /// The holder has answered a heartbeat: it keeps its name.
    pub(super) fn holder_answered(
        &mut self,
        now: Instant,
        id: AssociationId,
        out: &mut impl Outbox,
    ) {
        let mut waiting = self.contests.iter();
        let Some(place) = waiting.position(|contest| contest.association == id) else {
            return;
        };
        self.change(id, |association| association.answered_at = Some(now));
        let contest = self.contests.swap_remove(place);
        // A response of our own that is too long for the limits is counted there.
        let _ = self.refuse_takeover(now, id, &contest.reply, out);
    }

    /// T1 is over without an answer of the holder.
    fn silent(&mut self, now: Instant, contest: Contest, out: &mut impl Outbox) {
        let Contest {
            association: id,
            reply,
            request,
            asked,
            ..
        } = contest;
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
            self.courier.blame.holder = Some(holder);
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
