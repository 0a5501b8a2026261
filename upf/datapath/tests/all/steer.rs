//! Ports that steer: what comes goes straight to the owner of its shard, and does so again after
//! moves; none is lost and none overtakes another of its UE and direction meanwhile.
#![allow(clippy::unwrap_used)]

use crate::kit::many::{Ues, World};
use crate::kit::{INTERNET, pool};
use sluice_datapath::limits::STEERED_GROUP_BITS;
use sluice_datapath::migration::port_steering::Steerer;
use sluice_port::steer::{Method, Steering, Traffic};
use sluice_port_sim::{SimPort, SimPortConfig};

/// A port that takes time for a change.
fn port(name: &str, workers: u16) -> SimPortConfig {
    World::port(name, workers)
}

fn traffic(world: &World) -> [[Traffic; 1]; 2] {
    let layout = &world.kit.layout;
    [
        [layout.tunnels(None)],
        [layout.pools(INTERNET, None).next().unwrap()],
    ]
}

fn steerer(world: &mut World, bits: &[u32]) -> Steerer<SimPort> {
    let traffic = traffic(world);
    let ports = [world.kit.n3.clone(), world.kit.n6.clone()];
    let ports = ports.into_iter().zip(&traffic);
    let steerer = Steerer::new(
        ports
            .map(|(port, traffic)| Steering::probe(port, traffic, bits, Method::ALL))
            .collect(),
    );
    // The first rules are there before the first packet.
    world.kit.now_ns += 10_000;
    world.kit.net.advance_to(world.kit.now_ns);
    steerer
}

fn methods(steerer: &Steerer<SimPort>) -> Vec<Method> {
    steerer
        .ports()
        .iter()
        .map(|port| port.steering().method())
        .collect()
}

fn handed_over(world: &World) -> u64 {
    let stats = world.kit.control.stats().iter();
    stats.map(|s| s.handed_out.get()).sum()
}

/// Turns until nothing moves and every group comes to its owner.
fn rest(world: &mut World, steerer: &mut Steerer<SimPort>) {
    for quiet in 0..10_000 {
        world.some_turns(12);
        let steps = steerer.turn(&mut world.kit.control);
        let left = world.kit.control.mover().progress().1;
        if quiet > 50 && steps + left == 0 {
            return;
        }
    }
    panic!("steering does not come to rest");
}

/// Packets of all UEs, of which none is handed over.
fn goes_straight(world: &mut World) {
    world.settle();
    let before = handed_over(world);
    for _ in 0..40 {
        world.inject(24);
        world.some_turns(12);
    }
    world.settle();
    assert_eq!(handed_over(world), before);
}

/// Rounds of the soak: some turns, packets, and now and then a move.
fn rounds() -> u64 {
    let wanted = std::env::var("SLUICE_SOAK_ROUNDS").ok();
    wanted.and_then(|n| n.parse().ok()).unwrap_or(1_800)
}

/// The whole chain, while shards, queues and the number of workers change.
fn moves_under_traffic(workers: u16, config: impl Fn(&str) -> SimPortConfig, expected: Method) {
    let ports = [config("n3"), config("n6")];
    let mut world = World::with_ports(workers, Ues(48), 11, ports);
    let mut steerer = steerer(&mut world, &STEERED_GROUP_BITS);
    assert_eq!(methods(&steerer), [expected; 2]);
    goes_straight(&mut world);
    for round in 0..rounds() {
        match round % 300 {
            0 => {
                let active = active(workers, round / 300 % 2 == 1);
                world.kit.control.spread(&active);
            }
            150 => world.requeue_one(),
            // Whole groups, and single shards.
            _ if world.lot(30) == 0 => world.move_group(),
            _ if world.lot(30) == 0 => world.move_one(),
            _ => {}
        }
        // A port takes some turns for a change: packets come in between.
        let packets = if world.lot(6) == 0 { 60 } else { 3 };
        for _ in 0..8 {
            world.inject(packets);
            let turns = 1 + world.lot(3);
            world.some_turns(turns as u32);
            steerer.turn(&mut world.kit.control);
        }
    }
    world.kit.control.spread(&active(workers, true));
    rest(&mut world, &mut steerer);
    world.settle();
    rest(&mut world, &mut steerer);
    let ports = steerer.ports();
    assert!(ports.iter().all(|port| port.is_fixed(32).is_none()));
    let (done, left) = world.kit.control.resteers();
    println!("{workers} workers, {expected:?}: {done} changes of steering");
    assert!(
        done > rounds() / 30 && left == 0,
        "{done} done, {left} left"
    );
    let changes = steerer.ports().iter().map(|port| port.changes());
    assert_eq!(changes.sum::<u64>(), done);
    world.close_without_loss();
}

fn active(workers: u16, all: bool) -> Vec<bool> {
    (0..workers).map(|worker| all || worker != 1).collect()
}

#[test]
fn flow_rules_follow_their_shards() {
    for workers in [2, 3] {
        moves_under_traffic(workers, |name| port(name, workers), Method::FlowRules);
    }
}

