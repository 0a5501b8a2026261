//! Set-up, heartbeats, restarts and update of associations (TS 29.244, 6.2.2, 6.2.6, 6.2.7).
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use crate::net;
use crate::net::{CP, NO_NUMBER, Net, UP, address, cp_config, up_config};
use sluice_n4::{
    Change, Config, Counter, DownReason, Event, FailReason, Features, Fqdn, NodeId, PeerPort,
    RequestError, Retention, Role, State, UserPlaneResource,
};
use sluice_wire::pfcp::value::{CpFunctionFeatures, NtpTime, SourceInterface, UpFunctionFeatures};
use sluice_wire::pfcp::{Cause, MessageType, SequenceNumber};

/// From the last heartbeat to its time-out: 10 s, and 4 times T1.
const LOST_MS: u64 = 15_000;

fn is_up(event: &Event) -> bool {
    matches!(
        event,
        Event::AssociationUp {
            sessions_retained: false,
            ..
        }
    )
}

#[test]
fn the_cp_function_sets_up_and_both_learn_names_and_features() {
    let mut net = Net::new();
    let id = net.associate(CP, UP);
    net.run_ms(1);
    assert_eq!(
        net.events(CP),
        [Event::AssociationUp {
            association: id,
            sessions_retained: false
        }]
    );
    assert!(matches!(net.events(UP)[..], [Event::AssociationUp { .. }]));
    let at_cp = net.hosts[CP].endpoint.association(id).unwrap();
    assert_eq!(at_cp.node_id(), Some(&NodeId::v4([10, 0, 0, 2].into())));
    let up = UpFunctionFeatures::FTUP | UpFunctionFeatures::EPFAR;
    assert_eq!(at_cp.features(), Features::of_up(up));
    let at_up = net.hosts[UP].endpoint.association(net.id(UP)).unwrap();
    assert_eq!(at_up.features(), Features::of_cp(CpFunctionFeatures::EPFAR));
    assert_eq!(
        (at_up.primary(), at_up.recovery_time_stamp()),
        (address(1), NtpTime(1000))
    );
}

#[test]
fn the_up_function_may_set_up_too() {
    let mut net = Net::new();
    net.associate(UP, CP);
    net.run_ms(1);
    assert!(is_up(&net.events(CP)[0]) && is_up(&net.events(UP)[0]));
}

/// User Plane IP Resource Information (116; TS 29.244 up to Release 15, 8.2.82).
#[test]
fn a_up_function_says_where_f_teids_may_be_assigned_and_says_it_anew() {
    let mut up = up_config(1000);
    // V4 and ASSOSI, TEIDRI of 3 bits: 5.
    up.setup_ies = vec![0, 116, 0, 7, 0x4d, 5, 192, 0, 2, 1, 0];
    let mut net = Net::with(cp_config(1000), up);
    let id = net.associate(CP, UP);
    net.run_ms(1);
    let told = net.hosts[CP].endpoint.association(id).unwrap().resources();
    let expected = UserPlaneResource {
        teid_range: (3, 5),
        ipv4: Some([192, 0, 2, 1].into()),
        source_interface: Some(SourceInterface::ACCESS),
        ..UserPlaneResource::default()
    };
    assert_eq!(told, [expected]);
    net.events(CP);
    let change = Change::Ies(&[0, 116, 0, 5, 0x01, 192, 0, 2, 9]);
    let at_up = net.id(UP);
    net.call(UP, |up, now, out| up.update(now, at_up, change, out))
        .unwrap();
    net.run_ms(10);
    assert_eq!(
        net.events(CP),
        [Event::AssociationUpdated { association: id }]
    );
    let told = net.hosts[CP].endpoint.association(id).unwrap().resources();
    assert_eq!(told[0].ipv4, Some([192, 0, 2, 9].into()));
    assert_eq!(told.len(), 1);
}

#[test]
fn set_ups_that_cross_make_one_association() {
    let mut net = Net::new();
    net.delay_ms = 40;
    net.associate(CP, UP);
    net.associate(UP, CP);
    net.run_ms(20_000);
    for host in [CP, UP] {
        assert_eq!(net.associations(host), 1);
        assert!(net.events(host).iter().all(|event| matches!(
            event,
            Event::AssociationUp { .. } | Event::AssociationReplaced { .. }
        )));
    }
}

