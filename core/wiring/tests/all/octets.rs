//! Octets that no gNB or UE would send: nothing panics, and what was there stays.

use proptest::prelude::*;

use sluice_n1::RegistrationKind;

use crate::world::TestNetwork;

/// A registered and connected phone, and all octets that led to it.
fn world() -> TestNetwork {
    let mut world = TestNetwork::new(&[1, 2]);
    world.ue_mut(0).follow_on = true;
    world.register(0);
    world
}

fn changed(octets: &[u8], changes: &[(usize, u8)], length: usize) -> Vec<u8> {
    let mut octets = octets.to_vec();
    for (at, value) in changes {
        let at = at % octets.len();
        octets[at] = *value;
    }
    octets.truncate(length % (2 * octets.len()) + 1);
    octets
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn any_ngap_is_survived(
        which in any::<proptest::sample::Index>(),
        changes in proptest::collection::vec((any::<usize>(), any::<u8>()), 1..5),
        length in any::<usize>(),
    ) {
        let mut world = world();
        let octets = which.get(&world.transcript).clone();
        world.tell_amf(&changed(&octets, &changes, length));
        world.run();
        world.settle();
        // Another phone is served as ever.
        world.set_up();
        world.register(1);
        world.assert_registered(1);
        prop_assert_eq!(world.amf().counters().panics, 0);
    }

    #[test]
    fn any_nas_is_survived(
        octets in proptest::collection::vec(any::<u8>(), 0..60),
        changes in proptest::collection::vec((any::<usize>(), any::<u8>()), 0..5),
        length in any::<usize>(),
        is_initial in any::<bool>(),
        is_request in any::<bool>(),
    ) {
        let mut world = world();
        let nas = if is_request {
            let nas = world.ue_mut(1).register(RegistrationKind::Initial);
            changed(&nas, &changes, length)
        } else {
            [&[0x7e][..], &octets].concat()
        };
        if is_initial {
            world.connect(1, nas);
        } else {
            world.say(0, nas);
        }
        world.settle();
        world.register(1);
        world.assert_registered(1);
        // Nobody but the phone itself can deregister it.
        prop_assert_eq!(world.amf().registered(), 2);
        prop_assert_eq!(world.amf().counters().panics, 0);
    }
}
