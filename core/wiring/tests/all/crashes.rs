//! What crashed or confused other cores, as their users reported it.

use sluice_n1::{RegistrationKind, Uplink};
use sluice_security::SecurityCapability;
use sluice_ue::{FromGnb, UeState};

use crate::world::{TestNetwork, TestUe, supi, ue};

/// Adds subscribers with the keys that all of these have.
fn subscribe(world: &mut TestNetwork, numbers: std::ops::RangeInclusive<u32>) {
    for number in numbers {
        let subscriber = sluice_udr::Subscriber {
            credentials: sluice_security::Credentials::milenage(
                crate::world::k(),
                crate::world::opc(),
            ),
            sqn: sluice_security::Sqn::default(),
            ambr_bps: (u64::from(number), 1),
            slices: vec![(crate::world::slice(1), true)],
            networks: Vec::new(),
        };
        assert!(
            world
                .core
                .udr_mut()
                .expect("its own")
                .insert(supi(number), subscriber)
        );
        world.ues.push(TestUe {
            ue: ue(number),
            at: None,
        });
    }
}

#[test]
fn registrations_that_interleave_do_not_mix() {
    let mut world = TestNetwork::new(&[]);
    subscribe(&mut world, 1..=200);
    // All first messages are there before the first answer is heard.
    for phone in 0..200 {
        world.ue_mut(phone).follow_on = true;
        let nas = world.ue_mut(phone).register(RegistrationKind::Initial);
        let (ran, octets) = world.gnb.connect(nas, None);
        world.ues[phone].at = Some(ran);
        world.tell_amf(&octets);
    }
    assert_eq!(world.amf().procedures().len(), 200);
    world.run();
    let mut names: Vec<_> = (0..200)
        .map(|phone| {
            world.assert_registered(phone);
            let at = world.ues[phone].at.expect("connected");
            let context = world.gnb.context(at).expect("a context");
            // Each has its own keys and its own subscription.
            assert_eq!(Some(&context.key), world.ue(phone).kgnb().as_ref());
            assert_eq!(context.ambr_bps, Some((phone as u64 + 1, 1)));
            world.ue(phone).guti().expect("a name").tmsi.0
        })
        .collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!((names.len(), world.amf().registered()), (200, 200));
}

#[test]
fn many_refusals_leave_nothing_behind() {
    let mut world = TestNetwork::new(&[99]);
    for _ in 0..500 {
        world.register(0);
        assert!(world.ue(0).refused().is_some());
    }
    let amf = world.amf();
    assert_eq!((amf.registered(), amf.connected()), (0, 0));
    assert_eq!(amf.counters().refusals, 500);
    assert!(amf.procedures().is_empty() && world.core.stored().next().is_none());
}

#[test]
fn a_phone_that_registers_again_and_again_is_one_phone() {
    let mut world = TestNetwork::new(&[1]);
    for round in 0..300 {
        match round % 3 {
            0 => world.ue_mut(0).forget_keys(),
            1 => world.ue_mut(0).follow_on = true,
            _ => world.ue_mut(0).follow_on = false,
        }
        let nas = world.ue_mut(0).register(RegistrationKind::Initial);
        world.connect(0, nas);
        world.assert_registered(0);
        assert_eq!(world.amf().registered(), 1);
        if round % 7 == 0 {
            let is_connected = world.ues[0].at.is_some();
            let nas = world
                .ue_mut(0)
                .deregister(false, is_connected)
                .expect("keys");
            if is_connected {
                world.say(0, nas)
            } else {
                world.connect(0, nas)
            }
            assert_eq!(world.ue(0).state(), UeState::Deregistered);
            assert_eq!(world.amf().registered(), 0);
        }
    }
    world.settle();
    assert!(world.amf().connected() <= 1);
}

#[test]
fn registration_complete_before_the_authentication_is_not_taken() {
    let mut world = TestNetwork::new(&[1]);
    let nas = world.ue_mut(0).register(RegistrationKind::Initial);
    world.ue_mut(0).behaviour.silent = true;
    world.connect(0, nas);
    for message in [
        Uplink::RegistrationComplete,
        Uplink::SecurityModeComplete {
            imeisv: None,
            container: None,
        },
        Uplink::ConfigurationUpdateComplete,
    ] {
        world.say(0, message.encode());
    }
    assert_eq!(world.amf().registered(), 0);
    assert_eq!(world.amf().procedures(), ["9b"]);
    assert_eq!(world.amf().counters().unprotected, 3);
}

#[test]
fn a_phone_with_the_first_algorithms_alone_registers() {
    let mut world = TestNetwork::new(&[1]);
    // EA1 and IA1, beside the null ones.
    world.ue_mut(0).capability = SecurityCapability::from_octets(&[0xc0, 0xc0]).expect("two");
    world.register(0);
    world.assert_registered(0);
}

/// What comes for a connection that was just released is answered, and harms no one.
#[test]
fn messages_that_cross_a_release_are_left_alone() {
    let mut world = TestNetwork::new(&[1]);
    world.ue_mut(0).follow_on = true;
    world.register(0);
    let at = world.ues[0].at.expect("connected");
    let late = world
        .ue_mut(0)
        .protect(&Uplink::ConfigurationUpdateComplete);
    let late = world.gnb.uplink(at, late).expect("known");
    let ask = world.gnb.ask_release(at).expect("known");
    world.tell_amf(&ask);
    world.tell_amf(&late);
    world.tell_amf(&ask);
    world.run();
    world.settle();
    world.tell_amf(&late);
    world.run();
    assert_eq!((world.amf().connected(), world.amf().registered()), (0, 1));
    assert_eq!(world.amf().counters().panics, 0);
    assert!(matches!(
        world.gnb.receive(&[]).as_slice(),
        [] | [FromGnb::ToAmf(_)]
    ));
}
