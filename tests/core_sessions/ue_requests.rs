//! QoS rules of its own that a UE asks to be changed (TS 24.501, 6.4.2.2 and 9.11.4.13).

use sluice_n1::{
    FlowDescription, FlowOperation, ModificationRequest, PacketFilter, QosRule, RuleOperation,
    SessionCause,
};

use crate::harness::*;
use crate::modification::{allowing, asks, flows, mark_down, modify, own_flow, own_rule, with};
use crate::world::TestNetwork;

/// A UE with a rule of its own, for port 7000.
fn owning() -> (TestNetwork, QosRule) {
    let mut world = with(vec![allowing()]);
    modify(&mut world, asks(own_rule(7_000), own_flow(64_000)));
    let own = own(&world);
    (world, own)
}

fn own(world: &TestNetwork) -> QosRule {
    let accept = world.ue(0).sessions().get(5).unwrap();
    let mut rules = accept.rules.iter();
    let own = rules.find(|rule| rule.precedence == 30 || rule.precedence == 40);
    own.expect("a rule of its own").clone()
}

fn changed(own: &QosRule, operation: RuleOperation, filters: Vec<PacketFilter>) -> QosRule {
    QosRule {
        operation,
        filters,
        ..own.clone()
    }
}

fn alone(rule: QosRule) -> ModificationRequest {
    ModificationRequest {
        rules: vec![rule],
        ..ModificationRequest::default()
    }
}

fn port(port: u16) -> PacketFilter {
    PacketFilter {
        // A UE numbers no new filters.
        id: 0,
        protocol: Some(17),
        remote_ports: Some((port, port)),
        ..PacketFilter::ALL
    }
}

#[test]
fn filters_of_a_rule_come_and_go() {
    let (mut world, first) = owning();
    let more = vec![port(8_000), port(9_000)];
    modify(
        &mut world,
        alone(changed(&first, RuleOperation::AddFilters, more)),
    );
    assert_eq!(flows(&world), (2, 2, 2), "{}", world.call_flow);
    let now = own(&world);
    assert_eq!(now.filters.len(), 3);
    for port in [7_000, 8_000, 9_000] {
        assert_eq!(mark_down(&mut world, port), Some(now.qfi), "{port}");
    }
    // One of them goes by its number.
    let gone = now
        .filters
        .iter()
        .find(|one| one.remote_ports == Some((8_000, 8_000)));
    let gone = vec![*gone.unwrap()];
    modify(
        &mut world,
        alone(changed(&now, RuleOperation::DeleteFilters, gone)),
    );
    assert_eq!(own(&world).filters.len(), 2);
    assert_eq!(mark_down(&mut world, 8_000), Some(1));
    assert_eq!(mark_down(&mut world, 9_000), Some(own(&world).qfi));
    // Others in their place.
    let now = own(&world);
    let other = vec![port(6_500)];
    modify(
        &mut world,
        alone(changed(&now, RuleOperation::ReplaceFilters, other)),
    );
    assert_eq!(mark_down(&mut world, 7_000), Some(1));
    assert_eq!(mark_down(&mut world, 6_500), Some(own(&world).qfi));
    assert_eq!(flows(&world), (2, 2, 2));
    // It is the UE's still.
    let id = own(&world).id;
    modify(&mut world, alone(QosRule::deleted(id)));
    assert_eq!(flows(&world), (1, 1, 1), "{}", world.call_flow);
}

#[test]
fn a_rule_gets_another_precedence_and_its_flow_other_bit_rates() {
    let (mut world, first) = owning();
    let other = QosRule {
        precedence: 40,
        ..changed(&first, RuleOperation::Modify, Vec::new())
    };
    modify(&mut world, alone(other));
    let now = own(&world);
    assert_eq!(now.precedence, 40, "{}", world.call_flow);
    assert_eq!(mark_down(&mut world, 7_000), Some(now.qfi));
    let flow = FlowDescription {
        qfi: now.qfi,
        operation: FlowOperation::Modify,
        five_qi: None,
        ..own_flow(96_000)
    };
    modify(
        &mut world,
        asks(changed(&now, RuleOperation::Modify, Vec::new()), flow),
    );
    let at_gnb = radio(&world, 0, 5).unwrap().request.flows;
    let rates = at_gnb.iter().find_map(|flow| flow.rates).unwrap();
    assert_eq!(
        rates.guaranteed_bps,
        (96_000, 96_000),
        "{}",
        world.call_flow
    );
    // More than the policy allows leaves it as it is.
    let now = own(&world);
    let much = FlowDescription {
        qfi: now.qfi,
        operation: FlowOperation::Modify,
        five_qi: None,
        ..own_flow(9_000_000)
    };
    modify(
        &mut world,
        asks(changed(&now, RuleOperation::Modify, Vec::new()), much),
    );
    assert_refused(&world, None, Some(SessionCause::QOS_NOT_ACCEPTED));
    assert_eq!(own(&world), now);
    assert_eq!(mark_down(&mut world, 7_000), Some(now.qfi));
}

#[test]
fn changes_that_make_no_sense_have_their_causes() {
    let (mut world, own) = owning();
    let fixed = world.ue(0).sessions().get(5).unwrap().rules[0].clone();
    let all = own.filters.clone();
    for (rule, cause) in [
        (
            changed(&own, RuleOperation::DeleteFilters, all),
            SessionCause::SEMANTICS_OF_QOS,
        ),
        (
            changed(&own, RuleOperation::AddFilters, vec![port(1); 4]),
            SessionCause::INSUFFICIENT_RESOURCES,
        ),
        (
            QosRule {
                id: 1,
                ..changed(&own, RuleOperation::AddFilters, vec![port(1)])
            },
            SessionCause::NOT_SUPPORTED,
        ),
        (
            QosRule {
                id: 77,
                ..changed(&own, RuleOperation::AddFilters, vec![port(1)])
            },
            SessionCause::SEMANTICS_OF_QOS,
        ),
        // The operator's.
        (
            changed(&fixed, RuleOperation::AddFilters, vec![port(1)]),
            SessionCause::QOS_NOT_ACCEPTED,
        ),
    ] {
        modify(&mut world, alone(rule.clone()));
        assert_refused(&world, None, Some(cause));
        assert_eq!(flows(&world), (2, 2, 2), "{rule:?}");
    }
}
