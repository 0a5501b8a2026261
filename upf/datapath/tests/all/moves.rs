//! Shards move and are steered elsewhere while packets flow: none is lost, none overtakes another of
//! its UE and direction, on simulated ports with several queues and slow wires.
#![allow(clippy::unwrap_used)]

use crate::kit::many::{Ues, World};
use sluice_datapath::drop::DropReason;

/// Rounds of the soak; each is some hundred packets and up to four moves.
pub fn rounds() -> u64 {
    let wanted = std::env::var("SLUICE_SOAK_ROUNDS").ok();
    wanted.and_then(|n| n.parse().ok()).unwrap_or(3_000)
}

#[test]
fn shards_move_at_random_under_traffic() {
    for seed in 1..=2 {
        let mut world = World::new(3, Ues(48), seed);
        for _ in 0..rounds() {
            world.inject(24);
            let moves = world.lot(5);
            (0..moves).for_each(|_| world.move_one());
            world.some_turns(12);
        }
        world.settle();
        let (done, _) = world.kit.control.mover().progress();
        println!("seed {seed}: {done} moves");
        assert!(done > rounds(), "{done} moves");
        world.close_without_loss();
    }
}

#[test]
fn the_port_steers_shards_elsewhere_while_they_move() {
    for seed in 1..=2 {
        let mut world = World::new(3, Ues(32), seed);
        let mut steered = 0;
        for _ in 0..rounds() {
            // Now and then more than one poll takes.
            let packets = if world.lot(4) == 0 { 700 } else { 16 };
            world.inject(packets);
            if world.lot(4) == 0 {
                world.move_one();
            }
            steered += world.steer_on();
            world.some_turns(12);
        }
        while world.is_steering() {
            world.steer_on();
            world.some_turns(12);
        }
        world.settle();
        assert!(steered > rounds() / 40, "{steered} times steered");
        world.close_without_loss();
    }
}

#[test]
fn receive_queues_move_between_moves_of_shards() {
    for seed in 1..=2 {
        let mut world = World::new(3, Ues(32), seed);
        for _ in 0..rounds() {
            let packets = if world.lot(8) == 0 { 400 } else { 16 };
            world.inject(packets);
            match world.lot(4) {
                0 => world.requeue_one(),
                1 => world.move_one(),
                _ => {}
            }
            world.some_turns(12);
        }
        world.settle();
        let (done, _) = world.kit.control.mover().progress();
        assert!(done > rounds() / 4, "{done} moves");
        world.close_without_loss();
    }
}

#[test]
fn all_shards_go_to_one_worker_and_back() {
    let mut world = World::new(3, Ues(64), 7);
    for round in 0..6 {
        for shard in 0..4096 {
            let to = if round % 2 == 0 { 2 } else { (shard % 3) as u8 };
            world.want(shard, to);
        }
        while world.kit.control.mover().progress().1 > 0 {
            world.inject(8);
            world.some_turns(12);
        }
        let owned = world.kit.control.mover().owned();
        assert_eq!(owned[2] == 4096, round % 2 == 0, "{owned:?}");
    }
    world.settle();
    world.close_without_loss();
}

#[test]
fn what_waits_for_a_next_hop_moves_with_its_shard() {
    let mut world = World::new(2, Ues(4), 3);
    world.forget_server();
    world.inject(8);
    world.settle_for(20);
    let waiting = world.kit.control.ledger().held;
    assert!(waiting > 0);
    (0..4).for_each(|ue| world.move_ue(ue, 1));
    world.settle_for(20);
    assert_eq!(world.kit.control.ledger().held, waiting);
    world.find_server();
    world.settle();
    world.close_without_loss();
}

#[test]
fn a_worker_that_is_away_for_a_while_costs_no_packet() {
    let mut world = World::new(2, Ues(32), 11);
    world.requeue_all(1);
    world.settle();
    for _ in 0..4 {
        let before = world.kit.control.ledger();
        // Worker 0 has lost its CPU; half of all is for it, three times what a ring takes.
        for _ in 0..1_400 {
            world.inject(16);
            if world.lot(16) == 0 {
                world.move_one();
            }
            world.turn(1);
        }
        let held = world.kit.control.ledger().held - before.held;
        assert!(held > 8_000, "{held} on their way");
        world.settle();
    }
    world.close_without_loss();
}

#[test]
fn a_worker_that_never_wakes_fills_the_hold_and_no_more() {
    let mut world = World::new(2, Ues(8), 5);
    (0..8).for_each(|ue| world.move_ue(ue, 1));
    // Worker 0 sleeps: what worker 1 polls for it has to wait.
    for _ in 0..12_000 {
        world.inject(16);
        world.turn(1);
    }
    world.settle();
    let full = world.kit.dropped(DropReason::HandoverFull);
    assert!(full > 0);
    let full = full + world.kit.dropped(DropReason::TransmitFull);
    // What worker 0 itself did not poll is the ports' to count.
    let missed = world.kit.n3.stats().rx_missed + world.kit.n6.stats().rx_missed;
    world.close_in_order(full + missed);
}
