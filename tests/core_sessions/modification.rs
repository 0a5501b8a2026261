//! PDU session modification (TS 23.502, 4.3.3.2; TS 24.501, 6.3.2 and 6.4.2): flows come and go while the
//! session is there.

use sluice_n1::{
    FlowDescription, ModificationRequest, N1_SM, PacketFilter, QosRule, SessionCause, SessionType,
    SessionUplink, Transaction, Uplink, UplinkPayload,
};
use sluice_pcf::{
    AppSessionRequest, FlowRefused, FlowStatus, MediaComponent, MediaSubComponent, MediaType,
    Policy, UeRequests,
};
use sluice_sbi::{DataChange, PccRule};

use crate::flows::{VOICE_PORT, goes_up_marked, policy, rule, to_ue, voice, world_with};
use crate::harness::*;
use crate::kit;
use crate::world::{TestNetwork, supi};

/// A world whose UEs have a session with its default flow alone.
pub fn plain() -> TestNetwork {
    with(Vec::new())
}

pub fn with(policies: Vec<Policy>) -> TestNetwork {
    let mut world = world_with(smf_config(), policies);
    for phone in [0, 1] {
        establish(&mut world, phone, 5, &wanted(SessionType::Ipv4));
    }
    world.call_flow.0.clear();
    world
}

pub fn start(world: &mut TestNetwork, rule: PccRule) -> Result<(), FlowRefused> {
    let now = world.now;
    let started = sluice_testbed::flows::start(&mut world.core, now, &supi(1), Some(5), rule);
    world.run();
    started
}

pub fn stop(world: &mut TestNetwork, name: &str) -> Result<(), FlowRefused> {
    let now = world.now;
    let stopped = world.core.flows().stop(now, &supi(1), None, name);
    world.run();
    stopped
}

/// Rules of the UE, flows of the gNB, rules of the PCF.
pub fn flows(world: &TestNetwork) -> (usize, usize, usize) {
    let at_ue = world.ue(0).sessions().get(5).unwrap().rules.len();
    let is_connected = world.ues[0].at.is_some();
    let radio = is_connected.then(|| radio(world, 0, 5)).flatten();
    let at_gnb = radio.map_or(0, |radio| radio.request.flows.len() - 1);
    let at_pcf = world.core.pcf().unwrap().view(&supi(1), 5).unwrap();
    (at_ue, at_gnb, at_pcf.rules.len())
}

pub fn mark_down(world: &mut TestNetwork, port: u16) -> Option<u8> {
    let ue = address(world, 0, 5);
    sends_down(world, &to_ue(ue, (port, 6_000), 100)).and_then(|(_, qfi)| qfi)
}

/// TS 23.502, 4.3.3.2.
const STARTED: &str = "\
1b    PCF  -> SMF   Npcf_SMPolicyControl_UpdateNotify Request
2     SMF  -> UPF   N4 Session Modification Request
2     UPF  -> SMF   N4 Session Modification Response
3     SMF  -> UE    PDU Session Modification Command
3     SMF  -> AMF   Namf_Communication_N1N2MessageTransfer Request
4     AMF  -> gNB   PDU Session Resource Modify Request
3     AMF  -> SMF   Namf_Communication_N1N2MessageTransfer Response (N1 N2 transfer initiated)
6     gNB  -> AMF   PDU Session Resource Modify Response
7     AMF  -> SMF   Nsmf_PDUSession_UpdateSMContext Request
7     SMF  -> AMF   Nsmf_PDUSession_UpdateSMContext Response
      UE   -> AMF   UL NAS Transport
1     AMF  -> SMF   Nsmf_PDUSession_UpdateSMContext Request
8     SMF  -> UPF   N4 Session Modification Request
1     SMF  -> AMF   Nsmf_PDUSession_UpdateSMContext Response
8     UPF  -> SMF   N4 Session Modification Response
";

