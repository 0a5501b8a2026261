//! QoS flows of a session from its beginning (TS 23.503; TS 23.502, 4.3.2.2.1): policies become rules at
//! UE, gNB and UPF, and packets of each flow are treated by its rule.

use std::net::Ipv4Addr;

use sluice_ids::{Tac, Tai};
use sluice_n1::{Cause, SessionType};
use sluice_n2::FlowRates;
use sluice_pcf::{Pcf, Policy, filter};
use sluice_sbi::{PccRule, RuleName};
use sluice_smf::{Config, Smf};
use sluice_ue::qfi_of;

use crate::harness::*;
use crate::kit::{self, frames};
use crate::procedures::ESTABLISHMENT;
use crate::world::{self, TestNetwork, dnn, supi, tai};

pub const VOICE_PORT: u16 = 5_000;

pub fn rule(name: &str, precedence: u8, five_qi: u8, filters: &[&str]) -> PccRule {
    let filters: Vec<_> = filters
        .iter()
        .map(|text| filter::read(text).unwrap())
        .collect();
    let name = RuleName::new(name).unwrap();
    PccRule::new(name, precedence, five_qi, &filters).unwrap()
}

/// A flow with guaranteed bit rates of what the server sends from and takes at its port 5000.
pub fn voice(bps: u64) -> PccRule {
    let text = format!(
        "permit inout udp from {} {VOICE_PORT} to assigned",
        kit::SERVER
    );
    PccRule {
        guaranteed_down_bps: bps.into(),
        guaranteed_up_bps: bps.into(),
        maximum_down_bps: (2 * bps).into(),
        maximum_up_bps: (2 * bps).into(),
        priority: 5,
        ..rule("voice", 10, 1, &[&text])
    }
}

pub fn policy(rules: Vec<PccRule>) -> Policy {
    Policy {
        name: "lab".to_owned(),
        dnn: dnn("internet"),
        slice: None,
        subscribers: Vec::new(),
        rules,
        ue_requests: None,
    }
}

pub fn world_with(config: Config, policies: Vec<Policy>) -> TestNetwork {
    let core = world::core(world::config(), true).with_smf(Smf::new(config).unwrap());
    let pcf = Pcf::new(sluice_pcf::Config {
        policies,
        ..Default::default()
    })
    .unwrap();
    begin(core.with_pcf(pcf), &[1, 2])
}

pub fn from_ue(world: &TestNetwork, ports: (u16, u16), len: usize) -> Vec<u8> {
    let ue = address(world, 0, 5);
    frames::udp(ue, kit::SERVER, ports, &vec![7; len - 28])
}

pub fn to_ue(ue: Ipv4Addr, ports: (u16, u16), len: usize) -> Vec<u8> {
    frames::udp(kit::SERVER, ue, ports, &vec![9; len - 28])
}

/// The UE marks the packet by its rules; whether it comes through.
pub fn goes_up_marked(world: &mut TestNetwork, ports: (u16, u16)) -> (u8, bool) {
    let inner = from_ue(world, ports, 100);
    let qfi = qfi_of(world.ue(0).sessions().get(5).unwrap(), &inner);
    let radio = radio(world, 0, 5).unwrap();
    (qfi, sends_up(world, &radio, qfi, &inner))
}

