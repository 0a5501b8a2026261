//! Strangers at N4: nobody but the holder of an association, and whoever has a session's CP F-SEID, acts on sessions.

use super::bench::*;
use super::live_cores::recorded;
use core::net::Ipv4Addr;
use sluice_wire::ids::Seid;
use sluice_wire::pfcp::element::Element;
use sluice_wire::pfcp::message::*;
use sluice_wire::pfcp::value::*;
use sluice_wire::pfcp::{Cause, Header, IeType, MessageType, ie};

/// It has no association.
const STRANGER: Ipv4Addr = CP2;

fn fq_csid(node: Ipv4Addr) -> FqCsid<'static> {
    FqCsid::new(CsidNode::V4(node), &[0, 1], None).unwrap()
}

fn cause_of(answer: &[u8]) -> Cause {
    let (_, body) = Header::parse(answer).unwrap();
    Cause::decode(ie::first(body, IeType::CAUSE).unwrap()).unwrap()
}

/// A session of the good CP function, in a set.
fn good_session(bench: &mut Bench) -> Seid {
    let mut request = default_session(UE, 1);
    request.fq_csid.push(fq_csid(CP));
    let done = bench.establish(CP, &request);
    assert_eq!(done.cause, Cause::REQUEST_ACCEPTED);
    done.seid
}

/// The stranger sets up a session with the good Node ID: its address is learned.
fn learned(bench: &mut Bench) -> Seid {
    let mut request = default_session(Ipv4Addr::new(10, 45, 0, 9), 9);
    request.node_id = NodeId::V4(CP);
    request.cp_f_seid = FSeid::v4(Seid(9), STRANGER);
    let done = bench.establish(STRANGER, &request);
    assert_eq!(done.cause, Cause::REQUEST_ACCEPTED);
    done.seid
}

fn heartbeat(bench: &mut Bench, from: Ipv4Addr, restarted: u32) {
    let request = HeartbeatRequest {
        recovery_time_stamp: NtpTime(restarted),
        ..HeartbeatRequest::default()
    };
    let kind = MessageType::HEARTBEAT_REQUEST;
    assert!(bench.ask(from, kind, None, |w| request.emit(w)).is_some());
    bench.tick();
}

#[test]
fn a_set_is_deleted_by_the_holder_of_its_association_alone() {
    let mut bench = Bench::new();
    let seid = good_session(&mut bench);
    let mut request = SessionSetDeletionRequest {
        node_id: NodeId::V4(CP),
        ..SessionSetDeletionRequest::default()
    };
    request.fq_csid.push(fq_csid(CP));
    let kind = MessageType::SESSION_SET_DELETION_REQUEST;
    let answer = bench
        .ask(STRANGER, kind, None, |w| request.emit(w))
        .unwrap();
    assert_eq!(cause_of(&answer), Cause::NO_ESTABLISHED_PFCP_ASSOCIATION);
    learned(&mut bench);
    let answer = bench
        .ask(STRANGER, kind, None, |w| request.emit(w))
        .unwrap();
    assert_eq!(cause_of(&answer), Cause::NO_ESTABLISHED_PFCP_ASSOCIATION);
    bench.tick();
    assert!(bench.up.session(seid.0).is_some());
    let answer = bench.ask(CP, kind, None, |w| request.emit(w)).unwrap();
    assert_eq!(cause_of(&answer), Cause::REQUEST_ACCEPTED);
    bench.tick();
    assert!(bench.up.session(seid.0).is_none());
}

#[test]
fn flows_of_applications_are_told_by_holders_alone() {
    let mut bench = Bench::new();
    learned(&mut bench);
    let request = PfdManagementRequest {
        node_id: Some(NodeId::V4(CP)),
        ..PfdManagementRequest::default()
    };
    let kind = MessageType::PFD_MANAGEMENT_REQUEST;
    let answer = bench
        .ask(STRANGER, kind, None, |w| request.emit(w))
        .unwrap();
    assert_eq!(cause_of(&answer), Cause::NO_ESTABLISHED_PFCP_ASSOCIATION);
    let answer = bench.ask(CP, kind, None, |w| request.emit(w)).unwrap();
    assert_eq!(cause_of(&answer), Cause::REQUEST_ACCEPTED);
}

#[test]
fn a_time_stamp_from_a_learned_address_is_no_restart_of_the_holder() {
    let mut bench = Bench::new();
    let seid = good_session(&mut bench);
    learned(&mut bench);
    heartbeat(&mut bench, STRANGER, 1_000_000);
    assert!(bench.up.session(seid.0).is_some());
    heartbeat(&mut bench, CP, 1_000_000);
    assert!(bench.up.session(seid.0).is_none(), "that was one");
}

#[test]
fn a_learned_address_acts_on_sessions_of_its_own() {
    let mut bench = Bench::new();
    let seid = good_session(&mut bench);
    let own = learned(&mut bench);
    let not_found = Cause::SESSION_CONTEXT_NOT_FOUND;
    let refused = bench.modify(STRANGER, seid, &path_switch(0x99));
    assert_eq!(refused.cause, not_found);
    assert_eq!(bench.delete(STRANGER, seid).0, not_found);
    // Nor does another session take the place of one.
    let mut instead = default_session(Ipv4Addr::new(10, 45, 0, 10), 1);
    instead.node_id = NodeId::V4(CP);
    let refused = bench.establish(STRANGER, &instead);
    let told = (refused.cause, refused.offending);
    assert_eq!(told, (Cause::REQUEST_REJECTED, Some(IeType::F_SEID)));
    assert!(bench.up.session(seid.0).is_some());
    let accepted = Cause::REQUEST_ACCEPTED;
    let modified = bench.modify(STRANGER, own, &path_switch(0x99));
    assert_eq!(modified.cause, accepted);
    assert_eq!(bench.delete(STRANGER, own).0, accepted);
    assert_eq!(bench.delete(CP, seid).0, accepted);
    bench.assert_vacant();
}

/// As a live UPF was attacked: the good SMF's session stays.
#[test]
fn recorded_attacks_end_no_session() {
    let Some(messages) = recorded::recorded("stranger.txt") else {
        return;
    };
    let mut bench = Bench::new();
    let mut causes = Vec::new();
    for (name, octets) in messages {
        let (_, from) = name.rsplit_once(' ').unwrap();
        let answer = bench.ask_bytes(from.parse().unwrap(), &octets).unwrap();
        let (header, _) = Header::parse(&answer).unwrap();
        if header.message_type != MessageType::HEARTBEAT_RESPONSE {
            causes.push(cause_of(&answer));
        }
        bench.tick();
    }
    let accepted = Cause::REQUEST_ACCEPTED;
    let refused = Cause::NO_ESTABLISHED_PFCP_ASSOCIATION;
    assert_eq!(causes, [accepted, accepted, refused, accepted]);
    assert_eq!(bench.up.sessions().len(), 2);
}