#[test]
fn a_set_up_without_answer_is_tried_until_the_peer_is_there() {
    let mut net = Net::new();
    net.loss_percent = 100;
    let id = net.associate(CP, UP);
    net.run_ms(5000);
    assert_eq!(
        net.hosts[CP].endpoint.association(id).unwrap().state(),
        State::Waiting
    );
    net.loss_percent = 0;
    net.run_ms(5000);
    assert!(is_up(&net.events(CP)[0]));
}

#[test]
fn associations_beyond_the_limit_are_rejected_with_cause_75() {
    let mut up = up_config(1000);
    up.limits.associations = 0;
    let mut net = Net::with(cp_config(1000), up);
    let association = net.associate(CP, UP);
    net.run_ms(1);
    let cause = Cause::NO_RESOURCES_AVAILABLE;
    assert_eq!(
        net.events(CP),
        [Event::SetupRejected { association, cause }]
    );
    assert_eq!(net.counter(UP, Counter::AssociationLimit), 1);
    net.run_ms(5000);
    assert_eq!(net.counter(CP, Counter::SetupRejected), 2, "tried again");
}

#[test]
fn a_name_stands_for_a_function_wherever_it_comes_from() {
    let mut cp = cp_config(1000);
    cp.node_id = NodeId::Fqdn(Fqdn::from_text("smf.example.org").unwrap());
    let mut net = Net::with(cp.clone(), up_config(1000));
    net.associate(CP, UP);
    net.run_ms(1);
    net.restart(CP, cp);
    net.hosts[CP].address = address(9);
    net.associate(CP, UP);
    // Until the address of before has been silent for T1.
    net.run_ms(1_001);
    let association = net.id(UP);
    let events = net.events(UP);
    assert_eq!(
        events[2],
        Event::AssociationReplaced {
            association,
            retain: Retention::None
        }
    );
    assert_eq!(
        net.hosts[UP]
            .endpoint
            .association(association)
            .unwrap()
            .primary(),
        address(9)
    );
}

#[test]
fn heartbeats_go_both_ways_at_their_interval() {
    let mut net = Net::associated();
    net.run_ms(60_000);
    for host in [CP, UP] {
        let counters = net.hosts[host].endpoint.counters();
        assert_eq!(counters.sent(MessageType::HEARTBEAT_REQUEST), 6);
        assert_eq!(counters.received(MessageType::HEARTBEAT_RESPONSE), 6);
        assert!(net.events(host).is_empty());
    }
}

#[test]
fn a_silent_peer_is_lost_once_and_recovers_with_its_sessions() {
    let mut net = Net::associated();
    net.loss_percent = 100;
    net.run_ms(LOST_MS);
    let id = net.id(CP);
    assert_eq!(net.events(CP), [Event::PeerLost { association: id }]);
    net.run_ms(60_000);
    assert_eq!(net.events(CP), []);
    assert!(net.hosts[CP].endpoint.association(id).unwrap().is_lost());
    net.loss_percent = 0;
    net.run_ms(LOST_MS);
    assert_eq!(net.events(CP), [Event::PeerRecovered { association: id }]);
    assert!(
        net.hosts[CP]
            .endpoint
            .association(id)
            .unwrap()
            .is_established()
    );
}

#[test]
fn a_restarted_up_function_is_found_and_set_up_anew() {
    let mut net = Net::associated();
    net.restart(UP, up_config(2000));
    net.run_ms(LOST_MS);
    let association = net.id(CP);
    assert_eq!(
        net.events(CP),
        [
            Event::PeerRestarted { association },
            Event::AssociationUp {
                association,
                sessions_retained: false
            },
        ]
    );
    assert_eq!(
        net.hosts[UP]
            .endpoint
            .association(net.id(UP))
            .unwrap()
            .state(),
        State::Up
    );
}

