//! Packets for idle UEs: held in bounds, told of once, and let go in their order.
#![allow(clippy::unwrap_used)]

use crate::kit::many::{Ues, World};
use crate::kit::*;
use sluice_datapath::bells::{Bell, BellCause};
use sluice_datapath::drop::DropReason;
use sluice_datapath::ids::EntryId;
use sluice_datapath::limits::{DRAINED_PER_TURN, HELD_NS, HELD_PER_ENTRY};
use sluice_datapath::message::ToControl;
use sluice_datapath::session::entry::SessionEntry;
use sluice_datapath::session::txn::HeldOrder;
use sluice_wire::eth::EtherType;

fn idle(kit: &mut Kit, suggested: Option<u8>) -> Session {
    let s = kit.default_session();
    kit.apply(s.dl, &[set(s.dl, holding(downlink(), suggested))], &[]);
    s
}

fn numbered(n: u32) -> Vec<u8> {
    udp_packet(SERVER, UE, (80, 4000), &n.to_be_bytes())
}

/// The numbers of the packets that left towards the gNB, in their order.
fn numbers(kit: &mut Kit) -> Vec<u32> {
    let frames = output(&kit.n3);
    let last = frames.iter().map(|frame| frame.last_chunk::<4>().unwrap());
    last.map(|octets| u32::from_be_bytes(*octets)).collect()
}

fn bells(kit: &mut Kit) -> Vec<Bell> {
    let all = kit
        .punted
        .extract_if(.., |m| matches!(m, ToControl::Bell(_)));
    let bells = all.filter_map(|message| match message {
        ToControl::Bell(bell) => Some(bell),
        _ => None,
    });
    bells.collect()
}

#[test]
fn held_packets_leave_in_their_order_and_the_first_one_rings() {
    let mut kit = Kit::new();
    let s = idle(&mut kit, None);
    // Expedited Forwarding.
    kit.dn_sends(&with_tos(&numbered(0), 46 << 2));
    (1..20).for_each(|n| kit.dn_sends(&numbered(n)));
    let bell = Bell {
        entry: EntryId(s.dl),
        cause: BellCause::DownlinkData { at: None, dscp: 46 },
    };
    assert_eq!(bells(&mut kit), [bell]);
    assert!(numbers(&mut kit).is_empty());
    let stats = &kit.control.stats()[0];
    assert_eq!(
        (stats.held_for_ues.get(), stats.held_entries.get()),
        (20, 1)
    );
    // Written again, and still idle: it rings again with the next packet.
    kit.apply(
        s.dl,
        &[
            set(s.dl, holding(downlink(), None)),
            held(s.dl, HeldOrder::Again),
        ],
        &[],
    );
    assert!(bells(&mut kit).is_empty());
    kit.dn_sends(&numbered(20));
    assert_eq!(bells(&mut kit).len(), 1);
    kit.apply(
        s.dl,
        &[set(s.dl, downlink()), held(s.dl, HeldOrder::Again)],
        &[],
    );
    kit.dn_sends(&numbered(21));
    assert_eq!(numbers(&mut kit), (0..22).collect::<Vec<_>>());
    assert_eq!(kit.control.ledger().held, 0);
    kit.close();
}

#[test]
fn new_packets_go_behind_those_that_leave() {
    let mut kit = Kit::new();
    let s = idle(&mut kit, Some(200));
    let many = 4 * DRAINED_PER_TURN as u32;
    (0..many).for_each(|n| kit.dn_sends(&numbered(n)));
    // New ones come with the transaction and while the queue drains; then it is written once more.
    kit.send(s.dl, &[set(s.dl, downlink()), held(s.dl, HeldOrder::Again)]);
    for n in many..many + 6 {
        kit.n6
            .inject(&frame(N6_MAC, DN_MAC, EtherType::IPV4, &numbered(n)));
        if n == many + 2 {
            kit.send(s.dl, &[set(s.dl, downlink())]);
        }
        kit.turn();
    }
    kit.settle();
    assert_eq!(numbers(&mut kit), (0..many + 6).collect::<Vec<_>>());
    // And the fast path is open again.
    let slow = |kit: &Kit| {
        kit.control.stats()[0]
            .slow
            .iter()
            .map(|c| c.get())
            .sum::<u64>()
    };
    let before = slow(&kit);
    kit.dn_sends(&numbered(0));
    assert_eq!(slow(&kit), before);
    assert_eq!(numbers(&mut kit), [0]);
    kit.close();
}

