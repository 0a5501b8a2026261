//! PFCP Association Release by the CP function (TS 29.244, 6.2.8).

use sluice_wire::pfcp::{Cause, MessageType};

use super::sender::{OutRequest, Purpose};
use super::{Endpoint, RequestError};
use crate::association::{AssociationId, State};
use crate::codec;
use crate::config::Role;
use crate::counters::Counter;
use crate::event::{DownReason, ReplyTo};
use crate::time::Instant;
use crate::transport::Outbox;

impl Endpoint {
    /// Releases an association as the CP function, and all its sessions with it. It ends with
    /// the peer's response or without it: [`crate::Event::AssociationDown`]. One that is not
    /// set up yet ends at once.
    pub fn release(
        &mut self,
        now: Instant,
        id: AssociationId,
        out: &mut impl Outbox,
    ) -> Result<(), RequestError> {
        let association = self
            .associations
            .get(id)
            .ok_or(RequestError::NoAssociation)?;
        match association.state {
            State::Connecting | State::Waiting => {
                self.end_association(id, DownReason::Released);
                return Ok(());
            }
            State::Releasing => return Ok(()),
            State::Up if self.role == Role::Up => return Err(RequestError::WrongRole(Role::Up)),
            State::Up => {}
        }
        let request = OutRequest {
            to: association.primary,
            message_type: MessageType::ASSOCIATION_RELEASE_REQUEST,
            seid: None,
            purpose: Purpose::Release(id),
        };
        let node_id = &self.config.node_id;
        self.sender.request(now, request, out, |w| {
            codec::write_release_request(w, node_id)
        })?;
        self.change(id, |association| {
            association.state = State::Releasing;
            association.heartbeat_at = Instant::NEVER;
            association.release_at = Instant::NEVER;
        });
        Ok(())
    }

    /// Gives an association up without telling the peer, such as one that is lost for good.
    pub fn forget(&mut self, id: AssociationId) -> Result<(), RequestError> {
        self.associations
            .get(id)
            .ok_or(RequestError::NoAssociation)?;
        self.end_association(id, DownReason::Forgotten);
        Ok(())
    }

    /// Whatever the peer answered, the association is over: a UP function always accepts (TS
    /// 29.244, 6.2.8.3), and one that knows none has nothing to release.
    pub(super) fn release_response(&mut self, id: AssociationId) {
        self.end_association(id, DownReason::Released);
    }

    pub(super) fn release_request(
        &mut self,
        now: Instant,
        reply: &ReplyTo,
        body: &[u8],
        out: &mut impl Outbox,
    ) -> Result<(), RequestError> {
        let known = match codec::release_request(body) {
            Err(reject) => {
                self.count(Counter::MalformedRequest);
                self.sender.refused_for.offending_ie = reject.offending_ie;
                Err(reject.cause)
            }
            Ok(node_id) => self.held_by(&node_id, reply.peer),
        };
        let cause = match known {
            Ok(id) => {
                self.end_association(id, DownReason::Released);
                Cause::REQUEST_ACCEPTED
            }
            Err(cause) => cause,
        };
        let node_id = &self.config.node_id;
        self.sender.respond(now, reply, None, out, |w| {
            codec::write_release_response(w, node_id, cause)
        })
    }
}
