//! Packets that wait for a next hop belong to the session that they came for.

#![allow(clippy::unwrap_used)]

use crate::kit::*;
use sluice_datapath::drop::DropReason;
use sluice_datapath::ids::{EgressId, EntryId, NextHopId};
use sluice_datapath::session::entry::SessionEntry;
use sluice_datapath::session::rule::Body;
use sluice_datapath::session::txn::{Op, Usage};
use std::net::Ipv4Addr;

const STRANGER: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 99);

/// A path with one packet of the session that waits for a stranger on N6.
fn one_waits(bytes: &[u8]) -> (Kit, Session) {
    let mut kit = Kit::new();
    let s = kit.default_session();
    kit.gnb_sends(s.teid.get(), &udp_packet(UE, STRANGER, (1, 2), bytes));
    assert_eq!(kit.control.ledger().held, 1);
    (kit, s)
}

fn answer(kit: &mut Kit) -> Vec<Vec<u8>> {
    let mut tables = tables();
    tables.egresses[0]
        .neighbours
        .insert(STRANGER.into(), NextHopId(1));
    kit.control.publish(tables);
    kit.settle();
    output(&kit.n6)
}

fn taken(kit: &mut Kit, entry: u32) -> Usage {
    kit.apply(entry, &[Op::TakeEntry { at: EntryId(entry) }], &[])[0]
}

#[test]
fn usage_goes_to_the_session_as_it_is_then() {
    let (mut kit, s) = one_waits(b"x");
    // The session changes, but not where it sends.
    kit.apply(s.ul, &[set(s.ul, uplink(s.teid))], &[]);
    assert_eq!(answer(&mut kit).len(), 1);
    let one = Usage {
        bytes: 29,
        packets: 1,
    };
    assert_eq!(taken(&mut kit, s.ul), one);
    kit.close();
}

#[test]
fn the_next_user_of_an_entry_is_not_charged_for_the_last_ones_packets() {
    let (mut kit, s) = one_waits(b"x");
    let next = kit.layout.teid(s.ul, 6).unwrap();
    kit.apply(s.ul, &[set(s.ul, SessionEntry::default())], &[]);
    kit.apply(s.ul, &[set(s.ul, uplink(next))], &[]);
    assert!(answer(&mut kit).is_empty());
    assert_eq!(kit.dropped(DropReason::SessionChanged), 1);
    assert_eq!(taken(&mut kit, s.ul), Usage::default());
    kit.close();
}

#[test]
fn a_session_that_sends_elsewhere_by_then_drops_what_waited() {
    let (mut kit, s) = one_waits(b"x");
    let mut elsewhere = uplink(s.teid);
    elsewhere.body = Body::to_egress(EgressId(1));
    kit.apply(s.ul, &[set(s.ul, elsewhere)], &[]);
    assert!(answer(&mut kit).is_empty());
    assert_eq!(kit.dropped(DropReason::SessionChanged), 1);
    kit.close();
}
