//! Session-related requests and responses of the layer above (TS 29.244, 6.3, 5.8.1).

use std::net::SocketAddr;

use sluice_wire::ids::Seid;
use sluice_wire::pfcp::{Cause, Full, Header, MessageType, SequenceNumber, Writer};

use super::sender::{Admitted, OutRequest, Purpose, Received, response_header};
use super::{Endpoint, RequestError};
use crate::association::AssociationId;
use crate::codec;
use crate::counters::Counter;
use crate::event::{Event, Input, ReplyTo, SessionRequest};
use crate::node_id::NodeId;
use crate::time::Instant;
use crate::transport::Outbox;

/// A request that the layer above wants to have sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Request {
    /// To whom.
    pub association: AssociationId,
    /// Destination, if it is not the peer's primary address: a session's requests go to the address in the peer's
    /// F-SEID (TS 29.244, 5.6.2).
    pub to: Option<SocketAddr>,
    /// Comes back with the response or with [`crate::Event::RequestFailed`].
    pub tag: u64,
    /// One of the session related requests, or of the node related ones that the endpoint does
    /// not send by itself.
    pub message_type: MessageType,
    /// The peer's SEID; session related requests must have one (0 in an establishment).
    pub seid: Option<Seid>,
}

impl Endpoint {
    /// Sends a request whose IEs `write` writes, and again until it is answered or given up.
    pub fn request(
        &mut self,
        now: Instant,
        request: Request,
        out: &mut impl Outbox,
        write: impl FnOnce(&mut Writer<'_>) -> Result<(), Full>,
    ) -> Result<SequenceNumber, RequestError> {
        let Request {
            association: id,
            to,
            tag,
            message_type,
            seid,
        } = request;
        if !is_upper(message_type) || message_type.is_session_related() != seid.is_some() {
            return Err(RequestError::NotARequest(message_type));
        }
        let association = self
            .associations
            .get(id)
            .ok_or(RequestError::NoAssociation)?;
        if !association.is_established() {
            return Err(RequestError::NotEstablished);
        }
        let to = to.unwrap_or(association.primary);
        let purpose = Purpose::Upper {
            association: id,
            tag,
        };
        self.sender.request(
            now,
            OutRequest {
                to,
                message_type,
                seid,
                purpose,
            },
            out,
            write,
        )
    }

    /// Answers a request whose response's IEs `write` writes. `seid` is the peer's SEID for the
    /// header; 0 where it is not known (TS 29.244, 7.2.2.4.2), `None` for node related
    /// messages.
    pub fn reply(
        &mut self,
        now: Instant,
        reply_to: ReplyTo,
        seid: Option<Seid>,
        out: &mut impl Outbox,
        write: impl FnOnce(&mut Writer<'_>) -> Result<(), Full>,
    ) -> Result<(), RequestError> {
        self.sender.respond(now, &reply_to, seid, out, write)
    }

    pub(super) fn upper_request<'a>(
        &mut self,
        now: Instant,
        received: &Received<'a>,
        out: &mut impl Outbox,
    ) -> Input<'a> {
        let Received {
            peer, header, body, ..
        } = *received;
        // Before it is asked whose it is: a request that was refused for want of an association is refused
        // as well when the network brings it again behind the set-up (TS 29.244, 6.4).
        let admitted = self.sender.admit(now, received, out);
        let Some(Admitted {
            ticket,
            fingerprint,
        }) = admitted
        else {
            return Input::Nothing;
        };
        let reply = received.reply_to(ticket);
        let requester = match header.message_type.is_session_related() {
            true => self.requester(peer, &header, body),
            false => self.speaker(peer),
        };
        let Some(association) = requester else {
            self.count(Counter::NoAssociation);
            let cause = Cause::NO_ESTABLISHED_PFCP_ASSOCIATION;
            self.reject(now, (&reply, body), cause, out);
            return Input::Nothing;
        };
        Input::Session(SessionRequest {
            association,
            is_of_holder: self.speaks_for(association, peer),
            reply,
            body,
            fingerprint,
        })
    }

