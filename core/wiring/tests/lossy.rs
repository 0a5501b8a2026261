//! Functions of two hosts between which messages are lost, late and doubled: UEs that try again register, and nothing of
//! what failed is left behind.

#![forbid(unsafe_code)]

use sluice_sbi::Instant;
use sluice_testbed::apart::{self, Wiring};
use sluice_testbed::network::{TestNetwork, config, core};
use sluice_ue::UeState;

/// Carriers of messages to another host, or as services.
const CARRIERS: [Wiring; 3] = [Wiring::Ring, Wiring::Socket, Wiring::Http2];
/// Seeds of a run.
const SEEDS: u64 = 21;
/// Of a hundred messages so many are lost, as many are late, and as many come twice: a registration has 22.
const PERCENT: u64 = 2;
/// Times that a UE tries to register.
const TRIES: usize = 40;

/// All that waits for an answer that never comes gives up.
fn rest(world: &mut TestNetwork) {
    for _ in 0..1_000 {
        if !world.wait() {
            return;
        }
    }
    panic!("something is under way for ever");
}

/// Registers the UEs one after the other, each until it is registered, and tells how often one had to try.
fn register_all(world: &mut TestNetwork) -> usize {
    let mut tries = 0;
    for phone in 0..world.ues.len() {
        for _ in 0..TRIES {
            if world.ue(phone).state() == UeState::Registered {
                break;
            }
            tries += 1;
            world.ues[phone].at = None;
            world.register(phone);
            rest(world);
        }
        assert_eq!(
            world.ue(phone).state(),
            UeState::Registered,
            "{:?}\n{}",
            world.core.take_refused(),
            world.call_flow
        );
    }
    tries
}

#[test]
fn ues_register_although_messages_between_hosts_are_lost_late_and_doubled() {
    let mut tries = 0;
    for seed in 0..SEEDS {
        // Faults are the same by each carrier: a third of the seeds each.
        let carrier = CARRIERS[(seed % 3) as usize];
        let core = apart::by_lossy(carrier, PERCENT, seed, || core(config(), true));
        let mut world = TestNetwork::of(core, &[1, 2, 3]);
        world.set_up();
        tries += register_all(&mut world);
        rest(&mut world);
        let counters = world.core.remote_counters();
        assert!(counters.sent > 0 && counters.received > 0, "{counters:?}");
        assert!(world.amf().procedures().is_empty());
        assert_eq!(world.amf().counters().panics, 0);
        // Challenges that nobody answers any more are forgotten, also in the other host.
        world.now.instant = Instant(world.now.instant.0 + 120_000_000_000);
        world.core.time(world.now);
        world.run();
        assert_eq!(apart::authentications(&world.core), 0, "seed {seed}");
    }
    // Some messages of some procedures were lost, or this proves nothing.
    assert!(tries > 3 * SEEDS as usize, "{tries}");
}

#[test]
fn without_faults_each_ue_registers_at_once() {
    for carrier in CARRIERS {
        let core = apart::by_lossy(carrier, 0, 1, || core(config(), true));
        let mut world = TestNetwork::of(core, &[1, 2, 3]);
        world.set_up();
        assert_eq!(register_all(&mut world), 3);
        let counters = world.core.remote_counters();
        let failed = counters.refused + counters.late + counters.unanswered + counters.unreadable;
        assert_eq!(failed, 0, "{counters:?}");
    }
}