#[test]
fn an_operator_starts_and_stops_a_flow() {
    let mut world = plain();
    assert_eq!(mark_down(&mut world, VOICE_PORT), Some(1));
    start(&mut world, voice(64_000)).unwrap();
    world.assert_said(STARTED);
    assert_eq!(flows(&world), (1, 1, 1));
    assert_eq!(mark_down(&mut world, VOICE_PORT), Some(2));
    assert_eq!(mark_down(&mut world, 80), Some(1));
    assert_eq!(goes_up_marked(&mut world, (6_000, VOICE_PORT)), (2, true));
    // The other UE has none.
    assert!(world.ue(1).sessions().get(5).unwrap().rules.is_empty());
    let twice = start(&mut world, voice(64_000));
    assert_eq!(twice, Err(FlowRefused::Rule("two rules have one name")));
    stop(&mut world, "voice").unwrap();
    assert_eq!(flows(&world), (0, 0, 0));
    assert_eq!(mark_down(&mut world, VOICE_PORT), Some(1));
    assert_eq!(goes_up_marked(&mut world, (6_000, VOICE_PORT)), (1, true));
    assert_eq!(stop(&mut world, "voice"), Err(FlowRefused::NoFlow));
    assert_eq!(world.core.smf().unwrap().counters().modified, 2);
    assert!(world.core.smf().unwrap().procedures().is_empty());
}

#[test]
fn flows_that_follow_one_another_at_once_are_all_carried_out() {
    let mut world = plain();
    let now = world.now;
    // The second and the third come while the first is under way.
    for (name, precedence, port) in [("a", 1, 1_000), ("b", 2, 2_000), ("c", 3, 3_000)] {
        let text = format!("permit inout udp from any {port} to any");
        let flow = rule(name, precedence, precedence + 4, &[&text]);
        sluice_testbed::flows::start(&mut world.core, now, &supi(1), None, flow).unwrap();
    }
    world.core.flows().stop(now, &supi(1), None, "b").unwrap();
    world.run();
    assert_eq!(flows(&world), (2, 2, 2));
    let marks = [1_000, 2_000, 3_000].map(|port| mark_down(&mut world, port));
    assert!(
        marks[0] != Some(1) && marks[1] == Some(1) && marks[2] != Some(1),
        "{marks:?}"
    );
    // Fifteen more, one after the other: numbers come again.
    for _ in 0..15 {
        start(&mut world, voice(64_000)).unwrap();
        stop(&mut world, "voice").unwrap();
    }
    assert_eq!(flows(&world), (2, 2, 2));
}

#[test]
fn a_flow_that_the_gnb_refuses_is_none() {
    let mut world = plain();
    world.gnb.no_guaranteed = true;
    start(&mut world, voice(64_000)).unwrap();
    assert_eq!(flows(&world), (0, 0, 0));
    let of = ("SMF", "modification");
    assert_ended(&world, of, "the gNB has no room for them", 1);
    assert_eq!(mark_down(&mut world, VOICE_PORT), Some(1));
    assert_eq!(goes_up_marked(&mut world, (6_000, VOICE_PORT)), (1, true));
    let refused = world.core.take_refused();
    assert!(
        refused
            .iter()
            .any(|one| one.why.contains("the gNB has no room")),
        "{refused:?}"
    );
}

#[test]
fn a_flow_that_the_ue_refuses_is_none() {
    let mut world = plain();
    world.ue_mut(0).sessions_mut().refuses_modifications = Some(SessionCause::SEMANTICS_OF_QOS);
    start(&mut world, voice(64_000)).unwrap();
    assert_eq!(flows(&world), (0, 0, 0));
    assert_eq!(mark_down(&mut world, VOICE_PORT), Some(1));
    let refused = world.core.take_refused();
    assert!(
        refused.iter().any(|one| one.why.contains("the UE refused")),
        "{refused:?}"
    );
    let cause = format!("the UE refused them: {}", SessionCause::SEMANTICS_OF_QOS);
    assert_ended(&world, ("SMF", "modification"), &cause, 1);
}

