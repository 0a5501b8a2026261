//! Establishments that come again when the endpoint has forgotten them.

use super::bench::*;
use sluice_wire::ids::Seid;
use sluice_wire::pfcp::{Cause, MessageType};

const KIND: MessageType = MessageType::SESSION_ESTABLISHMENT_REQUEST;

#[test]
fn an_establishment_that_the_cache_has_lost_is_not_applied_twice() {
    let mut bench = Bench::with_memory(4);
    let request = default_session(UE, 7);
    let bytes = bench.message(KIND, Some(Seid(0)), |w| request.emit(w));
    let first = bench.ask_bytes(CP, &bytes).unwrap();
    let before = bench.fingerprint();
    // Others drive it out of the memory of recent requests.
    for _ in 0..5 {
        let (cause, _) = bench.delete(CP, Seid(1));
        assert_eq!(cause, Cause::SESSION_CONTEXT_NOT_FOUND);
    }
    bench.ops.clear();
    let again = bench.ask_bytes(CP, &bytes).unwrap();
    assert_eq!(first, again);
    assert_eq!((bench.fingerprint(), bench.ops.len()), (before, 0));
    assert_eq!(bench.up.repeated_establishments(), 1);
    // With another sequence number too.
    let again = bench.establish(CP, &request);
    assert_eq!(again.cause, Cause::REQUEST_ACCEPTED);
    assert_eq!(
        (
            bench.up.repeated_establishments(),
            bench.up.sessions().len()
        ),
        (2, 1)
    );
    let (cause, _) = bench.delete(CP, again.seid);
    assert_eq!(cause, Cause::REQUEST_ACCEPTED);
    bench.assert_vacant();
}

#[test]
fn while_the_first_is_carried_out_the_second_is_silent() {
    let mut bench = Bench::new();
    let request = default_session(UE, 7);
    let first = bench.message(KIND, Some(Seid(0)), |w| request.emit(w));
    let second = bench.message(KIND, Some(Seid(0)), |w| request.emit(w));
    bench.out.datagrams.clear();
    bench.put(CP, &first);
    bench.put(CP, &second);
    assert!(bench.out.datagrams.is_empty());
    bench.settle();
    assert_eq!(
        (bench.out.datagrams.len(), bench.up.sessions().len()),
        (1, 1)
    );
}

/// `OAI 03` wants a refusal (64); the other reading stands in docs/operator/interop.md.
#[test]
fn another_request_of_the_same_name_replaces_the_session_and_one_of_another_cp_function_is_new() {
    let mut bench = Bench::new();
    bench.associate(CP2);
    let accepted = |done: Established| assert_eq!(done.cause, Cause::REQUEST_ACCEPTED);
    let first = bench.establish(CP, &default_session(UE, 7));
    assert_eq!(first.cause, Cause::REQUEST_ACCEPTED);
    let mut other = UE.octets();
    other[3] += 1;
    accepted(bench.establish(CP, &default_session(other.into(), 7)));
    other[3] += 1;
    let mut theirs = default_session(other.into(), 7);
    theirs.node_id = sluice_wire::pfcp::value::NodeId::V4(CP2);
    accepted(bench.establish(CP2, &theirs));
    bench.tick();
    assert_eq!(
        (
            bench.up.repeated_establishments(),
            bench.up.sessions().len()
        ),
        (0, 2)
    );
    assert_eq!(
        bench.delete(CP, first.seid).0,
        Cause::SESSION_CONTEXT_NOT_FOUND
    );
    // One that wants the address which the first has is refused, and replaces nothing.
    let mut faster = theirs;
    faster.create_qer[0] = qer(1, Some((1_000, 2_000)), Some(9));
    assert_ne!(bench.establish(CP2, &faster).cause, Cause::REQUEST_ACCEPTED);
    bench.tick();
    assert_eq!(bench.up.sessions().len(), 2);
}

#[test]
fn a_session_that_has_ended_or_got_another_name_is_established_anew() {
    let mut bench = Bench::new();
    let request = default_session(UE, 7);
    let first = bench.establish(CP, &request);
    bench.delete(CP, first.seid);
    let second = bench.establish(CP, &request);
    assert_eq!(second.cause, Cause::REQUEST_ACCEPTED);
    assert_ne!(first.seid, second.seid);
    assert_eq!(bench.up.repeated_establishments(), 0);
}
