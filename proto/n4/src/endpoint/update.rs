//! PFCP Association Update from either side (TS 29.244, 6.2.7, 5.18).

use sluice_wire::pfcp::value::Timer;
use sluice_wire::pfcp::{Cause, MessageType, SequenceNumber};

use super::sender::{OutRequest, Purpose};
use super::timers::PREPARATION_MS;
use super::{Endpoint, RequestError};
use crate::association::{AssociationId, Features, State};
use crate::cidr::Cidr;
use crate::codec::{self, GracefulPeriod, UpdateRequest};
use crate::config::Role;
use crate::counters::Counter;
use crate::event::{Event, ReplyTo};
use crate::time::Instant;
use crate::transport::Outbox;

/// Contents of our Association Update Request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Change<'a> {
    /// Our features are now these; later set-ups state them too.
    Features(Features),
    /// The association is about to be released and usage to be reported before (PARPS, TS
    /// 29.244, 5.18); both sides must have stated EPFAR.
    ReleasePreparation,
    /// A UP function asks for the release (SARR), after this many seconds, or at once.
    ReleaseRequest {
        /// How long sessions may stay, in seconds; rounded up to what the timer can express.
        graceful_period_s: Option<u32>,
    },
    /// A UP function has sent all usage reports that had to come before the release (SARR and
    /// URSS).
    UsageReportsSent,
    /// Encoded IEs, such as UE IP address Pool Information.
    Ies(&'a [u8]),
}

impl Endpoint {
    /// Sends an Association Update Request; [`Event::UpdateAnswered`] tells its end.
    pub fn update(
        &mut self,
        now: Instant,
        id: AssociationId,
        change: Change<'_>,
        out: &mut impl Outbox,
    ) -> Result<SequenceNumber, RequestError> {
        let association = self
            .associations
            .get(id)
            .ok_or(RequestError::NoAssociation)?;
        if association.state != State::Up {
            return Err(RequestError::NotEstablished);
        }
        let epfar = association.features.epfar() && self.config.features.epfar();
        self.check_change(&change, epfar)?;
        if let Change::Features(features) = change {
            self.config.features = self.config.features.updated(features);
        }
        let request = OutRequest {
            to: association.primary,
            message_type: MessageType::ASSOCIATION_UPDATE_REQUEST,
            seid: None,
            purpose: Purpose::Update(id),
        };
        let node_id = &self.config.node_id;
        let sequence = self.sender.request(now, request, out, |w| {
            codec::write_update_request(w, node_id, &change)
        })?;
        self.change_sent(now, id, &change);
        Ok(sequence)
    }

    /// Our features are now these for associations that are set up from now on; those that are up are told by
    /// [`update`](Self::update).
    pub fn set_features(&mut self, features: Features) {
        self.config.features = self.config.features.updated(features);
    }

    /// Peers that may talk to us from now on, as [`Config::allowed_peers`].
    ///
    /// [`Config::allowed_peers`]: crate::Config::allowed_peers
    pub fn set_allowed_peers(&mut self, peers: Vec<Cidr>) {
        self.config.allowed_peers = peers;
    }

    /// The last usage of sessions still comes after a release was announced: there is time for the next report.
    pub fn prolong_preparation(&mut self, now: Instant, id: AssociationId) {
        let association = self.associations.get(id);
        if association.is_some_and(|association| association.preparing_release) {
            self.prepare_release(now, id);
        }
    }

    fn check_change(&self, change: &Change<'_>, epfar: bool) -> Result<(), RequestError> {
        match change {
            Change::ReleaseRequest { .. } | Change::UsageReportsSent if self.role == Role::Cp => {
                Err(RequestError::WrongRole(Role::Cp))
            }
            Change::ReleasePreparation | Change::UsageReportsSent if !epfar => {
                Err(RequestError::NoEpfar)
            }
            _ => Ok(()),
        }
    }