#[test]
fn a_peer_that_knows_no_association_is_asked_at_once_whether_it_restarted() {
    let mut net = Net::associated();
    net.restart(UP, up_config(2000));
    net.send(CP, 1);
    net.run_ms(10);
    let association = net.id(CP);
    assert_eq!(net.hosts[CP].answered, [(1, NO_NUMBER)], "cause 72");
    assert_eq!(net.counter(UP, Counter::NoAssociation), 1);
    assert!(
        net.events(CP)
            .contains(&Event::PeerRestarted { association })
    );
    assert_eq!(net.associations(UP), 1);
}

#[test]
fn a_restart_ends_the_requests_in_flight() {
    let mut net = Net::associated();
    net.run_ms(9_500);
    net.restart(UP, up_config(2000));
    net.send(CP, 1);
    net.loss_percent = 100;
    net.run_ms(100);
    net.loss_percent = 0;
    // The heartbeat at 10 s comes before the retransmission and tells the restart.
    net.run_ms(500);
    let association = net.id(CP);
    let reason = FailReason::AssociationEnded;
    assert_eq!(
        net.events(CP)[0],
        Event::RequestFailed {
            association,
            tag: 1,
            reason
        }
    );
    assert_eq!(net.events(CP).len() + net.hosts[CP].answered.len(), 0);
}

#[test]
fn the_heartbeat_of_a_restarted_cp_function_tells_the_up_function() {
    let mut net = Net::associated();
    net.restart(CP, cp_config(2000));
    net.run_ms(LOST_MS);
    let association = net.id(UP);
    assert_eq!(net.events(UP), [Event::PeerRestarted { association }]);
    net.associate(CP, UP);
    net.run_ms(1);
    let retain = Retention::None;
    assert_eq!(
        net.events(UP),
        [Event::AssociationReplaced {
            association,
            retain
        }]
    );
}

#[test]
fn a_new_set_up_replaces_the_association_and_asks_for_its_sessions() {
    for (retains, asks) in [(true, true), (true, false), (false, true)] {
        let mut up = up_config(1000);
        up.retains_sessions = retains;
        let mut net = Net::with(cp_config(1000), up);
        net.associate(CP, UP);
        net.run_ms(1);
        // It found its state again, so its time stamp stays, but its numbers go on elsewhere.
        let mut again = cp_config(1000);
        again.first_sequence = SequenceNumber::wrapping(4711);
        net.restart(CP, again);
        let to = net.hosts[UP].address;
        net.call(CP, |cp, now, out| cp.associate(now, to, asks, out))
            .unwrap();
        net.run_ms(1);
        let retain = if retains && asks {
            Retention::All
        } else {
            Retention::None
        };
        let association = net.id(UP);
        assert_eq!(
            net.events(UP)[1],
            Event::AssociationReplaced {
                association,
                retain
            }
        );
        let (association, sessions_retained) = (net.id(CP), retains && asks);
        let up = Event::AssociationUp {
            association,
            sessions_retained,
        };
        assert_eq!(
            net.events(CP),
            [up],
            "PSREI tells whether sessions are retained"
        );
    }
}

#[test]
fn an_older_recovery_time_stamp_is_ignored() {
    let mut net = Net::associated();
    let heartbeat = [0x20, 1, 0, 12, 0, 0, 9, 0, 0, 96, 0, 4, 0, 0, 3, 0];
    assert_eq!(net.inject(UP, address(1), &heartbeat).len(), 1);
    assert_eq!(net.counter(UP, Counter::RecoveryTimeStampOlder), 1);
    assert_eq!(net.events(UP), []);
}

#[test]
fn changed_features_reach_the_peer_and_later_set_ups() {
    let mut net = Net::associated();
    let (at_cp, at_up) = (net.id(CP), net.id(UP));
    let features = Features::of_up(UpFunctionFeatures::EMPU);
    let change = Change::Features(features);
    net.call(UP, |up, now, out| up.update(now, at_up, change, out))
        .unwrap();
    net.run_ms(10);
    assert_eq!(
        net.events(CP),
        [Event::AssociationUpdated { association: at_cp }]
    );
    assert_eq!(
        net.hosts[CP]
            .endpoint
            .association(at_cp)
            .unwrap()
            .features(),
        features
    );
    assert_eq!(net.hosts[UP].endpoint.config().features, features);
}

