//! SMFs tell the UDM which PDU sessions they have (Nudm_UECM of TS 29.503): for as long as a session is there, whatever
//! gets lost, and it is how the UDM knows whom to tell.

use sluice_n1::SessionType;
use sluice_sbi::context_store::{Changes, Contexts};
use sluice_sbi::{DataChange, Nf};

use crate::contexts::{assert_nobody_noticed, gnb_comes_back, kill, stored_world};
use crate::harness::*;
use crate::reconciliation::hear;
use crate::world::{TestNetwork, dnn, plmn, slice, supi};

/// Sessions of which the UDM knows the SMF.
fn known(world: &TestNetwork) -> Vec<u8> {
    let udr = world.core.udr().expect("its own");
    let ids = (0..=u8::MAX).filter(|session| udr.smf_of(&supi(1), *session).is_some());
    ids.collect()
}

/// A UE whose session waits for the UPF's last answer, which is given.
fn almost_there() -> (TestNetwork, Vec<Vec<u8>>) {
    let mut world = world(&[1]);
    upf(&mut world).all = Some((MODIFICATION, Fate::Late));
    establish(&mut world, 0, 5, &wanted(SessionType::Ipv4));
    upf(&mut world).all = None;
    assert!(known(&world).is_empty(), "{}", world.call_flow);
    let kept = std::mem::take(&mut upf(&mut world).kept);
    (world, kept)
}

#[test]
fn the_udm_knows_who_has_a_session_until_it_is_released() {
    let mut world = world(&[1]);
    establish(&mut world, 0, 5, &wanted(SessionType::Ipv4));
    establish(&mut world, 0, 7, &wanted(SessionType::Ipv6));
    assert_eq!(known(&world), [5, 7]);
    let one = *world
        .core
        .udr()
        .expect("its own")
        .smf_of(&supi(1), 5)
        .unwrap();
    assert_eq!(
        (one.slice, one.dnn, one.plmn),
        (slice(1), dnn("internet"), plmn())
    );
    let mut smfs = world.core.nrf().unwrap().profiles();
    assert!(smfs.any(|profile| profile.instance() == one.smf));
    drop(smfs);
    // One that is idle and comes back is registered already.
    go_idle(&mut world, 0);
    world.ue_mut(0).sessions_mut().set_data(1 << 5);
    world.call_flow.0.clear();
    come_back(&mut world, 0);
    assert!(goes_up(&mut world, 0, 5));
    assert!(!world.call_flow.to_string().contains("(SMF)"));
    assert_eq!(known(&world), [5, 7]);
    let nas = world.ue_mut(0).release(5);
    world.say(0, nas);
    assert_eq!(known(&world), [7]);
    let nas = world.ue_mut(0).deregister(false, true).unwrap();
    world.say(0, nas);
    assert!(known(&world).is_empty());
}

#[test]
fn a_session_that_is_set_up_again_is_another_ones_and_known_until_its_end() {
    let mut world = world(&[1]);
    establish(&mut world, 0, 5, &wanted(SessionType::Ipv4));
    // The UPF is slow to delete the one before.
    upf(&mut world).next = Some((DELETION, 0, Fate::Late));
    establish(&mut world, 0, 5, &wanted(SessionType::Ipv4));
    assert_eq!(known(&world), [5]);
    let kept = std::mem::take(&mut upf(&mut world).kept);
    hear(&mut world, &kept);
    assert_eq!(world.core.smf().unwrap().sessions(), 1);
    assert_eq!(known(&world), [5], "{}", world.call_flow);
    // One that replaces it and is refused leaves nothing.
    upf(&mut world).all = Some((ESTABLISHMENT, Fate::Refused));
    establish(&mut world, 0, 5, &wanted(SessionType::Ipv4));
    assert_eq!(world.core.smf().unwrap().sessions(), 0);
    assert!(known(&world).is_empty(), "{}", world.call_flow);
}

