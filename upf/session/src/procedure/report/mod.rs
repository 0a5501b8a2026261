//! PFCP Session Report (TS 29.244, 6.3.5, 7.5.8, 7.5.9): what is due is sent, and what is answered.
//!
//! Who finds a reason puts the session into the [queue](crate::reports::report_queue); here its report is written with
//! all that is due by then. A session has one report under way at the most.

mod answer;
pub mod downlink_data;
pub mod error_indication;
pub mod usage;

use crate::limits::{UNKNOWN_ANSWERS, UNKNOWN_RETRY_MS};
use crate::network::Network;
use crate::node::Part;
use crate::node::Shared;
use crate::node::{Effects, Moment, Node};
use crate::pending::Launch;
use crate::procedure::put;
use crate::reports::events::SessionEvent;
use crate::reports::report_queue::Reasons;
use crate::rules::Indicated;
use crate::store::{CpSession, SessionRef};
use crate::usage::inactivity::InactivityTimer;
use core::net::{IpAddr, SocketAddr};
use sluice_n4::{AssociationId, Request, RequestError, Response};
use sluice_wire::ids::Seid;
use sluice_wire::pfcp::message::SessionReportResponse;
use sluice_wire::pfcp::value::ReportType;
use sluice_wire::pfcp::{Cause, Full, IeType, MessageType, Writer};

/// Sends the reports that are due, as far as there is room for them.
#[inline]
pub fn send_due<E: Effects>(node: &mut Node, at: Moment, out: &mut E) {
    while let Some((name, association)) = node.part.reports.next() {
        send(node, at, (name, association), out);
    }
}

#[cold]
fn send<E: Effects>(
    node: &mut Node,
    at: Moment,
    (name, association): (SessionRef, AssociationId),
    out: &mut E,
) {
    let Node {
        endpoint,
        shared,
        part,
        ..
    } = node;
    let Some(session) = part.store.get(name) else {
        return part.reports.nothing_to_tell(name);
    };
    // What comes before the establishment is answered is told when it is: the CP function knows no session yet.
    if !session.stands {
        return;
    }
    let reasons = still_due(part, name);
    let peer = endpoint.association(association);
    let (Some(peer), false) = (peer, reasons.is_none()) else {
        return part.reports.nothing_to_tell(name);
    };
    let request = Request {
        association,
        to: cp_station(session.cp, peer.primary()),
        tag: name.seid().0,
        message_type: MessageType::SESSION_REPORT_REQUEST,
        seid: Some(session.cp.seid),
    };
    let sent = endpoint.request(at.now, request, out, |w| {
        write(shared, part, name, reasons, w)
    });
    match sent {
        Ok(_) => {
            error_indication::mark(part, name, Indicated::Due, Indicated::Sent);
            if reasons.has(Reasons::USAGE) {
                usage::sent(part, name);
            }
            part.reports.sent(name);
        }
        Err(RequestError::Refused(_)) => part.reports.pause(name),
        Err(_) => part.reports.nothing_to_tell(name),
    }
}

/// The reasons that hold still: the CP function may have changed the rules meanwhile.
fn still_due(part: &mut Part, name: SessionRef) -> Reasons {
    let due = part.reports.due(name).cloned().unwrap_or_default();
    let mut holds = Reasons::default();
    if due.reasons.has(Reasons::USAGE) && usage::is_due(part, name) {
        holds = holds.with(Reasons::USAGE);
    }
    let timer = part.resources.inactivity.get(name.at);
    if due.reasons.has(Reasons::INACTIVITY) && timer.is_some_and(InactivityTimer::is_idle) {
        holds = holds.with(Reasons::INACTIVITY);
    }
    let rules = part.rules(name);
    if due.reasons.has(Reasons::DOWNLINK_DATA) && downlink_data::is_due(rules, &due) {
        holds = holds.with(Reasons::DOWNLINK_DATA);
    }
    let mut fars = rules.fars.iter();
    if due.reasons.has(Reasons::ERROR_INDICATION) && fars.any(|f| f.indicated == Indicated::Due) {
        holds = holds.with(Reasons::ERROR_INDICATION);
    }
    holds
}