#[test]
fn a_session_has_the_flows_of_its_policy_at_ue_gnb_and_upf() {
    let mut world = world_with(smf_config(), vec![policy(vec![voice(64_000)])]);
    establish(&mut world, 0, 5, &wanted(SessionType::Ipv4));
    // A policy changes what is said, and not who says it.
    world.assert_said(ESTABLISHMENT);
    // The UE: a rule, and its flow with guaranteed bit rates.
    let accept = world.ue(0).sessions().get(5).unwrap().clone();
    assert_eq!((accept.rules.len(), accept.flows.len()), (1, 1));
    assert_eq!((accept.rules[0].precedence, accept.rules[0].qfi), (10, 2));
    assert_eq!(accept.flows[0].five_qi, Some(1));
    assert_eq!(accept.flows[0].guaranteed_bps, Some((64_000, 64_000)));
    assert_eq!(accept.flows[0].maximum_bps, Some((128_000, 128_000)));
    // The gNB: the same.
    let gnb = radio(&world, 0, 5).unwrap();
    assert_eq!(gnb.request.flows.len(), 2);
    let flow = gnb.request.flows[1];
    assert_eq!((flow.qfi, flow.five_qi, flow.priority), (2, 1, 5));
    let rates = FlowRates {
        guaranteed_bps: (64_000, 64_000),
        maximum_bps: (128_000, 128_000),
    };
    assert_eq!(flow.rates, Some(rates));
    // The UPF marks packets to the UE, and takes those from it in either flow.
    let ue = address(&world, 0, 5);
    let teid = gnb.downlink.teid;
    let down = sends_down(&mut world, &to_ue(ue, (VOICE_PORT, 6_000), 100));
    assert_eq!(down, Some((teid, Some(2))));
    let down = sends_down(&mut world, &to_ue(ue, (80, 6_000), 100));
    assert_eq!(down, Some((teid, Some(1))));
    assert_eq!(goes_up_marked(&mut world, (6_000, VOICE_PORT)), (2, true));
    assert_eq!(goes_up_marked(&mut world, (6_000, 80)), (1, true));
    // A packet of no rule under the flow's mark is none of the UE's to send.
    let stray = from_ue(&world, (6_000, 80), 100);
    assert!(!sends_up(&mut world, &gnb, 2, &stray));
    let nas = world.ue_mut(0).release(5);
    world.say(0, nas);
    assert_no_session(&mut world);
    assert!(world.core.pcf().unwrap().view(&supi(1), 5).is_none());
}

#[test]
fn packets_above_a_flows_rate_are_dropped_and_those_of_others_are_not() {
    let limited = PccRule {
        maximum_down_bps: 8_000.into(),
        maximum_up_bps: 8_000.into(),
        ..rule("slow", 20, 7, &["permit inout udp from any 5000 to any"])
    };
    let mut world = world_with(smf_config(), vec![policy(vec![limited])]);
    establish(&mut world, 0, 5, &wanted(SessionType::Ipv4));
    let ue = address(&world, 0, 5);
    let count = |world: &mut TestNetwork, port: u16| {
        let packets =
            (0..200).filter(|_| sends_down(world, &to_ue(ue, (port, 6_000), 1_000)).is_some());
        packets.count()
    };
    // A burst passes; 200 times 1,000 octets are 200 s at 8 kbit/s.
    let slow = count(&mut world, 5_000);
    assert!(slow < 100, "{slow}");
    assert_eq!(count(&mut world, 80), 200);
    let gnb = radio(&world, 0, 5).unwrap();
    let up = |world: &mut TestNetwork, port: u16, qfi: u8| {
        let inner = from_ue(world, (6_000, port), 1_000);
        (0..200)
            .filter(|_| sends_up(world, &gnb, qfi, &inner))
            .count()
    };
    // The mark of another flow does not help.
    let slow = up(&mut world, 5_000, 1);
    assert!(slow < 100, "{slow}");
    assert_eq!(up(&mut world, 80, 1), 200);
}

#[test]
fn a_closed_gate_drops_packets() {
    let closed = PccRule {
        is_open_down: false,
        is_open_up: false,
        ..rule("closed", 20, 9, &["permit inout udp from any 5000 to any"])
    };
    let mut world = world_with(smf_config(), vec![policy(vec![closed])]);
    establish(&mut world, 0, 5, &wanted(SessionType::Ipv4));
    // 5QI and priority are those of the default flow: so is the flow.
    let accept = world.ue(0).sessions().get(5).unwrap();
    assert_eq!((accept.rules[0].qfi, accept.flows.len()), (1, 0));
    let ue = address(&world, 0, 5);
    assert_eq!(
        sends_down(&mut world, &to_ue(ue, (5_000, 6_000), 100)),
        None
    );
    assert!(sends_down(&mut world, &to_ue(ue, (5_001, 6_000), 100)).is_some());
    assert_eq!(goes_up_marked(&mut world, (6_000, 5_000)), (1, false));
    assert_eq!(goes_up_marked(&mut world, (6_000, 5_001)), (1, true));
}

#[test]
fn usage_is_charged_under_the_rating_group_of_its_rule() {
    let charged = PccRule {
        has_rating_group: true,
        rating_group: 7.into(),
        ..rule("video", 20, 7, &["permit inout udp from any 5000 to any"])
    };
    let mut world = world_with(smf_config(), vec![policy(vec![charged])]);
    establish(&mut world, 0, 5, &wanted(SessionType::Ipv4));
    for _ in 0..3 {
        assert!(goes_up_marked(&mut world, (6_000, 5_000)).1);
    }
    assert!(goes_up_marked(&mut world, (6_000, 80)).1);
    let nas = world.ue_mut(0).release(5);
    world.say(0, nas);
    let records = world.core.sessions().take_records();
    let last = records.iter().filter(|record| record.is_last);
    let last: Vec<_> = last
        .map(|record| (record.rating_group, record.usage.uplink_octets))
        .collect();
    assert_eq!(last, [(Some(7), 300), (None, 100)]);
}

