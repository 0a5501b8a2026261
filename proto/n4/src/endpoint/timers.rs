//! Endpoint timers: retransmission, heartbeats, grace periods.

use super::takeover::PendingTakeover;
use super::{Change, Endpoint};
use crate::association::AssociationId;
use crate::config::Role;
use crate::counters::Counter;
use crate::event::{Event, FailReason};
use crate::time::Instant;
use crate::transport::{Expiry, Outbox};

/// From a release that found no room in the transport to the next try, in milliseconds.
const RELEASE_RETRY_MS: u64 = 1000;
/// How long a CP function that has announced a release waits for the usage reports that come
/// before it: T1 x (N1 + 1) of the default timers, twice, and some room.
pub(super) const PREPARATION_MS: u64 = 10_000;

impl Endpoint {
    pub(super) fn expire_requests(&mut self, now: Instant, out: &mut impl Outbox) {
        while let Some(expiry) = self.sender.outbound.expire(now, out) {
            match expiry {
                Expiry::Retransmitted(_) => self.count(Counter::Retransmitted),
                Expiry::GivenUp(_, purpose) => {
                    self.count(Counter::TimedOut);
                    self.request_failed(now, purpose, FailReason::TimedOut);
                }
            }
        }
    }

    pub(super) fn run_timers(&mut self, now: Instant, out: &mut impl Outbox) {
        self.run_contests(now, out);
        for place in 0..self.associations.places() {
            if let Some(id) = self.associations.at(place) {
                self.run_timers_of(now, id, out);
            }
        }
        // Only now: while one timer of an association runs, another may still be due.
        let timers = self.associations.iter().map(|(_, a)| a.next_timer());
        let takeovers = self.takeovers.iter().map(PendingTakeover::next_timer);
        self.next_timer = timers.chain(takeovers).min().unwrap_or(Instant::NEVER);
    }

    fn run_timers_of(&mut self, now: Instant, id: AssociationId, out: &mut impl Outbox) {
        let Some(association) = self.associations.get(id) else {
            return;
        };
        let (heartbeat_at, retry_at, release_at) = (
            association.heartbeat_at,
            association.retry_at,
            association.release_at,
        );
        if heartbeat_at <= now {
            self.send_heartbeat(now, id, out);
        }
        if retry_at <= now {
            self.start_setup(now, id, out);
        }
        if release_at <= now {
            self.release_due(now, id, out);
        }
    }

    fn release_due(&mut self, now: Instant, id: AssociationId, out: &mut impl Outbox) {
        self.change(id, |association| association.release_at = Instant::NEVER);
        match self.role {
            Role::Up => self.event(Event::GracefulPeriodOver { association: id }),
            Role::Cp => {
                let prepares = self.may_prepare(id)
                    && self
                        .update(now, id, Change::ReleasePreparation, out)
                        .is_ok();
                if !prepares && self.release(now, id, out).is_err() {
                    let again = now.plus_ms(RELEASE_RETRY_MS);
                    self.change(id, |association| association.release_at = again);
                }
            }
        }
    }

    /// Usage is reported before the release where both sides can (EPFAR, TS 29.244, 5.18).
    fn may_prepare(&self, id: AssociationId) -> bool {
        let association = self.associations.get(id);
        self.config.features.epfar()
            && association.is_some_and(|a| a.features.epfar() && !a.preparing_release)
    }
}
