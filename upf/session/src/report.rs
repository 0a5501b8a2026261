//! PFCP Session Report (TS 29.244, 6.3.5, 7.5.8, 7.5.9): Error Indications of tunnel peers.

use crate::association_release;
use crate::events::SessionEvent;
use crate::function::{Effects, UpFunction};
use crate::limits::REPORTS_PER_INDICATION;
use crate::rules::RemoteTunnel;
use crate::state::{Moment, Sessions};
use crate::store::{CpSession, SessionRef};
use arrayvec::ArrayVec;
use core::net::{IpAddr, Ipv4Addr, SocketAddr};
use sluice_n4::{AssociationId, Request, Response};
use sluice_wire::ids::{Seid, Teid};
use sluice_wire::pfcp::group::ErrorIndicationReport;
use sluice_wire::pfcp::message::{SessionReportRequest, SessionReportResponse};
use sluice_wire::pfcp::value::{FTeid, ReportType};
use sluice_wire::pfcp::{Cause, MessageType};

impl UpFunction {
    /// Reports an Error Indication once for each tunnel of a FAR: until the CP function changes
    /// the FAR, or the report fails, more of them say nothing new. Only the peer that the FAR
    /// sends to is believed. Where several sessions send into the tunnel all are reported, since
    /// the indication does not tell them apart.
    pub(super) fn report_error_indication<E: Effects>(
        &mut self,
        at: Moment,
        peer: Ipv4Addr,
        teid: u32,
        out: &mut E,
    ) {
        let tunnel = RemoteTunnel {
            teid,
            address: peer,
        };
        let mut sessions: ArrayVec<SessionRef, REPORTS_PER_INDICATION> = ArrayVec::new();
        let Sessions {
            remotes,
            store,
            installed,
            ..
        } = &mut self.state;
        let all = remotes.of(tunnel).filter_map(|at| store.named(at));
        let silent = all.filter(|name| {
            store.load(*name, installed);
            let mut fars = installed.fars.iter();
            fars.any(|far| far.tunnel() == Some(tunnel) && !far.reported)
        });
        sessions.extend(silent.take(REPORTS_PER_INDICATION));
        for name in sessions {
            self.report_tunnel(at, name, tunnel, out);
        }
    }

    fn report_tunnel<E: Effects>(
        &mut self,
        at: Moment,
        name: SessionRef,
        tunnel: RemoteTunnel,
        out: &mut E,
    ) {
        let Some(wire_teid) = Teid::new(tunnel.teid) else {
            return;
        };
        if !self.state.set_reported(name, Some(tunnel), true) {
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
        let Some(request) = self.report_request(name) else {
            return;
        };
        let sent = self
            .endpoint
            .request(at.now, request, out, |w| message.emit(w));
        if sent.is_err() {
            self.state.set_reported(name, Some(tunnel), false);
        }
    }

    fn report_request(&self, name: SessionRef) -> Option<Request> {
        let session = self.state.store.get(name)?;
        let primary = self.endpoint.association(session.association)?.primary();
        Some(Request {
            association: session.association,
            to: cp_station(session.cp, primary),
            tag: name.seid().0,
            message_type: MessageType::SESSION_REPORT_REQUEST,
            seid: Some(session.cp.seid),
        })
    }

    /// A response to a report. A CP function that does not know the session has lost it: it goes
    /// here too (TS 23.527, 4.3; TS 29.244, 6.3.5).
    pub(super) fn report_answered(&mut self, response: &Response<'_>) {
        let name = SessionRef::from_seid(Seid(response.tag));
        let cause = SessionReportResponse::parse(response.body)
            .ok()
            .map(|m| m.cause);
        match cause {
            cause if response.tag == association_release::TAG => {
                self.final_report_ended(response.association, cause);
            }
            Some(cause) if cause.is_acceptance() => {}
            Some(Cause::SESSION_CONTEXT_NOT_FOUND) => {
                let session = self.state.store.get(name);
                if session.is_some_and(|s| s.association == response.association) {
                    self.state.store.doom_one(name.at);
                }
            }
            cause => self.report_failed(response.association, name, cause),
        }
    }

    /// A report that came to nothing may be made again.
    pub(super) fn report_failed(
        &mut self,
        association: AssociationId,
        name: SessionRef,
        cause: Option<Cause>,
    ) {
        self.state.set_reported(name, None, false);
        self.state
            .notice(SessionEvent::ReportFailed(association, cause));
    }
}

/// Where requests about a session go if not to the peer's `primary` address: to the address of the
/// CP F-SEID (5.6.2), at the port that the peer uses.
pub(super) fn cp_station(cp: CpSession, primary: SocketAddr) -> Option<SocketAddr> {
    let ipv4 = cp.ipv4.map(IpAddr::V4);
    let address = ipv4.or(cp.ipv6.map(IpAddr::V6));
    let elsewhere = address.filter(|a| *a != primary.ip());
    elsewhere.map(|a| SocketAddr::new(a, primary.port()))
}

impl Sessions {
    /// Marks the FARs that send into `tunnel` (or all) as reported or not; true if one changed.
    fn set_reported(
        &mut self,
        name: SessionRef,
        tunnel: Option<RemoteTunnel>,
        reported: bool,
    ) -> bool {
        if self.store.get(name).is_none() {
            return false;
        }
        let Self {
            store, installed, ..
        } = self;
        store.load(name, installed);
        let mut changed = false;
        for far in &mut installed.fars {
            let meant = tunnel.is_none() || far.tunnel() == tunnel;
            if meant && far.reported != reported {
                far.reported = reported;
                changed = true;
            }
        }
        // One bit: the record stays as long as it is.
        store.put(name, installed);
        changed
    }
}
