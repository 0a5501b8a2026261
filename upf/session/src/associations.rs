//! Sessions of an association when their CP function comes, goes, restarts or falls silent (TS
//! 29.244, 6.2.6 to 6.2.8; TS 23.527, 4.2 and 4.3).

use crate::association_release::{self, UsageBeforeRelease};
use crate::events::SessionEvent;
use crate::function::{Effects, UpFunction};
use crate::network::Network;
use crate::state::Moment;
use crate::store::{Session, SessionRef};
use core::net::{IpAddr, SocketAddr};
use sluice_n4::{AssociationId, Change, Event, Instant, RequestError, Retention};
use sluice_wire::ids::Seid;
use sluice_wire::pfcp::value::NtpTime;

impl UpFunction {
    /// Sets up the association with the CP function at `to`, until it is there and again when it
    /// has restarted; it ends when the CP function releases it (6.2.6.3).
    ///
    /// # Errors
    /// If there is one already, or no room for one more.
    pub fn associate<E: Effects>(
        &mut self,
        now: Instant,
        to: SocketAddr,
        out: &mut E,
    ) -> Result<(), RequestError> {
        // What sessions there were ended with the UP function that had them.
        self.endpoint.associate(now, to, false, out).map(|_| ())
    }

    /// Asks every CP function to release its association within `period_s` seconds (SARR, Graceful
    /// Release Period), with 0 at once. New sessions are refused from now on.
    pub fn begin_release<N: Network, E: Effects>(
        &mut self,
        now: Instant,
        wall: NtpTime,
        period_s: u32,
        net: &mut N,
        out: &mut E,
    ) {
        self.state.releasing = true;
        let ids: Vec<AssociationId> = self.endpoint.associations().map(|(id, _)| id).collect();
        let change = Change::ReleaseRequest {
            graceful_period_s: (period_s > 0).then_some(period_s),
        };
        for id in ids {
            if self.endpoint.update(now, id, change, out).is_err() {
                self.state.notice(SessionEvent::NotReleased(id));
            }
        }
        let at = Moment { now, wall };
        self.events(at);
        self.follow_up(at, net, out);
    }

    /// True if no association and no session is left, and nothing is under way.
    pub fn is_released(&self) -> bool {
        self.endpoint.associations().next().is_none()
            && self.state.store.len() == 0
            && self.state.pending.len() == 0
    }

    pub(super) fn events(&mut self, at: Moment) {
        while let Some(event) = self.endpoint.next_event() {
            self.event(at, event);
        }
    }

    pub(super) fn event(&mut self, at: Moment, event: Event) {
        match event {
            Event::AssociationUp { association, .. } => {
                self.answers_again(association);
                self.state.notice(SessionEvent::Up(association));
            }
            Event::AssociationReplaced {
                association,
                retain,
            } => {
                self.answers_again(association);
                self.restarted(association, |s| !is_retained(&retain, s));
            }
            Event::PeerRestarted { association } => self.restarted(association, |_| true),
            Event::AssociationDown {
                association,
                reason,
            } => {
                self.answers_again(association);
                let sessions = self.state.store.doom(association, |_| true);
                self.state
                    .notice(SessionEvent::Down(association, reason, sessions));
            }
            Event::PeerLost { association } => self.lost(at, association),
            Event::PeerRecovered { association } => {
                self.answers_again(association);
                self.state.notice(SessionEvent::Recovered(association));
            }
            Event::GracefulPeriodOver { association } => {
                self.begin_farewell(association, UsageBeforeRelease::ToAnnounce);
            }
            Event::ReleasePreparation { association } => {
                self.begin_farewell(association, UsageBeforeRelease::Reporting(0));
            }
            Event::RequestFailed {
                association, tag, ..
            } if tag == association_release::TAG => self.final_report_ended(association, None),
            Event::RequestFailed {
                association, tag, ..
            } => {
                self.report_failed(association, SessionRef::from_seid(Seid(tag)), None);
            }
            Event::TakenOver {
                association,
                holder,
                peer,
            } => self
                .state
                .notice(SessionEvent::TakenOver(association, holder, peer)),
            Event::SetupRejected { association, cause } => {
                self.state
                    .notice(SessionEvent::SetupRejected(association, cause));
            }
            // It stands among the refusals, with both addresses.
            Event::TakeoverRefused { .. }
            | Event::AssociationUpdated { .. }
            | Event::UpdateAnswered { .. }
            | Event::ReleaseRequested { .. } => {}
        }
    }

    pub(super) fn give_up_silent_peers(&mut self, now: Instant) {
        if now < self.state.gives_up_first {
            return;
        }
        self.state.gives_up_first = Instant::NEVER;
        for at in 0..self.state.associations.len() {
            let Some(memory) = self.state.associations.get_mut(at) else {
                return;
            };
            let (Some(id), Some(deadline)) = (memory.id, memory.gives_up) else {
                continue;
            };
            if deadline > now {
                let first = &mut self.state.gives_up_first;
                *first = deadline.min(*first);
            } else {
                memory.gives_up = None;
                let sessions = self.state.store.doom(id, |_| true);
                self.state.notice(SessionEvent::GivenUp(id, sessions));
            }
        }
    }

    fn restarted(&mut self, association: AssociationId, ends: impl Fn(&Session) -> bool) {
        if let Some(memory) = self.state.memory(association) {
            memory.farewell = UsageBeforeRelease::None;
        }
        let sessions = self.state.store.doom(association, ends);
        self.state
            .notice(SessionEvent::Restarted(association, sessions));
    }

    fn lost(&mut self, at: Moment, association: AssociationId) {
        let keep_s = self.state.config.peer_loss_keep_s;
        if let Some(memory) = self.state.memory(association) {
            let deadline = at.now.plus_ms(u64::from(keep_s) * 1000);
            memory.gives_up = Some(deadline);
            self.state.gives_up_first = deadline.min(self.state.gives_up_first);
        }
        self.state.notice(SessionEvent::Lost(association, keep_s));
    }

    fn answers_again(&mut self, association: AssociationId) {
        if let Some(memory) = self.state.memory(association) {
            memory.gives_up = None;
        }
    }
}

/// Sessions whose CP F-SEID has one of the addresses stay (6.2.6.2.2).
fn is_retained(retain: &Retention, session: &Session) -> bool {
    match retain {
        Retention::None => false,
        Retention::All => true,
        Retention::Addresses(list) => {
            let v4 = session.cp.ipv4.map(IpAddr::V4);
            let v6 = session.cp.ipv6.map(IpAddr::V6);
            v4.into_iter().chain(v6).any(|a| list.contains(&a))
        }
    }
}