#[test]
fn a_flow_for_which_the_gnb_has_no_room_is_taken_from_the_ue() {
    let mut world = world_with(smf_config(), vec![policy(vec![voice(64_000)])]);
    world.gnb.no_guaranteed = true;
    establish(&mut world, 0, 5, &wanted(SessionType::Ipv4));
    // The session is there, without the flow: at the UE, the gNB, the UPF and the PCF.
    let accept = world.ue(0).sessions().get(5).unwrap();
    assert_eq!(
        (accept.rules.len(), accept.flows.len()),
        (0, 0),
        "{}",
        world.call_flow
    );
    assert_eq!(radio(&world, 0, 5).unwrap().request.flows.len(), 1);
    assert!(
        world
            .core
            .pcf()
            .unwrap()
            .view(&supi(1), 5)
            .unwrap()
            .rules
            .is_empty()
    );
    assert_eq!(goes_up_marked(&mut world, (6_000, VOICE_PORT)), (1, true));
    let ue = address(&world, 0, 5);
    let down = sends_down(&mut world, &to_ue(ue, (VOICE_PORT, 6_000), 100));
    assert_eq!(down.map(|(_, qfi)| qfi), Some(Some(1)));
    let refused = world.core.take_refused();
    assert!(
        refused
            .iter()
            .any(|one| one.why.contains("the gNB has no room")),
        "{refused:?}"
    );
}

#[test]
fn what_is_guaranteed_has_a_budget_of_each_upf_and_data_network() {
    let of_upf = |most| {
        let mut config = smf_config();
        config.upfs[0].guaranteed_bps = Some((most, most));
        config
    };
    let of_network = |most| {
        let mut config = smf_config();
        config.networks[0].guaranteed_bps = Some((most, most));
        config
    };
    for config in [of_upf(100_000), of_network(100_000)] {
        let mut world = world_with(config, vec![policy(vec![voice(64_000)])]);
        for phone in [0, 1] {
            establish(&mut world, phone, 5, &wanted(SessionType::Ipv4));
        }
        let flows =
            |world: &TestNetwork, phone| radio(world, phone, 5).unwrap().request.flows.len();
        assert_eq!((flows(&world, 0), flows(&world, 1)), (2, 1));
        let refused = world.core.take_refused();
        assert!(
            refused
                .iter()
                .any(|one| one.why.contains("guaranteed bit rates")),
            "{refused:?}"
        );
        // The first one gives its part back.
        let nas = world.ue_mut(0).release(5);
        world.say(0, nas);
        let nas = world.ue_mut(1).release(5);
        world.say(1, nas);
        establish(&mut world, 1, 5, &wanted(SessionType::Ipv4));
        assert_eq!(flows(&world, 1), 2);
    }
}

#[test]
fn a_restarted_upf_gets_the_flows_again() {
    let mut world = world_with(smf_config(), vec![policy(vec![voice(64_000)])]);
    establish(&mut world, 0, 5, &wanted(SessionType::Ipv4));
    upf(&mut world).restart();
    for _ in 0..100 {
        if world.core.smf().unwrap().counters().restored == 1 {
            break;
        }
        assert!(world.wait());
    }
    let ue = address(&world, 0, 5);
    let down = sends_down(&mut world, &to_ue(ue, (VOICE_PORT, 6_000), 100));
    assert_eq!(down.map(|(_, qfi)| qfi), Some(Some(2)));
    assert_eq!(goes_up_marked(&mut world, (6_000, VOICE_PORT)), (2, true));
}

#[test]
fn a_upf_serves_the_areas_that_it_is_for() {
    let in_area = |area: Tai| {
        let mut config = smf_config();
        config.upfs[0].areas = vec![area];
        let mut world = world_with(config, Vec::new());
        establish(&mut world, 0, 5, &wanted(SessionType::Ipv4));
        world
    };
    assert!(in_area(tai()).ue(0).sessions().get(5).is_some());
    let elsewhere = Tai {
        tac: Tac([0, 0, 9]),
        ..tai()
    };
    let world = in_area(elsewhere);
    // No SMF is found.
    assert_refused(&world, Some(Cause::PAYLOAD_NOT_FORWARDED), None);
}
