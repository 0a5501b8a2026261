//! Session Reports and node-level requests from the UPF (TS 29.244, 6.2.9, 6.3.5), and our
//! responses.

use core::net::IpAddr;
use std::collections::VecDeque;

use sluice_n4::{Instant, Outbox, SessionRequest};
use sluice_wire::ids::{PdrId, Seid};
use sluice_wire::pfcp::message::{
    NodeReportRequest, NodeReportResponse, SessionReportRequest, SessionReportResponse,
    SessionSetDeletionResponse,
};
use sluice_wire::pfcp::value::{
    NodeReportType, OffendingIe, RemoteGtpuPeer, ReportType, SessionReportRequestFlags,
    SessionReportResponseFlags,
};
use sluice_wire::pfcp::{Cause, MessageType, Reject};

use super::Machine;
use crate::{Tunnel, Usage};

/// Reports that are kept until they are taken.
const REPORTS_MAX: usize = 65_536;

/// Something that the UPF told by itself.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Report {
    Session(SessionReport),
    Node(NodeReport),
}

/// A Session Report Request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SessionReport {
    pub cp_seid: Seid,
    /// Whether it is one of ours; if not, the UPF was told so.
    pub is_known: bool,
    pub report_type: ReportType,
    pub usage: Usage,
    /// The UPF has ended the session (PSDBU).
    pub is_final: bool,
    /// Endpoints that sent an Error Indication: the gNB does not know them.
    pub error_indications: Vec<Tunnel>,
    /// PDRs with buffered downlink packets.
    pub downlink_data: Vec<PdrId>,
}

/// A Node Report Request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NodeReport {
    pub report_type: NodeReportType,
    /// Addresses of GTP-U peers that do not answer.
    pub failed_peers: Vec<IpAddr>,
    pub recovered_peers: Vec<IpAddr>,
}

/// Reports, the oldest first.
#[derive(Debug, Default)]
pub(super) struct Reports {
    kept: VecDeque<Report>,
    lost: u64,
}

impl Reports {
    pub fn take(&mut self) -> (Vec<Report>, u64) {
        (
            self.kept.drain(..).collect(),
            std::mem::take(&mut self.lost),
        )
    }

    fn keep(&mut self, report: Report) {
        if self.kept.len() == REPORTS_MAX {
            self.kept.pop_front();
            self.lost += 1;
        }
        self.kept.push_back(report);
    }
}

impl Machine {
    /// Records a request of the UPF and answers it.
    pub(super) fn answer_report(
        &mut self,
        now: Instant,
        request: &SessionRequest<'_>,
        out: &mut impl Outbox,
    ) {
        match request.header().message_type {
            MessageType::SESSION_REPORT_REQUEST => self.answer_session_report(now, request, out),
            MessageType::NODE_REPORT_REQUEST => self.answer_node_report(now, request, out),
            MessageType::SESSION_SET_DELETION_REQUEST => {
                let node_id = self.cp.node_id.as_wire();
                let cause = Cause::SERVICE_NOT_SUPPORTED;
                let answer = SessionSetDeletionResponse {
                    node_id,
                    cause,
                    ..Default::default()
                };
                // An answer that cannot be sent is counted by the endpoint.
                let _ = self
                    .endpoint
                    .reply(now, request.reply, None, out, |w| answer.emit(w));
            }
            // The endpoint lets a CP function have no other request.
            _ => {}
        }
    }

    fn answer_session_report(
        &mut self,
        now: Instant,
        request: &SessionRequest<'_>,
        out: &mut impl Outbox,
    ) {
        let cp_seid = request.header().seid.unwrap_or_default();
        let session = self.sessions.get(&cp_seid);
        let (is_known, up_seid) = (session.is_some(), session.map(|session| session.up_seid));
        let outcome = read_session_report(request.body, cp_seid, is_known);
        let (cause, offending_ie) = match outcome {
            Ok(report) => {
                if report.is_final {
                    self.sessions.remove(&cp_seid);
                }
                self.reports.keep(Report::Session(report));
                let unknown = Cause::SESSION_CONTEXT_NOT_FOUND;
                (
                    if is_known {
                        Cause::REQUEST_ACCEPTED
                    } else {
                        unknown
                    },
                    None,
                )
            }
            Err(reject) => (reject.cause, reject.offending_ie.map(OffendingIe)),
        };
        let flags = self.dialect.profile().report_response_flags;
        let answer = SessionReportResponse {
            cause,
            offending_ie,
            pfcpsrrsp_flags: flags.then_some(SessionReportResponseFlags::NONE),
            ..SessionReportResponse::default()
        };
        let seid = Some(up_seid.unwrap_or_default());
        // An answer that cannot be sent is counted by the endpoint.
        let _ = self
            .endpoint
            .reply(now, request.reply, seid, out, |w| answer.emit(w));
    }

    fn answer_node_report(
        &mut self,
        now: Instant,
        request: &SessionRequest<'_>,
        out: &mut impl Outbox,
    ) {
        let mut report = NodeReportRequest::default();
        let cause = match report.parse_into(request.body) {
            Ok(()) => {
                self.reports.keep(Report::Node(read_node_report(&report)));
                Cause::REQUEST_ACCEPTED
            }
            Err(reject) => reject.cause,
        };
        let node_id = self.cp.node_id.as_wire();
        let answer = NodeReportResponse {
            node_id,
            cause,
            ..Default::default()
        };
        // An answer that cannot be sent is counted by the endpoint.
        let _ = self
            .endpoint
            .reply(now, request.reply, None, out, |w| answer.emit(w));
    }
}

fn read_node_report(report: &NodeReportRequest<'_>) -> NodeReport {
    let failed = report.user_plane_path_failure_report.iter();
    let failed = failed.flat_map(|r| &r.remote_gtpu_peer);
    let recovered = report.user_plane_path_recovery_report.iter();
    let recovered = recovered.flat_map(|r| &r.remote_gtpu_peer);
    NodeReport {
        report_type: report.node_report_type,
        failed_peers: failed.flat_map(addresses).collect(),
        recovered_peers: recovered.flat_map(addresses).collect(),
    }
}

/// The address of a GTP-U peer, or one of each family.
fn addresses(peer: &RemoteGtpuPeer<'_>) -> impl Iterator<Item = IpAddr> + use<> {
    let (v4, v6) = (peer.ipv4.map(IpAddr::V4), peer.ipv6.map(IpAddr::V6));
    v4.into_iter().chain(v6)
}

fn read_session_report(
    body: &[u8],
    cp_seid: Seid,
    is_known: bool,
) -> Result<SessionReport, Reject> {
    let mut request = SessionReportRequest::default();
    request.parse_into(body)?;
    let remote = request
        .error_indication_report
        .iter()
        .flat_map(|report| &report.remote_f_teid);
    let tunnels = remote.filter_map(|f_teid| Tunnel::of(f_teid, false));
    let downlink_data = request.downlink_data_report.iter();
    let flags = request.pfcpsrreq_flags.unwrap_or_default();
    Ok(SessionReport {
        cp_seid,
        is_known,
        report_type: request.report_type,
        usage: Usage::read(&request.usage_report),
        is_final: flags.contains(SessionReportRequestFlags::PSDBU),
        error_indications: tunnels.collect(),
        downlink_data: downlink_data
            .flat_map(|report| &report.pdr_id)
            .copied()
            .collect(),
    })
}
