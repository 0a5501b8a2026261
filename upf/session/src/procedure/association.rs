//! Sessions of an association when their CP function comes, goes, restarts or falls silent (TS
//! 29.244, 6.2.6 to 6.2.8; TS 23.527, 4.2 and 4.3).

use crate::network::Network;
use crate::node::associations::UsageBeforeRelease;
use crate::node::{Effects, Moment, Node, Part, Shared};
use crate::pending::Launch;
use crate::procedure::{association_release, node_report, report};
use crate::reports::events::SessionEvent;
use crate::store::{Session, SessionRef};
use core::net::IpAddr;
use sluice_n4::{AssociationId, Change, Event, Instant, Response, Retention};
use sluice_wire::ids::Seid;

/// Asks every CP function to release its association within `period_s` seconds (SARR, Graceful
/// Release Period), with 0 at once. New sessions and associations are refused from now on.
pub fn ask_for_release<E: Effects>(node: &mut Node, now: Instant, period_s: u32, out: &mut E) {
    let Node {
        endpoint, shared, ..
    } = node;
    shared.associations.leave_all();
    endpoint.refuse_setups();
    let ids: Vec<AssociationId> = endpoint.associations().map(|(id, _)| id).collect();
    let change = Change::ReleaseRequest {
        graceful_period_s: (period_s > 0).then_some(period_s),
    };
    for id in ids {
        if endpoint.update(now, id, change, out).is_err() {
            shared.tell(SessionEvent::NotReleased(id));
        }
    }
}

/// What the endpoint has learnt of its peers.
pub fn events(node: &mut Node, at: Moment) {
    while let Some(event) = node.endpoint.next_event() {
        handle(&mut node.shared, &mut node.part, at, event);
    }
}

/// A response to a request of ours.
pub fn answered<N: Network>(
    shared: &mut Shared,
    part: &mut Part,
    at: Moment,
    response: &Response<'_>,
    net: &mut N,
) -> Option<Launch> {
    match response.tag {
        association_release::TAG => {
            let cause = report::cause(response);
            association_release::report_ended(shared, response.association, cause);
            None
        }
        node_report::TAG => {
            node_report::answered(shared, response);
            None
        }
        _ => report::answered(shared, part, at, response, net),
    }
}

fn handle(shared: &mut Shared, part: &mut Part, at: Moment, event: Event) {
    match event {
        Event::AssociationUp { association, .. } => {
            answers_again(shared, part, association);
            shared.paths.begin(association);
            shared.tell(SessionEvent::Up(association));
        }
        Event::AssociationReplaced {
            association,
            retain,
        } => {
            answers_again(shared, part, association);
            restarted(shared, part, association, |s| !is_retained(&retain, s));
        }
        Event::PeerRestarted { association } => restarted(shared, part, association, |_| true),
        Event::AssociationDown {
            association,
            reason,
        } => {
            answers_again(shared, part, association);
            shared.paths.end(association);
            let ended = part.store.doom(association, |_| true);
            shared.tell(SessionEvent::Down(association, reason, ended));
        }
        Event::PeerLost { association } => lost(shared, part, at, association),
        Event::PeerRecovered { association } => {
            answers_again(shared, part, association);
            shared.paths.hasten(association);
            shared.tell(SessionEvent::Recovered(association));
        }
        Event::GracefulPeriodOver { association } => {
            let release = UsageBeforeRelease::ToAnnounce;
            shared.associations.begin_release(association, release);
        }
        Event::ReleasePreparation { association } => {
            let release = UsageBeforeRelease::Reporting(0);
            shared.associations.begin_release(association, release);
        }
        Event::RequestFailed {
            association, tag, ..
        } if tag == association_release::TAG => {
            association_release::report_ended(shared, association, None)
        }
        Event::RequestFailed {
            association, tag, ..
        } if tag == node_report::TAG => node_report::failed(shared, at.now, association),
        Event::RequestFailed {
            association, tag, ..
        } => {
            let name = SessionRef::from_seid(Seid(tag));
            report::not_answered(shared, part, association, name);
        }
        Event::TakenOver {
            association,
            holder,
            peer,
        } => shared.tell(SessionEvent::TakenOver(association, holder, peer)),
        Event::AddressLearned {
            association,
            holder,
            peer,
        } => shared.tell(SessionEvent::AddressLearned(association, holder, peer)),
        Event::SetupRejected { association, cause } => {
            shared.tell(SessionEvent::SetupRejected(association, cause));
        }
        // It stands among the refusals, with both addresses.
        Event::TakeoverRefused { .. }
        | Event::AssociationUpdated { .. }
        | Event::UpdateAnswered { .. }
        | Event::ReleaseRequested { .. } => {}
    }
}

/// Sessions of peers that have been silent for too long end.
pub fn give_up_silent_peers(shared: &mut Shared, part: &mut Part, now: Instant) {
    for id in shared.associations.take_given_up(now) {
        let ended = part.store.doom(id, |_| true);
        shared.tell(SessionEvent::GivenUp(id, ended));
    }
}

fn restarted(
    shared: &mut Shared,
    part: &mut Part,
    association: AssociationId,
    ends: impl Fn(&Session) -> bool,
) {
    shared.associations.restarted(association);
    shared.paths.begin(association);
    let ended = part.store.doom(association, ends);
    shared.tell(SessionEvent::Restarted(association, ended));
}

fn lost(shared: &mut Shared, part: &mut Part, at: Moment, association: AssociationId) {
    let keep_s = shared.config.peer_loss_keep_s;
    part.reports.set_silent(association, true);
    let gives_up = at.now.plus_ms(u64::from(keep_s) * 1000);
    shared.associations.lost(association, gives_up);
    shared.tell(SessionEvent::Lost(association, keep_s));
}

fn answers_again(shared: &mut Shared, part: &mut Part, association: AssociationId) {
    part.reports.set_silent(association, false);
    shared.associations.answers_again(association);
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