#[test]
fn a_command_that_is_not_answered_is_sent_five_times() {
    let mut world = plain();
    world.ue_mut(0).sessions_mut().no_complete = true;
    let begin = world.now;
    start(&mut world, voice(64_000)).unwrap();
    let sent = |world: &TestNetwork| {
        let call_flow = world.call_flow.to_string();
        call_flow
            .matches("PDU Session Modification Command")
            .count()
    };
    // Heartbeats come in between.
    while sent(&world) < 5 {
        assert!(world.wait());
    }
    // T3591: 16 s.
    assert_eq!(world.now.instant.ms_since(begin.instant), 4 * 16_000);
    // Then the flow is given up: what the UE may have, it is told to forget.
    world.ue_mut(0).sessions_mut().no_complete = false;
    while !world.core.smf().unwrap().procedures().is_empty() {
        assert!(world.wait());
    }
    assert_eq!(flows(&world), (0, 0, 0), "{}", world.call_flow);
    assert_eq!(world.now.instant.ms_since(begin.instant), 5 * 16_000);
    assert_ended(&world, ("SMF", "modification"), "the UE does not answer", 1);
    assert!(goes_up(&mut world, 0, 5));
}

#[test]
fn a_session_can_be_released_while_its_flows_change() {
    for by_network in [false, true] {
        let mut world = plain();
        world.ue_mut(0).sessions_mut().no_complete = true;
        start(&mut world, voice(64_000)).unwrap();
        world.ue_mut(0).sessions_mut().no_complete = false;
        if by_network {
            // The UE is gone, and its AMF says so.
            let nas = world.ue_mut(0).deregister(false, true).unwrap();
            world.say(0, nas);
        } else {
            let nas = world.ue_mut(0).release(5);
            world.say(0, nas);
        }
        assert_eq!(
            world.core.smf().unwrap().sessions(),
            1,
            "{}",
            world.call_flow
        );
        assert_eq!(upf(&mut world).upf.core.up.session_count(), 1);
    }
}

#[test]
fn an_idle_ue_is_called_for_a_new_flow_and_not_for_less() {
    let mut world = plain();
    go_idle(&mut world, 0);
    start(&mut world, voice(64_000)).unwrap();
    assert_eq!(world.pages.len(), 1, "{}", world.call_flow);
    assert_eq!(flows(&world), (1, 1, 1), "{}", world.call_flow);
    assert_eq!(mark_down(&mut world, VOICE_PORT), Some(2));
    go_idle(&mut world, 0);
    stop(&mut world, "voice").unwrap();
    assert_eq!(world.pages.len(), 1);
    assert_eq!(flows(&world), (1, 0, 0));
    // It comes by itself, and learns it.
    world.ue_mut(0).sessions_mut().set_data(1 << 5);
    come_back(&mut world, 0);
    assert_eq!(flows(&world), (0, 0, 0), "{}", world.call_flow);
}

#[test]
fn a_flow_waits_for_an_idle_ue_that_does_not_answer() {
    let mut world = plain();
    world.answers_pages = false;
    go_idle(&mut world, 0);
    start(&mut world, voice(64_000)).unwrap();
    for _ in 0..40 {
        if !world.wait() {
            break;
        }
    }
    assert!(world.core.smf().unwrap().procedures().is_empty());
    let paged = world.pages.len();
    assert!((1..=4).contains(&paged), "{paged}");
    world.ue_mut(0).sessions_mut().set_data(1 << 5);
    come_back(&mut world, 0);
    assert_eq!(flows(&world), (1, 1, 1), "{}", world.call_flow);
}

