//! Usage before association release (EPFAR; TS 29.244, 5.18).
//!
//! Whoever announces the release (PARPS), the sessions end one after the other, each with a Session
//! Report Request that brings its last usage (TEBUR) and says that it has ended (PSDBU). When all
//! of them are answered the CP function is told that nothing follows (URSS), and releases. A
//! session without usage since its last report ends without a word, with the association.

use crate::events::SessionEvent;
use crate::function::{Effects, UpFunction};
use crate::limits::FINAL_REPORTS;
use crate::network::Network;
use crate::pending::{Answer, Pending};
use crate::report::cp_station;
use crate::state::{Moment, Sessions};
use crate::store::CpSession;
use sluice_n4::{AssociationId, Change, Request, RequestError};
use sluice_wire::pfcp::value::{ReportType, SessionReportRequestFlags, UsageReportTrigger};
use sluice_wire::pfcp::{Cause, Full, IeType, MessageType, Writer};

use super::establishment::put;

/// The tag of final reports: no session has this name.
pub(super) const TAG: u64 = 0;

/// How far an association is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum UsageBeforeRelease {
    /// Nobody releases it.
    #[default]
    None,
    /// The graceful period is over: its CP function is to be told that sessions end now.
    ToAnnounce,
    /// Sessions end; so many of them wait for the path, or for their CP function's answer.
    Reporting(usize),
    /// All is told; the CP function releases it.
    Told,
}

/// Whose last usage a transaction brings.
#[derive(Clone, Copy, Debug)]
pub struct Last {
    association: AssociationId,
    cp: CpSession,
}

impl UpFunction {
    /// True while a CP function takes final reports, and until it has released its association.
    pub fn says_farewell(&self) -> bool {
        let associations = self.endpoint.associations();
        let mut all = associations.map(|(id, _)| self.state.farewell(id));
        all.any(|farewell| farewell != UsageBeforeRelease::None)
    }

    /// A CP function announces the release, or the time that we gave it is over.
    pub(super) fn begin_farewell(&mut self, id: AssociationId, farewell: UsageBeforeRelease) {
        if let Some(memory) = self.state.memory(id)
            && memory.farewell == UsageBeforeRelease::None
        {
            memory.farewell = farewell;
            self.state.farewells = true;
        }
    }

    /// Goes on with all farewells as far as there is room.
    pub(super) fn farewells<N: Network, E: Effects>(
        &mut self,
        at: Moment,
        net: &mut N,
        out: &mut E,
    ) {
        let mut go_on = false;
        for place in 0..self.state.associations.len() {
            let id = self.state.associations.get(place).and_then(|a| a.id);
            if let Some(id) = id {
                let next = self.farewell_step(at, id, net, out);
                go_on |= !matches!(next, UsageBeforeRelease::None | UsageBeforeRelease::Told);
                self.state.set_farewell(id, next);
            }
        }
        self.state.farewells = go_on;
    }

    fn farewell_step<N: Network, E: Effects>(
        &mut self,
        at: Moment,
        id: AssociationId,
        net: &mut N,
        out: &mut E,
    ) -> UsageBeforeRelease {
        let farewell = self.state.farewell(id);
        match farewell {
            UsageBeforeRelease::None | UsageBeforeRelease::Told => return farewell,
            UsageBeforeRelease::ToAnnounce => {
                let change = Change::ReleasePreparation;
                match self.endpoint.update(at.now, id, change, out) {
                    Ok(_) => self
                        .state
                        .set_farewell(id, UsageBeforeRelease::Reporting(0)),
                    Err(RequestError::Refused(_)) => return farewell,
                    Err(_) => {
                        self.state.notice(SessionEvent::NotReleased(id));
                        return UsageBeforeRelease::None;
                    }
                }
            }
            UsageBeforeRelease::Reporting(_) => {}
        }
        self.end_with_reports(at, id, net, out);
        let farewell = self.state.farewell(id);
        if farewell != UsageBeforeRelease::Reporting(0) || self.state.store.of(id).next().is_some()
        {
            return farewell;
        }
        match self
            .endpoint
            .update(at.now, id, Change::UsageReportsSent, out)
        {
            Ok(_) => UsageBeforeRelease::Told,
            Err(RequestError::Refused(_)) => farewell,
            Err(_) => UsageBeforeRelease::None,
        }
    }

