//! More UEs than can be served come at once: who is known is served, the others are shed and counted, and nothing
//! of them is left.

use std::collections::BTreeMap;

use sluice_amf::{Bounds, Config};
use sluice_n1::RegistrationKind;
use sluice_n2::{
    Cause as N2Cause, FromAmf, Overload, OverloadAction, RanUeId, UeContextReleaseCommand,
};
use sluice_sbi::Followed;
use sluice_testbed::apart::exchange;
use sluice_ue::FromGnb;

use crate::world::{GNB, TestNetwork, TestUe, config, core, subscriber, supi, ue};

/// Bounds that a few UEs reach.
fn bounded(of_gnb: usize, in_all: usize) -> Config {
    Config {
        unauthenticated: Bounds { of_gnb, in_all },
        ..config()
    }
}

/// A world with two UEs, and subscribers enough for all that come besides.
fn world(of_gnb: usize, in_all: usize) -> TestNetwork {
    let mut core = core(bounded(of_gnb, in_all), true);
    for number in 100..5_000 {
        assert!(
            core.udr_mut()
                .expect("its own")
                .insert(supi(number), subscriber())
        );
    }
    let mut world = TestNetwork::of(core, &[1, 2]);
    world.set_up();
    world
}

/// A UE that begins to register and says no more; what the AMF says then.
fn stranger(world: &mut TestNetwork, number: u32) -> (RanUeId, Vec<FromAmf>) {
    let mut ue = ue(number);
    let nas = ue.register(RegistrationKind::Initial);
    let (ran, octets) = world.gnb.connect(nas, None);
    world.core.n2(world.now, world.at, 1, &octets);
    exchange(&mut world.core, world.now);
    let said = world.core.take_to_ran();
    let said = said.iter().map(|one| FromAmf::decode(&one.octets));
    (ran, said.map(|one| one.expect("NGAP")).collect())
}

fn sizes(world: &TestNetwork) -> BTreeMap<&'static str, usize> {
    world.amf().sizes().into_iter().collect()
}

fn kept_away(percent: u8) -> Option<Overload> {
    Some(Overload {
        action: OverloadAction::RejectSignalling,
        percent: Some(percent),
    })
}

