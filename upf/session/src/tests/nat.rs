//! Blocks of public ports: given with the session, on demand, taken back, and written down.

use super::bench::*;
use crate::NatRecord;
use core::net::Ipv4Addr;
use sluice_datapath::ids::EntryId;
use sluice_datapath::lookup::layout::InstanceId;
use sluice_datapath::nat::pool::{Filtering, NatPool, NatPools, NatTimeouts};
use sluice_datapath::session::txn::Op;
use sluice_datapath::tables::Prefix;
use sluice_wire::pfcp::{Cause, IeType};

const INSIDE: InstanceId = InstanceId(1);
const PUBLIC: Ipv4Addr = Ipv4Addr::new(203, 0, 113, 64);
const OTHER_UE: Ipv4Addr = Ipv4Addr::new(10, 45, 0, 8);

/// So many blocks of 128 ports on each of two addresses, or one.
fn pools(blocks: u16, prefix_len: u8) -> NatPools {
    let pool = NatPool {
        inside: INSIDE,
        outside: InstanceId(255),
        prefixes: vec![Prefix::new(PUBLIC, prefix_len).unwrap()],
        first_port: (65_536 - 128 * u32::from(blocks)) as u16,
        block_ports: 128,
        blocks_per_ue: 2,
        filtering: Filtering::EndpointIndependent,
        hairpins: true,
        timeouts: NatTimeouts::default(),
    };
    NatPools::new(vec![pool]).unwrap()
}

fn record(given: bool, ue: Ipv4Addr, address: Ipv4Addr, first_port: u16) -> NatRecord {
    NatRecord {
        given,
        instance: INSIDE,
        ue,
        address,
        first_port,
        last_port: first_port + 127,
    }
}

fn records(bench: &mut Bench) -> Vec<NatRecord> {
    std::iter::from_fn(|| bench.up.next_nat_record()).collect()
}

fn entry(bench: &Bench, ue: Ipv4Addr) -> EntryId {
    bench.layout.pool_entry(INSIDE, ue.into()).unwrap()
}

/// The UE has no port left.
fn full(bench: &mut Bench, ue: Ipv4Addr) {
    let at = entry(bench, ue);
    bench.up.nat_full(at, &mut bench.out);
    bench.settle();
}

#[test]
fn a_ue_has_a_block_from_the_beginning_and_a_further_one_of_the_same_address_on_demand() {
    let mut bench = Bench::with_nat(pools(4, 31));
    bench.ops.clear();
    let session = bench.establish(CP, &default_session(UE, 1));
    assert_eq!(session.cause, Cause::REQUEST_ACCEPTED);
    let at = entry(&bench, UE);
    let ops = bench.ops.iter().filter_map(|op| match op {
        Op::NatUnit {
            user,
            unit,
            next,
            chunk,
        } => Some((*user, unit.0, *next, *chunk)),
        _ => None,
    });
    let units: Vec<_> = ops.collect();
    let [(first, 0, next, _), (second, 1, 0, chunk)] = units[..] else {
        panic!("{units:?}");
    };
    assert_eq!((first, second, next), (at, at, chunk));
    let is_user = |op: &Op| matches!(op, Op::NatUser { at: user, .. } if *user == at);
    assert!(bench.ops.iter().any(is_user));
    let other = bench.establish(CP, &default_session(OTHER_UE, 2));
    full(&mut bench, UE);
    let next_address = Ipv4Addr::new(203, 0, 113, 65);
    let expected = [
        record(true, UE, PUBLIC, 65_024),
        record(true, OTHER_UE, next_address, 65_024),
        record(true, UE, PUBLIC, 65_152),
    ];
    assert_eq!(records(&mut bench), expected);
    let holder = |bench: &Bench, address, port| bench.up.nat_holder(INSIDE, address, port);
    assert_eq!(holder(&bench, PUBLIC, 65_200), Some(UE));
    assert_eq!(holder(&bench, next_address, 65_024), Some(OTHER_UE));
    assert_eq!(holder(&bench, PUBLIC, 65_300), None);
    let view = bench.up.session(session.seid.0).unwrap();
    let blocks = ["203.0.113.64:65152-65279", "203.0.113.64:65024-65151"];
    assert_eq!(view.nat_blocks, blocks);
    // Two are the most.
    full(&mut bench, UE);
    assert_eq!(bench.up.nat_counters().used, 3);
    for seid in [session.seid, other.seid] {
        bench.delete(CP, seid);
    }
    let taken = records(&mut bench);
    assert_eq!(taken.len(), 3);
    assert!(taken.iter().all(|record| !record.given));
    // A bell that was on its way finds nobody.
    full(&mut bench, UE);
    bench.assert_vacant();
}

#[test]
fn without_a_block_there_is_no_session_and_what_was_given_back_first_is_given_first() {
    let mut bench = Bench::with_nat(pools(2, 32));
    let first = bench.establish(CP, &default_session(UE, 1));
    full(&mut bench, UE);
    let before = bench.up.in_use();
    let refused = bench.establish(CP, &default_session(OTHER_UE, 2));
    let full_cause = Cause::NO_RESOURCES_AVAILABLE;
    let offending = Some(IeType::UE_IP_ADDRESS);
    assert_eq!((refused.cause, refused.offending), (full_cause, offending));
    assert_eq!(bench.up.in_use(), before);
    assert_eq!(bench.up.nat_counters().refused, 1);
    bench.delete(CP, first.seid);
    records(&mut bench);
    // The newest block went back first.
    let second = bench.establish(CP, &default_session(OTHER_UE, 3));
    let third = bench.establish(CP, &default_session(UE, 4));
    let given = [
        record(true, OTHER_UE, PUBLIC, 65_408),
        record(true, UE, PUBLIC, 65_280),
    ];
    assert_eq!(records(&mut bench), given);
    for seid in [second.seid, third.seid] {
        bench.delete(CP, seid);
    }
    bench.assert_vacant();
}

/// What fails behind the block gives it back, to the front, and nobody hears of it.
#[test]
fn a_refused_session_leaves_blocks_as_they_were() {
    let mut bench = Bench::with_nat(pools(2, 32));
    let mut request = default_session(UE, 1);
    request.create_far.pop();
    assert_ne!(bench.establish(CP, &request).cause, Cause::REQUEST_ACCEPTED);
    assert_eq!(
        (bench.up.nat_counters().used, records(&mut bench)),
        (0, vec![])
    );
    let session = bench.establish(CP, &default_session(UE, 2));
    assert_eq!(records(&mut bench), [record(true, UE, PUBLIC, 65_280)]);
    bench.delete(CP, session.seid);
    bench.assert_vacant();
}
