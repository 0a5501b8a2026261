//! Wirings beside each other: gNBs and UPFs get the same octets in each step of what UEs do, by rings, sockets and services
//! over HTTP. Identities, call flow and what is stored may differ; the tests of these say how.

mod services;

use std::any::Any;
use std::cell::RefCell;
use std::rc::Rc;

use sluice_n1::SessionType;
use sluice_testbed::apart::{self, Wiring};
use sluice_testbed::flows;

use crate::flows::voice;
use crate::harness::*;
use crate::world::{self, TestNetwork, supi};

/// A UPF whose messages are written down, those to it as well.
struct Noted(Box<dyn world::Upf>, Rc<RefCell<Vec<Vec<u8>>>>);

impl world::Upf for Noted {
    fn take(&mut self, octets: &[u8]) -> Vec<Vec<u8>> {
        let answers = self.0.take(octets);
        let mut noted = self.1.borrow_mut();
        noted.push(octets.to_vec());
        noted.extend(answers.iter().cloned());
        answers
    }

    fn as_any(&mut self) -> &mut dyn Any {
        self.0.as_any()
    }
}

type Step = (&'static str, fn(&mut TestNetwork));

/// Steps of two UEs.
const STEPS: [Step; 9] = [
    ("the beginning", |_| {}),
    ("a session", |world| {
        establish(world, 0, 5, &wanted(SessionType::Ipv4));
    }),
    ("a session of another UE", |world| {
        establish(world, 1, 6, &wanted(SessionType::Ipv4v6));
    }),
    ("a flow", |world| {
        let (core, now) = (&mut world.core, world.now);
        flows::start(core, now, &supi(1), Some(5), voice(64_000)).unwrap();
    }),
    ("the end of it", |world| {
        let now = world.now;
        let stopped = world.core.flows().stop(now, &supi(1), Some(5), "voice");
        stopped.unwrap();
    }),
    ("an idle UE", |world| go_idle(world, 0)),
    ("a packet for it", |world| {
        let ue = address(world, 0, 5);
        goes_down(world, ue);
    }),
    ("the end of a session", |world| {
        let nas = world.ue_mut(1).release(6);
        world.say(1, nas);
    }),
    ("the end", |world| {
        let nas = world.ue_mut(0).deregister(false, true).unwrap();
        world.say(0, nas);
    }),
];

/// Octets on N2 and N4 of each step. Procedures that do not wait for each other may send in another order.
fn octets() -> Vec<(&'static str, Vec<Vec<u8>>)> {
    let mut world = world(&[1, 2]);
    let noted = Rc::new(RefCell::new(Vec::new()));
    let upf = world.upf.take().unwrap();
    world.upf = Some(Box::new(Noted(upf, Rc::clone(&noted))));
    let step = |(name, act): &Step| {
        act(&mut world);
        world.run();
        let mut octets = std::mem::take(&mut world.transcript);
        octets.append(&mut noted.borrow_mut());
        octets.sort();
        (*name, octets)
    };
    STEPS.iter().map(step).collect()
}

#[test]
fn gnbs_and_upfs_get_the_same_octets_by_each_wiring() {
    let by_rings = apart::by(Wiring::Ring, octets);
    for (name, octets) in &by_rings {
        assert!(octets.len() > 1, "{name}");
    }
    for wiring in [Wiring::Socket, Wiring::Http2] {
        let others = apart::by(wiring, octets);
        for ((name, expected), (_, octets)) in by_rings.iter().zip(&others) {
            assert_eq!(octets, expected, "{name}, {wiring:?}");
        }
    }
}
