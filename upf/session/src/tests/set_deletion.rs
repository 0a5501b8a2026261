//! Session sets: sessions end with the part of a CP function that had them.

use super::bench::*;
use crate::limits::{SETS_OF_ALL, SETS_WALK};
use core::net::Ipv4Addr;
use sluice_n4::Instant;
use sluice_wire::ids::Seid;
use sluice_wire::pfcp::message::*;
use sluice_wire::pfcp::value::*;
use sluice_wire::pfcp::{Cause, IeType, MessageType, Writer};

const SMF: Option<u8> = Some(2);
const MME: Option<u8> = Some(0);

fn set(csid: &[u8; 2], node_type: Option<u8>) -> FqCsid<'_> {
    FqCsid::new(CsidNode::V4(CP), csid, node_type).unwrap()
}

fn session(i: u8, sets: &[FqCsid<'static>]) -> SessionEstablishmentRequest<'static> {
    let mut request = default_session(Ipv4Addr::new(10, 45, 0, i), i.into());
    request.fq_csid.extend(sets.iter().copied());
    request
}

/// Cause, and Offending IE.
fn end(bench: &mut Bench, cp: Ipv4Addr, sets: &[FqCsid<'_>]) -> (Cause, Option<IeType>) {
    let mut request = SessionSetDeletionRequest {
        node_id: NodeId::V4(cp),
        ..Default::default()
    };
    request.fq_csid.extend(sets.iter().copied());
    let kind = MessageType::SESSION_SET_DELETION_REQUEST;
    let bytes = bench.ask(cp, kind, None, |w| request.emit(w)).unwrap();
    let (header, body) = sluice_wire::pfcp::Header::parse(&bytes).unwrap();
    let kind = MessageType::SESSION_SET_DELETION_RESPONSE;
    assert_eq!((header.message_type, header.seid), (kind, None));
    let answer = SessionSetDeletionResponse::parse(body).unwrap();
    // A thousand places and more are passed in the first tick.
    bench.tick();
    assert_eq!(answer.node_id, NodeId::V4(N4));
    (answer.cause, answer.offending_ie.map(|ie| ie.0))
}

#[test]
fn a_set_takes_its_sessions_along_and_no_others() {
    let mut bench = Bench::with(|c| c.transactions = 2);
    bench.associate(CP2);
    let (one, two) = (set(&[0, 1], SMF), set(&[0, 2], SMF));
    let of_mme = set(&[0, 1], MME);
    let sets: [&[FqCsid<'static>]; 6] = [&[one], &[two], &[one, of_mme], &[of_mme], &[], &[one]];
    let mut seids = Vec::new();
    for (i, sets) in (1..).zip(sets) {
        seids.push(bench.establish(CP, &session(i, sets)).seid);
    }
    let mut other = session(9, &[one]);
    other.node_id = NodeId::V4(CP2);
    other.cp_f_seid = FSeid::v4(Seid(9), CP2);
    assert_eq!(bench.establish(CP2, &other).cause, Cause::REQUEST_ACCEPTED);
    let accepted = (Cause::REQUEST_ACCEPTED, None);
    assert_eq!(end(&mut bench, CP, &[one]), accepted);
    let stands = |bench: &Bench, at: usize| bench.up.session(seids[at].0).is_some();
    let left: Vec<usize> = (0..6).filter(|at| stands(&bench, *at)).collect();
    assert_eq!((left, bench.up.session_count()), (vec![1, 3, 4], 4));
    // Another time there is nothing to end, nor in a set that nobody knows.
    assert_eq!(end(&mut bench, CP, &[one, set(&[7, 7], SMF)]), accepted);
    assert_eq!(bench.up.session_count(), 4);
    assert_eq!(end(&mut bench, CP, &[two, of_mme]), accepted);
    assert_eq!(end(&mut bench, CP2, &[one]), accepted);
    let last = seids[4];
    assert_eq!(bench.delete(CP, last).0, Cause::REQUEST_ACCEPTED);
    bench.assert_well_spoken();
    bench.assert_vacant();
}

#[test]
fn a_modification_moves_a_session_to_another_set_of_the_same_kind_of_node() {
    let mut bench = Bench::new();
    let sets = [set(&[0, 1], SMF), set(&[0, 1], MME)];
    let seid = bench.establish(CP, &session(1, &sets)).seid;
    let mut change = path_switch(77);
    change.fq_csid.push(set(&[0, 2], SMF));
    assert_eq!(
        bench.modify(CP, seid, &change).cause,
        Cause::REQUEST_ACCEPTED
    );
    end(&mut bench, CP, &[set(&[0, 1], SMF)]);
    assert_eq!(bench.up.session_count(), 1);
    // What is refused changes no set either, and leaves none.
    let before = bench.fingerprint();
    change.fq_csid[0] = set(&[0, 3], SMF);
    change.remove_pdr.push(sluice_wire::pfcp::group::RemovePdr {
        pdr_id: sluice_wire::ids::PdrId(77),
    });
    assert_ne!(
        bench.modify(CP, seid, &change).cause,
        Cause::REQUEST_ACCEPTED
    );
    assert_eq!(bench.fingerprint(), before);
    end(&mut bench, CP, &[set(&[0, 3], SMF)]);
    assert_eq!(bench.up.session_count(), 1);
    end(&mut bench, CP, &[set(&[0, 1], MME)]);
    bench.assert_vacant();
}

#[test]
fn deleted_sessions_are_looked_for_some_at_a_time_and_found_by_nobody() {
    let count = 2 * SETS_WALK as usize;
    let mut bench = Bench::with(|c| {
        c.sessions = count + 8;
        c.transactions = 4;
    });
    let kept = set(&[0, 9], SMF);
    let one = set(&[0, 1], SMF);
    // Sessions without UE addresses: there are as many TEIDs as it takes.
    let mut of_set = |i: usize, set: FqCsid<'static>| {
        let mut request = establishment(CP, i as u64);
        request.create_pdr.push(uplink_pdr(1, 1));
        request.create_far.push(to_core(1));
        request.create_pdr[0].pdi.ue_ip_address.clear();
        request.fq_csid.push(set);
        let done = bench.establish(CP, &request);
        assert_eq!(done.cause, Cause::REQUEST_ACCEPTED, "{i}");
        done.seid
    };
    let seids: Vec<Seid> = (1..=count)
        .map(|i| of_set(i, if i % 2 == 0 { one } else { kept }))
        .collect();
    let last = seids[count - 1];
    assert_eq!(end(&mut bench, CP, &[one]).0, Cause::REQUEST_ACCEPTED);
    // Not all of them were looked at yet, but no message finds one.
    assert!(bench.up.session_count() > count / 2);
    assert_eq!(bench.up.next_deadline(), Some(Instant(0)));
    assert_eq!(bench.delete(CP, last).0, Cause::SESSION_CONTEXT_NOT_FOUND);
    // A new session of that name is of a new set, and stays.
    let mut request = session(1, &[one]);
    request.cp_f_seid.seid = Seid(count as u64 - 2);
    let new = bench.establish(CP, &request);
    assert_eq!(new.cause, Cause::REQUEST_ACCEPTED);
    bench.tick();
    bench.tick();
    assert_ne!(bench.up.next_deadline(), Some(Instant(0)));
    assert_eq!(bench.up.session_count(), count / 2 + 1);
    end(&mut bench, CP, &[one, kept]);
    bench.tick();
    bench.tick();
    bench.assert_vacant();
}

#[test]
fn a_set_deletion_that_names_no_set_is_refused() {
    let mut bench = Bench::new();
    assert_eq!(
        end(&mut bench, CP, &[]),
        (Cause::CONDITIONAL_IE_MISSING, Some(IeType::FQ_CSID))
    );
    let kind = MessageType::SESSION_SET_DELETION_REQUEST;
    let write = |w: &mut Writer<'_>| {
        crate::procedure::put(w, IeType::NODE_ID, &NodeId::V4(CP))?;
        w.ie(IeType::FQ_CSID, |w| w.bytes(&[2, 192, 0, 2, 1, 0, 7]))
    };
    let bytes = bench.ask(CP, kind, None, write).unwrap();
    let (_, body) = sluice_wire::pfcp::Header::parse(&bytes).unwrap();
    let answer = SessionSetDeletionResponse::parse(body).unwrap();
    let said = (answer.cause, answer.offending_ie.map(|ie| ie.0));
    assert_eq!(said, (Cause::INVALID_LENGTH, Some(IeType::FQ_CSID)));
}

#[test]
fn sets_are_bounded_and_what_is_too_much_is_refused() {
    let mut bench = Bench::new();
    let refused = (Cause::NO_RESOURCES_AVAILABLE, Some(IeType::FQ_CSID));
    let nine: Vec<u8> = (0..9).flat_map(|i| [1, i]).collect();
    let mut request = default_session(UE, 1);
    let many = FqCsid::new(CsidNode::V4(CP), &nine, SMF).unwrap();
    request.fq_csid.push(many);
    let done = bench.establish(CP, &request);
    assert_eq!((done.cause, done.offending), refused);
    assert_eq!(bench.up.in_use().session_sets, 0);
    let names: Vec<[u8; 2]> = (0..SETS_OF_ALL as u16).map(u16::to_be_bytes).collect();
    let seid = bench.establish(CP, &default_session(UE, 1)).seid;
    // A session leaves the sets of a kind of node when it joins others: hold them by hand.
    let sets = &mut bench.up.node.shared.sets;
    let id = bench.up.node.endpoint.associations().next().unwrap().0;
    for name in &names {
        let ie = set(name, SMF);
        let name = crate::session_sets::SetName::all(id, &ie).next().unwrap();
        assert!(sets.find_or_add(name).is_some());
    }
    let mut change = path_switch(77);
    change.fq_csid.push(set(&[0xff, 0xff], SMF));
    let done = bench.modify(CP, seid, &change);
    assert_eq!((done.cause, done.offending), refused);
    change.fq_csid[0] = set(&[0, 1], SMF);
    assert_eq!(
        bench.modify(CP, seid, &change).cause,
        Cause::REQUEST_ACCEPTED
    );
}
