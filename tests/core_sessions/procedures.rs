//! Establishment, release, idle and back, deregistration: by the steps of TS 23.502.

use sluice_n1::{RegistrationKind, SessionType, options};
use sluice_n2::QosFlow;

use crate::harness::*;
use crate::kit::{self, frames};
use crate::world::{slice, supi};

/// TS 23.502, 4.3.2.2.1, with the steps of its figure.
pub const ESTABLISHMENT: &str = "\
1     UE   -> AMF   UL NAS Transport
2     AMF  -> UDM   Nudm_SDM_Get Request (SMF selection)
2     UDM  -> UDR   Nudr_DM_Query Request (SMF selection)
2     UDR  -> UDM   Nudm_SDM_Get Response (SMF selection)
2     UDM  -> AMF   Nudm_SDM_Get Response (SMF selection)
2     AMF  -> NRF   Nnrf_NFDiscovery_Request Request
2     NRF  -> AMF   Nnrf_NFDiscovery_Request Response (1 found, for 60 s)
3     AMF  -> SMF   Nsmf_PDUSession_CreateSMContext Request
4     SMF  -> UDM   Nudm_SDM_Get Request (session management)
4     UDM  -> UDR   Nudr_DM_Query Request (session management)
4     UDR  -> UDM   Nudm_SDM_Get Response (session management)
4     UDM  -> SMF   Nudm_SDM_Get Response (session management)
4     SMF  -> UDM   Nudm_SDM_Subscribe Request
4     UDM  -> UDR   Nudr_DM_Create Request (SDM subscription)
4     UDR  -> UDM   Response
4     UDM  -> SMF   Nudm_SDM_Subscribe Response
7b    SMF  -> PCF   Npcf_SMPolicyControl_Create Request
3     SMF  -> AMF   Nsmf_PDUSession_CreateSMContext Response
7b    PCF  -> SMF   Npcf_SMPolicyControl Response
10    SMF  -> UPF   N4 Session Establishment Request
10    UPF  -> SMF   N4 Session Establishment Response
9     SMF  -> PCF   Npcf_SMPolicyControl_Update Request
9     PCF  -> SMF   Npcf_SMPolicyControl Response
11    SMF  -> UE    PDU Session Establishment Accept
11    SMF  -> AMF   Namf_Communication_N1N2MessageTransfer Request
12    AMF  -> gNB   PDU Session Resource Setup Request
11    AMF  -> SMF   Namf_Communication_N1N2MessageTransfer Response (N1 N2 transfer initiated)
14    gNB  -> AMF   PDU Session Resource Setup Response
15    AMF  -> SMF   Nsmf_PDUSession_UpdateSMContext Request
16    SMF  -> UPF   N4 Session Modification Request
16    UPF  -> SMF   N4 Session Modification Response
16c   SMF  -> UDM   Nudm_UECM_Registration Request (SMF)
16c   UDM  -> UDR   Nudr_DM_Create Request (SMF registration)
16c   UDR  -> UDM   Response
16c   UDM  -> SMF   Response
15    SMF  -> AMF   Nsmf_PDUSession_UpdateSMContext Response
";

#[test]
fn a_phone_gets_a_session_and_its_packets_flow() {
    let mut world = world(&[1]);
    establish(&mut world, 0, 5, &wanted(SessionType::Ipv4));
    world.assert_said(ESTABLISHMENT);
    let accept = world.ue(0).sessions().get(5).unwrap().clone();
    assert_eq!(
        (accept.session_type, accept.cause),
        (SessionType::Ipv4, None)
    );
    assert_eq!((accept.ssc_mode, accept.qfi, accept.five_qi), (1, 1, 9));
    let ambr = (accept.ambr.down_bps, accept.ambr.up_bps);
    assert_eq!(ambr, (200_000_000, 100_000_000));
    assert_eq!(
        (accept.slice, accept.dnn),
        (slice(1), b"\x08internet".to_vec())
    );
    let told = options::read(&accept.options.unwrap());
    assert_eq!(told, settings());
    // The gNB's part.
    let gnb = radio(&world, 0, 5).unwrap();
    assert_eq!(gnb.request.ambr_bps, ambr);
    assert_eq!(gnb.request.flows, [QosFlow::new(1, 9, 8)]);
    assert_eq!(gnb.request.uplink.ipv4, Some(kit::N3));
    // Packets, both ways.
    assert!(goes_up(&mut world, 0, 5));
    let ue = address(&world, 0, 5);
    assert_eq!(goes_down(&mut world, ue), Some(gnb.downlink.teid));
    assert_eq!(world.core.smf().unwrap().counters().established, 1);
    assert_eq!(world.amf().counters().unexpected, 0);
}

