//! Subscriptions to changes of a subscriber's data (Nudm_SDM of TS 29.503): who has subscribed is told, and nobody else,
//! whatever is lost or killed meanwhile.

use sluice_n1::SessionType;
use sluice_sbi::{DataChange, Nf, SdmData};

use crate::contexts::{gnb_comes_back, kill, stored_world};
use crate::harness::*;
use crate::world::{TestNetwork, supi};

const TO_AMF: &str = "UDM  -> AMF   Nudm_SDM_Notification Request (access and mobility)";
const TO_SMF: &str = "UDM  -> SMF   Nudm_SDM_Notification Request (session management)";

/// How many subscriptions to each kind of data there are.
fn known(world: &TestNetwork) -> (usize, usize) {
    let of = |data| {
        let all = world
            .core
            .udr()
            .expect("its own")
            .subscriptions_of(&supi(1));
        all.filter(|one| one.data == data).count()
    };
    (
        of(SdmData::AccessAndMobility),
        of(SdmData::SessionManagement),
    )
}

/// Whether AMF and SMF hear of a change.
fn are_told(world: &mut TestNetwork, change: DataChange) -> (bool, bool) {
    world.call_flow.0.clear();
    let now = world.now;
    world.core.repository().changed(now, &supi(1), change);
    world.run();
    let call_flow = world.call_flow.to_string();
    (call_flow.contains(TO_AMF), call_flow.contains(TO_SMF))
}

#[test]
fn amf_and_smf_subscribe_for_as_long_as_they_have_the_ue_and_its_sessions() {
    let mut world = world(&[1]);
    assert_eq!(known(&world), (1, 0));
    assert_eq!(
        are_told(&mut world, DataChange::SessionRates),
        (false, false)
    );
    establish(&mut world, 0, 5, &wanted(SessionType::Ipv4));
    world.call_flow.0.clear();
    establish(&mut world, 0, 7, &wanted(SessionType::Ipv4));
    let again = world.call_flow.to_string().contains("Nudm_SDM_Subscribe");
    assert!(!again, "one for all sessions in a data network");
    assert_eq!(known(&world), (1, 1));
    assert_eq!(
        are_told(&mut world, DataChange::SessionRates),
        (false, true)
    );
    for (session, left) in [(5, 1), (7, 0)] {
        let nas = world.ue_mut(0).release(session);
        world.say(0, nas);
        assert_eq!(known(&world), (1, left), "{}", world.call_flow);
    }
    assert_eq!(
        are_told(&mut world, DataChange::SessionRates),
        (false, false)
    );
    // A UE that is to register again subscribes anew.
    assert_eq!(are_told(&mut world, DataChange::Access), (true, false));
    assert_eq!(known(&world), (0, 0), "{}", world.call_flow);
    world.register(0);
    assert_eq!(known(&world), (1, 0));
    let nas = world.ue_mut(0).deregister(false, true).unwrap();
    world.say(0, nas);
    assert_eq!(known(&world), (0, 0));
    assert_eq!(are_told(&mut world, DataChange::Access), (false, false));
}

#[test]
fn a_session_that_is_set_up_again_keeps_the_subscription() {
    let mut world = world(&[1]);
    for _ in 0..2 {
        establish(&mut world, 0, 5, &wanted(SessionType::Ipv4));
        assert_eq!(known(&world), (1, 1), "{}", world.call_flow);
    }
    // One that is refused leaves none.
    upf(&mut world).all = Some((ESTABLISHMENT, Fate::Refused));
    establish(&mut world, 0, 5, &wanted(SessionType::Ipv4));
    assert_eq!(world.core.smf().unwrap().sessions(), 0);
    assert_eq!(known(&world), (1, 0), "{}", world.call_flow);
}

#[test]
fn a_registration_without_answers_of_the_repository_leaves_no_subscription() {
    let mut world = world(&[1]);
    let nas = world.ue_mut(0).deregister(false, true).unwrap();
    world.say(0, nas);
    world.core.lose(&[(Nf::Udr, Nf::Udm)]);
    world.register(0);
    pass(&mut world, 30);
    assert_eq!(world.amf().registered(), 0);
    assert_eq!(known(&world), (0, 0));
    world.core.lose(&[]);
    world.register(0);
    assert_eq!(known(&world), (1, 0), "{}", world.call_flow);
}

#[test]
fn subscriptions_are_there_after_the_core_was_killed() {
    let (mut world, memory) = stored_world(&[1], &[]);
    assert_eq!(known(&world), (1, 1));
    kill(&mut world, &memory, &[]);
    assert_eq!(known(&world), (1, 1));
    gnb_comes_back(&mut world);
    come_back(&mut world, 0);
    assert_eq!(
        are_told(&mut world, DataChange::SessionRates),
        (false, true)
    );
    assert_eq!(are_told(&mut world, DataChange::Access), (true, false));
    assert_eq!(known(&world), (0, 0), "{}", world.call_flow);
    assert_eq!(memory.keys(), ["core/start"]);
}
