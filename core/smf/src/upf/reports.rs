//! Reports of UPFs: usage, downlink packets, tunnels and paths that are gone (TS 29.244, 6.2.9, 6.3.5).

use core::net::IpAddr;

use sluice_n2::Tunnel;
use sluice_n4::{AssociationId, SessionRequest};
use sluice_wire::pfcp::message::{
    NodeReportRequest, NodeReportResponse, SessionReportRequest, SessionReportResponse,
    SessionSetDeletionResponse,
};
use sluice_wire::pfcp::value::{
    FTeid, NodeReportType, OffendingIe, RemoteGtpuPeer, SessionReportRequestFlags,
};
use sluice_wire::pfcp::{Cause, MessageType};

use crate::context::session::{AtUpf, Loss, SessionId};
use crate::context::state::State;
use crate::limits;
use crate::upf::n4::{Sent, one_of};

impl State {
    /// A request of a UPF. Each gets an answer.
    pub(crate) fn serve(&mut self, request: &SessionRequest<'_>) {
        match request.header().message_type {
            MessageType::SESSION_REPORT_REQUEST => self.session_report(request),
            MessageType::NODE_REPORT_REQUEST => self.node_report(request),
            // Sessions have no FQ-CSID by which a UPF could name them (TS 23.007, 16A).
            _ => self.refuse_set_deletion(request),
        }
    }

    /// Node Report Request (TS 29.244, 7.4.5.1). Sessions over a path that failed stay: the way to a gNB may be back in a
    /// moment, and N2 says when the gNB is gone (TS 23.527, 5.4). Those of a peer that was restarted have lost
    /// their tunnels there.
    fn node_report(&mut self, request: &SessionRequest<'_>) {
        let (cause, offending) = match NodeReportRequest::parse(request.body) {
            Err(reject) => (reject.cause, reject.offending_ie.map(OffendingIe)),
            Ok(report) => {
                self.take_node_report(request.association, &report);
                (Cause::REQUEST_ACCEPTED, None)
            }
        };
        let own = sluice_n4::NodeId::Ip(self.config.n4);
        let answer = NodeReportResponse {
            node_id: own.as_wire(),
            cause,
            offending_ie: offending,
        };
        let (mut sent, now) = (Sent::default(), self.n4_now());
        // One that cannot be sent is counted by the endpoint; the UPF asks again.
        let _ = self
            .endpoint
            .reply(now, request.reply, None, &mut sent, |w| answer.emit(w));
        self.flush(sent);
    }

    fn refuse_set_deletion(&mut self, request: &SessionRequest<'_>) {
        let own = sluice_n4::NodeId::Ip(self.config.n4);
        let answer = SessionSetDeletionResponse {
            node_id: own.as_wire(),
            cause: Cause::SERVICE_NOT_SUPPORTED,
            offending_ie: None,
        };
        let (mut sent, now) = (Sent::default(), self.n4_now());
        // As above.
        let _ = self
            .endpoint
            .reply(now, request.reply, None, &mut sent, |w| answer.emit(w));
        self.flush(sent);
    }

    fn take_node_report(&mut self, upf: AssociationId, report: &NodeReportRequest<'_>) {
        self.counters.node_reports += 1;
        let failed = report.user_plane_path_failure_report.iter();
        for peer in failed.flat_map(|report| &report.remote_gtpu_peer) {
            for peer in addresses(peer) {
                self.path_failed(upf, peer);
            }
        }
        let recovered = report.user_plane_path_recovery_report.iter();
        for peer in recovered.flat_map(|report| &report.remote_gtpu_peer) {
            for peer in addresses(peer) {
                self.path_recovered(upf, peer);
            }
        }
        let restarted = report.peer_up_restart_report.iter();
        for peer in restarted.flat_map(|report| &report.remote_gtpu_peer) {
            for peer in addresses(peer) {
                self.peer_restarted(upf, peer);
            }
        }
        // Nothing follows from these: nobody has asked for them.
        let others = [
            (NodeReportType::CKDR, "reports a drift of its clock"),
            (NodeReportType::GPQR, "reports the QoS of GTP-U paths"),
            (NodeReportType::VSR, "reports something of its vendor's own"),
        ];
        for (kind, what) in others {
            if report.node_report_type.contains(kind) {
                self.upf_line(upf, what);
            }
        }
    }

    fn path_failed(&mut self, upf: AssociationId, peer: IpAddr) {
        let has_room = self.paths_down.len() < limits::PATHS_DOWN;
        if has_room && self.paths_down.insert((upf, peer)) {
            let sessions = self.sessions_over(upf, peer).len();
            let what = format!(
                "the user plane of the gNB at {peer} does not answer ({sessions} sessions)"
            );
            self.upf_line(upf, &what);
        }
    }

    fn path_recovered(&mut self, upf: AssociationId, peer: IpAddr) {
        if self.paths_down.remove(&(upf, peer)) {
            let what = format!("the user plane of the gNB at {peer} answers again");
            self.upf_line(upf, &what);
        }
    }

    /// Handles the restart of a tunnel peer: packets wait, and the next one has the gNB set the session up again, as
    /// for an idle UE (TS 23.527, 5.3.3).
    fn peer_restarted(&mut self, upf: AssociationId, peer: IpAddr) {
        self.paths_down.remove(&(upf, peer));
        let lost = self.sessions_over(upf, peer);
        let count = lost.len();
        let what = format!("the user plane of the gNB at {peer} was restarted ({count} sessions)");
        self.upf_line(upf, &what);
        for id in &lost {
            if let Some(session) = self.sessions.get_mut(id.0) {
                session.downlink = None;
                session.is_unsettled = true;
            }
        }
        // Told a few at a time.
        self.to_settle.extend(lost);
    }

