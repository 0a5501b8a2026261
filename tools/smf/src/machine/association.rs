//! PFCP association of the SMF with the UPF, and its loss.

use sluice_n4::{Change, Event, FailReason, Features, Instant, Outbox};
use sluice_wire::pfcp::MessageType;
use sluice_wire::pfcp::value::NtpTime;

use super::answer::Operation;
use super::{Done, Machine, Ticket};
use crate::SmfError;
use crate::error::Rejection;

/// The UPF as it presents itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Peer {
    /// UP Function Features of the UPF.
    pub features: Features,
    /// When it started, by its own clock.
    pub recovery_time_stamp: NtpTime,
    /// Whether the UPF stopped answering heartbeats.
    pub is_lost: bool,
}

impl Machine {
    /// Sets up the association (TS 29.244, 6.2.6); if there is one already, it stays. Fails when
    /// the UPF refuses, or after as long as a request without answer takes.
    pub fn associate(&mut self, now: Instant, out: &mut impl Outbox) -> Ticket {
        let ticket = self.ticket();
        if let Some(peer) = self.peer() {
            self.finish(ticket, Ok(Done::Associated(peer)));
            return ticket;
        }
        if self.association.is_none() {
            match self.endpoint.associate(now, self.upf, false, out) {
                Ok(id) => self.association = Some(id),
                Err(error) => {
                    let request = MessageType::ASSOCIATION_SETUP_REQUEST;
                    self.finish(ticket, Err(SmfError::NotSent { request, error }));
                    return ticket;
                }
            }
        }
        let config = self.endpoint.config();
        let until = now.plus_ms(u64::from(config.t1_ms) * (u64::from(config.n1) + 1));
        self.expect(ticket, Operation::Associate { until });
        ticket
    }

    /// Releases the association (6.2.8); all sessions end with it.
    pub fn release(&mut self, now: Instant, out: &mut impl Outbox) -> Ticket {
        let ticket = self.ticket();
        let request = MessageType::ASSOCIATION_RELEASE_REQUEST;
        let released = self
            .association
            .ok_or(SmfError::NotAssociated)
            .and_then(|id| {
                let released = self.endpoint.release(now, id, out);
                released.map_err(|error| SmfError::NotSent { request, error })
            });
        match released {
            Ok(()) => {
                self.expect(ticket, Operation::Release);
                self.take_events();
            }
            Err(error) => self.finish(ticket, Err(error)),
        }
        ticket
    }

    /// Releases the association when the UPF has reported the last usage of all sessions (5.18,
    /// EPFAR), which come as [`SessionReport`](super::SessionReport)s.
    pub fn release_after_reports(&mut self, now: Instant, out: &mut impl Outbox) -> Ticket {
        let ticket = self.ticket();
        let request = MessageType::ASSOCIATION_UPDATE_REQUEST;
        let announced = self
            .association
            .ok_or(SmfError::NotAssociated)
            .and_then(|id| {
                let change = Change::ReleasePreparation;
                let announced = self.endpoint.update(now, id, change, out);
                announced.map_err(|error| SmfError::NotSent { request, error })
            });
        match announced {
            Ok(_) => self.expect(ticket, Operation::Release),
            Err(error) => self.finish(ticket, Err(error)),
        }
        ticket
    }

    /// The UPF, while the association is up.
    pub fn peer(&self) -> Option<Peer> {
        let association = self.endpoint.association(self.association?)?;
        association.is_established().then(|| Peer {
            features: association.features(),
            recovery_time_stamp: association.recovery_time_stamp(),
            is_lost: association.is_lost(),
        })
    }

    pub(super) fn take_events(&mut self) {
        while let Some(event) = self.endpoint.next_event() {
            self.take_event(event);
        }
    }

    pub(super) fn take_event(&mut self, event: Event) {
        match event {
            Event::AssociationUp { association, .. } => {
                self.association = Some(association);
                self.associated();
            }
            Event::AssociationReplaced { association, .. } => {
                self.association = Some(association);
                self.sessions.clear();
                self.associated();
            }
            Event::SetupRejected { association, cause } => {
                let rejection = Rejection {
                    cause,
                    offending_ie: None,
                    failed_rule: None,
                };
                self.fail_associating(|request| SmfError::Rejected { request, rejection });
                // Whoever wants another try says so.
                let _ = self.endpoint.forget(association);
            }
            Event::AssociationDown { association, .. } => self.association_down(association),
            // Its sessions went with it; the endpoint sets up the association anew.
            Event::PeerRestarted { .. } => self.sessions.clear(),
            Event::RequestFailed { tag, reason, .. } => self.take_failure(tag, reason),
            Event::AssociationUpdated { .. }
            // Another association of the same UPF follows, or nothing has changed.
            | Event::TakenOver { .. }
            | Event::TakeoverRefused { .. }
            | Event::AddressLearned { .. }
            | Event::UpdateAnswered { .. }
            | Event::ReleaseRequested { .. }
            | Event::ReleasePreparation { .. }
            | Event::GracefulPeriodOver { .. }
            | Event::PeerLost { .. }
            | Event::PeerRecovered { .. } => {}
        }
    }

    fn association_down(&mut self, ended: sluice_n4::AssociationId) {
        if self.association != Some(ended) {
            return;
        }
        self.association = None;
        self.sessions.clear();
        for ticket in self.tickets_of(|operation| matches!(operation, Operation::Release)) {
            self.finish(ticket, Ok(Done::Released));
        }
        let reason = FailReason::AssociationEnded;
        self.fail_associating(|request| SmfError::NoAnswer { request, reason });
    }

    fn associated(&mut self) {
        let Some(peer) = self.peer() else { return };
        for ticket in self.tickets_of(is_associating) {
            self.finish(ticket, Ok(Done::Associated(peer)));
        }
    }

    fn fail_associating(&mut self, error: impl Fn(MessageType) -> SmfError) {
        for ticket in self.tickets_of(is_associating) {
            self.finish(ticket, Err(error(MessageType::ASSOCIATION_SETUP_REQUEST)));
        }
    }

    /// When we give up waiting for an association.
    pub(super) fn patience(&self) -> Option<Instant> {
        let until = |operation: &Operation| match operation {
            Operation::Associate { until } => Some(*until),
            _ => None,
        };
        self.operations.values().filter_map(until).min()
    }

    pub(super) fn lose_patience(&mut self, now: Instant) {
        if self.patience().is_some_and(|until| until <= now) {
            let reason = FailReason::TimedOut;
            self.fail_associating(|request| SmfError::NoAnswer { request, reason });
            if let Some(id) = self.association {
                // The endpoint would try for ever.
                let _ = self.endpoint.forget(id);
                self.take_events();
            }
        }
    }

    /// Takes the operations that `which` picks.
    fn tickets_of(&mut self, which: impl Fn(&Operation) -> bool) -> Vec<Ticket> {
        let taken = self.operations.extract_if(|_, operation| which(operation));
        let mut tickets: Vec<_> = taken.map(|(tag, _)| Ticket(tag)).collect();
        tickets.sort_unstable();
        tickets
    }
}

fn is_associating(operation: &Operation) -> bool {
    matches!(operation, Operation::Associate { .. })
}
