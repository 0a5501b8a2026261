//! Model check of the migration protocol: every order in which workers, control core and network
//! card can take their steps, with [`Moves`] as it is: a few workers, shards, packets and
//! overlapping moves, rings of any size.
//!
//! In every state: only the owner executes, one owner at a time, no flow out of order, no more tokens on a
//! ring than are reserved for the moves under way. In every last state: all moves are over, nothing waits, every packet was executed or
//! dropped because a ring or the hold was full, and all tables agree.
#![allow(clippy::unwrap_used)]

mod state;

use super::MovingShard;
use crate::ids::WorkerId;
use sluice_mem::shard::ShardId;
use state::{ModelState, ModelStep, Wish};
use std::collections::HashSet;
use std::hash::{Hash, Hasher};

/// Checks a state, and if nothing can happen any more, that all is well at the end.
fn check(world: &ModelState, packets: usize) -> Vec<ModelStep> {
    world.check();
    let steps = world.steps();
    if steps.is_empty() {
        world.check_end(packets);
    }
    steps
}

/// All states from here on; how many there are, and the most packets dropped in one of them.
fn explore(start: ModelState) -> (usize, usize) {
    let packets = start.packets();
    let digest = |world: &ModelState| {
        let mut hasher = Mixer::default();
        world.hash(&mut hasher);
        hasher.0
    };
    let mut seen = HashSet::from([digest(&start)]);
    let (mut open, mut dropped) = (vec![start], 0);
    while let Some(world) = open.pop() {
        dropped = dropped.max(world.dropped);
        for step in check(&world, packets) {
            let mut next = world.clone();
            next.take(step);
            if seen.insert(digest(&next)) {
                open.push(next);
            }
        }
    }
    (seen.len(), dropped)
}

/// One way to the end after another, each step drawn by lot; the most packets dropped.
fn wander(start: &ModelState, walks: u64) -> usize {
    let packets = start.packets();
    let mut lot = Mixer(walks.into());
    let mut dropped = 0;
    for _ in 0..walks {
        let mut world = start.clone();
        loop {
            let steps = check(&world, packets);
            if steps.is_empty() {
                break;
            }
            lot.write_u64(0x9e37_79b9_7f4a_7c15);
            let at = (lot.0 >> 64) as usize % steps.len();
            world.take(steps[at]);
        }
        dropped = dropped.max(world.dropped);
    }
    dropped
}

/// 128 bits, quickly: two of a million states are taken for one with probability 2^-88.
#[derive(Default)]
struct Mixer(u128);

impl Hasher for Mixer {
    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.write_u64(u64::from_le_bytes(word));
        }
    }

    fn write_u8(&mut self, value: u8) {
        self.write_u64(value.into());
    }

    fn write_usize(&mut self, value: usize) {
        self.write_u64(value as u64);
    }

    fn write_u64(&mut self, value: u64) {
        const ODD: u128 = 0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835;
        let mixed = (self.0 ^ u128::from(value)).wrapping_mul(ODD);
        self.0 = (mixed ^ (mixed >> 61)).wrapping_add(1);
    }

    fn finish(&self) -> u64 {
        self.0 as u64
    }
}

#[test]
fn a_move_among_three_workers_loses_and_reorders_nothing() {
    let flows = [
        (0, WorkerId(0), 1),
        (0, WorkerId(1), 2),
        (0, WorkerId(2), 1),
    ];
    let world =
        ModelState::new(3, &[WorkerId(0)], &flows, 8).wishing(&[Wish::Move(0, WorkerId(1))]);
    let (states, dropped) = explore(world);
    assert_eq!(dropped, 0);
    assert!(states > 10_000, "{states}");
}

#[test]
fn moves_there_and_back_with_transactions() {
    let wishes = [
        Wish::Move(0, WorkerId(1)),
        Wish::Transaction(0, 1),
        Wish::Move(0, WorkerId(0)),
        Wish::Transaction(0, 2),
    ];
    let world = ModelState::new(
        2,
        &[WorkerId(0)],
        &[(0, WorkerId(0), 2), (0, WorkerId(1), 2)],
        8,
    )
    .wishing(&wishes);
    assert_eq!(explore(world).1, 0);
}