#[test]
fn another_session_ambr_is_told_to_ue_gnb_and_upf() {
    let mut world = plain();
    let (now, who) = (world.now, supi(1));
    let mut networks = crate::world::networks();
    networks[0].ambr_bps = (8_000_000, 4_000_000);
    let subscriber = sluice_udr::Subscriber {
        credentials: crate::world::credentials(),
        sqn: sluice_security::Sqn::default(),
        ambr_bps: (1_000_000_000, 500_000_000),
        slices: vec![
            (crate::world::slice(1), true),
            (crate::world::slice(3), true),
            (crate::world::slice(2), false),
        ],
        networks,
    };
    let provision = sluice_udr::Provision {
        subscriber,
        difference_s: 0,
        is_barred: false,
    };
    world.run();
    let provisioned = world
        .core
        .udr_mut()
        .expect("its own")
        .provision(who, provision);
    assert_eq!(provisioned, sluice_udr::Provisioned::SessionRates);
    world
        .core
        .repository()
        .changed(now, &who, DataChange::SessionRates);
    world.run();
    let accept = world.ue(0).sessions().get(5).unwrap();
    assert_eq!(
        (accept.ambr.down_bps, accept.ambr.up_bps),
        (8_000_000, 4_000_000)
    );
    let told = radio(&world, 0, 5).unwrap().request.ambr_bps;
    assert_eq!(told, (8_000_000, 4_000_000));
    let session = world.core.smf().unwrap().sessions_of(&who).remove(0);
    assert_eq!(session.ambr_bps, (8_000_000, 4_000_000));
    // The UPF keeps it: a second's worth of 8 Mbit/s and no more at once.
    let ue = address(&world, 0, 5);
    let passed =
        (0..2_000).filter(|_| sends_down(&mut world, &to_ue(ue, (80, 6_000), 1_400)).is_some());
    let octets = passed.count() * 1_400;
    assert!(octets < 2_000_000, "{octets}");
    // The other UE's is what it was.
    assert_eq!(
        world.ue(1).sessions().get(5).unwrap().ambr.down_bps,
        200_000_000
    );
    // Once more, and nothing is said.
    world.call_flow.0.clear();
    world
        .core
        .repository()
        .changed(now, &who, DataChange::SessionRates);
    world.run();
    assert!(
        !world.call_flow.to_string().contains("Modification"),
        "{}",
        world.call_flow
    );
}

pub fn asks(rule: QosRule, flow: FlowDescription) -> ModificationRequest {
    ModificationRequest {
        rules: vec![rule],
        flows: vec![flow],
        ..ModificationRequest::default()
    }
}

/// What a UE asks for: all of UDP of a port.
pub fn own_rule(port: u16) -> QosRule {
    QosRule {
        id: 0,
        is_default: false,
        precedence: 30,
        filters: vec![PacketFilter {
            protocol: Some(17),
            remote_ports: Some((port, port)),
            ..PacketFilter::ALL
        }],
        ..QosRule::default_of(0)
    }
}

pub fn own_flow(bps: u64) -> FlowDescription {
    FlowDescription {
        guaranteed_bps: Some((bps, bps)),
        maximum_bps: Some((bps, bps)),
        ..FlowDescription::new(0, 1)
    }
}

pub fn allowing() -> Policy {
    Policy {
        ue_requests: Some(UeRequests {
            five_qis: vec![1, 7],
            most_bps: (1_000_000, 1_000_000),
        }),
        ..policy(vec![rule(
            "fixed",
            10,
            8,
            &["permit inout tcp from any to any"],
        )])
    }
}

pub fn modify(world: &mut TestNetwork, wanted: ModificationRequest) {
    let nas = world.ue_mut(0).modify(5, wanted);
    world.say(0, nas);
}