    /// Sessions of a UPF whose packets go to this address.
    fn sessions_over(&self, upf: AssociationId, peer: IpAddr) -> Vec<SessionId> {
        let leads_there = |tunnel: Tunnel| match peer {
            IpAddr::V4(ip) => tunnel.ipv4 == Some(ip),
            IpAddr::V6(ip) => tunnel.ipv6 == Some(ip),
        };
        let is_at = |at: AtUpf| at.association == upf;
        let sessions = self.sessions.iter();
        let over = sessions
            .filter(|(_, one)| one.upf.is_some_and(is_at) && one.downlink.is_some_and(leads_there));
        over.map(|(key, _)| SessionId(key)).collect()
    }

    /// How many sessions of a UPF have packets that go to this address.
    pub(crate) fn count_over(&self, upf: AssociationId, peer: IpAddr) -> usize {
        self.sessions_over(upf, peer).len()
    }

    /// The UPF has another association, or none: it tells anew what does not answer.
    pub(crate) fn forget_paths(&mut self, upf: AssociationId) {
        self.paths_down.retain(|(one, _)| *one != upf);
    }

    /// The UPF has ended the session by itself (PSDBU, TS 29.244, 5.18): it gets it again, now or when it is back.
    fn ended_by_upf(&mut self, id: SessionId, upf: AtUpf) {
        if !self.leaving.contains(&upf.association) {
            return self.is_lost_at(id, upf);
        }
        if let Some(session) = self.sessions.get_mut(id.0) {
            session.loss = Loss::Restarted;
        }
        let now = self.n4_now();
        self.endpoint.prolong_preparation(now, upf.association);
    }

    /// Session Report Request (TS 29.244, 6.3.5): usage is added up; for downlink data the UE is paged.
    fn session_report(&mut self, request: &SessionRequest<'_>) {
        let header = *request.header();
        let (mut sent, now) = (Sent::default(), self.n4_now());
        let id = SessionId::from_number(header.seid.unwrap_or_default().0);
        let known = self.sessions.get(id.0);
        // A session is its own UPF's to report of (TS 29.244, 5.22).
        let upf = known.and_then(|session| session.upf);
        let upf = upf.filter(|upf| upf.association == request.association);
        let up_seid = upf.map(|upf| upf.seid);
        let mut report = SessionReportRequest::default();
        let (cause, offending) = match report.parse_into(request.body) {
            Err(reject) => (reject.cause, reject.offending_ie.map(OffendingIe)),
            Ok(()) if up_seid.is_none() => (Cause::SESSION_CONTEXT_NOT_FOUND, None),
            Ok(()) => (Cause::REQUEST_ACCEPTED, None),
        };
        if cause == Cause::REQUEST_ACCEPTED {
            let groups = self.add_usage(header.seid, &report.usage_report);
            self.counters.usage_reports += u64::from(!report.usage_report.is_empty());
            if report.downlink_data_report.is_some() {
                self.counters.downlink_data_reports += 1;
                let name = "N4 Session Report Request (downlink data)";
                self.line("UPF", "SMF", "2a", name, id);
                self.with_packets.push(id);
            }
            if let Some(indication) = &report.error_indication_report {
                self.lose_tunnel(id, &indication.remote_f_teid);
            }
            for group in groups {
                self.record(id, group, false);
            }
            let flags = report.pfcpsrreq_flags.unwrap_or_default();
            if let Some(upf) = upf.filter(|_| flags.contains(SessionReportRequestFlags::PSDBU)) {
                self.ended_by_upf(id, upf);
            }
        }
        let answer = SessionReportResponse {
            cause,
            offending_ie: offending,
            ..SessionReportResponse::default()
        };
        let seid = Some(up_seid.unwrap_or_default());
        // What cannot be sent is counted by the endpoint; the UPF asks again.
        let _ = self
            .endpoint
            .reply(now, request.reply, seid, &mut sent, |w| answer.emit(w));
        self.flush(sent);
    }

    /// A peer of the UPF knows nothing of tunnels; one of a gNB that the UE has left meanwhile is none of the session's.
    fn lose_tunnel(&mut self, id: SessionId, unknown: &[FTeid]) {
        self.counters.error_indications += 1;
        let Some(session) = self.sessions.get_mut(id.0) else {
            return;
        };
        // The gNB may have addresses of both families, of which the UPF uses one.
        let is_same = |one: Tunnel, other: Tunnel| {
            let by_ipv4 = one.ipv4.is_some() && one.ipv4 == other.ipv4;
            let by_ipv6 = one.ipv6.is_some() && one.ipv6 == other.ipv6;
            one.teid == other.teid && (by_ipv4 || by_ipv6)
        };
        let is_it = |one: &FTeid| {
            let both = one_of(one).zip(session.downlink);
            both.is_some_and(|(one, other)| is_same(one, other))
        };
        if !unknown.iter().any(is_it) {
            return;
        }
        session.is_tunnel_lost = true;
        let name = "N4 Session Report Request (Error Indication)";
        self.line("UPF", "SMF", "", name, id);
        self.with_packets.push(id);
    }
}

fn addresses(peer: &RemoteGtpuPeer<'_>) -> impl Iterator<Item = IpAddr> + use<> {
    let ipv4 = peer.ipv4.map(IpAddr::V4);
    ipv4.into_iter().chain(peer.ipv6.map(IpAddr::V6))
}