#[test]
fn a_session_goes_on_without_an_answer_of_the_udm_and_is_registered_the_next_time() {
    let (mut world, kept) = almost_there();
    world.core.lose(&[(Nf::Smf, Nf::Udm)]);
    hear(&mut world, &kept);
    pass(&mut world, 4);
    let told = "the session goes on though it is not registered: no answer in time";
    assert!(world.call_flow.to_string().contains(told));
    assert!(known(&world).is_empty());
    assert!(goes_up(&mut world, 0, 5));
    world.core.lose(&[]);
    go_idle(&mut world, 0);
    world.ue_mut(0).sessions_mut().set_data(1 << 5);
    come_back(&mut world, 0);
    assert_eq!(known(&world), [5]);
    assert!(goes_up(&mut world, 0, 5));
}

#[test]
fn a_session_whose_answer_is_lost_is_deregistered_all_the_same() {
    let (mut world, kept) = almost_there();
    // The UDM has it registered, and nobody hears so.
    world.core.lose(&[(Nf::Udm, Nf::Smf)]);
    hear(&mut world, &kept);
    pass(&mut world, 4);
    world.core.lose(&[]);
    let nas = world.ue_mut(0).release(5);
    world.say(0, nas);
    assert_no_session(&mut world);
    assert!(known(&world).is_empty(), "{}", world.call_flow);
}

#[test]
fn a_session_of_a_subscriber_that_is_none_any_more_is_refused() {
    let (mut world, kept) = almost_there();
    assert!(world.core.udr_mut().expect("its own").remove(&supi(1)));
    hear(&mut world, &kept);
    let call_flow = world.call_flow.to_string();
    let told = "18    SMF  -> UE    PDU Session Release Command #33";
    assert!(call_flow.contains(told), "{call_flow}");
    assert_no_session(&mut world);
    assert_eq!(world.ue(0).sessions().status(), 0);
    assert!(known(&world).is_empty());
}

#[test]
fn smfs_that_have_sessions_hear_of_a_withdrawn_subscriber() {
    let mut world = world(&[1, 2]);
    establish(&mut world, 0, 5, &wanted(SessionType::Ipv4));
    let now = world.now;
    // The AMF hears nothing, and so releases nothing.
    world.core.lose(&[(Nf::Udm, Nf::Amf)]);
    for phone in [1, 2] {
        world.call_flow.0.clear();
        assert!(world.core.udr_mut().expect("its own").remove(&supi(phone)));
        let change = DataChange::Withdrawn;
        world.core.repository().changed(now, &supi(phone), change);
        world.run();
        let told = "UDM  -> SMF   Nudm_SDM_Notification Request";
        let is_told = world.call_flow.to_string().contains(told);
        assert_eq!(is_told, phone == 1, "{}", world.call_flow);
    }
    assert_no_session(&mut world);
    assert_eq!(world.ue(0).sessions().status(), 0);
    assert!(known(&world).is_empty());
}

#[test]
fn the_udm_knows_who_has_a_session_after_the_core_was_killed() {
    let (mut world, memory) = stored_world(&[1, 2], &[]);
    assert_eq!(known(&world), [5]);
    kill(&mut world, &memory, &[]);
    assert_eq!(known(&world), [5]);
    gnb_comes_back(&mut world);
    assert_nobody_noticed(&mut world, 2);
    come_back(&mut world, 0);
    let nas = world.ue_mut(0).deregister(false, true).unwrap();
    world.say(0, nas);
    assert!(known(&world).is_empty());
    let left = memory.keys();
    let its = left.iter().filter(|key| key.contains("0000000001"));
    assert_eq!(its.count(), 0, "{left:?}");
}

#[test]
fn a_session_that_is_over_when_the_next_core_begins_is_not_known_any_more() {
    let (mut world, mut memory) = stored_world(&[1], &[]);
    let nas = world.ue_mut(0).release(5);
    world.say(0, nas);
    let before = memory.stored();
    establish(&mut world, 0, 5, &wanted(SessionType::Ipv4));
    assert_eq!(known(&world), [5]);
    // The AMF is one that has not heard of it.
    let of_amf = before.into_iter();
    let of_amf = of_amf.filter(|(key, _)| key.starts_with(b"amf/"));
    let changes: Changes = of_amf.map(|(key, value)| (key, Some(value))).collect();
    memory.put(&changes).unwrap();
    kill(&mut world, &memory, &[]);
    assert_eq!(world.core.smf().unwrap().sessions(), 0);
    assert!(known(&world).is_empty(), "{}", world.call_flow);
    assert!(!memory.keys().iter().any(|key| key.starts_with("udr/smf/")));
}