/// TS 23.502, 4.3.4.2.
const RELEASE: &str = "\
      UE   -> AMF   UL NAS Transport
1     AMF  -> SMF   Nsmf_PDUSession_UpdateSMContext Request
2     SMF  -> UPF   N4 Session Deletion Request
2     UPF  -> SMF   N4 Session Deletion Response
3     SMF  -> UE    PDU Session Release Command #36 (regular deactivation)
1     SMF  -> AMF   Nsmf_PDUSession_UpdateSMContext Response
4     AMF  -> gNB   PDU Session Resource Release Command
6     gNB  -> AMF   PDU Session Resource Release Response
7     AMF  -> SMF   Nsmf_PDUSession_UpdateSMContext Request
      UE   -> AMF   UL NAS Transport
1     AMF  -> SMF   Nsmf_PDUSession_UpdateSMContext Request
11    SMF  -> AMF   Nsmf_PDUSession_SMContextStatusNotify Request
14    SMF  -> UDM   Nudm_SDM_Unsubscribe Request
14    UDM  -> UDR   Nudr_DM_Delete Request (SDM subscription)
15    SMF  -> UDM   Nudm_UECM_Deregistration Request (SMF)
15    UDM  -> UDR   Nudr_DM_Delete Request (SMF registration)
15    UDR  -> UDM   Response
";

#[test]
fn a_phone_releases_its_session() {
    let mut world = world(&[1]);
    establish(&mut world, 0, 5, &wanted(SessionType::Ipv4));
    assert!(goes_up(&mut world, 0, 5));
    world.call_flow.0.clear();
    let nas = world.ue_mut(0).release(5);
    world.say(0, nas);
    let call_flow = world.call_flow.to_string();
    for line in RELEASE.lines() {
        assert!(call_flow.contains(line), "{line} of {call_flow}");
    }
    assert_eq!(world.ue(0).sessions().status(), 0);
    assert_eq!(radio(&world, 0, 5), None);
    assert_no_session(&mut world);
    // What it used, at the end.
    let records = world.core.sessions().take_records();
    let last = records.last().unwrap();
    assert!(last.is_last);
    assert_eq!((last.supi, last.session), (supi(1), 5));
    assert_eq!(
        (last.usage.uplink_octets, last.usage.downlink_octets),
        (100, 0)
    );
    // Its address is free again.
    establish(&mut world, 0, 5, &wanted(SessionType::Ipv4));
    assert!(goes_up(&mut world, 0, 5));
}

#[test]
fn usage_is_recorded_by_volume() {
    let mut world = world(&[1]);
    establish(&mut world, 0, 5, &wanted(SessionType::Ipv4));
    for _ in 0..12 {
        assert!(goes_up(&mut world, 0, 5));
    }
    let records = world.core.sessions().take_records();
    assert_eq!(records.len(), 1, "{records:?}");
    assert!(records[0].usage.uplink_octets >= 1_000 && !records[0].is_last);
}

#[test]
fn the_network_releases_a_session() {
    let mut world = world(&[1]);
    establish(&mut world, 0, 5, &wanted(SessionType::Ipv4));
    world.call_flow.0.clear();
    let now = world.now;
    assert!(world.core.sessions().release(now, &supi(1), 5));
    world.run();
    assert_eq!(world.ue(0).sessions().status(), 0);
    assert_eq!(radio(&world, 0, 5), None);
    let call_flow = world.call_flow.to_string();
    let at = |text: &str| {
        call_flow
            .find(text)
            .unwrap_or_else(|| panic!("{text} of {call_flow}"))
    };
    assert!(at("N4 Session Deletion Request") < at("PDU Session Release Command"));
    assert!(at("PDU Session Release Command") < at("SMContextStatusNotify"));
    assert_no_session(&mut world);
    assert!(!world.core.sessions().release(now, &supi(1), 5));
}