/// The IEs in the order of Table 7.5.8-1.
fn write(
    shared: &Shared,
    part: &mut Part,
    name: SessionRef,
    reasons: Reasons,
    w: &mut Writer<'_>,
) -> Result<(), Full> {
    let due = part.reports.due(name).cloned().unwrap_or_default();
    let told = [
        (Reasons::DOWNLINK_DATA, ReportType::DLDR),
        (Reasons::USAGE, ReportType::USAR),
        (Reasons::ERROR_INDICATION, ReportType::ERIR),
        (Reasons::INACTIVITY, ReportType::UPIR),
    ];
    let told = told.into_iter().filter(|(reason, _)| reasons.has(*reason));
    let report_type = told.fold(ReportType::default(), |all, (_, kind)| all.union(kind));
    put(w, IeType::REPORT_TYPE, &report_type)?;
    if reasons.has(Reasons::DOWNLINK_DATA) {
        downlink_data::write(part.rules(name), &due, w)?;
    }
    if reasons.has(Reasons::USAGE) {
        usage::write(shared, part, name, w)?;
    }
    if reasons.has(Reasons::ERROR_INDICATION) {
        error_indication::write(part.rules(name), w)?;
    }
    Ok(())
}

/// The cause that a response to a report tells, if it can be read.
pub fn cause(response: &Response<'_>) -> Option<Cause> {
    let response = SessionReportResponse::parse(response.body).ok()?;
    Some(response.cause)
}

/// A response to a report. A CP function that does not know the session, several times in a row, has lost it:
/// it goes here too (TS 23.527, 4.3; TS 29.244, 6.3.5). One that has no association yet was restarted, and sets it up: the
/// report is due again, a few times. Any other refusal stands: the reasons are given up.
/// Gives what the answer changes.
pub fn answered<N: Network>(
    shared: &mut Shared,
    part: &mut Part,
    at: Moment,
    response: &Response<'_>,
    net: &mut N,
) -> Option<Launch> {
    let name = SessionRef::from_seid(Seid(response.tag));
    let association = response.association;
    let read = SessionReportResponse::parse(response.body).ok();
    match read.as_ref().map(|read| read.cause) {
        Some(cause) if cause.is_acceptance() => {
            error_indication::mark(part, name, Indicated::Sent, Indicated::Told);
            usage::taken(part, name);
            part.reports.answered(association, name);
            return answer::carry_out(shared, part, at, name, read.as_ref()?, net);
        }
        Some(Cause::SESSION_CONTEXT_NOT_FOUND) => unknown(part, at, association, name),
        Some(Cause::NO_ESTABLISHED_PFCP_ASSOCIATION)
            if part.reports.unknown(name) < UNKNOWN_ANSWERS =>
        {
            return_later(part, at, association, name);
        }
        cause => {
            error_indication::mark(part, name, Indicated::Sent, Indicated::No);
            usage::taken(part, name);
            part.reports.answered(association, name);
            shared.tell(SessionEvent::ReportFailed(association, cause));
        }
    }
    None
}

fn unknown(part: &mut Part, at: Moment, association: AssociationId, name: SessionRef) {
    let times = part.reports.unknown(name);
    return_later(part, at, association, name);
    let session = part.store.get(name);
    if times >= UNKNOWN_ANSWERS && session.is_some_and(|s| s.association == association) {
        part.store.doom_one(name.at);
    }
}

fn return_later(part: &mut Part, at: Moment, association: AssociationId, name: SessionRef) {
    let retry = at.now.plus_ms(UNKNOWN_RETRY_MS);
    returned(part, association, name, Some(retry));
}

/// A report was not answered: it is due again.
pub fn not_answered(
    shared: &mut Shared,
    part: &mut Part,
    association: AssociationId,
    name: SessionRef,
) {
    returned(part, association, name, None);
    shared.tell(SessionEvent::ReportFailed(association, None));
}

fn returned(
    part: &mut Part,
    association: AssociationId,
    name: SessionRef,
    not_before: Option<sluice_n4::Instant>,
) {
    error_indication::mark(part, name, Indicated::Sent, Indicated::Due);
    usage::returned(part, name);
    part.reports.returned(association, name, not_before);
}

/// Where requests about a session go if not to the peer's `primary` address: to the address of the
/// CP F-SEID (5.6.2), at the port that the peer uses.
pub fn cp_station(cp: CpSession, primary: SocketAddr) -> Option<SocketAddr> {
    let ipv4 = cp.ipv4.map(IpAddr::V4);
    let address = ipv4.or(cp.ipv6.map(IpAddr::V6));
    let elsewhere = address.filter(|a| *a != primary.ip());
    elsewhere.map(|a| SocketAddr::new(a, primary.port()))
}