    fn change_sent(&mut self, now: Instant, id: AssociationId, change: &Change<'_>) {
        match change {
            Change::ReleasePreparation => self.prepare_release(now, id),
            Change::ReleaseRequest { graceful_period_s } => {
                let release_at = match graceful_period_s {
                    // As long as the timer that the peer was told.
                    Some(period_s) => {
                        let told_s = Timer::at_least_s(*period_s).duration_s();
                        let told = told_s.map_or(GracefulPeriod::Infinite, GracefulPeriod::Seconds);
                        told.end(now)
                    }
                    // At once: as long as an answer takes.
                    None => now.plus_ms(self.config.t1_ms.into()),
                };
                self.change(id, |association| association.release_at = release_at);
            }
            _ => {}
        }
    }

    pub(super) fn update_response(&mut self, association: AssociationId, body: &[u8]) {
        let cause = codec::update_response(body).ok();
        if cause.is_none() {
            self.count(Counter::MalformedResponse);
        }
        self.event(Event::UpdateAnswered { association, cause });
    }

    pub(super) fn update_request(
        &mut self,
        now: Instant,
        reply: &ReplyTo,
        body: &[u8],
        out: &mut impl Outbox,
    ) -> Result<(), RequestError> {
        let cause = match codec::update_request(body) {
            Err(reject) => {
                self.count(Counter::MalformedRequest);
                self.sender.refused_for.offending_ie = reject.offending_ie;
                reject.cause
            }
            Ok(update) => match self.held_by(&update.node_id, reply.peer) {
                Ok(id) if self.is_established(id) => {
                    self.apply_update(now, id, reply, update);
                    Cause::REQUEST_ACCEPTED
                }
                Ok(_) => {
                    self.count(Counter::NoAssociation);
                    Cause::NO_ESTABLISHED_PFCP_ASSOCIATION
                }
                Err(cause) => cause,
            },
        };
        let node_id = &self.config.node_id;
        self.sender.respond(now, reply, None, out, |w| {
            codec::write_update_response(w, node_id, cause)
        })
    }

    fn apply_update(
        &mut self,
        now: Instant,
        id: AssociationId,
        reply: &ReplyTo,
        update: UpdateRequest,
    ) {
        self.learn_if_new(id, reply.peer.ip());
        let states_something = update.features != Features::default()
            || !update.resources.is_empty()
            || !update.addresses.is_empty();
        for address in &update.addresses {
            self.learn_if_new(id, *address);
        }
        self.change(id, |association| {
            association.features = association.features.updated(update.features);
            if !update.resources.is_empty() {
                association.resources = update.resources;
            }
        });
        if states_something {
            self.event(Event::AssociationUpdated { association: id });
        }
        if update.preparation {
            self.prepare_release(now, id);
            self.event(Event::ReleasePreparation { association: id });
        }
        if update.release_requested && self.role == Role::Cp {
            self.release_requested(now, id, update.graceful_period);
        }
    }

    /// The release was announced. The CP function gives the UP function the time to report.
    fn prepare_release(&mut self, now: Instant, id: AssociationId) {
        let is_cp = self.role == Role::Cp;
        self.change(id, |association| {
            association.preparing_release = true;
            if is_cp {
                association.release_at = now.plus_ms(PREPARATION_MS);
            }
        });
    }

    /// The UP function wants the association released; see that it is, in time.
    fn release_requested(
        &mut self,
        now: Instant,
        id: AssociationId,
        period: Option<GracefulPeriod>,
    ) {
        let release_at = period.map_or(now, |period| period.end(now));
        self.change(id, |association| association.release_at = release_at);
        let graceful_period_s = period.map(GracefulPeriod::seconds);
        self.event(Event::ReleaseRequested {
            association: id,
            graceful_period_s,
        });
    }

    pub(super) fn is_established(&self, id: AssociationId) -> bool {
        self.associations
            .get(id)
            .is_some_and(|association| association.is_established())
    }
}