    /// Ends sessions of an association, as many as may be under way.
    fn end_with_reports<N: Network, E: Effects>(
        &mut self,
        at: Moment,
        id: AssociationId,
        net: &mut N,
        out: &mut E,
    ) {
        while let UsageBeforeRelease::Reporting(under_way) = self.state.farewell(id)
            && under_way < FINAL_REPORTS
            && self.state.pending.has_room()
        {
            let session = self.state.store.of(id).next();
            let Some((name, session)) = session else {
                return;
            };
            self.state
                .set_farewell(id, UsageBeforeRelease::Reporting(under_way + 1));
            let mut drafted = self.state.end(at, name, &session);
            for due in &mut drafted.record.due {
                due.trigger = UsageReportTrigger::TEBUR;
            }
            drafted.record.answer = Answer::Last(Last {
                association: id,
                cp: session.cp,
            });
            self.launch(at, drafted, net, out);
        }
    }

    /// The path has ended a session: its CP function gets the last usage.
    pub(super) fn report_last<E: Effects>(
        &mut self,
        at: Moment,
        last: Last,
        record: &Pending,
        out: &mut E,
    ) {
        let Last { association, cp } = last;
        if !self.state.has_usage(record) {
            return self.state.final_report_done(association);
        }
        let Self {
            endpoint, state, ..
        } = self;
        let request = endpoint.association(association).map(|a| Request {
            association,
            to: cp_station(cp, a.primary()),
            tag: TAG,
            message_type: MessageType::SESSION_REPORT_REQUEST,
            seid: Some(cp.seid),
        });
        let sent = request.map(|request| {
            endpoint.request(at.now, request, out, |w| state.write_last(at, record, w))
        });
        if !matches!(sent, Some(Ok(_))) {
            self.final_report_ended(association, None);
        }
    }

    /// A CP function has answered a final report, or has not (`None`).
    pub(super) fn final_report_ended(&mut self, association: AssociationId, cause: Option<Cause>) {
        if !cause.is_some_and(Cause::is_acceptance) {
            self.state
                .notice(SessionEvent::ReportFailed(association, cause));
        }
        self.state.final_report_done(association);
    }
}

impl Sessions {
    fn farewell(&self, id: AssociationId) -> UsageBeforeRelease {
        let memory = self.associations.get(id.index());
        let memory = memory.filter(|m| m.id == Some(id));
        memory.map_or(UsageBeforeRelease::None, |m| m.farewell)
    }

    fn set_farewell(&mut self, id: AssociationId, farewell: UsageBeforeRelease) {
        if let Some(memory) = self.associations.get_mut(id.index())
            && memory.id == Some(id)
        {
            memory.farewell = farewell;
        }
    }

    /// Its CP function is not given new sessions any more.
    pub(super) fn is_leaving(&self, id: AssociationId) -> bool {
        self.releasing || self.farewell(id) != UsageBeforeRelease::None
    }

    fn final_report_done(&mut self, id: AssociationId) {
        if let UsageBeforeRelease::Reporting(under_way) = self.farewell(id) {
            self.set_farewell(
                id,
                UsageBeforeRelease::Reporting(under_way.saturating_sub(1)),
            );
        }
    }

    fn has_usage(&self, record: &Pending) -> bool {
        let mut meters = record
            .due
            .iter()
            .filter_map(|due| self.ground.meters.get(due.meter));
        meters.any(|meter| meter.usage.iter().any(|usage| usage.packets > 0))
    }

    fn write_last(&mut self, at: Moment, record: &Pending, w: &mut Writer<'_>) -> Result<(), Full> {
        put(w, IeType::REPORT_TYPE, &ReportType::USAR)?;
        let ie = IeType::USAGE_REPORT_IN_SESSION_REPORT_REQUEST;
        self.write_reports(at, record, None, ie, w)?;
        let flags = SessionReportRequestFlags::PSDBU;
        put(w, IeType::PFCPSRREQ_FLAGS, &flags)
    }
}
