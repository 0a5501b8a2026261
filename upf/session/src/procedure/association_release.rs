//! Usage before association release (EPFAR; TS 29.244, 5.18).
//!
//! Whoever announces the release (PARPS), the sessions end one after the other, each with a Session
//! Report Request that brings its last usage (TEBUR) and says that it has ended (PSDBU). When all
//! of them are answered the CP function is told that nothing follows (URSS), and releases. A
//! session without usage since its last report ends without a word, with the association.

use crate::limits::FINAL_REPORTS;
use crate::node::associations::UsageBeforeRelease;
use crate::node::{Effects, Moment, Node, Part, Shared};
use crate::pending::{Answer, Last, Launch, Pending};
use crate::procedure::report::cp_station;
use crate::procedure::{deletion, put};
use crate::reports::events::SessionEvent;
use crate::usage;
use sluice_n4::{AssociationId, Change, Request, RequestError};
use sluice_wire::pfcp::value::{ReportType, SessionReportRequestFlags, UsageReportTrigger};
use sluice_wire::pfcp::{Cause, Full, IeType, MessageType, Writer};

/// The tag of final reports: no session has this name.
pub const TAG: u64 = 0;

/// True while a CP function takes final reports, and until it has released its association.
pub fn is_under_way(node: &Node) -> bool {
    let associations = node.endpoint.associations();
    let mut all = associations.map(|(id, _)| node.shared.associations.release(id));
    all.any(|release| release != UsageBeforeRelease::None)
}

/// Goes on with an association until its sessions may end. True if they may.
pub fn announce<E: Effects>(node: &mut Node, at: Moment, id: AssociationId, out: &mut E) -> bool {
    match node.shared.associations.release(id) {
        UsageBeforeRelease::None | UsageBeforeRelease::Told => false,
        UsageBeforeRelease::Reporting(_) => true,
        UsageBeforeRelease::ToAnnounce => {
            let change = Change::ReleasePreparation;
            match node.endpoint.update(at.now, id, change, out) {
                Ok(_) => {
                    node.shared
                        .associations
                        .set_release(id, UsageBeforeRelease::Reporting(0));
                    true
                }
                Err(RequestError::Refused(_)) => false,
                Err(_) => {
                    node.shared.tell(SessionEvent::NotReleased(id));
                    node.shared
                        .associations
                        .set_release(id, UsageBeforeRelease::None);
                    false
                }
            }
        }
    }
}

/// Ends the association's next session, if there is one and one more may be under way.
pub fn next_end(
    shared: &mut Shared,
    part: &mut Part,
    at: Moment,
    id: AssociationId,
) -> Option<Launch> {
    let UsageBeforeRelease::Reporting(under_way) = shared.associations.release(id) else {
        return None;
    };
    if under_way >= FINAL_REPORTS || !part.pending.has_room() {
        return None;
    }
    let (name, session) = part.store.of(id).next()?;
    shared
        .associations
        .set_release(id, UsageBeforeRelease::Reporting(under_way + 1));
    let mut launch = deletion::end(shared, part, at, name, &session);
    for due in &mut launch.record.due {
        due.trigger = UsageReportTrigger::TEBUR;
    }
    launch.record.answer = Answer::Last(Last {
        association: id,
        cp: session.cp,
    });
    Some(launch)
}

/// Tells the CP function that nothing follows, when that is so. True while there is more to do.
pub fn conclude<E: Effects>(node: &mut Node, at: Moment, id: AssociationId, out: &mut E) -> bool {
    let release = node.shared.associations.release(id);
    if release == UsageBeforeRelease::Reporting(0) && node.part.store.of(id).next().is_none() {
        let change = Change::UsageReportsSent;
        match node.endpoint.update(at.now, id, change, out) {
            Ok(_) => node
                .shared
                .associations
                .set_release(id, UsageBeforeRelease::Told),
            Err(RequestError::Refused(_)) => {}
            Err(_) => node
                .shared
                .associations
                .set_release(id, UsageBeforeRelease::None),
        }
    }
    !matches!(
        node.shared.associations.release(id),
        UsageBeforeRelease::None | UsageBeforeRelease::Told
    )
}

/// The path has ended a session: its CP function gets the last usage.
pub fn report<E: Effects>(node: &mut Node, at: Moment, last: Last, record: &Pending, out: &mut E) {
    let Last { association, cp } = last;
    let Node {
        endpoint,
        shared,
        part,
        ..
    } = node;
    if !usage::is_any_due(&part.resources, record) {
        return report_done(shared, association);
    }
    let request = endpoint.association(association).map(|a| Request {
        association,
        to: cp_station(cp, a.primary()),
        tag: TAG,
        message_type: MessageType::SESSION_REPORT_REQUEST,
        seid: Some(cp.seid),
    });
    let sent = request.map(|request| {
        endpoint.request(at.now, request, out, |w| write(shared, part, at, record, w))
    });
    if !matches!(sent, Some(Ok(_))) {
        report_ended(shared, association, None);
    }
}

fn write(
    shared: &Shared,
    part: &mut Part,
    at: Moment,
    record: &Pending,
    w: &mut Writer<'_>,
) -> Result<(), Full> {
    put(w, IeType::REPORT_TYPE, &ReportType::USAR)?;
    let ie = IeType::USAGE_REPORT_IN_SESSION_REPORT_REQUEST;
    usage::write_reports(shared, part, at, record, None, ie, w)?;
    let flags = SessionReportRequestFlags::PSDBU;
    put(w, IeType::PFCPSRREQ_FLAGS, &flags)
}

/// A CP function has answered a final report, or has not (`None`).
pub fn report_ended(shared: &mut Shared, association: AssociationId, cause: Option<Cause>) {
    if !cause.is_some_and(Cause::is_acceptance) {
        shared.tell(SessionEvent::ReportFailed(association, cause));
    }
    report_done(shared, association);
}

fn report_done(shared: &mut Shared, id: AssociationId) {
    if let UsageBeforeRelease::Reporting(under_way) = shared.associations.release(id) {
        let left = under_way.saturating_sub(1);
        let release = UsageBeforeRelease::Reporting(left);
        shared.associations.set_release(id, release);
    }
}