#[test]
fn a_release_command_that_is_not_answered_is_sent_five_times() {
    let mut world = world(&[1]);
    establish(&mut world, 0, 5, &wanted(SessionType::Ipv4));
    world.ue_mut(0).sessions_mut().no_complete = true;
    world.call_flow.0.clear();
    let begin = world.now;
    assert!(world.core.sessions().release(begin, &supi(1), 5));
    world.run();
    for _ in 0..100 {
        if world.core.smf().unwrap().sessions() == 0 {
            break;
        }
        assert!(world.wait());
    }
    // T3592: 16 s.
    assert_eq!(world.now.instant.ms_since(begin.instant), 5 * 16_000);
    let call_flow = world.call_flow.to_string();
    assert_eq!(
        call_flow.matches("PDU Session Release Command").count(),
        5,
        "{call_flow}"
    );
    assert_no_session(&mut world);
    assert_ended(&world, ("SMF", "release"), "the UE does not answer", 1);
    assert_ended(&world, ("SMF", "release"), "success", 0);
}

#[test]
fn downlink_packets_wait_for_an_idle_phone_and_it_comes_back_with_data() {
    let mut world = world(&[1]);
    establish(&mut world, 0, 5, &wanted(SessionType::Ipv4));
    let (ue, before) = (address(&world, 0, 5), radio(&world, 0, 5).unwrap());
    world.answers_pages = false;
    world.call_flow.0.clear();
    go_idle(&mut world, 0);
    // TS 23.502, 4.2.6.
    let call_flow = world.call_flow.to_string();
    for line in [
        "5     AMF  -> SMF   Nsmf_PDUSession_UpdateSMContext Request",
        "6     SMF  -> UPF   N4 Session Modification Request",
    ] {
        assert!(call_flow.contains(line), "{call_flow}");
    }
    assert_eq!(goes_down(&mut world, ue), None);
    assert_eq!(
        world.core.smf().unwrap().counters().downlink_data_reports,
        1
    );
    // TS 23.502, 4.2.3.2.
    world.ue_mut(0).sessions_mut().set_data(1 << 5);
    world.call_flow.0.clear();
    come_back(&mut world, 0);
    let call_flow = world.call_flow.to_string();
    for line in [
        "4     AMF  -> SMF   Nsmf_PDUSession_UpdateSMContext Request",
        "12    AMF  -> gNB   Initial Context Setup Request",
        "15    AMF  -> SMF   Nsmf_PDUSession_UpdateSMContext Request",
        "16    SMF  -> UPF   N4 Session Modification Request",
    ] {
        assert!(call_flow.contains(line), "{call_flow}");
    }
    assert!(
        !call_flow.contains("PDU Session Resource Setup Request"),
        "{call_flow}"
    );
    let after = radio(&world, 0, 5).unwrap();
    assert_eq!(after.request.uplink, before.request.uplink);
    // What has waited comes by the new tunnel.
    settle_upf(&mut world);
    let waited = upf(&mut world).upf.n3.take_output();
    assert!(waited.iter().any(|(_, frame)| matches!(
        frames::read_n3(frame),
        frames::N3Frame::Data { to, .. } if to.teid.get() == after.downlink.teid
    )));
    assert!(goes_up(&mut world, 0, 5));
    assert_eq!(goes_down(&mut world, ue), Some(after.downlink.teid));
}

#[test]
fn a_phone_without_data_comes_back_without_user_plane() {
    let mut world = world(&[1]);
    establish(&mut world, 0, 5, &wanted(SessionType::Ipv4));
    go_idle(&mut world, 0);
    come_back(&mut world, 0);
    assert_eq!(radio(&world, 0, 5), None);
    assert_eq!(world.ue(0).sessions().status(), 1 << 5);
    // It has data now, and the gNB has its context.
    world.ue_mut(0).sessions_mut().set_data(1 << 5);
    world.call_flow.0.clear();
    let nas = world.ue_mut(0).request_user_planes().unwrap();
    world.say(0, nas);
    let call_flow = world.call_flow.to_string();
    assert!(
        call_flow.contains("PDU Session Resource Setup Request"),
        "{call_flow}"
    );
    assert!(goes_up(&mut world, 0, 5));
}

