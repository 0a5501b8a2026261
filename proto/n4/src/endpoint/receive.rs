//! Dispatch of received messages to procedures (TS 29.244, 7.6).

use std::net::{IpAddr, SocketAddr};

use sluice_wire::pfcp::{Cause, Header, HeaderError, MessageType, SequenceNumber};

use super::sender::{Purpose, Received};
use super::{Endpoint, RequestError};
use crate::codec;
use crate::config::Role;
use crate::counters::Counter;
use crate::event::{Event, FailReason, Input, ReplyTo, Response};
use crate::time::Instant;
use crate::transport::{Answer, Outbox};

impl Endpoint {
    /// Deals with one message from `peer`; then take the [events](Self::next_event). Datagrams with
    /// several messages are to be split by [`crate::messages`].
    pub fn handle<'a>(
        &mut self,
        now: Instant,
        peer: SocketAddr,
        message: &'a [u8],
        out: &mut impl Outbox,
    ) -> Input<'a> {
        if !self.is_allowed(peer.ip()) {
            self.count(Counter::NotAllowed);
            self.strangers.note(now, peer, message);
            return Input::Nothing;
        }
        let (header, body) = match Header::parse(message) {
            Ok(parsed) => parsed,
            Err(error) => {
                self.malformed(now, peer, error, out);
                return Input::Nothing;
            }
        };
        let message_type = header.message_type;
        self.sender.counters.count_received(message_type);
        if message_type.is_session_related() && header.seid.is_none() {
            self.count(Counter::MalformedSeid);
            Input::Nothing
        } else if message_type.is_request() {
            let received = Received {
                peer,
                header,
                message,
                body,
            };
            self.receive_request(now, &received, out)
        } else if message_type.is_response() {
            self.receive_response(now, peer, &header, body, out)
        } else {
            Input::Nothing
        }
    }

    /// Whether the configuration lets this peer talk to us.
    pub fn is_allowed(&self, peer: IpAddr) -> bool {
        let allowed = &self.config.allowed_peers;
        allowed.is_empty() || allowed.iter().any(|prefix| prefix.contains(peer))
    }

    fn malformed(
        &mut self,
        now: Instant,
        peer: SocketAddr,
        error: HeaderError,
        out: &mut impl Outbox,
    ) {
        match error {
            HeaderError::TooShort => self.count(Counter::MalformedShort),
            HeaderError::Length { .. } => self.count(Counter::MalformedLength),
            HeaderError::Version { sequence, .. } => {
                self.count(Counter::MalformedVersion);
                self.answer_version(now, peer, sequence, out);
            }
        }
    }

    /// Version Not Supported Response: a header alone, of our version (TS 29.244, 7.4.4.7).
    fn answer_version(
        &mut self,
        now: Instant,
        peer: SocketAddr,
        sequence: SequenceNumber,
        out: &mut impl Outbox,
    ) {
        if self.version_answers.permit(now) {
            let header = Header::node(MessageType::VERSION_NOT_SUPPORTED_RESPONSE, sequence);
            self.sender
                .respond_each_time(peer, &header, out, |_| Ok(()));
        } else {
            self.count(Counter::VersionAnswersWithheld);
        }
    }

    fn receive_request<'a>(
        &mut self,
        now: Instant,
        received: &Received<'a>,
        out: &mut impl Outbox,
    ) -> Input<'a> {
        let Received {
            peer, header, body, ..
        } = *received;
        if !serves(self.role, header.message_type) {
            self.count(Counter::UnexpectedType);
            return Input::Nothing;
        }
        match header.message_type {
            MessageType::HEARTBEAT_REQUEST => {
                self.heartbeat_request(now, peer, &header, body, out);
                Input::Nothing
            }
            MessageType::ASSOCIATION_SETUP_REQUEST
            | MessageType::ASSOCIATION_UPDATE_REQUEST
            | MessageType::ASSOCIATION_RELEASE_REQUEST => {
                if let Some(admitted) = self.sender.admit(now, received, out) {
                    let reply = received.reply_to(admitted.ticket);
                    // A response of our own that is too long for the limits is counted there.
                    let _ = self.association_request(now, &reply, body, out);
                }
                Input::Nothing
            }
            _ => self.upper_request(now, received, out),
        }
    }

    fn association_request(
        &mut self,
        now: Instant,
        reply: &ReplyTo,
        body: &[u8],
        out: &mut impl Outbox,
    ) -> Result<(), RequestError> {
        match reply.request_type() {
            MessageType::ASSOCIATION_SETUP_REQUEST => self.setup_request(now, reply, body, out),
            MessageType::ASSOCIATION_UPDATE_REQUEST => self.update_request(now, reply, body, out),
            _ => self.release_request(now, reply, body, out),
        }
    }

    fn receive_response<'a>(
        &mut self,
        now: Instant,
        peer: SocketAddr,
        header: &Header,
        body: &'a [u8],
        out: &mut impl Outbox,
    ) -> Input<'a> {
        let answer = self
            .sender
            .outbound
            .answer(peer, header.sequence, header.message_type);
        let Answer::To(purpose) = answer else {
            self.count(Counter::UnmatchedResponse);
            return Input::Nothing;
        };
        if header.message_type == MessageType::VERSION_NOT_SUPPORTED_RESPONSE {
            self.request_failed(now, purpose, FailReason::VersionNotSupported);
            return Input::Nothing;
        }
        match purpose {
            Purpose::Heartbeat(id) => self.heartbeat_response(now, id, body, out),
            Purpose::Probe(id) => self.probe_response(now, id, body, out),
            Purpose::Setup(id) => self.setup_response(now, id, peer, body),
            Purpose::Update(id) => self.update_response(id, body),
            Purpose::Release(id) => self.release_response(id),
            Purpose::Upper { association, tag } => {
                if codec::cause(body) == Some(Cause::NO_ESTABLISHED_PFCP_ASSOCIATION) {
                    self.hasten_heartbeat(now, association);
                }
                let header = *header;
                return Input::Response(Response {
                    association,
                    tag,
                    header,
                    body,
                });
            }
        }
        Input::Nothing
    }

    /// Deals with a request that will not be answered any more.
    pub(super) fn request_failed(&mut self, now: Instant, purpose: Purpose, reason: FailReason) {
        match purpose {
            Purpose::Heartbeat(id) => self.heartbeat_lost(now, id),
            // The takeover has a time of its own.
            Purpose::Probe(_) => {}
            Purpose::Setup(id) => self.set_up_later(now, id),
            Purpose::Update(association) => {
                self.event(Event::UpdateAnswered {
                    association,
                    cause: None,
                });
            }
            // The peer is gone; the association is released all the same.
            Purpose::Release(id) => self.release_response(id),
            Purpose::Upper { association, tag } => {
                self.event(Event::RequestFailed {
                    association,
                    tag,
                    reason,
                });
            }
        }
    }
}

/// Whether a function of this role serves a request (TS 29.244, Table 7.3-1).
fn serves(role: Role, request: MessageType) -> bool {
    match request {
        MessageType::HEARTBEAT_REQUEST
        | MessageType::ASSOCIATION_SETUP_REQUEST
        | MessageType::ASSOCIATION_UPDATE_REQUEST
        | MessageType::SESSION_SET_DELETION_REQUEST => true,
        MessageType::NODE_REPORT_REQUEST | MessageType::SESSION_REPORT_REQUEST => role == Role::Cp,
        _ => role == Role::Up,
    }
}
