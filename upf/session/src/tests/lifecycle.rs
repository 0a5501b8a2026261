//! CP functions come, go, fall silent; peers forget tunnels.

use super::bench::*;
use core::net::Ipv4Addr;
use sluice_wire::ids::Seid;
use sluice_wire::pfcp::message::*;
use sluice_wire::pfcp::value::*;
use sluice_wire::pfcp::{Cause, Header, MessageType};

fn many(bench: &mut Bench, n: u8) {
    for i in 1..=n {
        let ue = Ipv4Addr::new(10, 45, 0, i);
        let done = bench.establish(CP, &default_session(ue, u64::from(i)));
        assert_eq!(done.cause, Cause::REQUEST_ACCEPTED);
    }
}

#[test]
fn a_released_association_takes_its_sessions_along() {
    let mut bench = Bench::with(|c| c.transactions = 4);
    many(&mut bench, 20);
    let request = AssociationReleaseRequest {
        node_id: NodeId::V4(CP),
    };
    let kind = MessageType::ASSOCIATION_RELEASE_REQUEST;
    bench.ask(CP, kind, None, |w| request.emit(w)).unwrap();
    assert!(bench.up.is_released());
    bench.assert_vacant();
}

#[test]
fn a_new_association_set_up_ends_the_sessions_but_for_those_retained() {
    let mut bench = Bench::new();
    many(&mut bench, 3);
    let mut elsewhere = default_session(UE, 9);
    elsewhere.create_pdr[0].pdi.ue_ip_address[0] =
        UeIpAddress::v4(Ipv4Addr::new(10, 45, 0, 50), false);
    elsewhere.create_pdr[1].pdi.ue_ip_address[0] =
        UeIpAddress::v4(Ipv4Addr::new(10, 45, 0, 50), true);
    elsewhere.cp_f_seid = FSeid::v4(Seid(9), CP2);
    assert_eq!(
        bench.establish(CP, &elsewhere).cause,
        Cause::REQUEST_ACCEPTED
    );
    let mut retained = sluice_wire::pfcp::group::SessionRetentionInformation::default();
    retained
        .cp_pfcp_entity_ip_address
        .push(CpPfcpEntityIpAddress {
            ipv4: Some(CP2),
            ..Default::default()
        });
    let request = AssociationSetupRequest {
        node_id: NodeId::V4(CP),
        recovery_time_stamp: NtpTime(7),
        pfcp_session_retention_information: Some(retained),
        ..Default::default()
    };
    let kind = MessageType::ASSOCIATION_SETUP_REQUEST;
    bench.ask(CP, kind, None, |w| request.emit(w)).unwrap();
    assert_eq!(bench.up.session_count(), 1);
    assert_eq!(bench.up.sessions()[0].cp_seid, 9);
    bench.associate(CP);
    assert_eq!(bench.up.session_count(), 0);
    bench.assert_vacant();
}

#[test]
fn sessions_of_a_silent_peer_stay_for_their_time() {
    let mut bench = Bench::with(|c| c.peer_loss_keep_s = 600);
    many(&mut bench, 2);
    let mut now = 0;
    while !matches!(bench.up.next_event(), Some(crate::SessionEvent::Lost(..))) {
        bench.now_s += 1;
        now += 1;
        bench.tick();
        assert!(now < 300, "heartbeats find the silence");
    }
    bench.now_s += 598;
    bench.tick();
    assert_eq!(bench.up.session_count(), 2);
    assert!(bench.up.next_deadline().is_some());
    bench.now_s += 3;
    bench.tick();
    assert_eq!(bench.up.session_count(), 0);
    bench.assert_vacant();
}

fn error_reports(bench: &mut Bench, peer: Ipv4Addr, teid: u32) -> Vec<Vec<u8>> {
    bench.out.datagrams.clear();
    let (now, wall) = (bench.now(), bench.wall());
    bench
        .up
        .error_indication(now, wall, peer.into(), teid, &mut bench.out);
    bench.out.datagrams.iter().map(|(_, b)| b.clone()).collect()
}

