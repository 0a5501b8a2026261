//! AM policy associations of UEs with the PCF (TS 29.507; TS 23.502, 4.16.1 and 4.16.3): gNBs are told RFSP indexes, and a PCF
//! that is not there, or does not answer, holds up no registration.

use sluice_pcf::{AccessPolicy, Pcf, Subscribers};
use sluice_sbi::Nf;
use sluice_smf::Smf;

use crate::harness::*;
use crate::world::{self, TestNetwork};

/// The first of two UEs has RFSP index 7.
fn two() -> TestNetwork {
    let first = AccessPolicy {
        subscribers: vec![Subscribers::new("001010000000001").unwrap()],
        rfsp: 7,
    };
    let config = sluice_pcf::Config {
        access_policies: vec![first],
        ..Default::default()
    };
    let core = world::core(world::config(), true);
    let core = core.with_smf(Smf::new(smf_config()).unwrap());
    begin(core.with_pcf(Pcf::new(config).unwrap()), &[1, 2])
}

/// Associations that the PCF has.
fn associations(world: &TestNetwork) -> usize {
    let sizes = world.core.apart().pcf.as_ref().unwrap().sizes();
    let mut found = sizes.into_iter();
    found
        .find(|(what, _)| what.contains("AM policy"))
        .unwrap()
        .1
}

/// RFSP index that the gNB was told last.
fn told(world: &TestNetwork, phone: usize) -> Option<u16> {
    let context = world.gnb.context(at(world, phone)).unwrap();
    context.rfsp.map(|rfsp| rfsp.index())
}

fn leave(world: &mut TestNetwork, phone: usize) {
    let nas = world.ue_mut(phone).deregister(false, true).unwrap();
    world.say(phone, nas);
}

#[test]
fn gnbs_are_told_how_to_choose_cells_for_as_long_as_the_ue_is_registered() {
    let mut world = two();
    assert_eq!((told(&world, 0), told(&world, 1)), (Some(7), None));
    assert_eq!(associations(&world), 2);
    // One that comes back has the same, and nobody asks again.
    go_idle(&mut world, 0);
    world.call_flow.0.clear();
    come_back(&mut world, 0);
    assert_eq!(told(&world, 0), Some(7));
    assert!(!world.call_flow.to_string().contains("AMPolicyControl"));
    leave(&mut world, 0);
    let call_flow = world.call_flow.to_string();
    assert!(call_flow.contains("6     AMF  -> PCF   Npcf_AMPolicyControl_Delete Request"));
    assert_eq!(associations(&world), 1);
    world.register(0);
    assert_eq!((told(&world, 0), associations(&world)), (Some(7), 2));
}

#[test]
fn a_pcf_that_does_not_answer_holds_up_no_registration_and_what_it_made_is_replaced() {
    let mut world = two();
    leave(&mut world, 0);
    assert_eq!(associations(&world), 1);
    for ways in [[(Nf::Amf, Nf::Pcf)], [(Nf::Pcf, Nf::Amf)]] {
        world.core.lose(&ways);
        world.register(0);
        pass(&mut world, 5);
        world.assert_registered(0);
        assert_eq!(told(&world, 0), None);
        world.core.lose(&[]);
        leave(&mut world, 0);
    }
    // The PCF has made one of which nobody knows: the next one takes its place.
    assert_eq!(associations(&world), 2);
    world.register(0);
    assert_eq!((told(&world, 0), associations(&world)), (Some(7), 2));
    leave(&mut world, 0);
    leave(&mut world, 1);
    assert_eq!(associations(&world), 0);
}
