//! Sequence numbers that a database stores beside the core: whoever waits for them waits alone.

use std::cell::RefCell;
use std::rc::Rc;

use sluice_n1::{Cause, Downlink, RegistrationKind};
use sluice_sbi::Now;
use sluice_ue::UeState;
use sluice_wiring::{Record, Rejected, Storing};

use crate::world::TestNetwork;

/// What a database was asked to store, by number, and has not done.
type Asked = Rc<RefCell<Vec<(u64, Vec<Record>)>>>;

/// A world whose sequence numbers are stored when the test says so; whether others use them as well.
fn world(is_shared: bool) -> (TestNetwork, Asked) {
    let mut world = TestNetwork::new(&[1, 2]);
    world.register(1);
    world.assert_registered(1);
    if is_shared {
        world
            .core
            .udr_mut()
            .expect("its own")
            .share_sequence_numbers();
    }
    let asked = Asked::default();
    let (to, mut number) = (Rc::clone(&asked), 0);
    world
        .core
        .write_journal_with(Box::new(move |records: Vec<Record>| {
            let is_sqn =
                |one: &(usize, &(Vec<u8>, Option<Vec<u8>>))| one.1.0.starts_with(b"udr/sqn/");
            let places: Vec<usize> = records
                .iter()
                .enumerate()
                .filter(is_sqn)
                .map(|(at, _)| at)
                .collect();
            if places.is_empty() {
                return Storing::Done(Rejected::new());
            }
            number += 1;
            to.borrow_mut().push((number, records));
            Storing::Later(number, places)
        }));
    (world, asked)
}

/// A time that was before: numbers do not follow from it, and each has to be stored.
fn go_back(world: &mut TestNetwork) {
    world.now = Now {
        unix_s: world.now.unix_s - 1_000,
        ..world.now
    };
}

fn is_waiting(world: &TestNetwork) -> bool {
    world.ue(0).state() == UeState::Registering && world.ue(0).refused().is_none()
}

#[test]
fn a_ue_is_challenged_when_its_number_is_stored() {
    for is_shared in [false, true] {
        let (mut world, asked) = world(is_shared);
        go_back(&mut world);
        world.ue_mut(1).forget_keys();
        world.register(1);
        assert_eq!(asked.borrow().len(), 1, "{}", world.call_flow);
        let (number, _) = asked.borrow_mut().remove(0);
        assert_eq!(world.ue(1).state(), UeState::Registering);
        world
            .core
            .repository()
            .stored_for_good(world.now, number, &Rejected::new());
        world.run();
        world.assert_registered(1);
        assert_eq!(world.core.being_stored(), 0);
    }
}

#[test]
fn what_takes_too_long_is_told_by_a_core_alone_and_refused_where_others_use_it() {
    let (mut world, asked) = world(true);
    world.register(0);
    assert!(is_waiting(&world));
    // A registered UE comes and goes meanwhile.
    for _ in 0..3 {
        let nas = world.ue_mut(1).register(RegistrationKind::Mobility);
        world.connect(1, nas);
        world.assert_registered(1);
    }
    assert_eq!((asked.borrow().len(), world.core.being_stored()), (1, 1));
    while is_waiting(&world) {
        assert!(world.wait());
    }
    let congestion = Downlink::RegistrationReject(Cause::CONGESTION.into());
    assert_eq!(world.ue(0).refused(), Some(&congestion));
    assert_eq!(
        (
            world.core.repository().stored_late(),
            world.core.being_stored()
        ),
        (1, 0)
    );
    // Its answer is nobody's any more.
    let (number, _) = asked.borrow_mut().remove(0);
    world
        .core
        .repository()
        .stored_for_good(world.now, number, &Rejected::new());
    world.run();
    assert_eq!(world.ue(0).refused(), Some(&congestion));
    assert!(world.amf().procedures().is_empty());
}

#[test]
fn a_number_that_another_core_has_used_is_replaced_by_the_next_one() {
    let (mut world, asked) = world(true);
    world.register(0);
    let (number, kept) = asked.borrow_mut().remove(0);
    let place = kept
        .iter()
        .position(|(key, _)| key.starts_with(b"udr/sqn/"));
    let value = kept[place.expect("one")].1.clone().expect("a number");
    // A number far above it, with the difference to time that it has.
    let last = u64::from_be_bytes(value[..8].try_into().expect("eight")) + (1 << 20);
    let instead = [&last.to_be_bytes()[..], &value[8..16]].concat();
    let not_kept = vec![(place.expect("one"), Some(instead))];
    world
        .core
        .repository()
        .stored_for_good(world.now, number, &not_kept);
    world.run();
    assert!(is_waiting(&world));
    let (number, kept) = asked.borrow_mut().remove(0);
    let value = kept.iter().find(|(key, _)| key.starts_with(b"udr/sqn/"));
    let value = value
        .and_then(|(_, value)| value.clone())
        .expect("a number");
    assert!(u64::from_be_bytes(value[..8].try_into().expect("eight")) > last);
    assert_eq!(value[16..24], last.to_be_bytes());
    world
        .core
        .repository()
        .stored_for_good(world.now, number, &Rejected::new());
    world.run();
    world.assert_registered(0);
}
