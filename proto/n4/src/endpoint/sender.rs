//! Message sender: encodes requests and responses, sends and retains them.

use std::net::SocketAddr;

use sluice_wire::ids::Seid;
use sluice_wire::pfcp::{Full, Header, MessageType, SequenceNumber, Writer, write_message};

use super::RequestError;
use crate::association::AssociationId;
use crate::codec;
use crate::config::Config;
use crate::counters::{Counter, Counters};
use crate::event::ReplyTo;
use crate::fingerprint;
use crate::refusals::{Refusals, RefusedFor};
use crate::time::Instant;
use crate::transport::{Admission, Outbound, Outbox, RecentRequests, Refusal, RequestTicket};

/// Purpose of a request in flight.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Purpose {
    Heartbeat(AssociationId),
    /// Whether the address that holds a Node ID still answers.
    Probe(AssociationId),
    Setup(AssociationId),
    Update(AssociationId),
    Release(AssociationId),
    Upper {
        association: AssociationId,
        tag: u64,
    },
}

impl Purpose {
    pub fn association(&self) -> AssociationId {
        match self {
            Self::Heartbeat(id)
            | Self::Probe(id)
            | Self::Setup(id)
            | Self::Update(id)
            | Self::Release(id) => *id,
            Self::Upper { association, .. } => *association,
        }
    }
}

/// A request to be sent.
pub struct OutRequest {
    pub to: SocketAddr,
    pub message_type: MessageType,
    pub seid: Option<Seid>,
    pub purpose: Purpose,
}

/// A message as it came.
#[derive(Clone, Copy, Debug)]
pub struct Received<'a> {
    pub peer: SocketAddr,
    pub header: Header,
    pub message: &'a [u8],
    pub body: &'a [u8],
}

impl Received<'_> {
    /// The right to answer it.
    #[inline]
    pub fn reply_to(&self, ticket: RequestTicket) -> ReplyTo {
        ReplyTo {
            ticket,
            peer: self.peer,
            header: self.header,
        }
    }

    /// That of its IEs, and that of all of it.
    fn fingerprints(&self, seed: u64) -> (u64, u64) {
        let head_len = self.message.len().saturating_sub(self.body.len());
        let head = self.message.get(..head_len).unwrap_or_default();
        let ies = fingerprint::of_bytes(seed, self.body);
        (ies, fingerprint::of_message(seed, head, ies))
    }
}

/// A request that did not come before.
pub struct Admitted {
    pub ticket: RequestTicket,
    /// Of its IEs.
    pub fingerprint: u64,
}

/// The transport of one endpoint.
#[derive(Debug)]
pub struct MessageSender {
    pub outbound: Outbound<Purpose>,
    pub inbound: RecentRequests,
    pub counters: Counters,
    pub refusals: Refusals,
    /// For the next response, if that refuses.
    pub refused_for: RefusedFor,
    scratch: Box<[u8]>,
}

impl MessageSender {
    pub fn new(config: &Config) -> Self {
        Self {
            outbound: Outbound::new(config.outbound()),
            inbound: RecentRequests::new(config.inbound()),
            counters: Counters::new(),
            refusals: Refusals::new(),
            refused_for: RefusedFor::default(),
            scratch: vec![0; config.limits.message_len].into_boxed_slice(),
        }
    }