#[test]
fn a_registration_that_names_data_brings_user_planes_up() {
    let mut world = world(&[1]);
    establish(&mut world, 0, 5, &wanted(SessionType::Ipv4));
    establish(&mut world, 0, 6, &wanted(SessionType::Ipv4));
    go_idle(&mut world, 0);
    // It has forgotten one, and has data for the other.
    world.ue_mut(0).sessions_mut().forget(6);
    world.ue_mut(0).sessions_mut().set_data(1 << 5);
    let nas = world.ue_mut(0).register(RegistrationKind::Mobility);
    world.connect(0, nas);
    assert_eq!(world.ue(0).accept().unwrap().session_status, Some(1 << 5));
    assert_eq!(world.core.smf().unwrap().sessions(), 1);
    assert!(goes_up(&mut world, 0, 5));
    // An initial one begins without sessions.
    let nas = world.ue_mut(0).register(RegistrationKind::Initial);
    world.connect(0, nas);
    assert_no_session(&mut world);
}

#[test]
fn a_phone_that_leaves_has_no_sessions() {
    for switch_off in [false, true] {
        let mut world = world(&[1]);
        establish(&mut world, 0, 5, &wanted(SessionType::Ipv4));
        establish(&mut world, 0, 6, &wanted(SessionType::Ipv4));
        world.call_flow.0.clear();
        let nas = world.ue_mut(0).deregister(switch_off, true).unwrap();
        world.say(0, nas);
        let call_flow = world.call_flow.to_string();
        let release = "2     AMF  -> SMF   Nsmf_PDUSession_ReleaseSMContext Request";
        assert_eq!(call_flow.matches(release).count(), 2, "{call_flow}");
        assert_no_session(&mut world);
    }
}

#[test]
fn a_phone_that_is_sent_away_has_no_sessions() {
    for is_idle in [false, true] {
        let mut world = world(&[1]);
        establish(&mut world, 0, 5, &wanted(SessionType::Ipv4));
        establish(&mut world, 0, 6, &wanted(SessionType::Ipv4));
        if is_idle {
            go_idle(&mut world, 0);
        }
        world.call_flow.0.clear();
        let now = world.now;
        assert!(world.core.mobility().deregister(now, &supi(1), true));
        world.run();
        let call_flow = world.call_flow.to_string();
        let release = "4     AMF  -> SMF   Nsmf_PDUSession_ReleaseSMContext Request";
        assert_eq!(call_flow.matches(release).count(), 2, "{call_flow}");
        assert_no_session(&mut world);
        assert_eq!(world.amf().registered(), 0);
        // It begins anew.
        world.register(0);
        establish(&mut world, 0, 5, &wanted(SessionType::Ipv4));
        assert!(goes_up(&mut world, 0, 5));
    }
}

#[test]
fn a_phone_that_is_not_heard_of_loses_its_sessions() {
    let mut world = world(&[1]);
    establish(&mut world, 0, 5, &wanted(SessionType::Ipv4));
    go_idle(&mut world, 0);
    for _ in 0..2_000 {
        if world.amf().registered() == 0 {
            break;
        }
        assert!(world.wait_long());
    }
    assert_eq!(world.amf().registered(), 0);
    assert_no_session(&mut world);
}

#[test]
fn a_lost_gnb_leaves_sessions_without_user_plane() {
    let mut world = world(&[1]);
    establish(&mut world, 0, 5, &wanted(SessionType::Ipv4));
    let reset = world.gnb.reset();
    world.tell_amf(&reset);
    world.run();
    let (is_up, _) = world.core.smf().unwrap().session(&supi(1), 5).unwrap();
    assert!(!is_up);
    world.ues[0].at = None;
    world.ue_mut(0).sessions_mut().set_data(1 << 5);
    come_back(&mut world, 0);
    assert!(goes_up(&mut world, 0, 5));
}
