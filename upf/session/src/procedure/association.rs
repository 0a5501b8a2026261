//! Sessions of an association when their CP function comes, goes, restarts or falls silent (TS
//! 29.244, 6.2.6 to 6.2.8; TS 23.527, 4.2 and 4.3).

use crate::network::Network;
use crate::pending::Launch;
use crate::procedure::{association_release, node_report, report};
use crate::reports::events::SessionEvent;
use crate::sessions::{Effects, Node};
use crate::sessions::{Moment, Sessions, UsageBeforeRelease};
use crate::store::{Session, SessionRef};
use core::net::IpAddr;
use sluice_n4::{AssociationId, Change, Event, Instant, Response, Retention};
use sluice_wire::ids::Seid;

/// Asks every CP function to release its association within `period_s` seconds (SARR, Graceful
/// Release Period), with 0 at once. New sessions and associations are refused from now on.
pub fn ask_for_release<E: Effects>(node: &mut Node, now: Instant, period_s: u32, out: &mut E) {
    let Node {
        endpoint, sessions, ..
    } = node;
    sessions.releasing = true;
    endpoint.refuse_setups();
    let ids: Vec<AssociationId> = endpoint.associations().map(|(id, _)| id).collect();
    let change = Change::ReleaseRequest {
        graceful_period_s: (period_s > 0).then_some(period_s),
    };
    for id in ids {
        if endpoint.update(now, id, change, out).is_err() {
            sessions.tell(SessionEvent::NotReleased(id));
        }
    }
}

/// What the endpoint has learnt of its peers.
pub fn events(node: &mut Node, at: Moment) {
    while let Some(event) = node.endpoint.next_event() {
        handle(&mut node.sessions, at, event);
    }
}

/// A response to a request of ours.
pub fn answered<N: Network>(
    sessions: &mut Sessions,
    at: Moment,
    response: &Response<'_>,
    net: &mut N,
) -> Option<Launch> {
    match response.tag {
        association_release::TAG => {
            let cause = report::cause(response);
            association_release::report_ended(sessions, response.association, cause);
            None
        }
        node_report::TAG => {
            node_report::answered(sessions, response);
            None
        }
        _ => report::answered(sessions, at, response, net),
    }
}

fn handle(sessions: &mut Sessions, at: Moment, event: Event) {
    match event {
        Event::AssociationUp { association, .. } => {
            answers_again(sessions, association);
            sessions.paths.begin(association);
            sessions.tell(SessionEvent::Up(association));
        }
        Event::AssociationReplaced {
            association,
            retain,
        } => {
            answers_again(sessions, association);
            restarted(sessions, association, |s| !is_retained(&retain, s));
        }
        Event::PeerRestarted { association } => restarted(sessions, association, |_| true),
        Event::AssociationDown {
            association,
            reason,
        } => {
            answers_again(sessions, association);
            sessions.paths.end(association);
            let ended = sessions.store.doom(association, |_| true);
            sessions.tell(SessionEvent::Down(association, reason, ended));
        }
        Event::PeerLost { association } => lost(sessions, at, association),
        Event::PeerRecovered { association } => {
            answers_again(sessions, association);
            sessions.paths.hasten(association);
            sessions.tell(SessionEvent::Recovered(association));
        }
        Event::GracefulPeriodOver { association } => {
            association_release::begin(sessions, association, UsageBeforeRelease::ToAnnounce);
        }
        Event::ReleasePreparation { association } => {
            association_release::begin(sessions, association, UsageBeforeRelease::Reporting(0));
        }
        Event::RequestFailed {
            association, tag, ..
        } if tag == association_release::TAG => {
            association_release::report_ended(sessions, association, None)
        }
        Event::RequestFailed {
            association, tag, ..
        } if tag == node_report::TAG => node_report::failed(sessions, at.now, association),
        Event::RequestFailed {
            association, tag, ..
        } => {
            let name = SessionRef::from_seid(Seid(tag));
            report::not_answered(sessions, association, name);
        }
        Event::TakenOver {
            association,
            holder,
            peer,
        } => sessions.tell(SessionEvent::TakenOver(association, holder, peer)),
        Event::AddressLearned {
            association,
            holder,
            peer,
        } => sessions.tell(SessionEvent::AddressLearned(association, holder, peer)),
        Event::SetupRejected { association, cause } => {
            sessions.tell(SessionEvent::SetupRejected(association, cause));
        }
        // It stands among the refusals, with both addresses.
        Event::TakeoverRefused { .. }
        | Event::AssociationUpdated { .. }
        | Event::UpdateAnswered { .. }
        | Event::ReleaseRequested { .. } => {}
    }
}

/// Sessions of peers that have been silent for too long end.
pub fn give_up_silent_peers(sessions: &mut Sessions, now: Instant) {
    if now < sessions.gives_up_first {
        return;
    }
    sessions.gives_up_first = Instant::NEVER;
    for at in 0..sessions.associations.len() {
        let Some(memory) = sessions.associations.get_mut(at) else {
            return;
        };
        let (Some(id), Some(deadline)) = (memory.id, memory.gives_up) else {
            continue;
        };
        if deadline > now {
            let first = &mut sessions.gives_up_first;
            *first = deadline.min(*first);
        } else {
            memory.gives_up = None;
            let ended = sessions.store.doom(id, |_| true);
            sessions.tell(SessionEvent::GivenUp(id, ended));
        }
    }
}

fn restarted(sessions: &mut Sessions, association: AssociationId, ends: impl Fn(&Session) -> bool) {
    if let Some(memory) = sessions.memory(association) {
        memory.release = UsageBeforeRelease::None;
    }
    sessions.paths.begin(association);
    let ended = sessions.store.doom(association, ends);
    sessions.tell(SessionEvent::Restarted(association, ended));
}

fn lost(sessions: &mut Sessions, at: Moment, association: AssociationId) {
    let keep_s = sessions.config.peer_loss_keep_s;
    sessions.reports.set_silent(association, true);
    if let Some(memory) = sessions.memory(association) {
        let deadline = at.now.plus_ms(u64::from(keep_s) * 1000);
        memory.gives_up = Some(deadline);
        sessions.gives_up_first = deadline.min(sessions.gives_up_first);
    }
    sessions.tell(SessionEvent::Lost(association, keep_s));
}

fn answers_again(sessions: &mut Sessions, association: AssociationId) {
    sessions.reports.set_silent(association, false);
    if let Some(memory) = sessions.memory(association) {
        memory.gives_up = None;
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