#[test]
fn an_error_indication_is_reported_once_and_only_from_the_tunnels_peer() {
    let mut bench = Bench::new();
    let seid = bench.establish(CP, &default_session(UE, 77)).seid;
    assert!(error_reports(&mut bench, Ipv4Addr::new(192, 0, 2, 66), 0xd007).is_empty());
    assert!(error_reports(&mut bench, GNB, 0xd008).is_empty());
    let sent = error_reports(&mut bench, GNB, 0xd007);
    assert_eq!(sent.len(), 1);
    let (header, body) = Header::parse(&sent[0]).unwrap();
    assert_eq!(header.seid, Some(Seid(77)));
    let report = SessionReportRequest::parse(body).unwrap();
    assert_eq!(report.report_type, ReportType::ERIR);
    let remote = report.error_indication_report.unwrap().remote_f_teid[0];
    assert_eq!(
        remote,
        FTeid::v4(sluice_wire::ids::Teid::new(0xd007).unwrap(), GNB)
    );
    assert!(
        error_reports(&mut bench, GNB, 0xd007).is_empty(),
        "one episode, one report"
    );
    bench.delete(CP, seid);
    bench.assert_vacant();
}

#[test]
fn an_error_indication_is_reported_for_every_session_that_sends_there() {
    let mut bench = Bench::new();
    let other_ue = Ipv4Addr::new(10, 45, 0, 8);
    let first = bench.establish(CP, &default_session(UE, 77)).seid;
    let mut request = default_session(other_ue, 78);
    request.create_far[1] = to_gnb(2, 0xd007);
    let second = bench.establish(CP, &request).seid;
    let named = |sent: &[Vec<u8>]| -> Vec<_> {
        let headers = sent.iter().map(|b| Header::parse(b).unwrap().0);
        headers.map(|h| h.seid).collect()
    };
    let sent = error_reports(&mut bench, GNB, 0xd007);
    assert_eq!(named(&sent), [Some(Seid(77)), Some(Seid(78))]);
    assert!(error_reports(&mut bench, GNB, 0xd007).is_empty());
    // The one that was first goes; a third one comes to the tunnel.
    bench.delete(CP, first);
    let mut request = default_session(UE, 79);
    request.create_far[1] = to_gnb(2, 0xd007);
    let third = bench.establish(CP, &request).seid;
    let sent = error_reports(&mut bench, GNB, 0xd007);
    assert_eq!(named(&sent), [Some(Seid(79))], "the other was reported");
    bench.delete(CP, second);
    bench.delete(CP, third);
    bench.assert_vacant();
}

#[test]
fn the_end_of_the_up_function_is_announced_and_waited_for() {
    let mut bench = Bench::new();
    many(&mut bench, 2);
    bench.out.datagrams.clear();
    let (now, wall) = (bench.now(), bench.wall());
    bench
        .up
        .begin_release(now, wall, 30, &mut bench.net, &mut bench.out);
    let (_, update) = bench.out.datagrams[0].clone();
    let (header, body) = Header::parse(&update).unwrap();
    assert_eq!(header.message_type, MessageType::ASSOCIATION_UPDATE_REQUEST);
    let update = AssociationUpdateRequest::parse(body).unwrap();
    let flags = update.pfcp_association_release_request.unwrap();
    assert!(flags.contains(AssociationReleaseRequestFlags::SARR));
    assert!(!bench.up.is_released());
    assert_eq!(
        bench.establish(CP, &default_session(UE, 9)).cause,
        Cause::NO_RESOURCES_AVAILABLE
    );
    let request = AssociationReleaseRequest {
        node_id: NodeId::V4(CP),
    };
    let kind = MessageType::ASSOCIATION_RELEASE_REQUEST;
    bench.ask(CP, kind, None, |w| request.emit(w)).unwrap();
    assert!(bench.up.is_released());
    bench.assert_vacant();
}

#[test]
fn views_show_rules_as_they_were_provisioned() {
    let mut bench = Bench::new();
    let mut request = default_session(UE, 77);
    request.user_id = Some(UserId {
        imsi: Some(&[0x00, 0x01, 0x01, 0x32, 0x54, 0x76, 0x98, 0xf0]),
        ..Default::default()
    });
    let done = bench.establish(CP, &request);
    let view = bench.up.session(done.seid.0).unwrap();
    assert_eq!(view.summary.imsi, "001010234567890");
    assert_eq!(
        (view.summary.cp_seid, view.summary.ue_address),
        (77, Some(UE))
    );
    assert_eq!(view.pdr[0].teid, Some(done.teids[0].1));
    assert_eq!(view.pdr[1].network_instance.as_deref(), Some("internet"));
    assert_eq!(
        (view.far[1].peer, view.far[1].teid),
        (Some(GNB.into()), Some(0xd007))
    );
    assert_eq!(view.qer[0].mbr_kbps, Some([10_000, 20_000]));
    assert_eq!(bench.up.associations()[0].sessions, 1);
}
