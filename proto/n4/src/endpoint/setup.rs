//! PFCP Association Setup from either side (TS 29.244, 6.2.6).

use std::net::{IpAddr, SocketAddr};

use sluice_wire::pfcp::{Cause, MessageType};

use super::sender::{OutRequest, Purpose};
use super::{Endpoint, RequestError};
use crate::association::{Association, AssociationId, State};
use crate::codec::{self, SetupRequest, SetupResponse};
use crate::config::PeerPort;
use crate::counters::Counter;
use crate::event::{DownReason, Event, ReplyTo, Retention};
use crate::time::Instant;
use crate::transport::Outbox;

impl Endpoint {
    /// Sets up an association with the function at `to`, and again whenever that fails or the
    /// function restarts, until it is released. With `retain` the peer is asked to keep the
    /// sessions of an earlier association with us.
    pub fn associate(
        &mut self,
        now: Instant,
        to: SocketAddr,
        retain: bool,
        out: &mut impl Outbox,
    ) -> Result<AssociationId, RequestError> {
        let id = self.begin_association(to, retain)?;
        self.start_setup(now, id, out);
        Ok(id)
    }

    /// The same, with its first try at a time to come, or when the function comes itself: for one that is about
    /// to be restarted.
    pub fn associate_later(
        &mut self,
        to: SocketAddr,
        retain: bool,
        at: Instant,
    ) -> Result<AssociationId, RequestError> {
        let id = self.begin_association(to, retain)?;
        self.change(id, |association| {
            association.state = State::Waiting;
            association.retry_at = at;
        });
        Ok(id)
    }

    /// Association Setup Requests are refused from now on: this function is about to stop.
    pub fn refuse_setups(&mut self) {
        self.refuses_setups = true;
    }

    fn begin_association(
        &mut self,
        to: SocketAddr,
        retain: bool,
    ) -> Result<AssociationId, RequestError> {
        if let Some(id) = self.associations.by_address(to) {
            return Err(RequestError::AlreadyAssociated(id));
        }
        let mut association = Association::new(to);
        association.initiated_here = true;
        association.retain = retain;
        let id = self.associations.insert(association);
        let id = id.ok_or(RequestError::TooManyAssociations)?;
        self.learn(id, to);
        Ok(id)
    }

    pub(super) fn start_setup(&mut self, now: Instant, id: AssociationId, out: &mut impl Outbox) {
        self.change(id, |association| {
            association.state = State::Connecting;
            association.heartbeat_at = Instant::NEVER;
            association.retry_at = Instant::NEVER;
            association.release_at = Instant::NEVER;
        });
        let Some(association) = self.associations.get(id) else {
            return;
        };
        let request = OutRequest {
            to: association.primary,
            message_type: MessageType::ASSOCIATION_SETUP_REQUEST,
            seid: None,
            purpose: Purpose::Setup(id),
        };
        let (config, retain) = (&self.config, association.retain);
        let sent = self.sender.request(now, request, out, |w| {
            codec::write_setup_request(w, config, retain)
        });
        if sent.is_err() {
            self.set_up_later(now, id);
        }
    }

    pub(super) fn set_up_later(&mut self, now: Instant, id: AssociationId) {
        let retry_at = now.plus_ms(self.config.setup_retry_ms.into());
        self.change(id, |association| {
            association.state = State::Waiting;
            association.retry_at = retry_at;
        });
    }

    pub(super) fn setup_response(
        &mut self,
        now: Instant,
        id: AssociationId,
        peer: SocketAddr,
        body: &[u8],
    ) {
        match codec::setup_response(body) {
            Ok(Ok(response)) => self.set_up(now, id, peer, response),
            Ok(Err(cause)) => {
                self.count(Counter::SetupRejected);
                self.set_up_later(now, id);
                self.event(Event::SetupRejected {
                    association: id,
                    cause,
                });
            }
            Err(_) => {
                self.count(Counter::MalformedResponse);
                self.set_up_later(now, id);
            }
        }
    }

    /// Our set-up was accepted.
    fn set_up(
        &mut self,
        now: Instant,
        id: AssociationId,
        peer: SocketAddr,
        response: SetupResponse,
    ) {
        let SetupResponse {
            peer: function,
            sessions_retained,
        } = response;
        let other = self
            .associations
            .by_node_id(&function.node_id)
            .filter(|other| *other != id);
        let Some(other) = other else {
            self.establish(now, id, peer, peer, function);
            return self.event(Event::AssociationUp {
                association: id,
                sessions_retained,
            });
        };
        // Another of our associations turns out to be with the same function, and by this
        // set-up the function has replaced it (only one is allowed: TS 29.244, 5.8.1).
        self.end_association(id, DownReason::SameNode(other));
        self.cancel_requests(other);
        self.change(other, |association| association.initiated_here = true);
        self.establish(now, other, peer, peer, function);
        let retain = if sessions_retained {
            Retention::All
        } else {
            Retention::None
        };
        self.event(Event::AssociationReplaced {
            association: other,
            retain,
        });
    }