#[test]
fn a_ue_that_is_idle_again_while_its_packets_leave_rings_for_the_rest() {
    let mut kit = Kit::new();
    let s = idle(&mut kit, Some(200));
    (0..100).for_each(|n| kit.dn_sends(&numbered(n)));
    assert_eq!(bells(&mut kit).len(), 1);
    kit.send(s.dl, &[set(s.dl, downlink()), held(s.dl, HeldOrder::Again)]);
    kit.turn();
    kit.send(
        s.dl,
        &[
            set(s.dl, holding(downlink(), Some(200))),
            held(s.dl, HeldOrder::Again),
        ],
    );
    kit.settle();
    let left = numbers(&mut kit);
    assert!(!left.is_empty() && left.len() < 100, "{}", left.len());
    assert_eq!(bells(&mut kit).len(), 1, "its packets would wait in vain");
    kit.apply(
        s.dl,
        &[set(s.dl, downlink()), held(s.dl, HeldOrder::Again)],
        &[],
    );
    let rest = numbers(&mut kit);
    assert_eq!([left, rest].concat(), (0..100).collect::<Vec<_>>());
    kit.close();
}

#[test]
fn what_finds_no_room_or_waits_too_long_or_is_not_wanted_ends_by_name() {
    let mut kit = Kit::new();
    let s = idle(&mut kit, None);
    (0..HELD_PER_ENTRY + 3).for_each(|n| kit.dn_sends(&numbered(n)));
    assert_eq!(kit.dropped(DropReason::HoldFull), 3);
    kit.apply(s.dl, &[held(s.dl, HeldOrder::Discard)], &[]);
    assert_eq!(
        kit.dropped(DropReason::HoldDiscarded),
        HELD_PER_ENTRY.into()
    );
    // A BAR suggests two.
    kit.apply(s.dl, &[set(s.dl, holding(downlink(), Some(2)))], &[]);
    (0..3).for_each(|n| kit.dn_sends(&numbered(n)));
    assert_eq!(kit.dropped(DropReason::HoldFull), 4);
    kit.now_ns += HELD_NS / 2;
    kit.settle();
    assert_eq!(kit.dropped(DropReason::HoldExpired), 0);
    kit.now_ns += HELD_NS / 2;
    kit.settle();
    assert_eq!(kit.dropped(DropReason::HoldExpired), 2);
    // The session ends while one is held.
    kit.dn_sends(&numbered(0));
    kit.apply(s.dl, &[set(s.dl, SessionEntry::default())], &[]);
    assert_eq!(
        kit.dropped(DropReason::HoldDiscarded),
        u64::from(HELD_PER_ENTRY) + 1
    );
    assert_eq!(kit.control.ledger().held, 0);
    kit.close();
}

#[test]
fn packets_that_are_held_at_the_end_are_accounted_for() {
    let mut kit = Kit::new();
    idle(&mut kit, None);
    kit.dn_sends(&numbered(0));
    // `close` looks at the books.
    kit.close();
}

#[test]
fn held_packets_go_with_their_shard_and_keep_their_order() {
    for seed in 1..=3 {
        let mut world = World::new(3, Ues(24), seed);
        for round in 0..2_000 {
            let ue = world.lot(24) as u32;
            match round % 4 {
                0 => world.idle(ue),
                1 => world.activate(ue),
                _ => world.move_ue(ue, (round % 3) as u8),
            }
            world.inject(8);
            world.some_turns(12);
        }
        (0..24).for_each(|ue| world.activate(ue));
        world.settle();
        let (done, _) = world.kit.control.mover().progress();
        assert!(done > 200, "{done} moves");
        // What found no room was dropped by name; the others came in their order.
        let full = world.kit.dropped(DropReason::HoldFull);
        world.close_in_order(full);
    }
}