#[test]
fn a_hash_of_the_ue_s_address_follows_too_where_rules_are_refused() {
    let config = |name: &str| SimPortConfig {
        flow_rules_max: 3,
        ..port(name, 4)
    };
    moves_under_traffic(4, config, Method::Hash);
}

#[test]
fn after_a_whole_group_has_moved_its_packets_go_straight_again() {
    let mut world = World::with_ports(3, Ues(48), 5, [port("n3", 3), port("n6", 3)]);
    let mut steerer = steerer(&mut world, &STEERED_GROUP_BITS);
    for _ in 0..10 {
        world.move_group();
        rest(&mut world, &mut steerer);
        goes_straight(&mut world);
    }
    assert!(world.kit.control.resteers().0 >= 2);
    world.close_without_loss();
}

#[test]
fn a_queue_that_is_never_found_empty_is_drained_all_the_same() {
    let mut world = World::with_ports(2, Ues(48), 7, [port("n3", 2), port("n6", 2)]);
    let mut steerer = steerer(&mut world, &STEERED_GROUP_BITS);
    let mut longest = 0;
    for _ in 0..10 {
        world.move_group();
        let mut turns = 0;
        while turns == 0 || world.kit.control.mover().progress().1 > 0 || turns < 20 {
            world.inject(24);
            world.some_turns(1);
            steerer.turn(&mut world.kit.control);
            turns += 1;
            assert!(turns < 10_000, "a change does not end");
        }
        longest = longest.max(turns);
    }
    let (done, left) = world.kit.control.resteers();
    assert!(done >= 2 && left == 0, "{done} done, {left} left");
    assert!(
        longest < 100,
        "{longest} turns, as if the queue had to be filled"
    );
    world.close_without_loss();
}

#[test]
fn with_room_for_fewer_rules_groups_are_larger() {
    let config = |name: &str| SimPortConfig {
        flow_rules_max: 150,
        ..port(name, 2)
    };
    let mut world = World::with_ports(2, Ues(16), 3, [config("n3"), config("n6")]);
    let steerer = steerer(&mut world, &STEERED_GROUP_BITS);
    for port in steerer.ports().iter().map(|port| port.steering()) {
        assert_eq!((port.method(), port.group_bits()), (Method::FlowRules, 7));
    }
    goes_straight(&mut world);
    world.close_without_loss();
}

#[test]
fn what_a_port_refuses_is_told_and_left_to_software() {
    let config = |name: &str| SimPortConfig {
        flow_rules_max: 0,
        hash_is_fixed: true,
        ..port(name, 3)
    };
    let mut world = World::with_ports(3, Ues(16), 3, [config("n3"), config("n6")]);
    let mut steerer = steerer(&mut world, &STEERED_GROUP_BITS);
    for port in steerer.ports().iter().map(|port| port.steering()) {
        assert_eq!(port.method(), Method::Software);
        let refused: Vec<String> = port
            .refused()
            .iter()
            .map(|(_, why)| why.to_string())
            .collect();
        assert_eq!(
            refused,
            [
                "no room for a further flow rule",
                "the hash cannot be changed"
            ]
        );
    }
    for _ in 0..200 {
        world.inject(24);
        world.move_group();
        world.some_turns(12);
        assert_eq!(steerer.turn(&mut world.kit.control), 0);
    }
    world.settle();
    assert!(handed_over(&world) > 0);
    world.close_without_loss();
}

#[test]
fn a_rule_that_the_port_cannot_replace_leaves_its_group_to_software() {
    // Room for the rules, and for not one more: none can be added before the old one goes.
    let config = |name: &str| SimPortConfig {
        flow_rules_max: 256,
        ..port(name, 2)
    };
    let mut world = World::with_ports(2, Ues(16), 3, [config("n3"), config("n6")]);
    let mut steerer = steerer(&mut world, &STEERED_GROUP_BITS[..1]);
    for port in steerer.ports().iter().map(|port| port.steering()) {
        assert_eq!(port.method(), Method::FlowRules);
        let why = port.is_fixed().unwrap().to_string();
        assert_eq!(why, "no room for a further flow rule");
    }
    goes_straight(&mut world);
    for ue in 0..4 {
        world.move_group_of(ue, 0);
        world.move_group_of(ue + 4, 1);
    }
    rest(&mut world, &mut steerer);
    assert_eq!(world.kit.control.resteers(), (0, 0));
    world.inject(400);
    world.settle();
    assert!(handed_over(&world) > 0);
    world.close_without_loss();
}

#[test]
fn no_rule_is_for_addresses_outside_the_pools_or_teids_of_others() {
    let world = World::with_ports(2, Ues(1), 3, [port("n3", 2), port("n6", 2)]);
    let [[tunnels], [pool_]] = traffic(&world);
    assert_eq!((tunnels.value, tunnels.mask), (1 << 31, 1 << 31));
    assert_eq!(pool_.value, u32::from(pool().base));
    assert_eq!(pool_.mask, 0xffff_0000);
    world.close_without_loss();
}