#[test]
fn moves_of_two_shards_overlap() {
    let wishes = [
        Wish::Move(0, WorkerId(1)),
        Wish::Move(1, WorkerId(0)),
        Wish::Move(0, WorkerId(0)),
    ];
    let flows = [
        (0, WorkerId(0), 1),
        (1, WorkerId(1), 1),
        (0, WorkerId(1), 1),
    ];
    let world = ModelState::new(2, &[WorkerId(0), WorkerId(1)], &flows, 8).wishing(&wishes);
    assert_eq!(explore(world).1, 0);
}

#[test]
fn full_rings_drop_packets_and_nothing_else() {
    let flows = [(0, WorkerId(0), 3), (0, WorkerId(1), 3)];
    let world = ModelState::new(2, &[WorkerId(0)], &flows, 1)
        .wishing(&[Wish::Move(0, WorkerId(1)), Wish::Move(0, WorkerId(0))]);
    assert!(explore(world).1 > 0);
}

#[test]
fn the_card_steers_a_shard_elsewhere() {
    for owner in 0..3 {
        let wishes = [Wish::Steer(0, WorkerId(1)), Wish::Transaction(0, 1)];
        let world =
            ModelState::new(3, &[WorkerId(owner)], &[(0, WorkerId(0), 3)], 8).wishing(&wishes);
        assert_eq!(explore(world).1, 0);
    }
}

#[test]
fn two_ports_steer_a_shard_elsewhere_one_after_the_other() {
    for owner in 0..3 {
        let wishes = [Wish::Steer(0, WorkerId(1)), Wish::Transaction(0, 1)];
        let flows = [(0, WorkerId(0), 2), (0, WorkerId(0), 2)];
        let world = ModelState::new(3, &[WorkerId(owner)], &flows, 8).wishing(&wishes);
        assert_eq!(explore(world).1, 0);
    }
}

#[test]
fn a_shard_moves_and_its_packets_follow() {
    let wishes = [
        Wish::Move(0, WorkerId(1)),
        Wish::Steer(0, WorkerId(1)),
        Wish::Move(0, WorkerId(0)),
        Wish::Steer(0, WorkerId(0)),
    ];
    let world = ModelState::new(2, &[WorkerId(0)], &[(0, WorkerId(0), 4)], 8).wishing(&wishes);
    assert_eq!(explore(world).1, 0);
}

/// More of everything than can be explored in full.
#[test]
fn many_moves_among_four_workers() {
    let flows: Vec<_> = (0..12)
        .map(|f| (f % 3, WorkerId((f % 4) as u8), 9))
        .collect();
    let mut wishes = vec![];
    for round in 1..6 {
        let shards = (0..3).map(|shard| Wish::Move(shard, WorkerId((shard as u8 + round) % 4)));
        wishes.extend(shards);
        wishes.push(Wish::Transaction(1, round));
    }
    let world =
        ModelState::new(4, &[WorkerId(0), WorkerId(1), WorkerId(2)], &flows, 64).wishing(&wishes);
    assert_eq!(wander(&world, 300), 0);
    let tight =
        ModelState::new(4, &[WorkerId(0), WorkerId(1), WorkerId(2)], &flows, 2).wishing(&wishes);
    assert!(wander(&tight, 300) > 0);
}

#[test]
fn moves_and_steering_by_turns() {
    let flows = [
        (0, WorkerId(0), 12),
        (0, WorkerId(0), 12),
        (1, WorkerId(2), 12),
    ];
    let wishes = [
        Wish::Move(0, WorkerId(1)),
        Wish::Steer(0, WorkerId(1)),
        Wish::Move(1, WorkerId(0)),
        Wish::Move(0, WorkerId(2)),
        Wish::Steer(1, WorkerId(0)),
        Wish::Steer(0, WorkerId(2)),
        Wish::Move(0, WorkerId(0)),
    ];
    let world = ModelState::new(3, &[WorkerId(0), WorkerId(2)], &flows, 64).wishing(&wishes);
    assert_eq!(wander(&world, 1_000), 0);
}

/// The check can fail: a worker that opens its door before the switch has come is found out.
#[test]
#[should_panic(expected = "tokens of a move that is over")]
fn without_switches_order_is_lost() {
    let mut world = ModelState::new(2, &[WorkerId(0)], &[(0, WorkerId(1), 2)], 8)
        .wishing(&[Wish::Move(0, WorkerId(1))]);
    let moves = &mut world.workers[1].moves;
    let at = moves.coming(ShardId(0));
    if let MovingShard::Coming { open, .. } = &mut moves.parts[at] {
        *open = 0b10;
    }
    explore(world);
}