#[test]
fn a_ue_asks_for_a_flow_and_gives_it_up() {
    let mut world = with(vec![allowing()]);
    assert_eq!(flows(&world), (1, 1, 1));
    modify(&mut world, asks(own_rule(7_000), own_flow(64_000)));
    assert_eq!(flows(&world), (2, 2, 2), "{}", world.call_flow);
    let accept = world.ue(0).sessions().get(5).unwrap();
    let own = accept
        .rules
        .iter()
        .find(|rule| rule.precedence == 30)
        .unwrap()
        .clone();
    assert!(own.id != 0 && own.qfi > 1);
    assert_eq!(mark_down(&mut world, 7_000), Some(own.qfi));
    assert_eq!(goes_up_marked(&mut world, (6_000, 7_000)), (own.qfi, true));
    let gone = ModificationRequest {
        rules: vec![QosRule::deleted(own.id)],
        ..ModificationRequest::default()
    };
    modify(&mut world, gone.clone());
    assert_eq!(flows(&world), (1, 1, 1), "{}", world.call_flow);
    assert_eq!(mark_down(&mut world, 7_000), Some(1));
    // It is not there any more; and the operator's is not the UE's to give up.
    modify(&mut world, gone);
    assert_refused(&world, None, Some(SessionCause::SEMANTICS_OF_QOS));
    let fixed = world.ue(0).sessions().get(5).unwrap().rules[0].id;
    let fixed = ModificationRequest {
        rules: vec![QosRule::deleted(fixed)],
        ..ModificationRequest::default()
    };
    modify(&mut world, fixed);
    assert_refused(&world, None, Some(SessionCause::QOS_NOT_ACCEPTED));
    assert_eq!(flows(&world), (1, 1, 1));
}

#[test]
fn what_a_ue_may_not_have_is_rejected_by_its_cause() {
    let mut world = with(vec![allowing()]);
    let twin = PacketFilter {
        has_others: false,
        ..PacketFilter::ALL
    };
    for (wanted, cause) in [
        (
            asks(own_rule(7_000), FlowDescription::new(0, 9)),
            SessionCause::UNSUPPORTED_FIVE_QI,
        ),
        (
            asks(own_rule(7_000), own_flow(2_000_000)),
            SessionCause::QOS_NOT_ACCEPTED,
        ),
        (
            asks(own_rule(7_000), FlowDescription::new(9, 7)),
            SessionCause::SEMANTICS_OF_QOS,
        ),
        (
            asks(
                QosRule {
                    precedence: 10,
                    ..own_rule(7_000)
                },
                own_flow(1_000),
            ),
            SessionCause::SEMANTICS_OF_QOS,
        ),
        (
            asks(
                QosRule {
                    filters: vec![twin; 2],
                    ..own_rule(7_000)
                },
                own_flow(1_000),
            ),
            SessionCause::SYNTAX_OF_FILTERS,
        ),
    ] {
        modify(&mut world, wanted.clone());
        assert_refused(&world, None, Some(cause));
        assert_eq!(flows(&world), (1, 1, 1), "{wanted:?}");
    }
    // Without a policy that allows it there is none.
    let mut world = plain();
    modify(&mut world, asks(own_rule(7_000), own_flow(1_000)));
    assert_refused(&world, None, Some(SessionCause::NOT_SUPPORTED));
    let cause = SessionCause::NOT_SUPPORTED.to_string();
    assert_ended(&world, ("SMF", "update"), &cause, 1);
}

#[test]
fn a_ue_is_told_when_there_is_no_room_for_its_flow() {
    let mut config = smf_config();
    config.networks[0].guaranteed_bps = Some((50_000, 50_000));
    let mut world = world_with(config, vec![allowing()]);
    establish(&mut world, 0, 5, &wanted(SessionType::Ipv4));
    modify(&mut world, asks(own_rule(7_000), own_flow(64_000)));
    assert_refused(&world, None, Some(SessionCause::INSUFFICIENT_RESOURCES));
    assert_eq!(flows(&world), (1, 1, 1));
    modify(&mut world, asks(own_rule(7_000), own_flow(32_000)));
    assert_eq!(flows(&world), (2, 2, 2), "{}", world.call_flow);
}

fn call(port: u16, bps: &str) -> AppSessionRequest {
    let sub = MediaSubComponent {
        f_num: 1,
        f_descs: vec![format!(
            "permit inout 17 from {} {port} to any",
            kit::SERVER
        )],
    };
    let component = MediaComponent {
        med_comp_n: 1,
        med_type: Some(MediaType::Audio),
        f_status: Some(FlowStatus::Enabled),
        mar_bw_dl: Some(bps.to_owned()),
        mar_bw_ul: Some(bps.to_owned()),
        med_sub_comps: [("1".to_owned(), sub)].into(),
        ..MediaComponent::default()
    };
    AppSessionRequest {
        med_components: [("1".to_owned(), component)].into(),
        ..AppSessionRequest::default()
    }
}

