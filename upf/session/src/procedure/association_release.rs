//! Usage before association release (EPFAR; TS 29.244, 5.18).
//!
//! Whoever announces the release (PARPS), the sessions end one after the other, each with a Session
//! Report Request that brings its last usage (TEBUR) and says that it has ended (PSDBU). When all
//! of them are answered the CP function is told that nothing follows (URSS), and releases. A
//! session without usage since its last report ends without a word, with the association.

use crate::limits::FINAL_REPORTS;
use crate::pending::{Answer, Last, Launch, Pending};
use crate::procedure::deletion;
use crate::procedure::put;
use crate::procedure::report::cp_station;
use crate::reports::events::SessionEvent;
use crate::sessions::{Effects, Node};
use crate::sessions::{Moment, Sessions, UsageBeforeRelease};
use crate::usage;
use sluice_n4::{AssociationId, Change, Request, RequestError};
use sluice_wire::pfcp::value::{ReportType, SessionReportRequestFlags, UsageReportTrigger};
use sluice_wire::pfcp::{Cause, Full, IeType, MessageType, Writer};

/// The tag of final reports: no session has this name.
pub const TAG: u64 = 0;

/// True while a CP function takes final reports, and until it has released its association.
pub fn is_under_way(node: &Node) -> bool {
    let associations = node.endpoint.associations();
    let mut all = associations.map(|(id, _)| state(&node.sessions, id));
    all.any(|release| release != UsageBeforeRelease::None)
}

/// A CP function announces the release, or the time that we gave it is over.
pub fn begin(sessions: &mut Sessions, id: AssociationId, release: UsageBeforeRelease) {
    if let Some(memory) = sessions.memory(id)
        && memory.release == UsageBeforeRelease::None
    {
        memory.release = release;
        sessions.has_releases = true;
    }
}

/// Goes on with an association until its sessions may end. True if they may.
pub fn announce<E: Effects>(node: &mut Node, at: Moment, id: AssociationId, out: &mut E) -> bool {
    match state(&node.sessions, id) {
        UsageBeforeRelease::None | UsageBeforeRelease::Told => false,
        UsageBeforeRelease::Reporting(_) => true,
        UsageBeforeRelease::ToAnnounce => {
            let change = Change::ReleasePreparation;
            match node.endpoint.update(at.now, id, change, out) {
                Ok(_) => {
                    set_state(&mut node.sessions, id, UsageBeforeRelease::Reporting(0));
                    true
                }
                Err(RequestError::Refused(_)) => false,
                Err(_) => {
                    node.sessions.tell(SessionEvent::NotReleased(id));
                    set_state(&mut node.sessions, id, UsageBeforeRelease::None);
                    false
                }
            }
        }
    }
}

/// Ends the association's next session, if there is one and one more may be under way.
pub fn next_end(sessions: &mut Sessions, at: Moment, id: AssociationId) -> Option<Launch> {
    let UsageBeforeRelease::Reporting(under_way) = state(sessions, id) else {
        return None;
    };
    if under_way >= FINAL_REPORTS || !sessions.pending.has_room() {
        return None;
    }
    let (name, session) = sessions.store.of(id).next()?;
    set_state(sessions, id, UsageBeforeRelease::Reporting(under_way + 1));
    let mut launch = deletion::end(sessions, at, name, &session);
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
    let release = state(&node.sessions, id);
    if release == UsageBeforeRelease::Reporting(0) && node.sessions.store.of(id).next().is_none() {
        let change = Change::UsageReportsSent;
        match node.endpoint.update(at.now, id, change, out) {
            Ok(_) => set_state(&mut node.sessions, id, UsageBeforeRelease::Told),
            Err(RequestError::Refused(_)) => {}
            Err(_) => set_state(&mut node.sessions, id, UsageBeforeRelease::None),
        }
    }
    !matches!(
        state(&node.sessions, id),
        UsageBeforeRelease::None | UsageBeforeRelease::Told
    )
}

/// The path has ended a session: its CP function gets the last usage.
pub fn report<E: Effects>(node: &mut Node, at: Moment, last: Last, record: &Pending, out: &mut E) {
    let Last { association, cp } = last;
    let Node {
        endpoint, sessions, ..
    } = node;
    if !usage::is_any_due(&sessions.resources, record) {
        return report_done(sessions, association);
    }
    let request = endpoint.association(association).map(|a| Request {
        association,
        to: cp_station(cp, a.primary()),
        tag: TAG,
        message_type: MessageType::SESSION_REPORT_REQUEST,
        seid: Some(cp.seid),
    });
    let sent = request
        .map(|request| endpoint.request(at.now, request, out, |w| write(sessions, at, record, w)));
    if !matches!(sent, Some(Ok(_))) {
        report_ended(sessions, association, None);
    }
}

fn write(
    sessions: &mut Sessions,
    at: Moment,
    record: &Pending,
    w: &mut Writer<'_>,
) -> Result<(), Full> {
    put(w, IeType::REPORT_TYPE, &ReportType::USAR)?;
    let ie = IeType::USAGE_REPORT_IN_SESSION_REPORT_REQUEST;
    usage::write_reports(sessions, at, record, None, ie, w)?;
    let flags = SessionReportRequestFlags::PSDBU;
    put(w, IeType::PFCPSRREQ_FLAGS, &flags)
}

/// A CP function has answered a final report, or has not (`None`).
pub fn report_ended(sessions: &mut Sessions, association: AssociationId, cause: Option<Cause>) {
    if !cause.is_some_and(Cause::is_acceptance) {
        sessions.tell(SessionEvent::ReportFailed(association, cause));
    }
    report_done(sessions, association);
}

fn report_done(sessions: &mut Sessions, id: AssociationId) {
    if let UsageBeforeRelease::Reporting(under_way) = state(sessions, id) {
        let left = under_way.saturating_sub(1);
        set_state(sessions, id, UsageBeforeRelease::Reporting(left));
    }
}

/// Its CP function is not given new sessions any more.
pub fn is_leaving(sessions: &Sessions, id: AssociationId) -> bool {
    sessions.releasing || state(sessions, id) != UsageBeforeRelease::None
}

fn state(sessions: &Sessions, id: AssociationId) -> UsageBeforeRelease {
    let memory = sessions.associations.get(id.index());
    let memory = memory.filter(|m| m.id == Some(id));
    memory.map_or(UsageBeforeRelease::None, |m| m.release)
}

fn set_state(sessions: &mut Sessions, id: AssociationId, release: UsageBeforeRelease) {
    if let Some(memory) = sessions.associations.get_mut(id.index())
        && memory.id == Some(id)
    {
        memory.release = release;
    }
}