    /// Writes a request, keeps it until its response, and sends it.
    pub fn request(
        &mut self,
        now: Instant,
        out_request: OutRequest,
        out: &mut impl Outbox,
        write: impl FnOnce(&mut Writer<'_>) -> Result<(), Full>,
    ) -> Result<SequenceNumber, RequestError> {
        let OutRequest {
            to,
            message_type,
            seid,
            purpose,
        } = out_request;
        let sequence = self
            .outbound
            .reserve()
            .map_err(|refusal| self.refused(refusal))?;
        let header = Header {
            message_type,
            seid,
            sequence,
            priority: None,
        };
        let message = Self::write(&mut self.scratch, &mut self.counters, &header, write)?;
        let kept = match purpose {
            Purpose::Probe(_) => {
                let outbound = &mut self.outbound;
                outbound.keep_once(now, to, message_type, purpose, message)
            }
            _ => self.outbound.keep(now, to, message_type, purpose, message),
        };
        if kept.is_ok() {
            out.send(to, message);
        }
        kept.map_err(|refusal| self.refused(refusal))?;
        self.counters.count_sent(message_type);
        Ok(sequence)
    }

    /// Recognises a request that came before; `None` if it did, and it is then dealt with.
    pub fn admit(
        &mut self,
        now: Instant,
        received: &Received<'_>,
        out: &mut impl Outbox,
    ) -> Option<Admitted> {
        let Received { peer, header, .. } = *received;
        let (fingerprint, whole) = received.fingerprints(self.inbound.hash_seed());
        let sequence = header.sequence.get();
        let duplicate = match self.inbound.admit(now, peer, sequence, whole) {
            Admission::New(ticket) => {
                return Some(Admitted {
                    ticket,
                    fingerprint,
                });
            }
            Admission::Answered(response) => {
                out.send(peer, response);
                if let Some(response) = header.message_type.response() {
                    self.counters.count_sent(response);
                }
                Counter::DuplicateAnswered
            }
            Admission::InProgress => Counter::DuplicateInProgress,
            Admission::ResponseGone => Counter::DuplicateResponseGone,
        };
        self.counters.count(duplicate);
        None
    }

    /// Writes and sends a response, and remembers it for when the request comes again.
    pub fn respond(
        &mut self,
        now: Instant,
        to: &ReplyTo,
        seid: Option<Seid>,
        out: &mut impl Outbox,
        write: impl FnOnce(&mut Writer<'_>) -> Result<(), Full>,
    ) -> Result<(), RequestError> {
        let header = response_header(&to.header, seid);
        let message = Self::write(&mut self.scratch, &mut self.counters, &header, write)?;
        self.inbound.answered(now, to.ticket, message);
        out.send(to.peer, message);
        self.counters.count_sent(header.message_type);
        if let Some(cause) = codec::cause_of(message) {
            self.counters.count_cause(header.message_type, cause);
            if !cause.is_acceptance() {
                let why = (cause, core::mem::take(&mut self.refused_for));
                self.refusals.note(now, to.peer, &to.header, why, message);
            }
        }
        Ok(())
    }

    /// Writes and sends a response that may be made anew each time the request comes.
    pub fn respond_each_time(
        &mut self,
        to: SocketAddr,
        header: &Header,
        out: &mut impl Outbox,
        write: impl FnOnce(&mut Writer<'_>) -> Result<(), Full>,
    ) {
        if let Ok(message) = Self::write(&mut self.scratch, &mut self.counters, header, write) {
            out.send(to, message);
            self.counters.count_sent(header.message_type);
        }
    }

    fn write<'s>(
        scratch: &'s mut [u8],
        counters: &mut Counters,
        header: &Header,
        write: impl FnOnce(&mut Writer<'_>) -> Result<(), Full>,
    ) -> Result<&'s [u8], RequestError> {
        let written = write_message(scratch, header, write);
        let message = written.ok().and_then(|len| scratch.get(..len));
        if message.is_none() {
            counters.count(Counter::TooLong);
        }
        message.ok_or(RequestError::TooLong)
    }

    fn refused(&mut self, refusal: Refusal) -> RequestError {
        match refusal {
            Refusal::TooManyInFlight => self.counters.count(Counter::RefusedInFlight),
            Refusal::NoMemory => self.counters.count(Counter::RefusedMemory),
        }
        RequestError::Refused(refusal)
    }
}

/// The header of the response to a request: same sequence number and priority.
pub fn response_header(request: &Header, seid: Option<Seid>) -> Header {
    // Only requests are ever answered, and every request has a response type.
    let message_type = request
        .message_type
        .response()
        .unwrap_or(request.message_type);
    Header {
        message_type,
        seid,
        ..*request
    }
}