    /// Association of a node related request's sender. The request acts on the association as a whole (TS 29.244, 6.1),
    /// so that neither a Node ID inside nor a learned address proves anything.
    fn speaker(&mut self, peer: SocketAddr) -> Option<AssociationId> {
        let known = self.associations.by_address(peer);
        known.filter(|id| self.is_established(*id) && self.speaks_for(*id, peer))
    }

    /// Whether a message from there speaks for the whole association.
    pub(super) fn speaks_for(&self, id: AssociationId, peer: SocketAddr) -> bool {
        let association = self.associations.get(id);
        association.is_some_and(|association| association.speaks_for_itself(peer))
    }

    /// Association of a request's sender: by the Node ID where the message has one, or by the address. An address from
    /// which a known function names itself belongs to it from then on.
    fn requester(
        &mut self,
        peer: SocketAddr,
        header: &Header,
        body: &[u8],
    ) -> Option<AssociationId> {
        let by_address = self.associations.by_address(peer);
        let by_address = by_address.filter(|id| self.is_established(*id));
        let names_itself = header.message_type == MessageType::SESSION_ESTABLISHMENT_REQUEST;
        if by_address.is_some() && !names_itself {
            return by_address;
        }
        let Some(told) = codec::node_id(body) else {
            return by_address;
        };
        let is_its = |id: &AssociationId| {
            let association = self.associations.get(*id);
            let node_id = association.and_then(|a| a.node_id());
            node_id.is_some_and(|node_id| node_id.is(told))
        };
        if let Some(id) = by_address.filter(is_its) {
            return Some(id);
        }
        let Some(node_id) = NodeId::from_wire(told) else {
            return by_address;
        };
        let named = self.associations.by_node_id(&node_id);
        match named.filter(|id| self.is_established(*id)) {
            None => {
                if by_address.is_some() {
                    self.count(Counter::NodeIdMismatch);
                }
                by_address
            }
            named if named == by_address => named,
            // Another function that names this one speaks for itself alone.
            Some(named) if by_address.is_some() && self.is_held_by_another(named, peer) => {
                self.count(Counter::NodeIdMismatch);
                by_address
            }
            Some(named) => {
                self.learn_requester(named, peer);
                Some(named)
            }
        }
    }

    /// Takes the address of a request that names the peer for one of the peer's, and tells so once.
    fn learn_requester(&mut self, id: AssociationId, peer: SocketAddr) {
        let is_known = self.associations.has_address(id, peer);
        if is_known || !self.borrow(id, peer) {
            return;
        }
        if let Some(holder) = self.associations.get(id).map(|a| a.primary) {
            self.event(Event::AddressLearned {
                association: id,
                holder,
                peer,
            });
        }
    }

    /// Rejects a request of the layer above's without troubling it.
    fn reject(
        &mut self,
        now: Instant,
        (reply, body): (&ReplyTo, &[u8]),
        cause: Cause,
        out: &mut impl Outbox,
    ) {
        let header = reply.header;
        let seid = header
            .seid
            .map(|_| codec::cp_seid(body).unwrap_or_default());
        let response = response_header(&header, seid).message_type;
        let node_id = &self.config.node_id;
        let sent = self.sender.respond(now, reply, seid, out, |w| {
            codec::write_rejection(w, response, node_id, cause)
        });
        // One that is too long is counted, and none is sent.
        let _ = sent;
    }
}

/// Whether a request is one that the layer above sends.
fn is_upper(message_type: MessageType) -> bool {
    message_type.is_request()
        && !matches!(
            message_type,
            MessageType::HEARTBEAT_REQUEST
                | MessageType::ASSOCIATION_SETUP_REQUEST
                | MessageType::ASSOCIATION_UPDATE_REQUEST
                | MessageType::ASSOCIATION_RELEASE_REQUEST
        )
}