#[test]
fn beyond_the_bound_of_a_gnb_a_ue_is_released_and_nothing_of_it_is_left() {
    let mut world = world(3, 5);
    for number in 100..103 {
        let (_, said) = stranger(&mut world, number);
        assert!(matches!(said[..], [FromAmf::DownlinkNasTransport(_)]));
    }
    let before = sizes(&world);
    assert_eq!(before["AMF: unauthenticated UEs"], 3);
    let (ran, said) = stranger(&mut world, 103);
    match &said[..] {
        [
            FromAmf::UeContextReleaseCommand(UeContextReleaseCommand {
                ue: (_, named),
                cause,
            }),
        ] => {
            assert_eq!(*named, Some(ran));
            assert_eq!(*cause, N2Cause::CONTROL_PROCESSING_OVERLOAD);
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(sizes(&world), before);
    let counters = world.amf().counters();
    let shed = (
        counters.shed_of_gnb,
        counters.shed_in_all,
        counters.unanswered,
    );
    assert_eq!(shed, (1, 0, 0));
    let told = world.core.take_refused();
    assert!(
        told.iter()
            .any(|one| one.remedy.contains("unauthenticated_of_gnb")),
        "{told:?}"
    );
    // They do not answer, and there is room again.
    world.settle();
    assert_eq!(world.amf().unauthenticated(), 0);
    world.register(0);
    world.assert_registered(0);
    assert_eq!(world.amf().unauthenticated(), 0);
}

#[test]
fn all_gnbs_have_a_bound_together() {
    let mut world = world(2, 3);
    let other = sluice_sbi::AssociationId(8);
    let mut second = crate::world::setup(crate::world::tai(), &[crate::world::slice(1)]);
    second.gnb.id = 2;
    let second = sluice_ue::Gnb::new(second, crate::world::tai()).setup();
    world.core.n2(world.now, other, 0, &second);
    world.run();
    world.elsewhere.clear();
    for (at, number) in [(GNB, 100), (GNB, 101), (other, 102)] {
        world.at = at;
        stranger(&mut world, number);
    }
    stranger(&mut world, 103);
    let counters = world.amf().counters();
    assert_eq!((counters.shed_of_gnb, counters.shed_in_all), (0, 1));
    // A gNB that is gone takes its UEs with it.
    world.core.association_lost(world.now, GNB);
    assert_eq!(world.amf().unauthenticated(), 1);
}

#[test]
fn under_overload_who_is_beyond_the_bound_is_left_unanswered() {
    for followed in [Followed::Nobody, Followed::One(supi(1))] {
        who_is_beyond_the_bound_is_left_unanswered(followed);
    }
}

fn who_is_beyond_the_bound_is_left_unanswered(followed: Followed) {
    let mut world = world(1, 1);
    world.core.follow_ues(followed);
    world.core.mobility().feel_load(world.now, kept_away(50));
    world.run();
    assert_eq!(world.gnb.overload, kept_away(50));
    stranger(&mut world, 100);
    let before = sizes(&world);
    stranger(&mut world, 101);
    world.core.take_call_flow();
    for number in 102..200 {
        let (_, said) = stranger(&mut world, number);
        assert_eq!(said, []);
    }
    assert_eq!(sizes(&world), before);
    // Nothing was made of them, beyond the first one of which operators are told.
    assert_eq!(world.core.take_call_flow().0, []);
    let counters = world.amf().counters();
    assert_eq!((counters.shed_of_gnb, counters.unanswered), (99, 99));
    // Operators are told once in a while, and refusals are something else.
    assert_eq!(world.core.take_refused().len(), 1);
    assert_eq!(counters.refusals, 0);
}

#[test]
fn an_operator_counts_more_than_load() {
    let mut world = world(8, 8);
    world.core.mobility().feel_load(world.now, kept_away(50));
    world.run();
    world.core.mobility().overload(world.now, None);
    world.run();
    assert_eq!(world.gnb.overload, None);
    // There is still too much to do.
    world.core.mobility().feel_load(world.now, kept_away(70));
    world.run();
    assert_eq!(world.gnb.overload, None);
    world.core.mobility().feel_load(world.now, None);
    world.core.mobility().feel_load(world.now, kept_away(25));
    world.run();
    assert_eq!(world.gnb.overload, kept_away(25));
    world.core.mobility().overload(world.now, kept_away(99));
    world.core.mobility().feel_load(world.now, None);
    world.run();
    assert_eq!(world.gnb.overload, kept_away(99));
}

/// Three times as many as can be served, for as long as authentications last: the core serves what its bound lets it.
#[test]
fn a_storm_of_strangers_keeps_no_registered_ue_from_service() {
    let mut world = world(20, 20);
    for phone in 0..2 {
        world.register(phone);
    }
    assert_eq!(world.amf().connected(), 0);
    world.core.mobility().feel_load(world.now, kept_away(70));
    world.run();
    let mut most = 0;
    for round in 0..60_u32 {
        for number in 0..60 {
            stranger(&mut world, 1_000 + round * 60 + number);
        }
        most = most.max(world.amf().unauthenticated());
        let phone = (round % 2) as usize;
        let services = world.ue(phone).services();
        let nas = world.ue_mut(phone).request_service().expect("a name");
        world.connect(phone, nas);
        assert_eq!(world.ue(phone).services(), services + 1, "round {round}");
        let at = world.ues[phone].at.expect("connected");
        let idle = world.gnb.ask_release(at).expect("known");
        world.tell_amf(&idle);
        world.run();
        // A registration whose MAC is right is served, too.
        let nas = world.ue_mut(phone).register(RegistrationKind::Mobility);
        world.connect(phone, nas);
        world.assert_registered(phone);
        world.now.instant = world.now.instant.plus_ms(1_000);
        world.core.time(world.now);
        world.core.take_to_ran();
    }
    assert_eq!(most, 20);
    let counters = world.amf().counters();
    let shed = counters.shed_of_gnb + counters.shed_in_all;
    assert_eq!(counters.unanswered, shed);
    // 3,600 came, 20 at a time, each for the half minute that a challenge is repeated.
    assert!((3_500..3_600).contains(&shed), "{shed}");
    world.core.mobility().feel_load(world.now, None);
    world.settle();
    // What the home network would still have confirmed is forgotten after a minute, when it challenges another UE.
    world.now.instant = world.now.instant.plus_ms(61_000);
    world.ue_mut(0).forget_keys();
    world.register(0);
    world.assert_registered(0);
    assert_eq!(world.core.authentications(), 0);
    for (what, size) in world.amf().sizes() {
        let left = match what {
            "AMF: UEs" | "AMF: UEs by name" | "AMF: UEs by subscriber" | "AMF: idle UEs" => 2,
            _ => 0,
        };
        assert_eq!(size, left, "{what}");
    }
}

/// What a gNB says when it is told to release a UE of which it knows no name of the AMF's.
#[test]
fn a_gnb_releases_who_was_shed() {
    let mut world = world(1, 1);
    stranger(&mut world, 100);
    let mut ue = ue(101);
    let nas = ue.register(RegistrationKind::Initial);
    let (ran, octets) = world.gnb.connect(nas, None);
    world.ues.push(TestUe { ue, at: Some(ran) });
    world.core.n2(world.now, world.at, 1, &octets);
    let said = world.core.take_to_ran();
    let done: Vec<_> = said
        .iter()
        .flat_map(|one| world.gnb.receive(&one.octets))
        .collect();
    assert!(
        done.iter()
            .any(|one| matches!(one, FromGnb::Released(at) if *at == ran)),
        "{done:?}"
    );
    for one in done {
        if let FromGnb::ToAmf(octets) = one {
            world.tell_amf(&octets);
        }
    }
    // Its answer names nobody, and nothing is said to it.
    assert!(world.core.take_to_ran().is_empty());
    assert_eq!(world.amf().counters().unexpected, 0);
}
