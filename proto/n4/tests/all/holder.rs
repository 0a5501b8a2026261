//! A Node ID belongs to the address that associated it: releases, updates and set-ups from elsewhere,
//! and the list of what was refused.

use std::net::SocketAddr;

use crate::net::{CP, Host, NUMBER, Net, UP, address, cp_config, up_config};
use sluice_n4::endpoint::PROBES;
use sluice_n4::refusals::REFUSALS;
use sluice_n4::{AssociationId, Counter, DownReason, Event, NodeId, Retention, Role};
use sluice_wire::ids::Seid;
use sluice_wire::pfcp::element::Element;
use sluice_wire::pfcp::message::{
    AssociationReleaseRequest, AssociationSetupRequest, AssociationUpdateRequest,
};
use sluice_wire::pfcp::value::{self, FSeid, NtpTime};
use sluice_wire::pfcp::{
    Cause, Full, Header, IeType, MessageType, SequenceNumber, Writer, ie, write_message,
};

/// T1 of the configurations here.
const T1_MS: u64 = 1000;
const CP_NAME: value::NodeId<'static> = value::NodeId::V4(std::net::Ipv4Addr::new(10, 0, 0, 1));

fn message(
    message_type: MessageType,
    sequence: u32,
    body: impl FnOnce(&mut Writer<'_>) -> Result<(), Full>,
) -> Vec<u8> {
    let sequence = SequenceNumber::wrapping(sequence);
    let header = match message_type.is_session_related() {
        true => Header::session(message_type, Seid(0), sequence),
        false => Header::node(message_type, sequence),
    };
    let mut octets = vec![0; 2048];
    let len = write_message(&mut octets, &header, body).unwrap();
    octets.truncate(len);
    octets
}

/// An Association Setup Request in the CP function's name.
fn setup(sequence: u32) -> Vec<u8> {
    let request = AssociationSetupRequest {
        node_id: CP_NAME,
        recovery_time_stamp: NtpTime(1000),
        ..Default::default()
    };
    message(MessageType::ASSOCIATION_SETUP_REQUEST, sequence, |w| {
        request.emit(w)
    })
}

fn release(sequence: u32) -> Vec<u8> {
    let request = AssociationReleaseRequest { node_id: CP_NAME };
    message(MessageType::ASSOCIATION_RELEASE_REQUEST, sequence, |w| {
        request.emit(w)
    })
}

fn cause(answer: &[u8]) -> Cause {
    let (_, body) = Header::parse(answer).unwrap();
    Cause::decode(ie::first(body, IeType::CAUSE).unwrap()).unwrap()
}

/// The causes that were sent to an address for a set-up, since the start.
fn setup_answers(net: &Net, to: SocketAddr) -> Vec<Cause> {
    let is_answer = |header: Header| header.message_type == MessageType::ASSOCIATION_SETUP_RESPONSE;
    let mut answers = net
        .log
        .iter()
        .map(|(_, datagram)| datagram)
        .filter(|d| d.to == to);
    answers
        .by_ref()
        .filter(|d| is_answer(d.header()))
        .map(|d| cause(&d.bytes))
        .collect()
}

fn heartbeats_to(net: &Net, to: SocketAddr) -> usize {
    let heartbeat = MessageType::HEARTBEAT_REQUEST;
    let those = net.log.iter().filter(|(_, d)| d.to == to);
    those
        .filter(|(_, d)| d.header().message_type == heartbeat)
        .count()
}

/// A set-up as the network brings it; what is answered goes to the log.
fn receive(net: &mut Net, from: SocketAddr, octets: &[u8]) {
    net.call(UP, |up, now, out| {
        up.handle(now, from, octets, out);
    });
}

/// Nobody answers at the CP function's address any more.
fn silence_the_holder(net: &mut Net) {
    net.hosts[CP].address = address(77);
}

fn primary(net: &Net, id: AssociationId) -> SocketAddr {
    net.hosts[UP].endpoint.association(id).unwrap().primary()
}

#[test]
fn a_release_from_elsewhere_is_refused_and_names_both_addresses() {
    let mut net = Net::associated();
    let association = net.id(UP);
    let answers = net.inject(UP, address(9), &release(5));
    assert_eq!(cause(&answers[0]), Cause::NO_ESTABLISHED_PFCP_ASSOCIATION);
    assert_eq!((net.events(UP), net.associations(UP)), (vec![], 1));
    assert_eq!(net.counter(UP, Counter::NotTheHolder), 1);
    let refused = *net.hosts[UP].endpoint.refusals().iter().next().unwrap();
    assert_eq!(
        (refused.peer, refused.holder),
        (address(9), Some(address(1)))
    );
    let line = refused.to_string();
    let told = "Association Release Request of 10.0.0.9:8805 refused: No established PFCP \
                Association (72), its Node ID is that of 10.0.0.1:8805";
    assert_eq!(line, told);
    // Another port of the holder's address is the holder.
    let holder = SocketAddr::from(([10, 0, 0, 1], 40_000));
    let answers = net.inject(UP, holder, &release(6));
    assert_eq!(cause(&answers[0]), Cause::REQUEST_ACCEPTED);
    let reason = DownReason::Released;
    assert_eq!(
        net.events(UP),
        [Event::AssociationDown {
            association,
            reason
        }]
    );
}

#[test]
fn an_update_from_elsewhere_changes_nothing() {
    let mut net = Net::associated();
    let update = AssociationUpdateRequest {
        node_id: CP_NAME,
        cp_function_features: Some(value::CpFunctionFeatures::LOAD),
        ..Default::default()
    };
    let update = message(MessageType::ASSOCIATION_UPDATE_REQUEST, 5, |w| {
        update.emit(w)
    });
    let answers = net.inject(UP, address(9), &update);
    assert_eq!(cause(&answers[0]), Cause::NO_ESTABLISHED_PFCP_ASSOCIATION);
    assert_eq!(net.events(UP), []);
    let known = net.hosts[UP].endpoint.association(net.id(UP)).unwrap();
    assert_eq!(
        known.addresses(),
        [address(1)],
        "and nobody learned the address"
    );
    let answers = net.inject(UP, address(1), &update);
    assert_eq!(cause(&answers[0]), Cause::REQUEST_ACCEPTED);
}

#[test]
fn an_establishment_from_elsewhere_makes_the_address_the_peers_and_is_told_once() {
    let mut net = Net::associated();
    let association = net.id(UP);
    let establishment = |sequence| {
        message(MessageType::SESSION_ESTABLISHMENT_REQUEST, sequence, |w| {
            w.ie(IeType::NODE_ID, |w| CP_NAME.encode(w))
        })
    };
    net.inject(UP, address(9), &establishment(5));
    let learned = Event::AddressLearned {
        association,
        holder: address(1),
        peer: address(9),
    };
    assert_eq!(net.events(UP), [learned]);
    net.inject(UP, address(9), &establishment(6));
    assert_eq!(net.events(UP), [], "it is known");
    let known = net.hosts[UP].endpoint.association(association).unwrap();
    assert_eq!(known.addresses(), [address(1), address(9)]);
}

#[test]
fn a_set_up_from_elsewhere_is_refused_while_the_holder_answers() {
    let mut net = Net::associated();
    net.hosts
        .push(Host::new(address(9), Role::Cp, cp_config(1000)));
    let stranger = net.hosts.len() - 1;
    let at_stranger = net.associate(stranger, UP);
    net.run_ms(100);
    let association = net.id(UP);
    let (holder, peer) = (address(1), address(9));
    assert_eq!(
        net.events(UP),
        [Event::TakeoverRefused {
            association,
            holder,
            peer
        }]
    );
    let cause = Cause::REQUEST_REJECTED;
    let rejected = Event::SetupRejected {
        association: at_stranger,
        cause,
    };
    assert_eq!(net.events(stranger), [rejected]);
    assert_eq!(primary(&net, association), holder);
    assert_eq!(heartbeats_to(&net, holder), 1, "the first answer is enough");
    assert_eq!(net.counter(UP, Counter::TakeoverRefused), 1);
    let refused = net.hosts[UP].endpoint.refusals().iter().next().unwrap();
    assert_eq!((refused.peer, refused.holder), (peer, Some(holder)));
}

#[test]
fn a_holder_that_is_silent_for_t1_gives_way_once() {
    let mut net = Net::associated();
    silence_the_holder(&mut net);
    let association = net.id(UP);
    receive(&mut net, address(9), &setup(5));
    assert_eq!(heartbeats_to(&net, address(1)), 1, "at once");
    net.run_ms(400);
    // Its retransmissions are neither new nor answered.
    receive(&mut net, address(9), &setup(5));
    net.run_ms(T1_MS - 401);
    receive(&mut net, address(9), &setup(5));
    assert_eq!(
        (net.events(UP), setup_answers(&net, address(9))),
        (vec![], vec![])
    );
    assert_eq!(primary(&net, association), address(1));
    net.run_ms(1);
    let (holder, peer) = (address(1), address(9));
    let retain = Retention::None;
    assert_eq!(
        net.events(UP),
        [
            Event::TakenOver {
                association,
                holder,
                peer
            },
            Event::AssociationReplaced {
                association,
                retain
            },
        ]
    );
    assert_eq!(setup_answers(&net, peer), [Cause::REQUEST_ACCEPTED]);
    assert_eq!(heartbeats_to(&net, holder), PROBES as usize);
    assert_eq!(primary(&net, association), peer);
    assert_eq!(net.counter(UP, Counter::TakenOver), 1);
    // The response is remembered like any other.
    receive(&mut net, peer, &setup(5));
    assert_eq!(setup_answers(&net, peer).len(), 2);
    assert_eq!(net.events(UP), []);
    // What was sent to the address of before is given up, and the peer is not lost by it.
    net.run_ms(2 * T1_MS);
    assert_eq!(net.events(UP), []);
}

#[test]
fn the_clock_of_a_contest_needs_no_other_timer() {
    let mut up = up_config(1000);
    up.heartbeat_interval_ms = 0;
    let mut net = Net::with(cp_config(1000), up);
    net.associate(CP, UP);
    net.run_ms(10);
    silence_the_holder(&mut net);
    net.events(UP);
    receive(&mut net, address(9), &setup(5));
    let due = net.hosts[UP].endpoint.next_deadline().unwrap();
    assert!(due <= net.now.plus_ms(T1_MS.div_ceil(PROBES.into())));
    net.run_ms(T1_MS);
    assert_eq!(setup_answers(&net, address(9)), [Cause::REQUEST_ACCEPTED]);
}

#[test]
fn one_lost_heartbeat_costs_the_holder_nothing() {
    let mut net = Net::associated();
    silence_the_holder(&mut net);
    receive(&mut net, address(9), &setup(5));
    net.run_ms(100);
    net.hosts[CP].address = address(1);
    net.run_ms(T1_MS);
    assert_eq!(setup_answers(&net, address(9)), [Cause::REQUEST_REJECTED]);
    assert_eq!(primary(&net, net.id(UP)), address(1));
    assert_eq!(net.counter(UP, Counter::TakenOver), 0);
}

#[test]
fn one_set_up_waits_for_each_node_and_a_later_one_of_its_address_takes_its_place() {
    let mut net = Net::associated();
    silence_the_holder(&mut net);
    receive(&mut net, address(9), &setup(5));
    net.run_ms(300);
    receive(&mut net, address(8), &setup(5));
    assert_eq!(
        setup_answers(&net, address(8)),
        [Cause::NO_RESOURCES_AVAILABLE]
    );
    assert_eq!(net.counter(UP, Counter::TakeoverContested), 1);
    receive(&mut net, address(9), &setup(6));
    net.run_ms(T1_MS - 300);
    assert_eq!(setup_answers(&net, address(9)), [Cause::REQUEST_ACCEPTED]);
    let answer = net
        .log
        .iter()
        .rev()
        .find(|(_, d)| d.to == address(9))
        .unwrap();
    assert_eq!(answer.1.header().sequence.get(), 6);
    assert_eq!(primary(&net, net.id(UP)), address(9));
}

#[test]
fn strangers_cannot_make_us_ask_the_holder_more_than_once_in_t1() {
    let mut net = Net::associated();
    for sequence in 0..100 {
        receive(&mut net, address(9), &setup(sequence));
        net.run_ms(1);
    }
    assert_eq!(heartbeats_to(&net, address(1)), 1);
    let answers = setup_answers(&net, address(9));
    assert_eq!(answers, vec![Cause::REQUEST_REJECTED; 100]);
    net.run_ms(T1_MS);
    silence_the_holder(&mut net);
    receive(&mut net, address(9), &setup(200));
    net.run_ms(T1_MS);
    assert_eq!(primary(&net, net.id(UP)), address(9), "asked again later");
}

#[test]
fn a_holder_that_has_released_meanwhile_leaves_its_name() {
    let mut net = Net::associated();
    silence_the_holder(&mut net);
    receive(&mut net, address(9), &setup(5));
    net.run_ms(100);
    receive(&mut net, address(1), &release(7));
    assert_eq!(net.associations(UP), 0);
    net.run_ms(T1_MS);
    assert_eq!(setup_answers(&net, address(9)), [Cause::REQUEST_ACCEPTED]);
    assert_eq!(primary(&net, net.id(UP)), address(9));
    let events = net.events(UP);
    assert!(matches!(
        events[..],
        [Event::AssociationDown { .. }, Event::AssociationUp { .. }]
    ));
}

/// A second CP function at 10.0.0.3, associated.
fn with_a_neighbour() -> (Net, usize) {
    let mut net = Net::associated();
    let mut config = cp_config(1000);
    config.node_id = NodeId::v4([10, 0, 0, 3].into());
    net.hosts.push(Host::new(address(3), Role::Cp, config));
    let neighbour = net.hosts.len() - 1;
    net.associate(neighbour, UP);
    net.run_ms(10);
    net.events(UP);
    (net, neighbour)
}

fn at(net: &Net, peer: SocketAddr) -> AssociationId {
    net.hosts[UP].endpoint.association_at(peer).unwrap()
}

#[test]
fn a_peer_cannot_claim_the_address_of_another() {
    let (mut net, _) = with_a_neighbour();
    let (first, second) = (at(&net, address(1)), at(&net, address(3)));
    let claimed = net.call(UP, |up, _, _| up.add_address(second, address(1).ip()));
    assert!(!claimed);
    assert_eq!(at(&net, address(1)), first);
    assert_eq!(net.counter(UP, Counter::AddressOfAnother), 1);
}

#[test]
fn a_peer_that_names_another_speaks_for_itself() {
    let (mut net, _) = with_a_neighbour();
    let second = at(&net, address(3));
    let establishment = message(MessageType::SESSION_ESTABLISHMENT_REQUEST, 5, |w| {
        w.ie(IeType::NODE_ID, |w| CP_NAME.encode(w))?;
        let f_seid = FSeid::v4(Seid(0x55), [10, 0, 0, 3].into());
        w.ie(IeType::F_SEID, |w| f_seid.encode(w))?;
        w.ie(NUMBER, |w| w.u64(9))
    });
    net.inject(UP, address(3), &establishment);
    assert_eq!(net.counter(UP, Counter::NodeIdMismatch), 1);
    assert_eq!(at(&net, address(3)), second, "its address stays its own");
}

#[test]
fn what_was_refused_is_kept_up_to_a_bound() {
    let mut net = Net::new();
    let many = 3 * REFUSALS as u32;
    for sequence in 0..many {
        receive(&mut net, address(9), &release(sequence));
    }
    let refusals = net.hosts[UP].endpoint.refusals();
    assert_eq!(refusals.total(), u64::from(many));
    let numbers: Vec<u64> = refusals.iter().map(|refused| refused.number).collect();
    let newest = u64::from(many) - REFUSALS as u64 + 1..=u64::from(many);
    assert_eq!(numbers, newest.collect::<Vec<_>>());
    assert_eq!(refusals.since(u64::from(many) - 3).count(), 3);
    assert_eq!(refusals.since(0).count(), REFUSALS);
    assert_eq!(refusals.since(u64::from(many)).count(), 0);
}

#[test]
fn a_set_up_that_cannot_be_read_is_kept_with_its_ie() {
    let mut net = Net::new();
    let nameless = message(MessageType::ASSOCIATION_SETUP_REQUEST, 5, |w| {
        w.ie(IeType::RECOVERY_TIME_STAMP, |w| w.u32(7))
    });
    receive(&mut net, address(9), &nameless);
    let refused = net.hosts[UP].endpoint.refusals().iter().next().unwrap();
    assert_eq!(refused.cause, Cause::MANDATORY_IE_MISSING);
    assert_eq!(refused.offending_ie, Some(IeType::NODE_ID));
}