    /// The peer asks to set up its association (TS 29.244, 6.2.6.2.2 and 6.2.6.3.2).
    pub(super) fn setup_request(
        &mut self,
        now: Instant,
        reply: &ReplyTo,
        body: &[u8],
        out: &mut impl Outbox,
    ) -> Result<(), RequestError> {
        let answer = match codec::setup_request(body) {
            Ok(_) if self.refuses_setups => (Cause::NO_RESOURCES_AVAILABLE, false),
            Ok(request) => match self.holder_elsewhere(&request.peer.node_id, reply.peer) {
                Some((id, _)) => return self.take_over(now, id, (reply, request), out),
                None => self.accept_setup(now, reply.peer, request),
            },
            Err(reject) => {
                self.count(Counter::MalformedRequest);
                self.sender.refused_for.offending_ie = reject.offending_ie;
                (reject.cause, false)
            }
        };
        self.answer_setup(now, reply, answer, out)
    }

    pub(super) fn answer_setup(
        &mut self,
        now: Instant,
        reply: &ReplyTo,
        (cause, retained): (Cause, bool),
        out: &mut impl Outbox,
    ) -> Result<(), RequestError> {
        let config = &self.config;
        self.sender.respond(now, reply, None, out, |w| {
            codec::write_setup_response(w, config, cause, retained)
        })
    }

    /// Gives the cause for the response, and whether sessions were retained.
    pub(super) fn accept_setup(
        &mut self,
        now: Instant,
        peer: SocketAddr,
        request: SetupRequest,
    ) -> (Cause, bool) {
        let SetupRequest {
            peer: function,
            retain,
        } = request;
        let known = self.associations.by_node_id(&function.node_id);
        let Some(id) = known.or_else(|| self.place_for(peer)) else {
            self.count(Counter::AssociationLimit);
            return (Cause::NO_RESOURCES_AVAILABLE, false);
        };
        let replaces = self.is_established(id);
        let retains = replaces && self.config.retains_sessions;
        let retain = if retains { retain } else { Retention::None };
        let retained = retain != Retention::None;
        self.cancel_requests(id);
        let primary = self.primary_of(id, peer);
        self.establish(now, id, peer, primary, function);
        self.event(match replaces {
            true => Event::AssociationReplaced {
                association: id,
                retain,
            },
            false => Event::AssociationUp {
                association: id,
                sessions_retained: false,
            },
        });
        (Cause::REQUEST_ACCEPTED, retained)
    }

    /// A place for a peer of unknown name: where our own set-up with that address is under way
    /// (both sides began at once), or a new one.
    fn place_for(&mut self, peer: SocketAddr) -> Option<AssociationId> {
        let begun = self.associations.by_address(peer).filter(|id| {
            let association = self.associations.get(*id);
            association.is_some_and(|association| association.node_id.is_none())
        });
        begun.or_else(|| self.associations.insert(Association::new(peer)))
    }

    /// Primary address of a peer that has set up its association from `peer`: the address that we tried ourselves
    /// before, if it is on the same host.
    fn primary_of(&self, id: AssociationId, peer: SocketAddr) -> SocketAddr {
        let tried = self
            .associations
            .get(id)
            .filter(|association| association.initiated_here);
        match (
            self.config.peer_port,
            tried.map(|association| association.primary),
        ) {
            (PeerPort::Fixed(_), Some(tried)) if tried.ip() == peer.ip() => tried,
            (PeerPort::Fixed(port), _) => SocketAddr::new(peer.ip(), port),
            (PeerPort::Source, _) => peer,
        }
    }

    fn establish(
        &mut self,
        now: Instant,
        id: AssociationId,
        peer: SocketAddr,
        primary: SocketAddr,
        function: codec::Peer,
    ) {
        self.associations.forget_addresses(id);
        self.learn(id, peer);
        for address in function.addresses {
            self.learn_if_new(id, address);
        }
        self.change(id, |association| {
            *association = Association {
                state: State::Up,
                node_id: Some(function.node_id),
                addresses: core::mem::take(&mut association.addresses),
                features: function.features,
                resources: function.resources,
                recovery_time_stamp: function.recovery_time_stamp,
                initiated_here: association.initiated_here,
                retain: association.retain,
                ..Association::new(primary)
            };
        });
        self.schedule_heartbeat(now, id);
    }

    pub(super) fn learn_if_new(&mut self, id: AssociationId, address: IpAddr) {
        let association = self.associations.get(id);
        let known = association.is_some_and(|association| {
            association
                .addresses
                .iter()
                .any(|known| known.ip() == address.to_canonical())
        });
        if !known {
            self.learn_told(id, SocketAddr::new(address, 0));
        }
        let address = address.to_canonical();
        self.change(id, |association| {
            association.borrowed.retain(|known| *known != address)
        });
    }
}