#[test]
fn an_update_without_association_is_rejected_with_cause_72() {
    let mut net = Net::associated();
    let at_up = net.id(UP);
    net.restart(CP, cp_config(2000));
    let change = Change::Ies(&[]);
    net.call(UP, |up, now, out| up.update(now, at_up, change, out))
        .unwrap();
    net.run_ms(10);
    let cause = Some(Cause::NO_ESTABLISHED_PFCP_ASSOCIATION);
    assert_eq!(
        net.events(UP),
        [Event::UpdateAnswered {
            association: at_up,
            cause
        }]
    );
}

#[test]
fn functions_at_one_address_are_told_apart_by_port_where_so_configured() {
    let mut up = up_config(1000);
    up.peer_port = PeerPort::Source;
    let mut net = Net::with(cp_config(1000), up);
    let mut other = cp_config(1000);
    other.node_id = NodeId::Fqdn(Fqdn::from_text("smf2").unwrap());
    let port_of_other = std::net::SocketAddr::from(([10, 0, 0, 1], 9805));
    net.hosts
        .push(net::Host::new(port_of_other, Role::Cp, other));
    net.associate(CP, UP);
    net.associate(2, UP);
    net.run_ms(60_000);
    assert_eq!(net.associations(UP), 2);
    assert!(
        net.events(UP).iter().all(is_up),
        "no heartbeat is taken for the other's"
    );
    net.send(2, 77);
    net.run_ms(10);
    assert_eq!(net.hosts[2].answered, [(77, 77)]);
}

#[test]
fn a_second_way_to_the_same_function_joins_the_first() {
    let mut net = Net::new();
    // The UP function answers at two addresses and stands behind one name.
    let up = up_config(1000);
    let first = net.associate(CP, UP);
    net.run_ms(1);
    net.events(CP);
    net.hosts.push(net::Host::new(address(3), Role::Up, up));
    let second = net.associate(CP, 2);
    net.run_ms(1);
    assert_eq!(
        net.events(CP),
        [
            Event::AssociationDown {
                association: second,
                reason: DownReason::SameNode(first),
            },
            Event::AssociationReplaced {
                association: first,
                retain: Retention::None
            },
        ]
    );
    assert_eq!(net.id(CP), first);
}

#[test]
fn an_address_has_one_association_only() {
    let mut net = Net::associated();
    let (to, id) = (net.hosts[UP].address, net.id(CP));
    let refused = net.call(CP, |cp, now, out| cp.associate(now, to, false, out));
    assert_eq!(refused, Err(RequestError::AlreadyAssociated(id)));
}

#[test]
fn no_heartbeats_are_sent_where_so_configured() {
    let config = |config: Config| Config {
        heartbeat_interval_ms: 0,
        ..config
    };
    let mut net = Net::with(config(cp_config(1000)), config(up_config(1000)));
    net.associate(CP, UP);
    net.run_ms(100_000);
    assert_eq!(
        net.hosts[CP]
            .endpoint
            .counters()
            .sent(MessageType::HEARTBEAT_REQUEST),
        0
    );
    assert_eq!(net.hosts[CP].endpoint.next_deadline(), None);
}

#[test]
fn ipv6_peers_and_further_addresses_are_known() {
    let mut net = Net::new();
    let v6 = |n: u16| std::net::SocketAddr::from(([0xfd00, 0, 0, 0, 0, 0, 0, n], 8805));
    net.hosts[CP].address = v6(1);
    net.hosts[UP].address = v6(2);
    net.associate(CP, UP);
    net.run_ms(30_000);
    let at_up = net.id(UP);
    assert!(net.hosts[UP].endpoint.add_address(at_up, v6(9).ip()));
    let deletion = [0x21, 54, 0, 12, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 5, 0];
    assert_eq!(net.inject(UP, v6(9), &deletion).len(), 1);
    assert_eq!(net.hosts[UP].applied[&0], 1);
    assert!(net.events(UP).iter().all(is_up));
}