#[test]
fn an_application_has_a_flow_for_as_long_as_it_wants() {
    let mut config = smf_config();
    config.networks[0].guaranteed_bps = Some((100_000, 100_000));
    let mut world = world_with(config, Vec::new());
    establish(&mut world, 0, 5, &wanted(SessionType::Ipv4));
    let now = world.now;
    let by_address = AppSessionRequest {
        ue_ipv4: Some(address(&world, 0, 5)),
        ..call(VOICE_PORT, "64 Kbps")
    };
    let app = sluice_testbed::flows::create_app_session(&mut world.core, now, &by_address).unwrap();
    world.run();
    assert_eq!(flows(&world), (1, 1, 1));
    assert_eq!(mark_down(&mut world, VOICE_PORT), Some(2));
    // Another medium from now on.
    world
        .core
        .flows()
        .update_app_session(now, app, &call(7_000, "96 Kbps"))
        .unwrap();
    world.run();
    assert_eq!(flows(&world), (1, 1, 1), "{}", world.call_flow);
    assert_eq!(mark_down(&mut world, VOICE_PORT), Some(1));
    assert!(mark_down(&mut world, 7_000).unwrap() > 1);
    // There is no room for a second one, nor for that of nobody.
    let second = AppSessionRequest {
        supi: Some("imsi-001010000000001".to_owned()),
        ..call(8_000, "64 Kbps")
    };
    let full =
        sluice_testbed::flows::create_app_session(&mut world.core, now, &second).unwrap_err();
    assert_eq!(
        (full.status, full.cause),
        (403, "REQUESTED_SERVICE_NOT_AUTHORIZED")
    );
    let nobody = AppSessionRequest {
        supi: Some("imsi-001010000000003".to_owned()),
        ..call(8_000, "64 Kbps")
    };
    let none =
        sluice_testbed::flows::create_app_session(&mut world.core, now, &nobody).unwrap_err();
    assert_eq!(none.cause, "PDU_SESSION_NOT_AVAILABLE");
    world.core.flows().delete_app_session(now, app).unwrap();
    world.run();
    assert_eq!(flows(&world), (0, 0, 0));
    assert_eq!(
        world
            .core
            .flows()
            .delete_app_session(now, app)
            .unwrap_err()
            .status,
        404
    );
    // It ends with the session.
    let app = sluice_testbed::flows::create_app_session(&mut world.core, now, &by_address).unwrap();
    world.run();
    let nas = world.ue_mut(0).release(5);
    world.say(0, nas);
    assert!(world.core.flows().app_session(app).is_none());
    assert_no_session(&mut world);
}

#[test]
fn transactions_that_are_none_are_answered_by_status() {
    let mut world = with(vec![allowing()]);
    let request =
        SessionUplink::ModificationRequest(Box::new(asks(own_rule(7_000), own_flow(1_000))));
    for (message, procedure, cause) in [
        // No transaction of a UE has this number; nobody has sent this command.
        (&request, 0, SessionCause::INVALID_PTI),
        (
            &SessionUplink::ModificationComplete,
            9,
            SessionCause::PTI_MISMATCH,
        ),
    ] {
        let of = Transaction {
            session: 5,
            procedure,
        };
        let payload = Uplink::UlNasTransport(Box::new(UplinkPayload {
            kind: N1_SM,
            session: Some(5),
            payload: message.encode(of),
            ..UplinkPayload::default()
        }));
        let nas = world.ue_mut(0).protect(&payload);
        world.say(0, nas);
        assert_refused(&world, None, Some(cause));
        assert_eq!(flows(&world), (1, 1, 1));
    }
}
