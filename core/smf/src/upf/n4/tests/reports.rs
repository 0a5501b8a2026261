//! Reports of UPFs that concern no session, and UPFs that stop in order.

use sluice_n4::Change;
use sluice_wire::pfcp::group::{
    PeerUpRestartReport, UserPlanePathFailureReport, UserPlanePathRecoveryReport,
};
use sluice_wire::pfcp::message::NodeReportRequest;
use sluice_wire::pfcp::value::{NodeReportType, RemoteGtpuPeer};

use super::*;

const GNB: [u8; 4] = [10, 99, 0, 31];

fn peers() -> RemoteGtpuPeer<'static> {
    RemoteGtpuPeer {
        ipv4: Some(GNB.into()),
        ..RemoteGtpuPeer::default()
    }
}

impl Net {
    fn node_report(&mut self, kind: NodeReportType) {
        let own = NodeId::Ip(self.peers[0].at.ip());
        let mut report = NodeReportRequest {
            node_id: own.as_wire(),
            node_report_type: kind,
            ..NodeReportRequest::default()
        };
        if kind == NodeReportType::UPFR {
            let mut failed = UserPlanePathFailureReport::default();
            failed.remote_gtpu_peer.push(peers());
            report.user_plane_path_failure_report = Some(failed);
        }
        if kind == NodeReportType::UPRR {
            let mut recovered = UserPlanePathRecoveryReport::default();
            recovered.remote_gtpu_peer.push(peers());
            report.user_plane_path_recovery_report = Some(recovered);
        }
        if kind == NodeReportType::PURR {
            let mut restarted = PeerUpRestartReport::default();
            restarted.remote_gtpu_peer.push(peers());
            report.peer_up_restart_report = Some(restarted);
        }
        let asked = MessageType::NODE_REPORT_REQUEST;
        self.ask(0, asked, None, |w| report.emit(w));
    }

    fn paths_down(&self) -> Vec<(IpAddr, usize)> {
        self.smf.upfs().swap_remove(0).paths_down
    }

    fn has_downlink(&self, id: SessionId) -> bool {
        let state = self.smf.state.borrow();
        state
            .sessions
            .get(id.0)
            .is_some_and(|one| one.downlink.is_some())
    }
}

/// Node ID of the SMF, and cause 1.
const ACCEPTED: [u8; 14] = [0, 60, 0, 5, 0, 127, 0, 0, 20, 0, 19, 0, 1, 1];

#[test]
fn node_reports_of_each_kind_are_answered_and_a_gnb_without_user_plane_is_shown() {
    let mut net = Net::new(&[8], vec![Peer::new(8, 0xe000_0000)]);
    let id = net.insert_session(0);
    if let Some(session) = net.smf.state.borrow_mut().sessions.get_mut(id.0) {
        session.downlink = Some(Tunnel {
            ipv4: Some(GNB.into()),
            ipv6: None,
            teid: 1,
        });
    }
    net.node_report(NodeReportType::UPFR);
    assert_eq!(net.paths_down(), [(IpAddr::from(GNB), 1)]);
    assert!(net.has_downlink(id), "the way may be back in a moment");
    net.node_report(NodeReportType::UPRR);
    assert_eq!(net.paths_down(), []);
    for kind in [
        NodeReportType::CKDR,
        NodeReportType::GPQR,
        NodeReportType::VSR,
    ] {
        net.node_report(kind);
    }
    // The gNB has no tunnels any more.
    net.node_report(NodeReportType::PURR);
    assert!(!net.has_downlink(id));
    let asked = &net.peers[0].asked;
    assert!(asked.contains(&MessageType::SESSION_MODIFICATION_REQUEST));
    assert_eq!(net.peers[0].node_answers, vec![ACCEPTED.to_vec(); 6]);
    assert_eq!(net.smf.counters().node_reports, 6);
}

#[test]
fn a_node_report_without_what_it_announces_is_refused_by_name() {
    let mut net = Net::new(&[8], vec![Peer::new(8, 0xe000_0000)]);
    let own = NodeId::Ip(net.peers[0].at.ip());
    let report = NodeReportRequest {
        node_id: own.as_wire(),
        node_report_type: NodeReportType::UPFR,
        ..NodeReportRequest::default()
    };
    let kind = MessageType::NODE_REPORT_REQUEST;
    net.ask(0, kind, None, |w| report.emit(w));
    // Conditional IE missing; Offending IE: User Plane Path Failure Report.
    let refused = [
        0, 60, 0, 5, 0, 127, 0, 0, 20, 0, 19, 0, 1, 67, 0, 40, 0, 2, 0, 102,
    ];
    assert_eq!(net.peers[0].node_answers, [refused]);
}

