//! PFCP Session Report (TS 29.244, 6.3.5, 7.5.8, 7.5.9): Error Indications of tunnel peers.

use crate::events::SessionEvent;
use crate::limits::REPORTS_PER_INDICATION;
use crate::rules::RemoteTunnel;
use crate::sessions::{Effects, Node};
use crate::sessions::{Moment, Sessions};
use crate::store::{CpSession, SessionRef};
use arrayvec::ArrayVec;
use core::net::{IpAddr, Ipv4Addr, SocketAddr};
use sluice_n4::{AssociationId, Request, Response};
use sluice_wire::ids::{Seid, Teid};
use sluice_wire::pfcp::group::ErrorIndicationReport;
use sluice_wire::pfcp::message::{SessionReportRequest, SessionReportResponse};
use sluice_wire::pfcp::value::{FTeid, ReportType};
use sluice_wire::pfcp::{Cause, MessageType};

/// Reports an Error Indication (TS 29.281, 7.3.1) once for each tunnel of a FAR: until the CP function
/// changes the FAR, or the report fails, more of them say nothing new. Only the peer that the FAR
/// sends to is believed. Where several sessions send into the tunnel all are reported, since
/// the indication does not tell them apart.
pub fn error_indication<E: Effects>(
    node: &mut Node,
    at: Moment,
    peer: Ipv4Addr,
    teid: u32,
    out: &mut E,
) {
    let tunnel = RemoteTunnel {
        teid,
        address: peer,
    };
    let sessions = &mut node.sessions;
    let mut meant: ArrayVec<SessionRef, REPORTS_PER_INDICATION> = ArrayVec::new();
    let mut change = sessions.take_change();
    let all = sessions.remotes.of(tunnel);
    let all = all.filter_map(|at| sessions.store.named(at));
    let silent = all.filter(|name| {
        sessions.store.load(*name, &mut change.old);
        let mut fars = change.old.fars.iter();
        fars.any(|far| far.tunnel() == Some(tunnel) && !far.reported)
    });
    meant.extend(silent.take(REPORTS_PER_INDICATION));
    sessions.give_change(change);
    for name in meant {
        report_tunnel(node, at, name, tunnel, out);
    }
}

fn report_tunnel<E: Effects>(
    node: &mut Node,
    at: Moment,
    name: SessionRef,
    tunnel: RemoteTunnel,
    out: &mut E,
) {
    let Some(wire_teid) = Teid::new(tunnel.teid) else {
        return;
    };
    if !set_reported(&mut node.sessions, name, Some(tunnel), true) {
        return;
    }
    let mut report = ErrorIndicationReport::default();
    report
        .remote_f_teid
        .push(FTeid::v4(wire_teid, tunnel.address));
    let message = SessionReportRequest {
        report_type: ReportType::ERIR,
        error_indication_report: Some(report),
        ..SessionReportRequest::default()
    };
    let Some(request) = request_about(node, name) else {
        return;
    };
    let sent = node
        .endpoint
        .request(at.now, request, out, |w| message.emit(w));
    if sent.is_err() {
        set_reported(&mut node.sessions, name, Some(tunnel), false);
    }
}

fn request_about(node: &Node, name: SessionRef) -> Option<Request> {
    let session = node.sessions.store.get(name)?;
    let primary = node.endpoint.association(session.association)?.primary();
    Some(Request {
        association: session.association,
        to: cp_station(session.cp, primary),
        tag: name.seid().0,
        message_type: MessageType::SESSION_REPORT_REQUEST,
        seid: Some(session.cp.seid),
    })
}

/// The cause that a response to a report tells, if it can be read.
pub fn cause(response: &Response<'_>) -> Option<Cause> {
    let response = SessionReportResponse::parse(response.body).ok()?;
    Some(response.cause)
}

/// A response to a report. A CP function that does not know the session has lost it: it goes
/// here too (TS 23.527, 4.3; TS 29.244, 6.3.5).
pub fn answered(sessions: &mut Sessions, response: &Response<'_>) {
    let name = SessionRef::from_seid(Seid(response.tag));
    match cause(response) {
        Some(cause) if cause.is_acceptance() => {}
        Some(Cause::SESSION_CONTEXT_NOT_FOUND) => {
            let session = sessions.store.get(name);
            if session.is_some_and(|s| s.association == response.association) {
                sessions.store.doom_one(name.at);
            }
        }
        cause => failed(sessions, response.association, name, cause),
    }
}

/// A report that came to nothing may be made again.
pub fn failed(
    sessions: &mut Sessions,
    association: AssociationId,
    name: SessionRef,
    cause: Option<Cause>,
) {
    set_reported(sessions, name, None, false);
    sessions.tell(SessionEvent::ReportFailed(association, cause));
}

/// Where requests about a session go if not to the peer's `primary` address: to the address of the
/// CP F-SEID (5.6.2), at the port that the peer uses.
pub fn cp_station(cp: CpSession, primary: SocketAddr) -> Option<SocketAddr> {
    let ipv4 = cp.ipv4.map(IpAddr::V4);
    let address = ipv4.or(cp.ipv6.map(IpAddr::V6));
    let elsewhere = address.filter(|a| *a != primary.ip());
    elsewhere.map(|a| SocketAddr::new(a, primary.port()))
}

/// Marks the FARs that send into `tunnel` (or all) as reported or not; true if one changed.
fn set_reported(
    sessions: &mut Sessions,
    name: SessionRef,
    tunnel: Option<RemoteTunnel>,
    reported: bool,
) -> bool {
    if sessions.store.get(name).is_none() {
        return false;
    }
    let mut change = sessions.take_change();
    let rules = &mut change.old;
    sessions.store.load(name, rules);
    let mut changed = false;
    for far in &mut rules.fars {
        let meant = tunnel.is_none() || far.tunnel() == tunnel;
        if meant && far.reported != reported {
            far.reported = reported;
            changed = true;
        }
    }
    // One bit: the record stays as long as it is.
    sessions.store.put(name, rules);
    sessions.give_change(change);
    changed
}