#[test]
fn sessions_of_a_upf_that_stops_in_order_wait_for_it_with_their_last_usage() {
    let mut upf = Peer::new(8, 0xe000_0000);
    upf.endpoint = {
        let mut config = upf.endpoint.config().clone();
        let features = UpFunctionFeatures::FTUP | UpFunctionFeatures::UEIP;
        config.features = sluice_n4::Features::of_up(features | UpFunctionFeatures::EPFAR);
        Endpoint::new(Role::Up, config)
    };
    let mut net = Net::new(&[8], vec![upf]);
    let id = net.insert_session(0);
    let before = net.association(0);
    // SARR, with more time than the test takes.
    let (mut sent, now) = (Sent::default(), sluice_n4::Instant(net.now.instant.0));
    let peer = &mut net.peers[0];
    let (association, _) = peer.endpoint.associations().next().expect("associated");
    let change = Change::ReleaseRequest {
        graceful_period_s: Some(3_600),
    };
    let updated = peer.endpoint.update(now, association, change, &mut sent);
    updated.expect("sent");
    let from = peer.at;
    net.carry_from(from, sent);
    // The last usage, and that the session has ended (PSDBU).
    let usage = UsageReport {
        volume_measurement: Some(VolumeMeasurement {
            uplink: Some(30),
            downlink: Some(400),
            ..VolumeMeasurement::default()
        }),
        ..UsageReport::default()
    };
    let mut report = SessionReportRequest {
        report_type: ReportType::USAR,
        pfcpsrreq_flags: Some(SessionReportRequestFlags::PSDBU),
        ..SessionReportRequest::default()
    };
    report.usage_report.push(usage);
    let kind = MessageType::SESSION_REPORT_REQUEST;
    net.ask(0, kind, Some(Seid(id.number())), |w| report.emit(w));
    assert_eq!(net.peers[0].answers, [Cause::REQUEST_ACCEPTED]);
    // Nothing more is to come (URSS).
    let (mut sent, now) = (Sent::default(), sluice_n4::Instant(net.now.instant.0));
    let peer = &mut net.peers[0];
    let change = Change::UsageReportsSent;
    let updated = peer.endpoint.update(now, association, change, &mut sent);
    updated.expect("the release was announced");
    net.carry_from(from, sent);
    net.input(Input::Time);
    assert_eq!(net.peers[0].endpoint.associations().count(), 0, "released");
    assert_ne!(net.association(0), before);
    {
        let state = net.smf.state.borrow();
        let session = state.sessions.get(id.0).expect("it is there");
        assert_eq!(session.loss, Loss::Restarted);
        let used = Usage {
            uplink_octets: 30,
            downlink_octets: 400,
        };
        assert_eq!(session.usage, used);
        assert_eq!(state.usage, used, "the sum of all sessions");
    }
    // It is back, and is asked for the session.
    net.peers[0].asked.clear();
    net.peers[0].restart();
    net.pass(6_000);
    let asked = &net.peers[0].asked;
    assert!(asked.contains(&MessageType::SESSION_ESTABLISHMENT_REQUEST));
    assert_eq!(net.smf.sessions(), 1);
}

#[test]
fn a_session_is_refused_with_what_each_upf_lacks() {
    let mut mute = Peer::new(8, 0xe000_0000);
    mute.associates = false;
    let mut poor = Peer::new(9, 0xe000_0000);
    poor.endpoint = {
        let mut config = poor.endpoint.config().clone();
        config.features = sluice_n4::Features::of_up(UpFunctionFeatures::FTUP);
        Endpoint::new(Role::Up, config)
    };
    let mut net = Net::new(&[8, 9], vec![mute, poor]);
    net.pass(5_000);
    let area = Tai {
        plmn: Plmn::new("001", "01").expect("digits"),
        tac: Tac([0, 0, 1]),
    };
    let dnn = Dnn::new("internet").expect("a name");
    let why = |slice| {
        let state = net.smf.state.borrow();
        let chosen = state.choose_upf(&dnn, &Snssai::new(slice, None), &area, [true; 2]);
        chosen.expect_err("none can").why.why
    };
    let expected = "UPF 127.0.0.8:8805 does not answer; UPF 127.0.0.9:8805 does not allocate UE addresses (no \
                    UEIP), and internet has no pool of IPv4";
    assert_eq!(why(1), expected);
    for upf in &mut net.smf.state.borrow_mut().config.upfs {
        upf.slices = vec![Snssai::new(2, None)];
    }
    let expected = "no UPF serves this data network, slice and tracking area";
    assert_eq!(why(1), expected);
    assert!(net.smf.upfs()[1].lacks.is_some());
}
